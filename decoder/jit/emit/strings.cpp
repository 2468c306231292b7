#include "decoder/jit/emit/emitter_class.hpp"

#include <string_view>

#include "decoder/engine/integers.hpp"

namespace stopbit::jit {

void Emitter::ascii(Place in, Label& done) {
  const Within part(*this, Part::String);
  const Operator op = isa::operator_of(in->op);
  if (options_.limits.string_bytes < kMaxInlineText) return take_elsewhere(in);
  if (op == Operator::Non) {
    Label& otherwise = elsewhere(in, done, Bit::None);
    read_text(in, done, long_text(in, done, longer_text(in, done, Bit::None)), otherwise);
    store(in);
    count_field(in);
  } else if (op == Operator::Con && short_constant(in)) {
    if (in->known == KnownBit::Clear) return;
    if (in->known == KnownBit::No) go_if_clear(in->depth.maps, done);
    mov(rax, *short_constant(in));
    store(in);
    count_field(in);
  } else if (op == Operator::Def && (!has_initial(in) || short_constant(in))) {
    text_with_default(in, done);
  } else if (op == Operator::Cop && program_.slots[in->slot].string_capacity >= kMaxInlineText) {
    copied_text(in, done);
  } else if (op == Operator::Del) {
    delta_text(in, done);
  } else if (op == Operator::Tai) {
    tail_text(in, done);
  } else {
    take_elsewhere(in);
  }
}

void Emitter::take_text(Place in) {
  const Within part(*this, Part::Texts);
  mov(esi, in.address);
  call(take_text_);
}

auto Emitter::longer_text(Place in, Label& done, Bit bit) -> Label& {
  Label& label = new_label();
  if (in->known != KnownBit::No) bit = Bit::None;
  rare([this, in, &label, &done, bit] {
    L(label);
    put_back(bit);
    undo(in);
    take_text(in);
    jmp(done);
  });
  return label;
}

void Emitter::text_with_default(Place in, Label& done) {
  Label& have = new_label();
  const bool is_clear = in->known == KnownBit::Clear;
  if (is_clear && !has_initial(in)) return;
  if (has_initial(in) && in->known != KnownBit::Set) mov(rax, *short_constant(in));
  if (in->known == KnownBit::No) go_if_clear(in->depth.maps, has_initial(in) ? have : done);
  if (!is_clear) {
    Label& otherwise = elsewhere(in, done, Bit::Set);
    Label& longest = longer_text(in, done, Bit::Set);
    read_text(in, when_absent(in, done), long_text(in, done, longest), otherwise);
  }
  L(have);
  store(in);
  count_field(in);
}

auto Emitter::short_constant(Place in) const -> std::optional<std::uint64_t> {
  if (!has_initial(in)) return {};
  const std::string_view text = program_.constant_bytes(in->constant->bytes());
  if (text.size() > kMaxInlineText) return {};
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[i])) << 8 * i;
  }
  if ((value & ~kDataBits) != 0) return {};
  return value | text_word(text.size());
}

void Emitter::read_text(Place in, Label& null, Label& longer, Label& otherwise) {
  Label& again = new_label();
  Label& beyond = new_label();
  Label& zero = new_label();
  L(again);
  find_stop();
  mov(rax, ptr[window_ + last_ + 1]);
  mov(rdx, last_);
  sub(rdx, rcx);
  cmp(edx, -static_cast<int>(kMaxInlineText));
  jl(beyond);
  test(al, 0x7F);
  jz(zero);
  const bool is_optional = isa::is_optional(in->op);
  rare([this, is_optional, &again, &beyond, &zero, &null, &longer, &otherwise] {
    L(beyond);
    look_further(again, otherwise);
    jmp(longer);
    L(zero);
    if (is_optional) {
      cmp(al, kNullText);
      jne(otherwise);
      mov(last_, rcx);
      jmp(null);
    } else {
      jmp(otherwise);
    }
  });
  mov(last_, rcx);
  and_(rax, by_length(rdx, offsetof(ByLength, data)));
  or_(rax, by_length(rdx, offsetof(ByLength, text)));
}

void Emitter::copied_text(Place in, Label& done) {
  const std::uint16_t slot = in->slot;
  const bool is_optional = isa::is_optional(in->op);
  Label& have = new_label();
  Label& null = is_optional ? new_label() : done;
  Label& clear = new_label();
  if (in->known == KnownBit::No) go_if_clear(in->depth.maps, clear);
  if (in->known != KnownBit::Clear) {
    Label& otherwise = elsewhere(in, done, Bit::Set);
    read_text(in, null, longer_text(in, done, Bit::Set), otherwise);
    mov(ecx, edx);
    neg(ecx);
    assign_text(slot);
  }
  if (in->known == KnownBit::No) {
    jmp(have);
    L(clear);
  }
  if (in->known != KnownBit::Set) text_not_sent(in, null, have, done);
  L(have);
  store(in);
  count_field(in);
  if (is_optional) {
    rare([this, slot, &null, &done] {
      L(null);
      set_empty(slot);
      jmp(done);
    });
  }
}

void Emitter::text_not_sent(Place in, Label& null, Label& have, Label& done) {
  const std::uint16_t slot = in->slot;
  Label& other = new_label();
  Label& otherwise = elsewhere(in, done, Bit::Clear);
  const Reg mark = mark_of(state::EntryType::Ascii);
  cmp(entry_mark(slot), mark);
  jne(other);
  mov(ecx, entry_string_length(slot));
  cmp(ecx, static_cast<int>(kMaxInlineText));
  ja(longer_text(in, done, Bit::Clear));
  mov(edx, entry_string_offset(slot));
  add(rdx, STOPBIT_FIELD(strings));
  mov(rax, ptr[rdx]);
  lea(edx, ptr[rcx * 8]);
  bzhi(rax, rax, rdx);
  mov(rdx, ~kDataBits);
  test(rax, rdx);
  jnz(otherwise);
  neg(rcx);
  or_(rax, by_length(rcx, offsetof(ByLength, text)));

  rare([this, in, slot, &other, &otherwise, &null, &have, &done] {
    L(other);  // empty, undefined, or of another type
    mov(rcx, entry_mark(slot));
    lea(rdx, ptr[mark_ - static_cast<int>(state::Dictionary::kAssigned)]);
    const bool is_optional = isa::is_optional(in->op);
    if (is_optional) {
      cmp(rcx, rdx);
      je(done);
    }
    xor_(rcx, rdx);
    shr(rcx, static_cast<int>(state::Dictionary::kGenerationShift));
    jz(otherwise);
    if (short_constant(in)) {
      mov(rax, *short_constant(in));
      mov(ecx, program_.constant_bytes(in->constant->bytes()).size());
      assign_text(slot);
      jmp(have);
    } else if (!has_initial(in) && is_optional) {
      jmp(null);
    } else {
      jmp(otherwise);
    }
  });
}

void Emitter::assign_text(std::uint16_t slot) {
  mov(edx, entry_string_offset(slot));
  add(rdx, STOPBIT_FIELD(strings));
  mov(entry_string_length(slot), ecx);
  mov(rsi, rax);
  and_(rsi, data_bits());
  mov(ptr[rdx], rsi);
  set_mark(slot, state::EntryType::Ascii);
}

}  // namespace stopbit::jit
