// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "connection.hpp"
#include "nebis/lease_census.hpp"
#include "nebis/rewrite.hpp"

#include <initializer_list>
#include <span>

namespace nebis::postgres {

/// One connection of a record table. A batch is one round trip and one commit, finishes and begins together. Begins
/// that found a row are looked at in a second one; when such a row must change hands it is locked, judged by the rules
/// in C++ and written in a transaction of its own.
class Session final : public StoreSession, public RowRewriter, public LeaseCensus {
public:
    Session(Options options, std::string table, std::unique_ptr<Connection> connection)
        : options_(std::move(options)), table_(std::move(table)), connection_(std::move(connection)) {}

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

    /// On a healthy connection, opened anew after a fault that spent the last one.
    Result<std::vector<Rows>> run(std::initializer_list<Step> steps, Deadline deadline);
    /// The same for what changes nothing: a lost answer is no riddle.
    Result<std::vector<Rows>> read(std::initializer_list<Step> steps, Deadline deadline);

    Result<void> begin_batch(std::span<const BeginRequest> in, Begun out, Deadline deadline);
    /// After the commit: what became of each, from the rows that `insert_new` returned.
    void settle_begun(std::span<const BeginRequest> in, const Rows& inserted, Begun out, Deadline deadline);
    /// Those that had a row.
    void look_at(std::span<const BeginRequest> in, std::span<const std::size_t> which, Begun out, Deadline deadline);
    /// Rows that are there and must be written.
    Result<void> take_over(std::span<const BeginRequest> in, std::span<const std::size_t> which, Begun out,
                           Deadline deadline);
    Result<void> finish_batch(std::span<const FinishRequest> in, Finished out, Deadline deadline);
    void settle_finished(std::span<const FinishRequest> in, const Rows& finished, Finished out, Deadline deadline);
    Result<void> renew_batch(std::span<const RenewRequest> in, std::span<Result<RenewOutcome>> out, Deadline deadline);

    Options options_;
    std::string table_;
    std::unique_ptr<Connection> connection_;
};

}  // namespace nebis::postgres
