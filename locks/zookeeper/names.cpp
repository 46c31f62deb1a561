// SPDX-License-Identifier: Apache-2.0
#include "names.hpp"

#include "driver/lock_mark.hpp"

namespace nebis::zookeeper {

Result<Names> Names::under(std::string_view prefix) {
    if (auto fits = driver::check_prefix(prefix, "zookeeper-setting"); !fits) return std::move(fits).error();
    if (prefix.starts_with('/')) prefix.remove_prefix(1);  // a root path is meant either way
    Names names;
    std::string path = "/" + std::string(prefix) + "idempotent:lock/";
    for (std::size_t from = 1; from < path.size();) {
        const std::size_t end = path.find('/', from);
        const auto part = std::string_view(path).substr(from, end - from);
        if (part.empty() || part == "." || part == "..")
            return Error(ErrorKind::misconfigured, "the key prefix makes no path of ZooKeeper", {},
                         "no part of `key-prefix` between slashes may be empty, . or ..")
                .with_code("zookeeper-setting");
        names.parents_.push_back(path.substr(0, end));
        from = end + 1;
    }
    names.root_ = std::move(path);
    return names;
}

std::string Names::of(std::string_view trace_id) const {
    const std::string name = driver::lock_name({}, trace_id);
    return root_ + name.substr(name.rfind(':') + 1);
}

}  // namespace nebis::zookeeper
