#pragma once

#include <string>
#include <vector>

#include "host/appliance/settings.hpp"
#include "host/remote/publisher.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::appliance {

/// The rings of [[publish]] that go the way that `wanted` says, as their publisher takes them. Reads the files of
/// tokens; the failure says which one is none.
[[nodiscard]] Result<std::vector<remote::PublishedRing>> publications_of(const NicSettings& settings,
                                                                         bool PublishSettings::*wanted);

/// Whether an appliance that began with `then` can publish what `now` says. The failure names the key and what to do.
[[nodiscard]] Status can_republish(const NicSettings& then, const NicSettings& now);

}  // namespace stopbit::appliance
