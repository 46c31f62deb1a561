// SPDX-License-Identifier: Apache-2.0
#include "postgres_server.hpp"

#include <fcntl.h>
#include <libpq-fe.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <thread>

namespace nebis::test {
namespace {

/// The text of a member of a flat JSON object; empty when it has none.
std::string member(const std::string& object, const std::string& name) {
    const std::string start = '"' + name + "\": \"";
    const auto at = object.find(start);
    if (at == std::string::npos) return {};
    const auto from = at + start.size();
    return object.substr(from, object.find('"', from) - from);
}

}  // namespace

bool comes_true(const std::function<bool()>& holds, std::chrono::seconds longest) {
    const auto until = std::chrono::steady_clock::now() + longest;
    while (!holds()) {
        if (std::chrono::steady_clock::now() >= until) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
}

ForeignSession::ForeignSession(const std::string& address) {
    const auto colon = address.rfind(':');
    const std::string words = "host=" + address.substr(0, colon) + " port=" + address.substr(colon + 1) +
                              " user=app dbname=postgres sslmode=disable connect_timeout=10";
    connection_ = PQconnectdb(words.c_str());
    if (PQstatus(connection_) == CONNECTION_OK) return;
    const std::string why = PQerrorMessage(connection_);
    PQfinish(connection_);
    throw std::runtime_error(why);
}
ForeignSession::~ForeignSession() { PQfinish(connection_); }

std::string ForeignSession::run(const std::string& sql) {
    PGresult* const result = PQexec(connection_, sql.c_str());
    const auto status = PQresultStatus(result);
    std::string text;
    if (status == PGRES_TUPLES_OK && PQntuples(result) > 0) text = PQgetvalue(result, 0, 0);
    PQclear(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) throw std::runtime_error(PQerrorMessage(connection_));
    return text;
}

PostgresServer::PostgresServer(const std::string& kind) : kind_(kind) {
    std::array<int, 2> in{}, out{};
    if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
        ::dup2(in[0], 0);
        ::dup2(out[1], 1);
        ::execl(NEBIS_TOOLS_SERVERS, NEBIS_TOOLS_SERVERS, "up", "--quick", "--json", kind.c_str(), nullptr);
        ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    to_ = ::fdopen(in[1], "w");
    from_ = ::fdopen(out[0], "r");
    const std::string facts = line();
    address_ = member(facts, "address");
    ca_ = member(facts, "ca");
    if (address_.empty() || line() != "ready") throw std::runtime_error("PostgreSQL did not come up: " + facts);
}

PostgresServer::~PostgresServer() {
    // It ends its servers when its commands end.
    std::fclose(to_);
    std::fclose(from_);
    ::waitpid(pid_, nullptr, 0);
}

postgres::Options PostgresServer::options() const {
    postgres::Options options;
    options.addresses = {address_};
    options.username = "app";
    options.connect_timeout = std::chrono::seconds(10);
    options.create_schema = true;
    return options;
}

std::string PostgresServer::line() {
    std::string text;
    for (int c = 0; (c = std::fgetc(from_)) != EOF && c != '\n';) text.push_back(static_cast<char>(c));
    return text;
}

void PostgresServer::command(const std::string& word) {
    std::fputs((word + " " + kind_ + "\n").c_str(), to_);
    std::fflush(to_);
    if (const std::string answer = line(); !answer.starts_with("ok ")) throw std::runtime_error(answer);
}

}  // namespace nebis::test
