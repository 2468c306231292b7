#include <algorithm>

#include "decoder/jit/emit/emitter_class.hpp"

/// Strings that are longer than a word, up to a slot of the record's string area, and string deltas: what engine::Texts
/// does, for the common case.
namespace stopbit::jit {

namespace {

constexpr unsigned kSlotBytes = record::kStringSlotBytes;
constexpr int kStringSlots = static_cast<int>(offsetof(record::BuilderState, string_slots));
constexpr unsigned kMostAdded = 32;  ///< By a delta or a tail: two vectors.
static_assert(kMostAdded <= state::Dictionary::kStringSlack && kSlotBytes <= state::Dictionary::kStringSlack);

/// Where the bytes to keep end.
template <std::uint8_t kBits>
std::uintptr_t middle() {
  return reinterpret_cast<std::uintptr_t>(record::kKeptBytes<kBits>.data()) + kSlotBytes;
}

}  // namespace

auto Emitter::long_text(Place in, Label& done, Label& longer) -> Label& {
  if (options_.limits.string_bytes < kSlotBytes) return longer;
  Label& label = new_label();
  rare([this, in, &label, &done, &longer] {
    L(label);
    cmp(edx, -static_cast<int>(kSlotBytes));
    jl(longer);
    test(al, 0x7F);
    jz(longer);
    go_if_strings_are_full(longer);
    lea(rsi, ptr[window_ + last_ + 1]);
    neg(rdx);
    mov(last_, rcx);
    store_long_text(in, middle<wire::kData>());
    jmp(done);
  });
  return label;
}

void Emitter::go_if_strings_are_full(Label& otherwise) {
  cmp(dword[record_ + kStringSlots], static_cast<int>(limits::kMaxStringSlots));
  jae(otherwise);
}

void Emitter::store_long_text(Place in, std::uintptr_t kept) {
  if (in->place.tag == 0) return count_field(in);  // records do not hold it
  const auto strings = record_ + static_cast<int>(offsetof(BuilderState, strings));
  mov(rcx, kept);
  sub(rcx, rdx);
  for (int i = 0; i < 3; ++i) {
    vmovdqu(Xbyak::Xmm(i), ptr[rsi + 16 * i]);
    vpand(Xbyak::Xmm(i), Xbyak::Xmm(i), ptr[rcx + 16 * i]);
  }
  mov(rsi, ptr[rsi + 48]);
  and_(rsi, ptr[rcx + 48]);
  mov(rax, ptr[record_ + kStringSlots]);
  imul(rcx, rax, kSlotBytes);
  for (int i = 0; i < 3; ++i) vmovdqu(ptr[strings + rcx + 16 * i], Xbyak::Xmm(i));
  mov(ptr[strings + rcx + 48], rsi);
  lea(ecx, ptr[rdx + 7]);
  shr(ecx, 3);
  mov(byte[record_ + rax + static_cast<int>(offsetof(BuilderState, string_words))], cl);
  inc(qword[record_ + kStringSlots]);
  shl(rax, 32);
  or_(rdx, rax);
  mov(rax, std::uint64_t{record::kLongString} << 56);
  or_(rax, rdx);
  store(in);
  count_field(in);
}

void Emitter::delta_text(Place in, Label& done) {
  const TextDelta delta{
      in,   &longer_text(in, done, Bit::None), &new_label(), &new_label(), &new_label(), &new_label(), &new_label(),
      &done};
  L(*delta.again);
  read_delta(delta);
  extend_previous(delta);
  store_text(in, done);
  rare([this, delta] { rare_delta(delta); });
}

void Emitter::store_text(Place in, Label& done) {
  Label& is_short = new_label();
  Label& is_long = new_label();
  cmp(edx, static_cast<int>(kMaxInlineText));
  jbe(is_short);
  L(is_long);
  store_long_text(in, middle<0xFF>());
  rare([this, in, &done, &is_short, &is_long] {
    L(is_short);
    store_short_text(in, is_long);
    jmp(done);
  });
}

auto Emitter::longest_text(std::uint16_t slot) const -> int {
  return static_cast<int>(
      std::min<std::size_t>({kSlotBytes, options_.limits.string_bytes, program_.slots[slot].string_capacity}));
}

void Emitter::extend_entry(std::uint16_t slot) {
  mov(rcx, middle<wire::kData>() - kSlotBytes);
  vpand(xmm0, xmm0, ptr[rcx]);
  vpand(xmm1, xmm1, ptr[rcx]);
  mov(esi, entry_string_offset(slot));
  add(rsi, STOPBIT_FIELD(strings));
  vmovdqu(ptr[rsi + rax], xmm0);
  vmovdqu(ptr[rsi + rax + 16], xmm1);
  mov(entry_string_length(slot), edx);
}

void Emitter::read_delta(const TextDelta& delta) {
  const std::uint16_t slot = delta.in->slot;
  const Reg mark = mark_of(state::EntryType::Ascii);
  cmp(entry_mark(slot), mark);
  jne(*delta.otherwise);
  find_stop();  // of the subtraction length: one byte
  tzcnt(rsi, stops_);
  jc(*delta.beyond);
  lea(edx, ptr[rcx - 1]);
  cmp(edx, last_.cvt32());
  jne(*delta.otherwise);
  movzx(eax, byte[window_ + last_ + 1]);
  shl(eax, 25);
  sar(eax, 25);
  if (isa::is_optional(delta.in->op)) {
    jz(*delta.null);
    js(*delta.otherwise);
    dec(eax);
  } else {
    js(*delta.otherwise);  // from the front
  }
  mov(edx, esi);
  sub(edx, ecx);
  cmp(edx, kMostAdded);
  ja(*delta.otherwise);
  test(byte[window_ + rcx + 1], 0x7F);
  jz(*delta.zero);
  L(*delta.is_known);
}

void Emitter::extend_previous(const TextDelta& delta) {
  const std::uint16_t slot = delta.in->slot;
  vmovdqu(xmm0, ptr[window_ + rcx + 1]);
  vmovdqu(xmm1, ptr[window_ + rcx + 17]);
  // What is kept, in eax, and the new length, in edx.
  neg(eax);
  add(eax, entry_string_length(slot));
  js(*delta.otherwise);
  add(edx, eax);
  cmp(edx, longest_text(slot));
  ja(*delta.otherwise);
  go_if_strings_are_full(*delta.otherwise);
  blsr(stops_, stops_);
  mov(last_, rsi);
  extend_entry(slot);
}

void Emitter::rare_delta(const TextDelta& delta) {
  L(*delta.beyond);  // a window from the position on has both, or they are longer than this
  cmp(last_, -1);
  je(*delta.otherwise);
  call(next_window_);
  jmp(*delta.again);
  L(*delta.zero);
  cmp(byte[window_ + rcx + 1], 0x80);
  jne(*delta.otherwise);
  xor_(edx, edx);  // nothing is added
  jmp(*delta.is_known);
  if (!isa::is_optional(delta.in->op)) return;
  L(*delta.null);
  mov(last_, rcx);
  jmp(*delta.done);
}

void Emitter::tail_text(Place in, Label& done) {
  Label& clear = new_label();
  Label& have = new_label();
  if (in->known == KnownBit::No) go_if_clear(in->depth.maps, clear);
  if (in->known != KnownBit::Clear) read_tail({in, &longer_text(in, done, Bit::Set), &done});
  if (in->known == KnownBit::Clear) tail_not_sent(in, done);
  L(have);
  store_text(in, done);
  if (in->known != KnownBit::No) return;
  rare([this, in, &done, &clear, &have] {
    L(clear);
    tail_not_sent(in, done);
    jmp(have);
  });
}

void Emitter::read_tail(const TextTail& tail) {
  const std::uint16_t slot = tail.in->slot;
  const bool is_optional = isa::is_optional(tail.in->op);
  Label& again = new_label();
  Label& beyond = new_label();
  Label& zero = new_label();
  Label& first = new_label();
  Label& have_base = new_label();
  L(again);
  find_stop();
  jc(beyond);
  mov(rdx, last_);
  sub(rdx, rcx);  // the length, less than 0
  cmp(edx, -static_cast<int>(kMostAdded));
  jl(*tail.otherwise);
  test(byte[window_ + last_ + 1], 0x7F);
  jz(zero);
  lea(rsi, ptr[mark_ + static_cast<int>(state::EntryType::Ascii)]);
  cmp(entry_mark(slot), rsi);
  jne(first);
  mov(eax, entry_string_length(slot));
  L(have_base);
  // What is kept, in eax, and the new length, in edx.
  xor_(esi, esi);
  add(eax, edx);
  cmovs(eax, esi);
  neg(edx);
  add(edx, eax);
  cmp(edx, longest_text(slot));
  ja(*tail.otherwise);
  go_if_strings_are_full(*tail.otherwise);
  vmovdqu(xmm0, ptr[window_ + last_ + 1]);
  vmovdqu(xmm1, ptr[window_ + last_ + 17]);
  mov(last_, rcx);
  extend_entry(slot);
  set_mark(slot, state::EntryType::Ascii);
  rare([this, tail, is_optional, slot, &again, &beyond, &zero, &first, &have_base] {
    L(beyond);
    call(next_window_);
    jnz(again);
    jmp(*tail.otherwise);
    L(zero);
    if (is_optional) {
      cmp(byte[window_ + last_ + 1], kNullText);
      jne(*tail.otherwise);
      mov(last_, rcx);
      set_empty(slot);
      jmp(*tail.done);
    } else {
      jmp(*tail.otherwise);
    }
    L(first);
    tail_of_undefined(tail);
    jmp(have_base);
  });
}

void Emitter::tail_of_undefined(const TextTail& tail) {
  const std::uint16_t slot = tail.in->slot;
  mov(rsi, entry_mark(slot));
  lea(rax, ptr[mark_ - static_cast<int>(state::Dictionary::kAssigned)]);
  xor_(rsi, rax);
  shr(rsi, static_cast<int>(state::Dictionary::kGenerationShift));
  jz(*tail.otherwise);
  const std::optional<std::uint64_t> initial = short_constant(tail.in);
  if (!has_initial(tail.in)) {
    xor_(eax, eax);
  } else if (initial && program_.slots[slot].string_capacity >= kMaxInlineText) {
    mov(esi, entry_string_offset(slot));
    add(rsi, STOPBIT_FIELD(strings));
    mov(rax, *initial & kDataBits);
    mov(ptr[rsi], rax);
    mov(eax, static_cast<std::uint32_t>(program_.constant_bytes(tail.in->constant->bytes()).size()));
  } else {
    jmp(*tail.otherwise);
  }
}

void Emitter::tail_not_sent(Place in, Label& done) {
  const std::uint16_t slot = in->slot;
  Label& otherwise = longer_text(in, done, Bit::Clear);
  Label& other = new_label();
  const Reg mark = mark_of(state::EntryType::Ascii);
  cmp(entry_mark(slot), mark);
  jne(other);
  mov(edx, entry_string_length(slot));
  cmp(edx, longest_text(slot));
  ja(otherwise);
  go_if_strings_are_full(otherwise);
  mov(esi, entry_string_offset(slot));
  add(rsi, STOPBIT_FIELD(strings));
  rare([this, in, slot, &done, &other, &otherwise] {
    L(other);
    if (isa::is_optional(in->op)) {
      lea(rdx, ptr[mark_ - static_cast<int>(state::Dictionary::kAssigned)]);
      cmp(entry_mark(slot), rdx);
      je(done);  // empty
    }
    jmp(otherwise);
  });
}

void Emitter::store_short_text(Place in, Label& is_long) {
  Label is_word;
  mov(rax, ptr[rsi]);
  lea(ecx, ptr[rdx * 8]);
  bzhi(rax, rax, rcx);
  cmp(edx, static_cast<int>(kMaxInlineText));
  jne(is_word);
  mov(rcx, ~kDataBits);
  test(rax, rcx);
  jnz(is_long);
  L(is_word);
  neg(rdx);
  or_(rax, by_length(rdx, offsetof(ByLength, text)));
  store(in);
  count_field(in);
}

}  // namespace stopbit::jit
