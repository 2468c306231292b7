#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "host/nic/link/links.hpp"
#include "host/nic/transport/fabric/fabric_transport.hpp"
#include "host/nic/transport/udp/udp_transport.hpp"
#include "microcode/base/result.hpp"

/// Networks of other hosts, which may be joined more than once: one class per carrier, all with the same functions.
namespace stopbit::remote {

/// "cannot reach 'PLACE': WHY"
[[nodiscard]] std::string cannot_reach(const std::string& place, const std::string& why);

/// A network over libfabric.
struct FabricPlace {
  using Carrier = nic::FabricTransport;
  static constexpr bool kTellsWhyNotJoined = false;  ///< Whether its carrier, once joined, waits without a problem().
  std::string place;                                 ///< HOST:PORT
  std::string provider;                              ///< Empty: the default.

  /// A carrier that begins to join, or why there is none.
  [[nodiscard]] Result<std::unique_ptr<Carrier>> start() const;
  [[nodiscard]] static nic::LinkOptions link_options() noexcept { return nic::fabric_link_options(); }
  /// What to look at if it does not answer.
  [[nodiscard]] static std::string hint() { return "`listen` in [nic] of the appliance sets the address"; }
  /// Whether it is worth another start, because a carrier that cannot join has found out how it could.
  [[nodiscard]] static bool learn(const Carrier&) noexcept { return false; }
  /// Whether the publisher does not want this process, however long it waits.
  [[nodiscard]] static bool is_refused(const Carrier&) noexcept { return false; }
};

/// A network over UDP.
struct UdpPlace {
  using Carrier = nic::UdpTransport;
  static constexpr bool kTellsWhyNotJoined = true;
  std::string place;            ///< HOST:PORT
  std::string token;            ///< Of the network; empty: none.
  bool is_plain = false;        ///< Joins other hosts without encryption, too.
  std::size_t frame_bytes = 0;  ///< Of the network; 0: not known yet.

  [[nodiscard]] Result<std::unique_ptr<Carrier>> start() const;
  [[nodiscard]] static nic::LinkOptions link_options() noexcept { return nic::udp_link_options(); }
  [[nodiscard]] std::string hint() const;
  /// All nodes have one frame size, which node 0 tells those that come with another.
  [[nodiscard]] bool learn(const Carrier& carrier) noexcept;
  [[nodiscard]] static bool is_refused(const Carrier& carrier) noexcept { return carrier.is_token_refused(); }
};

}  // namespace stopbit::remote
