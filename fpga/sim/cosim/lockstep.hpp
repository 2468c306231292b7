#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fpga/sim/cosim/core.hpp"

/// The core and the interpreter instruction by instruction: where a record differs, this says which instruction is the
/// first that does something else.
namespace stopbit::sim {

struct Divergence {
  /// Of the instruction in the reference's program. Nothing: it is outside of all, or none could be found although
  /// records differ.
  std::optional<std::uint16_t> address;
  std::string text;  ///< For people: the instruction, the bytes, the dictionary and what came out, on both sides.
};

class LockStep {
 public:
  /// The core runs `program` too, or another one with the same tables: a test turns an instruction of it. Both must
  /// outlive this. Throws std::runtime_error if the core cannot run it.
  LockStep(const Program& program, const EngineOptions& engine, const CoreOptions& options,
           const Program* of_core = nullptr);
  ~LockStep();
  LockStep(const LockStep&) = delete;
  LockStep& operator=(const LockStep&) = delete;

  /// Decodes a datagram on both sides; nothing if they did the same. After a divergence they do not agree any more.
  [[nodiscard]] std::optional<Divergence> decode(const Datagram& datagram);
  void reset(std::uint16_t channel);

 private:
  class Recorder;
  [[nodiscard]] std::optional<Divergence> compare(const Datagram& datagram, const Outcome& outcome,
                                                  const std::vector<CoreStep>& steps, ErrorCode ended) const;

  const Program& program_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<Engine> reference_;
  Core core_;
};

}  // namespace stopbit::sim
