// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/store.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace nebis::testkit {

enum class Fault {
    none,
    refuse,      ///< surely not applied
    lose,        ///< "maybe applied", and it was not
    lose_reply,  ///< "maybe applied", and it was
    hang,        ///< a driver stuck in the kernel: keeps no deadline; goes on when released
};

/// A store in front of another one that does what a test says. It isn't in-process, so that it goes through queue and
/// workers like a real one.
class FaultyStore final : public Store, public std::enable_shared_from_this<FaultyStore> {
public:
    /// Asked before every call into the driver: "begin", "finish", "renew", "find", …
    using Script = std::function<Fault(const std::string& operation)>;

    explicit FaultyStore(std::shared_ptr<Store> inner, std::size_t sessions = 1)
        : inner_(std::move(inner)), sessions_(sessions) {}

    void script(Script script) {
        const std::lock_guard lock(mutex_);
        script_ = std::move(script);
    }
    /// The next `times` calls of that operation meet this fault.
    void next(std::string operation, Fault fault, int times = 1) {
        auto left = std::make_shared<std::atomic<int>>(times);
        script([operation = std::move(operation), fault, left](const std::string& called) {
            return called == operation && left->fetch_sub(1) > 0 ? fault : Fault::none;
        });
    }
    void release() {
        const std::lock_guard lock(mutex_);
        released_ = true;
        changed_.notify_all();
    }
    /// Waits until that many calls hang.
    bool wait_hanging(int many) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::seconds(10), [&] { return hanging_ >= many; });
    }
    int calls(const std::string& operation) const {
        const std::lock_guard lock(mutex_);
        return static_cast<int>(std::count(calls_.begin(), calls_.end(), operation));
    }
    int greatest_batch() const { return greatest_batch_.load(); }
    void away(bool yes) { away_ = yes; }
    int opened() const { return opened_.load(); }

    std::string_view name() const noexcept override { return "faulty"; }
    StoreTraits traits() const noexcept override {
        StoreTraits traits = inner_->traits();
        traits.in_process = false;
        traits.max_sessions = sessions_;
        traits.one_commit_for_begin_and_finish = false;
        return traits;
    }
    Result<void> verify(Deadline deadline) override { return inner_->verify(deadline); }
    Result<void> create_schema(Deadline deadline) override { return inner_->create_schema(deadline); }
    bool wait_for_change(Deadline deadline) override { return inner_->wait_for_change(deadline); }
    Result<std::unique_ptr<StoreSession>> open(Deadline deadline) override {
        ++opened_;
        if (away_) return Error(ErrorKind::unavailable, "away");
        auto session = inner_->open(deadline);
        if (!session) return session;
        return std::unique_ptr<StoreSession>(std::make_unique<Session>(shared_from_this(), *std::move(session)));
    }

private:
    Fault meets(const std::string& operation, std::size_t rows) {
        Script script;
        {
            const std::lock_guard lock(mutex_);
            calls_.push_back(operation);
            script = script_;
        }
        for (int seen = greatest_batch_;
             seen < static_cast<int>(rows) && !greatest_batch_.compare_exchange_weak(seen, static_cast<int>(rows));) {}
        if (away_) return Fault::refuse;
        const Fault fault = script ? script(operation) : Fault::none;
        if (fault != Fault::hang) return fault;
        std::unique_lock lock(mutex_);
        ++hanging_;
        changed_.notify_all();
        changed_.wait(lock, [this] { return released_; });
        --hanging_;
        return Fault::none;
    }

    class Session final : public StoreSession {
    public:
        Session(std::shared_ptr<FaultyStore> of, std::unique_ptr<StoreSession> inner)
            : of_(std::move(of)), inner_(std::move(inner)) {}

        void begin(std::span<const BeginRequest> in, std::span<Result<BeginOutcome>> out, Deadline d) override {
            through("begin", in, out, [&] { inner_->begin(in, out, d); });
        }
        void finish(std::span<const FinishRequest> in, std::span<Result<FinishOutcome>> out, Deadline d) override {
            through("finish", in, out, [&] { inner_->finish(in, out, d); });
        }
        void renew(std::span<const RenewRequest> in, std::span<Result<RenewOutcome>> out, Deadline d) override {
            through("renew", in, out, [&] { inner_->renew(in, out, d); });
        }
        void find(std::span<const FindRequest> in, std::span<Result<FindOutcome>> out, Deadline d) override {
            through("find", in, out, [&] { inner_->find(in, out, d); });
        }
        Result<std::vector<Record>> recover(const RecoverRequest& r, Deadline d) override {
            return inner_->recover(r, d);
        }
        Result<std::size_t> clean(const CleanRequest& r, Deadline d) override { return inner_->clean(r, d); }
        Result<bool> purge(std::string_view t, std::uint64_t v, Deadline d) override { return inner_->purge(t, v, d); }
        Result<StoreMillis> now(Deadline d) override { return inner_->now(d); }
        Result<std::string> key_rule(std::string_view o, std::string_view g, bool a, Deadline d) override {
            return inner_->key_rule(o, g, a, d);
        }

    private:
        template <class In, class Out, class Call>
        void through(const char* operation, In in, Out out, Call call) {
            const Fault fault = of_->meets(operation, in.size());
            if (fault == Fault::none || fault == Fault::lose_reply) call();
            if (fault == Fault::none) return;
            for (auto& one : out) {
                if (fault == Fault::refuse)
                    one = Error(ErrorKind::unavailable, "refused by the test");
                else
                    one = Error(ErrorKind::maybe_applied, "reply lost by the test");
            }
        }
        std::shared_ptr<FaultyStore> of_;
        std::unique_ptr<StoreSession> inner_;
    };

    const std::shared_ptr<Store> inner_;
    const std::size_t sessions_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    Script script_;
    bool released_ = false;
    int hanging_ = 0;
    std::vector<std::string> calls_;
    std::atomic<bool> away_{false};
    std::atomic<int> opened_{0};
    std::atomic<int> greatest_batch_{0};
};

}  // namespace nebis::testkit
