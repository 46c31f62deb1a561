// SPDX-License-Identifier: Apache-2.0
#include "runtime/owner.hpp"

#include <pthread.h>
#include <sys/random.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace nebis::runtime {
namespace {

/// Counts forks: what a parent's thread had in store must not be used by its child too.
std::atomic<unsigned> generation{1};

void watch_forks() {
    static const int once =
        pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
    if (once != 0) std::abort();
}

void fill(unsigned char* out, std::size_t size) {
    while (size > 0) {
        const ssize_t got = getrandom(out, size, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            std::fputs("nebis: the kernel gives no randomness (getrandom)\n", stderr);
            std::abort();
        }
        out += got;
        size -= static_cast<std::size_t>(got);
    }
}

struct Reserve {
    std::array<unsigned char, 512> bytes;
    std::size_t used = sizeof(bytes);
    unsigned made_in = 0;
};

}  // namespace

Owner fresh_owner() {
    thread_local Reserve reserve;
    const unsigned now = generation.load(std::memory_order_relaxed);
    Owner owner;
    if (reserve.made_in != now || reserve.used + owner.bytes.size() > reserve.bytes.size()) {
        watch_forks();
        fill(reserve.bytes.data(), reserve.bytes.size());
        reserve.used = 0;
        reserve.made_in = now;
    }
    std::memcpy(owner.bytes.data(), reserve.bytes.data() + reserve.used, owner.bytes.size());
    reserve.used += owner.bytes.size();
    return owner;
}

}  // namespace nebis::runtime
