// SPDX-License-Identifier: Apache-2.0
// Feeds each file of the given folders and files to a fuzz target once: the corpus as a test, without libFuzzer.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void replay(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
    int inputs = 0;
    for (int i = 1; i < argc; ++i) {
        if (std::filesystem::is_directory(argv[i])) {
            for (const auto& file : std::filesystem::recursive_directory_iterator(argv[i])) {
                if (file.is_regular_file()) replay(file.path()), ++inputs;
            }
        } else {
            replay(argv[i]);
            ++inputs;
        }
    }
    std::printf("inputs=%d\n", inputs);
    return inputs > 0 ? 0 : 1;
}
