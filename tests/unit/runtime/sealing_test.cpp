// SPDX-License-Identifier: Apache-2.0
#include "nebis/memory.hpp"
#include "nebis/sqlite.hpp"
#include "runtime/sealed_gate.hpp"
#include "runtime/sealed_store.hpp"
#include "runtime/snapshot.hpp"
#include "support/resealing_cases.hpp"
#include "unit/stores/temporary_folder.hpp"

namespace nebis::test {
namespace {

OpenStore new_memory() {
    return [store = memory::store()] { return store; };
}

OpenStore new_sqlite() {
    const auto folder = std::make_shared<TemporaryFolder>();
    return [folder] {
        sqlite::Options options;
        options.path = folder->file("records.db");
        options.create_schema = true;
        return sqlite::store(std::move(options));
    };
}

INSTANTIATE_TEST_SUITE_P(Embedded, Sealed, ::testing::Values(NewTable(new_memory), NewTable(new_sqlite)),
                         [](const auto& one) { return one.index == 0 ? "memory" : "sqlite"; });

INSTANTIATE_TEST_SUITE_P(Embedded, Resealing, ::testing::Values(NewTable(new_sqlite)),
                         [](const auto&) { return "sqlite"; });

TEST(ResealingUnable, a_store_that_cannot_go_through_its_rows_says_so) {
    const auto ring = runtime::Sealing(seal::KeyRing::make({{"k", std::string(32, 's')}}, "").value(), false);
    const auto done =
        runtime::reseal(*memory::store(), ring, {}, std::chrono::steady_clock::now() + std::chrono::seconds(5));
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind(), ErrorKind::unsupported);
}

std::shared_ptr<const runtime::Sealing> sealing(const std::string& id, bool required = false) {
    return std::make_shared<const runtime::Sealing>(seal::KeyRing::make({{id, std::string(32, 's')}}, "").value(),
                                                    required);
}

TEST(Sealing, S57_a_sealed_blob_is_its_own_format_and_unsealed_ones_stay_readable) {
    const auto seals = sealing("k");
    const Response response{200, {{"ETag", "1"}}, "body", false};
    Response carrier = seals->seal(response, "t", 5).value();
    const std::string blob = runtime::encode_response(carrier);
    EXPECT_EQ(blob.substr(0, 2), "\xE7\x02");  // what version 1 of the format refuses as another version's
    EXPECT_EQ(runtime::decode_response(blob).value(), carrier);
    ASSERT_TRUE(seals->open(carrier, "t", 5));
    EXPECT_EQ(carrier, response);
    Response plain = response;
    EXPECT_TRUE(seals->open(plain, "t", 5));
    EXPECT_EQ(plain, response);
}

TEST(Sealing, S52_a_tombstone_and_an_empty_body_are_sealed_too) {
    const auto seals = sealing("k", true);
    for (const Response& response :
         {Response{}, Response{200, {}, {}, true}, Response{-1, {}, std::string(3, '\0'), false}}) {
        Response carrier = seals->seal(response, "t", 1).value();
        EXPECT_TRUE(runtime::is_sealed(carrier));
        ASSERT_TRUE(seals->open(carrier, "t", 1));
        EXPECT_EQ(carrier, response);
    }
}

// ---- atomic: the runner writes the record, past the store's sessions

class SealedAtomic : public ::testing::TestWithParam<const char*> {
protected:
    Engine engine(const std::string& ring) {
        Engine::Parts parts;
        parts.store = sqlite::store(database_);
        parts.gate = local::gate();
        parts.configuration =
            "nebis: {idempotent: {store-request: true, key-from-header: Idempotency-Key, mode: atomic, claim: " +
            std::string(GetParam()) + ", " + ring + "}}";
        parts.options.use_environment = false;
        parts.options.background = false;
        parts.log = [](const std::string&) {};
        return Engine::make(std::move(parts)).value();
    }

    Answer run(const std::string& ring, const std::string& key) {
        Engine one = engine(ring);
        Policy policy;
        policy.operation = "order";
        Request request;
        request.headers = {{"Idempotency-Key", key}};
        request.body = R"({"card":"4111111111111111"})";
        const auto handler = Handler::atomic(sqlite::runner(database_), [this](const Request&, void*, Execution&) {
            return Response{201, {}, "the answer " + std::to_string(++runs_), false};
        });
        const Operation order = one.operation(policy).value();
        const Answer answer = one.run(order, request, handler);
        if (const auto seen = one.inspect(order, request); seen && *seen) trace_ = (*seen)->trace_id;
        return answer;
    }

    Record stored() {
        const Deadline soon = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        const FindRequest find{trace_};
        Result<FindOutcome> found = FindOutcome{};
        sqlite::store(database_)->open(soon).value()->find({&find, 1}, {&found, 1}, soon);
        return found.value().record.value();
    }

    static sqlite::Options options(const TemporaryFolder& folder) {
        sqlite::Options options;
        options.path = folder.file("records.db");
        return options;
    }

