// SPDX-License-Identifier: Apache-2.0
#include "protocol/lease_book.hpp"

#include <gtest/gtest.h>

namespace nebis::protocol {
namespace {

using Millis = LeaseBook::Millis;

class LeaseBookTest : public testing::Test {
protected:
    LeaseBook book_;
    int tag_ = 0;

    std::vector<LeaseBook::Due> due(Millis now) {
        std::vector<LeaseBook::Due> out;
        book_.collect_due(now, out);
        return out;
    }
    std::size_t ended(Millis now) {
        std::vector<void*> out;
        book_.collect_ended(now, out);
        return out.size();
    }
};

TEST_F(LeaseBookTest, an_empty_book_has_nothing_to_do) {
    EXPECT_EQ(book_.next(), LeaseBook::none);
    EXPECT_TRUE(due(1'000'000).empty());
    EXPECT_EQ(ended(1'000'000), 0u);
    EXPECT_EQ(book_.size(), 0u);
}

TEST_F(LeaseBookTest, Z17_a_lease_is_renewed_a_third_after_the_last_sending) {
    book_.add(1'000, {.lease = 9'000, .interval = 5'000, .max = 60'000}, &tag_);
    EXPECT_EQ(book_.next(), 4'000);
    EXPECT_TRUE(due(3'999).empty());
    const auto first = due(4'000);
    ASSERT_EQ(first.size(), 1u);
    EXPECT_EQ(first[0].tag, &tag_);
    EXPECT_EQ(first[0].lease, 9'000);
    EXPECT_TRUE(due(4'000).empty());  // in flight
    EXPECT_EQ(book_.renewed(first[0].slot, 4'000, 9'000), 12'500);
    EXPECT_EQ(book_.next(), 7'000);
}

TEST_F(LeaseBookTest, a_shorter_interval_than_a_third_is_kept) {
    book_.add(0, {.lease = 9'000, .interval = 1'000}, &tag_);
    EXPECT_EQ(book_.next(), 1'000);
    LeaseBook tiny;
    tiny.add(0, {.lease = 2, .interval = 1'000, .margin = 0}, &tag_);
    EXPECT_EQ(tiny.next(), 1);  // never in the same millisecond
}

TEST_F(LeaseBookTest, an_error_ends_no_lease) {
    const auto slot = book_.add(0, {.lease = 9'000}, &tag_);
    ASSERT_EQ(due(3'000).size(), 1u);
    book_.failed(slot);
    EXPECT_EQ(ended(8'499), 0u);
    EXPECT_EQ(due(3'500).size(), 1u);  // tried again at the next look
}

TEST_F(LeaseBookTest, the_monotonic_end_does_once_and_for_good) {
    const auto slot = book_.add(0, {.lease = 9'000, .margin = 500}, &tag_);
    ASSERT_EQ(due(3'000).size(), 1u);
    EXPECT_EQ(book_.next(), 8'500);
    EXPECT_EQ(ended(8'500), 1u);
    EXPECT_EQ(ended(8'501), 0u);
    EXPECT_EQ(book_.renewed(slot, 8'000, 9'000), 8'500);  // a late reply doesn't bring it back
    // Its handler may still be at work: as long as the row is ours, nobody shall take it over.
    EXPECT_EQ(due(11'000).size(), 1u);
    EXPECT_EQ(book_.renewed(slot, 11'000, 9'000), 8'500);
    EXPECT_EQ(ended(30'000), 0u);
    EXPECT_EQ(book_.next(), 14'000);
}

TEST_F(LeaseBookTest, no_rows_does_too) {
    const auto slot = book_.add(0, {.lease = 9'000}, &tag_);
    ASSERT_EQ(due(3'000).size(), 1u);
    book_.lost(slot);
    EXPECT_TRUE(due(4'000).empty());
    EXPECT_EQ(book_.renewed(slot, 4'000, 9'000), 8'500);
    EXPECT_EQ(ended(20'000), 0u);  // the renewer was told already
    EXPECT_EQ(book_.next(), LeaseBook::none);
}

TEST_F(LeaseBookTest, Z18_never_beyond_max_in_all) {
    const auto slot = book_.add(0, {.lease = 9'000, .interval = 3'000, .max = 14'000, .margin = 500}, &tag_);
    const auto first = due(3'000);
    ASSERT_EQ(first.size(), 1u);
    EXPECT_EQ(first[0].lease, 9'000);
    book_.renewed(slot, 3'000, first[0].lease);
    const auto second = due(6'000);
    ASSERT_EQ(second.size(), 1u);
    EXPECT_EQ(second[0].lease, 8'000);  // up to 14 000, not further
    EXPECT_EQ(book_.renewed(slot, 6'000, second[0].lease), 13'500);
    EXPECT_TRUE(due(9'000).empty());
    EXPECT_EQ(ended(13'500), 1u);
}

TEST_F(LeaseBookTest, a_look_that_comes_after_max_asks_for_nothing) {
    book_.add(0, {.lease = 9'000, .max = 10'000, .margin = 0}, &tag_);
    EXPECT_TRUE(due(10'000).empty());
    EXPECT_EQ(ended(10'000), 1u);
    EXPECT_EQ(book_.next(), LeaseBook::none);  // or the renewer would never sleep again
}

TEST_F(LeaseBookTest, without_renewal_it_only_ends) {
    book_.add(0, {.lease = 9'000, .renew = false}, &tag_);
    EXPECT_TRUE(due(8'000).empty());
    EXPECT_EQ(book_.next(), 8'500);
    EXPECT_EQ(ended(8'500), 1u);
}

TEST_F(LeaseBookTest, replies_may_overtake_each_other) {
    const auto slot = book_.add(0, {.lease = 9'000}, &tag_);
    EXPECT_EQ(book_.renewed(slot, 6'000, 9'000), 14'500);
    EXPECT_EQ(book_.renewed(slot, 3'000, 9'000), 14'500);
    EXPECT_EQ(book_.next(), 9'000);
}

TEST_F(LeaseBookTest, slots_are_used_again) {
    const auto first = book_.add(0, {}, &tag_);
    const auto second = book_.add(0, {}, &tag_);
    EXPECT_NE(first, second);
    EXPECT_EQ(book_.size(), 2u);
    book_.remove(first);
    EXPECT_EQ(book_.size(), 1u);
    EXPECT_EQ(due(3'000).size(), 1u);
    EXPECT_EQ(ended(2'000), 0u);
    EXPECT_EQ(book_.add(5'000, {}, &tag_), first);
    EXPECT_EQ(book_.size(), 2u);
    EXPECT_TRUE(due(5'000).empty());
}

}  // namespace
}  // namespace nebis::protocol
