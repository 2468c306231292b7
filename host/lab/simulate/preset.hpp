#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/feed/framing/framing.hpp"
#include "host/lab/simulate/pattern.hpp"
#include "microcode/base/diagnostic.hpp"

namespace stopbit::simulate {

enum class Role : std::uint8_t {
  Incremental,
  Snapshot,  ///< Its numbers go on from one cycle to the next.
  Carousel,  ///< Its numbers begin at 1 with each cycle.
};
[[nodiscard]] std::string_view role_text(Role role) noexcept;

/// Traffic of one group (on each line): framing, templates, and the form of its messages.
struct StreamModel {
  Role role = Role::Incremental;
  net::Framing framing;
  std::string templates_name;
  std::shared_ptr<const SourceBuffer> templates;
  std::vector<Pattern> begin;  ///< Messages before the others of a packet.
  Pattern update;              ///< $entries is `entry`, repeated.
  Pattern entry;
  Pattern trade;
  Pattern heartbeat;
  Pattern reset;     ///< Empty: the feed knows no reset of its numbers.
  Pattern snapshot;  ///< $entries is `level`, repeated. Exactly one stream has it.
  Pattern level;
};

/// How an exchange speaks: plain data from a file. The first stream is the incremental one.
struct Preset {
  std::string name;
  std::vector<StreamModel> streams;
  std::uint64_t levels = 5;     ///< Of each side of a book.
  std::uint64_t entries = 4;    ///< At most, of an update.
  std::uint64_t messages = 1;   ///< At most, of a packet.
  std::uint64_t fragments = 1;  ///< Of a snapshot.
  bool restarts_on_failover = false;
  std::size_t max_payload = 1'472;

  /// Not one that comes with the program.
  [[nodiscard]] bool is_file() const noexcept { return name.ends_with(".toml"); }
};

/// A preset that comes with the program ("cme"), or one's own: the name of a file that ends in .toml, whose template
/// files are in the same folder. All errors are in `diagnostics`.
[[nodiscard]] std::optional<Preset> load_preset(const std::string& name, Diagnostics& diagnostics);

/// Names of those that come with the program.
[[nodiscard]] std::vector<std::string_view> preset_names();

}  // namespace stopbit::simulate
