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
    m.window = nullptr;
    return core_.run_datagram({reinterpret_cast<const std::byte*>(index_.data()), index_.size()},
                              index_.size() != datagram.size(), info, sink, [this, &m] {
                                if (m.window == nullptr) enter(m);
                                return code_.run(&m);
                              });
  }

  void reset(std::uint16_t channel) noexcept override { core_.reset(channel); }
  void invalidate(std::uint16_t channel) noexcept override { core_.invalidate(channel); }

  [[nodiscard]] const Code& code() const noexcept { return code_; }

 private:
  /// Gives the code what it needs of a datagram.
  void enter(engine::Machine& m) noexcept {
    const std::size_t position = m.in.offset();
    const std::size_t window = position / wire::kIndexBlock;
    m.window = m.in.begin + window * wire::kIndexBlock;
    m.window_stops = m.stops[window] & ~std::uint64_t{0} << position % wire::kIndexBlock;
    m.entries = m.dictionary->entries();
    m.strings = m.dictionary->strings();
    m.assigned_mark = m.dictionary->assigned_mark();
  }

  static const engine::Step& step(engine::Machine& m, std::uint32_t address) { return m.code[address]; }

  static bool open_block(void* self, std::uint32_t address) noexcept {
    interp::Interpreter<interp::Silent>& core = static_cast<Native*>(self)->core_;
    const engine::Step& in = step(core.machine(), address);
    core.begin_step(in);
    return core.open_block(in);
  }

  static bool take(void* self, std::uint32_t address) noexcept {
    interp::Interpreter<interp::Silent>& core = static_cast<Native*>(self)->core_;
    const engine::Step& in = step(core.machine(), address);
    core.begin_step(in);
    if (in.op != isa::DataOp::Pmap) return core.take(in);
    if (!core.push_map()) return false;
    core.machine().map->expose();
    return true;
  }

  static bool take_text(void* self, std::uint32_t address) noexcept {
    auto& native = *static_cast<Native*>(self);
    return native.texts_.take(step(native.core_.machine(), address)) || take(self, address);
  }

  static const void* steer(void* self, std::uint32_t address) noexcept {
    auto& native = *static_cast<Native*>(self);
    engine::Machine& m = native.core_.machine();
    const engine::Step& in = step(m, address);
    m.step = &in;
    m.next = &in + 1;
    if (!native.core_.steer(in)) return nullptr;
    m.assigned_mark = m.dictionary->assigned_mark();
    if (m.complete) return native.code_.complete;
    const bool is_message = m.code == native.core_.message_code().data();
    return (is_message ? native.code_.message : native.code_.reference)[static_cast<std::size_t>(m.next - m.code)];
  }

  static inline interp::Silent nobody;

  interp::Interpreter<interp::Silent> core_;
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
