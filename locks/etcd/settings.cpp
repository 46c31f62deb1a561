// SPDX-License-Identifier: Apache-2.0
#include "driver/settings_reader.hpp"
#include "nebis/etcd.hpp"

#include <utility>

/// The driver's keys in the configuration, `lock.*`.
namespace nebis::etcd {
namespace {

Result<Options> options_of(const DriverSettings& settings) {
    Options options;
    driver::SettingsReader read(settings, "etcd-setting");
    read.list("address", options.addresses);
    read.text("username", options.credentials.username);
    read.text("password", options.credentials.password);
    read.text("password-file", options.credentials.password_file);
    read.flag("tls", options.tls.enabled);
    read.text("tls-ca-file", options.tls.ca_file);
    read.text("tls-cert-file", options.tls.cert_file);
    read.text("tls-key-file", options.tls.key_file);
    read.text("tls-server-name", options.tls.server_name);
    read.text("key-prefix", options.key_prefix);
    read.millis("connect-timeout-millis", options.connect_timeout);
    if (!options.credentials.password.empty() && !options.credentials.password_file.empty())
        read.refuse("password-file", "left out where `password` is given");
    if (read.fault()) return *read.fault();
    return options;
}

std::vector<DriverKey> keys() {
    using Kind = DriverKey::Kind;
    using driver::driver_key;
    return {
        driver_key("address", Kind::text, "127.0.0.1:2379",
                   "Where etcd listens for clients: `host:port` or `[v6]:port`; several with commas: members of one "
                   "cluster."),
        driver_key("username", Kind::text, "", "The user. Without one: nobody logs in."),
        driver_key("password", Kind::secret, "", "Its password."),
        driver_key(
            "password-file", Kind::text, "",
            "The same, in a file that only its owner can read; read anew for each log-in, so that a new password "
            "needs no restart."),
        driver_key("tls", Kind::flag, "false", "Speak TLS. Certificate and name are always verified."),
        driver_key("tls-ca-file", Kind::text, "",
                   "PEM file of the authorities to trust. Without one: those of the system."),
        driver_key("tls-cert-file", Kind::text, "", "PEM file with our own certificate, where etcd asks for one."),
        driver_key("tls-key-file", Kind::text, "", "PEM file with its key."),
        driver_key("tls-server-name", Kind::text, "",
                   "The name to ask for and to find in the certificate. Without one: that of the address."),
        driver_key("connect-timeout-millis", Kind::integer, "500",
                   "The longest wait for one connection to one member, TLS included. Too short: a busy etcd counts as "
                   "down. Too long: a member that is gone takes the time its neighbour should have."),
    };
}

}  // namespace

void add_to(Drivers& drivers) {
    drivers.gates["etcd"] = [](const DriverSettings& settings) -> Result<std::shared_ptr<Gate>> {
        auto options = options_of(settings);
        if (!options) return std::move(options).error();
        auto made = lock(*std::move(options));
        if (!made) return std::move(made).error();
        return compose(*std::move(made));
    };
    drivers.gate_keys["etcd"] = keys();
}

}  // namespace nebis::etcd
