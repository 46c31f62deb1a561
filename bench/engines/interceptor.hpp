// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <string>

struct redisContext;

namespace nebis::bench {

/// What a team writes by hand, as the article does: a lock in Redis, a committed PROCESSING row, the handler, a
/// committed result, the lock dropped by a script. Correct as far as such code goes when nothing fails; each request
/// has its own round trips and its own commits. **Threads**: one at a time; each thread has its own.
class Interceptor {
public:
    Interceptor(std::uint16_t redis_port, std::uint16_t postgres_port);
    /// A fresh request.
    void run(const std::string& key);

    /// Once for a server: its table.
    static void prepare(std::uint16_t postgres_port);

private:
    struct Free {
        void operator()(redisContext* context) const noexcept;
        void operator()(PGconn* connection) const noexcept { PQfinish(connection); }
    };
    void redis(bool give_back, const std::string& key);
    void sql(const char* name, const std::string& key, const std::string& value);

    std::unique_ptr<redisContext, Free> redis_;
    std::unique_ptr<PGconn, Free> postgres_;
};

}  // namespace nebis::bench
