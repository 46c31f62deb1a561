// A function made idempotent, called twice with the same request: it runs once, and both callers get its result. In a
// second process it doesn't run at all: the first one's result is kept in nebis.db, the store of an empty
// configuration.
#include "nebis/http.hpp"
#include "nebis/nebis.hpp"
#include "nebis/sqlite.hpp"
#include "nebis/version.hpp"

#include <cstdio>
#include <fstream>
#include <string>

int main() {
    std::ofstream("nebis.yaml") << "nebis:\n"
                                   "  idempotent:\n"
                                   "    enabled: true\n";
    auto engine = nebis::Engine::open("nebis.yaml").value();

    int charged = 0;
    auto pay = engine.idempotent({.operation = "payOrder", .key = "#order"}, nebis::args("order", "cents"),
                                 [&charged](const std::string& order, long cents) {
                                     ++charged;
                                     return order + " paid " + std::to_string(cents);
                                 });
    const std::string first = pay("order-7", 990);
    const std::string second = pay("order-7", 990);

    std::printf("nebis %s: '%s', then '%s', charged %d times\n", nebis::version(), first.c_str(), second.c_str(),
                charged);
    return first == second ? 0 : 1;
}
