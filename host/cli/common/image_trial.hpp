#pragma once

#include <cstdint>
#include <string>

#include "host/appliance/settings.hpp"

namespace stopbit::tools {

/// Tries an image, as its files are now, on what the appliance has recorded since a time, and prints how that went.
/// Nothing of the running appliance changes. Returns the exit status: 1 if the image is refused, a datagram does not
/// decode, or there is no recording to try it on.
[[nodiscard]] int try_image(const std::string& image, const appliance::Settings& settings, std::uint64_t since_ns);

}  // namespace stopbit::tools
