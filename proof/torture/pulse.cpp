// SPDX-License-Identifier: Apache-2.0
#include "pulse.hpp"

#include "target.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace nebis::torture {

Pulse::Pulse(std::string file, std::chrono::milliseconds patience, std::chrono::milliseconds after)
    : file_(std::move(file)),
      patience_(patience),
      after_(after),
      heart_([this](std::stop_token stop) { beat(stop); }) {}

void Pulse::beat(const std::stop_token& stop) {
    const int file = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    const std::chrono::microseconds patience = patience_, after = after_;
    for (proof::Micros began = now_micros(); !stop.stop_requested();) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        // A file that can't be written tells nothing about the disk; the processor is still felt.
        if (file >= 0 && ::pwrite(file, "~", 1, 0) == 1) ::fdatasync(file);
        const proof::Micros ended = now_micros();
        if (ended - began > patience.count()) {
            const std::lock_guard lock(mutex_);
            faults_.push_back({began, ended + after.count()});
        }
        began = ended;
    }
    if (file >= 0) ::close(file);
}

std::vector<proof::Fault> Pulse::faults() const {
    const std::lock_guard lock(mutex_);
    return faults_;
}

}  // namespace nebis::torture
