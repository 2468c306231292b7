#include "decoder/jit/emit/emitter_class.hpp"

#include "decoder/engine/integers.hpp"

namespace stopbit::jit {

void Emitter::emit_frame() {
  for (const Reg& reg : {rbx, rbp, r12, r13, r14, r15}) push(reg);
  sub(rsp, 8);
  mov(machine_, rdi);
  mov(window_, ptr[machine_ + kPosition]);
  open_window();
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
  mov(STOPBIT_RECORD(next), next_);
  add(STOPBIT_FIELD_DWORD(fields), fields_.cvt32());
  add(rsp, 8);
  for (const Reg& reg : {r15, r14, r13, r12, rbp, rbx}) pop(reg);
  ret();

  // Of a register that returns a bool only the lowest byte means something.
  emit_call(open_block_, reinterpret_cast<const void*>(hooks_.open_block), al, Part::Interpreter);
  emit_call(take_, reinterpret_cast<const void*>(hooks_.take), al, Part::Interpreter);
  emit_call(take_text_, reinterpret_cast<const void*>(hooks_.take_text), al, Part::Texts);
  emit_call(steer_, reinterpret_cast<const void*>(hooks_.steer), rax, Part::Interpreter);
  emit_next_window();
  if (has_long_maps_) emit_next_bits();
  L(start);
}

void Emitter::reload() {
  mov(record_, STOPBIT_FIELD(record));
  mov(mark_, STOPBIT_FIELD(assigned_mark));
  mov(entries_, STOPBIT_FIELD(entries));
  mov(next_, STOPBIT_RECORD(next));
  xor_(fields_.cvt32(), fields_.cvt32());
}

void Emitter::emit_call(Label& label, const void* function, const Xbyak::Reg& result, Part of) {
  const Within part(*this, of);
  align(16);
  L(label);
  sub(rsp, 8);
  lea(rcx, ptr[window_ + last_ + 1]);
  mov(ptr[machine_ + kPosition], rcx);
  mov(rdx, map_);
  mov(STOPBIT_RECORD(bases[0]), block_);
  mov(STOPBIT_RECORD(next), next_);
  add(STOPBIT_FIELD_DWORD(fields), fields_.cvt32());
  mov(rdi, reinterpret_cast<std::uintptr_t>(hooks_.self));
  mov(rax, reinterpret_cast<std::uintptr_t>(function));
  call(rax);
  reload();
  mov(window_, ptr[machine_ + kPosition]);
  open_window();
  mov(rcx, STOPBIT_FIELD(map));
  restore_map(rcx, 0);
  mov(block_, STOPBIT_RECORD(bases[0]));
  test(result, result);
  jz(failed_);
  add(rsp, 8);
  ret();
}

void Emitter::emit_next_window() {
  const Within part(*this, Part::Stop);
  align(16);
  L(next_window_);
  lea(window_, ptr[window_ + last_ + 1]);
  open_window();
  ret();
}

void Emitter::open_window() {
  // Eight bytes of the index from the one with the position's bit on: 57 bits at least.
  mov(rcx, window_);
  sub(rcx, ptr[machine_ + kBegin]);
  mov(rdx, rcx);
  shr(rdx, 3);
  add(rdx, STOPBIT_FIELD(stops));
  mov(stops_, ptr[rdx]);
  and_(ecx, 7);
  shrx(stops_, stops_, rcx);
  mov(last_, -1);
  shl(stops_, 64 - static_cast<int>(kWindowBytes));
  shr(stops_, 64 - static_cast<int>(kWindowBytes));
}

void Emitter::emit_next_bits() {
  const Within part(*this, Part::Map);
  Label few, zero, done;
  align(16);
  L(next_bits_);
  for (const Reg& reg : {rax, rcx, rdx}) push(reg);
  mov(rdx, ptr[rsi + kMapNext]);
  mov(rcx, ptr[rsi + kMapEnd]);
  sub(rcx, rdx);
  jz(zero);
  movbe(rax, ptr[rdx]);
  cmp(rcx, 8);
  jbe(few);
  pext(rax, rax, data_bits());
  shl(rax, 8);
  movzx(ecx, byte[rdx + 8]);
  and_(ecx, 0x7F);
  lea(map_, ptr[rax + rcx * 2 + 1]);
  add(rdx, 9);
  jmp(done);
  L(few);
  add(rdx, rcx);
  neg(rcx);
  and_(rax, by_length(rcx, offsetof(engine::ByLength, front)));
  pext(rax, rax, data_bits());
  shl(rax, 8);
  lea(map_, ptr[rax + 1]);
  jmp(done);
  L(zero);
  mov(map_.cvt32(), 1);
  L(done);
  mov(ptr[rsi + kMapNext], rdx);
  for (const Reg& reg : {rdx, rcx, rax}) pop(reg);
  ret();
}

}  // namespace stopbit::jit
