// SPDX-License-Identifier: Apache-2.0
#include "service.hpp"

#include <exception>
#include <iostream>

int main(int argc, char** argv) {
    try {
        shop::serve(shop::parse(argc, argv));
        return 0;
    } catch (const std::exception& error) {
        std::cerr << "nebis-order-service: " << error.what() << '\n';
        return 1;
    }
}
