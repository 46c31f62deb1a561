// SPDX-License-Identifier: Apache-2.0
// A key expression, a line feed, and the body it is evaluated on, once as a call's arguments and once as a request.
#include "identify/key_expression.hpp"

#include "claim.hpp"

#include <cstdint>
#include <string>

using namespace nebis;
using namespace nebis::identify;

namespace {

void evaluate(const KeyExpression& expression, const Request& request) {
    const HashLimits limits;
    Body body(request, limits);
    const auto key = expression.evaluate(request, body, limits);
    if (!key) {
        claim(key.error().kind() == ErrorKind::rejected_input, "a request without a key is rejected input");
        claim(!key.error().code().empty(), "a refusal has its code");
        return;
    }
    claim(key->find_first_not_of(" \t\n\v\f\r") != std::string::npos, "a key is never blank");
    Body fresh(request, limits);
    claim(*key == *expression.evaluate(request, fresh, limits), "the same request has the same key");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const std::string_view text = input.substr(0, input.find('\n'));
    const std::string body(input.substr(std::min(input.size(), text.size() + 1)));

    ParseError error;
    const auto expression = KeyExpression::parse(text, error);
    if (!expression) {
        claim(error.offset <= text.size(), "an error lies inside the text");
        claim(!error.message.empty(), "an error has a message");
        return 0;
    }
    claim(!expression->roots().empty(), "an expression names something of the request");
    evaluate(*expression, {.body = body, .arguments = true});
    Request request{
        .method = "POST", .path = "/p", .query = "a=1&b=%41", .content_type = "application/json", .body = body};
    request.headers = {{"X-A", "h"}};
    request.principal = "u";
    evaluate(*expression, request);
    return 0;
}
