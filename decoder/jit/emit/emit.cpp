#include "decoder/jit/emit/emitter_class.hpp"

#include <algorithm>
#include <utility>

#include "decoder/engine/integers.hpp"

namespace stopbit::jit {

namespace {

constexpr std::size_t kBytesPerInstruction = 1'600;
constexpr std::size_t kFixedBytes = 1U << 16;

}  // namespace

Emitter::Emitter(const Program& program, const EngineOptions& options, const Hooks& hooks, const CodeMemory& memory)
    : CodeGenerator(memory.size(), memory.data()),
      program_(program),
      options_(options),
      hooks_(hooks),
      nesting_(static_cast<int>(std::min<std::size_t>(options.limits.nesting, limits::kMaxLoopDepth))),
      has_long_maps_(
          std::any_of(program.code.begin(), program.code.end(),
                      [](const isa::Instruction& in) { return in.op == DataOp::Pmap && in.slot > kMapWordBits; })),
      general_size_(general_size(program)) {
  setDefaultJmpNEAR(true);
}

auto Emitter::emit(const Steps& steps) -> Code {
  Code code;
  make_dispatch(code);
  align(16);
  set_part(Part::Frame);
  code.run = getCurr<bool (*)(Machine*)>();
  emit_frame();
  code.message = emit_steps(steps.message, 0);
  const bool calls = std::any_of(program_.code.begin(), program_.code.end(),
                                 [](const auto& in) { return in.control == ControlOp::Call; });
  if (calls) code.reference = emit_steps(steps.reference, kFirstTemplate);
  code.complete = complete_.getAddress();
  for (const auto& [id, label] : dispatched_) code.dispatch[id] = label->getAddress();
  std::replace(code.dispatch.begin(), code.dispatch.end(), static_cast<const void*>(nullptr),
               static_cast<const void*>(dispatch_elsewhere_.getAddress()));
  if (hasUndefinedLabel()) throw Xbyak::Error(Xbyak::ERR_LABEL_IS_NOT_FOUND);
  code.has_long_maps = has_long_maps_;
  code.bytes = getSize();
  code.rare_bytes = rare_bytes_;
  parts_.end(getCurr());
  code.parts = std::move(parts_);
  return code;
}

auto Emitter::place(std::size_t address) const -> Place {
  return {static_cast<std::uint32_t>(address), &steps_[address]};
}

auto Emitter::emit_steps(std::span<const Step> steps, std::size_t first) -> std::vector<const void*> {
  steps_ = steps;
  labels_ = std::vector<Label>(steps.size() + 1);
  is_message_ = first == 0;
  if (is_message_) find_openings();
  expected_ = std::vector<bool>(steps.size());
  for (std::size_t i = first; i < steps.size(); ++i) expected_[i] = is_in_opening(place(i));
  for (std::size_t i = first; i < steps.size(); ++i) {
    if (is_message_) emit_entry(i);
    i = emit_step(i);
  }
  const std::size_t before = getSize();
  const Within part(*this, Part::Rare);
  // A rare path may have rarer ones.
  for (std::size_t i = 0; i < rare_.size(); ++i) {
    const std::function<void()> path = std::move(rare_[i]);
    path();
  }
  rare_.clear();
  rare_bytes_ += getSize() - before;
  std::vector<const void*> places(steps.size(), nullptr);
  for (std::size_t i = first; i < steps.size(); ++i) places[i] = labels_[i].getAddress();
  return places;
}

std::size_t Emitter::emit_step(std::size_t address) {
  const Place in = place(address);
  L(labels_[address]);
  switch (in->control) {
    case ControlOp::Block: open_block(in); break;
    case ControlOp::Seq:
    case ControlOp::Disp:
    case ControlOp::Call: {
      const Within part(*this, Part::Sequence);
      lea(rcx, ptr[window_ + last_ + 1]);
      mov(STOPBIT_FIELD(entity), rcx);
      break;
    }
    default: break;
  }
  Place last = in;
  if (isa::is_exponent(isa::type_of(in->op)) && !isa::is_special(in->op)) {
    last = decimal(in);
  } else {
    data_op(in);
  }
  control(last);
  return last.address;
}

void Emitter::rare(std::function<void()> path) {
  rare_.push_back(std::move(path));
}

void Emitter::take_elsewhere(Place in) {
  const Within part(*this, Part::Interpreter);
  mov(esi, in.address);
  call(take_);
  if (in->control == ControlOp::Seq) {
    xor_(ecx, ecx);
    mov(eax, STOPBIT_FIELD_DWORD(sequence_length));
    cmp(STOPBIT_FIELD_BYTE(present), 0);
    cmovz(eax, ecx);
  }
}

void Emitter::steer_elsewhere(Place in) {
  const Within part(*this, Part::Interpreter);
  mov(esi, in.address);
  call(steer_);
  jmp(rax);
}

auto Emitter::elsewhere(Place in, Label& done, Bit bit, std::optional<Decimal> decimal) -> Label& {
  Label& label = new_label();
  if (in->known != KnownBit::No) bit = Bit::None;
  rare([this, in, &done, &label, bit, decimal] {
    L(label);
    put_back(bit);
    undo(in);
    if (decimal) mov(STOPBIT_FIELD_BYTE(decimal), static_cast<int>(*decimal));
    take_elsewhere(in);
    jmp(done);
  });
  return label;
}

void Emitter::put_back(Bit bit) {
  if (bit == Bit::None) return;
  if (bit == Bit::Set) {
    stc();
  } else {
    clc();
  }
  rcr(map_, 1);
}

auto Emitter::new_label() -> Label& {
  owned_.push_back(std::make_unique<Label>());
  return *owned_.back();
}

void Emitter::data_op(Place in) {
  switch (in->op) {
    case DataOp::Nop: return;
    case DataOp::Pmap: return push_map(in);
    case DataOp::Tid: return template_id(in);
    default: break;
  }
  Label& done = new_label();
  const Type type = isa::type_of(in->op);
  const bool is_plain_integer = type <= Type::S64 && isa::operator_of(in->op) <= Operator::Del;
  if (is_plain_integer) {
    integer(in, done, done);
  } else if (type == Type::Ascii) {
    ascii(in, done);
  } else {
    take_elsewhere(in);
  }
  L(done);
}

bool Emitter::take_bit(Place in, std::function<void()> path) {
  if (in->known == KnownBit::Set) return true;
  if (in->known == KnownBit::Clear) {
    path();
    return false;
  }
  Label& clear = new_label();
  go_if_clear(in->depth.maps, clear);
  rare([this, &clear, path = std::move(path)] {
    L(clear);
    path();
  });
  return true;
}

void Emitter::go_if_clear(unsigned depth, Label& clear) {
  const Within part(*this, Part::Bit);
  shift_map(depth);
  jnc(clear);
}

void Emitter::shift_map(unsigned depth) {
  if (!has_long_maps_) return add(map_, map_);
  Label& again = new_label();
  Label& end = new_label();
  L(again);
  add(map_, map_);
  jz(end);
  rare([this, depth, &again, &end] {
    L(end);
    push(rsi);
    find_map(depth);
    call(next_bits_);
    pop(rsi);
    jmp(again);
  });
}

Code emit(const Program& program, const EngineOptions& options, const Steps& steps, const Hooks& hooks,
          const CodeMemory& memory) {
  return Emitter(program, options, hooks, memory).emit(steps);
}

std::size_t room_for(const Program& program) noexcept {
  return kFixedBytes + 2 * program.code.size() * kBytesPerInstruction;
}

}  // namespace stopbit::jit
