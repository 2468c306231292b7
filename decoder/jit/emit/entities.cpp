#include "decoder/jit/emit/emitter_class.hpp"

#include "decoder/engine/integers.hpp"

namespace stopbit::jit {

using engine::is_narrow;
using engine::is_signed;

void Emitter::find_end(Label& otherwise) {
  find_stop(otherwise);
  if (options_.strict) {
    // Overlong entities have their own rules.
    cmp(byte[position_], 0x00);
    je(otherwise);
    cmp(byte[position_], 0x7F);
    je(otherwise);
  }
}

void Emitter::find_stop(Label& otherwise) {
  Label& refill = new_label();
  Label& there = new_label();
  tzcnt(rcx, stops_);
  jc(refill);
  L(there);
  blsr(stops_, stops_);
  lea(rdx, ptr[window_ + rcx + 1]);
  mov(ecx, position_.cvt32());
  sub(ecx, edx);
  rare([this, &refill, &there, &otherwise] {
    L(refill);
    call(refill_);
    jnc(there);
    jmp(otherwise);
  });
}

void Emitter::extract(bool is_signed, bool is_wide) {
  if (is_wide) {
    movbe(rax, ptr[position_]);
  } else {
    movbe(eax, ptr[position_]);
  }
  if (!is_signed) {
    shl(ecx, 3);
    if (is_wide) {
      shrx(rax, rax, rcx);
      pext(rax, rax, data_bits_);
    } else {
      shrx(eax, eax, ecx);
      pext(eax, eax, data_bits_.cvt32());
    }
    return;
  }
  imul(ecx, ecx, 7);
  if (is_wide) {
    pext(rax, rax, data_bits_);
    shl(rax, 8);
    sarx(rax, rax, rcx);
  } else {
    pext(eax, eax, data_bits_.cvt32());
    shl(eax, 4);
    sarx(eax, eax, ecx);
    movsxd(rax, eax);
  }
}

void Emitter::extract_nine(bool is_signed) {
  movbe(rax, ptr[position_ + 1]);
  pext(rax, rax, data_bits_);
  movzx(ecx, byte[position_]);
  shl(rcx, is_signed ? 57 : 56);
  if (is_signed) sar(rcx, 1);
  or_(rax, rcx);
}

void Emitter::take_null_away(bool is_signed, bool is_wide, Label& null) {
  test(rax, rax);
  jz(null);
  if (!is_signed) {
    if (is_wide) {
      dec(rax);
    } else {
      dec(eax);
    }
    return;
  }
  mov(rcx, rax);
  not_(rcx);
  shr(rcx, 63);
  sub(rax, rcx);
}

void Emitter::read_integer(Type type, bool is_optional, Label& null, Label& otherwise) {
  const bool is_wide = !is_narrow(type);
  const bool is_sign = is_signed(type);
  find_end(otherwise);
  Label& there = new_label();
  Label& longer = new_label();
  cmp(ecx, is_wide ? -8 : -4);
  jl(longer);
  if (is_wide) {
    rare([this, &longer, &there, &null, &otherwise, is_optional, is_sign] {
      L(longer);
      cmp(ecx, -9);
      jne(otherwise);
      extract_nine(is_sign);
      mov(position_, rdx);
      if (is_optional) take_null_away(is_sign, true, null);
      jmp(there);
    });
  } else {
    rare([this, &longer, &there, &null, &otherwise, is_optional, is_sign] {
      L(longer);
      cmp(ecx, -8);
      jl(otherwise);
      extract(is_sign, true);
      Label& zero = new_label();
      if (is_optional) take_null_away(is_sign, true, zero);
      if (is_sign) {
        movsxd(rcx, eax);
      } else {
        mov(ecx, eax);
      }
      cmp(rcx, rax);
      jne(otherwise);
      mov(position_, rdx);
      jmp(there);
      if (is_optional) {
        L(zero);
        mov(position_, rdx);
        jmp(null);
      }
    });
  }
  extract(is_sign, is_wide);
  mov(position_, rdx);
  if (is_optional) take_null_away(is_sign, is_wide, null);
  L(there);
}

void Emitter::keep_place() {
  mov(rsi, position_);
}

auto Emitter::go_back(Label& otherwise) -> Label& {
  Label& label = new_label();
  rare([this, &label, &otherwise] {
    L(label);
    mov(position_, rsi);
    jmp(otherwise);
  });
  return label;
}

}  // namespace stopbit::jit
