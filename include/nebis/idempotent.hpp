// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/codec.hpp"
#include "nebis/engine.hpp"
#include "nebis/standard.hpp"

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

/// Wrapping a callable. `engine.idempotent(policy, args("request"), &charge)` gives an object that is called like
/// `charge`, blocks like `charge`, and runs it once for each key. The same object has the callback shape (`async`) and
/// the coroutine shape (`awaitable`).
namespace nebis {

/// Names of the arguments, as key expressions and the request hash see them.
struct ArgNames {
    std::vector<std::string> names;
};
template <class... Text>
ArgNames args(Text&&... names) {
    return ArgNames{{std::string(std::forward<Text>(names))...}};
}

namespace detail {

template <class... Args>
struct Pack {};

template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class R, class... A>
struct Signature<R (*)(A...)> {
    using Result = R;
    using Args = Pack<A...>;
};
template <class R, class... A>
struct Signature<R (*)(A...) noexcept> : Signature<R (*)(A...)> {};
template <class R, class... A>
struct Signature<R(A...)> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...)> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) noexcept> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const noexcept> : Signature<R (*)(A...)> {};

/// Split the parameters into those of the caller and those that Nebis fills: a trailing Execution&, before it a
/// transaction.
template <class Done, class Rest>
struct CallerArgs;
template <class... Done>
struct CallerArgs<Pack<Done...>, Pack<>> {
    using Args = Pack<Done...>;
    static constexpr bool wants_execution = false;
};
template <class... Done>
struct CallerArgs<Pack<Done...>, Pack<Execution&>> {
    using Args = Pack<Done...>;
    static constexpr bool wants_execution = true;
};
template <class... Done, class First, class... Rest>
struct CallerArgs<Pack<Done...>, Pack<First, Rest...>> : CallerArgs<Pack<Done..., First>, Pack<Rest...>> {};
template <class... Done, class... Rest>
requires(sizeof...(Rest) > 0) struct CallerArgs<Pack<Done...>, Pack<Execution&, Rest...>> {
    static_assert(sizeof...(Rest) == 0, "nebis: Execution& must be the last parameter");
};

template <class P, class Last>
struct WithoutLast;
template <class Last>
struct WithoutLast<Pack<Last>, Last> {
    using Args = Pack<>;
};
template <class First, class... Rest, class Last>
requires(sizeof...(Rest) > 0) struct WithoutLast<Pack<First, Rest...>, Last> {
    template <class... Tail>
    static Pack<First, Tail...> prepend(Pack<Tail...>);
    using Args = decltype(prepend(typename WithoutLast<Pack<Rest...>, Last>::Args{}));
};

/// Signature, body and transaction of a plain callable and of an Atomic one.
template <class Fn>
struct Wrapped {
    using Body = Fn;
    using Sig = Signature<Fn>;
    using Split = CallerArgs<Pack<>, typename Sig::Args>;
    using Args = typename Split::Args;
    static constexpr bool atomic = false;
};
template <class Tx, class Fn>
struct Wrapped<Atomic<Tx, Fn>> {
    using Body = Fn;
    using Sig = Signature<Fn>;
    using Split = CallerArgs<Pack<>, typename Sig::Args>;
    using Args = typename WithoutLast<typename Split::Args, Tx>::Args;
    static constexpr bool atomic = true;
};

template <class T>
void write_member(std::string& out, const std::string& name, const T& value) {
    static_assert(
        JsonWritable<T>,
        "nebis: an argument of this wrapped function can't be written as JSON. Include nebis/describe.hpp and "
        "BOOST_DESCRIBE_STRUCT its type, or specialise nebis::JsonOf for it");
    if (out.size() > 1) out.push_back(',');
    JsonOf<std::string_view>::write(out, name);
    out.push_back(':');
    JsonOf<T>::write(out, value);
}

template <class R>
Response encode_result(const R& value) {
    return Response{200, {}, Codec<R>::encode(value), false};
}

