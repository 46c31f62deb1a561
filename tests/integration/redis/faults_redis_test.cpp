// SPDX-License-Identifier: Apache-2.0
#include "door.hpp"
#include "nebis/redis.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

// What a real Redis does when it is in trouble, and what the gate makes of it. Fault numbers: the reliability table.
namespace {

using namespace nebis;
using nebis::test::Door;
using nebis::test::eventually;
using nebis::test::granted;
using nebis::test::RedisServer;
using nebis::test::result_of;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Kind = EnterOutcome::Kind;

Deadline in(milliseconds span) { return std::chrono::steady_clock::now() + span; }

redis::Options at(const RedisServer& server) {
    redis::Options options;
    options.addresses = {server.address()};
    options.connect_timeout = seconds(10);
    return options;
}

TEST(RedisFaults, fault_19_killed_it_is_unavailable_at_once_and_back_when_it_is_back) {
    RedisServer server;
    Door door(at(server));
    ASSERT_TRUE(granted(door.enter("k", 1)));
    server.kill();
    const auto started = std::chrono::steady_clock::now();
    for (int i = 0; i < 50; ++i) {
        const auto out = door.enter("k", 1);
        ASSERT_FALSE(out);
        EXPECT_TRUE(out.error().kind() == ErrorKind::unavailable || out.error().kind() == ErrorKind::maybe_applied);
    }
    EXPECT_LT(std::chrono::steady_clock::now() - started, seconds(10));
    server.start();
    EXPECT_TRUE(eventually([&] { return granted(door.enter("k", 2)); })) << "fault 21: it came back empty";
}

TEST(RedisFaults, fault_20_paused_longer_than_the_deadline_a_call_ends_at_its_deadline) {
    RedisServer server;
    Door door(at(server));
    ASSERT_TRUE(granted(door.enter("k", 1)));
    server.pause();
    const auto started = std::chrono::steady_clock::now();
    const auto out = door.enter("other", 1, milliseconds(200));
    EXPECT_LT(std::chrono::steady_clock::now() - started, seconds(10));
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().kind(), ErrorKind::maybe_applied) << "it may run when it wakes: " << out.error().text();
    server.resume();
    EXPECT_TRUE(eventually([&] { return granted(door.enter("other", 1)); })) << "its own owner is granted again";
    EXPECT_EQ(door.enter("other", 2)->kind, Kind::held);
}

TEST(RedisFaults, fault_22_flushed_keys_and_scripts_are_only_hints) {
    RedisServer server;
    Door door(at(server));
    const CachedResult kept = result_of("done");
    ASSERT_TRUE(granted(door.enter("done", 1)));
    ASSERT_TRUE(*door.leave("done", 1, &kept));
    ASSERT_TRUE(granted(door.enter("k", 1)));
    server.ask({"FLUSHALL"});
    server.ask({"SCRIPT", "FLUSH"});
    EXPECT_FALSE(*door.leave("k", 1, &kept)) << "the lock is gone, so nothing is kept";
    EXPECT_TRUE(granted(door.enter("done", 2)));
    EXPECT_TRUE(granted(door.enter("k", 2)));
}

TEST(RedisFaults, fault_23_full_memory_is_never_free_and_a_leave_drops_its_lock_all_the_same) {
    RedisServer server({"--maxmemory-policy", "noeviction"});
    Door door(at(server));
    ASSERT_TRUE(granted(door.enter("k", 1)));
    server.ask({"CONFIG", "SET", "maxmemory", "1"});
    const auto refused = door.enter("other", 1);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), ErrorKind::overloaded) << refused.error().text();
    const CachedResult kept = result_of("k");
    EXPECT_TRUE(*door.leave("k", 1, &kept));
    server.ask({"CONFIG", "SET", "maxmemory", "0"});
    EXPECT_TRUE(granted(door.enter("k", 2))) << "left, and no result was kept";
}

TEST(RedisFaults, fault_24_replicas_refuse_with_a_hint) {
    RedisServer master;
    RedisServer replica({"--replicaof", "127.0.0.1 " + std::to_string(master.port())});
    ASSERT_TRUE(master.has_replica());
    Door door(at(replica));
    const auto out = door.enter("k", 1);
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().kind(), ErrorKind::unavailable);
    EXPECT_EQ(out.error().code(), "redis-readonly") << out.error().text();
    EXPECT_NE(out.error().hint().find("sentinel"), std::string::npos);
}

