// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/store.hpp"

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

/// What the tests of a store ask of one record table.
namespace nebis::test {

inline Deadline in(std::chrono::milliseconds span) { return std::chrono::steady_clock::now() + span; }
inline Deadline soon() { return in(std::chrono::seconds(20)); }

inline Owner owner_of(std::uint64_t number) {
    Owner owner;
    std::memcpy(owner.bytes.data(), &number, sizeof number);
    return owner;
}

inline BeginRequest begin_of(std::string_view key, std::uint64_t owner = 1) {
    BeginRequest request;
    request.trace_id = key;
    request.operation = "order";
    request.owner = owner_of(owner);
    request.lease_millis = 60'000;
    request.retention_millis = 3'600'000;
    request.instance = "here";
    return request;
}

inline FinishRequest finish_of(std::string_view key, std::uint64_t version, const Response& response,
                               std::uint64_t owner = 1) {
    FinishRequest request;
    request.trace_id = key;
    request.version = version;
    request.owner = owner_of(owner);
    request.response = &response;
    request.retention_millis = 3'600'000;
    return request;
}

/// The request keeps only the address of its response.
FinishRequest finish_of(std::string_view key, std::uint64_t version, Response&& response,
                        std::uint64_t owner = 1) = delete;

/// One session of a table.
class RecordTable {
public:
    RecordTable(std::shared_ptr<Store> store, std::string name)
        : name_(std::move(name)), store_(std::move(store)), session_(store_->open(soon()).value()) {}

    const std::string& name() const noexcept { return name_; }
    Store& store() const noexcept { return *store_; }
    StoreSession& session() const noexcept { return *session_; }

    std::vector<Result<BeginOutcome>> begin(const std::vector<BeginRequest>& in, Deadline deadline = soon()) const {
        std::vector<Result<BeginOutcome>> out(in.size(), Result<BeginOutcome>(BeginOutcome{}));
        session_->begin(in, out, deadline);
        return out;
    }
    Result<BeginOutcome> begin(std::string_view key, std::uint64_t owner = 1, Deadline deadline = soon()) const {
        return begin(std::vector{begin_of(key, owner)}, deadline).front();
    }
    Result<FinishOutcome> finish(const FinishRequest& request, Deadline deadline = soon()) const {
        Result<FinishOutcome> out(FinishOutcome{});
        session_->finish(std::span(&request, 1), std::span(&out, 1), deadline);
        return out;
    }
    std::vector<Result<RenewOutcome>> renew(const std::vector<RenewRequest>& in) const {
        std::vector<Result<RenewOutcome>> out(in.size(), Result<RenewOutcome>(RenewOutcome{}));
        session_->renew(in, out, soon());
        return out;
    }
    Result<FindOutcome> find(std::string_view key) const {
        const FindRequest request{key};
        Result<FindOutcome> out(FindOutcome{});
        session_->find(std::span(&request, 1), std::span(&out, 1), soon());
        return out;
    }

    static std::string fresh_name() {
        static std::atomic<int> number{0};
        return "t_" + std::to_string(++number);
    }

private:
    std::string name_;
    std::shared_ptr<Store> store_;
    std::unique_ptr<StoreSession> session_;
};

}  // namespace nebis::test
