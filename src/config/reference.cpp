// SPDX-License-Identifier: Apache-2.0
#include "config/reference.hpp"

#include "config/load.hpp"
#include "config/names.hpp"
#include "config/table.hpp"
#include "observe/messages.hpp"
#include "observe/metrics.hpp"

#include <array>

namespace nebis::config {
namespace {

struct Section {
    std::string_view title;
    std::string_view first;  ///< the row it begins with
    std::string_view about;
};

constexpr std::array sections{
    Section{"Every operation", "profile",
            "These keys hold for all operations when they stand directly under `nebis: idempotent:`, and for one under "
            "`operations: <name>:`."},
    Section{"Which request is it", "key-expression", "At most one of the `key-…` keys stands in one place."},
    Section{"Effect and lease", "mode", ""},
    Section{"Retention", "record-expire-hours", ""},
    Section{"What duplicates get", "duplicate-handler", ""},
    Section{"Failures", "unlisted", ""},
    Section{"Limits, snapshots, tables", "quota.new-keys", ""},
    Section{"Stores and locks", "datasources.<name>.driver",
            "From here on: keys of the whole instance, not of one operation."},
    Section{"Upkeep", "scheduler-enabled", ""},
    Section{"Limits of the instance", "batch-max", ""},
    Section{"One-time tokens", "token.keys.<name>.secret", ""},
    Section{"Sealed snapshots", "seal.keys.<name>.secret", ""},
    Section{"HTTP and messages", "http.listen", ""},
};

constexpr std::string_view introduction = R"(# Configuration

<!-- Made by nebis-settings from the table of settings; edit src/config/*_rows.cpp instead. -->

One YAML file, every key under `nebis: idempotent:`. An empty file means all defaults.

```yaml
nebis:
  idempotent:
    lock-expire-millis: 10000
    record-expire-hours: 24
    duplicate-handler: throw
    datasources:
      primary:
        driver: sqlite
        path: /var/lib/shop/nebis.db
        create-schema: true
    operations:
      createOrder:
        key-from-header: Idempotency-Key
        mode: atomic
      payOrder:
        key-expression: "#request.orderId + ':' + #request.userId"
        record-expire-hours: 72
```

**Precedence**: `--set` flag > environment > file > default. For one operation: `operations.<name>` > what its code says > the keys for all
operations > profile > built-in default. So an operator has the last word. A general value that doesn't fit a more specific one gives way (a
`budget-millis` for all operations to a shorter lease of one); two values that were written for the same thing and contradict each other are
refused.

**Environment**: the path in upper case, `__` between its parts, `_` for every other character: `NEBIS__IDEMPOTENT__LOCK_RENEW__ENABLED=false`,
`NEBIS__IDEMPOTENT__OPERATIONS__PAYORDER__MODE=atomic`. A name (operation, data source, key id) that the file has is found in upper case; any
other is taken as it is written, lower case included. Lists are written `a,b`. A variable that begins with `NEBIS__` and names no setting is
an error.

**Flags**: `--set operations.payOrder.mode=atomic`; `nebis.idempotent.` may stand in front.

**YAML**: UTF-8 (a byte order mark and CRLF do no harm), at most 1 MiB, one document. Refused, with file, line and column: unknown and repeated
keys, tabs in the indentation, anchors, aliases, merge keys and tags; numbers with a unit, a sign or a leading zero; `yes`, `on`, `True` for
`true`; texts that some readers take for something else (`no`, `012`, `1e3`) unless in quotes. Durations are whole numbers, the unit stands in the
key; 0 never means "for ever".

**Secrets** can stand in files: `secret-file` takes a path, relative to the configuration file; one line break at the end doesn't count. A warning
says when others on the machine can read it.

Marks: *operation*: may stand under `operations.<name>`. *live*: a program that reloads its configuration may change it while requests are in
flight; other keys need a restart. *fleet*: all instances that share a store must agree.

)";

std::string default_text(const Row& row, Settings& defaults) {
    if (row.path.find('<') == std::string_view::npos) {
        const auto value = value_of(row, {defaults, defaults.defaults, {}});
        if (row.unset.empty() || (!value.items.empty() && row.alternative.empty())) {
            if (value.items.empty())
                return row.kind == Kind::list ? "empty" : row.unset.empty() ? "none" : std::string(row.unset);
            return "`" + yaml_text(row, value) + "`";
        }
    } else if (row.unset.empty()) {
        Settings scratch;
        return "`" + yaml_text(row, value_of(row, {scratch, scratch.defaults, "example"})) + "`";
    }
    return std::string(row.unset);
}

void row_text(std::string& out, const Row& row, Settings& defaults) {
    out += "### `" + std::string(row.path) + "`\n\n" + std::string(row.about) + "\n\n";
    out += "- " + type_text(row) + "; default: " + default_text(row, defaults) + "\n";
    std::string marks;
    if (row.operation) marks += ", operation";
    if (row.reload) marks += ", live";
    if (row.fleet) marks += ", fleet";
    if (!marks.empty()) out += "- *" + marks.substr(2) + "*\n";
    if (!row.too_low.empty()) out += "- too low: " + std::string(row.too_low) + "\n";
    if (!row.too_high.empty()) out += "- too high: " + std::string(row.too_high) + "\n";
    out += "- `" + environment_name(row.path) + "`\n\n";
}

std::string driver_type(const DriverKey& key) {
    switch (key.kind) {
        case DriverKey::Kind::flag: return "true or false";
        case DriverKey::Kind::integer: return "number, " + std::to_string(key.min) + " to " + std::to_string(key.max);
        case DriverKey::Kind::secret: return "text, secret";
        case DriverKey::Kind::text: return "text";
        case DriverKey::Kind::choice: break;
    }
    std::string text;
    for (const auto& choice : key.choices) text += (text.empty() ? "" : ", ") + choice;
    return text;
}

void driver_keys(std::string& out, std::string_view section,
                 const std::map<std::string, std::vector<DriverKey>, std::less<>>& drivers) {
    for (const auto& [driver, keys] : drivers) {
        if (keys.empty()) continue;
        out += "### Keys of driver `" + driver + "` (under `" + std::string(section) + "`)\n\n";
        out += "| key | type | default | |\n| --- | --- | --- | --- |\n";
        for (const auto& key : keys) {
            if (find_row(std::string(section) + "." + key.name)) continue;  // stands above already
            const auto fallback = key.required           ? std::string("required")
                                  : key.fallback.empty() ? std::string("none")
                                                         : "`" + key.fallback + "`";
            out += "| `" + key.name + "` | " + driver_type(key) + " | " + fallback + " | " + key.about + " |\n";
        }
        out += "\n";
    }
}

void profiles(std::string& out) {
    out += "## Profiles\n\n| key | strict | article |\n| --- | --- | --- |\n";
    for (const auto& [key, strict] : profile_values(Profile::strict)) {
        const Row& row = *find_row(key);
        out += "| `" + key + "` | `" + yaml_text(row, strict) + "` | `" +
               yaml_text(row, profile_values(Profile::article).at(key)) + "` |\n";
    }
    out += "\n";
}

void messages(std::string& out) {
    out +=
        "## Messages\n\nIds for `messages.overrides`, and the texts of the catalogue.\n\n| id | en | zh |\n| --- | --- "
        "| --- |\n";
    for (const auto& row : observe::message_table()) {
        out += "| `" + std::string(row.id) + "` | " + std::string(row.en) + " | " + std::string(row.zh) + " |\n";
    }
}

}  // namespace

std::string reference_page(const Drivers& drivers) {
    std::string out(introduction);
    Settings defaults = default_settings();
    for (const auto& row : table()) {
        for (const auto& section : sections) {
            if (section.first != row.path) continue;
            out += "## " + std::string(section.title) + "\n\n";
            if (!section.about.empty()) out += std::string(section.about) + "\n\n";
        }
        row_text(out, row, defaults);
        if (row.path == "datasources.<name>.session-wait-millis")
            driver_keys(out, "datasources.<name>", drivers.store_keys);
        if (row.path == "lock.session-wait-millis") driver_keys(out, "lock", drivers.gate_keys);
    }
    profiles(out);
    messages(out);
    return out;
}

std::string metrics_page() {
    std::string out =
        "# Metrics\n\n<!-- Made by nebis-settings from the table of metrics; edit src/observe/metrics.cpp instead. "
        "-->\n\n"
        "Prometheus text format. All labels are bounded: operations, data sources and fixed words. Every counter of an "
        "operation is there with 0 from "
        "the first scrape.\n\n| metric | type | labels | |\n| --- | --- | --- | --- |\n";
    for (const auto& row : observe::metric_table()) {
        out += "| `" + std::string(row.name) + "` | " + std::string(row.type) + " | " + std::string(row.labels) +
               " | " + std::string(row.help) + " |\n";
    }
    return out;
}

}  // namespace nebis::config
