// SPDX-License-Identifier: Apache-2.0
#include "config/load.hpp"

#include "config/contradictions.hpp"
#include "config/names.hpp"
#include "config/writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

extern char** environ;

namespace nebis::config {
namespace {

constexpr std::string_view create_schema_key = "create-schema";

struct File {
    std::string text;
    bool others_can_read = false;
};

Error unreadable(const std::string& path, std::string why, std::string hint) {
    return {ErrorKind::misconfigured, path + ": " + std::move(why), {}, std::move(hint)};
}

Result<File> read_file(const std::string& path, std::size_t largest) {
    // Non-blocking, so that a named pipe is refused below instead of waited for.
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        const int fault = errno;
        if (fault == ENOENT)
            return unreadable(path, "there is no such file",
                              "check the path, or make the file; an empty one means all defaults");
        if (fault == EACCES)
            return unreadable(path, "no permission to read this file", "let the user that runs this program read it");
        return unreadable(path, std::strerror(fault), "check the path");
    }
    struct Closer {
        int fd;
        ~Closer() { ::close(fd); }
    } closer{fd};
    struct stat info {};
    if (::fstat(fd, &info) != 0) return unreadable(path, std::strerror(errno), "check the path");
    if (S_ISDIR(info.st_mode)) return unreadable(path, "this is a directory", "name the file in it");
    if (!S_ISREG(info.st_mode)) return unreadable(path, "this is not a regular file", "write the text to a file first");
    if (static_cast<std::uint64_t>(info.st_size) > largest) {
        return unreadable(path, "the file is larger than " + std::to_string(largest) + " bytes",
                          "this must be another file than meant");
    }
    File file;
    file.others_can_read = (info.st_mode & S_IROTH) != 0;
    std::array<char, 8192> buffer{};
    for (;;) {
        const auto got = ::read(fd, buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return unreadable(path, std::strerror(errno), "check the file system");
        if (got == 0) return file;
        file.text.append(buffer.data(), static_cast<std::size_t>(got));
        if (file.text.size() > largest)
            return unreadable(path, "the file grows while it is read", "write it elsewhere and rename it");
    }
}

class Loader {
public:
    Loader(const LoadOptions& options, std::string name, std::filesystem::path folder)
        : options_(options), name_(std::move(name)), folder_(std::move(folder)) {}

    Result<Settings> run(std::string_view text, bool others_can_read) {
        Writer writer(faults_);
        const auto root = read_yaml(text, name_, faults_);
        // A file that is no YAML says nothing about which keys are missing or wrong.
        if (!faults_.empty() && root.kind == Node::Kind::nothing) return to_error(faults_);
        writer.read_file(root);
        writer.read_environment(options_.environment);
        writer.read_sets(options_.sets);
        apply(writer.all());
        finish_data_sources();
        check_drivers(writer.all());
        read_secrets(others_can_read);
        if (faults_.empty()) faults_ = contradictions_written(settings_);
        if (!faults_.empty()) {
            std::ranges::stable_sort(faults_, {},
                                     [](const Fault& fault) { return std::pair(fault.at.line == 0, fault.at.line); });
            return to_error(faults_);
        }
        return std::move(settings_);
    }

private:
    void apply(const std::map<std::string, Written>& all) {
        // The profile first: it is a set of defaults that everything else stands above.
        if (const auto profile = all.find("profile"); profile != all.end()) {
            put(profile->first, profile->second);
            for (const auto& [key, value] : profile_values(settings_.defaults.profile)) {
                if (auto complaint = assign(*find_row(key), {settings_, settings_.defaults, {}}, value))
                    blame({}, key, *complaint);
            }
        }
        for (const auto& [path, written] : all) put(path, written);
    }

    void put(const std::string& path, const Written& written) {
        settings_.where.insert_or_assign(path, written.at);
        if (!written.row) return put_driver_key(path, written);
        std::optional<Complaint> complaint;
        if (written.path[0] == "operations") {
            OperationSettings scratch;
            complaint = assign(*written.row, {settings_, scratch, {}}, written.value);
            const auto key = dotted({written.path.begin() + 2, written.path.end()});
            settings_.operations[written.path[1]].insert_or_assign(key, written.value);
        } else {
            complaint = assign(*written.row, {settings_, settings_.defaults, name_in(written)}, written.value);
        }
        if (!complaint) return;
        auto at = written.at;
        if (at.line > 0 && complaint->offset > 0) at.column += complaint->offset + (written.quoted ? 1 : 0);
        blame(std::move(at), path, *complaint);
    }

