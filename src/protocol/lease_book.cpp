// SPDX-License-Identifier: Apache-2.0
#include "protocol/lease_book.hpp"

#include <algorithm>

namespace nebis::protocol {

LeaseBook::Slot LeaseBook::add(Millis sent, const Terms& terms, void* tag) {
    Slot slot;
    if (free_.empty()) {
        slot = static_cast<Slot>(entries_.size());
        entries_.emplace_back();
    } else {
        slot = free_.back();
        free_.pop_back();
    }
    Entry& entry = entries_[slot];
    entry = Entry{};
    entry.terms = terms;
    entry.first = entry.sent = sent;
    entry.end = sent + terms.lease - terms.margin;
    entry.tag = tag;
    entry.used = true;
    return slot;
}

void LeaseBook::remove(Slot slot) noexcept {
    entries_[slot] = Entry{};
    free_.push_back(slot);
}

LeaseBook::Millis LeaseBook::due_at(const Entry& entry) noexcept {
    if (!entry.terms.renew || entry.in_flight || entry.sent + entry.terms.lease >= entry.first + entry.terms.max)
        return none;
    return entry.sent + std::max<Millis>(1, std::min(entry.terms.interval, entry.terms.lease / 3));
}

void LeaseBook::collect_due(Millis now, std::vector<Due>& out) {
    for (Slot slot = 0; slot < entries_.size(); ++slot) {
        Entry& entry = entries_[slot];
        if (!entry.used || entry.over || due_at(entry) > now) continue;
        const Millis lease = std::min(entry.terms.lease, entry.first + entry.terms.max - now);
        if (lease <= 0) {
            entry.terms.renew = false;  // came too late for `max`; else `next` would name a moment of the past for ever
            continue;
        }
        entry.in_flight = true;
        out.push_back({slot, entry.tag, lease});
    }
}

void LeaseBook::collect_ended(Millis now, std::vector<void*>& out) {
    for (Entry& entry : entries_) {
        if (!entry.used || entry.over || entry.ended || entry.end > now) continue;
        entry.ended = true;
        out.push_back(entry.tag);
    }
}

LeaseBook::Millis LeaseBook::renewed(Slot slot, Millis sent, Millis lease) {
    Entry& entry = entries_[slot];
    entry.in_flight = false;
    if (entry.over) return entry.end;
    entry.sent = std::max(entry.sent, sent);
    if (entry.ended) return entry.end;  // told already; a late reply doesn't bring it back
    entry.end = std::max(entry.end, sent + lease - entry.terms.margin);
    return entry.end;
}

void LeaseBook::lost(Slot slot) noexcept {
    entries_[slot].in_flight = false;
    entries_[slot].over = true;
}

void LeaseBook::failed(Slot slot) noexcept { entries_[slot].in_flight = false; }

LeaseBook::Millis LeaseBook::next() const noexcept {
    Millis earliest = none;
    for (const Entry& entry : entries_) {
        if (!entry.used || entry.over) continue;
        earliest = std::min(earliest, due_at(entry));
        if (!entry.ended) earliest = std::min(earliest, entry.end);
    }
    return earliest;
}

}  // namespace nebis::protocol
