// SPDX-License-Identifier: Apache-2.0
#include "nebis/http.hpp"

#include <boost/json/parse.hpp>
#include <gtest/gtest.h>

#include <map>

namespace nebis::http {
namespace {

using namespace std::chrono_literals;

Presentation plain() {
    Presentation presentation;
    presentation.documentation_url = "/idempotency";
    presentation.jitter = [] { return 0.0; };
    return presentation;
}

struct Seen {
    Response response;
    std::string header(std::string_view name) const {
        for (const auto& one : response.headers)
            if (one.name == name) return one.value;
        return "-";
    }
    std::string word() const {
        if (header("Content-Type") != "application/problem+json") return "no problem";
        const auto type = std::string(boost::json::parse(response.body).at("type").as_string());
        return type.substr(type.rfind(':') + 1);
    }
    std::string detail() const { return std::string(boost::json::parse(response.body).at("detail").as_string()); }
};

Seen answered(Answer answer, Presentation presentation = plain()) {
    return {Exchange(std::make_shared<const Presentation>(std::move(presentation))).respond(std::move(answer))};
}

Answer outcome(Outcome which) {
    Answer answer;
    answer.outcome = which;
    answer.request_id = "r-1";
    return answer;
}

Answer refused(const char* code, ErrorKind kind = ErrorKind::rejected_input) {
    auto answer = outcome(Outcome::refused);
    answer.error = Error(kind, "a sentence of ours", "driver says: secret", "a hint").with_code(code);
    return answer;
}

/// Runs a handler as the engine would, and answers with its result.
Seen ran(Reply reply, Answer answer = outcome(Outcome::fresh), Response* stored = nullptr,
         Presentation presentation = plain()) {
    Exchange exchange(std::make_shared<const Presentation>(std::move(presentation)));
    auto handler = exchange.wrap(std::make_shared<const Handler>([reply](const nebis::Request&, Execution&) {
        return Response{reply.status, reply.headers, reply.body, false};
    }));
    Execution execution(nullptr);
    try {
        answer.response = handler.blocking()({}, execution);
        if (stored != nullptr) *stored = answer.response;
    } catch (...) {
        answer.failure = std::current_exception();
    }
    answer.handler_ran = true;
    return {exchange.respond(std::move(answer))};
}

// B071, B074, C29, C30, C33
TEST(HttpExchange, B074_first_caller_gets_all_headers_and_duplicates_the_kept_ones) {
    Response stored;
    const auto first = ran({201,
                            "{\"id\":1}",
                            {{"Location", "/orders/1"},
                             {"Set-Cookie", "s=1"},
                             {"Set-Cookie", "c=2; Expires=Wed, 09 Jun 2027 10:18:14 GMT"},
                             {"WWW-Authenticate", "Basic"},
                             {"Link", "</a>"},
                             {"Link", "</b>"},
                             {"Connection", "close"},
                             {"X-Own", "1"}}},
                           outcome(Outcome::fresh), &stored);
    EXPECT_EQ(first.response.status, 201);
    EXPECT_EQ(first.response.headers, (std::vector<Header>{{"Location", "/orders/1"},
                                                           {"Set-Cookie", "s=1"},
                                                           {"Set-Cookie", "c=2; Expires=Wed, 09 Jun 2027 10:18:14 GMT"},
                                                           {"WWW-Authenticate", "Basic"},
                                                           {"Link", "</a>"},
                                                           {"Link", "</b>"},
                                                           {"X-Own", "1"},
                                                           {"X-Request-Id", "r-1"}}));
    EXPECT_EQ(stored.headers, (std::vector<Header>{{"Location", "/orders/1"}, {"Link", "</a>"}, {"Link", "</b>"}}));

    auto again = outcome(Outcome::replayed);
    again.response = stored;
    const auto second = answered(again);
    EXPECT_EQ(second.response.status, 201);
    EXPECT_EQ(second.response.body, first.response.body);
    EXPECT_EQ(second.response.headers, (std::vector<Header>{{"Location", "/orders/1"},
                                                            {"Link", "</a>"},
                                                            {"Link", "</b>"},
                                                            {"Idempotency-Replayed", "true"},
                                                            {"X-Request-Id", "r-1"}}));
}

TEST(HttpExchange, C33_what_others_stored_is_looked_at_again) {
    auto again = outcome(Outcome::replayed);
    again.response = {200, {{"Set-Cookie", "s=1"}, {"X-Split", "a\r\nb"}, {"ETag", "\"1\""}}, "x", false};
    auto presentation = plain();
    presentation.replay_headers = {"Set-Cookie", "X-Split"};
    EXPECT_EQ(answered(again, presentation).response.headers,
              (std::vector<Header>{{"ETag", "\"1\""}, {"Idempotency-Replayed", "true"}, {"X-Request-Id", "r-1"}}));
}

TEST(HttpExchange, name_of_the_replay_header_is_a_setting) {
    auto presentation = plain();
    presentation.replayed_header = "Idempotent-Replayed";
    auto again = outcome(Outcome::replayed);
    again.response = {200, {}, "x", false};
    EXPECT_EQ(answered(again, presentation).header("Idempotent-Replayed"), "true");
    EXPECT_EQ(ran({200, "x"}).header("Idempotency-Replayed"), "-");  // fresh answers carry no mark
}

// B025, S7, I-12, I-17
TEST(HttpExchange, I12_refusals_name_their_reason) {
    const std::map<const char*, int> statuses = {
        {"key-missing", 400},    {"key-invalid", 400},   {"body-invalid", 400},
        {"caller-missing", 400}, {"token-unknown", 400}, {"token-forged", 400},
        {"token-foreign", 403},  {"token-expired", 400}, {"body-too-large", 413}};
    for (const auto& [code, status] : statuses) {
        const auto seen = answered(refused(code));
        EXPECT_EQ(seen.response.status, status) << code;
        EXPECT_EQ(seen.word(), code);
        EXPECT_EQ(seen.detail(), "a sentence of ours");
        EXPECT_EQ(seen.header("Link"), "</idempotency#" + std::string(code) + ">; rel=\"describedby\"");
        EXPECT_EQ(seen.response.body.find("secret"), std::string::npos) << "details of drivers are for logs";
    }
    EXPECT_EQ(answered(refused("of-a-users-generator")).word(), "bad-request");
    EXPECT_EQ(answered(refused("", ErrorKind::misconfigured)).response.status, 500);
    EXPECT_EQ(answered(refused("", ErrorKind::corrupt)).word(), "corrupt");
}

TEST(HttpExchange, I11_in_progress_is_409_with_retry_after) {
    auto answer = outcome(Outcome::in_progress);
    answer.retry_after = 300ms;
    answer.message = "being processed";
    const auto seen = answered(answer);
    EXPECT_EQ(seen.response.status, 409);
    EXPECT_EQ(seen.word(), "in-progress");
    EXPECT_EQ(seen.header("Retry-After"), "1");
    EXPECT_EQ(seen.detail(), "being processed");
    EXPECT_EQ(seen.header("Idempotency-Replayed"), "-");
}

TEST(HttpExchange, retry_after_is_whole_seconds_spread_by_a_fifth) {
    auto answer = outcome(Outcome::in_progress);
    answer.retry_after = 10s;
    auto presentation = plain();
    EXPECT_EQ(answered(answer, presentation).header("Retry-After"), "10");
    presentation.jitter = [] { return 1.0; };
    EXPECT_EQ(answered(answer, presentation).header("Retry-After"), "12");
    presentation.jitter = [] { return -1.0; };
    EXPECT_EQ(answered(answer, presentation).header("Retry-After"), "8");
    presentation.jitter = [] { return -50.0; };
    EXPECT_EQ(answered(answer, presentation).header("Retry-After"), "8");
    answer.retry_after = 0ms;
    EXPECT_EQ(answered(answer, presentation).header("Retry-After"), "1");
    presentation.jitter = nullptr;  // random, inside the same bounds
    answer.retry_after = 100s;
    for (int i = 0; i < 50; ++i) {
        const int value = std::stoi(answered(answer, presentation).header("Retry-After"));
        EXPECT_GE(value, 80);
        EXPECT_LE(value, 120);
    }
}

TEST(HttpExchange, B029_I13_C56_mismatch_is_422_and_tells_nothing_of_the_first) {
    auto answer = outcome(Outcome::mismatch);
    answer.response = {200, {{"Location", "/secret"}}, "secret", false};
    const auto seen = answered(answer);
    EXPECT_EQ(seen.response.status, 422);
    EXPECT_EQ(seen.word(), "mismatch");
    EXPECT_EQ(seen.header("Link"), "</idempotency#mismatch>; rel=\"describedby\"");
    EXPECT_EQ(seen.header("Location"), "-");
    EXPECT_EQ(seen.response.body.find("secret"), std::string::npos);
    EXPECT_EQ(answered(answer).response.status, 422);  // I-14: still
}

TEST(HttpExchange, unhappy_outcomes_have_their_own_types) {
    EXPECT_EQ(answered(outcome(Outcome::outcome_unknown)).word(), "outcome-unknown");
    EXPECT_EQ(answered(outcome(Outcome::outcome_unknown)).response.status, 409);
    EXPECT_EQ(answered(outcome(Outcome::outcome_unknown)).header("Retry-After"), "-");
    EXPECT_EQ(answered(outcome(Outcome::duplicate)).word(), "duplicate");
    EXPECT_EQ(answered(outcome(Outcome::duplicate)).response.status, 409);
    EXPECT_EQ(answered(outcome(Outcome::fenced_off)).response.status, 503);
    EXPECT_EQ(answered(outcome(Outcome::fenced_off)).header("Retry-After"), "1");
    auto asked = outcome(Outcome::outcome_unknown);
    asked.retry_after = 2s;  // a resolver is at work
    EXPECT_EQ(answered(asked).header("Retry-After"), "2");
}

TEST(HttpExchange, C49_a_store_that_is_down_is_503_with_retry_after) {
    auto answer = outcome(Outcome::unavailable);
    answer.error = Error(ErrorKind::unavailable, "the store can't be reached", "disk full on /dev/x");
    answer.retry_after = 2s;
    const auto seen = answered(answer);
    EXPECT_EQ(seen.response.status, 503);
    EXPECT_EQ(seen.word(), "unavailable");
    EXPECT_EQ(seen.header("Retry-After"), "2");
    EXPECT_EQ(seen.response.body.find("/dev/x"), std::string::npos);
    answer.error = Error(ErrorKind::overloaded, "the queue is full");
    EXPECT_EQ(answered(answer).word(), "overloaded");
    answer.error = Error(ErrorKind::rejected_input, "odd");  // never the client's fault
    EXPECT_EQ(answered(answer).response.status, 503);
    answer.error.reset();
    EXPECT_EQ(answered(answer).word(), "unavailable");
}

// S53, B075, C23
TEST(HttpExchange, B075_S53_tombstones_tell_that_it_is_done) {
    auto again = outcome(Outcome::replayed);
    again.response = {201, {{"Location", "/orders/1"}}, "", true};
    const auto seen = answered(again);
    EXPECT_EQ(seen.response.status, 409);
    EXPECT_EQ(seen.word(), "done-not-stored");
    EXPECT_EQ(seen.header("Idempotency-Status"), "done-not-stored");
    EXPECT_EQ(seen.header("Idempotency-Replayed"), "-");
    EXPECT_EQ(boost::json::parse(seen.response.body).at("original-status").as_int64(), 201);

    auto first = outcome(Outcome::fresh);
    EXPECT_EQ(ran({201, std::string(1 << 20, 'x')}, first).response.body.size(), 1u << 20);
}

TEST(HttpExchange, true_answers_that_are_not_recorded_or_not_protected_say_so) {
    auto answer = outcome(Outcome::fresh);
    answer.recorded = false;
    EXPECT_EQ(ran({200, "x"}, answer).header("Idempotency-Status"), "not-recorded");
    answer.unprotected = true;
    EXPECT_EQ(ran({200, "x"}, answer).header("Idempotency-Status"), "unprotected");
    EXPECT_EQ(ran({200, "x"}).header("Idempotency-Status"), "-");
}

TEST(HttpExchange, a_refusal_of_the_application_is_the_same_bytes_for_all) {
    auto first = outcome(Outcome::fresh);
    first.rejected = true;
    first.failure = std::make_exception_ptr(Rejected("not enough money", 402));
    first.response = {402, {}, "not enough money", false};
    auto again = outcome(Outcome::replayed);
    again.rejected = true;
    again.response = first.response;
    again.request_id = "r-2";
    EXPECT_EQ(answered(first).response.status, 402);
    EXPECT_EQ(answered(first).word(), "rejected");
    EXPECT_EQ(answered(first).detail(), "not enough money");
    EXPECT_EQ(answered(first).response.body, answered(again).response.body);
    EXPECT_EQ(answered(again).response.status, 402);
    EXPECT_EQ(answered(again).header("Idempotency-Replayed"), "true");
    EXPECT_EQ(answered(first).header("Idempotency-Replayed"), "-");
    EXPECT_EQ(answered(again).header("X-Request-Id"), "r-2");
}

TEST(HttpExchange, what_handlers_throw_is_told_without_its_text) {
    const auto threw = [](auto failure) {
        auto answer = outcome(Outcome::fresh);
        answer.failure = std::make_exception_ptr(failure);
        return answered(answer);
    };
    EXPECT_EQ(threw(NotExecuted("secret")).word(), "not-executed");
    EXPECT_EQ(threw(NotExecuted("secret")).header("Retry-After"), "1");
    EXPECT_EQ(threw(OutcomeUnknown("secret")).word(), "outcome-unknown");
    EXPECT_EQ(threw(RepeatSubmitException("secret", 1500)).word(), "not-accepted");
    EXPECT_EQ(threw(RepeatSubmitException("secret", 1500)).header("Retry-After"), "2");
    EXPECT_EQ(threw(std::runtime_error("secret")).response.status, 500);
    EXPECT_EQ(threw(std::runtime_error("secret")).word(), "handler-failed");
    EXPECT_EQ(threw(std::runtime_error("secret")).response.body.find("secret"), std::string::npos);
}

// C22, B082, B083: which statuses are answers to keep
TEST(HttpExchange, C22_statuses_are_sorted_by_what_they_say_about_the_effect) {
    for (const int status : {200, 201, 202, 204, 301, 303, 400, 402, 404, 409, 418, 422, 500, 501})
        EXPECT_EQ(certainty_of({status}), Certainty::done) << status;
    for (const int status : {408, 425, 429}) EXPECT_EQ(certainty_of({status}), Certainty::not_executed) << status;
    for (const int status : {502, 503, 504}) EXPECT_EQ(certainty_of({status}), Certainty::unknown) << status;
    EXPECT_EQ(certainty_of({503, "", {{"retry-after", "5"}}}), Certainty::not_executed);
}

TEST(HttpExchange, C22_unkept_replies_reach_their_caller_and_no_one_else) {
    const auto seen = ran({503, "later", {{"Retry-After", "5"}, {"X-Own", "1"}}});
    EXPECT_EQ(seen.response.status, 503);
    EXPECT_EQ(seen.response.body, "later");
    EXPECT_EQ(seen.header("Retry-After"), "5");
    EXPECT_EQ(seen.header("X-Own"), "1");
    EXPECT_EQ(ran({502, "bad"}).response.body, "bad");
    EXPECT_EQ(ran({502, "bad"}, outcome(Outcome::fenced_off)).word(),
              "fenced-off");  // what counts is the other attempt's

    auto presentation = plain();
    presentation.certainty = [](const Reply&) { return Certainty::done; };
    Response stored;
    EXPECT_EQ(ran({503, "kept"}, outcome(Outcome::fresh), &stored, presentation).response.status, 503);
    EXPECT_EQ(stored.body, "kept");
}

TEST(HttpExchange, a_status_that_is_none_is_a_fault_of_the_handler) {
    for (const int status : {0, 99, 100, 600, -1}) EXPECT_EQ(ran({status, "x"}).word(), "handler-failed") << status;
}

// S26
TEST(HttpExchange, S26_a_produced_answer_is_given_as_it_is) {
    auto answer = outcome(Outcome::in_progress);
    answer.produced = true;
    answer.response = {202, {{"Content-Type", "text/plain"}}, "wait", false};
    EXPECT_EQ(answered(answer).response.status, 202);
    EXPECT_EQ(answered(answer).response.body, "wait");
    answer.response.status = 0;
    EXPECT_EQ(answered(answer).response.status, 200);
}

TEST(HttpExchange, handlers_that_answer_later_are_refused) {
    Exchange exchange(std::make_shared<const Presentation>(plain()));
    EXPECT_THROW((void)exchange.wrap(std::make_shared<const Handler>(
                     Handler::later([](const nebis::Request&, Execution, Completion) {}))),
                 IdempotentException);
}

}  // namespace
}  // namespace nebis::http
