// SPDX-License-Identifier: Apache-2.0
#include "address.hpp"
#include "names.hpp"
#include "nebis/zookeeper.hpp"

#include <gtest/gtest.h>

// What can't be right is refused before a session is opened, and names hold no byte of a caller.
namespace {

using namespace nebis;
using zookeeper::connect_string;
using zookeeper::Names;

std::string code_of(const zookeeper::Options& options) {
    const auto made = zookeeper::lock(options);
    return made ? "made" : made.error().code();
}

TEST(ZookeeperAddress, is_spelled_as_the_client_wants_it) {
    EXPECT_EQ(connect_string({"zk1.example:2181", "10.0.0.1:2182", "[::1]:2183"}).value(),
              "zk1.example:2181,10.0.0.1:2182,::1:2183");
    for (const char* bad : {"", "host", "host:", ":2181", "host:0", "host:65536", "host:21x", "host:-1",
                            "host:2181/root", "a:1,b:2", "http://host:2181", "[::1:2181", "::1:2181", "[host]:2181",
                            "[]:2181", "ho st:2181", "user@host:2181", "host:010x"})
        EXPECT_EQ(connect_string({bad}).error().code(), "zookeeper-address") << bad;
    EXPECT_EQ(connect_string({}).error().code(), "zookeeper-address");
    EXPECT_EQ(connect_string({"host:010"}).value(), "host:10") << "decimal, which the client would read as 8";
}

TEST(ZookeeperNamesOfLocks, lie_below_the_prefix_and_are_hashes) {
    const auto plain = Names::under("").value();
    EXPECT_EQ(plain.parents(), std::vector<std::string>{"/idempotent:lock"});
    const std::string hex = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    EXPECT_EQ(plain.of(""), "/idempotent:lock/" + hex);
    EXPECT_EQ(plain.of("../../secret").size(), plain.of("").size());
    EXPECT_EQ(plain.of("../../secret").find("secret"), std::string::npos);
    EXPECT_NE(plain.of("a"), plain.of("b"));
    const auto deep = Names::under("/shop/prod/").value();
    EXPECT_EQ(deep.parents(), (std::vector<std::string>{"/shop", "/shop/prod", "/shop/prod/idempotent:lock"}));
    EXPECT_EQ(deep.of(""), "/shop/prod/idempotent:lock/" + hex);
    EXPECT_EQ(Names::under("prod:").value().of(""), "/prod:idempotent:lock/" + hex);
    EXPECT_EQ(Names::under("shop/prod/").value().of("k"), deep.of("k"));
    for (const char* bad : {"//", "a//b", "./", "../", "a/../b/", "a/./b/", "a b", "\xC3\xA9"})
        EXPECT_EQ(Names::under(bad).error().code(), "zookeeper-setting") << bad;
}

TEST(ZookeeperOptions, that_contradict_themselves_are_refused) {
    zookeeper::Options good;
    EXPECT_EQ(code_of(good), "made") << "and nobody is asked yet";
    auto with = good;
    with.addresses = {};
    EXPECT_EQ(code_of(with), "zookeeper-address");
    with = good;
    with.key_prefix = "a//";
    EXPECT_EQ(code_of(with), "zookeeper-setting");
    for (const long millis : {0L, -1L, 600'001L}) {
        with = good;
        with.session_timeout = std::chrono::milliseconds(millis);
        EXPECT_EQ(code_of(with), "zookeeper-setting") << millis;
    }
    with = good;
    with.connect_timeout = std::chrono::milliseconds(0);
    EXPECT_EQ(code_of(with), "zookeeper-setting");
    for (const auto& [user, word] : {std::pair("", "word"), std::pair("shop", ""), std::pair("a:b", "word")}) {
        with = good;
        with.credentials = {user, word, {}};
        EXPECT_EQ(code_of(with), "zookeeper-setting") << user;
    }
}

TEST(ZookeeperOptions, come_from_the_settings) {
    Drivers drivers;
    zookeeper::add_to(drivers);
    DriverSettings settings;
    const auto code = [&] {
        const auto made = drivers.gates.at("zookeeper")(settings);
        return made ? "made" : made.error().code();
    };
    settings.values = {{"address", "a.example:2181, b.example:2181"},
                       {"key-prefix", "shop/"},
                       {"session-timeout-millis", "4000"},
                       {"connect-timeout-millis", "300"},
                       {"username", "shop"},
                       {"password", "word"}};
    EXPECT_EQ(code(), "made");
    settings.values["password-file"] = "/etc/word";
    EXPECT_EQ(code(), "zookeeper-setting") << "two passwords";
    settings.values = {{"session-timeout-millis", "soon"}};
    EXPECT_EQ(code(), "zookeeper-setting");
    for (const auto& key : drivers.gate_keys.at("zookeeper"))
        EXPECT_EQ(key.kind == DriverKey::Kind::secret, key.name == "password") << key.name;
}

}  // namespace
