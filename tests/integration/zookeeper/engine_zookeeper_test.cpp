// SPDX-License-Identifier: Apache-2.0
#include "support/lock_engine.hpp"
#include "support/zookeeper_server.hpp"

// Two instances, one ZooKeeper in front, one record table behind.
namespace {

using namespace nebis;

struct Service : test::ZookeeperServer {
    /// As in production: one that doesn't answer at once isn't waited for.
    std::shared_ptr<Gate> gate() const {
        zookeeper::Options with;
        with.addresses = options().addresses;
        return compose(zookeeper::lock(with).value());
    }
};

class ZookeeperEngine : public test::LockEngine<Service> {};

TEST_F(ZookeeperEngine, of_two_at_once_one_runs_and_the_other_is_held_off_by_the_lock) {
    of_two_at_once_one_runs_and_the_other_is_held_off_by_the_lock();
}

TEST_F(ZookeeperEngine, races_on_one_key_have_one_effect) { races_on_one_key_have_one_effect(); }

TEST_F(ZookeeperEngine, S27_a_ZooKeeper_that_dies_and_hangs_under_load_doubles_nothing_and_blocks_nobody) {
    one_that_dies_and_hangs_under_load_doubles_nothing_and_blocks_nobody();
}

TEST_F(ZookeeperEngine, a_ZooKeeper_that_is_down_at_the_start_stops_nobody) {
    one_that_is_down_at_the_start_stops_nobody();
}

}  // namespace
