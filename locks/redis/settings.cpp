// SPDX-License-Identifier: Apache-2.0
#include "nebis/redis.hpp"

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The driver's keys in the configuration, `lock.*`.
namespace nebis::redis {
namespace {

constexpr std::int64_t longest_connect = 60'000;
constexpr std::int64_t most_databases = 1'000'000;

Error bad(std::string_view key, std::string_view must) {
    return Error(ErrorKind::misconfigured, "`lock." + std::string(key) + "` must be " + std::string(must))
        .with_code("redis-setting");
}

class Reader {
public:
    explicit Reader(const DriverSettings& settings) : settings_(settings) {}

    void text(std::string_view key, std::string& into) {
        if (const auto* value = find(key)) into = *value;
    }
    void flag(std::string_view key, bool& into) {
        const auto* value = find(key);
        if (!value) return;
        if (*value != "true" && *value != "false") return fail(key, "true or false");
        into = *value == "true";
    }
    void number(std::string_view key, std::int64_t least, std::int64_t most, std::int64_t& into) {
        const auto* value = find(key);
        if (!value) return;
        const char* const end = value->data() + value->size();
        const auto [stop, fault] = std::from_chars(value->data(), end, into);
        if (fault != std::errc() || stop != end || into < least || into > most)
            fail(key, "a number from " + std::to_string(least) + " to " + std::to_string(most));
    }
    void topology(Topology& into) {
        std::string word = "single";
        text("topology", word);
        if (word == "single")
            into = Topology::single;
        else if (word == "sentinel")
            into = Topology::sentinel;
        else if (word == "cluster")
            into = Topology::cluster;
        else
            fail("topology", "single, sentinel or cluster");
    }
    void addresses(std::vector<std::string>& into) {
        const auto* value = find("address");
        if (!value) return;
        into.clear();
        for (std::string_view rest = *value;;) {
            const auto comma = rest.find(',');
            auto one = rest.substr(0, comma);
            while (one.starts_with(' ')) one.remove_prefix(1);
            while (one.ends_with(' ')) one.remove_suffix(1);
            into.emplace_back(one);
            if (comma == std::string_view::npos) return;
            rest.remove_prefix(comma + 1);
        }
    }
    void credentials(std::string_view before, Credentials& into) {
        const std::string word(before);
        text(word + "username", into.username);
        text(word + "password", into.password);
        text(word + "password-file", into.password_file);
        if (!into.password.empty() && !into.password_file.empty())
            fail(word + "password-file", "left out where `password` is given");
    }
    std::optional<Error>& error() { return error_; }

private:
    const std::string* find(std::string_view key) const {
        const auto at = settings_.values.find(std::string(key));
        return at == settings_.values.end() ? nullptr : &at->second;
    }
    void fail(std::string_view key, std::string_view must) {
        if (!error_) error_ = bad(key, must);
    }

    const DriverSettings& settings_;
    std::optional<Error> error_;
};

}  // namespace

Result<Options> options_of(const DriverSettings& settings) {
    Options options;
    Reader read(settings);
    read.addresses(options.addresses);
    read.topology(options.topology);
    read.text("master-name", options.master_name);
    read.credentials("", options.credentials);
    read.credentials("sentinel-", options.sentinel_credentials);
    read.flag("tls", options.tls.enabled);
    read.text("tls-ca-file", options.tls.ca_file);
    read.text("tls-cert-file", options.tls.cert_file);
    read.text("tls-key-file", options.tls.key_file);
    read.text("tls-server-name", options.tls.server_name);
    read.text("key-prefix", options.key_prefix);
    read.flag("results", options.results);
    read.flag("wake", options.wake);
    std::int64_t database = options.database;
    read.number("database", 0, most_databases, database);
    options.database = static_cast<int>(database);
    std::int64_t connect = options.connect_timeout.count();
    read.number("connect-timeout-millis", 1, longest_connect, connect);
    options.connect_timeout = std::chrono::milliseconds(connect);
    if (read.error()) return *std::move(read.error());
    return options;
}

namespace {

DriverKey text_key(std::string name, std::string fallback, std::string about) {
    DriverKey key;
    key.name = std::move(name);
    key.fallback = std::move(fallback);
    key.about = std::move(about);
    return key;
}

DriverKey flag_key(std::string name, std::string fallback, std::string about) {
    DriverKey key = text_key(std::move(name), std::move(fallback), std::move(about));
    key.kind = DriverKey::Kind::flag;
    return key;
}

DriverKey secret_key(std::string name, std::string about) {
    DriverKey key = text_key(std::move(name), "", std::move(about));
    key.kind = DriverKey::Kind::secret;
    return key;
}

DriverKey number_key(std::string name, std::string fallback, std::int64_t min, std::int64_t max, std::string about) {
    DriverKey key = text_key(std::move(name), std::move(fallback), std::move(about));
    key.kind = DriverKey::Kind::integer;
    key.min = min;
    key.max = max;
    return key;
}

std::vector<DriverKey> keys() {
    DriverKey topology = text_key("topology", "single",
                                  "What stands at `address`: one server, Sentinels that know the master, or nodes of a "
                                  "Cluster.");
    topology.kind = DriverKey::Kind::choice;
    topology.choices = {"single", "sentinel", "cluster"};
    return {
        text_key(
            "address", "127.0.0.1:6379",
            "Where Redis listens: `host:port`, `[v6]:port` or `unix:/path`; several with commas: all Sentinels, or "
            "some nodes of the Cluster."),
        topology,
        text_key("master-name", "mymaster", "The name under which Sentinels know the master."),
        text_key("username", "", "The ACL user. Without one: `default`."),
        secret_key("password", "Its password. None: no AUTH."),
        text_key("password-file", "",
                 "The same, in a file that only its owner can read, relative to the working directory; read anew for "
                 "each connection, so that a new "
                 "password needs no restart."),
        text_key("sentinel-username", "", "The ACL user of the Sentinels."),
        secret_key("sentinel-password", "Its password. None: no AUTH."),
        text_key("sentinel-password-file", "", "The same, in a file."),
        number_key("database", "0", 0, most_databases, "The number of the database. A Cluster has 0 only."),
        flag_key("tls", "false", "Speak TLS. Certificate and name are always verified."),
        text_key("tls-ca-file", "", "PEM file of the authorities to trust. Without one: those of the system."),
        text_key("tls-cert-file", "", "PEM file with our own certificate, where Redis asks for one."),
        text_key("tls-key-file", "", "PEM file with its key."),
        text_key("tls-server-name", "",
                 "The name to ask for and to find in the certificate. Without one: that of the address."),
        flag_key(
            "results", "true",
            "Keep finished results for some minutes, so that most duplicates never reach the store. Off: locks only; "
            "saves Redis' memory, costs a read of the store for each duplicate."),
        flag_key(
            "wake", "true",
            "Tell waiting duplicates of other processes when an attempt has left. Off: they find out by asking the "
            "store."),
        number_key("connect-timeout-millis", "500", 1, longest_connect,
                   "The longest wait for one connection, TLS and login included. Too short: a busy Redis counts as "
                   "down. Too long: nothing but a call's own time ends a try."),
    };
}

}  // namespace

void add_to(Drivers& drivers) {
    drivers.gates["redis"] = [](const DriverSettings& settings) -> Result<std::shared_ptr<Gate>> {
        auto options = options_of(settings);
        if (!options) return std::move(options).error();
        return gate(std::move(*options));
    };
    drivers.gate_keys["redis"] = keys();
}

}  // namespace nebis::redis
