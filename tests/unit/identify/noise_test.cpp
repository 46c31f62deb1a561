// SPDX-License-Identifier: Apache-2.0
#include "identify/noise.hpp"

#include "identify/pointer.hpp"
#include "support.hpp"

#include <vector>

namespace nebis::identify_test {
namespace {

using identify::NoiseFilter;
using identify::split_pointer;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

NoiseFilter filter(std::vector<std::string> pointers) { return value_of(NoiseFilter::make(pointers)); }

TEST(Pointer, splits_as_rfc6901_says) {
    EXPECT_THAT(value_of(split_pointer("")), IsEmpty());
    EXPECT_THAT(value_of(split_pointer("/")), ElementsAre(""));
    EXPECT_THAT(value_of(split_pointer("/a/0/b")), ElementsAre("a", "0", "b"));
    EXPECT_THAT(value_of(split_pointer("/a~1b/m~0n/~01")), ElementsAre("a/b", "m~n", "~1"));
    EXPECT_THAT(value_of(split_pointer("/a//")), ElementsAre("a", "", ""));
}

TEST(Pointer, says_what_is_wrong) {
    for (const char* pointer : {"a", "#/a", "/a~", "/a~2", "/~/a"}) {
        const auto error = error_of(split_pointer(pointer));
        EXPECT_EQ(error.kind(), ErrorKind::misconfigured);
        EXPECT_THAT(error.message(), HasSubstr(pointer));
        EXPECT_THAT(error.hint(), HasSubstr("/name"));
    }
}

TEST(Noise, C03_matches_by_exact_path) {
    const auto noise = filter({"/nonce", "/envelope/id"});
    const auto root = noise.root();
    EXPECT_TRUE(noise.member(root, 0, "nonce").noise);
    EXPECT_FALSE(noise.member(root, 0, "nonces").noise);
    EXPECT_FALSE(noise.member(root, 0, "id").noise);
    const auto envelope = noise.member(root, 0, "envelope");
    EXPECT_FALSE(envelope.noise);
    EXPECT_TRUE(noise.member(envelope.inside, 1, "id").noise);
    EXPECT_FALSE(noise.member(envelope.inside, 1, "nonce").noise);
    const auto other = noise.member(root, 0, "other");
    EXPECT_FALSE(noise.member(other.inside, 1, "id").noise);
}

TEST(Noise, B047_star_is_one_level_of_either_kind) {
    const auto noise = filter({"/items/*/ts", "/list/1"});
    const auto items = noise.member(noise.root(), 0, "items");
    EXPECT_TRUE(noise.member(noise.element(items.inside, 1, 12).inside, 2, "ts").noise);
    EXPECT_TRUE(noise.member(noise.member(items.inside, 1, "any").inside, 2, "ts").noise);
    EXPECT_FALSE(noise.member(items.inside, 1, "ts").noise) << "one level, not any number";
    const auto list = noise.member(noise.root(), 0, "list");
    EXPECT_TRUE(noise.element(list.inside, 1, 1).noise);
    EXPECT_FALSE(noise.element(list.inside, 1, 11).noise);
    EXPECT_FALSE(noise.element(0, 1, 1).noise);
}

TEST(Noise, an_empty_filter_keeps_all) {
    EXPECT_EQ(NoiseFilter().root(), 0u);
    EXPECT_FALSE(filter({}).member(0, 0, "nonce").noise);
}

TEST(Noise, refuses_what_would_drop_everything_or_nothing_sensible) {
    const auto error = [](std::vector<std::string> pointers) { return error_of(NoiseFilter::make(pointers)); };
    EXPECT_EQ(error({""}).kind(), ErrorKind::misconfigured);
    EXPECT_EQ(error({"nonce"}).kind(), ErrorKind::misconfigured);
    EXPECT_THAT(error(std::vector<std::string>(65, "/a")).message(), HasSubstr("64"));
    const auto most = filter(std::vector<std::string>(64, "/a"));
    EXPECT_TRUE(most.member(most.root(), 0, "a").noise);
}

TEST(Noise, S4_defaults_are_clocks_chance_and_tracing) {
    EXPECT_THAT(identify::default_noise(),
                ElementsAre("/clientRequestTime", "/requestTime", "/timestamp", "/nonce", "/traceId", "/requestId"));
}

}  // namespace
}  // namespace nebis::identify_test
