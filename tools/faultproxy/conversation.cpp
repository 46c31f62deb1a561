// SPDX-License-Identifier: Apache-2.0
#include "conversation.hpp"

namespace nebis::faultproxy {

void Conversation::client_said(std::string_view bytes) {
    if (!client_speaks_) {
        client_speaks_ = true;
        request_ = plan_.tally.change([](Counts& counts) { ++counts.requests; }).requests;
        tail_.clear();
        // A client that gave up speaks again before its reply has come: that one is still the one to lose.
        if (begun_losing_) losing_.reset();
        begun_losing_ = false;
    }
    tail_ += bytes;
    std::erase_if(plan_.losses, [&](Loss& loss) {
        if (loss.last_request == request_ || tail_.find(loss.marker) == std::string::npos) return false;
        loss.last_request = request_;
        if (--loss.left > 0) return false;
        losing_ = loss.after;
        return true;
    });
    if (tail_.size() >= longest_marker) tail_.erase(0, tail_.size() - (longest_marker - 1));
}

std::optional<After> Conversation::server_said(std::string_view bytes) {
    client_speaks_ = false;
    if (!losing_) return {};
    plan_.tally.change([&](Counts& counts) {
        counts.lost_replies += begun_losing_ ? 0 : 1;
        counts.swallowed_bytes += bytes.size();
    });
    begun_losing_ = true;
    return losing_;
}

}  // namespace nebis::faultproxy
