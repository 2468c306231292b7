#pragma once

#include <string>
#include <vector>

#include "host/appliance/settings.hpp"
#include "host/remote/publisher.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::appliance {

/// The first line of a file, of 16 to 64 characters; the failure says why it is no token.
[[nodiscard]] Result<std::string> read_token(const std::string& path);

/// The carrier udp as the settings have it. Reads its token.
[[nodiscard]] Result<nic::UdpOptions> udp_options_of(const UdpSettings& settings);

/// The rings of [[publish]] that go the way that `wanted` says, as their publisher takes them. Reads the files of
/// tokens; the failure says which one is none.
[[nodiscard]] Result<std::vector<remote::PublishedRing>> publications_of(const NicSettings& settings,
                                                                         bool PublishSettings::*wanted);

/// Whether an appliance that began with `then` can publish what `now` says. The failure names the key and what to do.
[[nodiscard]] Status can_republish(const NicSettings& then, const NicSettings& now);

}  // namespace stopbit::appliance
