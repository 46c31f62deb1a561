// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/redis_store.hpp"
#include "stores/redis/record.hpp"
#include "support/record_table.hpp"
#include "support/redis_server.hpp"

#include <string>
#include <string_view>

namespace nebis::test {

inline redis::StoreOptions store_at(const std::string& address, const std::string& table = RecordTable::fresh_name()) {
    redis::StoreOptions options;
    options.servers.addresses = {address};
    options.servers.connect_timeout = std::chrono::seconds(10);
    options.table = table;
    return options;
}

/// One session of a table, and where its rows lie.
class Table : public RecordTable {
public:
    explicit Table(const redis::StoreOptions& options)
        : RecordTable(redis::store(options).value(), options.table),
          names_(options.servers.key_prefix, options.table) {}
    explicit Table(const RedisServer& server) : Table(store_at(server.address())) {}

    const redis::records::Names& names() const noexcept { return names_; }
    std::string row(std::string_view key) const { return names_.row(redis::records::member_of(key)); }
    std::string leases(std::string_view key) const { return names_.leases(bucket(key)); }
    std::string expiries(std::string_view key) const { return names_.expiries(bucket(key)); }
    std::string floor(std::string_view key) const { return names_.floor(bucket(key)); }

private:
    static std::size_t bucket(std::string_view key) {
        return redis::records::bucket_of(redis::records::member_of(key));
    }

    redis::records::Names names_;
};

inline bool is(const Result<BeginOutcome>& out, BeginOutcome::Kind kind) { return out && out->kind == kind; }
inline bool acquired(const Result<BeginOutcome>& out) { return is(out, BeginOutcome::Kind::acquired); }

}  // namespace nebis::test
