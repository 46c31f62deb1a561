// SPDX-License-Identifier: Apache-2.0
#include "connection.hpp"

#include "driver/password_file.hpp"
#include "errors.hpp"

#include <array>
#include <utility>

namespace nebis::redis {
namespace {

Result<std::string> password_of(const Credentials& who) {
    if (who.password_file.empty()) return who.password;
    return driver::read_password(who.password_file, "Redis", "redis-password-file");
}

/// The server's own words may be needed for the reason, but a lost reply stays a lost reply.
Error as_lost(Error why) {
    if (why.kind() != ErrorKind::unavailable) return why;
    return Error(ErrorKind::maybe_applied, why.message(), why.detail(), why.hint()).with_code(why.code());
}

}  // namespace

void Commands::begin(std::size_t words) {
    ++count_;
    bytes_ += '*';
    bytes_ += std::to_string(words);
    bytes_ += "\r\n";
}

void Commands::word(std::string_view bytes) {
    bytes_ += '$';
    bytes_ += std::to_string(bytes.size());
    bytes_ += "\r\n";
    bytes_ += bytes;
    bytes_ += "\r\n";
}

void Commands::add(std::initializer_list<std::string_view> words) {
    begin(words.size());
    for (const auto text : words) word(text);
}

Result<std::unique_ptr<Connection>> Connection::open(const Address& address, const Opening& how, Deadline deadline) {
    auto stream = Stream::open(address, how.tls.get(), deadline);
    if (!stream) return std::move(stream).error();
    std::unique_ptr<Connection> made(new Connection(address, *std::move(stream), how.limits));
    // Nothing of the caller's was sent.
    if (auto in = made->log_in(how, deadline); !in) return of_a_read(std::move(in).error());
    return made;
}

Result<void> Connection::log_in(const Opening& how, Deadline deadline) {
    auto password = password_of(how.credentials);
    if (!password) return std::move(password).error();
    Commands all;
    const bool authenticates = !password->empty();
    if (authenticates) {
        if (how.credentials.username.empty())
            all.add({"AUTH", *password});
        else
            all.add({"AUTH", how.credentials.username, *password});
    }
    all.add({"CLIENT", "SETNAME", "nebis"});
    if (how.database != 0) all.add({"SELECT", std::to_string(how.database)});
    if (auto out = send(all, deadline); !out) return out;
    for (std::size_t i = 0; i < all.count(); ++i) {
        auto reply = receive(deadline);
        if (!reply) return std::move(reply).error();
        if (!reply->is_error()) continue;
        // The name is for people who look at CLIENT LIST; a user without that right does without.
        const bool naming = i == (authenticates ? 1U : 0U);
        if (naming && (reply->error_word() == "NOPERM" || reply->error_word() == "ERR")) continue;
        return error_of(*reply, "logging in");
    }
    return {};
}

bool Connection::usable() { return !broken_ && owed_ == 0 && reader_.at_rest() && stream_.quiet(); }

Error Connection::lost(Error why) {
    broken_ = true;
    return as_lost(std::move(why));
}

Result<void> Connection::send(const Commands& commands, Deadline deadline) {
    std::size_t sent = 0;
    auto out = stream_.send(commands.bytes(), sent, deadline);
    if (!out) {
        broken_ = true;
        return sent == 0 ? std::move(out).error() : as_lost(std::move(out).error());
    }
    owed_ += commands.count();
    return {};
}

Result<std::optional<Reply>> Connection::listen(Deadline deadline) {
    std::array<char, 16 * 1024> bytes;  // NOLINT: filled by receive
    for (;;) {
        auto reply = reader_.next();
        if (!reply) return lost(std::move(reply).error());
        if (*reply) return reply;
        auto got = stream_.receive(bytes.data(), bytes.size(), deadline);
        if (!got) {
            if (got.error().code() == "redis-timeout") return std::optional<Reply>();
            return lost(std::move(got).error());
        }
        if (*got == 0)
            return lost(Error(ErrorKind::unavailable, "Redis closed the connection", {},
                              "look at Redis' log; it may be restarting, or out of connections (maxclients)")
                            .with_code("redis-closed"));
        reader_.feed({bytes.data(), *got});
    }
}

Result<Reply> Connection::receive(Deadline deadline) {
    auto reply = listen(deadline);
    if (!reply) return std::move(reply).error();
    if (!*reply) return lost(took_too_long("the reply"));
    --owed_;
    return **std::move(reply);
}

Result<Reply> Connection::ask(const Commands& command, Deadline deadline) {
    if (auto out = send(command, deadline); !out) return std::move(out).error();
    return receive(deadline);
}

}  // namespace nebis::redis
