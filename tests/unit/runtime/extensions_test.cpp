// SPDX-License-Identifier: Apache-2.0
#include "nebis/testing.hpp"
#include "support.hpp"

#include <gmock/gmock.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <stdexcept>
#include <vector>

/// Extension points by their names in the configuration (S34): what is named for one operation serves that one alone.
namespace nebis {
namespace {

using namespace testkit;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Handler doing(std::function<void()> what) {
    return Handler([what = std::move(what)](const Request&, Execution&) -> Response {
        what();
        return {200, {}, "done", false};
    });
}

TEST(ByName, S34_each_extension_point_named_for_one_operation_serves_that_one_alone) {
    struct Producer : ResponseProducer {
        Response produce(const DuplicateInfo&, const Request&) const override { return {202, {}, "produced", false}; }
    };
    struct Classifier : ExceptionClassifier {
        Certainty classify(std::exception_ptr, std::string_view) const override { return Certainty::rejected; }
    };
    struct Mask : Redactor {
        std::string redact(std::string_view, std::string_view) const override { return "masked"; }
    };
    Drivers drivers;
    drivers.response_producers["mine"] = std::make_shared<Producer>();
    drivers.exception_classifiers["mine"] = std::make_shared<Classifier>();
    drivers.redactors["mine"] = std::make_shared<Mask>();
    Engine engine = memory_engine(
        "nebis: {idempotent: {store-request: true, duplicate-handler: return, operations: {named: {"
        "response-producer: mine, exception-classifier: mine, redactor: mine}}}}",
        drivers);
    for (const std::string name : {"named", "other"}) {
        const bool named = name == "named";
        const Operation operation = engine.operation(policy_of(name)).value();
        EXPECT_EQ(engine.run(operation, request_with("c"), doing([] { throw std::domain_error("?"); })).rejected,
                  named);
        engine.run(operation, request_with("r"), Counting().handler());
        EXPECT_EQ(engine.inspect(operation, request_with("r")).value()->request_body == "masked", named);
        engine.run(operation, request_with("p"), doing([&] {
                       // Another caller's duplicate, from its own thread, while this one is in progress.
                       auto busy = std::async(std::launch::async, [&] {
                           return engine.run(operation, request_with("p"), Counting().handler());
                       });
                       EXPECT_EQ(busy.get().produced, named);
                   }));
    }
}

/// A resolver that says whose it is.
struct Ledger : OutcomeResolver {
    explicit Ledger(std::string name) : name(std::move(name)) {}
    Resolution resolve(const Record&, Deadline) override {
        ++asked;
        return {Resolution::Kind::happened, {200, {}, "told by " + name, false}};
    }
    const std::string name;
    std::atomic<int> asked{0};
};

TEST(ByName, S34_a_resolver_named_for_one_operation_settles_that_one_alone) {
    const auto bank = std::make_shared<Ledger>("bank"), shop = std::make_shared<Ledger>("shop");
    Drivers drivers;
    drivers.outcome_resolvers["bank"] = bank;
    drivers.outcome_resolvers["shop"] = shop;
    const fakes::VirtualClock clock;
    Engine engine = engine_on(
        memory::store({.clock = clock}),
        "nebis: {idempotent: {outcome-resolver: shop, operations: {pay: {on-unknown: ask, outcome-resolver: bank}, "
        "order: {on-unknown: ask}, mail: {on-unknown: hold}}}}",
        drivers);
    const auto answer_after_unknown = [&](const std::string& name) {
        const Operation operation = engine.operation(policy_of(name)).value();
        engine.run(operation, request_with("k"), doing([] { throw OutcomeUnknown("the line went dead"); }));
        clock.advance(std::chrono::seconds(11));  // the row's lease must be over before somebody may ask about it
        // A begin meant for the time before the jump comes too late and does nothing; then the engine knows the time.
        EXPECT_EQ(engine.run(operation, request_with("k"), Counting().handler()).outcome, Outcome::unavailable);
        return engine.run(operation, request_with("k"), Counting().handler());
    };
    EXPECT_EQ(answer_after_unknown("pay").response.body, "told by bank");
    EXPECT_EQ(answer_after_unknown("order").response.body, "told by shop");
    EXPECT_EQ(answer_after_unknown("mail").outcome, Outcome::outcome_unknown);
    EXPECT_EQ(bank->asked.load(), 1);
    EXPECT_EQ(shop->asked.load(), 1);
}

/// A coordinator that notes what it is asked to do.
struct Coordinator : TransactionHooks {
    std::vector<std::string> calls() {
        const std::lock_guard lock(mutex);
        return made;
    }
    void note(std::string call) {
        const std::lock_guard lock(mutex);
        made.push_back(std::move(call));
    }
    Result<std::string> before_transaction(const Execution&) override {
        note("before");
        return std::string("tx");
    }
    Result<void> commit(const std::string& transaction) override {
        note("commit " + transaction);
        return {};
    }
    Result<void> rollback(const std::string& transaction) override {
        note("rollback " + transaction);
        return {};
    }
    Result<Decision> decision(const std::string&) override { return Decision::undecided; }

