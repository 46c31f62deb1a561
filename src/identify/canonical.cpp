// SPDX-License-Identifier: Apache-2.0
#include "identify/canonical.hpp"

#include "identify/digest.hpp"
#include "identify/load.hpp"
#include "identify/text.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace nebis::identify {
namespace {

/// Collects the canonical bytes in a small buffer, so that SHA-256 sees few and large pieces.
class Sink {
public:
    void byte(char c) noexcept {
        if (used_ == sizeof buffer_) flush();
        buffer_[used_++] = c;
    }
    /// A tag and a framed text: most of what is written, and short.
    void tagged(char tag, std::string_view text) noexcept {
        if (text.size() >= 0x80 || sizeof buffer_ - used_ < 0x80 + 2) {
            byte(tag);
            framed(text);
            return;
        }
        char* out = buffer_ + used_;
        out[0] = tag;
        out[1] = static_cast<char>(text.size());
        copy_short(out + 2, text);
        used_ += text.size() + 2;
    }
    void bytes(std::string_view text) noexcept {
        if (text.size() > sizeof buffer_ - used_) {
            flush();
            if (text.size() > sizeof buffer_) {
                hash_.update(text);
                return;
            }
        }
        if (!text.empty()) std::memcpy(buffer_ + used_, text.data(), text.size());
        used_ += text.size();
    }
    void framed(std::string_view text) noexcept {
        length(text.size());
        bytes(text);
    }
    void framed_lower(std::string_view text) noexcept {
        length(text.size());
        for (const char c : text) byte(lower(c));
    }
    Digest finish() noexcept {
        flush();
        return hash_.finish();
    }

private:
    /// memcpy of a length unknown to the compiler is a call; two overlapping moves are not.
    static void copy_short(char* out, std::string_view text) noexcept {
        const char* in = text.data();
        const std::size_t size = text.size();
        if (size > 16) {
            std::memcpy(out, in, size);
        } else if (size >= 8) {
            move_both_ends<std::uint64_t>(out, in, size);
        } else if (size >= 4) {
            move_both_ends<std::uint32_t>(out, in, size);
        } else {
            for (std::size_t i = 0; i < size; ++i) out[i] = in[i];
        }
    }
    template <class Word>
    static void move_both_ends(char* out, const char* in, std::size_t size) noexcept {
        Word first, last;
        std::memcpy(&first, in, sizeof first);
        std::memcpy(&last, in + size - sizeof last, sizeof last);
        std::memcpy(out, &first, sizeof first);
        std::memcpy(out + size - sizeof last, &last, sizeof last);
    }
    void length(std::size_t size) noexcept {
        for (; size >= 0x80; size >>= 7) byte(static_cast<char>(size | 0x80));
        byte(static_cast<char>(size));
    }
    void flush() noexcept {
        hash_.update({buffer_, used_});
        used_ = 0;
    }

    Sha256 hash_;
    std::size_t used_ = 0;
    char buffer_[2048];
};

// ---- the parts of the request

std::size_t write_query(Sink& sink, std::string_view query, bool sorted) {
    thread_local std::vector<std::string_view> pieces;
    pieces.clear();
    while (!query.empty()) {
        const std::string_view piece = next_piece(query, '&');
        if (!piece.empty()) pieces.push_back(piece);
    }
    const auto name = [](std::string_view piece) { return piece.substr(0, piece.find('=')); };
    if (sorted && pieces.size() > 1) {
        std::stable_sort(pieces.begin(), pieces.end(),
                         [&](std::string_view a, std::string_view b) { return name(a) < name(b); });
    }
    for (const std::string_view piece : pieces) {
        sink.byte('q');
        sink.framed(piece);
    }
    return pieces.size();
}

void write_content_type(Sink& sink, std::string_view content_type, BodyKind kind) {
    sink.byte('t');
    sink.framed_lower(media_type(content_type));
    if (kind == BodyKind::raw) sink.framed_lower(media_parameter(content_type, "charset"));
}

/// Headers that change what a request means: an answer to an older precondition is no answer to this one (reliability
/// N27).
bool counts(std::string_view name) noexcept {
    return equal_ignoring_case(name.substr(0, 3), "if-") || equal_ignoring_case(name, "range") ||
           equal_ignoring_case(name, "content-encoding") || equal_ignoring_case(name, "x-http-method-override");
}

void write_headers(Sink& sink, const std::vector<Header>& headers) {
    thread_local std::vector<const Header*> counted;
    counted.clear();
    for (const Header& header : headers) {
        if (counts(header.name)) counted.push_back(&header);
    }
    if (counted.size() > 1) {
        std::stable_sort(counted.begin(), counted.end(), [](const Header* a, const Header* b) {
            return std::lexicographical_compare(a->name.begin(), a->name.end(), b->name.begin(), b->name.end(),
                                                [](char x, char y) { return lower(x) < lower(y); });
        });
    }
    for (const Header* header : counted) {
        sink.byte('h');
        sink.framed_lower(header->name);
        sink.framed(trim(header->value));
    }
}

// ---- the body

/// One member of the object being written, with the first eight bytes of its name as a number that sorts like them.
struct Member {
    std::uint64_t prefix = 0;
    std::uint32_t index = 0;
};

std::uint64_t prefix_of(std::string_view name) noexcept {
    if (name.size() >= 8) return load_big_endian<std::uint64_t>(name.data());
    if (name.size() >= 4) {
        // Two loads that overlap; the second one's upper bytes are there already.
        const std::uint64_t tail = load_big_endian<std::uint32_t>(name.data() + name.size() - 4);
        return load_big_endian<std::uint32_t>(name.data()) << 32 | ((tail << (8 * (8 - name.size()))) & 0xffffffff);
    }
    std::uint64_t prefix = 0;
    for (std::size_t i = 0; i < name.size(); ++i)
        prefix |= std::uint64_t{static_cast<unsigned char>(name[i])} << (56 - 8 * i);
    return prefix;
}

/// Writes a tape in canonical order.
class BodyWriter {
public:
    enum class Fault : std::uint8_t { none, repeated_member, bad_number };

