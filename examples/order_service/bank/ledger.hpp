// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/json.hpp>

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

namespace shop {

/// What the pretend bank did. **Threads**: safe.
class Ledger {
public:
    /// Appends to that file too, one line a payment: `fencing_token microseconds note`. Empty: memory only.
    explicit Ledger(const std::string& file);
    ~Ledger();
    Ledger(const Ledger&) = delete;
    Ledger& operator=(const Ledger&) = delete;

    /// The payment with its number; empty when its reference is closed. On the disk when it returns.
    std::optional<boost::json::object> pay(boost::json::object payment);
    /// The first payment under that reference.
    std::optional<boost::json::object> find(const std::string& reference) const;
    /// The payment under that reference; if there is none, there will never be one.
    std::optional<boost::json::object> close(const std::string& reference);
    boost::json::array all() const;

private:
    std::optional<boost::json::object> find_locked(const std::string& reference) const;

    mutable std::mutex mutex_;
    boost::json::array payments_;
    std::map<std::string, std::size_t> first_;
    std::set<std::string> closed_;
    int file_ = -1;
};

}  // namespace shop
