// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/lease_census.hpp"
#include "nebis/rewrite.hpp"
#include "nebis/store.hpp"
#include "runtime/row_rules.hpp"
#include "stall_book.hpp"
#include "statement.hpp"

#include <span>
#include <string>
#include <vector>

namespace nebis::sqlite {

/// What is done to single rows of one record table through one connection. Every call that may write runs inside a
/// transaction that has begun IMMEDIATE: it holds the file's write lock, so that reading, deciding and writing are one
/// step.
///
/// An Error that `only_this_row(code())` explains leaves the transaction as it was; after any other the transaction
/// must be rolled back.
class Rows {
public:
    enum class Part : std::uint8_t { all, finish };
    Result<void> prepare(sqlite3* handle, const std::string& table, Part part = Part::all);

    /// Once for each transaction, before its first begin.
    Result<void> read_floor();

    /// Takes nothing over from an owner that `stalls` may have kept from renewing.
    Result<BeginOutcome> begin(const BeginRequest& request, const runtime::StoreTime& now, const Stalls& stalls);
    /// `begin` for an effect and its record in one transaction: a key that has no row yet gets none now, and
    /// `unwritten` tells so. The write lock keeps its place free until `insert_finished`. A row that began and ended in
    /// the same transaction would grow, move, and pass through the index of leases, for nobody to see (measured: a page
    /// more in each commit and a fifth of its CPU).
    Result<BeginOutcome> claim(const BeginRequest& request, const runtime::StoreTime& now, const Stalls& stalls,
                               bool& unwritten);
    /// The row of an `unwritten` claim, finished. False: something else has written a row of that key meanwhile, in
    /// this very transaction.
    Result<bool> insert_finished(const BeginRequest& begin, const BeginOutcome& begun, const FinishRequest& finish,
                                 const runtime::StoreTime& now);
    /// What begin would answer if it needs no write for it; empty when it would have to write.
    Result<std::optional<BeginOutcome>> peek(const BeginRequest& request, StoreMillis now, bool processing_counts);
    Result<FinishOutcome> finish(const FinishRequest& request, const runtime::StoreTime& now);
    Result<RenewOutcome> renew(const RenewRequest& request, const runtime::StoreTime& now);
    Result<FindOutcome> find(std::string_view trace_id, StoreMillis now);
    /// Is the record still this attempt's to finish?
    Result<bool> holds(std::string_view trace_id, std::uint64_t version, const Owner& owner);

    Result<Leases> leases(StoreMillis now);
    Result<bool> anything_to_recover(const RecoverRequest& request, StoreMillis now);
    Result<std::vector<Record>> recover(const RecoverRequest& request, StoreMillis now, const Stalls& stalls);
    Result<bool> anything_to_clean(StoreMillis now);
    Result<std::size_t> clean(std::size_t limit, StoreMillis now);
    Result<bool> purge(std::string_view trace_id, std::uint64_t version);
    Result<RowPage> page(std::string_view after, std::size_t limit, StoreMillis now);
    Result<bool> rewrite(const RewriteRequest& request);
    Result<std::string> key_rule(std::string_view operation, std::string_view digest, bool accept, StoreMillis now);
    Result<std::optional<std::string>> known_key_rule(std::string_view operation);

    /// SQLite's code of the last Error; SQLITE_OK when the Error is our own judgement of a row.
    int code() const noexcept { return code_; }
    bool in_transaction() const noexcept { return sqlite3_get_autocommit(handle_) == 0; }

private:
    Error failed(std::string_view doing);
    Error damaged(std::string_view trace_id, std::string_view what);
    Result<runtime::RowHead> head(std::string_view trace_id);
    Result<Record> record(std::string_view trace_id, StoreMillis now);
    /// SQLITE_ROW with the row in `select_`, SQLITE_DONE when there is none.
    int seek(std::string_view trace_id);
    int raise_floor(std::uint64_t version);
    /// The first eleven parameters of both inserts. Views: what is given must outlive the step.
    static void bind_new_row(Statement& statement, const BeginRequest& request, std::span<const unsigned char> hash,
                             const runtime::RowHead& row, StoreMillis create_time);
    /// Begins over the row that is there; empty when there is none.
    Result<std::optional<BeginOutcome>> begin_over(const BeginRequest& request, const runtime::StoreTime& now,
                                                   const Stalls& stalls);

    /// Where a row was put. A guess: whoever goes there looks whether it is that row.
    struct Place {
        Owner owner;
        std::int64_t rowid = 0;
    };
    Place& place_of(const Owner& owner);

    sqlite3* handle_ = nullptr;
    int code_ = SQLITE_OK;
    std::uint64_t floor_ = 0;
    std::string floor_name_;
    Statement insert_, insert_finished_, select_, take_, lapse_, finish_, finish_there_, finish_more_, renew_, ask_,
        holds_;
    std::vector<Place> places_;
    Statement find_overdue_, count_leases_, find_expired_, remove_, purge_, list_, rewrite_;
    Statement read_floor_, raise_floor_, read_rule_, keep_rule_;
};

}  // namespace nebis::sqlite
