#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/appliance/clocks.hpp"
#include "host/appliance/placement.hpp"
#include "host/ports/port.hpp"
#include "host/ports/socket/socket_port.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::config {
class Table;
}
namespace stopbit::opener {
class Client;
}

namespace stopbit::appliance {

struct PortSettings;

using OpenedPort = Result<std::unique_ptr<ingest::Port>>;

/// What ports need from their process when they are opened.
struct PortContext {
  Clock clock;                    ///< Monotonic; paced captures follow it.
  std::uint64_t dpdk_memory = 0;  ///< Bytes.
  opener::Client* opener = nullptr;
  std::map<std::string, std::shared_ptr<void>> shared = {};  ///< By kind: what its ports have in common.
};

/// Where packets of a port come from: the settings of its kind, and what the kind does with them. Each kind is a class
/// in a file of sources/ and a row of sources/port_kinds.def; the rest of the appliance knows this interface only.
class PortSource {
 public:
  PortSource() = default;
  PortSource(const PortSource&) = delete;
  PortSource& operator=(const PortSource&) = delete;
  virtual ~PortSource() = default;

  /// Opens the port. Adds to `notes` a sentence for each requested feature that is not available.
  [[nodiscard]] virtual OpenedPort open(PortContext& context, std::vector<std::string>& notes) const = 0;
  /// The NUMA node at which its packets arrive, if it is known.
  [[nodiscard]] virtual std::optional<std::uint32_t> node(const Topology& /*topology*/) const { return std::nullopt; }
  /// Whether packets are lost if they are not taken in time; else they are those of a capture, which waits.
  [[nodiscard]] virtual bool is_live() const noexcept { return true; }
  /// Whether it chooses cores and memory itself: it is then opened outside the place of its agent.
  [[nodiscard]] virtual bool places_itself() const noexcept { return false; }
  /// Whether its system calls are known, so that those of the process can be filtered.
  [[nodiscard]] virtual bool has_known_calls() const noexcept { return true; }
  /// The options of its sockets, if it receives by sockets: the opener of a confined appliance makes them.
  [[nodiscard]] virtual std::optional<ingest::SocketPortOptions> sockets() const { return std::nullopt; }
};

/// What the reader of a kind knows besides its table.
struct PortPlace {
  const std::string& folder;            ///< Of appliance.toml; paths are relative to it.
  std::span<const PortSettings> above;  ///< The ports before it in the file.
};

/// A kind of port: a row of port_kinds.def.
struct PortKind {
  std::string_view name;
  /// Reads the keys of the kind. Reports errors to the table; never returns null.
  std::unique_ptr<PortSource> (*read)(config::Table& table, const PortPlace& place);
};
[[nodiscard]] std::span<const PortKind> port_kinds() noexcept;

#define STOPBIT_PORT_KIND(name) \
  [[nodiscard]] std::unique_ptr<PortSource> read_##name##_port(config::Table& table, const PortPlace& place);
#include "host/appliance/sources/port_kinds.def"
#undef STOPBIT_PORT_KIND

}  // namespace stopbit::appliance
