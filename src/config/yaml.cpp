// SPDX-License-Identifier: Apache-2.0
#include "config/yaml.hpp"

#include "observe/utf8.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <istream>
#include <streambuf>

namespace nebis::config {
namespace {

// Thrown from a handler to leave the parser; what is wrong has been noted already.
struct Enough {};

class Builder final : public YAML::EventHandler {
public:
    Builder(const std::string& name, std::vector<Fault>& faults) : name_(name), faults_(faults) {}

    Node root() && { return std::move(root_); }

    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}

    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        check(mark, anchor, "");
        add(Node{.kind = Node::Kind::nothing, .at = at(mark), .text = {}, .items = {}, .members = {}});
    }

    void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
        blame(mark, "an alias (*name)",
              "write the value out: what a configuration says should be seen where it stands");
    }

    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& value) override {
        check(mark, anchor, tag);
        add(Node{.kind = Node::Kind::scalar,
                 .at = at(mark),
                 .text = value,
                 .quoted = tag == "!",
                 .items = {},
                 .members = {}});
    }

    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        check(mark, anchor, tag);
        open(mark, Node::Kind::list);
    }
    void OnSequenceEnd() override { close(); }
    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        check(mark, anchor, tag);
        open(mark, Node::Kind::map);
    }
    void OnMapEnd() override { close(); }

    Location at(const YAML::Mark& mark) const {
        return {name_, static_cast<std::size_t>(mark.line + 1), static_cast<std::size_t>(mark.column + 1)};
    }

private:
    // A map that waits for the value of its newest key has one key more than values.
    struct Open {
        Node node;
        bool key_waits = false;
    };

    [[noreturn]] void blame(const YAML::Mark& mark, const std::string& what, const std::string& hint) {
        faults_.push_back({at(mark), what + " is not taken here", hint});
        throw Enough{};
    }

    void check(const YAML::Mark& mark, YAML::anchor_t anchor, const std::string& tag) {
        if (anchor != 0) blame(mark, "an anchor (&name)", "write the value out where it is used");
        if (!tag.empty() && tag != "?" && tag != "!")
            blame(mark, "a tag (" + tag.substr(0, 60) + ")", "write the plain value");
    }

    void open(const YAML::Mark& mark, Node::Kind kind) {
        if (stack_.size() >= deepest_nesting)
            blame(mark, "nesting deeper than " + std::to_string(deepest_nesting), "no key lies that deep");
        stack_.push_back({Node{.kind = kind, .at = at(mark), .text = {}, .items = {}, .members = {}}, false});
    }

    void close() {
        auto done = std::move(stack_.back().node);
        stack_.pop_back();
        add(std::move(done));
    }

    void add(Node node) {
        if (stack_.empty()) {
            root_ = std::move(node);
            return;
        }
        auto& parent = stack_.back();
        if (parent.node.kind == Node::Kind::list) {
            parent.node.items.push_back(std::move(node));
        } else if (parent.key_waits) {
            parent.node.members.back().second = std::move(node);
            parent.key_waits = false;
        } else {
            check_key(parent.node, node);
            parent.node.members.push_back({std::move(node), Node{}});
            parent.key_waits = true;
        }
    }

    void check_key(const Node& map, const Node& key) {
        const auto blame_key = [&](std::string what, std::string hint) {
            faults_.push_back({key.at, std::move(what), std::move(hint)});
        };
        if (key.kind != Node::Kind::scalar) return blame_key("a key must be one plain word", "write key: value");
        if (key.text == "<<" && !key.quoted)
            return blame_key("a merge key (<<) is not taken here", "write the keys out");
        const auto same =
            std::ranges::find_if(map.members, [&](const auto& member) { return member.first.text == key.text; });
        if (same == map.members.end()) return;
        blame_key("the key '" + key.text.substr(0, 80) + "' stands here twice",
                  "the first one is in line " + std::to_string(same->first.at.line));
    }

    const std::string& name_;
    std::vector<Fault>& faults_;
    std::vector<Open> stack_;
    Node root_;
};

