#include "decoder/jit/emit/emitter_class.hpp"

#include "decoder/engine/integers.hpp"

namespace stopbit::jit {

void Emitter::open_block(Place in) {
  const Within part(*this, Part::Block);
  const Block& block = program_.blocks[in->target];
  const auto slots = static_cast<int>(record::block_slots(0, block.words));
  Label& otherwise = new_label();
  Label& done = new_label();
  lea(rcx, ptr[next_ + slots * static_cast<int>(record::kSlotBytes)]);
  cmp(rcx, STOPBIT_RECORD(end));
  ja(otherwise);
  mov(block_, next_);
  mov(next_, rcx);
  const Opening& opening = openings_[in->target];
  if (slots > 0) clear_slots(slots, opening);
  if (opening.fields != 0) add(fields_.cvt32(), opening.fields);
  L(done);
  rare([this, in, &otherwise, &done] {
    L(otherwise);
    mov(esi, in.address);
    call(open_block_);
    jmp(done);
  });
}

void Emitter::clear_slots(int slots, const Opening& opening) {
  // rax: a tag word turned left by one bit, so that the number in its top bits counts modulo 128.
  constexpr std::uint64_t kOneSlot = std::uint64_t{1} << 57;
  static_assert(record::kSlotBytes << BuilderState::kAddressShift == kOneSlot);
  vpxor(xmm0, xmm0, xmm0);
  mov(rax, block_);
  shl(rax, BuilderState::kAddressShift);
  add(rax, STOPBIT_RECORD(turned_tags));
  std::uint64_t tags = 0;
  std::uint64_t step = 0;
  for (int i = 0; i < slots; ++i) {
    const std::uint64_t next = opening.tags[static_cast<std::size_t>(i)] << 1;
    const std::uint64_t wanted = (i == 0 ? 0 : kOneSlot) + next - tags;
    if (wanted != 0) {
      if (wanted != step) mov(rsi, wanted);
      step = wanted;
      add(rax, rsi);
    }
    tags = next;
    rorx(rcx, rax, 1);
    clear_slot(block_, i * static_cast<int>(record::kSlotBytes));
  }
}

void Emitter::control(Place in) {
  switch (in->control) {
    case ControlOp::Next:
    case ControlOp::Block: return;
    case ControlOp::Seq: return begin_loop(in);
    case ControlOp::Lend: return end_element(in);
    case ControlOp::Skip: return skip(in);
    case ControlOp::Pop:
      if (options_.strict) return steer_elsewhere(in);
      return pop_map(in);
    case ControlOp::Disp: return dispatch(in);
    case ControlOp::Call: return steer_elsewhere(in);
    case ControlOp::End: return end(in);
    case ControlOp::Join: return jmp(labels_[in->target]);
  }
}

void Emitter::skip(Place in) {
  if (in->known == KnownBit::No) {
    go_if_clear(in->depth.maps + (in->op == DataOp::Pmap ? 1U : 0U), labels_[in->target]);
  }
  if (in->op == DataOp::Nop && in->word != isa::kNoWord) {
    mov(eax, 1);
    store(in);
  }
}

void Emitter::begin_loop(Place in) {
  const Within part(*this, Part::Sequence);
  Label& otherwise = new_label();
  test(eax, eax);
  jz(labels_[in->target]);
  if (options_.strict || (is_message_ && in->depth.loops >= nesting_)) {
    jmp(otherwise);
  } else {
    check_elements(program_.blocks[steps_[in.address + 1].target], otherwise);
    if (!is_message_) push_loop(otherwise);
    sub(STOPBIT_FIELD_QWORD(elements_left), rax);
    sub(STOPBIT_FIELD_DWORD(message_elements_left), eax);
    if (is_message_) mov(elements_left(in->depth.loops), eax);
  }
  rare([this, in, &otherwise] {
    L(otherwise);
    mov(STOPBIT_FIELD_DWORD(sequence_length), eax);
    mov(STOPBIT_FIELD_BYTE(present), 1);
    steer_elsewhere(in);
  });
}

void Emitter::check_elements(const Block& element, Label& otherwise) {
  if (element.min_bytes != 0) {
    mov(rdx, ptr[machine_ + kEnd]);
    sub(rdx, window_);
    sub(rdx, last_);  // one more than the bytes that are left
    if (element.min_bytes > 1) {
      imul(rcx, rax, element.min_bytes);
      cmp(rcx, rdx);
    } else {
      cmp(rax, rdx);
    }
    jae(otherwise);
  }
  cmp(rax, STOPBIT_FIELD(elements_left));
  ja(otherwise);
  cmp(eax, STOPBIT_FIELD_DWORD(message_elements_left));
  ja(otherwise);
  if (element.min_bytes == 0) {
    cmp(eax, options_.limits.empty_elements);
    ja(otherwise);
  }
}

void Emitter::push_loop(Label& otherwise) {
  static_assert(sizeof(engine::Loop) == 16);
  movzx(ecx, STOPBIT_FIELD_BYTE(loop_depth));
  cmp(ecx, nesting_);
  jae(otherwise);
  inc(STOPBIT_FIELD_BYTE(loop_depth));
  shl(ecx, 4);
  mov(dword[machine_ + rcx + kLoops], eax);
  mov(rdx, STOPBIT_FIELD(map));
  mov(ptr[machine_ + rcx + kLoops + kLoopMap], rdx);
}

auto Emitter::elements_left(unsigned depth) const -> Xbyak::Address {
  return dword[machine_ + kLoops + static_cast<int>(depth * sizeof(engine::Loop))];
}

void Emitter::end_element(Place in) {
  if (options_.strict) return steer_elsewhere(in);
  const Within part(*this, Part::Sequence);
  const Step& first = steps_[in->target];
  const bool has_map = first.op == DataOp::Pmap && in.address < general_size_;
  if (!is_message_) return end_inner_element(in, has_map);
  if (has_map) restore_map(machine_, map_offset(first.depth.maps));
  dec(elements_left(first.depth.loops - 1U));
  jnz(labels_[in->target]);
}

void Emitter::end_inner_element(Place in, bool has_map) {
  movzx(ecx, STOPBIT_FIELD_BYTE(loop_depth));
  shl(ecx, 4);
  if (has_map) {
    mov(rdx, ptr[machine_ + rcx + kLoops + kLoopMap - 16]);
    mov(STOPBIT_FIELD(map), rdx);
    restore_map(rdx, 0);
  }
  dec(dword[machine_ + rcx + kLoops - 16]);
  jnz(labels_[in->target]);
  dec(STOPBIT_FIELD_BYTE(loop_depth));
}

void Emitter::end(Place in) {
  const Within part(*this, Part::Frame);
  if (!options_.strict && is_message_) return jmp(complete_);
  steer_elsewhere(in);
}

}  // namespace stopbit::jit
