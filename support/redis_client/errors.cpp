// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace nebis::redis {
namespace {

struct Known {
    std::string_view begins;  ///< of the reply
    ErrorKind kind;
    std::string_view message;
    std::string_view hint;
    bool other_server = false;
};

// The first that fits counts.
constexpr std::array known{
    Known{"LOADING", ErrorKind::unavailable, "Redis is still loading its data", "wait until it has", true},
    Known{"READONLY", ErrorKind::unavailable, "this Redis is a replica",
          "`address` must name the master; with Sentinels, set `topology: sentinel`", true},
    Known{"MASTERDOWN", ErrorKind::unavailable, "this Redis is a replica without its master",
          "bring the master back or let Sentinel fail over", true},
    Known{"CLUSTERDOWN", ErrorKind::unavailable, "the Redis Cluster is down",
          "look at CLUSTER INFO; every slot needs a node that serves it", true},
    Known{"MOVED", ErrorKind::unavailable, "the key lives on another node",
          "set `topology: cluster` for a Redis Cluster", true},
    Known{"ASK", ErrorKind::unavailable, "the key is being moved to another node",
          "set `topology: cluster` for a Redis Cluster", true},
    Known{"TRYAGAIN", ErrorKind::unavailable, "the key is being moved to another node",
          "it passes when the slot has moved"},
    Known{"NOREPLICAS", ErrorKind::unavailable, "Redis has too few replicas to write",
          "bring the replicas back, or lower min-replicas-to-write"},
    Known{"MISCONF", ErrorKind::unavailable, "Redis can't write to its disk",
          "look at Redis' log; stop-writes-on-bgsave-error refuses writes until a snapshot succeeds"},
    Known{"BUSY", ErrorKind::unavailable, "Redis is busy with somebody's long script",
          "find and end it (SCRIPT KILL, FUNCTION KILL)"},
    Known{"OOM", ErrorKind::overloaded, "Redis has no memory left",
          "raise maxmemory; to evict (maxmemory-policy) suits a Redis of locks and results, never one of records"},
    Known{"ERR max number of clients", ErrorKind::overloaded, "Redis has no connection left",
          "raise maxclients, or lower `max-sessions`"},
    Known{"ERR max clients", ErrorKind::overloaded, "Redis has no connection left",
          "raise maxclients, or lower `max-sessions`"},
    Known{"NOAUTH", ErrorKind::misconfigured, "Redis wants a password",
          "set `username` and `password` or `password-file`"},
    Known{"WRONGPASS", ErrorKind::misconfigured, "Redis refuses user or password",
          "check `username` and `password` or `password-file`"},
    Known{"ERR AUTH", ErrorKind::misconfigured, "Redis refuses user or password",
          "check `username` and `password`; a server without passwords wants none"},
    Known{"NOPERM", ErrorKind::misconfigured, "this user of Redis lacks a right",
          "see the README of this driver for the ACL it needs"},
    Known{"ERR ACL failure in script", ErrorKind::maybe_applied, "this user of Redis lacks a right",
          "see the README of this driver for the ACL it needs"},
    Known{"ERR The user executing the script", ErrorKind::maybe_applied, "this user of Redis lacks a right",
          "see the README of this driver for the ACL it needs"},
    Known{"DENIED", ErrorKind::misconfigured, "Redis runs in protected mode",
          "give it a password, or bind it to the loopback"},
    Known{"CROSSSLOT", ErrorKind::misconfigured, "the names of one key lie in two slots",
          "`key-prefix` must hold no braces"},
    Known{"ERR DB index", ErrorKind::misconfigured, "Redis has no such database", "check `database`"},
    Known{"ERR SELECT is not allowed", ErrorKind::misconfigured, "a Redis Cluster has database 0 only",
          "leave `database` out"},
    Known{"ERR unknown command", ErrorKind::misconfigured, "Redis doesn't know a command that is needed",
          "an old server, or one with renamed commands, can't be used"},
    Known{"ERR Unknown command", ErrorKind::misconfigured, "Redis doesn't know a command that is needed",
          "an old server, or one with renamed commands, can't be used"},
    Known{"WRONGTYPE", ErrorKind::misconfigured, "somebody else's key stands where one of ours belongs",
          "set `key-prefix` to keep applications apart"},
};

const Known* find(std::string_view text) {
    const auto at = std::ranges::find_if(known, [text](const Known& one) { return text.starts_with(one.begins); });
    return at == known.end() ? nullptr : &*at;
}

/// Foreign words, made fit for a log line.
std::string shortened(std::string_view text) {
    constexpr std::size_t longest = 200;
    std::string line(text.substr(0, longest));
    std::ranges::replace_if(
        line, [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
    return line;
}

std::string code_of(const Reply& reply) {
    std::string code = "redis-";
    for (const char c : reply.error_word().substr(0, 20))
        if (std::isalnum(static_cast<unsigned char>(c))) code += static_cast<char>(std::tolower(c));
    return code;
}

}  // namespace

Error error_of(const Reply& reply, std::string_view doing) {
    std::string detail = std::string(doing) + ": " + shortened(reply.text);
    const Known* const one = find(reply.text);
    if (!one)
        return Error(ErrorKind::maybe_applied, "Redis answered an error", std::move(detail)).with_code(code_of(reply));
    return Error(one->kind, std::string(one->message), std::move(detail), std::string(one->hint))
        .with_code(code_of(reply));
}

Error of_a_read(Error error) {
    if (error.kind() != ErrorKind::maybe_applied) return error;
    return Error(ErrorKind::unavailable, error.message(), error.detail(), error.hint()).with_code(error.code());
}

bool wants_another_server(const Reply& reply) noexcept {
    if (!reply.is_error()) return false;
    const Known* const one = find(reply.text);
    return one && one->other_server;
}

}  // namespace nebis::redis
