#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/feed/packet/packet.hpp"
#include "host/lab/simulate/preset.hpp"
#include "host/lab/simulate/settings.hpp"
#include "microcode/base/diagnostic.hpp"

namespace stopbit::simulate {

/// A datagram that the exchange sends.
struct Sent {
  std::uint64_t time_ns = 0;  ///< Since the epoch, by the simulated clock. Never goes back.
  std::size_t line = 0;       ///< 0 = A, 1 = B.
  bool from_backup = false;   ///< After a fail-over.
  net::Endpoint source;
  net::Endpoint group;
  std::span<const std::byte> payload;  ///< Valid until the next call of next().
};

/// Impairments of a stream's datagrams, by line.
struct ImpairReport {
  std::array<std::uint64_t, impair::kMaxLines> lost{};  ///< Lost on this line, on all at once, or while it was dead.
  std::array<std::uint64_t, impair::kMaxLines> doubled{};
  std::array<std::uint64_t, impair::kMaxLines> held_back{};
  std::array<std::uint64_t, impair::kMaxLines> damaged{};
};

/// Counts of a channel's stream.
struct StreamReport {
  std::uint64_t channel = 0;  ///< From 1.
  Role role = Role::Incremental;
  std::string framing;
  std::string templates;
  std::vector<net::Endpoint> groups;  ///< By line.
  std::uint64_t packets = 0;          ///< With a number of their own, on one line.
  std::uint64_t datagrams = 0;        ///< On one line; more than packets if there are chunks.
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;  ///< Of payloads, on one line.
  std::uint64_t last_sequence = 0;
  std::uint64_t cycles = 0;  ///< Of snapshots, begun.
  std::uint64_t resets = 0;
  std::uint64_t failovers = 0;
  ImpairReport impaired;
};

/// An exchange in a box: order books that walk at random, and messages about them, encoded by a preset. The
/// same settings give the same bytes at the same simulated times. One thread; knows no clock.
class Exchange {
 public:
  /// Compiles the preset's templates and tries every pattern once; what is wrong is in `diagnostics`.
  [[nodiscard]] static std::unique_ptr<Exchange> make(const Settings& settings, const Preset& preset,
                                                      Diagnostics& diagnostics);
  virtual ~Exchange() = default;

  /// The next datagram in the order of time; false at the end, or after a message that cannot be encoded: fault().
  [[nodiscard]] virtual bool next(Sent& sent) = 0;
  /// One sentence, or empty.
  [[nodiscard]] virtual const std::string& fault() const noexcept = 0;
  [[nodiscard]] virtual std::vector<StreamReport> report() const = 0;
};

}  // namespace stopbit::simulate
