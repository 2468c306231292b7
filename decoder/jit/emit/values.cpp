#include "decoder/jit/emit/emitter_class.hpp"

#include "decoder/engine/integers.hpp"

namespace stopbit::jit {

auto Emitter::entry_mark(std::uint16_t slot) const -> Xbyak::Address {
  return qword[entries_ + static_cast<int>(slot * sizeof(Entry) + offsetof(Entry, mark))];
}

auto Emitter::entry_value(std::uint16_t slot) const -> Xbyak::Address {
  return qword[entries_ + static_cast<int>(slot * sizeof(Entry) + offsetof(Entry, value))];
}

auto Emitter::entry_string_length(std::uint16_t slot) const -> Xbyak::Address {
  return dword[entries_ + static_cast<int>(slot * sizeof(Entry) + offsetof(Entry, string_length))];
}

auto Emitter::entry_string_offset(std::uint16_t slot) const -> Xbyak::Address {
  return dword[entries_ + static_cast<int>(slot * sizeof(Entry) + offsetof(Entry, string_offset))];
}

auto Emitter::mark_of(state::EntryType type) -> Reg {
  if (static_cast<int>(type) == 0) return mark_;
  lea(rcx, ptr[mark_ + static_cast<int>(type)]);
  return rcx;
}

void Emitter::set_mark(std::uint16_t slot, state::EntryType type) {
  mov(entry_mark(slot), mark_of(type));
}

void Emitter::set_empty(std::uint16_t slot) {
  lea(rcx, ptr[mark_ - static_cast<int>(state::Dictionary::kAssigned)]);
  mov(entry_mark(slot), rcx);
}

void Emitter::assign(std::uint16_t slot, state::EntryType type) {
  mov(entry_value(slot), rax);
  set_mark(slot, type);
}

void Emitter::store(Place in) {
  const Within part(*this, Part::Store);
  if (in->place.tag == 0) return;  // records do not hold it
  const Reg base = in->place.in_first_slot ? record_ : block_;
  mov(ptr[base + in->place.value_offset], rax);
  if (!expected_[in.address]) mov(byte[base + in->place.tag_offset], in->place.tag);
}

void Emitter::count_field(Place in) {
  const Within part(*this, Part::Store);
  if (!expected_[in.address]) inc(fields_.cvt32());
}

void Emitter::check_limit(Place in, Label& outside) {
  const Constant& constant = *in->constant;
  if (isa::type_of(in->op) == Type::Iexp || isa::type_of(in->op) == Type::Dexp) {
    lea(rcx, ptr[rax + static_cast<int>(engine::kMaxExponent)]);
    cmp(rcx, static_cast<int>(2 * engine::kMaxExponent));
    ja(outside);
    return;
  }
  switch (constant.limit_kind) {
    case LimitKind::None:
    case LimitKind::Bits: return;
    case LimitKind::Unsigned:
      mov(ecx, constant.limit);
      cmp(rax, rcx);
      ja(outside);
      return;
    case LimitKind::Enum:
      mov(ecx, constant.limit);
      cmp(rax, rcx);
      jae(outside);
      return;
    case LimitKind::Set:
      if (constant.limit >= 64) return;
      mov(rcx, rax);
      shr(rcx, static_cast<int>(constant.limit));
      jnz(outside);
      return;
    case LimitKind::Signed: {
      const std::uint64_t bound = std::uint64_t{1} << (constant.limit - 1);
      mov(rdx, bound);
      lea(rcx, ptr[rax + rdx]);
      add(rdx, rdx);
      cmp(rcx, rdx);
      jae(outside);
      return;
    }
  }
}

bool Emitter::keeps_limit(Place in, std::uint64_t value) const {
  const Constant& constant = *in->constant;
  if (isa::is_exponent(isa::type_of(in->op))) return engine::is_exponent_in_range(value);
  return engine::limit_error<Type::U64>(constant, value, ErrorCode::D2) == ErrorCode::None;
}

bool Emitter::has_initial(Place in) {
  return in->constant->kind != ValueKind::None;
}

bool Emitter::is_limited(Place in) {
  return isa::is_exponent(isa::type_of(in->op)) || in->constant->limit_kind != LimitKind::None;
}

}  // namespace stopbit::jit
