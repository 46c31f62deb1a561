// SPDX-License-Identifier: Apache-2.0
#include "problems.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace nebis::http {

namespace {

// In the order of the documentation: the key, its fate, the server, then what HTTP itself refuses.
constexpr ProblemType table[] = {
    {"key-missing", 400, "Idempotency key missing",
     "This operation needs an idempotency key and the request has none. Nothing was executed.",
     "Make one key for each intent (a UUID, say), send it in the header that the detail names, and keep it for "
     "retries."},
    {"key-invalid", 400, "Idempotency key malformed",
     "The idempotency key is there, but isn't one: empty, too long, sent twice, with characters outside printable "
     "ASCII, or not a quoted string. "
     "Nothing was executed.",
     "Send one header line with one key: a quoted string (Structured Fields) or, unless the server is strict, bare "
     "text."},
    {"body-invalid", 400, "Body can't be read",
     "The body isn't what its Content-Type says, or says it ambiguously (a member twice, too deep, trailing bytes). "
     "Nothing was executed.",
     "Correct the body. The same key may be used again."},
    {"caller-missing", 400, "Caller unknown",
     "Keys of this operation belong to their callers, and this request names none. Nothing was executed.",
     "Authenticate, then send it again."},
    {"token-unknown", 400, "One-time token unknown",
     "The one-time token isn't one of this service's. Nothing was executed.", "Ask for a new token."},
    {"token-forged", 400, "One-time token altered",
     "The signature of the one-time token doesn't fit. Nothing was executed.",
     "Send the token exactly as it was handed out, or ask for a new one."},
    {"token-foreign", 403, "One-time token of another caller or operation",
     "The one-time token was handed out to another caller or for another operation. Nothing was executed.",
     "Ask for a token for this operation."},
    {"token-expired", 400, "One-time token expired", "The one-time token was not used in time. Nothing was executed.",
     "Ask for a new token."},
    {"in-progress", 409, "Request in progress",
     "Another request with this key is being executed. This one did nothing.",
     "Send the same request with the same key again after Retry-After; it then gets the answer of the first."},
    {"mismatch", 422, "Idempotency key used with another request",
     "This key was used before with another request (method, path, query, Content-Type or body differ). Nothing was "
     "executed.",
     "Use a new key for a new intent; repeat a request only unchanged."},
    {"outcome-unknown", 409, "Outcome unknown",
     "A request with this key was started, and nobody knows whether it took effect. It is not executed again until "
     "that is settled.",
     "Do not use a new key: that could do it twice. Ask later with the same key, or ask support with the request id."},
    {"duplicate", 409, "Duplicate",
     "This request was made before. It was not executed again, and its answer isn't repeated.",
     "Nothing to do: the first one counts."},
    {"done-not-stored", 409, "Done before, answer not kept",
     "The request was executed, but its answer was too large to keep. It was not executed again; `original-status` is "
     "the status of that answer.",
     "Read the result through another resource."},
    {"rejected", 422, "Refused by the application",
     "The application refuses this request for good; the same key gets the same refusal.",
     "Correct the request and use a new key."},
    {"not-executed", 503, "Not executed", "The application could not execute the request, and surely nothing happened.",
     "Send the same request with the same key again after Retry-After."},
    {"not-accepted", 409, "Not accepted now",
     "The application doesn't accept this request at the moment. Nothing happened.",
     "Send the same request with the same key again later."},
    {"handler-failed", 500, "Application failed",
     "The application failed while it executed the request. Unless its effect was rolled back, the outcome is unknown "
     "and held.",
     "Send the same request with the same key again: it is told what is known. A new key could do it twice."},
    {"fenced-off", 503, "Taken over by another attempt",
     "This attempt took too long and another one took over; what counts is the other one's outcome.",
     "Send the same request with the same key again after Retry-After to read it."},
    {"unavailable", 503, "Store unavailable",
     "The records of requests can't be reached. Unless the detail says otherwise, nothing was executed.",
     "Send the same request with the same key again after Retry-After."},
    {"overloaded", 503, "Overloaded", "The server has as much to do as it takes on. Nothing was executed.",
     "Send the same request with the same key again after Retry-After."},
    {"too-many-new-keys", 429, "Too many new keys",
     "The caller has made as many new keys as it may for now. A key that is known is answered as ever. Nothing was "
     "executed.",
     "Send the same request with the same key again after Retry-After."},
    {"misconfigured", 500, "Misconfigured", "The server's settings don't fit together. Nothing was executed.",
     "An operator must act."},
    {"corrupt", 500, "Record damaged", "What is stored for this key can't be trusted. Nothing was executed.",
     "Ask support with the request id; a new key could do it twice."},
    {"internal", 500, "Internal error", "A fault in the server.", "Ask support with the request id."},

    {"bad-request", 400, "Malformed request",
     "The request breaks a rule of HTTP, or its path can be read in two ways. Nothing was executed.",
     "Correct the request."},
    {"unauthenticated", 401, "Not authenticated", "The caller isn't known. Nothing was looked up or executed.",
     "Authenticate."},
    {"forbidden", 403, "Not allowed", "The caller may not do this. Nothing was looked up or executed.",
     "Ask for the right to."},
    {"not-found", 404, "Not found", "There is no such route.", "Correct the path."},
    {"method-not-allowed", 405, "Method not allowed", "The route is there, but not for this method; see Allow.",
     "Use an allowed method."},
    {"request-timeout", 408, "Request too slow", "The request did not arrive in time. Nothing was executed.",
     "Send it again, faster."},
    {"body-too-large", 413, "Body too large", "The body exceeds what this operation takes. Nothing was executed.",
     "Send less."},
    {"target-too-long", 414, "Target too long", "Path and query exceed what the server takes. Nothing was executed.",
     "Send a shorter one."},
    {"expectation-failed", 417, "Expectation unknown",
     "Expect says something other than 100-continue. Nothing was executed.", "Leave it out."},
    {"headers-too-large", 431, "Headers too large",
     "There are more or larger header lines than the server takes. Nothing was executed.",
     "Send fewer or smaller ones."},
    {"not-implemented", 501, "Not implemented",
     "The server doesn't know this method or transfer coding. Nothing was executed.",
     "Use one of HTTP/1.1's usual ones."},
    {"version-not-supported", 505, "HTTP version not supported", "The server speaks HTTP/1.1 and HTTP/1.0.",
     "Use one of these."},
};

/// The text, or its readable part when it isn't UTF-8: JSON can't carry the rest.
std::string utf8(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size();) {
        const auto lead = static_cast<unsigned char>(text[i]);
        const std::size_t length = lead < 0x80                   ? 1
                                   : lead >= 0xC2 && lead < 0xE0 ? 2
                                   : lead >= 0xE0 && lead < 0xF0 ? 3
                                   : lead >= 0xF0 && lead < 0xF5 ? 4
                                                                 : 0;
        bool good = length != 0 && i + length <= text.size();
        for (std::size_t k = 1; good && k < length; ++k)
            good = (static_cast<unsigned char>(text[i + k]) & 0xC0) == 0x80;
        if (good && length == 3) {  // overlong forms and surrogates
            const auto second = static_cast<unsigned char>(text[i + 1]);
            good = !(lead == 0xE0 && second < 0xA0) && !(lead == 0xED && second >= 0xA0);
        } else if (good && length == 4) {
            const auto second = static_cast<unsigned char>(text[i + 1]);
            good = !(lead == 0xF0 && second < 0x90) && !(lead == 0xF4 && second >= 0x90);
        }
        if (good)
            out.append(text, i, length);
        else
            out.push_back('?');
        i += good ? length : 1;
    }
    return out;
}

}  // namespace

