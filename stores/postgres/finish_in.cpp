// SPDX-License-Identifier: Apache-2.0
#include "connection.hpp"
#include "driver/atomic.hpp"
#include "errors.hpp"
#include "requests.hpp"
#include "schema.hpp"

#include <vector>

namespace nebis::postgres {
namespace {

// How long the record's row may be waited for, and what is put back afterwards.
constexpr const char* look_around =
    "SELECT current_setting('transaction_isolation'), current_setting('lock_timeout'), set_config('lock_timeout', "
    "'1000', true)";
constexpr const char* put_back = "SELECT set_config('lock_timeout', $1, true)";

enum class Format : int { text = 0, binary = 1 };

Result<Rows> ask(PGconn* connection, const char* sql, const Params& params, Format format) {
    std::vector<const char*> values;
    std::vector<int> lengths;
    const std::vector<int> formats(params.values().size(), static_cast<int>(format));
    for (const auto& value : params.values()) {
        values.push_back(value.data());
        lengths.push_back(static_cast<int>(value.size()));
    }
    PGresult* const result = PQexecParams(connection, sql, static_cast<int>(values.size()), nullptr, values.data(),
                                          lengths.data(), formats.data(), static_cast<int>(format));
    if (!result) return Error(ErrorKind::unavailable, "out of memory").with_code("postgres-memory");
    Rows rows(result);
    if (PQresultStatus(result) != PGRES_TUPLES_OK) return answered(result);
    return rows;
}

}  // namespace

Result<void> finish_in(const Execution& execution, pg_conn* transaction, const Response& response,
                       const FinishIn& how) {
    if (auto good = driver::check(how); !good) return good;
    const std::string table(how.table);
    if (!good_table_name(table)) return bad_table_name();
    if (PQtransactionStatus(transaction) != PQTRANS_INTRANS || PQpipelineStatus(transaction) != PQ_PIPELINE_OFF)
        return driver::no_transaction("BEGIN");
    auto around = ask(transaction, look_around, Params(), Format::text);
    if (!around) return std::move(around).error();
    if (around->bytes(0, 0) != "read committed") return driver::not_read_committed();

    const auto stored = driver::kept(execution, execution.fencing_token(), response, how.max_response_bytes);
    if (!stored) return stored.error();
    const FinishRequest request = driver::end_of(execution, how, *stored);
    auto written = ask(transaction, text_of(Sql::finish_waiting, table).c_str(), finished_rows(std::span(&request, 1)),
                       Format::binary);
    if (!written) return std::move(written).error();
    Params before;
    before.add(std::string(around->bytes(0, 1)));
    if (auto restored = ask(transaction, put_back, before, Format::text); !restored) return std::move(restored).error();
    if (written->size() == 0) return driver::taken_over();
    return {};
}

}  // namespace nebis::postgres