TEST(RedisFaults, fault_24_users_passwords_and_rights) {
    RedisServer server;
    server.ask({"ACL", "SETUSER", "shop", "on", ">word", "~shop:idempotent:*", "&shop:idempotent:*", "+@connection",
                "+get", "+set", "+del", "+pttl", "+pexpire", "+publish", "+subscribe", "+eval", "+evalsha", "+role"});
    server.ask({"ACL", "SETUSER", "poor", "on", ">word", "~*", "+@connection"});
    server.ask({"ACL", "SETUSER", "mute", "on", ">word", "~shop:idempotent:*", "resetchannels", "+@connection", "+get",
                "+set", "+del", "+pttl", "+pexpire", "+eval", "+evalsha"});
    server.ask({"ACL", "SETUSER", "default", "resetpass", ">secret"});
    const auto as = [&](std::string user, std::string word) {
        auto options = at(server);
        options.key_prefix = "shop:";
        options.credentials = {std::move(user), std::move(word), {}};
        return options;
    };
    const auto refusal = [](const redis::Options& options) {
        const auto out = Door(options).enter("k", 1);
        return out ? std::string("none") : std::string(to_string(out.error().kind())) + " " + out.error().code();
    };
    EXPECT_EQ(refusal(as("shop", "word")), "none") << "the rights that the README names are enough";
    EXPECT_TRUE(redis::gate(as("shop", "word")).value()->watch(in(seconds(20)))) << "for listening too";
    EXPECT_EQ(refusal(as("", "secret")), "none") << "without a name: the user `default`";
    EXPECT_EQ(refusal(as("shop", "wrong")), "misconfigured redis-wrongpass");
    EXPECT_EQ(refusal(as("", "")), "misconfigured redis-noauth");
    EXPECT_EQ(refusal(as("poor", "word")), "misconfigured redis-noperm");
    auto elsewhere = as("shop", "word");
    elsewhere.key_prefix = "other:";
    EXPECT_EQ(refusal(elsewhere), "misconfigured redis-noperm") << "keys of another environment";
    Door mute(as("mute", "word"));
    ASSERT_TRUE(granted(mute.enter("m", 1)));
    EXPECT_TRUE(*mute.leave("m", 1)) << "who may not tell anybody can leave";
}

TEST(RedisFaults, a_password_file_is_read_anew_and_only_when_it_is_private) {
    RedisServer server({"--requirepass", "first"});
    const std::string file = server.folder() + "/password";
    const auto write = [&](const char* word, mode_t mode) {
        std::ofstream(file) << word << "\n";
        ::chmod(file.c_str(), mode);
    };
    auto options = at(server);
    options.credentials.password_file = file;
    write("first", 0600);
    Door door(options);
    EXPECT_TRUE(granted(door.enter("k", 1)));
    write("first", 0644);
    EXPECT_EQ(Door(options).enter("k", 1).error().code(), "redis-password-file");
    server.credentials({"", "first", ""});
    server.ask({"CONFIG", "SET", "requirepass", "second"});
    write("second", 0600);
    EXPECT_TRUE(granted(Door(options).enter("k", 1)));
}

TEST(RedisFaults, foreign_and_damaged_entries_are_as_if_absent) {
    RedisServer server;
    Door door(at(server));
    const CachedResult kept = result_of("k");
    ASSERT_TRUE(granted(door.enter("k", 1)));
    ASSERT_TRUE(*door.leave("k", 1, &kept));
    const auto keys = server.ask({"KEYS", "idempotent:record:*"});
    ASSERT_EQ(keys.elements.size(), 1U);
    const std::string record = keys.elements[0].text;
    const std::string lock = "idempotent:lock:" + record.substr(record.find('{'));

    server.ask({"SETRANGE", record, "60", "damaged"});
    auto out = door.enter("k", 2);
    EXPECT_TRUE(granted(out) && out->unreadable_result) << "damaged";
    ASSERT_TRUE(*door.leave("k", 2, &kept));
    EXPECT_EQ(door.enter("k", 3)->kind, Kind::finished) << "mended by who finished next";

    server.ask({"DEL", record});
    server.ask({"HSET", record, "a", "b"});
    out = door.enter("k", 4);
    EXPECT_TRUE(granted(out) && out->unreadable_result) << "another type";
    ASSERT_TRUE(*door.leave("k", 4));

    server.ask({"SET", lock, "for ever"});
    EXPECT_TRUE(granted(door.enter("k", 5))) << "a lock without a time limit isn't ours";
    EXPECT_GT(server.ask({"PTTL", lock}).integer, 0);
}

TEST(RedisFaults, S38_prefixes_keep_environments_apart) {
    RedisServer server;
    auto one = at(server), two = at(server);
    one.key_prefix = "prod:";
    two.key_prefix = "test:";
    ASSERT_TRUE(granted(Door(one).enter("k", 1)));
    EXPECT_TRUE(granted(Door(two).enter("k", 2)));
    EXPECT_EQ(server.ask({"KEYS", "prod:idempotent:lock:{*}"}).elements.size(), 1U);
}

