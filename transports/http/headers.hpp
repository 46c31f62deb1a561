// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/request.hpp"

#include <string>
#include <string_view>
#include <vector>

/// Which headers of an answer travel, and which are kept for duplicates (C30, C33).
namespace nebis::http {

bool same_name(std::string_view left, std::string_view right) noexcept;

/// The first header of that name; null when absent.
const Header* find_header(const std::vector<Header>& headers, std::string_view name) noexcept;

/// A token, and a value without control characters: what can be written on the wire without splitting the answer.
bool valid_header(const Header& header) noexcept;

/// Headers that the transport itself writes, hop-by-hop ones, and those that `Connection` names: never passed on from a
/// handler.
std::vector<Header> end_to_end(std::vector<Header> headers);

/// The headers that are stored with an answer: the standard ones and `further`. Above both stands a list of what is
/// never kept, which no setting can switch off.
bool keeps_header(std::string_view name, const std::vector<std::string>& further) noexcept;
std::vector<Header> kept_headers(const std::vector<Header>& headers, const std::vector<std::string>& further);

/// A request id that may be echoed: 1 to 128 of [A-Za-z0-9._:/+=@-]; empty otherwise.
std::string_view sane_request_id(std::string_view text) noexcept;
/// 128 random bits in hex.
std::string random_request_id();

}  // namespace nebis::http
