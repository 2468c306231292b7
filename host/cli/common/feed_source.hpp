#pragma once

#include <string>

#include "host/feed/description/description.hpp"

namespace stopbit::tools {

/// A feed.toml. Its errors are printed to stderr and end the command.
[[nodiscard]] feed::Description load_feed(const std::string& path);

/// The channel with that number or name. Usage error if there is none.
[[nodiscard]] const feed::Channel& channel_of(const feed::Description& description, const std::string& number_or_name);

}  // namespace stopbit::tools
