// SPDX-License-Identifier: Apache-2.0
// What the explorer proves is worth as much as its model store: random histories of one key must look the same in it
// and in a real store.
#include "model_store.hpp"
#include "nebis/memory.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace nebis::explore {
namespace {

constexpr StoreMillis epoch = 1'000'000;  ///< the real store's clock at the model's 0
constexpr Tick lease = 40, retention = 100;

/// Applies each operation to both and compares all that a driver sees.
class Twins {
public:
    Twins() {
        store_ = memory::store({.clock = [this] { return epoch + now_; }});
        session_ = store_->open(deadline()).value();
    }

    void time_passes(Tick by) { now_ = static_cast<Tick>(now_ + by); }

    void begin(Who who, std::uint8_t hash, bool mark, bool take_lease, bool take_unknown, bool lapse, Tick not_after) {
        const BeginAsk ask{.owner = who,
                           .hash = hash,
                           .mark = mark,
                           .take_over_lease = take_lease,
                           .take_over_unknown = take_unknown,
                           .lapse = lapse,
                           .not_after = not_after};
        const Begun model = model_.begin(ask, now_, lease, retention);
        BeginRequest request;
        request.trace_id = "k";
        request.operation = "o";
        request.owner = owner(who);
        request.request_hash.scheme = 1;
        request.request_hash.digest[0] = hash;
        request.status = mark ? RecordStatus::marked : RecordStatus::processing;
        request.lease_millis = lease;
        request.retention_millis = retention;
        request.take_over_lease = take_lease;
        request.take_over_unknown = take_unknown;
        request.lapse = lapse;
        request.not_after = not_after == 0 ? 0 : epoch + not_after;
        std::vector<Result<BeginOutcome>> out{BeginOutcome{}};
        session_->begin({&request, 1}, out, deadline());
        const BeginOutcome& real = out[0].value();
        ASSERT_EQ(real.kind, model.kind);
        if (model.kind == BeginOutcome::Kind::acquired) {
            ASSERT_GT(real.version, versions_.back());  // I5
            versions_.push_back(real.version);
            ASSERT_EQ(versions_.size() - 1, model.row.version);
            ASSERT_EQ(real.took_over, model.took_over);
        }
        if (model.kind == BeginOutcome::Kind::in_progress) {
            ASSERT_EQ(real.owner == owner(who), model.ours);
            ASSERT_EQ(real.remaining_millis, model.remaining);
            ASSERT_EQ(real.version, versions_[model.row.version]);  // the machine needs it: its own insert is acquired
        }
        compare();
    }

    void finish(Who who, std::uint8_t version, RecordStatus status, bool from_processing, bool from_unknown,
                bool from_marked, bool new_owner) {
        const bool model = model_.finish({.owner = who,
                                          .version = version,
                                          .status = status,
                                          .response = version,
                                          .from_processing = from_processing,
                                          .from_unknown = from_unknown,
                                          .from_marked = from_marked,
                                          .new_owner = new_owner},
                                         now_, retention);
        const Response response{.status = version, .headers = {}, .body = "r"};
        FinishRequest request;
        request.trace_id = "k";
        request.version = versions_[version];
        request.owner = owner(who);
        request.status = status;
        request.from_processing = from_processing;
        request.from_unknown = from_unknown;
        request.from_marked = from_marked;
        request.response = is_terminal(status) ? &response : nullptr;
        request.retention_millis = retention;
        if (new_owner) request.new_owner = owner(operators);
        std::vector<Result<FinishOutcome>> out{FinishOutcome{}};
        session_->finish({&request, 1}, out, deadline());
        ASSERT_EQ(out[0].value().applied, model);
        compare();
    }

    void renew(Who who, std::uint8_t version, bool ask) {
        const bool model = ask ? model_.row.owner == who && model_.reserve(version, now_, lease)
                               : model_.renew(who, version, now_, lease);
        const RenewRequest request{
            .trace_id = "k", .version = versions_[version], .owner = owner(who), .lease_millis = lease, .ask = ask};
        std::vector<Result<RenewOutcome>> out{RenewOutcome{}};
        session_->renew({&request, 1}, out, deadline());
        ASSERT_EQ(out[0].value().kind == RenewOutcome::Kind::renewed, model);
        compare();
    }

