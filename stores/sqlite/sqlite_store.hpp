// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "change_watch.hpp"
#include "file.hpp"

#include <atomic>
#include <memory>
#include <string>

namespace nebis::sqlite {

class SqliteStore final : public Store {
public:
    SqliteStore(std::shared_ptr<detail::File> file, std::string table)
        : file_(std::move(file)), table_(std::move(table)) {}

    std::string_view name() const noexcept override { return "sqlite"; }
    StoreTraits traits() const noexcept override;
    Result<void> verify(Deadline deadline) override;
    Result<void> create_schema(Deadline deadline) override;
    Result<std::unique_ptr<StoreSession>> open(Deadline deadline) override;
    bool wait_for_change(Deadline deadline) override;
    bool waits_for_this_thread() const noexcept override;

    const detail::File& file() const noexcept { return *file_; }
    const std::string& table() const noexcept { return table_; }

private:
    Result<std::unique_ptr<Connection>> connect(Deadline deadline) const;

    std::shared_ptr<detail::File> file_;
    std::string table_;
    std::atomic<bool> schema_made_{false};
    std::unique_ptr<ChangeWatch> watch_;
};

}  // namespace nebis::sqlite
