// SPDX-License-Identifier: Apache-2.0
#include "driver/settings_reader.hpp"
#include "nebis/zookeeper.hpp"

#include <utility>

/// The driver's keys in the configuration, `lock.*`.
namespace nebis::zookeeper {
namespace {

Result<Options> options_of(const DriverSettings& settings) {
    Options options;
    driver::SettingsReader read(settings, "zookeeper-setting");
    read.list("address", options.addresses);
    read.text("username", options.credentials.username);
    read.text("password", options.credentials.password);
    read.text("password-file", options.credentials.password_file);
    read.text("key-prefix", options.key_prefix);
    read.millis("session-timeout-millis", options.session_timeout);
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
        driver_key("address", Kind::text, "127.0.0.1:2181",
                   "Where ZooKeeper listens for clients: `host:port` or `[v6]:port`; several with commas: members of "
                   "one ensemble. `key-prefix` is the root path."),
        driver_key("username", Kind::text, "",
                   "The user of the scheme digest, whose alone the nodes are then. Without one: anybody's."),
        driver_key("password", Kind::secret, "", "Its password."),
        driver_key("password-file", Kind::text, "",
                   "The same, in a file that only its owner can read; read anew for each session."),
        driver_key("session-timeout-millis", Kind::integer, "6000",
                   "After so long without a word from this process ZooKeeper drops its locks; two thirds of it without "
                   "a word from a member, and the client turns to the next. Too short: a pause of process or network "
                   "loses the locks. Too long: a member that hangs keeps them out of use. The servers may set bounds."),
        driver_key("connect-timeout-millis", Kind::integer, "500",
                   "The longest wait for a session that isn't there, from when it was lost or first asked for; then "
                   "calls fail at once until it is back. Too short: a busy ZooKeeper counts as down. Too long: each "
                   "outage begins with requests that wait."),
    };
}

}  // namespace

void add_to(Drivers& drivers) {
    drivers.gates["zookeeper"] = [](const DriverSettings& settings) -> Result<std::shared_ptr<Gate>> {
        auto options = options_of(settings);
        if (!options) return std::move(options).error();
        auto made = lock(*std::move(options));
        if (!made) return std::move(made).error();
        return compose(*std::move(made));
    };
    drivers.gate_keys["zookeeper"] = keys();
}

}  // namespace nebis::zookeeper
