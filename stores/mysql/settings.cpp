// SPDX-License-Identifier: Apache-2.0
#include "driver/settings_reader.hpp"
#include "nebis/mysql.hpp"
#include "schema.hpp"

#include <utility>

/// The driver's keys in the configuration, `datasources.NAME.*`.
namespace nebis::mysql {
namespace {

Result<Options> options_of(const DriverSettings& settings) {
    Options options;
    driver::SettingsReader read(settings, "mysql-setting");
    read.list("address", options.addresses);
    read.text("database", options.database);
    read.text("username", options.username);
    read.text("password", options.password);
    read.text("password-file", options.password_file);
    read.flag("tls", options.tls.enabled);
    read.text("tls-ca-file", options.tls.ca_file);
    read.text("tls-cert-file", options.tls.cert_file);
    read.text("tls-key-file", options.tls.key_file);
    read.millis("connect-timeout-millis", options.connect_timeout);
    read.millis("statement-timeout-millis", options.statement_timeout);
    read.flag("require-durable-commits", options.require_durable_commits);
    read.flag("create-schema", options.create_schema);
    if (!options.password.empty() && !options.password_file.empty())
        read.refuse("password-file", "left out where `password` is given");
    if (read.fault()) return *read.fault();
    return options;
}

std::vector<DriverKey> keys() {
    using Kind = DriverKey::Kind;
    using driver::driver_key;
    auto database = driver_key("database", Kind::text, "", "The name of the database.");
    database.required = true;
    return {
        driver_key("address", Kind::text, "127.0.0.1:3306",
                   "Where MariaDB or MySQL listens: `host:port`, `[v6]:port` or `unix:/path`; several with commas: the "
                   "first that can be written to."),
        std::move(database),
        driver_key("username", Kind::text, "", "The user."),
        driver_key("password", Kind::secret, "", "Its password."),
        driver_key("password-file", Kind::text, "",
                   "The same, in a file that only its owner can read; read anew for each connection, so that a new "
                   "password needs no restart."),
        driver_key("tls", Kind::flag, "false", "Speak TLS. Certificate and name are always verified."),
        driver_key("tls-ca-file", Kind::text, "", "PEM file of the authorities to trust; needed with `tls`."),
        driver_key("tls-cert-file", Kind::text, "",
                   "PEM file with our own certificate, where the server asks for one."),
        driver_key("tls-key-file", Kind::text, "", "PEM file with its key."),
        driver_key(
            "connect-timeout-millis", Kind::integer, "2000",
            "The longest wait for one connection, TLS and login included; several addresses share it. Too short: "
            "a busy server counts as down. Too long: nothing but a call's own time ends a try."),
        driver_key(
            "statement-timeout-millis", Kind::integer, "5000",
            "MariaDB's own bound on one statement, in whole seconds; MySQL has none for writes. Too short: a busy "
            "disk fails requests. At or above the lease: an attempt may begin when its time is already over."),
        driver_key(
            "require-durable-commits", Kind::flag, "true",
            "Refuse a server whose `innodb_flush_log_at_trx_commit` isn't 1. Switched off: a server that crashes "
            "may forget the last second of records, and their effects may happen twice."),
        driver_key("create-schema", Kind::flag, "false", "Make the tables when they are missing."),
    };
}

}  // namespace

void add_to(Drivers& drivers) {
    drivers.stores["mysql"] = [](const DriverSettings& settings) -> Result<std::shared_ptr<Store>> {
        auto options = options_of(settings);
        if (!options) return std::move(options).error();
        if (!good_table_name(settings.table)) return bad_table_name();
        return store(*std::move(options), settings.table);
    };
    drivers.store_keys["mysql"] = keys();
}

}  // namespace nebis::mysql
