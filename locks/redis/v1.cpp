// SPDX-License-Identifier: Apache-2.0
#include "driver/shown_key.hpp"
#include "nebis/redis_v1.hpp"
#include "redis_client/errors.hpp"
#include "redis_client/servers.hpp"
#include "scripts.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace nebis::redis {

namespace {

constexpr std::string_view before = "idempotent:";
/// A SCAN that never comes to its end isn't Redis'.
constexpr std::size_t most_pages = 50'000'000;

bool named_by_v1(std::string_view name) {
    if (!name.starts_with(before) || name.size() == before.size()) return false;
    return name.find("idempotent:lock:") == std::string_view::npos &&
           name.find("idempotent:record:") == std::string_view::npos;
}

Error strange(std::string_view what) { return {ErrorKind::unavailable, "Redis answered strangely", std::string(what)}; }

/// Some commands sent together, their replies in order. An error among them ends it all.
Result<std::vector<Reply>> ask_all(Connection& connection, const Commands& commands, Deadline deadline) {
    if (auto sent = connection.send(commands, deadline); !sent) return std::move(sent).error();
    std::vector<Reply> replies;
    for (std::size_t i = 0; i < commands.count(); ++i) {
        auto reply = connection.receive(deadline);
        if (!reply) return std::move(reply).error();
        replies.push_back(*std::move(reply));
    }
    for (const auto& reply : replies)
        if (reply.is_error()) return error_of(reply, "looking for locks of version 1");
    return replies;
}

/// Every server that holds keys of its own.
Result<std::vector<std::unique_ptr<Connection>>> masters(Servers& servers, Deadline deadline) {
    std::vector<std::unique_ptr<Connection>> all;
    if (servers.topology() != Topology::cluster) {
        auto master = servers.connect_master(deadline);
        if (!master) return std::move(master).error();
        all.push_back(*std::move(master));
        return all;
    }
    auto slots = servers.slots(deadline);
    if (!slots) return std::move(slots).error();
    std::set<const Address*> owners;
    for (std::size_t slot = 0; slot < slot_count; ++slot) {
        const Address* owner = (*slots)->owner(static_cast<std::uint16_t>(slot));
        if (!owner) return Error(ErrorKind::unavailable, "nobody serves a part of the Cluster's keys");
        owners.insert(owner);
    }
    for (const Address* owner : owners) {
        auto one = servers.connect(*owner, deadline);
        if (!one) return std::move(one).error();
        all.push_back(*std::move(one));
    }
    return all;
}

/// The names of one page. `cursor` is "0" again after the last.
Result<std::vector<std::string>> page(Connection& connection, std::string& cursor, std::size_t size,
                                      Deadline deadline) {
    Commands scan;
    scan.add({"SCAN", cursor, "MATCH", std::string(before) + "*", "COUNT", std::to_string(size)});
    auto replies = ask_all(connection, scan, deadline);
    if (!replies) return std::move(replies).error();
    Reply& reply = replies->front();
    if (reply.elements.size() != 2 || reply.elements[0].text.empty()) return strange("no cursor");
    cursor = reply.elements[0].text;
    std::vector<std::string> names;
    for (auto& one : reply.elements[1].elements)
        if (named_by_v1(one.text)) names.push_back(std::move(one.text));
    return names;
}

/// Calls `visit` with the names of each page. SCAN may show a name twice; what is counted is counted once a page.
template <class Visit>
Result<void> each_page(const Options& options, std::size_t size, Deadline deadline, Visit visit) {
    auto servers = Servers::make(options);
    if (!servers) return std::move(servers).error();
    auto all = masters(**servers, deadline);
    if (!all) return std::move(all).error();
    for (const auto& connection : *all) {
        std::string cursor = "0";
        for (std::size_t pages = 0;; ++pages) {
            if (pages == most_pages) return strange("SCAN without an end");
            auto names = page(*connection, cursor, std::clamp<std::size_t>(size, 1, 10'000), deadline);
            if (!names) return std::move(names).error();
            std::sort(names->begin(), names->end());
            names->erase(std::unique(names->begin(), names->end()), names->end());
            if (!names->empty())
                if (auto visited = visit(*connection, *names); !visited) return visited;
            if (cursor == "0") break;
        }
    }
    return {};
}

}  // namespace

Result<V1Count> v1_scan(const Options& options, const V1Options& how, const std::function<void(const V1Key&)>& each,
                        Deadline deadline) {
    V1Count count;
    auto done = each_page(options, how.page, deadline,
                          [&](Connection& connection, const std::vector<std::string>& names) -> Result<void> {
                              Commands look;
                              for (const auto& name : names) look.add({"EVAL", Scripts::all().v1_look.text, "1", name});
                              auto replies = ask_all(connection, look, deadline);
                              if (!replies) return std::move(replies).error();
                              for (std::size_t i = 0; i < names.size(); ++i) {
                                  const auto& seen = (*replies)[i].elements;
                                  if (seen.size() != 2) return strange("no type");
                                  const std::string& type = seen[0].text;
                                  const std::int64_t rest = seen[1].integer;
                                  if (type == "none" || type == "nebis") continue;  // it has just ended; ours
                                  V1Key key;
                                  key.shown = driver::shown(std::string_view(names[i]).substr(before.size()));
                                  if (type == "string") {
                                      key.kind = rest < 0 ? V1Key::Kind::left_behind : V1Key::Kind::limited;
                                      key.rest_millis = std::max<std::int64_t>(0, rest);
                                  }
                                  ++(key.kind == V1Key::Kind::left_behind ? count.left_behind
                                     : key.kind == V1Key::Kind::limited   ? count.limited
                                                                          : count.foreign);
                                  if (each) each(key);
                              }
                              return {};
                          });
    if (!done) return std::move(done).error();
    return count;
}

Result<V1Count> v1_clean(const Options& options, const V1Options& how, Deadline deadline) {
    V1Count count;
    auto done = each_page(
        options, how.page, deadline,
        [&](Connection& connection, const std::vector<std::string>& names) -> Result<void> {
            for (std::size_t from = 0; from < names.size() && count.deleted < how.most;) {
                const std::size_t to = std::min(names.size(), from + std::min(names.size(), how.most - count.deleted));
                Commands clean;
                for (; from < to; ++from)
                    clean.add({"EVAL", Scripts::all().v1_clean.text, "1", names[from], how.limited_too ? "1" : "0"});
                auto replies = ask_all(connection, clean, deadline);
                if (!replies) return std::move(replies).error();
                for (const auto& reply : *replies) count.deleted += reply.integer == 1 ? 1 : 0;
            }
            return {};
        });
    if (!done) return std::move(done).error();
    return count;
}

}  // namespace nebis::redis
