#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "decoder/engine/engine.hpp"
#include "decoder/record/layout.hpp"
#include "host/device/firmware/device.hpp"
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
  firmware::DeviceOptions device = {};
};

/// What some datagrams cost.
struct CoreFigures {
  std::uint64_t cycles = 0;        ///< From the first beat taken to the last slot out.
  std::uint64_t instructions = 0;  ///< That left the consume stage.
};

/// What an instruction did in the core: of stopbit_operate's `trace`.
struct CoreStep {
  std::uint16_t address = 0;
  std::uint32_t offset = 0;  ///< In the datagram, of what it takes.
  bool has_value = false;    ///< It is an integer: its source and value, and what the dictionary had.
  std::uint8_t source = 0;   ///< source_e
  std::uint64_t value = 0;
  std::uint64_t previous = 0;
  bool writes = false;  ///< Its value goes to the dictionary: to this entry, counted over all channels.
  std::uint16_t entry = 0;
  bool has_text = false;  ///< It is a string: its length and last word.
  std::uint32_t length = 0;
  std::uint64_t last_word = 0;
  std::uint8_t error = 0;
};

class Core {
 public:
  /// Resets the core and loads the program into a bank, which must be one that the device can run. The program must
  /// outlive the core. Throws std::runtime_error if it cannot be loaded.
  Core(const Program& program, const EngineOptions& engine, const CoreOptions& options);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  /// Decodes the datagrams, one after another without a pause. Gives their records, event records among them, with
  /// stamp and phase 0. Throws std::runtime_error if the core hangs or breaks the rules of its streams.
  [[nodiscard]] std::vector<Record> decode(std::span<const Datagram> datagrams);
  /// The same, and adds to `steps` what each instruction did.
  [[nodiscard]] std::vector<Record> decode(std::span<const Datagram> datagrams, std::vector<CoreStep>& steps);
  /// Resets the hardware in the middle of a datagram, whose first `beats` beats are sent. Its tables stay.
  void interrupt(const Datagram& datagram, std::size_t beats);
  /// How many of the words that were loaded for the program do not read back as they were. Between datagrams.
  [[nodiscard]] std::size_t changed_words();
  /// Forgets the dictionary of a channel.
  void reset(std::uint16_t channel);
  /// Loads another program, with the same options, into the other bank while the next datagrams are decoded: a word a
  /// cycle, and the rest of it after them. Then `channel` is decoded by it.
  void load_beside(const Program& other, std::uint16_t channel);

  [[nodiscard]] const CoreFigures& figures() const noexcept { return figures_; }

 private:
  class Model;
  std::unique_ptr<Model> model_;
  const Program& program_;
  EngineOptions engine_;
  firmware::DeviceOptions device_;
  unsigned bank_;
  std::vector<firmware::Word> channel_words_;
  CoreFigures figures_;
};

/// Keeps records, with stamp and phase 0.
class RecordList final : public record::RecordSink {
 public:
  explicit RecordList(std::size_t max_slots) : slots_(max_slots) {}
  Place open() noexcept override { return {slots_.data(), 0, false}; }
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override {
    slots_[0] = first;
    records.emplace_back(slots_.begin(), slots_.begin() + slots);
  }
  std::vector<Record> records;

 private:
  std::vector<record::Slot> slots_;
};

/// What the interpreter makes of the same datagrams, with stamp and phase 0. Keeps its dictionaries from call to call.
class Reference {
 public:
  Reference(const Program& program, const EngineOptions& options);
  [[nodiscard]] std::vector<Record> decode(std::span<const Datagram> datagrams);
  void reset(std::uint16_t channel);
  /// Of the datagrams so far.
  [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }
  [[nodiscard]] std::uint64_t fields() const noexcept { return fields_; }
  [[nodiscard]] std::uint64_t words() const noexcept { return words_; }

 private:
  RecordList sink_;
  std::unique_ptr<Engine> engine_;
  std::uint64_t messages_ = 0;
  std::uint64_t fields_ = 0;  ///< Present ones: values decoded.
  std::uint64_t words_ = 0;   ///< Words of records with a tag of a value.
};

/// The first slot in which the records differ, in words for people; empty if they are the same.
[[nodiscard]] std::string difference(std::span<const Record> reference, std::span<const Record> core);

}  // namespace stopbit::sim
