// SPDX-License-Identifier: Apache-2.0
#include "config/table.hpp"

#include "config/checks.hpp"

#include <algorithm>

namespace nebis::config {

std::vector<Row> operation_rows();
std::vector<Row> instance_rows();

std::span<const Row> table() {
    static const std::vector<Row> rows = [] {
        auto all = operation_rows();
        auto instance = instance_rows();
        all.insert(all.end(), instance.begin(), instance.end());
        return all;
    }();
    return rows;
}

const Row* find_row(std::string_view path) {
    const auto rows = table();
    const auto row = std::ranges::find(rows, path, &Row::path);
    return row == rows.end() ? nullptr : &*row;
}

}  // namespace nebis::config