    // What `<name>` of the row stands for in this path.
    static std::string_view name_in(const Written& written) {
        const auto place = written.row->path.find("<name>");
        if (place == std::string_view::npos) return {};
        const auto before = static_cast<std::size_t>(std::ranges::count(written.row->path.substr(0, place), '.'));
        return written.path[before];
    }

    void put_driver_key(const std::string& path, const Written& written) {
        if (written.value.list)
            return blame(written.at, path, {"must be one value, not a list", "a driver's keys take plain values"});
        auto& source = written.path[0] == "lock" ? settings_.lock : settings_.data_sources[written.path[1]];
        source.values.insert_or_assign(written.path.back(), written.value.items[0]);
    }

    void finish_data_sources() {
        auto defaults = default_settings().data_sources;
        if (settings_.data_sources.empty()) settings_.data_sources = defaults;
        for (auto& [name, source] : settings_.data_sources) {
            if (source.driver.empty()) {
                const auto known = defaults.find(name);
                if (known == defaults.end()) {
                    blame(first_place("datasources." + name), "datasources." + name,
                          {"has no driver", "write driver: sqlite, or another one"});
                    continue;
                }
                // The default data source with some keys of its own.
                source.driver = known->second.driver;
                if (!settings_.where.contains("datasources." + name + ".create-schema"))
                    source.create_schema = known->second.create_schema;
                source.values.insert(known->second.values.begin(), known->second.values.end());
            }
            tell_driver(source);
        }
    }

    // A driver that has to make a file before it can open it must know.
    static void tell_driver(DataSource& source) {
        if (source.create_schema) source.values.insert_or_assign(std::string(create_schema_key), "true");
    }

    void check_drivers(const std::map<std::string, Written>& all) {
        if (!options_.drivers) return;
        const auto& drivers = *options_.drivers;
        for (const auto& [name, source] : settings_.data_sources) {
            if (!source.driver.empty())
                check_driver("datasources." + name, source, drivers.stores, drivers.store_keys, "store", all);
        }
        if (settings_.lock.driver != "none")
            check_driver("lock", settings_.lock, drivers.gates, drivers.gate_keys, "lock", all);
    }

    template <class Factories, class Keys>
    void check_driver(const std::string& section, const DataSource& source, const Factories& factories,
                      const Keys& keys, std::string_view what, const std::map<std::string, Written>& all) {
        if (!factories.contains(source.driver)) {
            std::vector<std::string_view> names;
            std::string list;
            for (const auto& [name, make] : factories) {
                names.push_back(name);
                list += (list.empty() ? "" : ", ") + name;
            }
            const auto near = nearest(source.driver, names);
            return blame(place(section + ".driver"), section + ".driver",
                         {"this program has no " + std::string(what) + " driver '" + source.driver + "'",
                          (near ? "did you mean '" + std::string(*near) + "'? " : std::string()) +
                              "it has: " + (list.empty() ? "none" : list)});
        }
        const auto declared = keys.find(source.driver);
        if (declared == keys.end()) return;
        for (const auto& [key, value] : source.values) {
            if (key == create_schema_key) continue;  // a row of the table
            const auto path = section + "." + key;
            const auto found = std::ranges::find(declared->second, key, &DriverKey::name);
            if (found == declared->second.end()) {
                std::vector<std::string_view> names;
                for (const auto& known : declared->second) names.push_back(known.name);
                const auto near = nearest(key, names);
                blame(place(path), path,
                      {"driver '" + source.driver + "' has no such key",
                       near ? "did you mean '" + std::string(*near) + "'?" : "see its README"});
                continue;
            }
            if (found->kind == DriverKey::Kind::secret) settings_.secrets.insert(path);
            if (all.contains(path)) check_driver_value(path, *found, value);
        }
        for (const auto& known : declared->second) {
            if (known.required && !source.values.contains(known.name)) {
                blame(first_place(section), section,
                      {"driver '" + source.driver + "' needs the key '" + known.name + "'", known.about});
            }
        }
    }

    // A driver's key is checked as a row of the table would be.
    void check_driver_value(const std::string& path, const DriverKey& key, const std::string& value) {
        Row row{.path = key.name};
        row.min = key.min;
        row.max = key.max;
        for (const auto& choice : key.choices) row.choices.push_back(choice);
        switch (key.kind) {
            case DriverKey::Kind::flag:
                row.kind = Kind::flag;
                row.field = [](Target& t) -> Field { return &t.operation.enabled; };
                break;
            case DriverKey::Kind::integer:
                row.kind = Kind::count;
                row.field = [](Target& t) -> Field { return &t.operation.max_request_bytes; };
                break;
            case DriverKey::Kind::choice:
                row.kind = Kind::choice;
                row.field = [](Target& t) -> Field { return reinterpret_cast<unsigned char*>(&t.operation.scope); };
                break;
            case DriverKey::Kind::secret:
                row.kind = Kind::secret;
                row.field = [](Target& t) -> Field { return &t.operation.table; };
                break;
            case DriverKey::Kind::text:
                row.kind = Kind::text;
                row.field = [](Target& t) -> Field { return &t.operation.table; };
                break;
        }
        OperationSettings scratch;
        if (auto complaint = assign(row, {settings_, scratch, {}}, value)) blame(place(path), path, *complaint);
    }

