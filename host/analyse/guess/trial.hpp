#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "decoder/engine/engine.hpp"
#include "host/analyse/guess/sample.hpp"
#include "host/feed/framing/framing.hpp"
#include "host/replay/replay.hpp"
#include "microcode/program.hpp"

namespace stopbit::guess {

/// Result of decoding a sample with a framing.
struct Trial {
  net::Framing framing;
  std::uint64_t datagrams = 0;   ///< Decoded, or tried to.
  bool is_whole = true;          ///< The trial went to the end of the sample.
  std::uint64_t clean = 0;       ///< Of those, decoded without an error, to at least one message.
  std::uint64_t dropped = 0;     ///< Not decoded after an error in an earlier one.
  std::uint64_t incomplete = 0;  ///< Chunked messages of which a chunk is missing.
  std::uint64_t messages = 0;
  std::uint64_t fields = 0;
  std::uint64_t strictly = 0;     ///< Clean ones of a second trial that signals all errors; set where it is needed.
  std::uint64_t values_hash = 0;  ///< Equal for trials that give the same records.
  std::array<std::uint64_t, 256> errors{};             ///< By ErrorCode.
  std::map<std::uint32_t, std::uint64_t> unknown_ids;  ///< D9: how often; a bounded number of identifiers.
  std::map<std::uint64_t, ErrorCode> packet_errors;    ///< By packet number: the first error of each faulty one.
  bool reset_seen = false;                             ///< A template that asks for a reset was decoded.

  /// 0 to 1.
  [[nodiscard]] double clean_share() const noexcept {
    return datagrams == 0 ? 0 : static_cast<double>(clean) / static_cast<double>(datagrams);
  }
  [[nodiscard]] bool decodes(std::uint64_t packet) const { return !packet_errors.contains(packet) && messages != 0; }
  /// Of the messages whose template identifier could be read, those whose template is known: 0 to 1.
  [[nodiscard]] double known_share() const noexcept;
  [[nodiscard]] ErrorCode most_frequent_error() const noexcept;
};

/// Decodes the sample once, or a part of it if its packets are made to be costly. `program` must be verified.
[[nodiscard]] Trial try_framing(const Program& program, const Sample& sample, const net::Framing& framing);
/// With the engine's settings too.
[[nodiscard]] Trial try_options(const Program& program, const Sample& sample, replay::Options options);

/// "custom:skip=2,..." as parse_framing reads it; the preset's name if there is one with these settings.
[[nodiscard]] net::Framing fixed_framing(std::uint32_t skip, net::PreambleField sequence, ResetRule reset, bool blocks);

}  // namespace stopbit::guess
