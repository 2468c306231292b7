#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/ports/port.hpp"
#include "host/ports/socket/socket_port.hpp"
#include "host/ports/step/step_port.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::config {
class Table;
struct Key;
}  // namespace stopbit::config

namespace stopbit::ingest {

/// Datagrams that a thread asks a port for at a time, at most.
inline constexpr std::size_t kMaxBatch = 512;

using OpenedPort = Result<std::unique_ptr<Port>>;

/// What ports need from their process when they are opened.
struct PortContext {
  std::function<std::uint64_t()> clock;  ///< Monotonic, ns; paced captures follow it.
  std::uint64_t dpdk_memory = 0;         ///< Bytes.
  /// Opens the socket of a group at an interface, for a process that may not; empty: it may.
  std::function<Result<int>(const std::string& interface, const Membership& membership,
                            std::vector<std::string>& notes)>
      open_socket = {};
  /// Begins a session (StepPortOptions); empty: there are none.
  decltype(StepPortOptions::open_session) open_session = {};
  std::map<std::string, std::shared_ptr<void>> shared = {};  ///< By kind: what its ports have in common.
};

/// The device of a port, by which its NUMA node is found. At most one of the two; both empty: no device.
struct Attachment {
  std::string interface = {};    ///< A network interface of the kernel.
  std::string pci_address = {};  ///< "0000:03:00.0".
};

/// Where packets of a port come from: the settings of its kind, and what the kind does with them. Each kind is a folder
/// and a row of port_kinds.def; the rest of the program knows this interface only.
class PortSource {
 public:
  PortSource() = default;
  PortSource(const PortSource&) = delete;
  PortSource& operator=(const PortSource&) = delete;
  virtual ~PortSource() = default;

  /// Opens the port. Adds to `notes` a sentence for each requested feature that is not available.
  [[nodiscard]] virtual OpenedPort open(PortContext& context, std::vector<std::string>& notes) const = 0;
  [[nodiscard]] virtual Attachment attachment() const { return {}; }
  /// Whether packets are lost if they are not taken in time; else they are those of a capture, which waits.
  [[nodiscard]] virtual bool is_live() const noexcept { return true; }
  /// Whether it chooses cores and memory itself: it is then opened outside the place of its agent.
  [[nodiscard]] virtual bool places_itself() const noexcept { return false; }
  /// Whether its system calls are known, so that those of the process can be filtered.
  [[nodiscard]] virtual bool has_known_calls() const noexcept { return true; }
  /// The options of its sockets, if it receives by sockets: another process can open them (PortContext::open_socket).
  [[nodiscard]] virtual std::optional<SocketPortOptions> sockets() const { return std::nullopt; }
  /// Whether the groups of its lines are servers that it connects to.
  [[nodiscard]] virtual bool has_sessions() const noexcept { return false; }
  /// The file of its password; empty: it has none.
  [[nodiscard]] virtual std::string password_file() const { return {}; }
};

/// A port before this one in the file.
struct PortAbove {
  std::string_view name;
  PortSource& source;
};

/// What the reader of a kind knows besides its table.
struct PortPlace {
  const std::string& folder;  ///< Of the file of settings; paths are relative to it (config::in_folder).
  std::span<const PortAbove> above;
};

/// The rows of `kind` and of the keys of all kinds, which NAME_port_keys() of their folders give. A table has those of
/// its kind only: the others are unknown keys there.
[[nodiscard]] std::vector<config::Key> port_keys();

/// Reads `kind` and the keys of the kind, by read_NAME_port of its folder, which has the same arguments. Reports errors
/// to the table; never returns null.
[[nodiscard]] std::unique_ptr<PortSource> read_port(config::Table& table, const PortPlace& place);

}  // namespace stopbit::ingest