std::span<const ProblemType> problem_types() noexcept { return table; }

const ProblemType& problem_type(std::string_view word) noexcept {
    for (const auto& type : table)
        if (type.word == word) return type;
    return problem_type("internal");
}

Response problem_response(const Problem& problem, const Presentation& presentation) {
    const auto& type = problem_type(problem.word);
    const int status = problem.status != 0 ? problem.status : type.status;
    boost::json::object body;
    body["type"] = presentation.problem_type_base + std::string(type.word);
    body["title"] = boost::json::string_view(type.title.data(), type.title.size());
    body["status"] = status;
    body["detail"] = utf8(problem.detail.empty() ? type.meaning : std::string_view(problem.detail));
    if (!problem.request_id.empty()) body["instance"] = "urn:nebis:request:" + problem.request_id;
    if (problem.original_status != 0) body["original-status"] = problem.original_status;

    Response response;
    response.status = status;
    response.headers.push_back({"Content-Type", "application/problem+json"});
    response.headers.push_back({"Cache-Control", "no-store"});
    if (!presentation.documentation_url.empty())
        response.headers.push_back(
            {"Link", "<" + presentation.documentation_url + '#' + std::string(type.word) + ">; rel=\"describedby\""});
    if (problem.retry_after > 0) response.headers.push_back({"Retry-After", std::to_string(problem.retry_after)});
    if (!problem.request_id.empty()) response.headers.push_back({"X-Request-Id", problem.request_id});
    response.body = boost::json::serialize(body);
    return response;
}

std::string problems_markdown() {
    std::string page =
        "# Problem types\n\n"
        "Answers that aren't the application's own are `application/problem+json` (RFC 9457). Programs look at `type`: "
        "it is\n"
        "`urn:nebis:problem:` and the word below (the beginning is a setting), and never changes its meaning; `title` "
        "and `detail`\n"
        "are for people. `instance` names the request for support. None of them holds a key, a token or anything of a "
        "stored request.\n\n"
        "| word | status | title |\n| --- | --- | --- |\n";
    for (const auto& type : table)
        page += "| [" + std::string(type.word) + "](#" + std::string(type.word) + ") | " + std::to_string(type.status) +
                " | " + std::string(type.title) + " |\n";
    for (const auto& type : table)
        page += "\n## " + std::string(type.word) + "\n\n**" + std::to_string(type.status) + " " +
                std::string(type.title) + ".** " + std::string(type.meaning) +
                "\n\nClients: " + std::string(type.remedy) + "\n";
    return page;
}

std::string html_escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '"': out += "&quot;"; break;
            default: out.push_back(c);
        }
    }
    return out;
}

std::string problems_html(std::string_view operations) {
    std::string page =
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Idempotency</title>\n"
        "<style>body{font:16px/1.5 sans-serif;max-width:48em;margin:2em auto;padding:0 "
        "1em}td,th{text-align:left;padding:.2em 1em .2em "
        "0}</style>\n<h1>Idempotency</h1>\n";
    page += operations;
    page += "<h2>Problem types</h2>\n";
    for (const auto& type : table)
        page += "<h3 id=\"" + html_escaped(type.word) + "\">" + html_escaped(type.word) + "</h3>\n<p><b>" +
                std::to_string(type.status) + " " + html_escaped(type.title) + ".</b> " + html_escaped(type.meaning) +
                "</p><p>Clients: " + html_escaped(type.remedy) + "</p>\n";
    return page;
}

}  // namespace nebis::http
