// SPDX-License-Identifier: Apache-2.0
#include "message.hpp"

#include "headers.hpp"
#include "nebis/http.hpp"
#include "problems.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <ctime>

namespace nebis::http {

namespace {

std::string_view reason(int status) noexcept {
    switch (status) {
        case 100: return "Continue";
        case 200: return "OK";
        case 201: return "Created";
        case 202: return "Accepted";
        case 203: return "Non-Authoritative Information";
        case 204: return "No Content";
        case 205: return "Reset Content";
        case 206: return "Partial Content";
        case 300: return "Multiple Choices";
        case 301: return "Moved Permanently";
        case 302: return "Found";
        case 303: return "See Other";
        case 304: return "Not Modified";
        case 307: return "Temporary Redirect";
        case 308: return "Permanent Redirect";
        case 400: return "Bad Request";
        case 401: return "Unauthorized";
        case 402: return "Payment Required";
        case 403: return "Forbidden";
        case 404: return "Not Found";
        case 405: return "Method Not Allowed";
        case 406: return "Not Acceptable";
        case 408: return "Request Timeout";
        case 409: return "Conflict";
        case 410: return "Gone";
        case 412: return "Precondition Failed";
        case 413: return "Content Too Large";
        case 414: return "URI Too Long";
        case 415: return "Unsupported Media Type";
        case 417: return "Expectation Failed";
        case 422: return "Unprocessable Content";
        case 423: return "Locked";
        case 425: return "Too Early";
        case 428: return "Precondition Required";
        case 429: return "Too Many Requests";
        case 431: return "Request Header Fields Too Large";
        case 500: return "Internal Server Error";
        case 501: return "Not Implemented";
        case 502: return "Bad Gateway";
        case 503: return "Service Unavailable";
        case 504: return "Gateway Timeout";
        case 505: return "HTTP Version Not Supported";
        default: return "";  // the phrase may be empty (RFC 9112, 4)
    }
}

/// IMF-fixdate, made once a second for each thread.
std::string_view date_now() {
    thread_local std::time_t made_at = 0;
    thread_local std::array<char, 32> text{};
    const std::time_t now = std::time(nullptr);
    if (now != made_at) {
        constexpr const char* days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
        constexpr const char* months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
        std::tm utc{};
        gmtime_r(&now, &utc);
        std::snprintf(text.data(), text.size(), "%s, %02d %s %04d %02d:%02d:%02d GMT", days[utc.tm_wday], utc.tm_mday,
                      months[utc.tm_mon], utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
        made_at = now;
    }
    return text.data();
}

bool digits(std::string_view text) noexcept {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

HeadScanner::Found HeadScanner::scan(std::string_view bytes) {
    while (seen_ < bytes.size()) {
        const auto end = bytes.find('\n', seen_);
        const auto until = std::min(end, bytes.size());
        const auto part = bytes.substr(seen_, until - seen_);
        if (part.find('\0') != std::string_view::npos) return Fault{"bad-request", "a NUL byte in the request head"};
        if (line_start_ < bytes.size() && lines_ > 0 && (bytes[line_start_] == ' ' || bytes[line_start_] == '\t'))
            return Fault{"bad-request", "a header line begins with a blank: folded lines aren't taken"};
        if (lines_ == 0 && until - line_start_ > limits_.max_target + 64)
            return Fault{"target-too-long", "at most " + std::to_string(limits_.max_target) + " bytes are taken"};
        if (until > limits_.max_bytes)
            return Fault{"headers-too-large",
                         "at most " + std::to_string(limits_.max_bytes) + " bytes of headers are taken"};
        if (end == std::string_view::npos) {
            seen_ = bytes.size();
            return Incomplete{};
        }
        const auto line = bytes.substr(line_start_, end - line_start_);
        if (line.empty() || line.back() != '\r')
            return Fault{"bad-request", "a line of the request head ends without CR"};
        if (line.find('\r') != line.size() - 1) return Fault{"bad-request", "a CR inside a line of the request head"};
        line_start_ = seen_ = end + 1;
        if (line.size() == 1) return end + 1;  // the empty line
        if (++lines_ > limits_.max_lines + 1)  // the start line isn't a header
            return Fault{"headers-too-large",
                         "at most " + std::to_string(limits_.max_lines) + " header lines are taken"};
    }
    return Incomplete{};
}

std::variant<HeadFacts, Fault> check_head(const Head& head) {
    const auto bad = [](std::string detail) { return Fault{"bad-request", std::move(detail)}; };
    if (head.version != 10 && head.version != 11) return Fault{"version-not-supported", {}};
    if (head.method.empty()) return Fault{"not-implemented", "the method is unknown"};
    if (head.method == "CONNECT" || head.method == "TRACE") return Fault{"not-implemented", "the method isn't served"};

    HeadFacts facts;
    const Header* host = nullptr;
    std::size_t lengths = 0;
    std::size_t codings = 0;
    std::size_t types = 0;
    for (const auto& header : *head.headers) {
        if (same_name(header.name, "Host")) {
            if (host != nullptr) return bad("there are two Host headers");
            host = &header;
        } else if (same_name(header.name, "Content-Length")) {
            if (++lengths > 1) return bad("there are two Content-Length headers");
            if (!digits(header.value) || header.value.size() > 18) return bad("Content-Length isn't a number");
            facts.content_length = 0;
            std::from_chars(header.value.data(), header.value.data() + header.value.size(), *facts.content_length);
        } else if (same_name(header.name, "Transfer-Encoding")) {
            if (++codings > 1) return bad("there are two Transfer-Encoding headers");
            if (!same_name(header.value, "chunked"))
                return Fault{"not-implemented", "the only transfer coding served is 'chunked'"};
            if (head.version == 10) return bad("HTTP/1.0 has no transfer codings");
            facts.chunked = true;
        } else if (same_name(header.name, "Content-Type")) {
            if (++types > 1) return bad("there are two Content-Type headers");
            facts.content_type = header.value;
        } else if (same_name(header.name, "Expect") && head.version == 11) {
            if (!same_name(header.value, "100-continue")) return Fault{"expectation-failed", {}};
            facts.expects_continue = true;
        }
    }
    if (facts.chunked && facts.content_length) return bad("there are both Content-Length and Transfer-Encoding");
    if (host == nullptr && head.version == 11) return bad("the Host header is missing");
    if (host != nullptr && !valid_authority(host->value)) return bad("the Host header isn't a host and a port");

    if (head.method == "OPTIONS" && head.target == "*") {
        facts.target.path = "*";
        return facts;
    }
    auto target = parse_target(head.target);
    if (!target) return bad(target.error().message());
    if (!target->authority.empty() && host != nullptr && !same_name(target->authority, host->value))
        return bad("the request target and the Host header name different hosts");
    facts.target = std::move(*target);
    return facts;
}

Result<Request> request_from(std::string_view method, std::string_view target, unsigned version,
                             std::vector<Header> headers, std::string body) {
    auto checked = check_head({method, target, version, &headers});
    if (auto* fault = std::get_if<Fault>(&checked)) {
        const auto& type = problem_type(fault->word);
        auto detail = fault->detail.empty() ? std::string(type.meaning) : std::move(fault->detail);
        return Error(ErrorKind::rejected_input, std::move(detail)).with_code(std::string(fault->word));
    }
    auto& facts = std::get<HeadFacts>(checked);
    Request request;
    request.method = std::string(method);
    request.path = std::move(facts.target.path);
    request.query = std::move(facts.target.query);
    request.content_type = std::move(facts.content_type);
    request.body = std::move(body);
    if (const auto* id = find_header(headers, "X-Request-Id")) request.request_id = sane_request_id(id->value);
    request.headers = std::move(headers);
    return request;
}

bool has_body(int status, std::string_view method) noexcept {
    return status != 204 && status != 304 && method != "HEAD";
}

std::string response_head(const Response& response, bool keep_alive, unsigned version) {
    std::string head;
    head.reserve(256);
    head += version == 10 ? "HTTP/1.0 " : "HTTP/1.1 ";
    head += std::to_string(response.status);
    head += ' ';
    head += reason(response.status);
    head += "\r\nDate: ";
    head += date_now();
    for (const auto& header : response.headers) {
        head += "\r\n";
        head += header.name;
        head += ": ";
        head += header.value;
    }
    if (response.status != 204 && response.status != 304) {
        head += "\r\nContent-Length: ";
        head += std::to_string(response.body.size());
    }
    if (!keep_alive)
        head += "\r\nConnection: close";
    else if (version == 10)
        head += "\r\nConnection: keep-alive";
    head += "\r\n\r\n";
    return head;
}

}  // namespace nebis::http
