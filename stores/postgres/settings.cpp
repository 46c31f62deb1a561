// SPDX-License-Identifier: Apache-2.0
#include "driver/settings_reader.hpp"
#include "migrations.hpp"
#include "nebis/postgres.hpp"
#include "schema.hpp"

#include <string>
#include <utility>
#include <vector>

/// The driver's keys in the configuration, `datasources.NAME.*`.
namespace nebis::postgres {
namespace {

Result<Options> options_of(const DriverSettings& settings) {
    Options options;
    driver::SettingsReader read(settings, "postgres-setting");
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
    read.flag("create-schema", options.create_schema);
    if (!options.password.empty() && !options.password_file.empty())
        read.refuse("password-file", "left out where `password` is given");
    if (read.fault()) return *read.fault();
    return options;
}

std::vector<DriverKey> keys() {
    using Kind = DriverKey::Kind;
    using driver::driver_key;
    return {
        driver_key(
            "address", Kind::text, "127.0.0.1:5432",
            "Where PostgreSQL listens: `host:port`, `[v6]:port` or `unix:/folder/.s.PGSQL.5432`; several with commas: "
            "the first that can be written to."),
        driver_key("database", Kind::text, "postgres", "The name of the database."),
        driver_key("username", Kind::text, "", "The role. Without one: PGUSER, or the name of the system user."),
        driver_key("password", Kind::secret, "", "Its password. Without one: PGPASSWORD, if set."),
        driver_key(
            "password-file", Kind::text, "",
            "The same, in a file that only its owner can read; read anew for each connection, so that a new password "
            "needs no restart."),
        driver_key("tls", Kind::flag, "false", "Speak TLS. Certificate and name are always verified."),
        driver_key("tls-ca-file", Kind::text, "", "PEM file of the authorities to trust; needed with `tls`."),
        driver_key("tls-cert-file", Kind::text, "",
                   "PEM file with our own certificate, where PostgreSQL asks for one."),
        driver_key("tls-key-file", Kind::text, "", "PEM file with its key."),
        driver_key(
            "connect-timeout-millis", Kind::integer, "2000",
            "The longest wait for one connection, TLS, login and preparation included. Too short: a busy server counts "
            "as down. Too long: nothing but a call's own time ends a try."),
        driver_key(
            "statement-timeout-millis", Kind::integer, "5000",
            "The server's own bound on one statement. Too short: a busy disk fails requests. At or above the lease: an "
            "attempt may begin when its time is already over."),
        driver_key("create-schema", Kind::flag, "false", "Make the tables when they are missing."),
    };
}

}  // namespace

void add_to(Drivers& drivers) {
    drivers.stores["postgres"] = [](const DriverSettings& settings) -> Result<std::shared_ptr<Store>> {
        auto options = options_of(settings);
        if (!options) return std::move(options).error();
        if (!good_table_name(settings.table)) return bad_table_name();
        return store(*std::move(options), settings.table);
    };
    drivers.migrations["postgres"] = [](const DriverSettings& settings) -> Result<std::shared_ptr<Migrations>> {
        auto options = options_of(settings);
        if (!options) return std::move(options).error();
        if (!good_table_name(settings.table)) return bad_table_name();
        return migrations(*std::move(options), settings.table);
    };
    drivers.store_keys["postgres"] = keys();
}

}  // namespace nebis::postgres
