// SPDX-License-Identifier: Apache-2.0
#include "redis_floor.hpp"

#include "harness.hpp"
#include "identify/digest.hpp"
#include "runtime/snapshot.hpp"
#include "workload.hpp"

#include <hiredis/hiredis.h>

#include <fstream>
#include <iterator>

namespace nebis::bench {
namespace {

/// 16 bytes of owner; 35 bytes with which a result begins, scheme and request hash.
const std::string owner(16, 'o'), beginning(35, 'b');

struct FreeReply {
    void operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
};

}  // namespace

void RedisFloor::Free::operator()(redisContext* context) const noexcept { redisFree(context); }

RedisFloor::RedisFloor(std::uint16_t port) : context_(redisConnect("127.0.0.1", port)) {
    if (!context_ || context_->err) give_up("the floor can't connect to Redis");
    enter_ = load("enter");
    leave_ = load("leave");
    enter_arguments_ = {owner, "10000", beginning};
    // A result holds a digest of its trace id before the answer.
    leave_arguments_ = {owner, "idempotent:left", "86400000",
                        beginning + std::string(48, 't') + runtime::encode_response(order_answer())};
}

std::string RedisFloor::load(const char* name) {
    std::ifstream file(NEBIS_SOURCE_DIR "/locks/redis/lua/" + std::string(name) + ".lua");
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const std::unique_ptr<redisReply, FreeReply> reply(
        static_cast<redisReply*>(redisCommand(context_.get(), "SCRIPT LOAD %b", text.data(), text.size())));
    if (!reply || reply->type != REDIS_REPLY_STRING) give_up("the floor can't load " + std::string(name) + ".lua");
    return {reply->str, reply->len};
}

void RedisFloor::send(const std::string& script, const std::string& key, std::span<const std::string> arguments) {
    const std::string tag = "{" + identify::to_hex(identify::sha256(key)) + "}";
    const std::string lock = "idempotent:lock:" + tag, result = "idempotent:record:" + tag;
    std::vector<const char*> words{"EVALSHA", script.data(), "2", lock.data(), result.data()};
    std::vector<std::size_t> sizes{7, script.size(), 1, lock.size(), result.size()};
    for (const auto& one : arguments) {
        words.push_back(one.data());
        sizes.push_back(one.size());
    }
    redisAppendCommandArgv(context_.get(), static_cast<int>(words.size()), words.data(), sizes.data());
}

void RedisFloor::expect(std::size_t replies, Expected what) {
    for (std::size_t i = 0; i < replies; ++i) {
        void* raw = nullptr;
        if (redisGetReply(context_.get(), &raw) != REDIS_OK) give_up("floor: " + std::string(context_->errstr));
        const std::unique_ptr<redisReply, FreeReply> reply(static_cast<redisReply*>(raw));
        const bool right = what == Expected::result ? reply->type == REDIS_REPLY_STRING
                                                    : reply->type == REDIS_REPLY_INTEGER &&
                                                          reply->integer == (what == Expected::one ? 1 : 0);
        if (!right)
            give_up("floor: Redis answered something else" + (reply->str ? ": " + std::string(reply->str) : ""));
    }
}

void RedisFloor::enter(std::span<const std::string> keys) {
    for (const auto& key : keys) send(enter_, key, enter_arguments_);
    expect(keys.size(), Expected::zero);
}

void RedisFloor::leave(std::span<const std::string> keys) {
    for (const auto& key : keys) send(leave_, key, leave_arguments_);
    expect(keys.size(), Expected::one);
}

void RedisFloor::find(std::span<const std::string> keys) {
    for (const auto& key : keys) send(enter_, key, enter_arguments_);
    expect(keys.size(), Expected::result);
}

}  // namespace nebis::bench
