// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "call.hpp"
#include "launch.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace shop {

/// A client's tries to get one thing done.
struct Asked {
    std::optional<CallReply> reply;  ///< the last answer
    int refusals = 0;                ///< answers before it that said "later"
    bool replayed() const { return reply && reply->header("Idempotency-Replayed") == "true"; }
};

/// Everything on the stage: two services on one database, the bank, and the words for the audience.
class Stage {
public:
    Stage();
    ~Stage();

    void start(int service);
    void kill(int service);  ///< -9
    bool wait_for_log(int service, std::string_view words) const;
    std::string address(int service) const;

    CallResult get(int service, const std::string& path) const;
    CallResult post(int service, const std::string& path, const std::string& body, const Headers& headers) const;
    /// As a good client does: the same key again while the answer is "later" or none at all.
    Asked post_until_final(int service, const std::string& path, const std::string& body, const Headers& headers) const;

    std::size_t orders(std::string_view note) const;    ///< in the database
    std::size_t payments(std::string_view note) const;  ///< at the bank

    void says(const std::string& act);
    bool ends(bool good, const std::string& figures);
    /// The last line of the show; true when nothing was doubled or lost.
    bool figures();

    int replays = 0;

private:
    std::vector<std::string> notes(const Endpoint& from, const std::string& path, std::string_view list) const;

    TemporaryFolder folder_{"nebis-show"};
    Running bank_;
    std::array<Running, 2> services_;
    bool colours_ = false;
    int acts_ = 0;
};

}  // namespace shop
