#include "decoder/jit/emit/emitter_class.hpp"

#include "decoder/engine/integers.hpp"

namespace stopbit::jit {

void Emitter::open_block(Place in) {
  const Within part(*this, Part::Block);
  const Block& block = program_.blocks[in->target];
  const auto slots = static_cast<int>(record::block_slots(0, block.words));
  Label& otherwise = new_label();
  Label& done = new_label();
  mov(rax, STOPBIT_RECORD(next_slot));
  lea(rcx, ptr[rax + slots]);
  cmp(rcx, STOPBIT_RECORD(max_slots));
  ja(otherwise);
  mov(STOPBIT_RECORD(next_slot), rcx);
  mov(block_, rax);
  shl(block_, 6);
  add(block_, STOPBIT_RECORD(slots));
  mov(STOPBIT_RECORD(bases[0]), block_);
  mov(STOPBIT_FIELD_WORD(block), in->target);
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
  vpxor(xmm0, xmm0, xmm0);
  shl(rax, 57);
  mov(rcx, STOPBIT_RECORD(phase));
  shr(rcx, 63);
  or_(rax, rcx);
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
      return pop_map();
    case ControlOp::Disp: return dispatch(in);
    case ControlOp::Call: return steer_elsewhere(in);
    case ControlOp::End: return end(in);
    case ControlOp::Join: return jmp(labels_[in->target]);
  }
}

void Emitter::skip(Place in) {
  if (in->known == KnownBit::No) {
    if (has_wide_map_[in.address]) return steer_elsewhere(in);
    go_if_clear(labels_[in->target]);
  }
  if (in->op == DataOp::Nop && in->word != isa::kNoWord) {
    mov(eax, 1);
    store(in);
  }
}

void Emitter::begin_loop(Place in) {
  const Within part(*this, Part::Sequence);
  const Block& element = program_.blocks[steps_[in.address + 1].target];
  Label& otherwise = new_label();
  test(eax, eax);
  jz(labels_[in->target]);
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
  movzx(ecx, STOPBIT_FIELD_BYTE(loop_depth));
  cmp(ecx, nesting_);
  jae(otherwise);
  sub(STOPBIT_FIELD_QWORD(elements_left), rax);
  sub(STOPBIT_FIELD_DWORD(message_elements_left), eax);
  inc(STOPBIT_FIELD_BYTE(loop_depth));
  static_assert(sizeof(engine::Loop) == 16);
  shl(ecx, 4);
  mov(dword[machine_ + rcx + kLoops], eax);
  mov(rdx, STOPBIT_FIELD(map));
  mov(ptr[machine_ + rcx + kLoops + kLoopMap], rdx);
  rare([this, in, &otherwise] {
    L(otherwise);
    mov(STOPBIT_FIELD_DWORD(sequence_length), eax);
    mov(STOPBIT_FIELD_BYTE(present), 1);
    steer_elsewhere(in);
  });
}

void Emitter::end_element(Place in) {
  if (options_.strict) return steer_elsewhere(in);
  const Within part(*this, Part::Sequence);
  const bool has_map = steps_[in->target].op == DataOp::Pmap && in.address < general_size(program_);
  movzx(ecx, STOPBIT_FIELD_BYTE(loop_depth));
  shl(ecx, 4);
  if (has_map) {
    mov(rdx, ptr[machine_ + rcx + kLoops + kLoopMap - 16]);
    mov(STOPBIT_FIELD(map), rdx);
    mov(map_, ptr[rdx + kMapBits]);
  }
  dec(dword[machine_ + rcx + kLoops - 16]);
  jnz(labels_[in->target]);
  dec(STOPBIT_FIELD_BYTE(loop_depth));
}

void Emitter::end(Place in) {
  const Within part(*this, Part::Frame);
  if (!options_.strict) {
    cmp(STOPBIT_FIELD_BYTE(call_depth), 0);
    je(complete_);
  }
  steer_elsewhere(in);
}

}  // namespace stopbit::jit
