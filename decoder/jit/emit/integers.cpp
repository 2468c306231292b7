#include "decoder/jit/emit/emitter_class.hpp"

#include "decoder/engine/integers.hpp"

namespace stopbit::jit {

using engine::is_narrow;
using engine::is_signed;
using engine::remembers;

void Emitter::integer(Place in, Label& done, Label& absent, std::optional<Decimal> decimal) {
  const Within part(*this, Part::Operator);
  const Type type = isa::type_of(in->op);
  Field field{in,    isa::operator_of(in->op), type,   isa::is_optional(in->op), state::entry_type(type),
              &done, &when_absent(in, absent), decimal};
  switch (field.op) {
    case Operator::Non: return plain(field);
    case Operator::Con: return constant(field);
    case Operator::Def:
    case Operator::Cop:
    case Operator::Inc: return with_bit(field);
    case Operator::Del: return delta(field);
    default: take_elsewhere(in);
  }
}

auto Emitter::elsewhere(const Field& field, Bit bit) -> Label& {
  return elsewhere(field.in, *field.done, bit, field.decimal);
}

void Emitter::keep(const Field& field) {
  if (remembers(field.op)) assign(field.in->slot, field.entry);
  put(field);
}

void Emitter::put(const Field& field) {
  store(field.in);
  if (!isa::is_mantissa(field.type)) count_field(field.in);
}

void Emitter::plain(const Field& field) {
  Label& otherwise = elsewhere(field, Bit::None);
  const bool is_checked = is_limited(field.in);
  if (is_checked) keep_place();
  read_integer(field.type, field.is_optional, *field.absent, otherwise);
  if (is_checked) check_limit(field.in, go_back(otherwise));
  keep(field);
}

void Emitter::constant(const Field& field) {
  const std::uint64_t value = field.in->constant->value;
  Label& otherwise = elsewhere(field, field.is_optional ? Bit::Set : Bit::None);
  if (field.is_optional && !unless_clear(field)) return;
  if (!keeps_limit(field.in, value)) {
    jmp(otherwise);
    return;
  }
  mov(rax, value);
  put(field);
}

bool Emitter::is_predicated(const Field& field) const {
  if (!program_.code[field.in.address].predicate || field.in->known != KnownBit::No) return false;
  if (field.is_optional || is_limited(field.in) || options_.strict) return false;
  return remembers(field.op) || (field.op == Operator::Def && has_initial(field.in));
}

void Emitter::predicated(const Field& field) {
  const bool is_wide = !is_narrow(field.type);
  const bool is_sign = is_signed(field.type);
  const bool has_previous = remembers(field.op);
  // The map is as before the instruction: this is the general way.
  Label& otherwise = new_label();
  rare([this, field, &otherwise] {
    L(otherwise);
    branching(field);
    jmp(*field.done);
  });
  if (has_previous) {
    const Reg mark = mark_of(field.entry);
    cmp(entry_mark(field.in->slot), mark);
    jne(otherwise);
  }
  tzcnt(rcx, stops_);
  load(is_wide);
  mov(rsi, last_);
  sub(rsi, rcx);
  cmp(esi, is_wide ? -8 : -4);
  jl(otherwise);
  extract(is_sign, is_wide, rsi);
  if (has_previous) {
    mov(rdx, entry_value(field.in->slot));
    if (field.op == Operator::Inc) add_one(field.type, rdx);
  } else {
    mov(rdx, field.in->constant->value);
  }
  blsr(rsi, stops_);
  shift_map(field.in->depth.maps);
  cmovnc(rax, rdx);
  cmovc(last_, rcx);
  cmovc(stops_, rsi);
  if (has_previous) mov(entry_value(field.in->slot), rax);
  put(field);
}

void Emitter::with_bit(const Field& field) {
  if (is_predicated(field)) return predicated(field);
  branching(field);
}

void Emitter::branching(const Field& field) {
  const KnownBit known = field.in->known;
  if (!remembers(field.op) && known != KnownBit::Set) return with_default(field);
  // Both ways are common.
  Label& have = new_label();
  Label& clear = new_label();
  if (known == KnownBit::No) go_if_clear(field.in->depth.maps, clear);
  if (known != KnownBit::Clear) sent(field);
  if (known == KnownBit::No) {
    jmp(have);
    L(clear);
  }
  if (known != KnownBit::Set) not_sent(field, have);
  L(have);
  put(field);
}

void Emitter::with_default(const Field& field) {
  const std::uint64_t initial = field.in->constant->value;
  const bool is_clear = field.in->known == KnownBit::Clear;
  Label& have = new_label();
  if (!has_initial(field.in) && field.is_optional) {
    if (!unless_clear(field)) return;
  } else if (has_initial(field.in) && keeps_limit(field.in, initial)) {
    mov(rax, initial);
    if (!is_clear) go_if_clear(field.in->depth.maps, have);
  } else {
    Label& otherwise = elsewhere(field, Bit::Clear);
    if (is_clear) return jmp(otherwise);
    go_if_clear(field.in->depth.maps, otherwise);
  }
  if (!is_clear) sent(field);
  L(have);
  put(field);
}

bool Emitter::unless_clear(const Field& field) {
  if (field.in->known == KnownBit::Set) return true;
  xor_(eax, eax);
  if (field.in->known == KnownBit::No) {
    go_if_clear(field.in->depth.maps, *field.absent);
    return true;
  }
  if (field.absent != field.done) jmp(*field.absent);
  return false;
}

void Emitter::sent(const Field& field) {
  Label& null = remembers(field.op) && field.is_optional ? new_label() : *field.absent;
  Label& otherwise = elsewhere(field, Bit::Set);
  if (is_limited(field.in)) keep_place();
  read_integer(field.type, field.is_optional, null, otherwise);
  if (is_limited(field.in)) check_limit(field.in, go_back(otherwise));
  if (remembers(field.op)) assign(field.in->slot, field.entry);
  if (&null != field.absent) {
    rare([this, field, &null] {
      L(null);
      set_empty(field.in->slot);
      jmp(*field.absent);
    });
  }
}

void Emitter::not_sent(const Field& field, Label& have) {
  const std::uint16_t slot = field.in->slot;
  Label& otherwise = elsewhere(field, Bit::Clear);
  Label& other = new_label();
  const Reg mark = mark_of(field.entry);
  cmp(entry_mark(slot), mark);
  jne(other);
  mov(rax, entry_value(slot));
  if (field.op == Operator::Inc) increment(field, otherwise);
  if (is_limited(field.in)) check_limit(field.in, otherwise);
  if (field.op == Operator::Inc) mov(entry_value(slot), rax);

  rare([this, field, slot, &have, &other, &otherwise] {
    L(other);  // empty, undefined, or of another type
    mov(rcx, entry_mark(slot));
    lea(rdx, ptr[mark_ - static_cast<int>(state::Dictionary::kAssigned)]);
    if (field.is_optional) {
      Label filled;
      cmp(rcx, rdx);
      jne(filled);
      xor_(eax, eax);
      jmp(*field.absent);
      L(filled);
    }
    xor_(rcx, rdx);
    shr(rcx, static_cast<int>(state::Dictionary::kGenerationShift));
    jz(otherwise);
    take_initial(field, have, otherwise);
  });
}

void Emitter::take_initial(const Field& field, Label& have, Label& otherwise) {
  const std::uint16_t slot = field.in->slot;
  const std::uint64_t initial = field.in->constant->value;
  if (has_initial(field.in) && keeps_limit(field.in, initial)) {
    mov(rax, initial);
    assign(slot, field.entry);
    jmp(have);
  } else if (!has_initial(field.in) && field.is_optional) {
    set_empty(slot);
    xor_(eax, eax);
    jmp(*field.absent);
  } else {
    jmp(otherwise);
  }
}

void Emitter::increment(const Field& field, Label& otherwise) {
  if (field.in->constant->limit_kind != LimitKind::None) {
    jmp(otherwise);  // limits have their own way round
  } else {
    add_one(field.type, rax);
  }
}

void Emitter::add_one(Type type, const Reg& value) {
  if (!is_narrow(type)) {
    inc(value);
    return;
  }
  inc(value.cvt32());
  if (is_signed(type)) movsxd(value, value.cvt32());
}

void Emitter::delta(const Field& field) {
  Label& otherwise = elsewhere(field, Bit::None);
  Label& other = new_label();
  Label& have = new_label();
  keep_place();
  Label& back = go_back(otherwise);
  read_integer(Type::S64, field.is_optional, *field.absent, otherwise);
  go_if_not_previous(field, other);
  add_to_previous(field, back);
  L(have);
  put(field);
  rare([this, field, &other, &have, &back] {
    L(other);
    go_if_not_undefined(field, back);
    add_to_initial(field, back);
    jmp(have);
  });
}

void Emitter::go_if_not_previous(const Field& field, Label& other) {
  const Reg mark = mark_of(field.entry);
  cmp(entry_mark(field.in->slot), mark);
  jne(other);
}

void Emitter::go_if_not_undefined(const Field& field, Label& otherwise) {
  mov(rcx, entry_mark(field.in->slot));
  xor_(rcx, mark_);
  shr(rcx, static_cast<int>(state::Dictionary::kGenerationShift));
  jz(otherwise);
}

void Emitter::add_to_previous(const Field& field, Label& otherwise) {
  add_delta(field.type, entry_value(field.in->slot), otherwise);
  if (is_limited(field.in)) check_limit(field.in, otherwise);
  mov(entry_value(field.in->slot), rax);
}

void Emitter::add_to_initial(const Field& field, Label& otherwise) {
  mov(rdx, field.in->constant->value);
  add_delta(field.type, rdx, otherwise);
  if (is_limited(field.in)) check_limit(field.in, otherwise);
  assign(field.in->slot, field.entry);
}

void Emitter::add_delta(Type type, const Xbyak::Operand& base, Label& otherwise) {
  if (is_narrow(type)) {
    add(rax, base);  // 63 bits and 32 bits
    if (is_signed(type)) {
      movsxd(rcx, eax);
    } else {
      mov(ecx, eax);
    }
    cmp(rcx, rax);
    jne(otherwise);
  } else if (is_signed(type)) {
    add(rax, base);
    jo(otherwise);
  } else {
    mov(rcx, rax);
    shr(rcx, 63);
    add(rax, base);
    setc(dl);
    cmp(cl, dl);
    jne(otherwise);
  }
}

}  // namespace stopbit::jit
