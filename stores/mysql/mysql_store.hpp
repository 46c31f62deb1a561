// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "connection.hpp"

#include <atomic>
#include <string>

namespace nebis::mysql {

class MysqlStore final : public Store {
public:
    MysqlStore(Options options, std::string table) : options_(std::move(options)), table_(std::move(table)) {}

    std::string_view name() const noexcept override { return "mysql"; }
    StoreTraits traits() const noexcept override;
    Result<void> verify(Deadline deadline) override;
    Result<void> create_schema(Deadline deadline) override;
    Result<std::unique_ptr<StoreSession>> open(Deadline deadline) override;

    const Options& options() const noexcept { return options_; }
    const std::string& table() const noexcept { return table_; }

private:
    Result<std::unique_ptr<Connection>> connect(Deadline deadline) const;
    /// With the schema made if that was asked for and not done yet.
    Result<std::unique_ptr<Connection>> ready(Deadline deadline);

    Options options_;
    std::string table_;
    std::atomic<bool> schema_made_{false};
};

}  // namespace nebis::mysql
