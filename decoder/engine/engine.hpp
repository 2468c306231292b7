#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "decoder/record/sink.hpp"
#include "microcode/base/error_code.hpp"
#include "microcode/base/limits.hpp"
#include "microcode/program.hpp"

namespace stopbit {

/// When the dictionary of a channel is reset.
enum class ResetRule : std::uint8_t {
  Packet,    ///< Before every datagram, and by templates with the reset attribute.
  Template,  ///< By templates with the reset attribute.
  Never,     ///< Only by Engine::reset.
};
inline constexpr std::array<std::pair<std::string_view, ResetRule>, 3> kResetRules = {
    {{"packet", ResetRule::Packet}, {"template", ResetRule::Template}, {"never", ResetRule::Never}}};

[[nodiscard]] constexpr std::string_view reset_rule_name(ResetRule rule) noexcept {
  for (const auto& [name, value] : kResetRules) {
    if (value == rule) return name;
  }
  return {};
}
[[nodiscard]] constexpr std::optional<ResetRule> parse_reset_rule(std::string_view text) noexcept {
  for (const auto& [name, value] : kResetRules) {
    if (name == text) return value;
  }
  return std::nullopt;
}

/// Per-message resource limits, applied on top of the program's own. Tune them if you know the feed. The bounds of
/// microcode/base/limits.hpp always apply.
struct EngineLimits {
  std::uint32_t datagram_bytes = limits::kMaxDatagramBytes;  ///< More bytes are X1.
  std::uint32_t elements = 4'096;      ///< Sequence elements of one message, inner ones included: X2.
  std::uint32_t empty_elements = 256;  ///< Elements of one sequence whose elements may take no bytes: X2.
  std::uint32_t nesting = 8;           ///< Nesting of sequences, and of dynamic references: X7.
  std::uint32_t string_bytes =
      65'536;  ///< Of a string or byte vector: X3. A record holds limits::kMaxStringBytes (X8).
};

struct EngineOptions {
  ResetRule reset = ResetRule::Packet;
  bool strict = false;         ///< Also signal R2, R6, R7, R8 and R9.
  std::uint16_t channels = 1;  ///< Dictionary contexts. PacketInfo::channel must be below.
  std::uint16_t image_generation = 0;
  /// A profile program is used only if it saves at least this many instructions, the cost of the lookup.
  std::uint8_t least_saved = 3;
  EngineLimits limits = {};
};

/// Metadata of a datagram; copied into the header of its records.
struct PacketInfo {
  std::uint64_t arrival_ns = 0;
  std::uint64_t number = 0;       ///< In its source, counted from 1.
  std::uint32_t sequence = 0;     ///< From the preamble; 0 if there is none.
  std::uint32_t data_offset = 0;  ///< Bytes of the datagram before the first message (preamble).
  std::uint16_t channel = 0;
  std::uint16_t sender_epoch = 0;
  record::SourceLine source = record::SourceLine::File;
  record::TimeQuality time_quality = record::TimeQuality::Synthetic;
};

/// Result of decoding a datagram. On an error the records of earlier messages remain, followed by an event record.
struct Outcome {
  ErrorCode error = ErrorCode::None;
  bool dropped = false;            ///< Not decoded: the context is waiting for a reset.
  std::uint32_t messages = 0;      ///< Complete ones.
  std::uint32_t fields = 0;        ///< Values decoded, over the complete messages (a decimal counts as one).
  std::uint64_t instructions = 0;  ///< Executed ones. verify::TemplateCost bounds them.
  std::uint32_t offset_bytes = 0;  ///< In the datagram: first byte of the faulty entity; its end if there is no error.
  std::uint32_t template_id = 0;   ///< D9: the unknown identifier.
  std::uint16_t template_index = 0xFFFF;  ///< Where the error is; 0xFFFF = outside a template.
  std::uint16_t block = 0xFFFF;           ///< 0xFFFF = not at a field.
  std::uint8_t word = 255;
};

/// Runs one verified program over datagrams. One thread per engine; programs may be shared and must outlive their
/// engines. Allocates only when constructed. Work per datagram is bounded by a constant per byte.
class Engine {
 public:
  virtual ~Engine() = default;

  /// Decodes messages until the datagram ends or one is faulty; a faulty one drops the rest of the datagram.
  /// Reads nothing outside `datagram`, which may have at most EngineLimits::datagram_bytes (longer: X1 at that offset).
  virtual Outcome decode(std::span<const std::byte> datagram, const PacketInfo& info,
                         record::RecordSink& sink) noexcept = 0;

  /// Resets the dictionary of a channel: every entry becomes undefined. Also ends the wait after an error. O(1).
  virtual void reset(std::uint16_t channel) noexcept = 0;

  /// Reports that data of a channel is missing, so its dictionary cannot be trusted. As after an error, datagrams are
  /// dropped until the next reset. Writes no record. Does nothing with ResetRule::Packet. O(1).
  virtual void invalidate(std::uint16_t channel) noexcept = 0;
};

/// The reference engine (decoder/interp). `program` must have passed verify::check.
[[nodiscard]] std::unique_ptr<Engine> make_interpreter(const Program& program, const EngineOptions& options);

}  // namespace stopbit
