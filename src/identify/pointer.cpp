// SPDX-License-Identifier: Apache-2.0
#include "identify/pointer.hpp"

namespace nebis::identify {
namespace {

Error bad_pointer(std::string_view pointer, const char* why) {
    return Error(ErrorKind::misconfigured, "\"" + std::string(pointer) + "\" is not a JSON pointer: " + why, {},
                 "write /name or /outer/inner; ~1 stands for / and ~0 for ~ inside a name");
}

}  // namespace

Result<std::vector<std::string>> split_pointer(std::string_view pointer) {
    std::vector<std::string> segments;
    if (pointer.empty()) return segments;
    if (pointer.front() != '/') return bad_pointer(pointer, "it doesn't begin with /");
    for (std::size_t i = 0; i < pointer.size(); ++i) {
        if (pointer[i] == '/') {
            segments.emplace_back();
        } else if (pointer[i] == '~') {
            const char next = i + 1 < pointer.size() ? pointer[i + 1] : '\0';
            if (next != '0' && next != '1') return bad_pointer(pointer, "~ is followed by neither 0 nor 1");
            segments.back().push_back(next == '0' ? '~' : '/');
            ++i;
        } else {
            segments.back().push_back(pointer[i]);
        }
    }
    return segments;
}

}  // namespace nebis::identify
