// SPDX-License-Identifier: Apache-2.0
#include "cases.hpp"

namespace nebis::bench {

std::span<const Case> cases() {
    static constexpr Case all[] = {
        {"sqlite-fresh", "fresh requests, SQLite with durable commits, 64 in flight", sqlite_fresh},
        {"sqlite-lone", "one fresh request at a time, SQLite with durable commits", sqlite_lone},
        {"claims", "`atomic` with one business insert: claim before, claim inside, and the bare transaction", claims},
        {"memory-fresh", "fresh requests, memory store, one thread, 300-byte JSON hashed", memory_fresh},
        {"duplicates", "duplicates answered in the process, one thread, 300-byte JSON hashed", duplicates},
        {"growth", "begin in a table that grows", growth},
        {"http", "replays over HTTP against a bare echo server", http_replay},
        {"footprint", "memory of a waiting duplicate and of an attempt in flight", footprint},
        {"compile-time", "compiling a file that includes nebis/nebis.hpp", compile_time},
    };
    return all;
}

}  // namespace nebis::bench
