// SPDX-License-Identifier: Apache-2.0
#include "interceptor.hpp"

#include "harness.hpp"
#include "identify/digest.hpp"
#include "workload.hpp"

#include <hiredis/hiredis.h>

#include <array>

namespace nebis::bench {
namespace {

PGconn* connect(std::uint16_t port) {
    PGconn* made =
        PQconnectdb(("host=127.0.0.1 user=app dbname=postgres sslmode=disable port=" + std::to_string(port)).c_str());
    if (PQstatus(made) != CONNECTION_OK) give_up("interceptor: " + std::string(PQerrorMessage(made)));
    return made;
}

struct FreeResult {
    void operator()(PGresult* result) const noexcept { PQclear(result); }
};
using Answer = std::unique_ptr<PGresult, FreeResult>;

void check(PGconn* connection, const Answer& answer) {
    if (PQresultStatus(answer.get()) != PGRES_COMMAND_OK)
        give_up("interceptor: " + std::string(PQerrorMessage(connection)));
}

}  // namespace

void Interceptor::Free::operator()(redisContext* context) const noexcept { redisFree(context); }

void Interceptor::prepare(std::uint16_t postgres_port) {
    const std::unique_ptr<PGconn, Free> connection(connect(postgres_port));
    check(connection.get(),
          Answer(PQexec(connection.get(),
                        "CREATE TABLE IF NOT EXISTS intercepted (trace_id varchar(128) PRIMARY KEY, biz_type "
                        "varchar(64) NOT NULL, status smallint NOT NULL, request_hash varchar(64) NOT NULL, response "
                        "text, expire_time timestamptz NOT NULL, create_time timestamptz NOT NULL DEFAULT now(), "
                        "update_time timestamptz NOT NULL DEFAULT now())")));
}

Interceptor::Interceptor(std::uint16_t redis_port, std::uint16_t postgres_port)
    : redis_(redisConnect("127.0.0.1", redis_port)), postgres_(connect(postgres_port)) {
    if (!redis_ || redis_->err) give_up("the interceptor can't connect to Redis");
    for (const auto& [name, text] :
         {std::pair{"begin",
                    "INSERT INTO intercepted (trace_id, biz_type, status, request_hash, expire_time) VALUES ($1, "
                    "'createOrder', 0, $2, now() + interval '1 day')"},
          std::pair{"finish",
                    "UPDATE intercepted SET status = 1, response = $2, update_time = now() WHERE trace_id = $1 AND "
                    "status = 0"}})
        check(postgres_.get(), Answer(PQprepare(postgres_.get(), name, text, 2, nullptr)));
}

void Interceptor::redis(bool give_back, const std::string& key) {
    static constexpr const char* release =
        "if redis.call('GET', KEYS[1]) == 'mine' then return redis.call('DEL', KEYS[1]) end return 0";
    auto* reply = static_cast<redisReply*>(
        give_back ? redisCommand(redis_.get(), "EVAL %s 1 idempotent:%s", release, key.c_str())
                  : redisCommand(redis_.get(), "SET idempotent:%s mine NX PX 10000", key.c_str()));
    if (!reply || reply->type == REDIS_REPLY_ERROR || reply->type == REDIS_REPLY_NIL)
        give_up("interceptor: Redis gave no lock");
    freeReplyObject(reply);
}

void Interceptor::sql(const char* name, const std::string& key, const std::string& value) {
    const std::array<const char*, 2> values{key.c_str(), value.c_str()};
    check(postgres_.get(), Answer(PQexecPrepared(postgres_.get(), name, 2, values.data(), nullptr, nullptr, 0)));
}

void Interceptor::run(const std::string& key) {
    const Request request = order_request(key);
    const std::string hash = identify::to_hex(identify::sha256(request.body));
    redis(false, key);
    sql("begin", key, hash);
    const Response response = order_answer();
    sql("finish", key, response.body);
    redis(true, key);
}

}  // namespace nebis::bench
