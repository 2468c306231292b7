#include "decoder/jit/emit/emitter_class.hpp"

#include "decoder/engine/integers.hpp"

namespace stopbit::jit {

using engine::remembers;

auto Emitter::decimal(Place exponent) -> Place {
  const Within part(*this, Part::Operator);
  const Place mantissa = place(exponent.address + 1);
  Label& done = new_label();
  const bool is_odd = exponent->control > ControlOp::Block || mantissa->control == ControlOp::Block;
  if (is_odd) {
    take_elsewhere(exponent);
    if (exponent->control > ControlOp::Block) {
      L(done);
      return exponent;
    }
    L(labels_[mantissa.address]);
    if (mantissa->control == ControlOp::Block) open_block(mantissa);
    take_elsewhere(mantissa);
  } else if (isa::type_of(exponent->op) == Type::Iexp) {
    two_operators(exponent, mantissa, done);
  } else {
    one_operator(exponent, mantissa, done);
  }
  L(done);
  return mantissa;
}

void Emitter::two_operators(Place exponent, Place mantissa, Label& done) {
  Label& behind_exponent = new_label();
  Label& have_exponent = new_label();
  integer(exponent, behind_exponent, done);
  jmp_over(have_exponent, behind_exponent, [this, &done, &have_exponent] {
    // The interpreter has taken it.
    cmp(STOPBIT_FIELD_BYTE(decimal), static_cast<int>(Decimal::Absent));
    je(done);
    jmp(have_exponent);
  });
  L(labels_[mantissa.address]);
  integer(mantissa, done, done, Decimal::Stream);
}

void Emitter::jmp_over(Label& next, Label& entry, const std::function<void()>& path) {
  rare([this, &entry, path] {
    L(entry);
    path();
  });
  L(next);
}

void Emitter::one_operator(Place exponent, Place mantissa, Label& done) {
  const Operator op = isa::operator_of(exponent->op);
  const bool is_optional = isa::is_optional(exponent->op);
  // The interpreter takes the rest of the decimal once it has taken the exponent.
  Label& both = new_label();
  rare([this, mantissa, &both, &done] {
    L(both);
    take_elsewhere(mantissa);
    jmp(done);
  });
  L(labels_[mantissa.address]);
  const Field field{exponent, op, Type::Dexp, is_optional, state::EntryType::Decimal, &both, &done, {}};
  const Field value{mantissa, op, Type::Dman, false, state::EntryType::Decimal, &done, &done, Decimal::Stream};
  switch (op) {
    case Operator::Non:
      plain(field);
      sent_mantissa(value);
      return;
    case Operator::Def:
    case Operator::Cop: break;
    case Operator::Del: return delta_decimal(field, value, done);
    default:
      take_elsewhere(exponent);
      take_elsewhere(mantissa);
      return;
  }
  if (!take_bit(exponent, [this, field, value, &done] { decimal_not_sent(field, value, done); })) return;
  Label& null = op == Operator::Cop && is_optional ? new_label() : done;
  Label& otherwise = elsewhere(field, Bit::Set);
  keep_place();
  read_integer(Type::Dexp, is_optional, null, otherwise);
  check_limit(exponent, go_back(otherwise));
  keep(field);
  sent_mantissa(value);
  if (&null != &done) {
    rare([this, field, &null, &done] {
      L(null);
      set_empty(field.in->slot);
      jmp(done);
    });
  }
}

void Emitter::sent_mantissa(const Field& value) {
  Label& otherwise = elsewhere(value, Bit::None);
  read_integer(Type::Dman, false, *value.done, otherwise);
  keep(value);
}

void Emitter::delta_decimal(const Field& field, const Field& value, Label& done) {
  Label& otherwise = elsewhere(field, Bit::None);
  Label& other = new_label();
  keep_place();
  Label& back = go_back(otherwise);
  read_integer(Type::S64, field.is_optional, *field.absent, otherwise);
  go_if_not_previous(field, other);
  add_to_previous(field, back);
  put(field);
  delta_mantissa(value, true);
  rare([this, field, value, &other, &back, &done] {
    L(other);
    go_if_not_undefined(field, back);
    add_to_initial(field, back);
    put(field);
    delta_mantissa(value, false);
    jmp(done);
  });
}

void Emitter::delta_mantissa(const Field& value, bool has_previous) {
  Label& otherwise = new_label();
  rare([this, value, has_previous, &otherwise] {
    L(otherwise);
    mov(STOPBIT_FIELD_BYTE(decimal_base_is_previous), has_previous ? 1 : 0);
    jmp(elsewhere(value, Bit::None));
  });
  keep_place();
  Label& back = go_back(otherwise);
  read_integer(Type::S64, false, *value.done, otherwise);
  if (has_previous) {
    add_to_previous(value, back);
  } else {
    mov(rdx, value.in->constant->value);
    add_delta(value.type, rdx, back);
    assign(value.in->slot, value.entry);
  }
  put(value);
}

void Emitter::decimal_not_sent(const Field& field, const Field& value, Label& done) {
  const std::uint16_t slot = field.in->slot;
  const Constant& exponent = *field.in->constant;
  Label& otherwise = elsewhere(field, Bit::Clear);
  const auto take_initial = [&] {
    if (has_initial(field.in) && engine::is_exponent_in_range(exponent.value)) {
      mov(rax, exponent.value);
      keep(field);
      mov(rax, value.in->constant->value);
      keep(value);
      jmp(done);
    } else if (!has_initial(field.in) && field.is_optional) {
      if (remembers(field.op)) set_empty(slot);
      jmp(done);
    } else {
      jmp(otherwise);
    }
  };
  if (!remembers(field.op)) return take_initial();
  Label other;
  const Reg mark = mark_of(field.entry);
  cmp(entry_mark(slot), mark);
  jne(other);
  mov(rax, entry_value(slot));
  check_limit(field.in, otherwise);
  put(field);
  mov(rax, entry_value(value.in->slot));
  keep(value);
  jmp(done);
  L(other);
  mov(rcx, entry_mark(slot));
  lea(rdx, ptr[mark_ - static_cast<int>(state::Dictionary::kAssigned)]);
  if (field.is_optional) {
    cmp(rcx, rdx);
    je(done);
  }
  xor_(rcx, rdx);
  shr(rcx, static_cast<int>(state::Dictionary::kGenerationShift));
  jz(otherwise);
  take_initial();
}

}  // namespace stopbit::jit
