#pragma once

#include <string>
#include <string_view>

namespace stopbit::control {

/// The value of a name in the query of an HTTP request, "a=1&b=2", with %XX and + decoded (RFC 3986, section 2.1); a
/// malformed escape remains as it is. The first one of several; empty if there is none. Never longer than the query.
[[nodiscard]] std::string query_value(std::string_view query, std::string_view name);

}  // namespace stopbit::control
