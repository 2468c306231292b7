#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "decoder/engine/engine.hpp"
#include "microcode/program.hpp"
#include "tests/lib/recording_sink.hpp"

/// What must hold whatever a fuzzer thinks of. A broken promise aborts, which a fuzzer and a replay both report.
namespace stopbit::fuzz {

/// Prints and aborts unless `holds`.
void require(bool holds, std::string_view promise, std::string_view detail = {});

/// A verified program: image and listing give it again, byte for byte.
void check_round_trips(const Program& program);

/// The input of a fuzz target, taken apart from the front. Reads zeros past its end.
class Input {
 public:
  explicit Input(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }
  std::uint8_t byte();
  std::uint16_t half();
  std::uint64_t word();
  std::span<const std::byte> take(std::size_t count);
  std::span<const std::byte> rest() { return take(bytes_.size()); }

 private:
  std::span<const std::uint8_t> bytes_;
};

/// Options from one byte.
EngineOptions engine_options(std::uint8_t bits);

/// The rest of an input as datagrams: a byte of length (255: the rest), the bytes.
std::vector<std::vector<std::byte>> take_datagrams(Input& input);

/// Of a target whose input ends in datagrams: where they begin. For mutate_entities.cpp.
std::size_t datagrams_begin(std::span<const std::uint8_t> input);

/// Outcome of a run of datagrams.
struct Run {
  std::vector<Outcome> outcomes;
  std::vector<cases::Record> records;
};

/// Runs the datagrams on every engine. Outcomes and records must be the same, sound, bounded, and readable.
Run run_datagrams(const Program& program, const EngineOptions& options,
                  const std::vector<std::vector<std::byte>>& datagrams);

}  // namespace stopbit::fuzz
