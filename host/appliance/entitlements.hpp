#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/nic/node/broker.hpp"
#include "microcode/base/diagnostic.hpp"

/// Entitlements of users to the appliance's feeds. A separate file, so that it can be reread while the appliance runs.
/// doc/appliance-settings.md lists every key.
namespace stopbit::appliance {

inline constexpr std::size_t kMaxEntitlements = 1'024;
/// Of publishers and their subscribers; clients of the broker are in others, from 1 on.
inline constexpr nic::Pdid kPublishDomain = 0;

/// Reads a file of `[[entitlement]]`; names of users and groups are looked up on this machine. `feeds` are those that
/// there are. Nothing after an error; all of them are in `diagnostics`.
[[nodiscard]] std::optional<std::vector<nic::Entitlement>> load_entitlements(const std::string& path,
                                                                             const std::vector<std::string>& feeds,
                                                                             Diagnostics& diagnostics);
/// The same of a text.
[[nodiscard]] std::optional<std::vector<nic::Entitlement>> parse_entitlements(std::string file, std::string text,
                                                                              const std::vector<std::string>& feeds,
                                                                              Diagnostics& diagnostics);

}  // namespace stopbit::appliance
