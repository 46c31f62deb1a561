// SPDX-License-Identifier: Apache-2.0
#include "ledger.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <system_error>

namespace shop {

namespace json = boost::json;

namespace {

std::string text(const json::object& payment, std::string_view name) {
    const auto* value = payment.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

}  // namespace

Ledger::Ledger(const std::string& file) {
    if (file.empty()) return;
    file_ = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file_ < 0) throw std::system_error(errno, std::generic_category(), file);
}

Ledger::~Ledger() {
    if (file_ >= 0) ::close(file_);
}

std::optional<json::object> Ledger::pay(json::object payment) {
    const std::lock_guard lock(mutex_);
    const std::string reference = text(payment, "reference");
    if (closed_.contains(reference)) return {};
    if (file_ >= 0) {
        const auto* token = payment.if_contains("fencing_token");
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        const std::string line = (token != nullptr ? json::serialize(*token) : "0") + " " +
                                 std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(now).count()) +
                                 " " + text(payment, "note") + "\n";
        if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size()) || ::fdatasync(file_) != 0)
            throw std::system_error(errno, std::generic_category(), "ledger");
    }
    payment["payment"] = payments_.size() + 1;
    first_.emplace(reference, payments_.size());
    payments_.push_back(payment);
    return payment;
}

std::optional<json::object> Ledger::find_locked(const std::string& reference) const {
    const auto found = first_.find(reference);
    if (found == first_.end()) return {};
    return payments_.at(found->second).as_object();
}

std::optional<json::object> Ledger::find(const std::string& reference) const {
    const std::lock_guard lock(mutex_);
    return find_locked(reference);
}

std::optional<json::object> Ledger::close(const std::string& reference) {
    const std::lock_guard lock(mutex_);
    auto paid = find_locked(reference);
    if (!paid) closed_.insert(reference);
    return paid;
}

json::array Ledger::all() const {
    const std::lock_guard lock(mutex_);
    return payments_;
}

}  // namespace shop
