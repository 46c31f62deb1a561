// SPDX-License-Identifier: Apache-2.0
#include "connection.hpp"
#include "driver/atomic.hpp"
#include "errors.hpp"
#include "requests.hpp"
#include "schema.hpp"

#include <utility>

namespace nebis::mysql {
namespace {

/// One statement on a connection that isn't ours, so perhaps one at a time only.
Result<Answer> ask(MYSQL* connection, const Script& one) {
    const auto fault = [&] {
        const unsigned number = mysql_errno(connection);
        return is_clients(number) ? surely_not_applied(lost(mysql_error(connection)))
                                  : error_of(number, mysql_error(connection));
    };
    if (mysql_real_query(connection, one.sql().data(), one.sql().size()) != 0) return fault();
    if (MYSQL_RES* const rows = mysql_store_result(connection)) return Answer(rows);
    if (mysql_field_count(connection) != 0) return fault();
    return Answer(mysql_affected_rows(connection));
}

Script waiting(std::string_view seconds) {
    Script script;
    script.open("SET innodb_lock_wait_timeout=").sql(seconds).close();
    return script;
}

}  // namespace

Result<void> finish_in(const Execution& execution, st_mysql* transaction, const Response& response,
                       const FinishIn& how) {
    if (auto good = driver::check(how); !good) return good;
    const std::string table(how.table);
    if (!good_table_name(table)) return bad_table_name();
    // Without autocommit, the first statement opens it.
    if ((transaction->server_status & SERVER_STATUS_IN_TRANS) == 0 &&
        (transaction->server_status & SERVER_STATUS_AUTOCOMMIT) != 0)
        return driver::no_transaction("START TRANSACTION");
    Script looking;
    looking.statement(
        "SHOW SESSION VARIABLES WHERE Variable_name IN ('tx_isolation','transaction_isolation',"
        "'innodb_lock_wait_timeout')");
    auto settings = ask(transaction, looking);
    if (!settings) return std::move(settings).error();
    std::string before;
    for (std::size_t row = 0; row < settings->size(); ++row) {
        if (settings->bytes(row, 0) == "innodb_lock_wait_timeout")
            before = settings->bytes(row, 1);
        else if (settings->bytes(row, 1) != "READ-COMMITTED")
            return driver::not_read_committed();
    }

    const auto stored = driver::kept(execution, execution.fencing_token(), response, how.max_response_bytes);
    if (!stored) return stored.error();
    const FinishRequest request = driver::end_of(execution, how, *stored);
    Script clock, update;
    write_clock(clock);
    update.open("UPDATE `").sql(table).sql("`");
    write_finished(update, request);
    write_finishable(update, request);
    update.close();
    if (auto bounded = ask(transaction, waiting("1")); !bounded) return std::move(bounded).error();
    auto told = ask(transaction, clock);
    auto written = told ? ask(transaction, update) : std::move(told);
    auto restored = ask(transaction, waiting(before));
    if (!written) return std::move(written).error();
    if (!restored) return std::move(restored).error();
    if (written->affected() == 0) return driver::taken_over();
    return {};
}

}  // namespace nebis::mysql
