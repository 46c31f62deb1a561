// SPDX-License-Identifier: Apache-2.0
// Bodies of any kind. The first byte chooses the kind, the rest is the body.
#include "identify/canonical.hpp"

#include "claim.hpp"

#include <array>
#include <cstdint>
#include <string>

using namespace nebis;
using namespace nebis::identify;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    static const std::array<std::string, 4> types{"application/json", "application/x-www-form-urlencoded",
                                                  "text/plain; charset=utf-8", ""};
    static const NoiseFilter noise =
        NoiseFilter::make(std::array<std::string, 3>{"/nonce", "/items/*/ts", "/a/0"}).value();
    const HashLimits limits;

    Request request{.method = "POST", .path = "/x", .content_type = types[data[0] % types.size()]};
    request.body.assign(reinterpret_cast<const char*>(data) + 1, size - 1);
    request.arguments = (data[0] & 4) != 0;
    if ((data[0] & 8) != 0) request.query.swap(request.body);

    const auto hash = hash_request(request, noise, limits);
    const auto again = hash_request(request, noise, limits);
    claim(hash.has_value() == again.has_value(), "the same request is accepted twice or never");
    if (!hash) {
        claim(hash.error().kind() == ErrorKind::rejected_input, "a body is at worst rejected input");
        claim(hash.error().code() == "body-invalid" || hash.error().code() == "body-too-large",
              "a refusal has its code");
        return 0;
    }
    claim(*hash == *again, "the same request has the same hash");
    const auto previous = hash_request(request, noise, limits, previous_scheme);
    claim(previous && previous->digest != hash->digest, "every scheme can hash what one can, and differently");
    Request other = request;
    other.method = "PUT";
    claim(*hash != *hash_request(other, noise, limits), "another method is another request");

    const bool json = Body(request, limits).kind() == BodyKind::json;
    other = request;
    other.body = " " + request.body + "\n";
    if (json) claim(*hash == *hash_request(other, noise, limits), "blanks around JSON say nothing");
    for (const char* pointer : {"", "/a", "/nonce", "/items/0/ts", "/a/0"}) {
        if (const auto text = request.text(pointer); !text)
            claim(text.error().kind() == ErrorKind::rejected_input, "no scalar is rejected input");
    }
    return 0;
}
