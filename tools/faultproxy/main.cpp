// SPDX-License-Identifier: Apache-2.0
// Stands between a client and a server and spoils what they say to each other, as the lines on stdin say.
#include "faultproxy/commands.hpp"

#include <CLI/CLI.hpp>

#include <iostream>
#include <string>
#include <system_error>

int main(int argc, char** argv) {
    using namespace nebis::faultproxy;
    CLI::App app(
        "Examples:\n"
        "  nebis-faultproxy --to 6379                  # prints its port; type commands, Ctrl-D ends it\n"
        "  echo 'delay to-client 200' | cat - /dev/tty | nebis-faultproxy --to 5432\n\n"
        "A TCP proxy that spoils connections on command: a command a line on stdin, an answer a line on stdout.\n"
        "It ends when stdin does, or with SIGTERM.\n\nCommands:\n" +
            std::string(commands_help),
        "nebis-faultproxy");
    std::string host = "127.0.0.1";
    std::uint16_t to = 0, listen = 0;
    app.add_option("--to", to, "port of the server")->required()->check(CLI::Range(1, 65'535));
    app.add_option("--host", host, "address of the server (no name)")->capture_default_str();
    app.add_option("--listen", listen, "loopback port to listen on; 0: a free one")->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    try {
        FaultProxy proxy(to, host, listen);
        std::cout << proxy.port() << std::endl;
        for (std::string line; std::getline(std::cin, line);)
            if (!line.empty()) std::cout << obey(proxy, line) << std::endl;
    } catch (const std::system_error& failed) {
        std::cerr << "nebis-faultproxy: " << failed.what() << "\n";
        return 1;
    }
    return 0;
}
