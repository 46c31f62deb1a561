// SPDX-License-Identifier: Apache-2.0
#include "opening.hpp"

#include "driver/password_file.hpp"

#include <arpa/inet.h>

#include <array>
#include <charconv>

namespace nebis::postgres {
namespace {

constexpr int highest_port = 65535;
constexpr std::string_view unix_scheme = "unix:", socket_name = "/.s.PGSQL.";

Result<std::string> password_of(const Options& options) {
    if (options.password_file.empty()) return options.password;
    return driver::read_password(options.password_file, "PostgreSQL", "postgres-password-file");
}

Error bad_address(const std::string& address) {
    return Error(ErrorKind::misconfigured, "not an address of PostgreSQL", address,
                 "write host:port, [v6]:port or unix:/folder/.s.PGSQL.5432")
        .with_code("postgres-address");
}

struct Place {
    std::string host, number, port;
};

bool is_number(const std::string& host) {
    std::array<unsigned char, sizeof(in6_addr)> ignored{};
    return ::inet_pton(AF_INET, host.c_str(), ignored.data()) == 1 ||
           ::inet_pton(AF_INET6, host.c_str(), ignored.data()) == 1;
}

Result<Place> parse(const std::string& address) {
    Place place;
    if (address.starts_with(unix_scheme)) {
        const auto name = address.rfind(socket_name);
        if (name == std::string::npos || name <= unix_scheme.size() || address[unix_scheme.size()] != '/')
            return bad_address(address);
        place.host = address.substr(unix_scheme.size(), name - unix_scheme.size());
        place.port = address.substr(name + socket_name.size());
    } else {
        const auto colon = address.rfind(':');
        if (colon == std::string::npos || colon == 0) return bad_address(address);
        place.host = address.substr(0, colon);
        place.port = address.substr(colon + 1);
        if (place.host.starts_with('[') && place.host.ends_with(']'))
            place.host = place.host.substr(1, place.host.size() - 2);
        else if (place.host.find(':') != std::string::npos)
            return bad_address(address);
        if (is_number(place.host)) place.number = place.host;
    }
    int port = 0;
    const char* const end = place.port.data() + place.port.size();
    const auto [stop, fault] = std::from_chars(place.port.data(), end, port);
    if (fault != std::errc() || stop != end || port < 1 || port > highest_port ||
        place.host.find_first_of(std::string_view(",\0", 2)) != std::string::npos)
        return bad_address(address);
    return place;
}

}  // namespace

Result<std::vector<std::pair<std::string, std::string>>> parameters_of(const Options& options) {
    std::string hosts, numbers, ports;
    if (options.addresses.empty()) return bad_address("");
    for (const auto& address : options.addresses) {
        auto place = parse(address);
        if (!place) return std::move(place).error();
        const char* const comma = hosts.empty() ? "" : ",";
        hosts.append(comma).append(place->host);
        numbers.append(comma).append(place->number);
        ports.append(comma).append(place->port);
    }
    auto password = password_of(options);
    if (!password) return std::move(password).error();
    std::vector<std::pair<std::string, std::string>> all{
        {"host", hosts},
        {"hostaddr", numbers},
        {"port", ports},
        {"dbname", options.database},
        {"user", options.username},
        {"password", *password},
        {"application_name", "nebis"},
        {"client_encoding", "UTF8"},
        {"gssencmode", "disable"},
        {"target_session_attrs", options.addresses.size() > 1 ? "read-write" : "any"},
        {"sslmode", options.tls.enabled ? "verify-full" : "disable"},
        {"ssl_min_protocol_version", "TLSv1.2"},
    };
    if (options.tls.enabled) {
        if (options.tls.ca_file.empty())
            return Error(ErrorKind::misconfigured, "TLS with PostgreSQL needs `tls-ca-file`", {},
                         "name the PEM file of the authorities to trust; /etc/ssl/certs/ca-certificates.crt are the "
                         "system's")
                .with_code("postgres-tls");
        all.emplace_back("sslrootcert", options.tls.ca_file);
        if (!options.tls.cert_file.empty()) all.emplace_back("sslcert", options.tls.cert_file);
        if (!options.tls.key_file.empty()) all.emplace_back("sslkey", options.tls.key_file);
    }
    return all;
}

}  // namespace nebis::postgres
