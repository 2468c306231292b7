#pragma once

#include <span>
#include <string>
#include <vector>

#include "host/device/kernel.hpp"
#include "host/feed/description/description.hpp"
#include "host/feed/packet/membership.hpp"

/// What a card receives from its own port, in the words of feed.toml: the channels that software would decode become
/// groups, framings and line rules of the kernel.
namespace stopbit::device {

/// Why the kernel cannot receive and arbitrate these channels as software does, one reason a line, each with its table
/// and key of feed.toml; empty if it can. Looks at nothing but the descriptions.
[[nodiscard]] std::vector<std::string> intake_obstacles(std::span<const feed::Channel> channels);

/// Writes groups, framings and line rules of these channels, for which there are no obstacles, and clears all others.
/// All records go to ring 0. The kernel receives nothing and is idle.
[[nodiscard]] Status set_channels(Kernel& kernel, std::span<const feed::Channel> channels);

/// The groups that these channels need, each with its sender.
[[nodiscard]] std::vector<net::Membership> memberships_of(std::span<const feed::Channel> channels);

}  // namespace stopbit::device
