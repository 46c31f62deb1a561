// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/table.hpp"

#include <optional>
#include <string_view>

/// What a text of the configuration may look like.
namespace nebis::config {

std::optional<Complaint> check_table_name(std::string_view text);
std::optional<Complaint> check_operation_name(std::string_view text);
std::optional<Complaint> check_plain_name(std::string_view text);
std::optional<Complaint> check_header_name(std::string_view text);
std::optional<Complaint> check_json_pointer(std::string_view text);
std::optional<Complaint> check_header_or_pointer(std::string_view text);
std::optional<Complaint> check_exception_type(std::string_view text);
std::optional<Complaint> check_listen(std::string_view text);
std::optional<Complaint> check_url(std::string_view text);
std::optional<Complaint> check_cron(std::string_view text);
std::optional<Complaint> check_key_prefix(std::string_view text);
std::optional<Complaint> check_key_expression(std::string_view text);
std::optional<Complaint> check_digest_start(std::string_view text);
std::optional<Complaint> check_not_blank(std::string_view text);

}  // namespace nebis::config
