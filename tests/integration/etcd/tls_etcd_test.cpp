// SPDX-License-Identifier: Apache-2.0
#include "support/etcd_server.hpp"

#include <gtest/gtest.h>

namespace {

using namespace nebis;
using nebis::test::EtcdServer;
using nebis::test::said;
using nebis::test::Server;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(EtcdTls, certificate_and_name_are_verified) {
    const EtcdServer server("etcd-tls");
    const EtcdServer stranger("etcd-tls");
    const std::string port = ":" + std::to_string(server.port());
    auto with = server.options();
    with.tls.enabled = true;
    with.tls.ca_file = server.ca();
    for (const char* host : {"localhost", "127.0.0.1"}) {
        with.addresses = {host + port};
        EXPECT_EQ(said(EtcdServer::lock(with).acquire("k", 1)), "granted") << host;
    }
    with.tls.server_name = "localhost";
    EXPECT_EQ(said(EtcdServer::lock(with).acquire("k", 1)), "granted");
    with.tls.server_name = "etcd.example";
    EXPECT_EQ(said(EtcdServer::lock(with).acquire("k", 1)), "misconfigured etcd-certificate");
    with.tls.server_name = "";
    with.tls.ca_file = stranger.ca();
    EXPECT_EQ(said(EtcdServer::lock(with).acquire("k", 1)), "misconfigured etcd-certificate");
    with.tls.ca_file = "";
    EXPECT_EQ(said(EtcdServer::lock(with).acquire("k", 1)), "misconfigured etcd-certificate") << "the system's";
    with.tls.ca_file = "/nowhere/ca.pem";
    EXPECT_EQ(said(EtcdServer::lock(with).acquire("k", 1)), "misconfigured etcd-tls-file");
}

TEST(EtcdTls, our_certificate_is_shown_where_etcd_asks_for_one) {
    const EtcdServer server("etcd-mutual-tls");
    auto with = server.options();
    with.tls.enabled = true;
    with.tls.ca_file = server.ca();
    EXPECT_EQ(said(EtcdServer::lock(with).acquire("k", 1)), "misconfigured etcd-our-certificate");
    with.tls.cert_file = server.ca();
    with.tls.key_file = server.ca().substr(0, server.ca().rfind('/')) + "/key.pem";
    EXPECT_EQ(said(EtcdServer::lock(with).acquire("k", 1)), "granted");
}

TEST(EtcdTls, plain_and_tls_that_meet_end_in_an_error) {
    const EtcdServer encrypted("etcd-tls"), plain;
    auto with = plain.options();
    with.tls.enabled = true;
    with.tls.ca_file = encrypted.ca();
    EXPECT_EQ(said(EtcdServer::lock(with).acquire("k", 1)), "unavailable etcd-tls-closed");
    const auto refused = EtcdServer::lock(encrypted.options()).acquire("k", 1);
    EXPECT_EQ(said(refused), "unavailable etcd-lost");
    EXPECT_NE(refused.error().hint().find("`lock.tls`"), std::string::npos);
}

}  // namespace
