// SPDX-License-Identifier: Apache-2.0
#include "fault_vfs.hpp"

#include <atomic>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>

namespace nebis::test {
namespace {

using Operation = FaultVfs::Operation;

struct Plan {
    std::mutex mutex;
    bool active = false;
    Operation operation{};
    int countdown = 0;
    int code = SQLITE_OK;
    bool for_ever = false;
    bool struck = false;

    int next(Operation now) {
        const std::lock_guard lock(mutex);
        if (!active || now != operation) return SQLITE_OK;
        if (--countdown > 0) return SQLITE_OK;
        if (countdown < 0 && !for_ever) return SQLITE_OK;
        struck = true;
        return code;
    }
};

Plan& plan() {
    static Plan one;
    return one;
}

std::atomic<std::chrono::milliseconds> flush_takes{std::chrono::milliseconds(0)};

sqlite3_vfs* real() {
    static sqlite3_vfs* const one = sqlite3_vfs_find(nullptr);
    return one;
}

/// The real file lies right behind this one, in the memory that SQLite gave for both.
struct File {
    sqlite3_file base;
    sqlite3_file* inner() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};
sqlite3_file* inner(sqlite3_file* file) { return reinterpret_cast<File*>(file)->inner(); }

template <class Do>
int unless_planned(Operation operation, Do go) {
    const int code = plan().next(operation);
    return code != SQLITE_OK ? code : go();
}

const sqlite3_io_methods& methods() {
    static const sqlite3_io_methods all = [] {
        sqlite3_io_methods m{};
        m.iVersion = 2;  // no memory-mapped reads: they could not be made to fail
        m.xClose = [](sqlite3_file* f) {
            return inner(f)->pMethods ? inner(f)->pMethods->xClose(inner(f)) : SQLITE_OK;
        };
        m.xRead = [](sqlite3_file* f, void* to, int size, sqlite3_int64 at) {
            return unless_planned(Operation::read, [&] { return inner(f)->pMethods->xRead(inner(f), to, size, at); });
        };
        m.xWrite = [](sqlite3_file* f, const void* from, int size, sqlite3_int64 at) {
            const int code = plan().next(Operation::write);
            if (code == SQLITE_OK) return inner(f)->pMethods->xWrite(inner(f), from, size, at);
            // A disk that fills up takes a part of what it is given.
            if (size > 1) inner(f)->pMethods->xWrite(inner(f), from, size / 2, at);
            return code;
        };
        m.xTruncate = [](sqlite3_file* f, sqlite3_int64 size) { return inner(f)->pMethods->xTruncate(inner(f), size); };
        m.xSync = [](sqlite3_file* f, int flags) {
            std::this_thread::sleep_for(flush_takes.load());
            return unless_planned(Operation::sync, [&] { return inner(f)->pMethods->xSync(inner(f), flags); });
        };
        m.xFileSize = [](sqlite3_file* f, sqlite3_int64* size) {
            return inner(f)->pMethods->xFileSize(inner(f), size);
        };
        m.xLock = [](sqlite3_file* f, int level) { return inner(f)->pMethods->xLock(inner(f), level); };
        m.xUnlock = [](sqlite3_file* f, int level) { return inner(f)->pMethods->xUnlock(inner(f), level); };
        m.xCheckReservedLock = [](sqlite3_file* f, int* out) {
            return inner(f)->pMethods->xCheckReservedLock(inner(f), out);
        };
        m.xFileControl = [](sqlite3_file* f, int what, void* with) {
            return inner(f)->pMethods->xFileControl(inner(f), what, with);
        };
        m.xSectorSize = [](sqlite3_file* f) { return inner(f)->pMethods->xSectorSize(inner(f)); };
        m.xDeviceCharacteristics = [](sqlite3_file* f) { return inner(f)->pMethods->xDeviceCharacteristics(inner(f)); };
        m.xShmMap = [](sqlite3_file* f, int page, int size, int extend, void volatile** out) {
            return unless_planned(Operation::shared_memory,
                                  [&] { return inner(f)->pMethods->xShmMap(inner(f), page, size, extend, out); });
        };
        m.xShmLock = [](sqlite3_file* f, int at, int count, int flags) {
            // The write lock alone: readers' locks are tried for ten seconds inside SQLite, which no other process can
            // cause.
            if (at != 0 || (flags & SQLITE_SHM_LOCK) == 0)
                return inner(f)->pMethods->xShmLock(inner(f), at, count, flags);
            return unless_planned(Operation::lock,
                                  [&] { return inner(f)->pMethods->xShmLock(inner(f), at, count, flags); });
        };
        m.xShmBarrier = [](sqlite3_file* f) { inner(f)->pMethods->xShmBarrier(inner(f)); };
        m.xShmUnmap = [](sqlite3_file* f, int remove) { return inner(f)->pMethods->xShmUnmap(inner(f), remove); };
        return m;
    }();
    return all;
}

int open_file(sqlite3_vfs*, const char* path, sqlite3_file* file, int flags, int* out) {
    std::memset(file, 0, sizeof(File));
    if (const int code = plan().next(Operation::open); code != SQLITE_OK) return code;
    const int code = real()->xOpen(real(), path, inner(file), flags, out);
    if (code == SQLITE_OK) file->pMethods = &methods();
    return code;
}

}  // namespace

const std::string& FaultVfs::name() {
    static const std::string own = [] {
        static sqlite3_vfs vfs = *real();
        vfs.zName = "nebis-fault";
        vfs.szOsFile = static_cast<int>(sizeof(File)) + real()->szOsFile;
        vfs.xOpen = open_file;
        vfs.pNext = nullptr;
        sqlite3_vfs_register(&vfs, 0);
        return std::string(vfs.zName);
    }();
    return own;
}

void FaultVfs::fail(Operation operation, int nth, int code, bool for_ever) {
    Plan& p = plan();
    const std::lock_guard lock(p.mutex);
    p.active = true;
    p.operation = operation;
    p.countdown = nth;
    p.code = code;
    p.for_ever = for_ever;
    p.struck = false;
}

void FaultVfs::slow_flushes(std::chrono::milliseconds by) { flush_takes = by; }

void FaultVfs::heal() {
    flush_takes = std::chrono::milliseconds(0);
    Plan& p = plan();
    const std::lock_guard lock(p.mutex);
    p.active = false;
}

bool FaultVfs::struck() {
    Plan& p = plan();
    const std::lock_guard lock(p.mutex);
    return p.struck;
}

}  // namespace nebis::test
