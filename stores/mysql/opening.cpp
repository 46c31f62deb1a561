// SPDX-License-Identifier: Apache-2.0
#include "opening.hpp"

#include "driver/password_file.hpp"

#include <charconv>

namespace nebis::mysql {
namespace {

constexpr int highest_port = 65535;
constexpr std::string_view unix_scheme = "unix:";
/// Those that never show the password to a server that isn't the right one.
constexpr const char* good_logins = "mysql_native_password,client_ed25519,caching_sha2_password,sha256_password";

Error bad_address(const std::string& address) {
    return Error(ErrorKind::misconfigured, "not an address of MySQL", address,
                 "write host:port, [v6]:port or unix:/path")
        .with_code("mysql-address");
}

Result<Place> parse(const std::string& address) {
    Place place;
    if (address.find('\0') != std::string::npos) return bad_address(address);
    if (address.starts_with(unix_scheme)) {
        place.socket = address.substr(unix_scheme.size());
        if (!place.socket.starts_with('/')) return bad_address(address);
        return place;
    }
    const auto colon = address.rfind(':');
    if (colon == std::string::npos || colon == 0) return bad_address(address);
    place.host = address.substr(0, colon);
    if (place.host.starts_with('[') && place.host.ends_with(']'))
        place.host = place.host.substr(1, place.host.size() - 2);
    else if (place.host.find(':') != std::string::npos)
        return bad_address(address);
    const char* const end = address.data() + address.size();
    int port = 0;
    const auto [stop, fault] = std::from_chars(address.data() + colon + 1, end, port);
    if (fault != std::errc() || stop != end || port < 1 || port > highest_port || place.host.empty())
        return bad_address(address);
    place.port = static_cast<unsigned>(port);
    return place;
}

}  // namespace

Result<std::vector<Place>> places_of(const Options& options) {
    if (options.addresses.empty()) return bad_address("");
    std::vector<Place> places;
    for (const auto& address : options.addresses) {
        auto place = parse(address);
        if (!place) return std::move(place).error();
        places.push_back(*std::move(place));
    }
    return places;
}

Result<std::string> password_of(const Options& options) {
    if (options.password_file.empty()) return options.password;
    return driver::read_password(options.password_file, "MySQL", "mysql-password-file");
}

Result<void> prepare_handle(MYSQL* handle, const Options& options) {
    mysql_options(handle, MYSQL_OPT_NONBLOCK, nullptr);
    mysql_options(handle, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    const unsigned int no = 0;
    mysql_options(handle, MYSQL_OPT_LOCAL_INFILE, &no);  // a server may ask the client for any file
    mysql_options(handle, MARIADB_OPT_RESTRICTED_AUTH, good_logins);
    const my_bool never = 0;
    mysql_options(handle, MYSQL_OPT_RECONNECT, &never);
    mysql_options4(handle, MYSQL_OPT_CONNECT_ATTR_ADD, "program_name", "nebis");
    if (!options.tls.enabled) return {};
    if (options.tls.ca_file.empty())
        return Error(ErrorKind::misconfigured, "TLS with MySQL needs `tls-ca-file`", {},
                     "name the PEM file of the authorities to trust; /etc/ssl/certs/ca-certificates.crt are the "
                     "system's")
            .with_code("mysql-tls");
    const my_bool yes = 1;
    mysql_options(handle, MYSQL_OPT_SSL_ENFORCE, &yes);
    mysql_options(handle, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &yes);
    mysql_options(handle, MYSQL_OPT_SSL_CA, options.tls.ca_file.c_str());
    mysql_options(handle, MARIADB_OPT_TLS_VERSION, "TLSv1.2,TLSv1.3");
    if (!options.tls.cert_file.empty()) mysql_options(handle, MYSQL_OPT_SSL_CERT, options.tls.cert_file.c_str());
    if (!options.tls.key_file.empty()) mysql_options(handle, MYSQL_OPT_SSL_KEY, options.tls.key_file.c_str());
    return {};
}

}  // namespace nebis::mysql
