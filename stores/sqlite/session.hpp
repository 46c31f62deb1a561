// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "file.hpp"
#include "rows.hpp"

namespace nebis::sqlite {

/// One connection of a record table. A batch of writes is one `BEGIN IMMEDIATE … COMMIT`: one flush of the disk for up
/// to 64 requests.
class Session final : public StoreSession, public RowRewriter, public LeaseCensus {
public:
    Session(std::shared_ptr<detail::File> file, std::string table, std::unique_ptr<Connection> connection)
        : file_(std::move(file)), table_(std::move(table)), connection_(std::move(connection)) {}

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
    /// The table's statements on a healthy connection, opened anew after a fault that spent the last one.
    Result<Rows*> rows(Deadline deadline);
    /// `step(rows, now, stalls)` under the write lock, then the commit. An Error of `step` rolls back. `locked` tells
    /// whether the lock was had.
    template <class Step>
    Result<void> write_transaction(Deadline deadline, Step step, bool* locked = nullptr);
    /// `step(rows, now)` on one snapshot.
    template <class Step>
    Result<void> read_transaction(Deadline deadline, Step step);
    void drop_if_spent(int code);

    /// Answers what needs no write from a snapshot while another transaction holds the file; true when nothing is left
    /// to do.
    bool answer_without_writing(std::span<const BeginRequest> in, std::span<Result<BeginOutcome>> out,
                                std::vector<std::size_t>& left, bool processing_counts, Deadline deadline);

    std::shared_ptr<detail::File> file_;
    std::string table_;
    std::unique_ptr<Connection> connection_;
};

}  // namespace nebis::sqlite
