#include "nebis/version.hpp"

#include <cstdio>

int main() { return std::printf("nebis %s\n", nebis::version()) > 0 ? 0 : 1; }