    void SetUp() override {
        sqlite::store(database_)->create_schema(std::chrono::steady_clock::now() + std::chrono::seconds(20)).value();
    }

    static constexpr const char* k1 = "seal: {keys: {k1: {secret: 0123456789abcdef0123456789abcdef}}}";
    static constexpr const char* k2 = "seal: {keys: {k2: {secret: 0123456789abcdef0123456789abcdef}}}";
    TemporaryFolder folder_;
    sqlite::Database database_{options(folder_)};
    std::string trace_;
    int runs_ = 0;
};

TEST_P(SealedAtomic, S52_what_a_transaction_writes_is_sealed) {
    EXPECT_EQ(run(k1, "a").response.body, "the answer 1");
    const Record row = stored();
    ASSERT_TRUE(runtime::is_sealed(row.response.value()));
    EXPECT_EQ(row.response->body.find("answer"), std::string::npos);
    EXPECT_EQ(seal::key_id_of(row.request_body), "k1");
    const Answer again = run(k1, "a");
    EXPECT_EQ(again.outcome, Outcome::replayed);
    EXPECT_EQ(again.response, (Response{201, {}, "the answer 1", false}));
    EXPECT_EQ(runs_, 1);
}

TEST_P(SealedAtomic, S52_a_lost_key_refuses_and_runs_nothing) {
    ASSERT_EQ(run(k1, "a").outcome, Outcome::fresh);
    const Answer refused = run(k2, "a");
    EXPECT_EQ(refused.outcome, Outcome::unavailable);
    ASSERT_TRUE(refused.error);
    EXPECT_EQ(refused.error->kind(), ErrorKind::corrupt);
    EXPECT_EQ(refused.error->code(), "snapshot-key-missing");
    EXPECT_FALSE(refused.handler_ran);
    EXPECT_EQ(runs_, 1);
}

TEST_P(SealedAtomic, S52_an_operation_that_keeps_no_answer_leaves_a_tombstone) {
    EXPECT_EQ(run("max-response-bytes: 0", "a").response.body, "the answer 1");
    EXPECT_EQ(stored().response.value(), (Response{201, {}, {}, true}));
    EXPECT_TRUE(run("max-response-bytes: 0", "a").response.tombstone);
    EXPECT_EQ(runs_, 1);
}

INSTANTIATE_TEST_SUITE_P(Claim, SealedAtomic, ::testing::Values("before", "inside"),
                         [](const auto& one) { return std::string(one.param); });

/// A lock service that keeps one result, as bytes at rest.
class Shelf final : public ResultCache {
public:
    Result<std::optional<CachedResult>> get(std::string_view, Deadline) override { return kept; }
    Result<void> put(const CachedResult& result, std::int64_t, Deadline) override {
        kept = result;
        return {};
    }
    Result<void> evict(std::string_view, Deadline) override {
        kept.reset();
        return {};
    }
    std::optional<CachedResult> kept;
};

class FarLock final : public Lock {
public:
    std::string_view name() const noexcept override { return "far"; }
    Result<std::int64_t> acquire(std::string_view, const Owner&, std::int64_t, Deadline) override { return 0; }
    Result<bool> renew(std::string_view, const Owner&, std::int64_t, Deadline) override { return true; }
    Result<bool> release(std::string_view, const Owner&, Deadline) override { return true; }
};

TEST(SealedGate, S52_cached_results_are_sealed_and_one_that_does_not_open_is_dropped) {
    const auto shelf = std::make_shared<Shelf>();
    const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    const auto far = compose(std::make_shared<FarLock>(), shelf);
    const auto session = runtime::sealed(far, sealing("k"))->open(deadline).value();
    CachedResult result;
    result.trace_id = "t";
    result.version = 7;
    result.response = {200, {}, "the answer", false};
    const LeaveRequest leave{"t", {}, &result, 1'000};
    Result<bool> left = false;
    session->leave({&leave, 1}, {&left, 1}, deadline);
    ASSERT_TRUE(shelf->kept);
    EXPECT_TRUE(runtime::is_sealed(shelf->kept->response));

    const EnterRequest enter{"t", {}, {}, 1'000};
    Result<EnterOutcome> entered = EnterOutcome{};
    session->enter({&enter, 1}, {&entered, 1}, deadline);
    ASSERT_EQ(entered.value().kind, EnterOutcome::Kind::finished);
    EXPECT_EQ(entered->result->response.body, "the answer");

    ++shelf->kept->version;  // somebody moves it
    session->enter({&enter, 1}, {&entered, 1}, deadline);
    EXPECT_EQ(entered.value().kind, EnterOutcome::Kind::granted);
    EXPECT_TRUE(entered->unreadable_result);
    EXPECT_FALSE(shelf->kept);

    session->leave({&leave, 1}, {&left, 1}, deadline);
    const auto foreign = runtime::sealed(far, sealing("j"))->open(deadline).value();
    foreign->enter({&enter, 1}, {&entered, 1}, deadline);
    EXPECT_EQ(entered.value().kind, EnterOutcome::Kind::granted);
}

}  // namespace
}  // namespace nebis::test
