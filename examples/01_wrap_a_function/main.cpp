// SPDX-License-Identifier: Apache-2.0
// A function that must not run twice for one order, and the same function wrapped.
#include <nebis/describe.hpp>
#include <nebis/nebis.hpp>

#include <iostream>
#include <string>

struct Pay {
    long orderId, userId;
    std::string amount;
};
BOOST_DESCRIBE_STRUCT(Pay, (), (orderId, userId, amount))

struct Paid {
    long receipt;
    std::string amount;
};
BOOST_DESCRIBE_STRUCT(Paid, (), (receipt, amount))

Paid charge(const Pay& pay) {
    static long receipt = 1000;
    if (pay.amount == "0.00") throw nebis::Rejected("nothing to pay");
    std::cout << "charging " << pay.amount << " for order " << pay.orderId << '\n';
    return {++receipt, pay.amount};
}

int main() {
    auto engine = nebis::Engine::open("nebis.yaml").value();
    auto pay = engine.idempotent({.operation = "payOrder", .key = "#request.orderId + ':' + #request.userId"},
                                 nebis::args("request"), &charge);

    const Paid paid = pay(Pay{7, 3, "9.90"});  // runs
    std::cout << "receipt " << paid.receipt << '\n';
    const Paid again = pay(Pay{7, 3, "9.90"});  // again: the same Paid, no second charge
    std::cout << "receipt " << again.receipt << '\n';
    const Paid other = pay(Pay{8, 3, "1.50"});  // another order
    std::cout << "receipt " << other.receipt << '\n';

    try {
        pay(Pay{7, 3, "99.00"});  // the same key with another amount is a mistake of the caller
    } catch (const nebis::IdempotentException& refused) {
        std::cout << "refused: " << refused.error().message() << '\n';
    }
    for (int i = 0; i < 2; ++i) {
        try {
            pay(Pay{9, 3, "0.00"});  // a refusal is an answer too, and is kept
        } catch (const nebis::Rejected& refusal) {
            std::cout << "rejected: " << refusal.what() << '\n';
        }
    }
}
