// SPDX-License-Identifier: Apache-2.0
#include "nebis/memory.hpp"
#include "nebis/sqlite.hpp"
#include "nebis/testing.hpp"
#include "sqlite_bench.hpp"

#include <future>

// The fakes that users get, and the drivers' own settings.
namespace {

using namespace nebis;
using namespace nebis::test;
using fakes::FaultPlan;
using fakes::FaultyStore;
using fakes::StoreCall;
using fakes::StoreFault;

struct FaultyStoreTest : ::testing::Test {
    std::shared_ptr<FaultPlan> plan = std::make_shared<FaultPlan>();
    std::shared_ptr<Store> inner = memory::store();
    FaultyStore store{inner, plan};
    std::unique_ptr<StoreSession> session = *store.open(soon());
};

TEST_F(FaultyStoreTest, nth_call_fails_once_and_nothing_reaches_the_store) {
    plan->add({.call = StoreCall::begin, .kind = StoreFault::Kind::refuse, .nth = 2});
    EXPECT_TRUE(begin(*session, "a", owner(1)));
    const auto refused = begin(*session, "b", owner(1));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), ErrorKind::unavailable);
    EXPECT_FALSE(find(*session, "b")->record);
    EXPECT_TRUE(begin(*session, "b", owner(1)));
    EXPECT_EQ(plan->calls(StoreCall::begin), 3U);
}

TEST_F(FaultyStoreTest, lost_reply_is_applied_and_lost_call_is_not) {
    plan->add({.call = StoreCall::begin, .kind = StoreFault::Kind::lose_reply});
    EXPECT_EQ(begin(*session, "a", owner(1)).error().kind(), ErrorKind::maybe_applied);
    EXPECT_TRUE(find(*session, "a")->record);
    plan->add({.call = StoreCall::begin, .kind = StoreFault::Kind::lose_call});
    EXPECT_EQ(begin(*session, "b", owner(1)).error().kind(), ErrorKind::maybe_applied);
    EXPECT_FALSE(find(*session, "b")->record);
}

TEST_F(FaultyStoreTest, for_ever_lasts_until_cleared) {
    plan->add(
        {.call = StoreCall::find, .kind = StoreFault::Kind::refuse, .for_ever = true, .error = ErrorKind::overloaded});
    for (int i = 0; i < 3; ++i) EXPECT_EQ(find(*session, "a").error().kind(), ErrorKind::overloaded);
    plan->clear();
    EXPECT_TRUE(find(*session, "a"));
}

TEST_F(FaultyStoreTest, held_call_goes_on_when_released) {
    plan->add({.call = StoreCall::begin, .kind = StoreFault::Kind::hold});
    auto begun = std::async(std::launch::async, [&] { return begin(*session, "a", owner(1)); });
    ASSERT_TRUE(plan->wait_until_holding(1, soon()));
    plan->release();
    EXPECT_EQ(begun.get()->kind, BeginOutcome::Kind::acquired);
}

TEST(MemoryDriver, stores_of_one_name_are_one_store) {
    Drivers drivers;
    memory::add_to(drivers);
    DriverSettings settings;
    settings.data_source = "primary";
    const auto one = *drivers.stores.at("memory")(settings), same = *drivers.stores.at("memory")(settings);
    EXPECT_EQ(one, same);
    settings.table = "refund_record";
    EXPECT_NE(*drivers.stores.at("memory")(settings), one);
}

TEST(SqliteDriver, reads_its_settings_and_refuses_bad_ones) {
    Drivers drivers;
    sqlite::add_to(drivers);
    const auto& make = drivers.stores.at("sqlite");
    const TemporaryFolder folder;
    DriverSettings settings;
    settings.values = {{"path", folder.file("a.db")},
                       {"synchronous", "normal"},
                       {"busy-timeout-millis", "100"},
                       {"connections", "2"},
                       {"create-schema", "true"}};
    const auto store = make(settings);
    ASSERT_TRUE(store);
    EXPECT_TRUE((*store)->verify(soon()));
    const std::pair<const char*, const char*> bad[] = {
        {"path", ""},          {"synchronous", "off"},          {"synchronous", "FULL"},
        {"connections", "0"},  {"busy-timeout-millis", "10ms"}, {"busy-timeout-millis", "0"},
        {"create-schema", "1"}};
    for (const auto& [key, value] : bad) {
        DriverSettings wrong = settings;
        wrong.values[key] = value;
        ASSERT_FALSE(make(wrong)) << key;
        EXPECT_EQ(make(wrong).error().kind(), ErrorKind::misconfigured) << key;
    }
    settings.table = "x; drop";
    EXPECT_EQ(make(settings).error().code(), "table-name");  // B104
    EXPECT_EQ(drivers.store_keys.at("sqlite").size(), 5U);
}

}  // namespace
