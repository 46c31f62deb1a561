// SPDX-License-Identifier: Apache-2.0
#include "runtime/sealed_store.hpp"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

namespace nebis::runtime {
namespace {

/// The requests as the driver gets them, and the sealed bodies they point at.
template <class Request, class Body>
struct Prepared {
    std::vector<Request> requests;
    std::deque<Body> bodies;  // stays where it is while it grows
};

/// Nothing was sent.
template <class Outcome>
void fill(std::span<Result<Outcome>> out, const Error& error) {
    for (Result<Outcome>& one : out) one = error;
}

class SealedSession final : public StoreSession {
public:
    SealedSession(std::unique_ptr<StoreSession> inner, std::shared_ptr<const Sealing> sealing)
        : inner_(std::move(inner)), sealing_(std::move(sealing)) {}

    void begin(std::span<const BeginRequest> in, std::span<Result<BeginOutcome>> out, Deadline deadline) override {
        Prepared<BeginRequest, std::string> prepared;
        if (auto ready = prepare(in, prepared); !ready) return fill(out, ready.error());
        inner_->begin(in, out, deadline);
        open(out, &BeginOutcome::record);
    }

    void finish(std::span<const FinishRequest> in, std::span<Result<FinishOutcome>> out, Deadline deadline) override {
        Prepared<FinishRequest, Response> prepared;
        if (auto ready = prepare(in, prepared); !ready) return fill(out, ready.error());
        inner_->finish(in, out, deadline);
        open(out, &FinishOutcome::current);
    }

    void write(std::span<const FinishRequest> finishes, std::span<Result<FinishOutcome>> finished,
               std::span<const BeginRequest> begins, std::span<Result<BeginOutcome>> begun,
               Deadline deadline) override {
        Prepared<FinishRequest, Response> responses;
        Prepared<BeginRequest, std::string> requests;
        auto ready = prepare(finishes, responses);
        if (ready) ready = prepare(begins, requests);
        if (!ready) {
            fill(finished, ready.error());
            fill(begun, ready.error());
            return;
        }
        inner_->write(finishes, finished, begins, begun, deadline);
        open(finished, &FinishOutcome::current);
        open(begun, &BeginOutcome::record);
    }

    void renew(std::span<const RenewRequest> in, std::span<Result<RenewOutcome>> out, Deadline deadline) override {
        inner_->renew(in, out, deadline);
    }

    void find(std::span<const FindRequest> in, std::span<Result<FindOutcome>> out, Deadline deadline) override {
        inner_->find(in, out, deadline);
        open(out, &FindOutcome::record);
    }

    Result<std::vector<Record>> recover(const RecoverRequest& request, Deadline deadline) override {
        auto rows = inner_->recover(request, deadline);
        // What doesn't open is moved like any other row, but nobody may act on it; its next duplicate is told.
        if (rows) std::erase_if(*rows, [this](Record& row) { return !sealing_->open(row); });
        return rows;
    }

    Result<std::size_t> clean(const CleanRequest& request, Deadline deadline) override {
        return inner_->clean(request, deadline);
    }
    Result<bool> purge(std::string_view trace_id, std::uint64_t version, Deadline deadline) override {
        return inner_->purge(trace_id, version, deadline);
    }
    Result<StoreMillis> now(Deadline deadline) override { return inner_->now(deadline); }
    Result<std::string> key_rule(std::string_view operation, std::string_view digest, bool accept,
                                 Deadline deadline) override {
        return inner_->key_rule(operation, digest, accept, deadline);
    }

private:
    /// `in` is left alone when there is nothing to seal; else it shows the prepared ones.
    Result<void> prepare(std::span<const FinishRequest>& in, Prepared<FinishRequest, Response>& prepared) const {
        if (!sealing_->on() || std::ranges::none_of(in, [](const auto& one) { return one.response; })) return {};
        prepared.requests.assign(in.begin(), in.end());
        for (FinishRequest& one : prepared.requests) {
            if (!one.response) continue;
            auto sealed = sealing_->seal(*one.response, one.trace_id, one.version);
            if (!sealed) return std::move(sealed).error();
            one.response = &prepared.bodies.emplace_back(*std::move(sealed));
        }
        in = prepared.requests;
        return {};
    }

    Result<void> prepare(std::span<const BeginRequest>& in, Prepared<BeginRequest, std::string>& prepared) const {
        if (std::ranges::all_of(in, [](const auto& one) { return one.request_snapshot.empty(); })) return {};
        prepared.requests.assign(in.begin(), in.end());
        for (BeginRequest& one : prepared.requests) {
            if (one.request_snapshot.empty()) continue;
            if (!sealing_->on()) {
                one.request_snapshot = kept_unsealed(one.request_snapshot);
                continue;
            }
            auto sealed = sealing_->seal_request(one.request_snapshot, one.trace_id, one.request_hash);
            if (!sealed) return std::move(sealed).error();
            one.request_snapshot = prepared.bodies.emplace_back(*std::move(sealed));
        }
        in = prepared.requests;
        return {};
    }

    template <class Outcome>
    void open(std::span<Result<Outcome>> out, std::optional<Record> Outcome::*record) const {
        for (Result<Outcome>& one : out) {
            if (!one || !((*one).*record)) continue;
            if (auto opened = sealing_->open(*((*one).*record)); !opened) one = std::move(opened).error();
        }
    }

    const std::unique_ptr<StoreSession> inner_;
    const std::shared_ptr<const Sealing> sealing_;
};

class SealedStore final : public Store {
public:
    SealedStore(std::shared_ptr<Store> inner, std::shared_ptr<const Sealing> sealing)
        : inner_(std::move(inner)), sealing_(std::move(sealing)) {}

    const Store& inner() const noexcept { return *inner_; }

    std::string_view name() const noexcept override { return inner_->name(); }
    StoreTraits traits() const noexcept override { return inner_->traits(); }
    Result<void> verify(Deadline deadline) override { return inner_->verify(deadline); }
    Result<void> create_schema(Deadline deadline) override { return inner_->create_schema(deadline); }
    std::vector<std::string> cautions() const override { return inner_->cautions(); }
    Result<std::unique_ptr<StoreSession>> open(Deadline deadline) override {
        auto session = inner_->open(deadline);
        if (!session) return session;
        return std::unique_ptr<StoreSession>(std::make_unique<SealedSession>(*std::move(session), sealing_));
    }
    bool wait_for_change(Deadline deadline) override { return inner_->wait_for_change(deadline); }
    bool waits_for_this_thread() const noexcept override { return inner_->waits_for_this_thread(); }

private:
    const std::shared_ptr<Store> inner_;
    const std::shared_ptr<const Sealing> sealing_;
};

}  // namespace

std::shared_ptr<Store> sealed(std::shared_ptr<Store> store, std::shared_ptr<const Sealing> sealing) {
    return std::make_shared<SealedStore>(std::move(store), std::move(sealing));
}

const Store& without_seals(const Store& store) noexcept {
    const auto* const ours = dynamic_cast<const SealedStore*>(&store);
    return ours ? ours->inner() : store;
}

}  // namespace nebis::runtime
