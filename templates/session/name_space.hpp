#pragma once

#include <string_view>

namespace stopbit::templates::session {

/// The namespace of the templates of the FAST Session Control Protocol 1.1.
inline constexpr std::string_view kNamespace = "http://www.fixprotocol.org/ns/fast/scp/1.1";

}  // namespace stopbit::templates::session
