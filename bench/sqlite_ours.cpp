// SPDX-License-Identifier: Apache-2.0
#include "sqlite_ours.hpp"

#include "runtime/snapshot.hpp"

namespace nebis::bench {
namespace {

/// What stands before the key in `trace_id`, looked up once in a record that the product wrote.
const std::string& trace_prefix(const Context& context) {
    static const std::string prefix = [&] {
        const SqliteOurs ours(context);
        const std::string key = Keys(1).next();
        const Request request = order_request(key);
        expect(ours.engine.run(ours.operation, request,
                               Handler([](const Request&, Execution&) { return order_answer(); })),
               Outcome::fresh);
        const auto record = ours.engine.inspect(ours.operation, request).value();
        if (!record || record->trace_id.size() < key.size()) give_up("the record of a fresh request can't be found");
        return record->trace_id.substr(0, record->trace_id.size() - key.size());
    }();
    return prefix;
}

}  // namespace

SqliteFloorFile::SqliteFloorFile(const Context& context)
    : folder_(context.folder()),
      floor(folder_.file("floor.db"), trace_prefix(context), runtime::encode_response(order_answer())) {}

}  // namespace nebis::bench
