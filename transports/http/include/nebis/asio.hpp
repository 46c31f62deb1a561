// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/engine.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <functional>
#include <memory>
#include <utility>

/// Wrapped callables in Asio programs: any completion token, and coroutines.
///
/// With g++ 12 never write an aggregate in the same expression as `co_await` (`co_await call(pay, on, Pay{7, 3})`): the
/// compiler destroys it twice. Name it first.
namespace nebis {

/// Runs handlers on an Asio executor: a `thread_pool` for handlers that block, the `io_context` for those that don't.
/// **Lifetime**: longer than the calls that use it.
class AsioExecutor : public Executor {
public:
    explicit AsioExecutor(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}
    void post(std::function<void()> task) override { boost::asio::post(executor_, std::move(task)); }

private:
    boost::asio::any_io_executor executor_;
};

namespace detail {

template <class Wrapped>
struct CalledOf;
template <class Fn, class R, class Args>
struct CalledOf<Idempotent<Fn, R, Args>> {
    using Value = R;
    using type = Called<R>;
};

/// Hands `value` to a completion handler on its own executor, never inside the function that started it.
template <class Completion, class Value>
auto resumer(Completion completion) {
    auto executor = boost::asio::get_associated_executor(completion);
    auto work = boost::asio::make_work_guard(executor);
    auto kept = std::make_shared<Completion>(std::move(completion));
    return [executor, work, kept](Value value) mutable {
        boost::asio::post(executor,
                          [kept, work, value = std::move(value)]() mutable { std::move (*kept)(std::move(value)); });
    };
}

}  // namespace detail

/// Calls `wrapped(args…)` without blocking: the callable runs on `handlers`, the completion handler gets `Called<R>` on
/// its own executor.
template <class Wrapped, class Token, class... A>
auto async_call(Wrapped wrapped, Executor& handlers, Token&& token, A... args) {
    using Value = typename detail::CalledOf<Wrapped>::type;
    return boost::asio::async_initiate<Token, void(Value)>(
        [](auto completion, Wrapped call, Executor* on, A... given) {
            auto resume = detail::resumer<decltype(completion), Value>(std::move(completion));
            call.async(*on, std::function<void(Value)>(std::move(resume)), std::move(given)...);
        },
        token, std::move(wrapped), &handlers, std::move(args)...);
}

/// The same for coroutines: `Paid paid = co_await awaitable_call(pay, handlers, order)`. **Errors**: throws what
/// `wrapped` throws.
template <class Wrapped, class... A>
boost::asio::awaitable<typename detail::CalledOf<Wrapped>::Value> awaitable_call(Wrapped wrapped, Executor& handlers,
                                                                                 A... args) {
    auto called = co_await async_call(wrapped, handlers, boost::asio::use_awaitable, std::move(args)...);
    co_return Wrapped::unwrap(std::move(called));
}

}  // namespace nebis
