// SPDX-License-Identifier: Apache-2.0
#include "driver/password_file.hpp"

#include <sys/stat.h>

#include <fstream>
#include <string_view>

namespace nebis::driver {
namespace {
constexpr std::size_t longest_password = 4096;
}

Result<std::string> read_password(const std::string& file, const std::string& server, const char* word) {
    const auto bad = [&](std::string_view why) {
        return Error(ErrorKind::misconfigured, "the password file of " + server + " " + std::string(why), file,
                     "`password-file` must name a file of at most 4096 bytes that only its owner can read")
            .with_code(word);
    };
    std::ifstream in(file, std::ios::binary);
    struct stat about {};
    if (!in || ::stat(file.c_str(), &about) != 0) return bad("can't be read");
    if ((about.st_mode & (S_IRWXG | S_IRWXO)) != 0) return bad("can be read by others");
    std::string text(longest_password + 1, '\0');
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
    if (text.ends_with('\n')) text.pop_back();
    if (text.ends_with('\r')) text.pop_back();
    if (text.empty() || text.size() > longest_password || text.find('\0') != std::string::npos)
        return bad("is empty, too long or no text");
    return text;
}

}  // namespace nebis::driver
