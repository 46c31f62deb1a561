// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "article.hpp"
#include "world.hpp"

#include <vector>

namespace nebis::explore {

/// A configuration and what is expected of it.
struct Task {
    Config config;
    bool convict = false;          ///< a violation must be found
    std::string_view charge = {};  ///< and that is how it must begin
};

/// The protocol as it is: every one must be acquitted. `share`: smaller ones, for the tests of every build.
std::vector<Task> sound_tasks(bool share);
/// The protocol with one rule broken: every one must be convicted.
std::vector<Task> broken_tasks();

struct ArticleTask {
    ArticleConfig config;
    bool convict = true;
};
/// The article's own algorithm: convicted of a double effect and of SUCCESS overwritten by FAIL, once even without any
/// fault. Where nothing befalls it, it is safe, and the explorer has to say that too.
std::vector<ArticleTask> article_tasks();

}  // namespace nebis::explore
