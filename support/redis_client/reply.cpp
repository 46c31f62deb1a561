// SPDX-License-Identifier: Apache-2.0
#include "reply.hpp"

#include <hiredis/read.h>

#include <new>
#include <utility>

namespace nebis::redis {
namespace {

/// What the parser's callbacks know of the reply under way.
struct Budget {
    ReplyLimits limits;
    std::size_t elements = 0;
    const char* broken = nullptr;  ///< the limit that was met
};

/// Where the value of this task goes: a new root, or a place in the array around it.
Reply* place_of(const redisReadTask* task) {
    if (!task->parent) return new Reply;
    auto* const around = static_cast<Reply*>(task->parent->obj);
    return &around->elements[static_cast<std::size_t>(task->idx)];
}

/// The parser is C: nothing may be thrown through it. Null stops it for good.
template <class Fill>
void* made(const redisReadTask* task, Fill fill) noexcept {
    Reply* reply = nullptr;
    try {
        reply = place_of(task);
        fill(*reply, *static_cast<Budget*>(task->privdata));
        return reply;
    } catch (const std::bad_alloc&) {
        if (!task->parent) delete reply;
        return nullptr;
    }
}

void* refused(const redisReadTask* task, const char* why) noexcept {
    static_cast<Budget*>(task->privdata)->broken = why;
    return nullptr;
}

void* make_text(const redisReadTask* task, char* bytes, std::size_t size) {
    if (size > static_cast<Budget*>(task->privdata)->limits.text_bytes) return refused(task, "a text is too large");
    return made(task, [&](Reply& reply, Budget&) {
        reply.kind = task->type == REDIS_REPLY_ERROR    ? Reply::Kind::error
                     : task->type == REDIS_REPLY_STATUS ? Reply::Kind::status
                                                        : Reply::Kind::text;
        reply.text.assign(bytes, size);
    });
}

void* make_array(const redisReadTask* task, int announced) {
    auto& budget = *static_cast<Budget*>(task->privdata);
    std::size_t depth = 1;
    for (const auto* around = task->parent; around; around = around->parent) ++depth;
    if (depth > budget.limits.depth) return refused(task, "arrays lie too deep in each other");
    const auto count = static_cast<std::size_t>(announced);
    if (announced < 0 || count > budget.limits.elements - budget.elements) return refused(task, "an array is too long");
    budget.elements += count;
    return made(task, [&](Reply& reply, Budget&) {
        reply.kind = Reply::Kind::array;
        reply.elements.resize(count);
    });
}

void* make_integer(const redisReadTask* task, long long value) {
    return made(task, [&](Reply& reply, Budget&) {
        reply.kind = Reply::Kind::integer;
        reply.integer = value;
    });
}

void* make_nil(const redisReadTask* task) {
    return made(task, [](Reply&, Budget&) {});
}

/// Asked for roots only; what lies in an array goes with it.
void drop(void* root) { delete static_cast<Reply*>(root); }

redisReplyObjectFunctions callbacks{make_text, make_array, make_integer, make_nil, drop};

Error broken(std::string detail) {
    return Error(ErrorKind::corrupt, "what Redis sent can't be read", std::move(detail),
                 "check that `address` is a Redis server, and that `tls` is as it expects")
        .with_code("redis-protocol");
}

}  // namespace

std::string_view Reply::error_word() const noexcept {
    if (!is_error()) return {};
    return std::string_view(text).substr(0, text.find(' '));
}

struct ReplyReader::State {
    Budget budget;
    redisReader* reader = nullptr;
    std::uint64_t fed = 0;       ///< bytes since the beginning
    std::uint64_t finished = 0;  ///< of these, bytes of complete replies
    bool spent = false;

    std::uint64_t parsed() const noexcept { return fed - (reader->len - reader->pos); }
};

ReplyReader::ReplyReader(ReplyLimits limits) : state_(std::make_unique<State>()) {
    state_->budget.limits = limits;
    state_->reader = redisReaderCreateWithFunctions(&callbacks);
    if (!state_->reader) throw std::bad_alloc();
    state_->reader->privdata = &state_->budget;
}

ReplyReader::~ReplyReader() {
    if (state_) redisReaderFree(state_->reader);
}
ReplyReader::ReplyReader(ReplyReader&&) noexcept = default;
ReplyReader& ReplyReader::operator=(ReplyReader&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
}

void ReplyReader::feed(std::string_view bytes) {
    if (state_->spent || bytes.empty()) return;
    state_->fed += bytes.size();
    if (redisReaderFeed(state_->reader, bytes.data(), bytes.size()) != REDIS_OK) state_->spent = true;
}

bool ReplyReader::at_rest() const noexcept { return !state_->spent && state_->fed == state_->finished; }

Result<std::optional<Reply>> ReplyReader::next() {
    State& state = *state_;
    void* root = nullptr;
    if (!state.spent && redisReaderGetReply(state.reader, &root) != REDIS_OK) state.spent = true;
    const std::unique_ptr<Reply> reply(static_cast<Reply*>(root));
    if (state.spent) {
        // The parser's own words may quote foreign bytes; they are few, and printable.
        return broken(state.budget.broken ? state.budget.broken : state.reader->errstr);
    }
    if (!reply) {
        if (state.fed - state.finished <= state.budget.limits.reply_bytes) return std::optional<Reply>();
        state.spent = true;
        state.budget.broken = "a reply is too large";
        return broken(state.budget.broken);
    }
    state.finished = state.parsed();
    state.budget.elements = 0;
    return std::optional<Reply>(std::move(*reply));
}

}  // namespace nebis::redis
