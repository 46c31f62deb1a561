// SPDX-License-Identifier: Apache-2.0
#include "file.hpp"

#include "errors.hpp"

#include <algorithm>
#include <filesystem>

namespace nebis::sqlite {
namespace detail {

File::File(Options options) : options_(std::move(options)), turn_(WriteTurn::of(options_.path)) {}

runtime::StoreTime File::now() const {
    if (options_.clock) {
        const StoreMillis millis = options_.clock();
        return {millis, static_cast<std::uint64_t>(millis) * 1000};
    }
    const auto since_epoch = std::chrono::system_clock::now().time_since_epoch();
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(since_epoch).count();
    return {micros / 1000, static_cast<std::uint64_t>(micros)};
}

Deadline File::bounded(Deadline deadline) const {
    return std::min(deadline, std::chrono::steady_clock::now() + options_.busy_timeout);
}

Result<std::unique_ptr<Connection>> File::connect(Deadline deadline) const {
    // Several connections share the file by its name, so it needs one.
    if (options_.path.empty() || options_.path.find(":memory:") != std::string::npos ||
        options_.path.starts_with("file:"))
        return Error(ErrorKind::misconfigured, "`path` must name a file", options_.path,
                     "use the store `memory` where nothing is to be kept")
            .with_code("sqlite-path");
    return Connection::open(options_, options_.create_schema, bounded(deadline));
}

Result<std::shared_ptr<Connection>> File::lend(Deadline deadline) {
    std::unique_ptr<Connection> connection;
    {
        std::unique_lock lock(mutex_);
        if (!returned_.wait_until(lock, bounded(deadline), [this] { return lent_ < options_.connections; }))
            return Error(ErrorKind::overloaded, "all connections of the SQLite file are in use", {},
                         "raise `connections`, or run less at a time")
                .with_code("sqlite-pool");
        ++lent_;
        if (!idle_.empty()) {
            connection = std::move(idle_.back());
            idle_.pop_back();
        }
    }
    if (!connection) {
        auto opened = connect(deadline);
        if (!opened) {
            take_back(nullptr);
            return std::move(opened).error();
        }
        connection = std::move(*opened);
        connection->guard();
    }
    return std::shared_ptr<Connection>(connection.release(), [self = shared_from_this()](Connection* back) {
        self->take_back(std::unique_ptr<Connection>(back));
    });
}

void File::take_back(std::unique_ptr<Connection> connection) noexcept {
    if (connection) {
        const bool faulty = connection->spent() || connection_is_spent(sqlite3_extended_errcode(connection->get()));
        connection->allow_commit(true);
        connection->rollback();
        // A borrower that replaced our hooks, or left something open that can't be rolled back, took the connection
        // with it.
        if (faulty || connection->in_transaction() || !connection->guarded()) connection.reset();
    }
    {
        const std::lock_guard lock(mutex_);
        --lent_;
        if (connection) idle_.push_back(std::move(connection));
    }
    returned_.notify_one();
}

bool File::same_as(const File& other) const {
    if (this == &other || turn_ == other.turn_) return true;
    std::error_code failed;
    return std::filesystem::equivalent(options_.path, other.options_.path, failed) && !failed;
}

}  // namespace detail

Database::Database(Options options) : file_(std::make_shared<detail::File>(std::move(options))) {}

const std::string& Database::path() const noexcept { return file_->options().path; }

Result<std::shared_ptr<sqlite3>> Database::borrow(Deadline deadline) const {
    auto connection = file_->lend(deadline);
    if (!connection) return std::move(connection).error();
    sqlite3* const handle = (*connection)->get();
    return std::shared_ptr<sqlite3>(std::move(*connection), handle);
}

}  // namespace nebis::sqlite
