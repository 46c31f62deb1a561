// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "nebis/codec.hpp"

#include <boost/describe/class.hpp>
#include <boost/describe/members.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>
#include <boost/json/value_to.hpp>
#include <boost/mp11/algorithm.hpp>

/// Structs described by Boost.Describe (`BOOST_DESCRIBE_STRUCT(Pay, (), (orderId, userId, amount))`) as arguments and
/// results. Arguments keep each number's own text; results are JSON. This is the one public header that includes Boost
/// (decision D10).
namespace nebis {

template <class T>
concept Described = boost::describe::has_describe_members<T>::value && !std::is_union_v<T>;

template <class T>
struct JsonOf<T, std::enable_if_t<Described<T>>> {
    static void write(std::string& out, const T& value) {
        using Members =
            boost::describe::describe_members<T, boost::describe::mod_public | boost::describe::mod_inherited>;
        out.push_back('{');
        bool first = true;
        boost::mp11::mp_for_each<Members>([&](auto member) {
            if (!std::exchange(first, false)) out.push_back(',');
            JsonOf<std::string_view>::write(out, member.name);
            out.push_back(':');
            using Field = std::remove_cvref_t<decltype(value.*member.pointer)>;
            static_assert(JsonWritable<Field>,
                          "nebis: a member of this described struct can't be written as JSON; describe its "
                          "type too, or specialise nebis::JsonOf for it");
            JsonOf<Field>::write(out, value.*member.pointer);
        });
        out.push_back('}');
    }
};

template <class T>
struct Codec<T, std::enable_if_t<Described<T>>> {
    static std::string encode(const T& value) { return boost::json::serialize(boost::json::value_from(value)); }
    static Result<T> decode(std::string_view bytes) {
        boost::json::error_code code;
        auto json = boost::json::parse({bytes.data(), bytes.size()}, code);
        if (code) return Error(ErrorKind::corrupt, "a kept result isn't JSON", code.message());
        auto value = boost::json::try_value_to<T>(json);
        if (!value)
            return Error(ErrorKind::corrupt, "a kept result doesn't fit its type any more", value.error().message(),
                         "give the changed operation a new name, or keep reading the old form in your own Codec");
        return std::move(*value);
    }
};

}  // namespace nebis
