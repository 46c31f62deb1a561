// SPDX-License-Identifier: Apache-2.0
#include "evidence.hpp"

#include "target.hpp"

#include <fstream>
#include <set>
#include <stdexcept>
#include <utility>

namespace nebis::torture {
namespace {

/// `tenant|principal|operation|key`
std::string key_of(const std::string& trace_id) { return trace_id.substr(trace_id.rfind('|') + 1); }

}  // namespace

Evidence::Evidence(std::unique_ptr<Witness> database, std::string ledger_file)
    : database_(std::move(database)), ledger_file_(std::move(ledger_file)) {}

void Evidence::effect(std::string logical, std::uint64_t token, proof::Micros at) {
    auto& all = effects_[logical];
    all.push_back({std::move(logical), token, at});
}

void Evidence::read_database() {
    Witness::Testimony said = database_->read();
    for (auto& [note, token] : said.orders) effect(std::move(note), token, now_micros());
    for (auto& [trace_id, change] : said.trail) {
        Of& of = rows_[key_of(trace_id)];
        of.seen = now_micros();
        of.rows.push_back(std::move(change));
    }
}

void Evidence::read_ledger() {
    std::ifstream file(ledger_file_);
    file.seekg(static_cast<std::streamoff>(ledger_read_));
    std::string line;
    while (std::getline(file, line)) {
        if (file.eof()) break;  // a line that isn't whole yet
        ledger_read_ += line.size() + 1;
        const auto first = line.find(' '), second = line.find(' ', first + 1);
        if (second == std::string::npos) throw std::runtime_error("the ledger holds '" + line + "'");
        effect(line.substr(second + 1), std::stoull(line.substr(0, first)),
               std::stoll(line.substr(first + 1, second - first - 1)));
    }
}

void Evidence::complete(proof::History& histories, std::chrono::seconds forget_after) {
    read_database();
    read_ledger();
    for (auto& [key, history] : histories) {
        if (const auto found = rows_.find(key); found != rows_.end()) history.rows = found->second.rows;
        std::set<std::string> logicals;
        for (const auto& call : history.calls) logicals.insert(call.logical);
        history.effects.clear();
        for (const auto& logical : logicals)
            if (const auto found = effects_.find(logical); found != effects_.end())
                history.effects.insert(history.effects.end(), found->second.begin(), found->second.end());
    }
    const proof::Micros oldest = now_micros() - std::chrono::microseconds(2 * forget_after).count();
    std::erase_if(rows_, [&](const auto& entry) { return entry.second.seen < oldest; });
    std::erase_if(effects_, [&](const auto& entry) { return entry.second.back().at < oldest; });
}

}  // namespace nebis::torture
