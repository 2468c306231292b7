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

/// What keeps an appliance that began with `then` from publishing what `now` says, by the name of the key, and what to
/// do; empty: nothing does.
[[nodiscard]] std::string why_not_republish(const NicSettings& then, const NicSettings& now);

}  // namespace stopbit::appliance
