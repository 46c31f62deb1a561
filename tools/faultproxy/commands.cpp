// SPDX-License-Identifier: Apache-2.0
#include "commands.hpp"

#include <charconv>
#include <limits>
#include <sstream>
#include <stdexcept>

namespace nebis::faultproxy {

const std::string_view commands_help =
    "  delay WAY MILLIS       each chunk that much later (0 to 60000); WAY is to-server or to-client\n"
    "  drop WAY on|off        swallow all bytes\n"
    "  slice WAY BYTES        pass on in pieces; 0: as they come\n"
    "  throttle WAY BYTES     a second; 0: without limit\n"
    "  black-hole on|off      accept, move nothing; off: all flows on\n"
    "  lose-next AFTER        the next request arrives, its reply doesn't; AFTER is keep, cut or reset\n"
    "  lose N AFTER TEXT      the same for the N-th request that contains TEXT (the rest of the line)\n"
    "  cut, reset             all connections: close orderly, or RST\n"
    "  heal                   no fault any more\n"
    "  counts                 since the start\n"
    "  wait lost|requests|connections N   until so many were counted, at most 30 s\n";

namespace {

std::string word(std::istream& in) {
    std::string text;
    in >> text;
    return text;
}

std::uint64_t number(std::istream& in, std::uint64_t most) {
    const std::string text = word(in);
    std::uint64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size() || value > most)
        throw std::invalid_argument("a number from 0 to " + std::to_string(most) + " is expected");
    return value;
}

/// The one of `first`, `second` and `third` that comes next, by its number.
int choice(std::istream& in, const char* first, const char* second, const char* third = nullptr) {
    const std::string text = word(in);
    if (text == first) return 0;
    if (text == second) return 1;
    if (third && text == third) return 2;
    throw std::invalid_argument(std::string("one of these is expected: ") + first + ", " + second +
                                (third ? std::string(", ") + third : std::string()));
}

bool on_off(std::istream& in) { return choice(in, "off", "on") == 1; }
Way way(std::istream& in) { return choice(in, "to-server", "to-client") == 0 ? Way::to_server : Way::to_client; }
After after(std::istream& in) { return static_cast<After>(choice(in, "keep", "cut", "reset")); }
std::string rest(std::istream& in) {
    std::string text;
    std::getline(in >> std::ws, text);
    return text;
}
void end(std::istream& in) {
    if (!rest(in).empty()) throw std::invalid_argument("there is more than this command takes");
}

std::string written(const Counts& counts) {
    return "connections " + std::to_string(counts.connections) + " open " + std::to_string(counts.open) + " requests " +
           std::to_string(counts.requests) + " lost " + std::to_string(counts.lost_replies) + " swallowed-bytes " +
           std::to_string(counts.swallowed_bytes);
}

/// One of the four that change the faults of one way.
void spoil(FaultProxy& proxy, const std::string& verb, std::istream& in) {
    const Way which = way(in);
    Faults faults = proxy.faults(which);
    if (verb == "delay")
        faults.delay = std::chrono::milliseconds(number(in, 60'000));
    else if (verb == "drop")
        faults.drop = on_off(in);
    else if (verb == "slice")
        faults.slice = number(in, std::numeric_limits<std::uint32_t>::max());
    else
        faults.bytes_per_second = number(in, std::numeric_limits<std::uint32_t>::max());
    end(in);
    proxy.set(which, faults);
}

std::string wait(const FaultProxy& proxy, std::istream& in) {
    const int what = choice(in, "lost", "requests", "connections");
    const std::uint64_t many = number(in, std::numeric_limits<std::uint32_t>::max());
    end(in);
    const bool came = proxy.wait_until([&](const Counts& counts) {
        return (what == 0 ? counts.lost_replies : what == 1 ? counts.requests : counts.connections) >= many;
    });
    return came ? "ok" : "error: it didn't come within 30 s";
}

std::string done(FaultProxy& proxy, const std::string& line) {
    std::istringstream in(line);
    const std::string verb = word(in);
    if (verb == "delay" || verb == "drop" || verb == "slice" || verb == "throttle") {
        spoil(proxy, verb, in);
        return "ok";
    }
    if (verb == "wait") return wait(proxy, in);
    if (verb == "lose") {
        const auto nth = static_cast<unsigned>(number(in, std::numeric_limits<std::uint32_t>::max()));
        const After then = after(in);
        proxy.lose_reply_to(rest(in), then, nth);
        return "ok";
    }
    if (verb == "lose-next") {
        const After then = after(in);
        end(in);
        proxy.lose_next_reply(then);
        return "ok";
    }
    if (verb == "black-hole") {
        const bool on = on_off(in);
        end(in);
        proxy.black_hole(on);
        return "ok";
    }
    end(in);
    if (verb == "counts") return written(proxy.counts());
    if (verb == "cut")
        proxy.cut();
    else if (verb == "reset")
        proxy.reset();
    else if (verb == "heal")
        proxy.heal();
    else
        throw std::invalid_argument("no such command; --help lists them");
    return "ok";
}

}  // namespace

std::string obey(FaultProxy& proxy, const std::string& line) {
    try {
        return done(proxy, line);
    } catch (const std::invalid_argument& wrong) {
        return std::string("error: ") + wrong.what();
    }
}

}  // namespace nebis::faultproxy
