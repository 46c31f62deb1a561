// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"

#include "wire.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace nebis::etcd {
namespace {

struct Known {
    std::string_view says;  ///< within the report
    ErrorKind kind;
    std::string_view code;
    std::string_view message;
    std::string_view hint;
};

// The first that fits counts. All are raised before anything is applied.
constexpr std::array known{
    Known{"requested lease not found", ErrorKind::unavailable, "etcd-lease", "the lease of the lock is over",
          "etcd is slower than the lease is long; look at its load and disk"},
    Known{"invalid auth token", ErrorKind::unavailable, "etcd-token", "etcd doesn't know this token",
          "tokens end and are renewed; if it stays, look at the clocks and at --auth-token of the members"},
    Known{"revision of auth store is old", ErrorKind::unavailable, "etcd-token", "the users of etcd have changed",
          "it passes with the next log-in"},
    Known{"invalid user ID or password", ErrorKind::misconfigured, "etcd-login", "etcd refuses user or password",
          "check `lock.username` and `lock.password` or `lock.password-file`"},
    Known{"user name is empty", ErrorKind::misconfigured, "etcd-login", "etcd wants a user",
          "set `lock.username` and `lock.password` or `lock.password-file`"},
    Known{"authentication is not enabled", ErrorKind::misconfigured, "etcd-login", "this etcd knows no users",
          "leave `lock.username` out, or enable authentication (etcdctl auth enable)"},
    Known{"permission denied", ErrorKind::misconfigured, "etcd-right", "this user of etcd lacks a right",
          "see the README of this driver for the role it needs"},
    Known{"database space exceeded", ErrorKind::overloaded, "etcd-space", "etcd is full",
          "compact and defragment it, raise --quota-backend-bytes, then disarm the alarm (etcdctl alarm disarm)"},
    Known{"too many requests", ErrorKind::overloaded, "etcd-busy", "etcd has too much to do",
          "look at its load and the time its disk takes to sync"},
    Known{"no leader", ErrorKind::unavailable, "etcd-leader", "etcd has no leader",
          "a majority of its members must be up and see each other"},
};

/// Foreign words, made fit for a log line.
std::string shortened(std::string_view text) {
    constexpr std::size_t longest = 200;
    std::string line(text.substr(0, longest));
    std::ranges::replace_if(
        line, [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
    return line;
}

}  // namespace

Error error_of(long status, std::string_view body) {
    const auto report = read_report(body);
    const std::string where = "status " + std::to_string(status);
    if (!report) {
        if (status == 404)
            return Error(ErrorKind::misconfigured, "no JSON gateway of etcd answers", where,
                         "`lock.address` must name a client URL of etcd 3.4 or newer")
                .with_code("etcd-gateway");
        return Error(ErrorKind::maybe_applied, "etcd, or what stands before it, answered an error", where,
                     "look at the log of etcd and of any proxy between")
            .with_code("etcd-status");
    }
    std::string detail = where + ": " + shortened(report->text);
    const auto at =
        std::ranges::find_if(known, [&](const Known& one) { return report->text.find(one.says) != std::string::npos; });
    if (at == known.end())
        return Error(ErrorKind::maybe_applied, "etcd answered an error", std::move(detail)).with_code("etcd-error");
    return Error(at->kind, std::string(at->message), std::move(detail), std::string(at->hint))
        .with_code(std::string(at->code));
}

bool is_lease_gone(const Error& error) noexcept { return error.code() == "etcd-lease"; }
bool is_token_stale(const Error& error) noexcept { return error.code() == "etcd-token"; }

}  // namespace nebis::etcd
