// SPDX-License-Identifier: Apache-2.0
#include "runtime/schema_text.hpp"

#include "identify/digest.hpp"

namespace nebis::runtime {

std::vector<std::string> statements_in(std::string_view sql) {
    std::vector<std::string> all;
    std::string one;
    bool quoted = false;
    for (std::size_t i = 0; i < sql.size(); ++i) {
        const char c = sql[i];
        if (!quoted && sql.substr(i).starts_with("--")) {
            i = std::min(sql.find('\n', i), sql.size()) - 1;
            continue;
        }
        if (c == '\'') quoted = !quoted;
        if (!quoted && c == ';') {
            while (one.ends_with(' ')) one.pop_back();
            if (!one.empty()) all.push_back(std::move(one));
            one.clear();
        } else if (!quoted && (c == ' ' || c == '\n' || c == '\t' || c == '\r')) {
            if (!one.empty() && !one.ends_with(' ')) one.push_back(' ');
        } else {
            one.push_back(c);
        }
    }
    return all;
}

std::int64_t schema_checksum(std::string_view sql) {
    std::string made;
    for (const auto& statement : statements_in(sql))
        if (statement.starts_with("CREATE ")) made.append(statement).append(";");
    const auto digest = identify::sha256(made);
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < sizeof number; ++i) number = number << 8 | digest[i];
    return static_cast<std::int64_t>(number >> 1);
}

}  // namespace nebis::runtime