    BodyWriter(Sink& sink, const JsonTape& tape, const NoiseFilter& noise, const HashLimits& limits, bool repeats)
        : sink_(sink), tape_(tape), noise_(noise), limits_(limits), repeats_(repeats) {
        stack_.clear();
    }

    Fault write() { return value(0, noise_.root(), 0); }
    std::size_t values() const noexcept { return values_; }

private:
    Fault value(std::uint32_t index, NoiseFilter::Candidates candidates, std::size_t depth) {
        const JsonNode& node = tape_[index];
        switch (node.kind) {
            case JsonKind::null: sink_.byte('0'); return Fault::none;
            case JsonKind::boolean: sink_.byte(node.text[0]); break;  // t or f
            case JsonKind::string: sink_.tagged('s', node.text_view()); break;
            case JsonKind::number:
                if (!number(node.text_view())) return Fault::bad_number;
                break;
            case JsonKind::array: return array(index, candidates, depth);
            case JsonKind::object: return object(index, candidates, depth);
        }
        ++values_;
        return Fault::none;
    }

    bool number(std::string_view text) {
        if (const std::string_view plain = plain_decimal(text);
            !plain.empty() && text.size() <= limits_.numbers.max_digits) {
            sink_.tagged('n', plain);
            return true;
        }
        number_.clear();
        if (!append_decimal(number_, text, limits_.numbers)) return false;
        sink_.tagged('n', number_);
        return true;
    }

    Fault array(std::uint32_t index, NoiseFilter::Candidates candidates, std::size_t depth) {
        sink_.byte('[');
        std::size_t position = 0;
        for (std::uint32_t i = index + 1; i < tape_[index].end; i = tape_[i].end, ++position) {
            const auto step = noise_.element(candidates, depth, position);
            if (step.noise) continue;
            if (const Fault fault = value(i, step.inside, depth + 1); fault != Fault::none) return fault;
        }
        sink_.byte(']');
        return Fault::none;
    }

    Fault object(std::uint32_t index, NoiseFilter::Candidates candidates, std::size_t depth) {
        auto& stack = stack_;
        const std::size_t start = stack.size();
        const auto before = [this](const Member& a, const Member& b) {
            const int by_name = order(a, b);
            return by_name != 0 ? by_name < 0 : a.index < b.index;
        };
        bool sorted = true;
        for (std::uint32_t i = index + 1; i < tape_[index].end; i = tape_[i].end) {
            stack.push_back({prefix_of(tape_[i].name_view()), i});
            sorted = sorted && (stack.size() == start + 1 || before(stack[stack.size() - 2], stack.back()));
        }
        if (!sorted) std::sort(stack.begin() + static_cast<std::ptrdiff_t>(start), stack.end(), before);

        sink_.byte('{');
        for (std::size_t i = start, end = stack.size(); i < end; ++i) {
            if (!repeats_ && i > start && order(stack[i - 1], stack[i]) == 0) return Fault::repeated_member;
            const std::uint32_t member = stack[i].index;
            const std::string_view name = tape_[member].name_view();
            const auto step = noise_.member(candidates, depth, name);
            if (step.noise) continue;
            sink_.tagged('m', name);
            if (const Fault fault = value(member, step.inside, depth + 1); fault != Fault::none) return fault;
        }
        sink_.byte('}');
        stack.resize(start);
        return Fault::none;
    }

