// SPDX-License-Identifier: Apache-2.0
#include "observe/log.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace nebis::observe {
namespace {

using Clock = std::chrono::steady_clock;

// Writes a whole line or nothing, and never blocks for longer than until `deadline`: a pipe that polls writable takes
// PIPE_BUF bytes at once, and a line is shorter than that. So lines of several processes on one pipe don't mix either.
bool write_line(int descriptor, const std::string& line, Clock::time_point deadline) {
    std::size_t done = 0;
    while (done < line.size()) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
        pollfd wait{.fd = descriptor, .events = POLLOUT, .revents = 0};
        const int ready = left <= 0 ? 0 : ::poll(&wait, 1, static_cast<int>(left));
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0 || (wait.revents & (POLLERR | POLLNVAL)) != 0) return false;
        const auto written = ::write(descriptor, line.data() + done, line.size() - done);
        if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (written < 0) return false;
        done += static_cast<std::size_t>(written);
    }
    return true;
}

class QueuedLog final : public Log {
public:
    explicit QueuedLog(LogOptions options) : options_(std::move(options)), thread_([this] { run(); }) {}

    ~QueuedLog() override {
        {
            const std::lock_guard lock(shared_->mutex);
            shared_->stopping = true;
            shared_->give_up = Clock::now() + std::chrono::seconds(1);
        }
        shared_->changed.notify_one();
        thread_.join();
    }

    bool enabled(Level level) const noexcept override { return level >= options_.level; }

    void write(const Event& event) noexcept override {
        if (!enabled(event.level)) return;
        try {
            auto line =
                json_line(event, options_.now ? options_.now() : std::chrono::system_clock::now(), options_.instance);
            {
                const std::lock_guard lock(shared_->mutex);
                if (shared_->lines.size() >= options_.queue_max) return drop();
                shared_->lines.push_back(std::move(line));
            }
            shared_->changed.notify_one();
        } catch (...) {
            drop();  // out of memory: a log line is the least of it
        }
    }

private:
    struct Shared {
        std::mutex mutex;
        std::condition_variable changed;
        std::deque<std::string> lines;
        bool stopping = false;
        Clock::time_point give_up = Clock::time_point::max();
    };

    void drop() noexcept {
        if (options_.dropped) options_.dropped->add();
    }

    void run() {
        // A reader that has gone away is a failed write, not the end of the process.
        sigset_t broken_pipe;
        sigemptyset(&broken_pipe);
        sigaddset(&broken_pipe, SIGPIPE);
        pthread_sigmask(SIG_BLOCK, &broken_pipe, nullptr);
        std::unique_lock lock(shared_->mutex);
        for (;;) {
            shared_->changed.wait(lock, [this] { return shared_->stopping || !shared_->lines.empty(); });
            if (shared_->lines.empty()) return;
            std::deque<std::string> batch;
            batch.swap(shared_->lines);
            lock.unlock();
            for (auto& line : batch) deliver(std::move(line));
            lock.lock();
        }
    }

    void deliver(std::string line) noexcept {
        try {
            if (options_.sink) return options_.sink(line);
            line += '\n';
            // A receiver that stands still for a tenth of a second loses lines, not the process its memory.
            auto deadline = Clock::now() + std::chrono::milliseconds(100);
            {
                const std::lock_guard lock(shared_->mutex);
                deadline = std::min(deadline, shared_->give_up);
            }
            if (!write_line(options_.descriptor, line, deadline)) drop();
        } catch (...) {
            drop();
        }
    }

    const LogOptions options_;
    const std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
    std::thread thread_;
};

class SilentLog final : public Log {
public:
    bool enabled(Level) const noexcept override { return false; }
    void write(const Event&) noexcept override {}
};

}  // namespace

std::unique_ptr<Log> make_log(LogOptions options) { return std::make_unique<QueuedLog>(std::move(options)); }
std::unique_ptr<Log> make_silent_log() { return std::make_unique<SilentLog>(); }

}  // namespace nebis::observe
