// SPDX-License-Identifier: Apache-2.0
#include "renewing.hpp"

namespace nebis {
namespace {

TEST(RenewerLong, I8_C15_C51_lease_2_s_200_handlers_of_20_s_a_transaction_of_15_s_and_the_store_stopped_for_5_s) {
    using namespace std::chrono_literals;
    testkit::renew_through_everything({.lease = 2s, .handler = 20s, .transaction = 15s, .stopped = 5s});
}

}  // namespace
}  // namespace nebis
