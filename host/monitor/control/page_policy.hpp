#pragma once

#include <string>
#include <string_view>

namespace stopbit::control {

/// Of answers that are no page: a browser shows them, and neither loads nor runs nor embeds anything.
inline constexpr std::string_view kInertPolicy =
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";

/// The Content-Security-Policy of an HTML page that has its scripts and styles inside: the browser runs these, by their
/// SHA-256, and nothing else; it asks this server only; and no script may set markup from text (Trusted Types).
[[nodiscard]] std::string page_policy(std::string_view html);

}  // namespace stopbit::control
