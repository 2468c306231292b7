#include "decoder/jit/native.hpp"

#include <xbyak/xbyak.h>
#include <xbyak/xbyak_util.h>

#include <chrono>
#include <string>
#include <utility>

#include "decoder/engine/texts.hpp"
#include "decoder/interp/interpreter.hpp"
#include "decoder/jit/code_memory.hpp"
#include "decoder/jit/emitter.hpp"
#include "decoder/wire/index.hpp"

namespace stopbit {
namespace jit {
namespace {

/// The interpreter, whose common instructions are run by code of their own.
class Native final : public Engine {
 public:
  Native(const Program& program, const EngineOptions& options)
      : core_(program, options, nobody),
        max_elements_(options.limits.elements),
        index_(core_.max_datagram_bytes()),
        texts_(core_.machine(), core_.builder(), index_, options.limits.string_bytes),
        memory_(room_for(program)) {}

  Status make_code(const Program& program, const EngineOptions& options) {
    constexpr const char* kNoMemory = "the system refuses memory for code";
    if (memory_.data() == nullptr) return Failure{kNoMemory};
    const Hooks hooks{this, &open_block, &take, &take_text, &steer};
    try {
      code_ = emit(program, options, {core_.message_code(), core_.reference_code()}, hooks, memory_);
    } catch (const Xbyak::Error& error) {
      return Failure{std::string("the program cannot be compiled to machine code: ") + error.what()};
    }
    if (!memory_.seal(code_.bytes)) return Failure{kNoMemory};
    return Done{};
  }

  Outcome decode(std::span<const std::byte> datagram, const PacketInfo& info,
                 record::RecordSink& sink) noexcept override {
    index_.build(datagram);
    engine::Machine& m = core_.machine();
    m.stops = index_.stops();
    return core_.run_datagram({reinterpret_cast<const std::byte*>(index_.data()), index_.size()},
                              index_.size() != datagram.size(), info, sink, [this, &m] {
                                begin_message(m);
                                return code_.run(&m);
                              });
  }

  void reset(std::uint16_t channel) noexcept override { core_.reset(channel); }
  void invalidate(std::uint16_t channel) noexcept override { core_.invalidate(channel); }

  [[nodiscard]] const Code& code() const noexcept { return code_; }

 private:
  /// What the code needs of the channel, and of Interpreter::begin_message what `at` does not know.
  void begin_message(engine::Machine& m) noexcept {
    m.code = core_.message_code().data();
    m.call_depth = 0;
    m.complete = false;
    m.message_elements_left = max_elements_;
    m.fields = 0;
    m.current_template = 0xFFFF;
    m.entries = m.dictionary->entries();
    m.strings = m.dictionary->strings();
    m.assigned_mark = m.dictionary->assigned_mark();
  }

  /// Brings the state to an instruction. The code keeps what it needs: which block is open is known, and in messages
  /// how deep the stacks are.
  const engine::Step& at(std::uint32_t address, std::uint64_t bits, bool is_after_data_op = false) noexcept {
    engine::Machine& m = core_.machine();
    const engine::Step& in = m.code[address];
    m.block = in.block;
    if (in_message()) {
      const bool has_pushed = is_after_data_op && in.op == isa::DataOp::Pmap;
      m.map = &m.maps[in.depth.maps + (has_pushed ? 1U : 0U)];
      m.loop_depth = in.depth.loops;
    }
    if (code_.has_long_maps) {
      m.map->set_window(bits);
    } else {
      m.map->set_bits(bits);
    }
    return in;
  }
  [[nodiscard]] bool in_message() noexcept { return core_.machine().code == core_.message_code().data(); }

  static bool open_block(void* self, std::uint32_t address, std::uint64_t bits) noexcept {
    auto& native = *static_cast<Native*>(self);
    const engine::Step& in = native.at(address, bits);
    native.core_.begin_step(in);
    return native.core_.open_block(in);
  }

  static bool take(void* self, std::uint32_t address, std::uint64_t bits) noexcept {
    auto& native = *static_cast<Native*>(self);
    return native.take(native.at(address, bits));
  }
  bool take(const engine::Step& in) noexcept {
    interp::Interpreter<interp::Silent>& core = core_;
    core.begin_step(in);
    if (in.op != isa::DataOp::Pmap) return core.take(in);
    if (!core.push_map()) return false;
    core.machine().map->expose();
    return true;
  }

  static bool take_text(void* self, std::uint32_t address, std::uint64_t bits) noexcept {
    auto& native = *static_cast<Native*>(self);
    const engine::Step& in = native.at(address, bits);
    return native.texts_.take(in) || native.take(in);
  }

  static const void* steer(void* self, std::uint32_t address, std::uint64_t bits) noexcept {
    auto& native = *static_cast<Native*>(self);
    engine::Machine& m = native.core_.machine();
    const engine::Step& in = native.at(address, bits, true);
    m.step = &in;
    m.next = &in + 1;
    if (!native.core_.steer(in)) return nullptr;
    m.assigned_mark = m.dictionary->assigned_mark();
    if (m.complete) return native.code_.complete;
    const bool is_message = native.in_message();
    return (is_message ? native.code_.message : native.code_.reference)[static_cast<std::size_t>(m.next - m.code)];
  }

  static inline interp::Silent nobody;

  interp::Interpreter<interp::Silent> core_;
  const std::uint32_t max_elements_;
  wire::Index index_;
  engine::Texts texts_;
  CodeMemory memory_;
  Code code_;
};

/// Whether this processor can run the code.
Status check_processor() {
  using Xbyak::util::Cpu;
  const Cpu cpu;
  const std::pair<Cpu::Type, const char*> needed[] = {
      {Cpu::tBMI1, "BMI1"}, {Cpu::tBMI2, "BMI2"}, {Cpu::tAVX2, "AVX2"}, {Cpu::tMOVBE, "MOVBE"}};
  for (const auto& [feature, name] : needed) {
    if (!cpu.has(feature)) return Failure{std::string("this processor has no ") + name};
  }
  return Done{};
}

}  // namespace
}  // namespace jit

Result<std::unique_ptr<Engine>> make_native(const Program& program, const EngineOptions& options, jit::Figures* figures,
                                            jit::Parts* parts) {
  if (const Status can = jit::check_processor(); !can) return can.failure();
  const auto begin = std::chrono::steady_clock::now();
  auto native = std::make_unique<jit::Native>(program, options);
  if (const Status made = native->make_code(program, options); !made) return made.failure();
  if (figures != nullptr) {
    *figures = {program.code.size(), native->code().bytes, native->code().rare_bytes,
                std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
  }
  if (parts != nullptr) *parts = native->code().parts;
  return std::unique_ptr<Engine>(std::move(native));
}

}  // namespace stopbit
