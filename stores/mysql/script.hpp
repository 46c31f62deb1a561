// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nebis::mysql {

/// Several statements that travel together and are answered one by one. Values are written as numbers or as
/// hexadecimal digits, so nothing in them can be read as SQL, whatever the server's settings are.
class Script {
public:
    /// One statement without a value. Its place among the answers.
    std::size_t statement(std::string_view sql) { return open(sql), close(); }

    Script& open(std::string_view sql) { return sql_.append(sql), *this; }
    Script& sql(std::string_view sql) { return sql_.append(sql), *this; }
    Script& bytes(std::string_view value);
    Script& text(std::string_view value);  ///< bytes that are UTF-8
    Script& number(std::int64_t value);
    std::size_t close() { return sql_.push_back(';'), statements_++; }

    /// Everything is decided when what stands here so far has been answered: a fault after it changes nothing.
    void decided() noexcept { decisive_ = statements_; }

    std::string_view sql() const noexcept { return sql_; }
    std::size_t statements() const noexcept { return statements_; }
    std::size_t decisive() const noexcept { return decisive_ == 0 ? statements_ : decisive_; }

private:
    std::string sql_;
    std::size_t statements_ = 0, decisive_ = 0;
};

/// Writes `items` with commas between them.
template <class Items, class Write>
void listed(Script& script, const Items& items, Write write) {
    bool first = true;
    for (const auto& item : items) {
        if (!first) script.sql(",");
        first = false;
        write(item);
    }
}

}  // namespace nebis::mysql