/// What a callable returned and its codec couldn't write. The effect has happened all the same: the call's own caller
/// gets the value, duplicates learn that it is done.
template <class R>
struct Unwritten {
    std::optional<R> value;
};
template <>
struct Unwritten<void> {};

}  // namespace detail

/// The exception a blocking caller gets for an answer without a value. Rethrows the handler's own for a fresh failure.
/// Throws `Rejected` (replays), `RepeatSubmitException` (in progress, duplicate), `OutcomeUnknown`, or
/// `IdempotentException`.
[[noreturn]] void throw_for(const Answer& answer);

/// A value, or why there is none.
template <class R>
struct Called {
    std::optional<R> value;
    Answer answer;
};
template <>
struct Called<void> {
    bool done = false;
    Answer answer;
};

template <class Fn, class R, class ArgPack>
class Idempotent;

/// **Threads**: calls from many threads at once, if the wrapped callable allows it. **Lifetime**: keeps its engine
/// alive.
template <class Fn, class R, class... A>
class Idempotent<Fn, R, detail::Pack<A...>> {
public:
    Idempotent(Engine engine, Operation operation, ArgNames names, Fn fn)
        : engine_(std::move(engine)),
          operation_(std::move(operation)),
          names_(std::make_shared<const ArgNames>(std::move(names))),
          fn_(std::make_shared<Fn>(std::move(fn))) {}

    /// The blocking shape. **Errors**: what the callable throws; for duplicates see `throw_for`.
    R operator()(A... args) const {
        Own own;
        Answer answer = engine_.run(operation_, request(args...), handler(own, args...));
        if constexpr (std::is_void_v<R>) {
            if (!has_value(answer)) throw_for(answer);
        } else {
            return value_of(answer, own);
        }
    }

    /// The blocking shape without exceptions: the value if there is one, and the whole answer.
    Called<R> call(A... args) const {
        Own own;
        Answer answer = engine_.run(operation_, request(args...), handler(own, args...));
        return called(std::move(answer), own);
    }

    /// The callback shape: returns at once; the callable and `done(Called<R>)` run on `executor`. Arguments are copied.
    template <class Done>
    void async(Executor& executor, Done done, A... args) const {
        auto kept = std::make_shared<std::tuple<std::decay_t<A>...>>(args...);
        Request asked = std::apply([this](auto&... kept_args) { return request(kept_args...); }, *kept);
        auto own = std::make_shared<Own>();
        auto self = *this;
        engine_.run_async(operation_, std::move(asked), self.kept_handler(own, kept), executor,
                          [self, own, kept, done = std::move(done)](Answer answer) mutable {
                              done(self.called(std::move(answer), *own));
                          });
    }

    /// The coroutine shape: `R result = co_await pay.awaitable(executor, …)` in any coroutine; it resumes on
    /// `executor`.
    class Awaitable {
    public:
        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<> waiting) {
            std::apply(
                [&](auto&... args) {
                    self_.async(
                        *executor_,
                        [this, waiting](Called<R> called) {
                            called_.emplace(std::move(called));
                            waiting.resume();
                        },
                        args...);
                },
                args_);
        }
        R await_resume() { return Idempotent::unwrap(std::move(*called_)); }

