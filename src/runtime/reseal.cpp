// SPDX-License-Identifier: Apache-2.0
#include "runtime/reseal.hpp"

#include "nebis/extend.hpp"
#include "nebis/rewrite.hpp"
#include "runtime/configured_tables.hpp"

#include <algorithm>
#include <deque>
#include <utility>

namespace nebis {
namespace runtime {
namespace {

/// Younger rows could be written in the very millisecond in which they were read.
constexpr StoreMillis at_rest = 1'000;
constexpr std::chrono::seconds page_wait{30};

/// The bodies of one page under the current key, and the requests that point at them.
class Page {
public:
    Page(const Sealing& sealing, Resealed& count) : sealing_(sealing), count_(count) {}

    Result<void> add(const Record& stored) {
        ++count_.looked_at;
        if (!sealing_.outdated(stored)) return {};
        if (stored.now - stored.update_time < at_rest) return ++count_.in_use, Result<void>();
        Record open = stored;
        if (!sealing_.open(open)) return ++count_.unopened, Result<void>();
        auto sealed = sealing_.resealed(open);
        if (!sealed) return std::move(sealed).error();
        const Record& kept = bodies_.emplace_back(*std::move(sealed));
        requests_.push_back({&stored, kept.request_body, kept.response ? &*kept.response : nullptr});
        return {};
    }

    Result<void> write(RowRewriter& rows, Deadline deadline) {
        std::vector<Result<bool>> written(requests_.size(), false);
        rows.rewrite(requests_, written, deadline);
        for (const auto& one : written) {
            if (!one) return one.error();
            ++(*one ? count_.sealed : count_.in_use);
        }
        return {};
    }

private:
    const Sealing& sealing_;
    Resealed& count_;
    std::deque<Record> bodies_;
    std::vector<RewriteRequest> requests_;
};

}  // namespace

Result<Resealed> reseal(Store& store, const Sealing& sealing, const ResealOptions& options, Deadline deadline) {
    if (!sealing.on())
        return Error(ErrorKind::misconfigured, "there is no key to seal with", {}, "set seal.keys.<id>.secret-file");
    auto session = store.open(deadline);
    if (!session) return std::move(session).error();
    auto* const rows = dynamic_cast<RowRewriter*>(session->get());
    if (!rows)
        return Error(ErrorKind::unsupported, "the store '" + std::string(store.name()) + "' can't re-seal its rows", {},
                     "keep the old key until the retention of its last record is over");
    Resealed count;
    const std::size_t batch = std::clamp<std::size_t>(options.batch, 1, store.traits().batch_max);
    for (std::string after;;) {
        if (std::chrono::steady_clock::now() >= deadline)
            return Error(ErrorKind::unavailable, "re-sealing took longer than it may",
                         std::to_string(count.sealed) + " records are sealed",
                         "run it again: it goes on with the rest");
        const Deadline until = std::min(deadline, std::chrono::steady_clock::now() + page_wait);
        auto page = rows->page(after, batch, until);
        if (!page) return std::move(page).error();
        count.unreadable += page->unreadable;
        Page outdated(sealing, count);
        for (const Record& stored : page->rows)
            if (auto added = outdated.add(stored); !added) return std::move(added).error();
        if (auto written = outdated.write(*rows, until); !written) return std::move(written).error();
        if (options.progress) options.progress(count.looked_at);
        if (page->last.empty()) return count;
        after = std::move(page->last);
    }
}

}  // namespace runtime

Result<std::vector<Resealed>> reseal(const std::string& file, const Drivers& drivers, const OpenOptions& options,
                                     const std::string& data_source, const std::string& table, const ResealOptions& how,
                                     Deadline deadline) {
    auto configured = runtime::configured_tables(file, drivers, options, data_source, table);
    if (!configured) return std::move(configured).error();
    const config::Settings& settings = configured->settings;
    auto ring = seal::KeyRing::make(config::seal_keys(settings.seal), settings.seal.current);
    if (!ring) return std::move(ring).error();
    const runtime::Sealing sealing(*std::move(ring), false);
    auto stores = runtime::stores_of(*configured, drivers, data_source);
    if (!stores) return std::move(stores).error();
    std::vector<Resealed> all;
    for (const auto& [name, store] : *stores) {
        if (auto there = store->verify(deadline); !there) return std::move(there).error();
        auto done = runtime::reseal(*store, sealing, how, deadline);
        if (!done) return std::move(done).error();
        done->table = name;
        all.push_back(*std::move(done));
    }
    return all;
}

}  // namespace nebis
