// SPDX-License-Identifier: Apache-2.0
#include "store_bench.hpp"

#include <thread>

namespace nebis::conformance {

using std::chrono::milliseconds;

Owner owner(std::uint64_t number) {
    Owner made;
    for (std::size_t i = 0; i < made.bytes.size(); ++i)
        made.bytes[i] = static_cast<unsigned char>((number >> (8 * (i % 8))) ^ (i * 37));
    return made;
}

RequestHash request_hash(std::uint8_t digest, std::uint8_t scheme) {
    RequestHash hash;
    hash.scheme = scheme;
    hash.digest.fill(digest);
    return hash;
}

Response response(std::string body, int status) {
    Response made;
    made.status = status;
    made.headers = {{"Content-Type", "application/json"}, {"X-A", "1"}, {"X-A", "2"}};
    made.body = std::move(body);
    return made;
}

StoreBench::StoreBench(const StoreFixture& fixture) : fixture_(fixture), store_(fixture.make()) {
    require(store_ != nullptr, "the fixture makes a store");
    take(store_->verify(soon()), "a new store verifies");
    other_store_ = fixture.another ? fixture.another(store_) : store_;
    require(other_store_ != nullptr, "the fixture gives another handle");
    session_ = open(*store_);
    other_session_ = open(*other_store_);
}

std::unique_ptr<StoreSession> StoreBench::open(Store& store) { return take(store.open(soon()), "a session opens"); }

void StoreBench::pass(milliseconds span) {
    if (fixture_.advance) return fixture_.advance(span);
    const StoreMillis until = now() + span.count();
    while (now() < until) std::this_thread::sleep_for(milliseconds(2));
}

Result<BeginOutcome> StoreBench::try_begin(std::string_view key, const Owner& owner, const Try& how,
                                           StoreSession* session) {
    BeginRequest request;
    request.trace_id = key;
    request.operation = how.operation;
    request.owner = owner;
    request.request_hash = request_hash(how.hash, how.scheme);
    request.status = how.status;
    request.lease_millis = how.lease;
    request.retention_millis = how.retention;
    request.unknown_retention_millis = how.unknown_retention;
    request.take_over_lease = how.take_over_lease;
    request.take_over_unknown = how.take_over_unknown;
    request.lapse = how.lapse;
    request.not_after = how.not_after;
    request.instance = how.instance;
    request.request_snapshot = how.snapshot;
    Result<BeginOutcome> out = Error(ErrorKind::internal, "not set");
    (session ? *session : *session_).begin({&request, 1}, {&out, 1}, soon());
    return out;
}

BeginOutcome StoreBench::begin(std::string_view key, const Owner& owner, const Try& how, StoreSession* session) {
    return take(try_begin(key, owner, how, session), "begin answers");
}

std::uint64_t StoreBench::acquire(std::string_view key, const Owner& owner, const Try& how, StoreSession* session) {
    const BeginOutcome out = begin(key, owner, how, session);
    require(out.kind == BeginOutcome::Kind::acquired, "the key is acquired");
    return out.version;
}

FinishOutcome StoreBench::finish(std::string_view key, std::uint64_t version, const Owner& owner, RecordStatus status,
                                 const Response* response, const End& how, StoreSession* session) {
    FinishRequest request;
    request.trace_id = key;
    request.version = version;
    request.owner = owner;
    request.status = status;
    request.from_processing = how.from_processing;
    request.from_unknown = how.from_unknown;
    request.from_marked = how.from_marked;
    request.response = response;
    request.retention_millis = how.retention;
    request.outcome_ref = how.outcome_ref;
    request.new_owner = how.new_owner;
    Result<FinishOutcome> out = Error(ErrorKind::internal, "not set");
    (session ? *session : *session_).finish({&request, 1}, {&out, 1}, soon());
    return take(std::move(out), "finish answers");
}

RenewOutcome::Kind StoreBench::renew(std::string_view key, std::uint64_t version, const Owner& owner,
                                     std::int64_t lease, bool ask, StoreSession* session) {
    const RenewRequest request{key, version, owner, lease, ask};
    Result<RenewOutcome> out = Error(ErrorKind::internal, "not set");
    (session ? *session : *session_).renew({&request, 1}, {&out, 1}, soon());
    return take(std::move(out), "renew answers").kind;
}

std::optional<Record> StoreBench::find(std::string_view key, StoreSession* session) {
    const FindRequest request{key};
    Result<FindOutcome> out = Error(ErrorKind::internal, "not set");
    (session ? *session : *session_).find({&request, 1}, {&out, 1}, soon());
    return take(std::move(out), "find answers").record;
}

Record StoreBench::row(std::string_view key, StoreSession* session) {
    auto found = find(key, session);
    require(found.has_value(), "the row is there");
    return std::move(*found);
}

Record StoreBench::prepared(std::string_view key, RecordStatus status, std::uint64_t number, const Try& how,
                            std::int64_t retention) {
    Try begin = how;
    if (status == RecordStatus::marked) {
        begin.status = RecordStatus::marked;
        begin.retention = retention;
    }
    const std::uint64_t version = acquire(key, owner(number), begin);
    if (status != RecordStatus::processing && status != RecordStatus::marked) {
        const Response answer = response("body of " + std::string(key));
        End end;
        end.retention = retention;
        require(finish(key, version, owner(number), status, is_terminal(status) ? &answer : nullptr, end).applied,
                "the row is prepared");
    }
    return row(key);
}

}  // namespace nebis::conformance
