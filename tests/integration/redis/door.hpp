// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/redis.hpp"

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nebis::test {

inline Owner owner(unsigned char number) {
    Owner made;
    made.bytes.fill(number);
    return made;
}

inline CachedResult result_of(std::string_view key, std::string body = "answer") {
    CachedResult made;
    made.status = RecordStatus::success;
    made.trace_id = key;
    made.response.body = std::move(body);
    return made;
}

inline bool granted(const Result<EnterOutcome>& out) { return out && out->kind == EnterOutcome::Kind::granted; }

/// A gate, with the one session that core would open for it.
class Door {
public:
    explicit Door(redis::Options options) : gate_(redis::gate(std::move(options)).value()) {}

    std::vector<Result<EnterOutcome>> enter_all(const std::vector<std::string>& keys, unsigned char who,
                                                std::chrono::milliseconds span = std::chrono::seconds(20)) {
        std::vector<EnterRequest> requests;
        for (const auto& key : keys) requests.push_back({key, owner(who), RequestHash(), 60'000});
        std::vector<Result<EnterOutcome>> out(keys.size(), Error(ErrorKind::internal, "not set"));
        call<EnterOutcome>(out, span,
                           [&](GateSession& session, auto to, Deadline until) { session.enter(requests, to, until); });
        return out;
    }
    Result<EnterOutcome> enter(std::string_view key, unsigned char who,
                               std::chrono::milliseconds span = std::chrono::seconds(20)) {
        return enter_all({std::string(key)}, who, span)[0];
    }
    Result<bool> leave(std::string_view key, unsigned char who, const CachedResult* result = nullptr) {
        Result<bool> out = Error(ErrorKind::internal, "not set");
        const LeaveRequest request{key, owner(who), result, 60'000};
        call<bool>({&out, 1}, std::chrono::seconds(20), [&](GateSession& session, auto to, Deadline until) {
            session.leave({&request, 1}, to, until);
        });
        return out;
    }
    Gate& gate() { return *gate_; }

private:
    template <class T, class Step>
    void call(std::span<Result<T>> out, std::chrono::milliseconds span, Step step) {
        const Deadline until = std::chrono::steady_clock::now() + span;
        if (!session_) {
            auto opened = gate_->open(until);
            if (!opened) {
                for (auto& one : out) one = opened.error();
                return;
            }
            session_ = *std::move(opened);
        }
        step(*session_, out, until);
    }

    std::shared_ptr<Gate> gate_;
    std::unique_ptr<GateSession> session_;
};

}  // namespace nebis::test
