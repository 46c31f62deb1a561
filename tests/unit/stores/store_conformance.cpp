// SPDX-License-Identifier: Apache-2.0
#include "nebis/conformance.hpp"
#include "nebis/memory.hpp"
#include "nebis/sqlite.hpp"
#include "nebis/testing.hpp"
#include "runtime/sealed_store.hpp"
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

/// The contract holds through seals as well.
nebis::conformance::StoreFixture sealed_sqlite(const VirtualClock& clock) {
    const auto files = std::make_shared<Files>(nebis::sqlite::Synchronous::normal, clock);
    const auto sealing = std::make_shared<const nebis::runtime::Sealing>(
        nebis::seal::KeyRing::make({{"k", std::string(32, 's')}}, "").value(), true);
    const auto made = std::make_shared<std::map<nebis::Store*, std::shared_ptr<nebis::Store>>>();
    nebis::conformance::StoreFixture fixture;
    fixture.make = [=] {
        auto inner = files->make();
        auto store = nebis::runtime::sealed(inner, sealing);
        (*made)[store.get()] = inner;
        return store;
    };
    fixture.another = [=](const std::shared_ptr<nebis::Store>& store) {
        return nebis::runtime::sealed(files->another(made->at(store.get())), sealing);
    };
    fixture.advance = [clock](milliseconds by) { clock.advance(by); };
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
    register_store("sealed_sqlite", sealed_sqlite(VirtualClock()));
    return register_store("sqlite_real_time", sqlite_with(nebis::sqlite::Synchronous::full, {}));
}

const bool registered = register_all();

}  // namespace
