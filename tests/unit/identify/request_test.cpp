// SPDX-License-Identifier: Apache-2.0
#include "nebis/request.hpp"

#include "nebis/extend.hpp"
#include "support.hpp"

namespace nebis::identify_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(RequestHeader, C07_names_have_no_case_and_values_are_single) {
    const Request request{.headers = {{"Idempotency-Key", "k"}, {"X-Two", "1"}, {"x-two", "1"}}};
    for (const char* name : {"Idempotency-Key", "idempotency-key", "IDEMPOTENCY-KEY"}) {
        const auto found = value_of(request.header(name));
        ASSERT_NE(found, nullptr);
        EXPECT_EQ(*found, "k");
    }
    EXPECT_EQ(value_of(request.header("Absent")), nullptr);
    EXPECT_EQ(error_of(request.header("X-Two")).kind(), ErrorKind::rejected_input);
    EXPECT_THAT(error_of(request.header("X-Two")).message(), HasSubstr("X-Two"));
}

TEST(RequestText, reads_scalars_at_a_pointer) {
    const Request request =
        json_request(R"({"bizSeqNo":"S-1","n":{"a/b":[1.50,true,false,"é\u0041"]},"big":9007199254740993,"empty":""})");
    EXPECT_EQ(value_of(request.text("/bizSeqNo")), "S-1");
    EXPECT_EQ(value_of(request.text("/n/a~1b/0")), "1.5");
    EXPECT_EQ(value_of(request.text("/n/a~1b/1")), "true");
    EXPECT_EQ(value_of(request.text("/n/a~1b/2")), "false");
    EXPECT_EQ(value_of(request.text("/n/a~1b/3")), "éA");
    EXPECT_EQ(value_of(request.text("/big")), "9007199254740993");
    EXPECT_EQ(value_of(request.text("/empty")), "");
    EXPECT_EQ(value_of(Request{.body = "7"}.text("")), "7");
    EXPECT_EQ(value_of(Request{.body = R"({"a":1})"}.text("/a")), "1") << "a message needs no content type";
    EXPECT_EQ(value_of(Request{.content_type = "application/x-www-form-urlencoded", .body = "a=1+2"}.text("/a")),
              "1 2");
}

TEST(RequestText, B023_names_the_path_of_what_cannot_be_a_key) {
    const Request request =
        json_request(R"({"null":null,"object":{"secret":1},"array":["secret"],"huge":1e5000,"twice":1,"twice":2})");
    for (const char* pointer :
         {"/absent", "/null", "/object", "/array", "/huge", "/twice", "/null/deeper", "/array/7", ""}) {
        const auto error = error_of(request.text(pointer));
        EXPECT_EQ(error.kind(), ErrorKind::rejected_input) << pointer;
        EXPECT_THAT(error.message(), HasSubstr("\"" + std::string(pointer) + "\""));
        EXPECT_THAT(error.text(), Not(HasSubstr("secret")));
    }
    for (const char* body : {"", "{", "not json"}) {
        const auto error = error_of(json_request(body).text("/a"));
        EXPECT_EQ(error.kind(), ErrorKind::rejected_input);
        EXPECT_THAT(error.message(), HasSubstr("/a"));
    }
    EXPECT_EQ(error_of(request.text("no-pointer")).kind(), ErrorKind::rejected_input);
}

// The article's own example of a custom generator.
struct BizSeqNo : KeyGenerator {
    Result<std::string> generate(const Request& request) const override { return request.text("/bizSeqNo"); }
};

TEST(RequestText, S34_serves_the_articles_generator) {
    EXPECT_EQ(value_of(BizSeqNo().generate(json_request(R"({"bizSeqNo":20240101})"))), "20240101");
    EXPECT_THAT(error_of(BizSeqNo().generate(json_request("{}"))).message(), HasSubstr("/bizSeqNo"));
}

}  // namespace
}  // namespace nebis::identify_test
