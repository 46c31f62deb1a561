// SPDX-License-Identifier: Apache-2.0
#include "migrations.hpp"
#include "nebis/postgres.hpp"
#include "schema.hpp"

#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The driver's keys in the configuration, `datasources.NAME.*`.
namespace nebis::postgres {
namespace {

constexpr std::int64_t longest_millis = 600'000;

Error bad(std::string_view key, std::string_view must) {
    return Error(ErrorKind::misconfigured, "`" + std::string(key) + "` must be " + std::string(must))
        .with_code("postgres-setting");
}

std::vector<std::string> parted(std::string_view list) {
    std::vector<std::string> parts;
    for (;;) {
        const auto comma = list.find(',');
        auto one = list.substr(0, comma);
        while (one.starts_with(' ')) one.remove_prefix(1);
        while (one.ends_with(' ')) one.remove_suffix(1);
        parts.emplace_back(one);
        if (comma == std::string_view::npos) return parts;
        list.remove_prefix(comma + 1);
    }
}

Result<Options> options_of(const DriverSettings& settings) {
    Options options;
    const std::pair<std::string_view, std::string*> texts[] = {
        {"database", &options.database},         {"username", &options.username},
        {"password", &options.password},         {"password-file", &options.password_file},
        {"tls-ca-file", &options.tls.ca_file},   {"tls-cert-file", &options.tls.cert_file},
        {"tls-key-file", &options.tls.key_file},
    };
    const std::pair<std::string_view, bool*> flags[] = {{"tls", &options.tls.enabled},
                                                        {"create-schema", &options.create_schema}};
    const std::pair<std::string_view, std::chrono::milliseconds*> times[] = {
        {"connect-timeout-millis", &options.connect_timeout}, {"statement-timeout-millis", &options.statement_timeout}};
    for (const auto& [key, value] : settings.values) {
        if (key == "address") options.addresses = parted(value);
        for (const auto& [name, into] : texts)
            if (key == name) *into = value;
        for (const auto& [name, into] : flags) {
            if (key != name) continue;
            if (value != "true" && value != "false") return bad(key, "true or false");
            *into = value == "true";
        }
        for (const auto& [name, into] : times) {
            if (key != name) continue;
            std::int64_t millis = 0;
            const char* const end = value.data() + value.size();
            const auto [stop, fault] = std::from_chars(value.data(), end, millis);
            if (fault != std::errc() || stop != end || millis < 1 || millis > longest_millis)
                return bad(key, "a number from 1 to " + std::to_string(longest_millis));
            *into = std::chrono::milliseconds(millis);
        }
    }
    if (!options.password.empty() && !options.password_file.empty())
        return bad("password-file", "left out where `password` is given");
    return options;
}

DriverKey key(std::string name, DriverKey::Kind kind, std::string fallback, std::string about) {
    DriverKey made;
    made.name = std::move(name);
    made.kind = kind;
    made.fallback = std::move(fallback);
    made.about = std::move(about);
    if (kind == DriverKey::Kind::integer) {
        made.min = 1;
        made.max = longest_millis;
    }
    return made;
}

std::vector<DriverKey> keys() {
    using Kind = DriverKey::Kind;
    return {
        key("address", Kind::text, "127.0.0.1:5432",
            "Where PostgreSQL listens: `host:port`, `[v6]:port` or `unix:/folder/.s.PGSQL.5432`; several with commas: "
            "the first that can be written to."),
        key("database", Kind::text, "postgres", "The name of the database."),
        key("username", Kind::text, "", "The role. Without one: PGUSER, or the name of the system user."),
        key("password", Kind::secret, "", "Its password. Without one: PGPASSWORD, if set."),
        key("password-file", Kind::text, "",
            "The same, in a file that only its owner can read; read anew for each connection, so that a new password "
            "needs no restart."),
        key("tls", Kind::flag, "false", "Speak TLS. Certificate and name are always verified."),
        key("tls-ca-file", Kind::text, "", "PEM file of the authorities to trust; needed with `tls`."),
        key("tls-cert-file", Kind::text, "", "PEM file with our own certificate, where PostgreSQL asks for one."),
        key("tls-key-file", Kind::text, "", "PEM file with its key."),
        key("connect-timeout-millis", Kind::integer, "2000",
            "The longest wait for one connection, TLS, login and preparation included. Too short: a busy server counts "
            "as down. Too long: nothing but a call's own time ends a try."),
        key("statement-timeout-millis", Kind::integer, "5000",
            "The server's own bound on one statement. Too short: a busy disk fails requests. At or above the lease: an "
            "attempt may begin when its time is already over."),
        key("create-schema", Kind::flag, "false", "Make the tables when they are missing."),
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
