// SPDX-License-Identifier: Apache-2.0
#include "strawman.hpp"

#include <atomic>
#include <utility>

namespace nebis::strawman {

Millis steady_millis() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

bool MemoryTable::try_record(const std::string& trace_id, const std::string& biz_type,
                             const std::string& request_body) {
    const std::lock_guard guard(mutex_);
    Record record;
    record.biz_type = biz_type;
    record.request_body = request_body;
    record.update_time = clock_();
    record.expire_time = record.update_time + expire_;
    return rows_.emplace(trace_id, std::move(record)).second;
}

std::optional<Record> MemoryTable::select_by_trace_id(const std::string& trace_id) {
    const std::lock_guard guard(mutex_);
    const auto row = rows_.find(trace_id);
    return row == rows_.end() ? std::nullopt : std::optional(row->second);
}

void MemoryTable::update_status(const std::string& trace_id, Status status) {
    const std::lock_guard guard(mutex_);
    const auto row = rows_.find(trace_id);
    if (row == rows_.end()) return;
    row->second.status = status;
    row->second.update_time = clock_();
}

std::size_t MemoryTable::recover_timeout_records(Millis threshold,
                                                 const std::function<void(const std::string&)>& each) {
    const std::lock_guard guard(mutex_);
    std::size_t recovered = 0;
    for (auto& [trace_id, record] : rows_) {
        if (record.status != Status::processing || record.update_time >= clock_() - threshold) continue;
        record.status = Status::fail;
        record.update_time = clock_();
        ++recovered;
        each(trace_id);
    }
    return recovered;
}

std::size_t MemoryTable::delete_expired_records() {
    const std::lock_guard guard(mutex_);
    const Millis now = clock_();
    return std::erase_if(
        rows_, [now](const auto& row) { return row.second.status == Status::success && row.second.expire_time < now; });
}

std::map<std::string, MemoryLock::Held>::iterator MemoryLock::find_live(const std::string& trace_id) {
    const auto held = locks_.find(trace_id);
    if (held == locks_.end() || clock_() < held->second.end) return held;
    locks_.erase(held);
    return locks_.end();
}

bool MemoryLock::try_lock(const std::string& trace_id, const std::string& request_id, Millis expire) {
    const std::lock_guard guard(mutex_);
    const auto held = find_live(trace_id);
    if (held == locks_.end()) {
        locks_[trace_id] = {request_id, clock_() + expire};
        return true;
    }
    return held->second.request_id == request_id;  // and its time is not extended
}

void MemoryLock::unlock(const std::string& trace_id, const std::string& request_id) {
    const std::lock_guard guard(mutex_);
    const auto held = find_live(trace_id);
    if (held != locks_.end() && held->second.request_id == request_id) locks_.erase(held);
}

bool MemoryLock::exists(const std::string& trace_id) {
    const std::lock_guard guard(mutex_);
    return find_live(trace_id) != locks_.end();
}

void MemoryLock::remove(const std::string& trace_id) {
    const std::lock_guard guard(mutex_);
    locks_.erase(trace_id);
}

std::string MemoryLock::holder(const std::string& trace_id) {
    const std::lock_guard guard(mutex_);
    const auto held = find_live(trace_id);
    return held == locks_.end() ? std::string() : held->second.request_id;
}

void MemoryLock::forget_everything() {
    const std::lock_guard guard(mutex_);
    locks_.clear();
}

std::string Interceptor::request_id(const std::string& trace_id, const Request& request) {
    if (!request.request_id.empty()) return request.request_id;
    if (options_.derive_request_id) return "request-of-" + trace_id;
    static std::atomic<std::uint64_t> next{1};
    return "request-" + std::to_string(next++);
}

bool Interceptor::acquire(const std::string& trace_id, const std::string& id) {
    try {
        return lock_.try_lock(trace_id, id, options_.lock_expire);
    } catch (...) {
        if (options_.fail_open) return true;
        throw;
    }
}

Reply Interceptor::run(const std::string& key, const Request& request, const std::function<std::string()>& handler) {
    // 1. the key
    const std::string& trace_id = key;
    if (trace_id.find_first_not_of(" \t") == std::string::npos) throw IdempotentException("the key can't be resolved");
    const std::string id = request_id(trace_id, request);

    // §3.4: the lock is gone but PROCESSING is still there → "state recovery"
    if (options_.recover_when_lock_gone && !lock_.exists(trace_id)) {
        const std::optional<Record> record = table_.select_by_trace_id(trace_id);
        options_.at("lock-seen-gone");
        if (record && record->status == Status::processing) table_.update_status(trace_id, Status::fail);
    }

    // 2. the lock
    if (!acquire(trace_id, id)) {
        const std::optional<Record> record = table_.select_by_trace_id(trace_id);
        if (record && record->status == Status::success) return {record->response_body, true};
        throw IdempotentException("the request is in progress");
    }
    options_.at("locked");

    // 3. the record
    bool recorded = false;
    const auto release = [&] {
        options_.at("before-unlock");
        lock_.unlock(trace_id, id);
        options_.at("unlocked");
    };
    try {
        recorded = table_.try_record(trace_id, options_.biz_type, request.body);
        options_.at("recorded");
        if (!recorded) {
            const std::optional<Record> record = table_.select_by_trace_id(trace_id);
            options_.at("selected");
            if (record.value().status == Status::success) {
                release();
                return {record->response_body, true};
            }
            if (record->status != Status::fail) throw IdempotentException("the request is in progress");
            table_.update_status(trace_id, Status::processing);
        }
        // 4. the method
        options_.at("before-handler");
        std::string result = handler();
        options_.at("after-handler");
        // 5. SUCCESS
        table_.update_status(trace_id, Status::success);
        options_.at("succeeded");
        release();
        return {std::move(result), false};
    } catch (const ProcessDied&) {
        throw;
    } catch (...) {
        options_.at("caught");
        if (recorded || table_.select_by_trace_id(trace_id)) table_.update_status(trace_id, Status::fail);
        options_.at("failed");
        release();
        throw;
    }
}

std::size_t recover_processing_records(RecordTable& table, IdempotentLock& lock, Millis threshold) {
    return table.recover_timeout_records(threshold, [&lock](const std::string& trace_id) { lock.remove(trace_id); });
}

std::size_t clean_expired_records(RecordTable& table) { return table.delete_expired_records(); }

}  // namespace nebis::strawman
