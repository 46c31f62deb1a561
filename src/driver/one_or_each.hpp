// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/error.hpp"

#include <cstddef>
#include <utility>

namespace nebis::driver {

template <class Outcomes>
void fill(Outcomes out, const Error& error) {
    for (auto& one : out) one = error;
}

/// Runs the whole batch; when it failed for what may be one row's sake, each row alone, so that no other is harmed.
/// `perhaps_one_row(Error)` tells which faults are of that kind; `alone` may still better the Error of such a row.
template <class Requests, class Outcomes, class Batch, class Perhaps, class Alone>
void in_one_or_each(Requests in, Outcomes out, Batch batch, Perhaps perhaps_one_row, Alone alone) {
    auto done = batch(in, out);
    if (done) return;
    if (in.size() == 1 || !perhaps_one_row(done.error())) {
        fill(out, done.error());
        if (in.size() == 1) alone(in[0], out[0]);
        return;
    }
    for (std::size_t i = 0; i < in.size(); ++i) {
        if (auto one = batch(in.subspan(i, 1), out.subspan(i, 1)); !one) {
            out[i] = std::move(one).error();
            alone(in[i], out[i]);
        }
    }
}

}  // namespace nebis::driver
