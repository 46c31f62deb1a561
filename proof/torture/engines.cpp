// SPDX-License-Identifier: Apache-2.0
#include "engines.hpp"

#include <chrono>
#include <stdexcept>
#include <thread>

namespace nebis::torture {

Engines::Engines(const std::string& store, const std::string& gate, const std::filesystem::path& folder)
    : store_(store), where_((folder / "orders.db").string()) {
    if (store_ != "sqlite") {
        database_.emplace(store_ == "mysql" ? "mariadb" : store_);
        where_ = database_->address();
        troubles_.push_back({"database killed", [this](auto& chance) { restart_database(chance); }});
    }
    arguments_ = {"--store", store_, "--db", where_};
    if (gate == "local") return;
    const std::string topology = gate == "redis" ? "single" : gate.substr(gate.find('-') + 1);
    redis_.emplace(topology);
    const auto more = redis_->arguments();
    arguments_.insert(arguments_.end(), more.begin(), more.end());
    troubles_.push_back({"redis killed", [this](auto& chance) { redis_->kill(chance); }});
    troubles_.push_back({"redis flushed", [this](auto&) { redis_->flush(); }});
    if (redis_->can_fail_over())
        troubles_.push_back({"redis failed over", [this](auto& chance) { redis_->fail_over(chance); }});
}

std::unique_ptr<Witness> Engines::witness() const {
    if (store_ == "sqlite") return sqlite_witness(where_);
    return store_ == "mysql" ? mysql_witness(where_) : postgres_witness(where_);
}

void Engines::restart_database(std::mt19937_64& chance) {
    database_->kill();
    std::this_thread::sleep_for(std::chrono::milliseconds(std::uniform_int_distribution<int>(0, 1'000)(chance)));
    database_->start();
}

}  // namespace nebis::torture
