// SPDX-License-Identifier: Apache-2.0
// Writes the pages that are made of tables, or compares them with what is committed.
#include "config/reference.hpp"
#include "nebis/etcd.hpp"
#include "nebis/local.hpp"
#include "nebis/memory.hpp"
#include "nebis/mysql.hpp"
#include "nebis/postgres.hpp"
#include "nebis/redis.hpp"
#include "nebis/redis_store.hpp"
#include "nebis/sqlite.hpp"
#include "nebis/zookeeper.hpp"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>

namespace {

std::string first_difference(const std::string& committed, const std::string& made) {
    std::size_t line = 1;
    for (std::size_t i = 0; i < std::min(committed.size(), made.size()) && committed[i] == made[i]; ++i)
        line += made[i] == '\n' ? 1 : 0;
    return std::to_string(line);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{"Pages made of the tables of settings, metrics and messages."};
    std::string check;
    std::string update;
    auto* const one = app.add_option_group("what to do");
    one->add_option("--check", check, "compare with the pages in this folder; exit 1 when one is not current")
        ->check(CLI::ExistingDirectory);
    one->add_option("--update", update, "write the pages to this folder")->check(CLI::ExistingDirectory);
    one->require_option(1);
    CLI11_PARSE(app, argc, argv);

    nebis::Drivers drivers;
    nebis::memory::add_to(drivers);
    nebis::sqlite::add_to(drivers);
    nebis::etcd::add_to(drivers);
    nebis::local::add_to(drivers);
    nebis::mysql::add_to(drivers);
    nebis::postgres::add_to(drivers);
    nebis::redis::add_to(drivers);
    nebis::redis::add_store_to(drivers);
    nebis::zookeeper::add_to(drivers);
    const std::map<std::string, std::string> pages{
        {"configuration.md", nebis::config::reference_page(drivers)},
        {"nebis.schema.json", nebis::config::json_schema(drivers)},
        {"metrics.md", nebis::config::metrics_page()},
    };
    bool current = true;
    for (const auto& [name, made] : pages) {
        if (!update.empty()) {
            std::ofstream(std::filesystem::path(update) / name, std::ios::binary) << made;
            continue;
        }
        const auto path = std::filesystem::path(check) / name;
        std::ifstream in(path, std::ios::binary);
        const std::string committed{std::istreambuf_iterator<char>(in), {}};
        if (committed == made) continue;
        current = false;
        std::cerr << path.string() << ":" << first_difference(committed, made)
                  << ": not current; run nebis-settings --update docs\n";
    }
    return current ? 0 : 1;
}
