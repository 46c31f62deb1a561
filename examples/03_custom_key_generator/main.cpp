// SPDX-License-Identifier: Apache-2.0
// The caller already has a number for each business request (`bizSeqNo`): a key generator that takes it, chosen for one
// operation in the configuration alone.
#include <nebis/nebis.hpp>
#include <nebis/starter.hpp>

#include <iostream>
#include <memory>
#include <string>

struct BizSeqNo : nebis::KeyGenerator {
    nebis::Result<std::string> generate(const nebis::Request& request) const override {
        return request.text("/bizSeqNo");
    }
};

int main() {
    auto drivers = nebis::standard_drivers();
    drivers.key_generators["biz-seq-no"] = std::make_shared<BizSeqNo>();  // what nebis.yaml calls it
    auto engine = nebis::Engine::open("nebis.yaml", drivers).value();

    int refunds = 0;
    auto refund = engine.idempotent({.operation = "refund"}, nebis::args("bizSeqNo", "cents"),
                                    [&refunds](const std::string& number, long cents) {
                                        ++refunds;
                                        return "refunded " + std::to_string(cents) + " for " + number;
                                    });

    std::cout << refund("R-1", 990) << '\n';
    std::cout << refund("R-1", 990) << '\n';  // the same number: the kept answer
    std::cout << refund("R-2", 990) << '\n';  // another number: another refund, though the amount is the same
    std::cout << refunds << " refunds\n";
    try {
        refund("", 990);
    } catch (const nebis::IdempotentException& refused) {
        std::cout << "without a number: " << refused.error().code() << '\n';
    }
}
