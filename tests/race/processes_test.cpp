// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <sys/wait.h>

#include <fstream>
#include <map>
#include <sstream>

/// Four processes of sixteen threads on one SQLite file, hot and cold keys, against a ledger of effects (I1, I2, I3,
/// I5).
namespace nebis {
namespace {

using namespace testkit;

struct Effect {
    std::string who;
    std::uint64_t token;
};

TEST(Processes, I1_I2_I3_one_effect_for_each_key_and_every_answer_is_that_effect_s) {
    Folder folder;
    constexpr int processes = 4, threads = 16, hot = 40, cold = 40;
    std::vector<pid_t> children;
    for (int i = 0; i < processes; ++i) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            const std::string db = folder.file("race.db"), ledger = folder.file("ledger"),
                              answers = folder.file("answers");
            execl(RACE_WORKER, RACE_WORKER, db.c_str(), ledger.c_str(), answers.c_str(),
                  std::to_string(threads).c_str(), std::to_string(hot).c_str(), std::to_string(cold).c_str(), nullptr);
            _exit(127);
        }
        children.push_back(child);
    }
    for (const pid_t child : children) {
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status));
        EXPECT_EQ(WEXITSTATUS(status), 0);
    }
    std::map<std::string, std::vector<Effect>> effects;
    std::ifstream ledger(folder.file("ledger"));
    for (std::string key, who, token; ledger >> key >> who >> token;) effects[key].push_back({who, std::stoull(token)});
    EXPECT_EQ(effects.size(), static_cast<std::size_t>(hot + processes * threads * cold));
    for (const auto& [key, all] : effects) EXPECT_EQ(all.size(), 1U) << key << " had more than one effect";

    std::ifstream answers(folder.file("answers"));
    int answered = 0;
    for (std::string key, who; answers >> key >> who; ++answered) {
        ASSERT_TRUE(effects.contains(key)) << "a success without an effect: " << key;
        EXPECT_EQ(effects[key].front().who, who) << key;
    }
    EXPECT_EQ(answered, processes * threads * (hot + cold));
}

}  // namespace
}  // namespace nebis
