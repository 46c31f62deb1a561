// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

/// Which leases of this process are to be renewed, which have been lost. No I/O, thread or clock; the runtime's renewer
/// moves it.
namespace nebis::protocol {

/// Rules (protocol.md, step 4): a lease is renewed when the interval, at most a third of it, has passed since the last
/// renewal was *sent*; never beyond `max` in all; an error ends no lease; "0 rows" or the monotonic end of the lease
/// does, once and for good. One that has ended is still renewed while its handler runs: as long as nobody has taken the
/// row over (the store was away, say), that keeps others from thinking its owner dead; its handler stays told that it
/// is over.
class LeaseBook {
public:
    using Millis = std::int64_t;
    using Slot = std::uint32_t;

    struct Terms {
        Millis lease = 10'000;
        Millis interval = 3'000;  ///< capped at lease / 3
        Millis max = 60'000;      ///< all renewals together, counted from the first begin
        Millis margin = 500;      ///< the process counts its lease as over this much earlier than the store does
        bool renew = true;
    };

    /// A lease granted by a begin that was sent at `sent`. `tag` is the caller's own word for it.
    Slot add(Millis sent, const Terms& terms, void* tag);
    void remove(Slot slot) noexcept;

    struct Due {
        Slot slot;
        void* tag;
        Millis lease;  ///< to ask for: shorter than the terms' when `max` is near
    };
    /// Everything to be renewed at `now`; those are then in flight until `renewed`, `lost` or `failed`.
    void collect_due(Millis now, std::vector<Due>& out);
    /// Every lease whose monotonic end has passed; told once.
    void collect_ended(Millis now, std::vector<void*>& out);

    /// A renewal sent at `sent` was applied. Returns the new end of the lease as this process counts it.
    Millis renewed(Slot slot, Millis sent, Millis lease);
    void lost(Slot slot) noexcept;
    void failed(Slot slot) noexcept;  ///< no answer, or an error: tried again at the next look

    /// The earliest moment at which something is to be done; `none` when the book is empty.
    Millis next() const noexcept;
    static constexpr Millis none = INT64_MAX;
    std::size_t size() const noexcept { return entries_.size() - free_.size(); }

private:
    struct Entry {
        Terms terms;
        Millis first = 0;  ///< sending of the begin
        Millis sent = 0;   ///< sending of the last write that prolonged it
        Millis end = 0;    ///< as this process counts it
        void* tag = nullptr;
        bool used = false;
        bool in_flight = false;
        bool ended = false;  ///< its monotonic end has passed and was told; sticky
        bool over = false;   ///< lost to somebody: never renewed again
    };
    static Millis due_at(const Entry& entry) noexcept;

    std::vector<Entry> entries_;
    std::vector<Slot> free_;
};

}  // namespace nebis::protocol
