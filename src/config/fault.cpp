// SPDX-License-Identifier: Apache-2.0
#include "config/fault.hpp"

#include <algorithm>

namespace nebis::config {

std::string Location::text() const {
    if (line == 0) return source;
    return source + ":" + std::to_string(line) + ":" + std::to_string(column);
}

std::string Fault::text() const {
    auto out = at.text();
    out += (out.empty() ? "" : ": ") + what;
    if (!hint.empty()) out += " (" + hint + ")";
    return out;
}

Error to_error(std::span<const Fault> faults) {
    if (faults.size() == 1) {
        auto where = faults[0].at.text();
        return {ErrorKind::misconfigured, where + (where.empty() ? "" : ": ") + faults[0].what, {}, faults[0].hint};
    }
    std::string text = std::to_string(faults.size()) + " faults in the configuration";
    for (const auto& fault : faults.subspan(0, std::min(faults.size(), most_faults))) text += "\n" + fault.text();
    if (faults.size() > most_faults) text += "\n… and " + std::to_string(faults.size() - most_faults) + " more";
    return {ErrorKind::misconfigured, std::move(text)};
}

}  // namespace nebis::config
