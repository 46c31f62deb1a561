// SPDX-License-Identifier: Apache-2.0
#include "driver/one_or_each.hpp"
#include "requests.hpp"
#include "runtime/snapshot.hpp"
#include "session.hpp"

#include <utility>

namespace nebis::mysql {

Result<RowPage> Session::page(std::string_view after, std::size_t limit, Deadline deadline) {
    Script script;
    write_clock(script);
    const auto clock = script.statement("SELECT @ms");
    script.open("SELECT ").sql(record_columns).sql(" FROM ").sql(quoted_).sql(" WHERE trace_id>").bytes(after);
    script.sql(" ORDER BY trace_id LIMIT ").number(static_cast<std::int64_t>(limit));
    const auto found = script.close();
    auto answers = read(script, deadline);
    if (!answers) return std::move(answers).error();
    const StoreMillis now = (*answers)[clock].number(0, 0);
    const Answer& rows = (*answers)[found];
    RowPage page;
    for (std::size_t row = 0; row < rows.size(); ++row) {
        auto record = read_record(rows, row, now);
        if (record)
            page.rows.push_back(*std::move(record));
        else
            ++page.unreadable;
    }
    if (rows.size() == limit) page.last = rows.bytes(rows.size() - 1, 0);
    return page;
}

void Session::rewrite(std::span<const RewriteRequest> in, std::span<Result<bool>> out, Deadline deadline) {
    if (in.empty()) return;
    Script script;
    script.statement("START TRANSACTION");
    script.open("SELECT GROUP_CONCAT(id) INTO @held FROM ").sql(quoted_).sql(" WHERE trace_id IN (");
    listed(script, in, [&](const RewriteRequest& one) { script.bytes(one.seen->trace_id); });
    script.sql(") FOR UPDATE SKIP LOCKED").close();
    std::vector<std::size_t> updates;
    for (const RewriteRequest& one : in) {
        const Record& seen = *one.seen;
        script.open("UPDATE ").sql(quoted_).sql(" SET request_body=").bytes(one.request_body).sql(",response_body=");
        if (one.response)
            script.bytes(runtime::encode_response(*one.response));
        else
            script.sql("NULL");
        script.sql(" WHERE trace_id=").bytes(seen.trace_id);
        script.sql(" AND version=").number(static_cast<std::int64_t>(seen.version));
        script.sql(" AND owner=").bytes(bytes_of(seen.owner));
        script.sql(" AND status=").number(static_cast<int>(seen.status));
        script.sql(" AND update_time=").number(seen.update_time);
        updates.push_back(script.sql(" AND FIND_IN_SET(id,@held)").close());
    }
    script.statement("COMMIT");
    auto answers = run(script, deadline);
    if (!answers) return driver::fill(out, answers.error());
    for (std::size_t i = 0; i < in.size(); ++i) out[i] = (*answers)[updates[i]].affected() == 1;
}

}  // namespace nebis::mysql
