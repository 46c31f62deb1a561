// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/engine.hpp"

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

/// The work that all cases share: one request body, one answer, keys that are never used twice.
namespace nebis::bench {

/// An order as JSON, 300 bytes.
const std::string& order_body();

/// The answer to it, 200 bytes.
const Response& order_answer();

/// Keys as clients make them: 36 characters, random, no two alike.
class Keys {
public:
    explicit Keys(std::uint64_t seed) : state_(seed << 40) {}  // far apart: no generator meets the next one
    /// Writes the next key over `key`.
    void next(std::string& key);
    std::string next() {
        std::string key;
        next(key);
        return key;
    }
    /// The next random number itself.
    std::uint64_t number();

private:
    std::uint64_t state_;
};

/// POST /orders with that key.
Request order_request(const std::string& key);
inline std::string& key_of(Request& request) { return request.headers.front().value; }

/// An engine by hand; `configuration` are lines below `nebis: idempotent:`, already indented.
Engine open_engine(std::shared_ptr<Store> store, const std::string& configuration = {});

/// The operation that all cases run, `execute` unless said otherwise.
Policy order_policy();

/// A case that isn't answered as it must be measures nothing.
void expect(const Answer& answer, Outcome outcome);

/// Looks at answers on many threads; the first wrong one counts.
class Watch {
public:
    explicit Watch(Outcome outcome) : outcome_(outcome) {}
    void look(const Answer& answer) {
        if (answer.outcome != outcome_ || !answer.recorded) note(answer);
    }
    /// On the measuring thread, after the run. **Errors**: gives up when an answer was wrong.
    void check();

private:
    void note(const Answer& answer);
    const Outcome outcome_;
    std::mutex mutex_;
    std::optional<Answer> wrong_;
};

}  // namespace nebis::bench
