// SPDX-License-Identifier: Apache-2.0
#include "postgres_floor.hpp"

#include "harness.hpp"
#include "postgres/schema.hpp"
#include "runtime/snapshot.hpp"
#include "workload.hpp"

#include <utility>

namespace nebis::bench {
namespace {

using postgres::Array;
using postgres::Params;
using postgres::Sql;

constexpr const char* table = "floor_record";
constexpr std::int64_t lease_millis = 10'000, retention_millis = 86'400'000;
/// 33 bytes of a request's hash, 16 of an owner.
const std::string hash(33, 'h'), owner(16, 'o');

Deadline soon() { return Clock::now() + std::chrono::seconds(30); }

template <class T>
T sure(Result<T> result) {
    if (!result) give_up("floor: " + result.error().text());
    if constexpr (!std::is_void_v<T>) return *std::move(result);
}

}  // namespace

PostgresFloor::PostgresFloor(const postgres::Options& options)
    : connection_(sure(postgres::Connection::open(options, soon()))),
      // As the product's: 16 bytes of scope, the operation, the key.
      trace_prefix_("shop-7|createOrder|"),
      response_(runtime::encode_response(order_answer())) {
    sure(postgres::create_schema(*connection_, table, soon()));
    sure(connection_->prepare(table, soon()));
}

void PostgresFloor::insert(std::span<const std::string> keys) {
    Array ids(postgres::bytea_type), operations(postgres::text_type), status(postgres::int8_type),
        owners(postgres::bytea_type), hashes(postgres::bytea_type), leases(postgres::int8_type),
        retentions(postgres::int8_type), not_after(postgres::int8_type), instances(postgres::text_type),
        bodies(postgres::bytea_type);
    for (const auto& key : keys) {
        ids.add(trace_prefix_ + key);
        operations.add("createOrder");
        status.add(std::int64_t{0});
        owners.add(owner);
        hashes.add(hash);
        leases.add(lease_millis);
        retentions.add(retention_millis);
        not_after.add(std::int64_t{0});
        instances.add("bench-host-1-4242");
        bodies.add(std::string_view());
    }
    Params rows;
    for (Array* column :
         {&ids, &operations, &status, &owners, &hashes, &leases, &retentions, &not_after, &instances, &bodies})
        rows.add(std::move(*column));
    const auto answers = sure(connection_->run({{Sql::insert_new, &rows}}, soon()));
    const auto& made = answers.at(0);
    if (static_cast<std::size_t>(made.size()) != keys.size()) give_up("floor: a row was there already");
    versions_.clear();
    for (int row = 0; row < made.size(); ++row) versions_.push_back(made.number(row, 1));
}

void PostgresFloor::update(std::span<const std::string> keys) {
    Array ids(postgres::bytea_type), versions(postgres::int8_type), owners(postgres::bytea_type),
        froms(postgres::int8_type), status(postgres::int8_type), responses(postgres::bytea_type),
        retentions(postgres::int8_type), new_owners(postgres::bytea_type), references(postgres::text_type);
    for (std::size_t i = 0; i < keys.size(); ++i) {
        ids.add(trace_prefix_ + keys[i]);
        versions.add(versions_[i]);
        owners.add(owner);
        froms.add(std::int64_t{1});
        status.add(std::int64_t{1});
        responses.add(response_);
        retentions.add(retention_millis);
        new_owners.add(owner);
        references.add(std::string_view());
    }
    Params rows;
    for (Array* column : {&ids, &versions, &owners, &froms, &status, &responses, &retentions, &new_owners, &references})
        rows.add(std::move(*column));
    const auto answers = sure(connection_->run({{Sql::finish, &rows}}, soon()));
    if (static_cast<std::size_t>(answers.at(0).size()) != keys.size()) give_up("floor: a row to finish isn't there");
}

}  // namespace nebis::bench