    private:
        friend class Idempotent;
        Awaitable(Idempotent self, Executor& executor, std::tuple<std::decay_t<A>...> args)
            : self_(std::move(self)), executor_(&executor), args_(std::move(args)) {}
        Idempotent self_;
        Executor* executor_;
        std::tuple<std::decay_t<A>...> args_;
        std::optional<Called<R>> called_;
    };
    Awaitable awaitable(Executor& executor, A... args) const {
        return Awaitable(*this, executor, std::tuple<std::decay_t<A>...>(args...));
    }

    /// S49: many calls begun and finished together, an outcome for each, in order.
    std::vector<Called<R>> batch(const std::vector<std::tuple<std::decay_t<A>...>>& calls) const {
        std::vector<BatchItem> items;
        items.reserve(calls.size());
        for (const auto& call : calls)
            items.push_back({std::apply([this](const auto&... args) { return request(args...); }, call)});
        std::vector<Own> own(calls.size());
        auto answers =
            engine_.run_batch(operation_, items, [&](std::size_t index, const Request&, Execution& execution) {
                return std::apply([&](auto... args) { return invoke(execution, nullptr, own[index], args...); },
                                  calls[index]);
            });
        std::vector<Called<R>> all;
        all.reserve(answers.size());
        for (std::size_t i = 0; i < answers.size(); ++i) all.push_back(called(std::move(answers[i]), own[i]));
        return all;
    }

    /// The value of a `Called`, or the exception that the blocking shape would throw.
    static R unwrap(Called<R> called) {
        if constexpr (std::is_void_v<R>) {
            if (!called.done) throw_for(called.answer);
        } else {
            if (!called.value) throw_for(called.answer);
            return std::move(*called.value);
        }
    }

    const Operation& operation() const noexcept { return operation_; }
    /// The request that these arguments make, for `Engine::settle`, `inspect` and `purge`.
    Request request(const std::decay_t<A>&... args) const {
        Request made;
        made.arguments = true;
        made.body = "{";
        std::size_t i = 0;
        (detail::write_member(made.body, names_->names[i++], args), ...);
        made.body.push_back('}');
        return made;
    }

private:
    using Wrapped = detail::Wrapped<Fn>;
    using Own = detail::Unwritten<R>;

    static bool has_value(const Answer& answer) {
        return !answer.rejected && !answer.failure &&
               (answer.outcome == Outcome::fresh || answer.outcome == Outcome::replayed);
    }
    static bool refused_duplicate(const Answer& answer) {
        return answer.outcome == Outcome::in_progress || answer.outcome == Outcome::duplicate ||
               answer.outcome == Outcome::outcome_unknown;
    }

    R value_of(Answer& answer, Own& own) const {
        auto result = called(std::move(answer), own);
        if (!result.value) throw_for(result.answer);
        return std::move(*result.value);
    }

    Called<R> called(Answer answer, Own& own) const {
        (void)own;
        Called<R> result;
        const bool give = refused_duplicate(answer) && operation_.on_duplicate() == OnDuplicate::give;
        if constexpr (std::is_void_v<R>) {
            result.done = has_value(answer) || give;
        } else if (has_value(answer) || (give && answer.produced)) {
            if (answer.outcome == Outcome::fresh && own.value) {
                result.value = std::move(own.value);
            } else if (answer.response.tombstone) {
                answer.outcome = Outcome::refused;
                answer.error = Error(ErrorKind::unsupported, "done before, but the result could not be kept")
                                   .with_code("done-not-stored");
            } else if (auto decoded = Codec<R>::decode(answer.response.body)) {
                result.value.emplace(std::move(*decoded));
            } else {
                answer.outcome = Outcome::refused;
                answer.error = decoded.error();
            }
        } else if (give) {
            if constexpr (HasDefaultAnswer<R>) result.value.emplace(DefaultAnswer<R>::make(answer.message));
        }
        result.answer = std::move(answer);
        return result;
    }

    template <class... Given>
    Response invoke(Execution& execution, void* transaction, Own& own, Given&&... args) const {
        auto call = [&](auto&... filled) -> Response {
            if constexpr (std::is_void_v<R>) {
                body()(std::forward<Given>(args)..., filled...);
                return Response{200, {}, {}, false};
            } else {
                return keep(body()(std::forward<Given>(args)..., filled...), own);
            }
        };
        (void)transaction;
        if constexpr (Wrapped::atomic) {
            auto tx = static_cast<typename Fn::transaction_type>(transaction);
            if constexpr (Wrapped::Split::wants_execution)
                return call(tx, execution);
            else
                return call(tx);
        } else {
            if constexpr (Wrapped::Split::wants_execution)
                return call(execution);
            else
                return call();
        }
    }
    /// A codec that throws after the effect must not look like a handler that failed: that could run it again. Inside a
    /// transaction that isn't committed yet it is one, and takes the effect back.
    Response keep(std::type_identity_t<std::conditional_t<std::is_void_v<R>, int, R>> result, Own& own) const {
        if constexpr (!std::is_void_v<R>) {
            try {
                return detail::encode_result<R>(result);
            } catch (...) {
                if (Wrapped::atomic || operation_.mode() == Mode::hooked) throw;
                own.value.emplace(std::move(result));
            }
        }
        return Response{200, {}, {}, true};
    }
    auto& body() const {
        if constexpr (Wrapped::atomic)
            return fn_->body;
        else
            return *fn_;
    }

    /// For the blocking shape: refers to the caller's arguments, which outlive the call.
    template <class... Given>
    Handler handler(Own& own, Given&... args) const {
        if constexpr (Wrapped::atomic)
            return Handler::atomic(fn_->runner, [this, &own, &args...](const Request&, void* tx, Execution& execution) {
                return invoke(execution, tx, own, args...);
            });
        else
            return Handler([this, &own, &args...](const Request&, Execution& execution) {
                return invoke(execution, nullptr, own, args...);
            });
    }

    Handler kept_handler(std::shared_ptr<Own> own, std::shared_ptr<std::tuple<std::decay_t<A>...>> kept) const {
        auto self = *this;
        if constexpr (Wrapped::atomic)
            return Handler::atomic(fn_->runner, [self, own, kept](const Request&, void* tx, Execution& execution) {
                return std::apply([&](auto&... args) { return self.invoke(execution, tx, *own, args...); }, *kept);
            });
        else
            return Handler([self, own, kept](const Request&, Execution& execution) {
                return std::apply([&](auto&... args) { return self.invoke(execution, nullptr, *own, args...); }, *kept);
            });
    }

    Engine engine_;
    Operation operation_;
    std::shared_ptr<const ArgNames> names_;
    std::shared_ptr<Fn> fn_;
};

