// SPDX-License-Identifier: Apache-2.0
#include "straw_man.hpp"

#include "checker.hpp"
#include "load.hpp"
#include "strawman.hpp"
#include "target.hpp"

#include <algorithm>
#include <iostream>
#include <map>
#include <mutex>
#include <random>
#include <thread>

namespace nebis::torture {
namespace {

using namespace std::chrono_literals;

// The article's times, divided by some hundreds.
constexpr strawman::Millis lock_expire = 40;
constexpr strawman::Millis recovery_threshold = 80;
constexpr strawman::Millis retention = 60'000;

/// The article's table, and a trail of what is written to it.
class TrailTable : public strawman::RecordTable {
public:
    bool try_record(const std::string& id, const std::string& type, const std::string& body) override {
        return traced(id, [&] { return table_.try_record(id, type, body); });
    }
    std::optional<strawman::Record> select_by_trace_id(const std::string& id) override {
        return table_.select_by_trace_id(id);
    }
    void update_status(const std::string& id, strawman::Status status) override {
        traced(id, [&] { return table_.update_status(id, status), true; });
    }
    std::size_t recover_timeout_records(strawman::Millis threshold,
                                        const std::function<void(const std::string&)>& each) override {
        return table_.recover_timeout_records(threshold, each);
    }
    std::size_t delete_expired_records() override { return table_.delete_expired_records(); }

    std::vector<proof::RowChange> trail(const std::string& id) {
        const std::lock_guard lock(mutex_);
        return trail_[id];
    }

private:
    template <class Write>
    bool traced(const std::string& id, Write write) {
        const std::lock_guard lock(mutex_);
        const auto before = state(id);
        const bool done = write();
        if (done) trail_[id].push_back({now_micros() / 1000, before, state(id), false});
        return done;
    }
    std::optional<proof::RowState> state(const std::string& id) {
        const auto record = table_.select_by_trace_id(id);
        if (!record) return {};
        proof::RowState row;
        row.status = static_cast<RecordStatus>(record->status);
        row.version = 1;  // it has none
        row.expire_time = now_micros() / 1000 + retention;
        row.response = record->response_body;
        return row;
    }

    strawman::MemoryTable table_;
    std::mutex mutex_;
    std::map<std::string, std::vector<proof::RowChange>> trail_;
};

class StrawTarget : public Target {
public:
    explicit StrawTarget(std::uint64_t seed) : seed_(seed) {}

    proof::Call ask(const Ask& ask) override {
        proof::Call call;
        call.logical = ask.logical;
        call.instance = ask.instance;
        call.sent = now_micros();
        try {
            strawman::Options options;
            options.lock_expire = lock_expire;
            options.at = [this](std::string_view) { mishap(); };
            const auto reply = strawman::Interceptor(table_, lock_, options).run(ask.key, {"", ask.logical}, [&] {
                return handler(ask);
            });
            call.said = proof::Said::success;
            call.replayed = reply.replayed;
            call.answer = reply.body;
        } catch (const strawman::ProcessDied&) {
            call.said = proof::Said::lost;
        } catch (const strawman::IdempotentException&) {
            call.said = proof::Said::in_progress;
        } catch (const std::exception&) {
            call.said = proof::Said::unavailable;
        }
        call.answered = now_micros();
        return call;
    }

    void recover() { strawman::recover_processing_records(table_, lock_, recovery_threshold); }

    void complete(proof::KeyHistory& history) {
        history.rows = table_.trail(history.key);
        const std::lock_guard lock(mutex_);
        history.effects = effects_[history.key];
    }

private:
    std::string handler(const Ask& ask) {
        if (ask.bank_mode == "busy") throw std::runtime_error("busy");
        {
            const std::lock_guard lock(mutex_);
            effects_[ask.key].push_back({ask.logical, 0, now_micros()});
        }
        if (ask.bank_mode == "hang-up") throw std::runtime_error("no answer");
        return "201 " + ask.logical;
    }

    /// An instance dies, or is stopped for longer than its lock lives.
    void mishap() {
        int dice = 0, millis = 0;
        {
            const std::lock_guard lock(mutex_);
            dice = std::uniform_int_distribution<int>(0, 199)(chance_);
            millis = std::uniform_int_distribution<int>(1, 3 * static_cast<int>(lock_expire))(chance_);
        }
        if (dice < 2) throw strawman::ProcessDied();
        if (dice < 10) std::this_thread::sleep_for(std::chrono::milliseconds(millis));
    }

    const std::uint64_t seed_;
    TrailTable table_;
    strawman::MemoryLock lock_;
    std::mutex mutex_;
    std::mt19937_64 chance_{seed_};
    std::map<std::string, std::vector<proof::Effect>> effects_;
};

}  // namespace

bool convict_straw_man(std::uint64_t seed) {
    const auto began = std::chrono::steady_clock::now();
    StrawTarget target(seed);
    Load load(target, {.seed = seed, .clients = 8, .orders = true, .payments = true});
    std::size_t doubled = 0, overwritten = 0, keys = 0;
    while ((doubled == 0 || overwritten == 0) && std::chrono::steady_clock::now() - began < 30s) {
        load.start();
        for (int i = 0; i < 20; ++i) {
            std::this_thread::sleep_for(25ms);
            target.recover();
        }
        load.finish(500ms);
        for (auto& [key, history] : load.take(std::chrono::seconds(60))) {
            proof::KeyHistory whole = history;
            target.complete(whole);
            const auto found = check(whole, {.faults = {}, .at_rest = false, .has_trail = true});
            ++keys;
            doubled += std::any_of(found.begin(), found.end(), [](const auto& v) { return v.invariant == 1; });
            overwritten += std::any_of(found.begin(), found.end(), [](const auto& v) {
                return v.invariant == 6 && v.what == "SUCCESS is overwritten by FAIL";
            });
        }
    }
    const auto millis =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began).count();
    const bool convicted = doubled > 0 && overwritten > 0;
    std::cout << "straw man " << (convicted ? "convicted" : "NOT CONVICTED") << " after " << millis
              << " ms: keys=" << keys << " doubled=" << doubled << " success_overwritten_by_fail=" << overwritten
              << std::endl;
    return convicted;
}

}  // namespace nebis::torture
