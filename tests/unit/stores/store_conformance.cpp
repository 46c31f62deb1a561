// SPDX-License-Identifier: Apache-2.0
#include "nebis/conformance.hpp"
#include "nebis/memory.hpp"
#include "nebis/sqlite.hpp"
#include "nebis/testing.hpp"
#include "temporary_folder.hpp"

#include <map>
#include <mutex>

// The few lines that put each store through the conformance suite, once with a clock that stands still between calls,
// once in real time.
namespace {

using nebis::fakes::VirtualClock;
using std::chrono::milliseconds;

nebis::conformance::StoreFixture memory_with(const VirtualClock& clock) {
    nebis::conformance::StoreFixture fixture;
    fixture.make = [clock] { return nebis::memory::store({.clock = clock}); };
    fixture.advance = [clock](milliseconds by) { clock.advance(by); };
    return fixture;
}

/// Each store in a file of its own; `another` opens that file once more, as another process would.
class Files {
public:
    Files(nebis::sqlite::Synchronous synchronous, std::function<nebis::StoreMillis()> clock)
        : synchronous_(synchronous), clock_(std::move(clock)) {}

    std::shared_ptr<nebis::Store> make() {
        const std::string path = folder_.file("s" + std::to_string(++made_) + ".db");
        auto store = open(path);
        paths_[store.get()] = path;
        return store;
    }
    std::shared_ptr<nebis::Store> another(const std::shared_ptr<nebis::Store>& store) {
        return open(paths_.at(store.get()));
    }

private:
    std::shared_ptr<nebis::Store> open(const std::string& path) {
        nebis::sqlite::Options options;
        options.path = path;
        options.create_schema = true;
        options.synchronous = synchronous_;
        options.clock = clock_;
        return nebis::sqlite::store(std::move(options));
    }
    nebis::test::TemporaryFolder folder_;
    nebis::sqlite::Synchronous synchronous_;
    std::function<nebis::StoreMillis()> clock_;
    std::map<nebis::Store*, std::string> paths_;
    int made_ = 0;
};

nebis::conformance::StoreFixture sqlite_with(nebis::sqlite::Synchronous synchronous,
                                             std::function<nebis::StoreMillis()> clock) {
    const auto files = std::make_shared<Files>(synchronous, std::move(clock));
    nebis::conformance::StoreFixture fixture;
    fixture.make = [files] { return files->make(); };
    fixture.another = [files](const std::shared_ptr<nebis::Store>& store) { return files->another(store); };
    return fixture;
}

bool register_all() {
    using nebis::conformance::register_store;
    register_store("memory", memory_with(VirtualClock()));
    register_store("memory_real_time", {.make = [] { return nebis::memory::store(); }});

    const VirtualClock clock;
    auto sqlite = sqlite_with(nebis::sqlite::Synchronous::normal, clock);
    sqlite.advance = [clock](milliseconds by) { clock.advance(by); };
    register_store("sqlite", std::move(sqlite));
    return register_store("sqlite_real_time", sqlite_with(nebis::sqlite::Synchronous::full, {}));
}

const bool registered = register_all();

}  // namespace
