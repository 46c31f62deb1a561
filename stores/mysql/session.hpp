// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "connection.hpp"
#include "nebis/lease_census.hpp"
#include "nebis/rewrite.hpp"

#include <span>

namespace nebis::mysql {

/// One connection of a record table. A batch is one round trip and one commit, finishes and begins together. Begins
/// that found a row are looked at in a further one; when such a row must change hands it is locked, judged by the rules
/// in C++ and written in a transaction of its own.
class Session final : public StoreSession, public RowRewriter, public LeaseCensus {
public:
    Session(Options options, std::string table, std::unique_ptr<Connection> connection);

    void begin(std::span<const BeginRequest> in, std::span<Result<BeginOutcome>> out, Deadline deadline) override;
    void finish(std::span<const FinishRequest> in, std::span<Result<FinishOutcome>> out, Deadline deadline) override;
    void write(std::span<const FinishRequest> finishes, std::span<Result<FinishOutcome>> finished,
               std::span<const BeginRequest> begins, std::span<Result<BeginOutcome>> begun, Deadline deadline) override;
    void renew(std::span<const RenewRequest> in, std::span<Result<RenewOutcome>> out, Deadline deadline) override;
    void find(std::span<const FindRequest> in, std::span<Result<FindOutcome>> out, Deadline deadline) override;
    Result<std::vector<Record>> recover(const RecoverRequest& request, Deadline deadline) override;
    Result<std::size_t> clean(const CleanRequest& request, Deadline deadline) override;
    Result<bool> purge(std::string_view trace_id, std::uint64_t version, Deadline deadline) override;
    Result<RowPage> page(std::string_view after, std::size_t limit, Deadline deadline) override;
    void rewrite(std::span<const RewriteRequest> in, std::span<Result<bool>> out, Deadline deadline) override;
    Result<Leases> leases(Deadline deadline) override;
    Result<StoreMillis> now(Deadline deadline) override;
    Result<std::string> key_rule(std::string_view operation, std::string_view digest, bool accept,
                                 Deadline deadline) override;

private:
    using Begun = std::span<Result<BeginOutcome>>;
    using Finished = std::span<Result<FinishOutcome>>;

    /// On a healthy connection, opened anew after a fault that spent the last one. After an error nothing is left open.
    Result<Answers> run(const Script& script, Deadline deadline);
    /// The same for what changes nothing: a lost answer is no riddle.
    Result<Answers> read(const Script& script, Deadline deadline);
    /// The end of a transaction whose first part was `run`.
    Result<Answers> go_on(const Script& script, Deadline deadline);

    // Begins (begins.cpp).
    /// All of them, if every key is free: else nothing, and `is_guard`.
    void write_new(Script& script, std::span<const BeginRequest> in) const;
    static void settle_new(std::span<const BeginRequest> in, const Answer& clock, Begun out);
    Result<void> begin_free_ones(std::span<const BeginRequest> in, Begun out, Deadline deadline);
    void look_at(std::span<const BeginRequest> in, std::span<const std::size_t> which, Begun out, Deadline deadline);
    Result<void> take_over(std::span<const BeginRequest> in, std::span<const std::size_t> which, Begun out,
                           Deadline deadline);

    // Finishes and renewals (finishes.cpp).
    /// The places of the UPDATEs among the answers.
    std::vector<std::size_t> write_finishes(Script& script, std::span<const FinishRequest> in) const;
    void settle_finishes(std::span<const FinishRequest> in, const Answers& answers,
                         std::span<const std::size_t> updates, StoreMillis now, Finished out, Deadline deadline);
    Result<void> finish_batch(std::span<const FinishRequest> in, Finished out, Deadline deadline);
    Result<FindOutcome> read_back(std::string_view trace_id, Deadline deadline);
    Result<void> renew_batch(std::span<const RenewRequest> in, std::span<Result<RenewOutcome>> out, Deadline deadline);

    /// `column IN (x'…',…)` for the keys of a batch.
    template <class Requests>
    void write_keys(Script& script, const Requests& in) const {
        script.sql("trace_id IN (");
        listed(script, in, [&](const auto& one) { script.bytes(one.trace_id); });
        script.sql(")");
    }
    /// Locks what is free of the rows of a batch; the UPDATEs after it touch no other.
    template <class Requests>
    void write_hold(Script& script, const Requests& in) const {
        script.open("SELECT GROUP_CONCAT(id) INTO @held FROM ").sql(quoted_).sql(" WHERE ");
        write_keys(script, in);
        script.sql(" FOR UPDATE SKIP LOCKED").close();
    }

    Options options_;
    std::string table_, quoted_;
    std::unique_ptr<Connection> connection_;
};

}  // namespace nebis::mysql
