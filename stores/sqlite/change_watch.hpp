// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "file.hpp"

#include <memory>

namespace nebis::sqlite {

/// Wakes when another connection, of whatever process, has committed to the file (S54). The kernel tells of writes to
/// the log; SQLite's `data_version` tells whether they were a commit; a slow poll stands behind, should the kernel tell
/// nothing.
class ChangeWatch {
public:
    explicit ChangeWatch(std::shared_ptr<detail::File> file);
    ~ChangeWatch();
    ChangeWatch(const ChangeWatch&) = delete;
    ChangeWatch& operator=(const ChangeWatch&) = delete;

    /// True: something was committed since the last call returned. One thread at a time.
    bool wait(Deadline deadline);

private:
    bool changed();
    void watch_log();
    /// Waits for a word of the kernel, at most until then; true when there was one.
    bool listen(Deadline until);

    std::shared_ptr<detail::File> file_;
    std::unique_ptr<Connection> connection_;
    Statement data_version_;
    std::int64_t seen_ = -1;
    int inotify_ = -1;
    bool watching_ = false;
    Deadline flush_until_ = {};  ///< until then a write to the log may become a commit at any moment
    std::size_t step_ = 0;       ///< of the looks after the last word
};

}  // namespace nebis::sqlite