    std::mutex mutex;
    std::vector<std::string> made;
};

TEST(ByName, S34_the_coordinator_of_hooked_operations_is_named_for_each) {
    const auto seata = std::make_shared<Coordinator>(), other = std::make_shared<Coordinator>();
    Drivers drivers;
    drivers.transaction_hooks["seata"] = seata;
    drivers.transaction_hooks["other"] = other;
    Engine engine = memory_engine(
        "nebis: {idempotent: {operations: {order: {mode: hooked, transaction-hooks: seata}, "
        "refund: {mode: hooked, transaction-hooks: other, on-unknown: ask}, plain: {mode: execute}}}}",
        drivers);
    const auto run = [&](const std::string& name, const Handler& handler) {
        return engine.run(engine.operation(policy_of(name)).value(), request_with("k"), handler);
    };
    EXPECT_EQ(run("order", doing([] {})).outcome, Outcome::fresh);
    EXPECT_EQ(run("order", doing([] {})).outcome, Outcome::replayed);
    EXPECT_TRUE(run("refund", doing([] { throw std::runtime_error("?"); })).failure);
    EXPECT_EQ(run("plain", doing([] {})).outcome, Outcome::fresh);
    EXPECT_THAT(seata->calls(), ElementsAre("before", "commit tx"));
    EXPECT_THAT(other->calls(), ElementsAre("before", "rollback tx"));
}

/// A configuration file of this test alone.
class ConfiguredFile : public testing::Test {
protected:
    ConfiguredFile() {
        std::string name = (std::filesystem::temp_directory_path() / "nebis-XXXXXX").string();
        folder_ = mkdtemp(name.data());
        file_ = (folder_ / "nebis.yaml").string();
        memory::add_to(drivers);
        local::add_to(drivers);
    }
    ~ConfiguredFile() override {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    /// What registering `order` says, behind the name of the file.
    std::string refusal(const std::string& keys) {
        std::ofstream(file_) << "nebis:\n  idempotent:\n    datasources: {primary: {driver: memory}}\n" << keys;
        OpenOptions options;
        options.use_environment = options.background = false;
        Engine engine = Engine::open(file_, drivers, options).value();
        const auto refused = engine.operation(policy_of("order"));
        if (refused) return "taken";
        EXPECT_EQ(refused.error().kind(), ErrorKind::misconfigured);
        const std::string text = refused.error().text();
        return text.starts_with(file_) ? text.substr(file_.size()) : text;
    }
    Drivers drivers;

private:
    std::filesystem::path folder_;
    std::string file_;
};

TEST_F(ConfiguredFile, S34_B103_unknown_names_are_refused_with_their_place) {
    drivers.outcome_resolvers["ledger"] = std::make_shared<Ledger>("ledger");
    drivers.transaction_hooks["seata"] = std::make_shared<Coordinator>();
    EXPECT_EQ(refusal("    outcome-resolver: ledger\n"), "taken");
    EXPECT_THAT(
        refusal("    operations:\n      order:\n        on-unknown: ask\n        outcome-resolver: leger\n"),
        AllOf(StartsWith(":7:27: outcome-resolver: 'leger' isn't registered"), HasSubstr("did you mean 'ledger'?")));
    EXPECT_THAT(refusal("    operations: {order: {mode: hooked, transaction-hooks: tcc}}\n"),
                AllOf(StartsWith(":4:59: transaction-hooks: 'tcc'"), HasSubstr("registered are: seata")));
    EXPECT_THAT(refusal("    operations: {order: {key-generator: biz-seq-no}}\n"),
                AllOf(StartsWith(":4:41: key-generator: 'biz-seq-no'"), HasSubstr("registered are: none")));
    // Written for all operations, it is refused at the first that would use it.
    EXPECT_THAT(refusal("    exception-classifier: mine\n"), StartsWith(":4:27: exception-classifier: 'mine'"));
    EXPECT_THAT(refusal("    response-producer: p\n    redactor: r\n"),
                AllOf(HasSubstr(":4:24: response-producer: 'p'"), HasSubstr(":5:15: redactor: 'r'")));
    drivers.outcome_resolvers["empty"] = nullptr;
    EXPECT_THAT(refusal("    outcome-resolver: empty\n"), StartsWith(":4:23: outcome-resolver: 'empty'"));
}

TEST_F(ConfiguredFile, S34_B104_a_mode_without_the_part_it_needs_is_refused_with_its_place) {
    EXPECT_THAT(refusal("    operations: {order: {mode: hooked}}\n"),
                AllOf(StartsWith(":4:32: "), HasSubstr("needs transaction hooks")));
    EXPECT_THAT(refusal("    on-unknown: ask\n"), AllOf(StartsWith(":4:17: "), HasSubstr("needs an outcome resolver")));
}

}  // namespace
}  // namespace nebis
