#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "decoder/engine/engine.hpp"
#include "decoder/record/layout.hpp"
#include "fpga/firmware/device.hpp"
#include "microcode/program.hpp"

/// The Verilated decode core (fpga/rtl/engine/stopbit_core.sv), driven as front end and ring writer would.
namespace stopbit::sim {

using Record = std::vector<record::Slot>;

struct Datagram {
  std::span<const std::byte> bytes;
  PacketInfo info;
};

struct CoreOptions {
  std::uint64_t seed = 1;         ///< Of stalls and of registers without reset.
  std::uint32_t input_stall = 0;  ///< Percent of cycles.
  std::uint32_t output_stall = 0;
};

/// What some datagrams cost.
struct CoreFigures {
  std::uint64_t cycles = 0;        ///< From the first beat taken to the last slot out.
  std::uint64_t instructions = 0;  ///< That left the consume stage.
};

class Core {
 public:
  /// Resets the core and loads the program into a bank, which must be one that the device can run. The program must
  /// outlive the core. Throws std::runtime_error if it cannot be loaded.
  Core(const Program& program, const EngineOptions& engine, const CoreOptions& options);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  /// Decodes the datagrams, one behind the other without a pause. Gives their records, event records among them, with
  /// stamp and phase 0. Throws std::runtime_error if the core hangs or breaks the rules of its streams.
  [[nodiscard]] std::vector<Record> decode(std::span<const Datagram> datagrams);
  /// Resets the hardware in the middle of a datagram, whose first `beats` beats are sent. Its tables stay.
  void interrupt(const Datagram& datagram, std::size_t beats);
  /// Forgets the dictionary of a channel.
  void reset(std::uint16_t channel);
  /// Loads another program, with the same options, into the other bank while the next datagrams are decoded: a word a
  /// cycle, and what is left of it behind them. Then `channel` is decoded by it.
  void load_beside(const Program& other, std::uint16_t channel);

  [[nodiscard]] const CoreFigures& figures() const noexcept { return figures_; }

 private:
  class Model;
  std::unique_ptr<Model> model_;
  const Program& program_;
  EngineOptions engine_;
  unsigned bank_;
  std::vector<firmware::Word> channel_words_;
  CoreFigures figures_;
};

/// What the interpreter makes of the same datagrams, with stamp and phase 0. Keeps its dictionaries from call to call.
class Reference {
 public:
  Reference(const Program& program, const EngineOptions& options);
  ~Reference();
  [[nodiscard]] std::vector<Record> decode(std::span<const Datagram> datagrams);
  void reset(std::uint16_t channel);
  /// Of the datagrams so far.
  [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }
  [[nodiscard]] std::uint64_t fields() const noexcept { return fields_; }
  [[nodiscard]] std::uint64_t words() const noexcept { return words_; }

 private:
  class Sink;
  std::unique_ptr<Sink> sink_;
  std::unique_ptr<Engine> engine_;
  std::uint64_t messages_ = 0;
  std::uint64_t fields_ = 0;  ///< Present ones: values decoded.
  std::uint64_t words_ = 0;   ///< Words of records with a tag of a value.
};

/// The first slot in which the records differ, in words for people; empty if they are the same.
[[nodiscard]] std::string difference(std::span<const Record> reference, std::span<const Record> core);

}  // namespace stopbit::sim
