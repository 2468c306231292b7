#include "decoder/jit/emit/emitter_class.hpp"

#include "decoder/engine/integers.hpp"

namespace stopbit::jit {

void Emitter::emit_texts() {
  align(8);
  for (std::size_t length = kMaxInlineText; length > 0; --length) dq(text_word(length));
  L(texts_);
  dq(text_word(0));
}

void Emitter::emit_frame() {
  for (const Reg& reg : {rbx, rbp, r12, r13, r14, r15}) push(reg);
  sub(rsp, 8);
  mov(machine_, rdi);
  mov(window_, STOPBIT_FIELD(window));
  mov(last_, ptr[machine_ + kPosition]);
  sub(last_, window_);
  dec(last_);
  mov(stops_, STOPBIT_FIELD(window_stops));
  reload();
  Label start;
  jmp(start);

  L(failed_);
  add(rsp, 16);  // the return address, and what aligned the stack
  xor_(eax, eax);
  jmp(exit_);
  L(complete_);
  mov(eax, 1);
  L(exit_);
  lea(rcx, ptr[window_ + last_ + 1]);
  mov(ptr[machine_ + kPosition], rcx);
  mov(STOPBIT_FIELD(window), window_);
  mov(STOPBIT_FIELD(window_stops), stops_);
  add(STOPBIT_FIELD_DWORD(fields), fields_.cvt32());
  add(rsp, 8);
  for (const Reg& reg : {r15, r14, r13, r12, rbp, rbx}) pop(reg);
  ret();

  // Of a register that returns a bool only the lowest byte means something.
  emit_call(open_block_, reinterpret_cast<const void*>(hooks_.open_block), al, Part::Interpreter);
  emit_call(take_, reinterpret_cast<const void*>(hooks_.take), al, Part::Interpreter);
  emit_call(take_text_, reinterpret_cast<const void*>(hooks_.take_text), al, Part::Texts);
  emit_call(steer_, reinterpret_cast<const void*>(hooks_.steer), rax, Part::Interpreter);
  emit_refill();
  L(start);
}

void Emitter::reload() {
  mov(record_, STOPBIT_FIELD(record));
  mov(mark_, STOPBIT_FIELD(assigned_mark));
  mov(entries_, STOPBIT_FIELD(entries));
  mov(data_bits_, kDataBits);
  xor_(fields_.cvt32(), fields_.cvt32());
}

void Emitter::emit_call(Label& label, const void* function, const Xbyak::Reg& result, Part of) {
  const Within part(*this, of);
  align(16);
  L(label);
  sub(rsp, 8);
  lea(rcx, ptr[window_ + last_ + 1]);
  mov(ptr[machine_ + kPosition], rcx);
  mov(rcx, STOPBIT_FIELD(map));
  mov(ptr[rcx + kMapBits], map_);
  add(STOPBIT_FIELD_DWORD(fields), fields_.cvt32());
  mov(rdi, reinterpret_cast<std::uintptr_t>(hooks_.self));
  mov(rax, reinterpret_cast<std::uintptr_t>(function));
  call(rax);
  reload();
  // The window in which the position now is.
  mov(rcx, ptr[machine_ + kPosition]);
  sub(rcx, ptr[machine_ + kBegin]);
  mov(last_, rcx);
  and_(last_, static_cast<int>(kWindowBytes) - 1);
  dec(last_);
  mov(rdx, rcx);
  and_(rdx, -static_cast<int>(kWindowBytes));
  mov(window_, ptr[machine_ + kBegin]);
  add(window_, rdx);
  shr(rdx, 3);
  add(rdx, STOPBIT_FIELD(stops));
  mov(stops_, -1);
  shlx(stops_, stops_, rcx);
  and_(stops_, ptr[rdx]);
  mov(rcx, STOPBIT_FIELD(map));
  mov(map_, ptr[rcx + kMapBits]);
  mov(block_, STOPBIT_RECORD(bases[0]));
  test(result, result);
  jz(failed_);
  add(rsp, 8);
  ret();
}

void Emitter::emit_refill() {
  const Within part(*this, Part::Stop);
  align(16);
  L(refill_);
  mov(rdx, window_);
  Label again, none;
  L(again);
  add(rdx, kWindowBytes);
  cmp(rdx, ptr[machine_ + kEnd]);
  jae(none);
  mov(rcx, rdx);
  sub(rcx, ptr[machine_ + kBegin]);
  shr(rcx, 3);
  add(rcx, STOPBIT_FIELD(stops));
  mov(stops_, ptr[rcx]);
  test(stops_, stops_);
  jz(again);
  add(last_, window_);
  sub(last_, rdx);
  mov(window_, rdx);
  tzcnt(rcx, stops_);  // clears carry
  ret();
  L(none);
  stc();
  ret();
}

}  // namespace stopbit::jit
