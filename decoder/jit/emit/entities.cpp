#include "decoder/jit/emit/emitter_class.hpp"

#include "decoder/engine/integers.hpp"

namespace stopbit::jit {

using engine::is_narrow;
using engine::is_signed;

auto Emitter::by_length(const Reg& length, std::size_t table) const -> Xbyak::Address {
  constexpr std::size_t kTable = sizeof(ByLength::Table);
  return ptr[machine_ + length * 8 + static_cast<int>(offsetof(Machine, by_length) + table + kTable)];
}

auto Emitter::data_bits() const -> Xbyak::Address {
  return ptr[machine_ + static_cast<int>(offsetof(Machine, by_length) + offsetof(ByLength, data))];
}

void Emitter::find_stop() {
  const Within part(*this, Part::Stop);
  tzcnt(rcx, stops_);
  blsr(stops_, stops_);
}

void Emitter::look_further(Label& again, Label& otherwise) {
  Label is_found;
  cmp(ecx, kNoStop);
  jne(is_found);
  call(next_window_);
  jnz(again);
  jmp(otherwise);
  L(is_found);
}

void Emitter::refuse_overlong(Label& otherwise) {
  if (!options_.strict) return;
  cmp(byte[window_ + last_ + 1], 0x00);
  je(otherwise);
  cmp(byte[window_ + last_ + 1], 0x7F);
  je(otherwise);
}

void Emitter::load(bool is_wide) {
  if (is_wide) {
    movbe(rax, ptr[window_ + rcx - 7]);
  } else {
    movbe(eax, ptr[window_ + rcx - 3]);
  }
}

void Emitter::extract(bool is_signed, bool is_wide, const Reg& length) {
  const Xbyak::Address data = by_length(length, offsetof(engine::ByLength, data));
  if (is_wide) {
    pext(rax, rax, data);
  } else {
    pext(eax, eax, data);  // the lower half of the mask
  }
  if (!is_signed) return;
  xor_(rax, by_length(length, offsetof(engine::ByLength, sign)));
  sub(rax, by_length(length, offsetof(engine::ByLength, sign)));
}

void Emitter::extract_nine(bool is_signed) {
  movbe(rax, ptr[window_ + last_ + 2]);
  pext(rax, rax, data_bits());
  movzx(edx, byte[window_ + last_ + 1]);
  shl(rdx, is_signed ? 57 : 56);
  if (is_signed) sar(rdx, 1);
  or_(rax, rdx);
}

void Emitter::take_null_away(bool is_signed, Label& null) {
  const Within part(*this, Part::Null);
  if (is_signed) {
    lea(rdx, ptr[rax - 1]);
    test(rax, rax);
    jz(null);
    cmovg(rax, rdx);
    return;
  }
  sub(rax, 1);
  jb(null);
}

void Emitter::read_integer(Type type, bool is_optional, Label& null, Label& otherwise) {
  const Within part(*this, Part::Integer);
  const bool is_wide = !is_narrow(type);
  const bool is_sign = is_signed(type);
  Label& again = new_label();
  Label& there = new_label();
  Label& longer = new_label();
  L(again);
  find_stop();
  refuse_overlong(otherwise);
  load(is_wide);
  sub(last_, rcx);  // the length, less than 0
  cmp(last_.cvt32(), is_wide ? -8 : -4);
  jl(longer);
  extract(is_sign, is_wide, last_);
  mov(last_, rcx);
  if (is_optional) take_null_away(is_sign, null);
  L(there);
  rare([this, &again, &longer, &there, &null, &otherwise, is_optional, is_sign, is_wide] {
    L(longer);
    mov(rdx, last_);
    add(last_, rcx);
    look_further(again, otherwise);
    if (is_wide) {
      cmp(edx, -9);
      jne(otherwise);
      extract_nine(is_sign);
      mov(last_, rcx);
      if (is_optional) take_null_away(is_sign, null);
      jmp(there);
    } else {
      cmp(edx, -8);
      jl(otherwise);
      longer_narrow(is_sign, is_optional, null, otherwise);
      jmp(there);
    }
  });
}

void Emitter::longer_narrow(bool is_signed, bool is_optional, Label& null, Label& otherwise) {
  Label zero, is_there;
  load(true);
  extract(is_signed, true, rdx);
  if (is_optional) take_null_away(is_signed, zero);
  if (is_signed) {
    movsxd(rdx, eax);
  } else {
    mov(edx, eax);
  }
  cmp(rdx, rax);
  jne(otherwise);
  mov(last_, rcx);
  if (is_optional) {
    jmp(is_there);
    L(zero);
    mov(last_, rcx);
    jmp(null);
  }
  L(is_there);
}

void Emitter::keep_place() {
  lea(rsi, ptr[window_ + last_]);
}

auto Emitter::go_back(Label& otherwise) -> Label& {
  Label& label = new_label();
  rare([this, &label, &otherwise] {
    L(label);
    mov(last_, rsi);
    sub(last_, window_);
    jmp(otherwise);
  });
  return label;
}

}  // namespace stopbit::jit
