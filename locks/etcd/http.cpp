// SPDX-License-Identifier: Apache-2.0
#include "http.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <new>
#include <utility>

namespace nebis::etcd {
namespace {

// The reply to the largest question is a row of some hundred bytes; a stranger's value under our name may be longer.
constexpr std::size_t most_body = 256 * 1024;
constexpr std::size_t most_headers = 64 * 1024;

static_assert(CURL_ERROR_SIZE == 256);

void start_curl() {
    static const CURLcode once = ::curl_global_init(CURL_GLOBAL_DEFAULT);
    if (once != CURLE_OK) throw std::bad_alloc();
}

struct ListFree {
    void operator()(curl_slist* list) const { ::curl_slist_free_all(list); }
};
using List = std::unique_ptr<curl_slist, ListFree>;

void append(List& list, const std::string& line) {
    curl_slist* const longer = ::curl_slist_append(list.get(), line.c_str());
    if (!longer) throw std::bad_alloc();
    (void)list.release();
    list.reset(longer);
}

/// libcurl's words, made fit for a log line.
std::string shortened(const char* words) {
    std::string line = std::string(words).substr(0, 200);
    std::ranges::replace_if(
        line, [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
    return line;
}

bool says(const char* words, std::string_view what) {
    return std::string_view(words).find(what) != std::string_view::npos;
}

}  // namespace

Result<Address> parse_address(const std::string& text) {
    const auto bad = [&](std::string_view why) {
        return Error(ErrorKind::misconfigured, "an address of etcd " + std::string(why), {},
                     "write host:port or [v6]:port, without http://; several with commas")
            .with_code("etcd-address");
    };
    if (text.find_first_of("/@?#\\% ") != std::string::npos) return bad("holds more than a host and a port");
    start_curl();
    const std::unique_ptr<CURLU, decltype(&::curl_url_cleanup)> url(::curl_url(), &::curl_url_cleanup);
    if (!url) throw std::bad_alloc();
    if (::curl_url_set(url.get(), CURLUPART_URL, ("http://" + text).c_str(), 0) != CURLUE_OK) return bad("is none");
    const auto part = [&](CURLUPart which) -> std::string {
        char* out = nullptr;
        if (::curl_url_get(url.get(), which, &out, 0) != CURLUE_OK) return {};
        std::string copy(out);
        ::curl_free(out);
        return copy;
    };
    Address made;
    made.host = part(CURLUPART_HOST);
    const std::string port = part(CURLUPART_PORT);
    const char* const end = port.data() + port.size();
    const auto [stop, fault] = std::from_chars(port.data(), end, made.port);
    if (made.host.empty()) return bad("has no host");
    if (fault != std::errc() || stop != end || made.port == 0) return bad("has no port");
    return made;
}

/// Of one request.
struct HttpClient::Progress {
    unsigned begun = 0;  ///< how often libcurl was about to send it
    std::size_t headers = 0;
    bool too_long = false;
    HttpReply reply;

    static int about_to_send(void* self, char*, char*, int, int) {
        // A second time: the connection died under the first, and whether that arrived nobody knows.
        return ++static_cast<Progress*>(self)->begun == 1 ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
    }
    static std::size_t header(char*, std::size_t size, std::size_t count, void* self) {
        auto& mine = *static_cast<Progress*>(self);
        mine.headers += size * count;
        if (mine.headers > most_headers) mine.too_long = true;
        return mine.too_long ? 0 : size * count;
    }
    static std::size_t body(char* bytes, std::size_t size, std::size_t count, void* self) noexcept {
        auto& mine = *static_cast<Progress*>(self);
        if (mine.reply.body.size() + size * count > most_body) mine.too_long = true;
        if (mine.too_long) return 0;
        try {
            mine.reply.body.append(bytes, size * count);
        } catch (const std::bad_alloc&) {
            return 0;
        }
        return size * count;
    }
};

HttpClient::HttpClient(std::shared_ptr<const Options> options)
    : options_(std::move(options)), curl_(nullptr), words_(std::make_unique<std::array<char, 256>>()) {
    start_curl();
    curl_ = ::curl_easy_init();
    if (!curl_) throw std::bad_alloc();
    prepare();
}

HttpClient::~HttpClient() { ::curl_easy_cleanup(curl_); }

void HttpClient::prepare() {
    ::curl_easy_setopt(curl_, CURLOPT_NOSIGNAL, 1L);
    ::curl_easy_setopt(curl_, CURLOPT_ERRORBUFFER, words_->data());
    ::curl_easy_setopt(curl_, CURLOPT_PROXY, "");
    ::curl_easy_setopt(curl_, CURLOPT_FOLLOWLOCATION, 0L);
    ::curl_easy_setopt(curl_, CURLOPT_PROTOCOLS_STR, options_->tls.enabled ? "https" : "http");
    ::curl_easy_setopt(curl_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    ::curl_easy_setopt(curl_, CURLOPT_TCP_KEEPALIVE, 1L);
    ::curl_easy_setopt(curl_, CURLOPT_QUICK_EXIT, 1L);  // a name server that hangs is left, not waited for
    ::curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, &Progress::body);
    ::curl_easy_setopt(curl_, CURLOPT_HEADERFUNCTION, &Progress::header);
    ::curl_easy_setopt(curl_, CURLOPT_PREREQFUNCTION, &Progress::about_to_send);
    ::curl_easy_setopt(curl_, CURLOPT_POST, 1L);
    const auto& tls = options_->tls;
    if (!tls.enabled) return;
    ::curl_easy_setopt(curl_, CURLOPT_SSL_VERIFYPEER, 1L);
    ::curl_easy_setopt(curl_, CURLOPT_SSL_VERIFYHOST, 2L);
    ::curl_easy_setopt(curl_, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    if (!tls.ca_file.empty()) {
        ::curl_easy_setopt(curl_, CURLOPT_CAINFO, tls.ca_file.c_str());
        ::curl_easy_setopt(curl_, CURLOPT_CAPATH, nullptr);  // that authority alone, not the system's as well
    }
    if (!tls.cert_file.empty()) ::curl_easy_setopt(curl_, CURLOPT_SSLCERT, tls.cert_file.c_str());
    if (!tls.key_file.empty()) ::curl_easy_setopt(curl_, CURLOPT_SSLKEY, tls.key_file.c_str());
}

Result<HttpReply> HttpClient::post(const Address& address, std::string_view path, const std::string& body,
                                   const std::string& token, Deadline deadline) {
    using std::chrono::milliseconds;
    const auto rest = std::chrono::duration_cast<milliseconds>(deadline - std::chrono::steady_clock::now());
    if (rest <= milliseconds::zero())  // 0 would mean for ever
        return Error(ErrorKind::unavailable, "no time is left to ask etcd").with_code("etcd-timeout");

    const auto& tls = options_->tls;
    const std::string name = tls.server_name.empty() ? address.host : tls.server_name;
    const std::string url = std::string(tls.enabled ? "https://" : "http://") + name + ":" +
                            std::to_string(address.port) + std::string(path);
    List headers, route;
    append(headers, "Content-Type: application/json");
    append(headers, "Expect:");
    if (!token.empty()) append(headers, "Authorization: " + token);
    if (!tls.server_name.empty()) append(route, "::" + address.text());

    Progress progress;
    words_->front() = '\0';
    ::curl_easy_setopt(curl_, CURLOPT_URL, url.c_str());
    ::curl_easy_setopt(curl_, CURLOPT_CONNECT_TO, route.get());
    ::curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, headers.get());
    ::curl_easy_setopt(curl_, CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
    ::curl_easy_setopt(curl_, CURLOPT_POSTFIELDS, body.data());
    ::curl_easy_setopt(curl_, CURLOPT_TIMEOUT_MS, static_cast<long>(rest.count()));
    ::curl_easy_setopt(curl_, CURLOPT_CONNECTTIMEOUT_MS,
                       static_cast<long>(std::min(rest, options_->connect_timeout).count()));
    ::curl_easy_setopt(curl_, CURLOPT_WRITEDATA, &progress);
    ::curl_easy_setopt(curl_, CURLOPT_HEADERDATA, &progress);
    ::curl_easy_setopt(curl_, CURLOPT_PREREQDATA, &progress);
    const CURLcode code = ::curl_easy_perform(curl_);
    // What they point at ends here.
    ::curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, nullptr);
    ::curl_easy_setopt(curl_, CURLOPT_CONNECT_TO, nullptr);
    ::curl_easy_setopt(curl_, CURLOPT_POSTFIELDS, nullptr);
    if (code != CURLE_OK) return failed(code, progress, address);
    ::curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &progress.reply.status);
    return std::move(progress.reply);
}

Error HttpClient::failed(int code, const Progress& progress, const Address& address) const {
    const char* const words = words_->data();
    const std::string detail = address.text() + ": " + shortened(*words ? words : ::curl_easy_strerror(CURLcode(code)));
    // TLS 1.3 tells only after the first bytes that ours was wanted; what it refuses, etcd has never seen.
    if (says(words, "certificate required") || says(words, "bad certificate"))
        return Error(ErrorKind::misconfigured, "etcd refuses our certificate", detail,
                     "`lock.tls-cert-file` and `lock.tls-key-file` must hold one that an authority of etcd's "
                     "--trusted-ca-file has signed")
            .with_code("etcd-our-certificate");
    if (progress.begun > 0) {
        if (progress.too_long)
            return Error(ErrorKind::maybe_applied, "the reply of etcd is too long", address.text(),
                         "somebody else's value stands under a lock's name, or this isn't etcd; see `key-prefix`")
                .with_code("etcd-reply");
        return Error(ErrorKind::maybe_applied, "the reply of etcd was lost", detail,
                     "look at the load of etcd, at its log and at the network between; a port that speaks TLS wants "
                     "`lock.tls`")
            .with_code(code == CURLE_OPERATION_TIMEDOUT ? "etcd-timeout" : "etcd-lost");
    }
    switch (code) {
        case CURLE_PEER_FAILED_VERIFICATION:
            return Error(ErrorKind::misconfigured, "the certificate of etcd can't be trusted", detail,
                         "`lock.tls-ca-file` must hold its authority, and the certificate the name of `lock.address` "
                         "or `lock.tls-server-name`")
                .with_code("etcd-certificate");
        case CURLE_SSL_CACERT_BADFILE:
        case CURLE_SSL_CERTPROBLEM:
            return Error(ErrorKind::misconfigured, "a file for TLS with etcd can't be used", detail,
                         "`lock.tls-ca-file`, `lock.tls-cert-file` and `lock.tls-key-file` must be readable PEM files "
                         "that fit")
                .with_code("etcd-tls-file");
        case CURLE_SSL_CONNECT_ERROR:
            if (says(words, "SSL_ERROR_SYSCALL") || says(words, "reset") || says(words, "unexpected eof"))
                return Error(ErrorKind::unavailable, "etcd closed the connection while agreeing on TLS", detail,
                             "it may be restarting, or not speak TLS at this port")
                    .with_code("etcd-tls-closed");
            return Error(ErrorKind::misconfigured, "no TLS with etcd", detail,
                         "check that `lock.address` is a port of etcd that speaks TLS 1.2 or newer")
                .with_code("etcd-tls");
        case CURLE_OPERATION_TIMEDOUT:
            return Error(ErrorKind::unavailable, "etcd is too slow to connect to", detail,
                         "look at its load and at the network between")
                .with_code("etcd-timeout");
        default: break;
    }
    return Error(ErrorKind::unavailable, "etcd can't be reached", detail,
                 "check `lock.address`, and that etcd runs and listens there")
        .with_code("etcd-connect");
}

}  // namespace nebis::etcd