    void recover() {
        const bool model = model_.recover(now_);
        ASSERT_EQ(session_->recover({}, deadline()).value().size(), model ? 1u : 0u);
        compare();
    }

    void clean() {
        const bool model = model_.clean(now_);
        ASSERT_EQ(session_->clean({}, deadline()).value(), model ? 1u : 0u);
        compare();
    }

    void purge(std::uint8_t version) {
        ASSERT_EQ(session_->purge("k", versions_[version], deadline()).value(), model_.purge(version));
        compare();
    }

    const ModelStore& model() const { return model_; }
    Tick now() const { return now_; }
    std::uint8_t some_version(std::uint64_t random) const {
        // Mostly the row's own, else any that ever was.
        return random % 4 != 0 && model_.row.exists ? model_.row.version
                                                    : static_cast<std::uint8_t>(random / 4 % versions_.size());
    }

private:
    static Deadline deadline() { return std::chrono::steady_clock::now() + std::chrono::seconds(10); }
    static Owner owner(Who who) {
        Owner out;
        out.bytes[0] = static_cast<unsigned char>(who + 10);
        return out;
    }
    void compare() {
        const FindRequest request{"k"};
        std::vector<Result<FindOutcome>> out{FindOutcome{}};
        session_->find({&request, 1}, out, deadline());
        const std::optional<Record>& real = out[0].value().record;
        const Row& model = model_.row;
        ASSERT_EQ(real.has_value(), model.exists);
        if (!model.exists) return;
        ASSERT_EQ(real->status, model.status);
        ASSERT_EQ(real->version, versions_[model.version]);
        ASSERT_EQ(real->owner, owner(model.owner));
        ASSERT_EQ(real->request_hash.digest[0], model.hash);
        ASSERT_EQ(real->expire_time, epoch + model.expire);
        if (model.status == RecordStatus::processing || model.status == RecordStatus::unknown) {
            ASSERT_EQ(real->lease_expire_time, model.lease == 0 ? 0 : epoch + model.lease);  // a mark has none
        }
        ASSERT_EQ(real->response.has_value(), model.response != 0);
        if (model.response != 0) {
            ASSERT_EQ(real->response->status, model.response);
        }
    }

    Tick now_ = 1;
    ModelStore model_;
    std::shared_ptr<Store> store_;
    std::unique_ptr<StoreSession> session_;
    std::vector<std::uint64_t> versions_{0};  ///< the real version of the model's
};

TEST(ModelStore, behaves_like_the_memory_store) {
    std::array<int, 8> done{};
    for (std::uint32_t seed = 0; seed < 1'000; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        std::mt19937 random(seed);
        const auto flip = [&random] { return random() % 2 == 0; };
        Twins twins;
        for (int step = 0; step < 60 && twins.model().last_version < 100; ++step) {
            const auto who = static_cast<Who>(random() % 3);
            const std::uint8_t version = twins.some_version(random());
            const Who holder = flip() && twins.model().row.owner >= 0 ? twins.model().row.owner : who;
            const auto kind = random() % done.size();
            ++done[kind];
            switch (kind) {
                case 0: twins.time_passes(static_cast<Tick>(random() % 50)); break;
                case 1:
                case 2:
                    twins.begin(who, random() % 8 == 0 ? 1 : 0, random() % 4 == 0, flip(), flip(), flip(),
                                random() % 4 == 0 ? static_cast<Tick>(twins.now() - 5 + random() % 10) : Tick{0});
                    break;
                case 3:
                    twins.finish(holder, version, static_cast<RecordStatus>(1 + random() % 4), flip(), flip(), flip(),
                                 random() % 4 == 0);
                    break;
                case 4: twins.renew(holder, version, flip()); break;
                case 5: twins.recover(); break;
                case 6: twins.clean(); break;
                default:
                    if (random() % 4 == 0) twins.purge(version);
                    break;
            }
            if (testing::Test::HasFatalFailure()) return;
        }
    }
}

}  // namespace
}  // namespace nebis::explore
