// SPDX-License-Identifier: Apache-2.0
#include "runtime/redaction.hpp"

#include "identify/json_tape.hpp"
#include "nebis/codec.hpp"

namespace nebis::runtime {
namespace {

using identify::JsonKind;
using identify::JsonNode;
using identify::NoiseFilter;

/// Writes the values of a tape; as deep as the tape allows.
class Writer {
public:
    Writer(const identify::JsonTape& tape, const NoiseFilter& paths) : tape_(tape), paths_(paths) {}

    void value(std::uint32_t at, NoiseFilter::Candidates candidates, std::size_t depth) {
        const JsonNode& node = tape_[at];
        switch (node.kind) {
            case JsonKind::null: out_ += "null"; break;
            case JsonKind::boolean:
            case JsonKind::number: out_ += node.text_view(); break;
            case JsonKind::string: text(node.text_view()); break;
            case JsonKind::array:
            case JsonKind::object: children(at, node, candidates, depth); break;
        }
    }
    std::string take() { return std::move(out_); }

private:
    void text(std::string_view text) { JsonOf<std::string_view>::write(out_, text); }

    void children(std::uint32_t at, const JsonNode& node, NoiseFilter::Candidates candidates, std::size_t depth) {
        const bool object = node.kind == JsonKind::object;
        out_.push_back(object ? '{' : '[');
        std::size_t index = 0;
        for (std::uint32_t child = at + 1; child < node.end; child = tape_[child].end, ++index) {
            if (index > 0) out_.push_back(',');
            const auto step = object ? paths_.member(candidates, depth, tape_[child].name_view())
                                     : paths_.element(candidates, depth, index);
            if (object) {
                text(tape_[child].name_view());
                out_.push_back(':');
            }
            if (step.noise)
                out_ += R"("***")";
            else
                value(child, step.inside, depth + 1);
        }
        out_.push_back(object ? '}' : ']');
    }

    const identify::JsonTape& tape_;
    const NoiseFilter& paths_;
    std::string out_;
};

}  // namespace

std::optional<std::string> redacted_json(std::string_view body, const NoiseFilter& paths, std::size_t max_bytes) {
    identify::HashLimits limits;
    limits.max_bytes = max_bytes;
    const identify::TapeLease tape;
    if (!tape->parse_json(body, limits)) return std::nullopt;
    Writer writer(*tape, paths);
    writer.value(0, paths.root(), 0);
    return writer.take();
}

}  // namespace nebis::runtime