    int order(const Member& a, const Member& b) const noexcept {
        if (a.prefix != b.prefix) return a.prefix < b.prefix ? -1 : 1;
        return tape_[a.index].name_view().compare(tape_[b.index].name_view());
    }

    Sink& sink_;
    const JsonTape& tape_;
    const NoiseFilter& noise_;
    const HashLimits& limits_;
    bool repeats_;
    std::size_t values_ = 0;
    // Kept by the thread, so that writing allocates nothing. Each object uses what lies behind its own start; the
    // recursion is bounded by max_depth.
    std::vector<Member>& stack_ = kept_stack();
    std::string& number_ = kept_number();

    static std::vector<Member>& kept_stack() {
        thread_local std::vector<Member> stack;
        return stack;
    }
    static std::string& kept_number() {
        thread_local std::string number;
        return number;
    }
};

Error fault_text(BodyWriter::Fault fault, const HashLimits& limits) {
    if (fault == BodyWriter::Fault::repeated_member) {
        return Error(ErrorKind::rejected_input, "an object in the body has a member twice").with_code("body-invalid");
    }
    return Error(ErrorKind::rejected_input,
                 "a number in the body has more than " + std::to_string(limits.numbers.max_digits) +
                     " digits or an exponent beyond " + std::to_string(limits.numbers.max_exponent))
        .with_code("body-invalid");
}

}  // namespace

Result<CanonicalHash> canonical_hash(const Request& request, Body& body, const NoiseFilter& noise,
                                     const HashLimits& limits, std::uint8_t scheme) {
    if (scheme != current_scheme && scheme != previous_scheme) {
        return Error(ErrorKind::unsupported,
                     "the record was written under request hash scheme " + std::to_string(scheme) +
                         ", which this version doesn't have",
                     {}, "run a version that has it, or wait for the record to expire")
            .with_code("scheme-unknown");
    }
    Sink sink;
    CanonicalHash result;
    sink.byte(static_cast<char>(scheme));
    sink.framed(request.method);
    sink.framed(request.path);
    result.parameters = request.parameters.size() + write_query(sink, request.query, scheme != previous_scheme);
    write_content_type(sink, request.content_type, body.kind());
    write_headers(sink, request.headers);
    sink.byte('b');
    sink.byte(static_cast<char>(body.kind()));
    if (body.kind() == BodyKind::json || body.kind() == BodyKind::form) {
        auto document = body.document();
        if (!document) return std::move(document).error();
        BodyWriter writer(sink, **document, noise, limits, body.kind() == BodyKind::form);
        if (const auto fault = writer.write(); fault != BodyWriter::Fault::none) return fault_text(fault, limits);
        result.parameters += writer.values();
    } else if (body.kind() == BodyKind::raw) {
        if (body.bytes().size() > limits.max_bytes) {
            return Error(ErrorKind::rejected_input,
                         "the body is larger than " + std::to_string(limits.max_bytes) + " bytes")
                .with_code("body-too-large");
        }
        sink.bytes(body.bytes());
        result.parameters += 1;
    }
    result.hash = {.scheme = scheme, .digest = sink.finish()};
    return result;
}

Digest verbatim_digest(const Request& request, BodyKind kind) {
    Sink sink;
    sink.byte(static_cast<char>(kind));
    sink.byte(request.arguments ? 'a' : 'b');  // they have their own noise
    sink.framed(request.method);
    sink.framed(request.path);
    sink.framed(request.query);
    sink.framed(request.content_type);
    for (const Header& header : request.headers) {
        if (!counts(header.name)) continue;
        sink.byte('h');
        sink.framed(header.name);
        sink.framed(header.value);
    }
    sink.byte('b');
    sink.framed(request.body);
    return sink.finish();
}

Result<RequestHash> hash_request(const Request& request, const NoiseFilter& noise, const HashLimits& limits,
                                 std::uint8_t scheme) {
    Body body(request, limits);
    auto result = canonical_hash(request, body, noise, limits, scheme);
    if (!result) return std::move(result).error();
    return result->hash;
}

}  // namespace nebis::identify
