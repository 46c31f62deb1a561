// SPDX-License-Identifier: Apache-2.0
#include "nodes.hpp"

namespace nebis::zookeeper {
namespace {

int size_of(const std::string& value) { return static_cast<int>(value.size()); }

const ACL_vector& rights(const Session& session) {
    return session.with_user() ? ZOO_CREATOR_ALL_ACL : ZOO_OPEN_ACL_UNSAFE;
}

Result<Did> done(const Result<Reply>& reply) {
    if (!reply) return reply.error();
    switch (reply->code) {
        case ZNODEEXISTS: return Did::there_already;
        case ZNONODE: return Did::not_there;
        case ZBADVERSION: return Did::other_version;
        default: return Did::it;
    }
}

Result<Did> make(Session& session, const std::string& path, const std::string& value, int kind, Deadline deadline) {
    return done(session.ask(
        [&](zhandle_t* client, Call* call) {
            return ::zoo_acreate(client, path.c_str(), value.data(), size_of(value), &rights(session), kind,
                                 &Handle::ended_with_path, call);
        },
        true, deadline));
}

}  // namespace

Result<std::optional<Node>> look(Session& session, const std::string& path, Deadline deadline) {
    auto reply =
        session.ask([&](zhandle_t* client,
                        Call* call) { return ::zoo_aget(client, path.c_str(), 0, &Handle::ended_with_data, call); },
                    false, deadline);
    if (!reply) return std::move(reply).error();
    if (reply->code != ZOK) return std::optional<Node>();
    return std::optional<Node>(Node{std::move(reply->value), reply->version, reply->session});
}

Result<Did> make_ephemeral(Session& session, const std::string& path, const std::string& value, Deadline deadline) {
    return make(session, path, value, ZOO_EPHEMERAL, deadline);
}

Result<Did> make_persistent(Session& session, const std::string& path, Deadline deadline) {
    return make(session, path, {}, ZOO_PERSISTENT, deadline);
}

Result<Did> change(Session& session, const std::string& path, const std::string& value, std::int32_t version,
                   Deadline deadline) {
    return done(session.ask(
        [&](zhandle_t* client, Call* call) {
            return ::zoo_aset(client, path.c_str(), value.data(), size_of(value), version, &Handle::ended_with_stat,
                              call);
        },
        true, deadline));
}

Result<Did> remove(Session& session, const std::string& path, std::int32_t version, Deadline deadline) {
    return done(
        session.ask([&](zhandle_t* client,
                        Call* call) { return ::zoo_adelete(client, path.c_str(), version, &Handle::ended, call); },
                    true, deadline));
}

Result<Did> replace(Session& session, const std::string& path, const std::string& value, std::int32_t version,
                    Deadline deadline) {
    return done(session.ask(
        [&](zhandle_t* client, Call* call) {
            zoo_op_t both[2];
            ::zoo_delete_op_init(&both[0], path.c_str(), version);
            ::zoo_create_op_init(&both[1], path.c_str(), value.data(), size_of(value), &rights(session), ZOO_EPHEMERAL,
                                 nullptr, 0);
            return ::zoo_amulti(client, 2, both, call->results, &Handle::ended, call);
        },
        true, deadline));
}

}  // namespace nebis::zookeeper