/// **Errors**: throws `IdempotentException` when the policy is contradictory, the names don't match the parameters, or
/// `duplicate-handler: return` has neither a ResponseProducer nor a default answer for the type.
template <class Names, class Fn>
auto Engine::idempotent(Policy policy, Names names, Fn fn) const {
    using Wrapped = detail::Wrapped<Fn>;
    using R = std::decay_t<typename Wrapped::Sig::Result>;
    static_assert(
        std::is_void_v<R> || Encodable<R>,
        "nebis: no Codec for the return type of this function, so its result can't be kept for duplicates. Include "
        "nebis/describe.hpp and BOOST_DESCRIBE_STRUCT the type, or specialise nebis::Codec for it");
    auto count = []<class... A>(detail::Pack<A...>) { return sizeof...(A); }(typename Wrapped::Args{});
    if (names.names.size() != count)
        throw IdempotentException(
            Error(ErrorKind::misconfigured, "nebis::args names " + std::to_string(names.names.size()) +
                                                " arguments, but the wrapped function of operation '" +
                                                policy.operation + "' takes " + std::to_string(count)));
    Operation operation = this->operation(policy).value();
    if (operation.on_duplicate() == OnDuplicate::give && !operation.has_response_producer() && !HasDefaultAnswer<R>)
        throw IdempotentException(Error(
            ErrorKind::misconfigured,
            "duplicate-handler: return needs an answer for the return type of operation '" + policy.operation + "'", {},
            "set a ResponseProducer, or specialise nebis::DefaultAnswer"));
    return Idempotent<Fn, R, typename Wrapped::Args>(*this, std::move(operation), std::move(names), std::move(fn));
}

}  // namespace nebis
