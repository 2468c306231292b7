#include "decoder/jit/emit/emitter_class.hpp"

#include "decoder/engine/integers.hpp"

namespace stopbit::jit {

using engine::is_narrow;
using engine::is_signed;

void Emitter::find_end(Label& otherwise) {
  const Within part(*this, Part::Stop);
  find_stop(otherwise);
  if (options_.strict) {
    // Overlong entities have their own rules.
    cmp(byte[window_ + last_ + 1], 0x00);
    je(otherwise);
    cmp(byte[window_ + last_ + 1], 0x7F);
    je(otherwise);
  }
}

void Emitter::find_stop(Label& otherwise) {
  const Within part(*this, Part::Stop);
  find_next(otherwise);
  blsr(stops_, stops_);
}

void Emitter::find_next(Label& otherwise) {
  const Within part(*this, Part::Stop);
  Label& refill = new_label();
  Label& there = new_label();
  tzcnt(rcx, stops_);
  jc(refill);
  L(there);
  rare([this, &refill, &there, &otherwise] {
    L(refill);
    call(refill_);
    jnc(there);
    jmp(otherwise);
  });
}

void Emitter::load(bool is_wide) {
  if (is_wide) {
    movbe(rax, ptr[window_ + last_ + 1]);
  } else {
    movbe(eax, ptr[window_ + last_ + 1]);
  }
}

void Emitter::extract(bool is_signed, bool is_wide, const Reg& length) {
  const Xbyak::Reg32 count = length.cvt32();
  if (is_signed) {
    imul(edx, count, 7);
    pext(rax, rax, data_bits_);
    shl(rax, 8);
    sarx(rax, rax, rdx);
  } else if (is_wide) {
    shl(count, 3);
    shrx(rax, rax, length);
    pext(rax, rax, data_bits_);
  } else {
    shl(count, 3);
    shrx(eax, eax, count);
    pext(eax, eax, data_bits_.cvt32());
  }
}

void Emitter::extract_nine(bool is_signed) {
  movbe(rax, ptr[window_ + last_ + 2]);
  pext(rax, rax, data_bits_);
  movzx(edx, byte[window_ + last_ + 1]);
  shl(rdx, is_signed ? 57 : 56);
  if (is_signed) sar(rdx, 1);
  or_(rax, rdx);
}

void Emitter::take_null_away(bool is_signed, bool is_wide, Label& null) {
  const Within part(*this, Part::Null);
  if (is_signed) {
    mov(rdx, rax);
    shr(rdx, 63);
    test(rax, rax);
    jz(null);
    lea(rax, ptr[rax + rdx - 1]);
    return;
  }
  if (is_wide) {
    sub(rax, 1);
  } else {
    sub(eax, 1);
  }
  jb(null);
}

void Emitter::read_integer(Type type, bool is_optional, Label& null, Label& otherwise) {
  const Within part(*this, Part::Integer);
  const bool is_wide = !is_narrow(type);
  const bool is_sign = is_signed(type);
  find_end(otherwise);
  Label& there = new_label();
  Label& longer = new_label();
  load(is_wide || is_sign);
  sub(last_, rcx);  // the length, less than 0
  cmp(last_.cvt32(), is_wide ? -8 : -4);
  jl(longer);
  rare([this, &longer, &there, &null, &otherwise, is_optional, is_sign, is_wide] {
    L(longer);
    mov(edx, last_.cvt32());
    add(last_, rcx);
    if (is_wide) {
      cmp(edx, -9);
      jne(otherwise);
      extract_nine(is_sign);
      mov(last_, rcx);
      if (is_optional) take_null_away(is_sign, true, null);
      jmp(there);
      return;
    }
    cmp(edx, -8);
    jl(otherwise);
    load(true);
    extract(is_sign, true, rdx);
    Label& zero = new_label();
    if (is_optional) take_null_away(is_sign, true, zero);
    if (is_sign) {
      movsxd(rdx, eax);
    } else {
      mov(edx, eax);
    }
    cmp(rdx, rax);
    jne(otherwise);
    mov(last_, rcx);
    jmp(there);
    if (is_optional) {
      L(zero);
      mov(last_, rcx);
      jmp(null);
    }
  });
  extract(is_sign, is_wide, last_);
  mov(last_, rcx);
  if (is_optional) take_null_away(is_sign, is_wide, null);
  L(there);
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