// Reads a view without copying it.
class ViewBuffer : public std::streambuf {
public:
    explicit ViewBuffer(std::string_view text) {
        auto* begin = const_cast<char*>(text.data());  // NOLINT: std::streambuf wants it; nothing is written
        setg(begin, begin, begin + text.size());
    }
};

// What must be seen in the bytes, before a parser makes the best of them.
bool check_bytes(std::string_view text, const std::string& name, std::vector<Fault>& faults) {
    const auto before = faults.size();
    if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
        faults.push_back({{name, 1, 1}, "this is UTF-16", "save the file as UTF-8"});
        return false;
    }
    std::size_t line = 1;
    std::size_t column = 1;
    bool indentation = true;
    for (std::size_t at = 0; at < text.size();) {
        const auto c = static_cast<unsigned char>(text[at]);
        const auto length = observe::utf8_sequence(text.substr(at));
        if (length == 0) {
            faults.push_back({{name, line, column}, "this is not UTF-8", "save the file as UTF-8"});
            return false;
        }
        if (c == '\t' && indentation) {
            // Blank and comment lines don't matter.
            const auto rest = text.find_first_not_of(" \t\r", at);
            if (rest != std::string_view::npos && text[rest] != '\n' && text[rest] != '#') {
                faults.push_back({{name, line, column}, "a tab in the indentation", "indent with spaces"});
                indentation = false;
            }
        } else if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f) {
            faults.push_back({{name, line, column}, "a control character", "remove it"});
            return false;
        } else if (c != ' ' && c != '\t') {
            indentation = false;
        }
        at += length;
        ++column;
        if (c == '\n') {
            ++line;
            column = 1;
            indentation = true;
        }
        if (faults.size() - before >= most_faults) break;
    }
    return faults.size() == before;
}

std::string hint_for(const YAML::ParserException& fault) {
    const std::string& what = fault.msg;
    if (what.find("illegal map value") != std::string::npos) {
        return "a value that holds ': ' or ends with ':' needs quotes, and a key stands on a line of its own";
    }
    if (what.find("end of map") != std::string::npos) return "check the indentation of this line and of the ones above";
    if (what.find("end of sequence") != std::string::npos) return "check the brackets and commas of this list";
    if (what.find("unknown token") != std::string::npos)
        return "a text that begins with a special character needs quotes";
    return "see docs/configuration.md for an example";
}

}  // namespace

Node read_yaml(std::string_view text, const std::string& name, std::vector<Fault>& faults) {
    if (text.size() > largest_file) {
        faults.push_back({{name, 0, 0}, "the file is larger than 1 MiB", "this can't be a configuration of Nebis"});
        return {};
    }
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // some editors put a byte order mark there
    if (!check_bytes(text, name, faults)) return {};
    ViewBuffer buffer(text);
    std::istream stream(&buffer);
    Builder builder(name, faults);
    try {
        YAML::Parser parser(stream);
        if (!parser.HandleNextDocument(builder)) return {};
        Node root = std::move(builder).root();
        // The parser is asked again with a builder of its own: where a second document begins is where its first event
        // comes from.
        struct Second final : public YAML::EventHandler {
            YAML::Mark first;
            void OnDocumentStart(const YAML::Mark& mark) override {
                first = mark;
                throw Enough{};
            }
            void OnDocumentEnd() override {}
            void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
            void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
            void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
            void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                                 YAML::EmitterStyle::value) override {}
            void OnSequenceEnd() override {}
            void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
            }
            void OnMapEnd() override {}
        } second;
        try {
            parser.HandleNextDocument(second);
        } catch (const Enough&) {
            faults.push_back({builder.at(second.first), "a second document begins here",
                              "a configuration is one document: remove the '---'"});
        }
        return root;
    } catch (const Enough&) {
    } catch (const YAML::ParserException& fault) {
        faults.push_back({builder.at(fault.mark), "this is no YAML: " + fault.msg, hint_for(fault)});
    } catch (const YAML::Exception& fault) {
        faults.push_back(
            {builder.at(fault.mark), "this is no YAML: " + fault.msg, "see docs/configuration.md for an example"});
    }
    return {};
}

}  // namespace nebis::config
