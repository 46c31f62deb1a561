// SPDX-License-Identifier: Apache-2.0
#include "settings.hpp"

#include <string>

namespace nebis::redis {
namespace {

constexpr std::int64_t longest_connect = 60'000;
constexpr std::int64_t most_databases = 1'000'000;

void read_topology(driver::SettingsReader& read, Topology& into) {
    std::string word = "single";
    read.text("topology", word);
    if (word == "single")
        into = Topology::single;
    else if (word == "sentinel")
        into = Topology::sentinel;
    else if (word == "cluster")
        into = Topology::cluster;
    else
        read.refuse("topology", "single, sentinel or cluster");
}

void read_credentials(driver::SettingsReader& read, const std::string& before, Credentials& into) {
    read.text(before + "username", into.username);
    read.text(before + "password", into.password);
    read.text(before + "password-file", into.password_file);
    if (!into.password.empty() && !into.password_file.empty())
        read.refuse(before + "password-file", "left out where `password` is given");
}

}  // namespace

void read_servers(driver::SettingsReader& read, Options& into) {
    read.list("address", into.addresses);
    read_topology(read, into.topology);
    read.text("master-name", into.master_name);
    read_credentials(read, "", into.credentials);
    read_credentials(read, "sentinel-", into.sentinel_credentials);
    read.flag("tls", into.tls.enabled);
    read.text("tls-ca-file", into.tls.ca_file);
    read.text("tls-cert-file", into.tls.cert_file);
    read.text("tls-key-file", into.tls.key_file);
    read.text("tls-server-name", into.tls.server_name);
    read.text("key-prefix", into.key_prefix);
    std::size_t database = 0;
    read.number("database", database, 0, most_databases);
    into.database = static_cast<int>(database);
    read.millis("connect-timeout-millis", into.connect_timeout, longest_connect);
}

std::vector<DriverKey> server_keys() {
    using Kind = DriverKey::Kind;
    using driver::driver_key;
    using driver::driver_number;
    DriverKey topology =
        driver_key("topology", Kind::choice, "single",
                   "What stands at `address`: one server, Sentinels that know the master, or nodes of a "
                   "Cluster.");
    topology.choices = {"single", "sentinel", "cluster"};
    return {
        driver_key(
            "address", Kind::text, "127.0.0.1:6379",
            "Where Redis listens: `host:port`, `[v6]:port` or `unix:/path`; several with commas: all Sentinels, or "
            "some nodes of the Cluster."),
        topology,
        driver_key("master-name", Kind::text, "mymaster", "The name under which Sentinels know the master."),
        driver_key("username", Kind::text, "", "The ACL user. Without one: `default`."),
        driver_key("password", Kind::secret, "", "Its password. None: no AUTH."),
        driver_key("password-file", Kind::text, "",
                   "The same, in a file that only its owner can read, relative to the working directory; read anew for "
                   "each connection, so that a new "
                   "password needs no restart."),
        driver_key("sentinel-username", Kind::text, "", "The ACL user of the Sentinels."),
        driver_key("sentinel-password", Kind::secret, "", "Its password. None: no AUTH."),
        driver_key("sentinel-password-file", Kind::text, "", "The same, in a file."),
        driver_number("database", "0", 0, most_databases, "The number of the database. A Cluster has 0 only."),
        driver_key("tls", Kind::flag, "false", "Speak TLS. Certificate and name are always verified."),
        driver_key("tls-ca-file", Kind::text, "",
                   "PEM file of the authorities to trust. Without one: those of the system."),
        driver_key("tls-cert-file", Kind::text, "", "PEM file with our own certificate, where Redis asks for one."),
        driver_key("tls-key-file", Kind::text, "", "PEM file with its key."),
        driver_key("tls-server-name", Kind::text, "",
                   "The name to ask for and to find in the certificate. Without one: that of the address."),
        driver_number("connect-timeout-millis", "500", 1, longest_connect,
                      "The longest wait for one connection, TLS and login included. Too short: a busy Redis counts as "
                      "down. Too long: nothing but a call's own time ends a try."),
    };
}

}  // namespace nebis::redis
