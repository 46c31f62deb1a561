// SPDX-License-Identifier: Apache-2.0
#include "runtime/sealing.hpp"

#include "identify/digest.hpp"
#include "runtime/execution_state.hpp"
#include "runtime/snapshot.hpp"

namespace nebis::runtime {
namespace {

std::string bound_to(char what, std::string_view trace_id) {
    std::string bound(1, what);
    identify::append_framed(bound, trace_id);
    return bound;
}

std::string bound_response(std::string_view trace_id, std::uint64_t version) {
    std::string bound = bound_to('A', trace_id);
    for (int shift = 56; shift >= 0; shift -= 8) bound.push_back(static_cast<char>(version >> shift));
    return bound;
}

std::string bound_request(std::string_view trace_id, const RequestHash& hash) {
    std::string bound = bound_to('Q', trace_id);
    bound.push_back(static_cast<char>(hash.scheme));
    return bound.append(identify::as_text(hash.digest));
}

Error unsealed(const char* what) {
    return Error(ErrorKind::corrupt, "a snapshot isn't sealed, and seal.required is set", what,
                 "seal old records with `nebis reseal`, or unset seal.required until they are gone")
        .with_code("snapshot-unsealed");
}

}  // namespace

bool is_sealed(const Response& response) noexcept {
    return response.status == sealed_status && response.headers.empty() && seal::is_sealed(response.body);
}

Result<Response> sealed_for(const ExecutionState* state, Response response, std::string_view trace_id,
                            std::uint64_t version) {
    if (state && state->keeps_no_answer && !(response.body.empty() && response.headers.empty()))
        response = Response{response.status, {}, {}, true};
    if (!state || !state->sealing || !state->sealing->on()) return response;
    return state->sealing->seal(response, trace_id, version);
}

Result<Response> Sealing::seal(const Response& response, std::string_view trace_id, std::uint64_t version) const {
    auto sealed = ring_.seal(encode_response(response), bound_response(trace_id, version));
    if (!sealed) return std::move(sealed).error();
    return Response{sealed_status, {}, *std::move(sealed), false};
}

Result<std::string> Sealing::seal_request(std::string_view body, std::string_view trace_id,
                                          const RequestHash& hash) const {
    return ring_.seal(body, bound_request(trace_id, hash));
}

Result<void> Sealing::open(Response& response, std::string_view trace_id, std::uint64_t version) const {
    if (!is_sealed(response)) {
        if (required_) return unsealed("a response");
        return {};
    }
    auto plain = ring_.open(response.body, bound_response(trace_id, version));
    if (!plain) return std::move(plain).error();
    auto decoded = decode_response(*plain);
    if (!decoded) return std::move(decoded).error();
    response = *std::move(decoded);
    return {};
}

Result<std::string> Sealing::opened_request(const Record& record) const {
    if (seal::is_sealed(record.request_body))
        return ring_.open(record.request_body, bound_request(record.trace_id, record.request_hash));
    if (required_ && !record.request_body.empty()) return unsealed("a request");
    return record.request_body;
}

Result<void> Sealing::open(Record& record) const {
    auto request = opened_request(record);
    if (!request) return std::move(request).error();
    if (record.response)
        if (auto opened = open(*record.response, record.trace_id, record.version); !opened) return opened;
    record.request_body = *std::move(request);
    return {};
}

Result<Record> Sealing::resealed(const Record& open) const {
    Record sealed = open;
    if (!open.request_body.empty()) {
        auto request = seal_request(open.request_body, open.trace_id, open.request_hash);
        if (!request) return std::move(request).error();
        sealed.request_body = *std::move(request);
    }
    if (open.response) {
        auto response = seal(*open.response, open.trace_id, open.version);
        if (!response) return std::move(response).error();
        sealed.response = *std::move(response);
    }
    return sealed;
}

bool Sealing::outdated(const Record& stored) const {
    const bool response =
        stored.response && (!is_sealed(*stored.response) || seal::key_id_of(stored.response->body) != ring_.current());
    const bool request = !stored.request_body.empty() && seal::key_id_of(stored.request_body) != ring_.current();
    return response || request;
}

}  // namespace nebis::runtime
