// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace nebis::runtime {

/// For `std::allocate_shared` of one large object per request: each thread keeps the block it gave back last, and takes
/// it for the next. Blocks beyond a kilobyte are too large for malloc's own per-thread cache; the way through its bins
/// costs more than the rest of making one.
template <class T>
struct Recycled {
    using value_type = T;

    Recycled() = default;
    template <class Other>
    Recycled(const Recycled<Other>&) noexcept {}  // NOLINT: implicit, as allocators are

    T* allocate(std::size_t count) {
        if (count == 1 && spare) return static_cast<T*>(std::exchange(spare, nullptr));
        return std::allocator<T>().allocate(count);
    }

    void deallocate(T* block, std::size_t count) noexcept {
        if (keeps && count == 1 && !spare) {
            spare = block;
            (void)&at_thread_end;  // made when first used
        } else {
            std::allocator<T>().deallocate(block, count);
        }
    }

    friend bool operator==(const Recycled&, const Recycled&) noexcept { return true; }

private:
    // Plain words, which may be looked at while the thread's other objects go.
    static inline thread_local constinit void* spare = nullptr;
#if defined(__SANITIZE_ADDRESS__)
    static inline thread_local constinit bool keeps = false;  // it must see each use after the end
#else
    static inline thread_local constinit bool keeps = true;
#endif
    struct Last {
        Last() noexcept {}
        ~Last() {
            keeps = false;
            if (spare) std::allocator<T>().deallocate(static_cast<T*>(std::exchange(spare, nullptr)), 1);
        }
    };
    static inline thread_local Last at_thread_end;
};

}  // namespace nebis::runtime
