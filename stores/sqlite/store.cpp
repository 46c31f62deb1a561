// SPDX-License-Identifier: Apache-2.0
#include "change_watch.hpp"
#include "errors.hpp"
#include "identify/digest.hpp"
#include "migrations.hpp"
#include "schema.hpp"
#include "session.hpp"
#include "sqlite_store.hpp"

#include <charconv>
#include <map>

namespace nebis::sqlite {

std::string shown(std::string_view trace_id) {
    return "key " + identify::to_hex(identify::sha256(trace_id)).substr(0, 12) + "…";
}

StoreTraits SqliteStore::traits() const noexcept {
    StoreTraits traits;
    traits.max_sessions = 1;  // the file has one writer
    traits.batch_max = 64;
    traits.one_commit_for_begin_and_finish = true;
    return traits;
}

Result<void> SqliteStore::verify(Deadline deadline) {
    if (file_->options().create_schema)
        if (auto made = create_schema(deadline); !made) return made;
    auto connection = connect(deadline);
    if (!connection) return std::move(connection).error();
    return verify_schema(**connection, table_, file_->now().millis);
}

Result<void> SqliteStore::create_schema(Deadline deadline) {
    if (!good_table_name(table_)) return bad_table_name();
    Options options = file_->options();
    options.create_schema = true;
    auto connection = detail::File(std::move(options)).connect(deadline);
    if (!connection) return std::move(connection).error();
    const Turn turn(file_->turn(), file_->bounded(deadline));
    if (auto mine = turn.check(); !mine) return mine;
    return sqlite::create_schema(**connection, table_);
}

Result<std::unique_ptr<StoreSession>> SqliteStore::open(Deadline deadline) {
    if (file_->options().create_schema && !schema_made_.load()) {
        if (auto made = create_schema(deadline); !made) return std::move(made).error();
        schema_made_ = true;
    }
    auto connection = connect(deadline);
    if (!connection) return std::move(connection).error();
    return std::unique_ptr<StoreSession>(std::make_unique<Session>(file_, table_, std::move(*connection)));
}

Result<std::unique_ptr<Connection>> SqliteStore::connect(Deadline deadline) const {
    if (!good_table_name(table_)) return bad_table_name();
    return file_->connect(deadline);
}

bool SqliteStore::wait_for_change(Deadline deadline) {
    if (!watch_) watch_ = std::make_unique<ChangeWatch>(file_);
    return watch_->wait(deadline);
}

bool SqliteStore::waits_for_this_thread() const noexcept { return file_->turn()->is_with_this_thread(); }

std::shared_ptr<Store> store(const Database& database, std::string table) {
    return std::make_shared<SqliteStore>(database.file(), std::move(table));
}

// ---- the driver's settings

namespace {

Error bad_setting(std::string_view key, std::string_view must) {
    return Error(ErrorKind::misconfigured, "`" + std::string(key) + "` must be " + std::string(must))
        .with_code("sqlite-setting");
}

template <class Number>
bool read_number(const std::string& text, Number least, Number most, Number& out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size() && out >= least && out <= most;
}

Result<Options> options_of(const DriverSettings& settings) {
    Options options;
    for (const auto& [key, value] : settings.values) {
        if (key == "path") {
            options.path = value;
        } else if (key == "synchronous") {
            if (value != "full" && value != "normal") return bad_setting(key, "full or normal");
            options.synchronous = value == "full" ? Synchronous::full : Synchronous::normal;
        } else if (key == "busy-timeout-millis") {
            std::int64_t millis = 0;
            if (!read_number<std::int64_t>(value, 1, 600000, millis))
                return bad_setting(key, "a number from 1 to 600000");
            options.busy_timeout = std::chrono::milliseconds(millis);
        } else if (key == "connections") {
            if (!read_number<std::size_t>(value, 1, 256, options.connections))
                return bad_setting(key, "a number from 1 to 256");
        } else if (key == "create-schema") {
            if (value != "true" && value != "false") return bad_setting(key, "true or false");
            options.create_schema = value == "true";
        }
    }
    if (options.path.empty()) return bad_setting("path", "the name of the database file");
    return options;
}

std::vector<DriverKey> keys() {
    const auto key = [](std::string name, DriverKey::Kind kind, std::string fallback, std::string about) {
        DriverKey made;
        made.name = std::move(name);
        made.kind = kind;
        made.fallback = std::move(fallback);
        made.about = std::move(about);
        return made;
    };
    DriverKey path =
        key("path", DriverKey::Kind::text, "",
            "The database file. Several processes of one machine may share it; a network file system may not hold it.");
    path.required = true;
    DriverKey synchronous = key("synchronous", DriverKey::Kind::choice, "full",
                                "full: a commit is on the disk when it returns. normal: faster, but a power failure "
                                "may take the last commits back, "
                                "so that their requests run again.");
    synchronous.choices = {"full", "normal"};
    DriverKey busy = key("busy-timeout-millis", DriverKey::Kind::integer, "5000",
                         "Longest wait for the file's one write lock. Too low: requests fail while somebody's longer "
                         "transaction runs. Too high: they "
                         "wait as long as that transaction takes.");
    busy.min = 1;
    busy.max = 600000;
    DriverKey connections = key("connections", DriverKey::Kind::integer, "4",
                                "Most connections for `atomic` operations at a time. More only queue for the one write "
                                "lock; fewer make readers wait.");
    connections.min = 1;
    connections.max = 256;
    DriverKey create =
        key("create-schema", DriverKey::Kind::flag, "false", "Make the file and its tables when they are missing.");
    return {path, synchronous, busy, connections, create};
}

}  // namespace

void add_to(Drivers& drivers) {
    drivers.stores["sqlite"] = [](const DriverSettings& settings) -> Result<std::shared_ptr<Store>> {
        auto options = options_of(settings);
        if (!options) return std::move(options).error();
        if (!good_table_name(settings.table)) return bad_table_name();
        return store(Database(std::move(*options)), settings.table);
    };
    drivers.migrations["sqlite"] = [](const DriverSettings& settings) -> Result<std::shared_ptr<Migrations>> {
        auto options = options_of(settings);
        if (!options) return std::move(options).error();
        if (!good_table_name(settings.table)) return bad_table_name();
        return migrations(std::move(*options), settings.table);
    };
    drivers.store_keys["sqlite"] = keys();
}

}  // namespace nebis::sqlite