TEST(RedisFaults, unix_socket_and_database) {
    RedisServer server({"--unixsocket", "socket"});
    redis::Options options;
    options.addresses = {"unix:" + server.folder() + "/socket"};
    options.database = 3;
    ASSERT_TRUE(granted(Door(options).enter("k", 1)));
    EXPECT_EQ(server.ask({"KEYS", "*"}).elements.size(), 0U) << "database 0 is empty";
    options.database = 999;
    EXPECT_EQ(Door(options).enter("k", 1).error().kind(), ErrorKind::misconfigured);
}

// ---- TLS

/// A server with a certificate for `localhost`, its authority, and another one that signed nothing here.
class TlsServer {
public:
    explicit TlsServer(const char* wants_ours = "no") {
        folder_ = "/tmp/nebis-redis-tls-XXXXXX";
        if (!::mkdtemp(folder_.data())) throw std::runtime_error("no folder");
        const std::string quiet = " >/dev/null 2>&1";
        const std::string make =
            "cd " + folder_ +
            " && for ca in ca other; do openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
            " -subj /CN=$ca -keyout $ca.key -out $ca.crt; done"
            " && openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=server -keyout server.key"
            " -out server.csr && printf 'subjectAltName=DNS:localhost' > san"
            " && openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile san"
            " -out server.crt";
        if (std::system(("( " + make + " )" + quiet).c_str()) != 0) throw std::runtime_error("openssl made no keys");
        tls_port_ = nebis::test::free_port();
        server_.emplace(std::vector<std::string>{
            "--tls-port", std::to_string(tls_port_), "--tls-cert-file", file("server.crt"), "--tls-key-file",
            file("server.key"), "--tls-ca-cert-file", file("ca.crt"), "--tls-auth-clients", wants_ours});
    }
    ~TlsServer() { (void)std::system(("rm -r " + folder_).c_str()); }

    std::string file(const char* name) const { return folder_ + "/" + name; }
    redis::Options options(std::string host, const char* authority) const {
        redis::Options with;
        with.addresses = {host + ":" + std::to_string(tls_port_)};
        with.connect_timeout = seconds(10);
        with.tls.enabled = true;
        with.tls.ca_file = file(authority);
        return with;
    }
    std::string plain_address() const { return server_->address(); }

private:
    std::string folder_;
    std::uint16_t tls_port_ = 0;
    std::optional<RedisServer> server_;
};

TEST(RedisTls, certificate_and_name_are_verified) {
    TlsServer server;
    Door good(server.options("localhost", "ca.crt"));
    for (unsigned char i = 0; i < 5; ++i) EXPECT_TRUE(granted(good.enter("k", 1)));
    const CachedResult large = result_of("k", std::string(300'000, 'x'));
    ASSERT_TRUE(*good.leave("k", 1, &large));
    EXPECT_EQ(good.enter("k", 2)->result->response.body.size(), 300'000U);

    const auto wrong_ca = Door(server.options("localhost", "other.crt")).enter("k", 1);
    ASSERT_FALSE(wrong_ca);
    EXPECT_EQ(wrong_ca.error().code(), "redis-certificate") << wrong_ca.error().text();
    const auto wrong_name = Door(server.options("127.0.0.1", "ca.crt")).enter("k", 1);
    ASSERT_FALSE(wrong_name);
    EXPECT_EQ(wrong_name.error().code(), "redis-certificate") << wrong_name.error().text();
    auto named = server.options("127.0.0.1", "ca.crt");
    named.tls.server_name = "localhost";
    EXPECT_TRUE(granted(Door(named).enter("n", 1)));
}

TEST(RedisTls, our_certificate_is_shown_where_the_server_asks_for_one) {
    TlsServer server("yes");
    auto with = server.options("localhost", "ca.crt");
    const auto without = Door(with).enter("k", 1, seconds(5));
    ASSERT_FALSE(without);
    EXPECT_EQ(without.error().kind(), ErrorKind::unavailable) << without.error().text();
    with.tls.cert_file = server.file("server.crt");
    with.tls.key_file = server.file("server.key");
    const auto out = Door(with).enter("k", 1);
    EXPECT_TRUE(granted(out)) << (out ? "" : out.error().text());
}

TEST(RedisTls, plain_and_tls_that_meet_end_in_an_error) {
    TlsServer server;
    auto tls_to_plain = server.options("localhost", "ca.crt");
    tls_to_plain.addresses = {server.plain_address()};
    EXPECT_FALSE(Door(tls_to_plain).enter("k", 1, milliseconds(700)));
    auto plain_to_tls = server.options("localhost", "ca.crt");
    plain_to_tls.tls.enabled = false;
    EXPECT_FALSE(Door(plain_to_tls).enter("k", 1, milliseconds(700)));
    auto no_file = server.options("localhost", "absent.crt");
    EXPECT_EQ(redis::gate(no_file).error().code(), "redis-tls-file");
}

}  // namespace