    void read_secrets(bool others_can_read) {
        read_keys("token.keys", settings_.token.keys, others_can_read);
        check_current("token", "signs", settings_.token);
        read_keys("seal.keys", settings_.seal.keys, others_can_read);
        check_current("seal", "seals", settings_.seal);
        if (settings_.seal.required && settings_.seal.keys.empty())
            blame(place("seal.required"), "seal.required",
                  {"sealed snapshots need a key", "set seal.keys.<id>.secret-file"});
    }

    void read_keys(const std::string& section, std::map<std::string, KeySecret>& keys, bool others_can_read) {
        const Row& rule = *find_row(section + ".<name>.secret");
        for (auto& [id, key] : keys) {
            const auto path = section + "." + id;
            if (key.file.empty()) {
                if (others_can_read && place(path + ".secret").source == name_) {
                    warn(place(path + ".secret"), "everybody on this machine can read this file, and it holds a secret",
                         "chmod o-r " + name_ + ", or use secret-file");
                }
                continue;
            }
            const auto at = place(path + ".secret-file");
            auto file = read_file((folder_ / key.file).string(), 64 * 1024);
            if (!file) {
                blame(at, path + ".secret-file", {file.error().message(), file.error().hint()});
                continue;
            }
            if (file->others_can_read)
                warn(at, "everybody on this machine can read the secret in " + key.file, "chmod o-r " + key.file);
            auto secret = std::move(file->text);
            if (secret.ends_with('\n')) secret.pop_back();
            if (secret.ends_with('\r')) secret.pop_back();
            const auto length = static_cast<std::int64_t>(secret.size());
            if (length < rule.min || length > rule.max) {
                blame(at, path + ".secret-file",
                      {"the secret in " + key.file + " has " + std::to_string(length) + " bytes",
                       std::to_string(rule.min) + " to " + std::to_string(rule.max) + " are needed"});
            }
            key.secret = std::move(secret);
        }
    }

    template <class Section>
    void check_current(const std::string& name, const std::string& does, const Section& section) {
        if (!section.current.empty() && !section.keys.contains(section.current)) {
            blame(place(name + ".current"), name + ".current",
                  {"there is no key '" + section.current + "' under " + name + ".keys", "name one of the keys there"});
        }
        if (section.current.empty() && section.keys.size() > 1) {
            blame(first_place(name + ".keys"), name + ".keys",
                  {"holds several keys", "say with " + name + ".current which one " + does});
        }
    }

    Location place(const std::string& path) const {
        const auto found = settings_.where.find(path);
        return found == settings_.where.end() ? Location{.source = name_} : found->second;
    }
    Location first_place(const std::string& section) const {
        for (const auto& [path, at] : settings_.where) {
            if (path.starts_with(section + ".")) return at;
        }
        return {.source = name_};
    }

    void blame(Location at, const std::string& path, Complaint complaint) {
        faults_.push_back({std::move(at), path + ": " + complaint.what, std::move(complaint.hint)});
    }
    void warn(Location at, std::string what, std::string hint) {
        settings_.warnings.push_back(Fault{std::move(at), std::move(what), std::move(hint)}.text());
    }

    const LoadOptions& options_;
    std::string name_;
    std::filesystem::path folder_;
    Settings settings_;
    std::vector<Fault> faults_;
};

}  // namespace

std::map<std::string, std::string> process_environment() {
    std::map<std::string, std::string> found;
    for (char** variable = environ; variable && *variable; ++variable) {
        const std::string_view text = *variable;
        const auto equals = text.find('=');
        if (!text.starts_with("NEBIS__") || equals == std::string_view::npos) continue;
        found.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    return found;
}

Result<Settings> load(const std::string& path, const LoadOptions& options) {
    auto file = read_file(path, largest_file);
    if (!file) return Error(file.error());
    return Loader(options, path, std::filesystem::path(path).parent_path()).run(file->text, file->others_can_read);
}

Result<Settings> load_text(std::string_view text, const std::string& name, const LoadOptions& options) {
    return Loader(options, name, {}).run(text, false);
}

}  // namespace nebis::config
