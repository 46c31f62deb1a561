// SPDX-License-Identifier: Apache-2.0
#include "faultproxy/conversation.hpp"

#include <gtest/gtest.h>

namespace {

using namespace nebis::faultproxy;

TEST(FaultProxyConversation, a_marker_in_chunks_of_one_request_is_found_wherever_it_is_cut) {
    const std::string marker = "COMMIT";
    for (std::size_t at = 1; at < marker.size(); ++at) {
        Plan plan;
        plan.losses.push_back({marker, After::reset});
        Conversation talk(plan);
        talk.client_said("first " + marker.substr(0, at));
        talk.client_said(marker.substr(at, 1));
        talk.client_said(marker.substr(at + 1) + " and more");
        EXPECT_EQ(talk.server_said("ok"), After::reset) << at;
        EXPECT_EQ(plan.tally.now().requests, 1U);
    }
}

TEST(FaultProxyConversation, the_longest_marker_is_found_in_single_bytes) {
    Plan plan;
    std::string marker(longest_marker, 'x');
    marker.back() = 'y';
    plan.losses.push_back({marker, After::cut});
    Conversation talk(plan);
    for (const char byte : "xx" + marker) talk.client_said({&byte, 1});
    EXPECT_EQ(talk.server_said("ok"), After::cut);
}

TEST(FaultProxyConversation, a_lost_reply_ends_when_the_client_speaks_again_and_not_before) {
    Plan plan;
    plan.losses.push_back({{}, After::keep});
    Conversation talk(plan);
    talk.client_said("request");
    talk.client_said("the client is impatient");
    EXPECT_EQ(talk.server_said("a reply"), After::keep);
    EXPECT_EQ(talk.server_said("in two chunks"), After::keep);
    talk.client_said("next");
    EXPECT_EQ(talk.server_said("ok"), std::nullopt);
    EXPECT_EQ(plan.tally.now().lost_replies, 1U);
    EXPECT_EQ(plan.tally.now().swallowed_bytes, std::string("a replyin two chunks").size());
}

TEST(FaultProxyConversation, two_connections_count_towards_one_number) {
    Plan plan;
    plan.losses.push_back({"x", After::cut, 2});
    Conversation one(plan), two(plan);
    one.client_said("x");
    EXPECT_EQ(one.server_said("ok"), std::nullopt);
    two.client_said("x");
    EXPECT_EQ(two.server_said("ok"), After::cut);
    EXPECT_TRUE(plan.losses.empty());
}

}  // namespace
