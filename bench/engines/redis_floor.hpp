// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

struct redisContext;

namespace nebis::bench {

/// What a request costs at Redis, without Nebis: the very scripts of `locks/redis/lua`, sent by hiredis in pipelines
/// over one connection, names and values as long as the product's.
class RedisFloor {
public:
    explicit RedisFloor(std::uint16_t port);

    /// One pipeline each. Every lock must be had, and must be ours when it is left.
    void enter(std::span<const std::string> keys);
    void leave(std::span<const std::string> keys);
    /// Enters that find the result which `leave` kept.
    void find(std::span<const std::string> keys);

private:
    struct Free {
        void operator()(redisContext* context) const noexcept;
    };
    std::string load(const char* name);
    void send(const std::string& script, const std::string& key, std::span<const std::string> arguments);
    enum class Expected : std::uint8_t { zero, one, result };
    void expect(std::size_t replies, Expected what);

    std::unique_ptr<redisContext, Free> context_;
    std::string enter_, leave_;
    std::vector<std::string> enter_arguments_, leave_arguments_;
};

}  // namespace nebis::bench
