#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/nic/remote/protocol.hpp"
#include "host/tools/command.hpp"

namespace stopbit::tools {

/// Where a ring is published: fabric://HOST:PORT/RING, shm://NETWORK/RING for one of this host and user, or
/// broker:SOCKET/RING for one of this host that its broker's entitlements give.
struct RemoteAddress {
  enum class Carrier : std::uint8_t { Fabric, Shm, Broker };
  Carrier carrier = Carrier::Fabric;
  std::string place;  ///< HOST:PORT, the network, or the socket.
  std::string ring;
};
/// Whether this is an address, and no name of a local ring.
[[nodiscard]] bool is_remote(std::string_view text) noexcept;
/// A ToolError of kExitUsage if it is no address.
[[nodiscard]] RemoteAddress parse_remote(const std::string& text);

/// Each is a list "channel=7,template=30,FIELD=VALUE" of which all have to fit; one of the lists has to. A ToolError of
/// kExitUsage if they are no such thing.
[[nodiscard]] nic::remote::Filter parse_filter(const std::vector<std::string>& patterns);

/// What the command line says of a ring that is published elsewhere.
struct RemoteArguments {
  std::vector<std::string> filter;
  bool from_start = false;
  bool lossless = false;
  std::string token_file;
  std::string provider;
  bool is_far = false;
};
[[nodiscard]] std::vector<Option> remote_options(RemoteArguments& arguments);

/// A ring that is published elsewhere, in memory of this process under a name of its own, as long as this lives: a
/// thread receives its records. Readers open it as any ring.
class RemoteRing {
 public:
  struct How {
    const RemoteArguments& arguments;
    bool follows = false;     ///< When the ring ends, its successor of the same name is waited for.
    bool is_patient = false;  ///< A network that is not there is waited for, too.
    /// Of a ring with `lossless` that does not follow: so many records of it its reader has read; then the writer waits
    /// for that, too. Null: for nobody but this process.
    std::shared_ptr<const std::atomic<std::uint64_t>> records_read = nullptr;
  };
  /// Joins the publisher's network. Null: somebody wants us to stop. `tell` gets a line for each change of state, on
  /// any thread. A ToolError if the network cannot be joined, or `name` is that of a ring that somebody writes.
  [[nodiscard]] static std::unique_ptr<RemoteRing> open(const std::string& address, const std::string& name,
                                                        const How& how, std::function<void(const std::string&)> tell);
  virtual ~RemoteRing() = default;

  /// How it is. `exists`: the ring is there, under its name.
  struct Look {
    bool exists = false;
    bool is_near = false;  ///< The publisher writes it.
    bool is_refused = false;
    bool has_ended = false;
    std::string problem;  ///< Why there is none, as far as one knows.
    std::uint64_t records = 0, fetched = 0, lost = 0, sessions = 0;
  };
  [[nodiscard]] virtual Look look() const = 0;

  /// Waits until the ring is there. False: somebody wants us to stop. A ToolError if the publisher refuses, or, unless
  /// it is patient, says nothing or has no such ring for some seconds.
  bool wait(bool is_patient, const std::function<void(const std::string&)>& tell) const;
};

}  // namespace stopbit::tools
