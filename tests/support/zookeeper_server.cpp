// SPDX-License-Identifier: Apache-2.0
#include "zookeeper_server.hpp"

#include "eventually.hpp"

#include <zookeeper/zookeeper.h>

#include <string_view>

// Two handles of the client in one process share the buffer in which it spells addresses for its log (version 3.8.0).
extern "C" const char* __tsan_default_suppressions() { return "race_top:vsprintf\nrace_top:inet_ntop\n"; }
/// Now and then the client, closed, forgets a completion of its own (168 bytes, all of it allocated inside the
/// library). The library keeps no frame pointers, so its callers aren't known: what leaks outside of it is still found.
extern "C" const char* __lsan_default_suppressions() { return "leak:libzookeeper_mt.so\n"; }

namespace nebis::test {
namespace {

zhandle_t* handle(void* client) { return static_cast<zhandle_t*>(client); }

void demand(int code, const std::string& what) {
    if (code != ZOK) throw ServerError(what + ": " + ::zerror(code));
}

}  // namespace

zookeeper::Options ZookeeperServer::options() const {
    zookeeper::Options options;
    options.addresses.clear();
    for (const auto& member : members()) options.addresses.push_back(address(member));
    options.connect_timeout = std::chrono::seconds(15);
    options.session_timeout = std::chrono::seconds(30);
    return options;
}

std::int64_t ZookeeperServer::keys(const std::string& root) const { return ZookeeperClient(address()).children(root); }

ZookeeperClient::ZookeeperClient(const std::string& address, const std::string& digest)
    : client_(::zookeeper_init2(
          address.c_str(), [](zhandle_t*, int, int, const char*, void*) {}, 20'000, nullptr, nullptr,
          ZOO_NO_LOG_CLIENTENV, [](const char*) {})) {
    if (!client_) throw ServerError("no client for ZooKeeper at " + address);
    if (!digest.empty())
        ::zoo_add_auth(
            handle(client_), "digest", digest.data(), static_cast<int>(digest.size()), [](int, const void*) {},
            nullptr);
    if (eventually([&] { return ::zoo_state(handle(client_)) == ZOO_CONNECTED_STATE; })) return;
    ::zookeeper_close(handle(client_));
    throw ServerError("ZooKeeper at " + address + " opens no session");
}

ZookeeperClient::~ZookeeperClient() { ::zookeeper_close(handle(client_)); }

void ZookeeperClient::make(const std::string& path, const std::string& value, bool ephemeral) {
    demand(::zoo_create(handle(client_), path.c_str(), value.data(), static_cast<int>(value.size()),
                        &ZOO_OPEN_ACL_UNSAFE, ephemeral ? ZOO_EPHEMERAL : ZOO_PERSISTENT, nullptr, 0),
           "make " + path);
}

void ZookeeperClient::remove(const std::string& path) {
    demand(::zoo_delete(handle(client_), path.c_str(), -1), "remove " + path);
}

std::int64_t ZookeeperClient::children(const std::string& path) const {
    String_vector names{};
    const int code = ::zoo_get_children(handle(client_), path.c_str(), 0, &names);
    if (code == ZNONODE) return 0;
    demand(code, "look at " + path);
    const std::int64_t count = names.count;
    ::deallocate_String_vector(&names);
    return count;
}

bool ZookeeperClient::is_open_to_all(const std::string& path) const {
    ACL_vector rights{};
    Stat stat{};
    demand(::zoo_get_acl(handle(client_), path.c_str(), &rights, &stat), "rights of " + path);
    bool open = false;
    for (int i = 0; i < rights.count; ++i) open = open || std::string_view(rights.data[i].id.scheme) == "world";
    ::deallocate_ACL_vector(&rights);
    return open;
}

}  // namespace nebis::test
