// SPDX-License-Identifier: Apache-2.0
#include "change_watch.hpp"

#include <poll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>

namespace nebis::sqlite {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// The log is written before the commit can be seen; a flush lies between, and takes as long as the disk likes. So
/// after a word of the kernel look again in growing steps, and then at a steady pace for as long as any flush may take.
constexpr std::array after_a_word{microseconds(200), microseconds(500), microseconds(1000), microseconds(3000)};
constexpr milliseconds pace_of_a_flush{10};
constexpr milliseconds longest_flush{1000};
constexpr milliseconds poll_behind_the_kernel{250};
constexpr milliseconds poll_without_the_kernel{20};

}  // namespace

ChangeWatch::ChangeWatch(std::shared_ptr<detail::File> file)
    : file_(std::move(file)), inotify_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

ChangeWatch::~ChangeWatch() {
    data_version_ = Statement();
    if (inotify_ >= 0) close(inotify_);
}

bool ChangeWatch::changed() {
    if (!connection_) {
        auto opened = file_->connect(steady_clock::now() + milliseconds(100));
        if (!opened) return false;
        connection_ = std::move(*opened);
        seen_ = -1;
        if (data_version_.prepare(connection_->get(), "PRAGMA data_version") != SQLITE_OK) {
            data_version_ = Statement();
            connection_.reset();
            return false;
        }
    }
    const bool read = data_version_.step() == SQLITE_ROW;
    const std::int64_t now = read ? data_version_.number(0) : seen_;
    data_version_.reset();
    if (!read) {
        data_version_ = Statement();
        connection_.reset();
        return false;
    }
    // The first look can't tell what came before it, and a spurious wake costs one read.
    return std::exchange(seen_, now) != now;
}

void ChangeWatch::watch_log() {
    if (watching_ || inotify_ < 0) return;
    const std::string log = file_->options().path + "-wal";
    watching_ = inotify_add_watch(inotify_, log.c_str(), IN_MODIFY | IN_DELETE_SELF | IN_MOVE_SELF) >= 0;
}

bool ChangeWatch::listen(Deadline until) {
    const auto rest = std::max(until - steady_clock::now(), Deadline::duration::zero());
    const auto millis = std::chrono::ceil<milliseconds>(rest).count();
    if (!watching_) {
        std::this_thread::sleep_for(rest);
        return false;
    }
    pollfd one{inotify_, POLLIN, 0};
    if (poll(&one, 1, static_cast<int>(millis)) <= 0) return false;
    alignas(inotify_event) std::array<char, 4096> events;
    for (ssize_t size; (size = read(inotify_, events.data(), events.size())) > 0;) {
        for (char* at = events.data(); at < events.data() + size;) {
            const auto* event = reinterpret_cast<const inotify_event*>(at);
            // The last connection of all removes the log; the next one makes another.
            if (event->mask & (IN_IGNORED | IN_DELETE_SELF | IN_MOVE_SELF)) watching_ = false;
            at += sizeof(inotify_event) + event->len;
        }
    }
    return true;
}

bool ChangeWatch::wait(Deadline deadline) {
    while (true) {
        watch_log();
        if (changed()) {
            flush_until_ = {};
            return true;
        }
        const auto now = steady_clock::now();
        if (now >= deadline) return false;
        const bool flushing = now < flush_until_;
        if (flushing && step_ < after_a_word.size()) {
            std::this_thread::sleep_for(std::min<Deadline::duration>(after_a_word[step_++], deadline - now));
            continue;
        }
        const auto poll = flushing ? pace_of_a_flush : watching_ ? poll_behind_the_kernel : poll_without_the_kernel;
        if (!listen(std::min(deadline, now + poll))) continue;
        step_ = 0;
        flush_until_ = steady_clock::now() + longest_flush;
    }
}

}  // namespace nebis::sqlite
