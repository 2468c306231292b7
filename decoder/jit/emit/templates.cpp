#include "decoder/jit/emit/emitter_class.hpp"

#include <algorithm>
#include <utility>

#include "decoder/engine/integers.hpp"

namespace stopbit::jit {

namespace {

constexpr std::size_t kDirectIds = 65'536;  ///< Identifiers up to here are found by index.

}  // namespace

void Emitter::make_dispatch(Code& code) {
  std::size_t ids = 0;
  for (const DispatchEntry& entry : program_.dispatch) {
    if (entry.table == 0 && entry.id < kDirectIds) ids = std::max<std::size_t>(ids, entry.id + 1);
  }
  code.dispatch.resize(ids);
  dispatch_ = code.dispatch;
}

void Emitter::dispatch(Place in) {
  const Within part(*this, Part::Template);
  cmp(eax, static_cast<std::uint32_t>(dispatch_.size()));
  jae(dispatch_elsewhere_);
  mov(rcx, reinterpret_cast<std::uintptr_t>(dispatch_.data()));
  jmp(ptr[rcx + rax * 8]);
  rare([this, in] {
    L(dispatch_elsewhere_);
    steer_elsewhere(in);
  });
}

void Emitter::emit_entry(std::size_t address) {
  const Within part(*this, Part::Template);
  for (const DispatchEntry& entry : program_.dispatch) {
    if (entry.table != 0 || entry.entry != address || entry.id >= dispatch_.size()) continue;
    const Template& chosen = program_.templates[entry.template_index];
    const Block& root = program_.blocks[chosen.root_block];
    const std::size_t slots = record::block_slots(record::kHeaderWords, root.words);
    if (slots > program_.max_record_slots) continue;
    Label& label = new_label();
    dispatched_.emplace_back(entry.id, &label);
    L(label);
    if (chosen.reset && options_.reset != ResetRule::Never) reset_dictionary();
    mov(ecx, entry.template_index);
    mov(STOPBIT_FIELD_WORD(message_template), cx);
    mov(STOPBIT_FIELD_WORD(current_template), cx);
    mov(block_, STOPBIT_RECORD(slots));
    lea(next_, ptr[block_ + static_cast<int>(slots * record::kSlotBytes)]);
    mov(rsi, STOPBIT_RECORD(phase));
    vpxor(xmm0, xmm0, xmm0);
    const Opening& opening = openings_[chosen.root_block];
    for (std::size_t i = 0; i < slots; ++i) {
      mov(rcx, opening.tags[i] | record::tag_word_base(false, i));
      or_(rcx, rsi);
      if (i == 0) {
        clear_slot(record_, static_cast<int>(offsetof(BuilderState, first)));
      } else {
        clear_slot(block_, static_cast<int>(i * record::kSlotBytes));
      }
    }
    if (opening.fields != 0) add(fields_.cvt32(), opening.fields);
    const auto segment = static_cast<std::uint16_t>(ProfileEntry::kBody | entry.template_index);
    if (!has_wide_map_[0]) {
      for (const ProfileEntry& program : programs_of(segment)) enter_profile(program);
    }
    // Several names for one template would need a way over each other's entry.
    jmp(labels_[address]);
  }
}

void Emitter::reset_dictionary() {
  constexpr std::uint32_t kOneGeneration = 1U << state::Dictionary::kGenerationShift;
  mov(rcx, STOPBIT_FIELD(dictionary));
  inc(qword[rcx + static_cast<int>(state::Dictionary::generation_offset())]);
  add(mark_, kOneGeneration);
  mov(STOPBIT_FIELD(assigned_mark), mark_);
  mov(rcx, STOPBIT_FIELD(waits_for_reset));
  mov(byte[rcx], 0);
  assign(isa::kTemplateIdSlot, state::EntryType::U32);
}

void Emitter::clear_slot(const Reg& base, int at) {
  vmovdqu(ptr[base + at], ymm0);
  vmovdqu(ptr[base + at + 32], ymm0);
  mov(ptr[base + at + static_cast<int>(record::kTagWord * 8)], rcx);
}

void Emitter::find_wide_maps() {
  has_wide_map_.assign(steps_.size(), false);
  std::vector<std::size_t> begins{0, general_size(program_)};
  for (const DispatchEntry& entry : program_.dispatch) begins.push_back(entry.entry);
  std::sort(begins.begin(), begins.end());
  const bool is_message_wide = program_.code[0].slot > kMaxExposedBits;
  for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
    bool is_wide = is_message_wide;
    for (std::size_t k = begins[i]; k < begins[i + 1]; ++k) {
      is_wide = is_wide || (program_.code[k].op == DataOp::Pmap && program_.code[k].slot > kMaxExposedBits);
    }
    std::fill(has_wide_map_.begin() + static_cast<std::ptrdiff_t>(begins[i]),
              has_wide_map_.begin() + static_cast<std::ptrdiff_t>(begins[i + 1]), is_wide);
  }
}

void Emitter::push_map(Place in) {
  const Within part(*this, Part::Map);
  if (options_.strict || in->slot > kMaxExposedBits) return take_elsewhere(in);
  Label& done = new_label();
  Label& otherwise = elsewhere(in, done, Bit::None);
  Label& again = new_label();
  Label& longer = new_label();
  L(again);
  find_stop();
  mov(rdx, last_);
  sub(rdx, rcx);
  cmp(edx, -8);
  jl(longer);
  rare([this, &again, &longer, &otherwise] {
    L(longer);
    look_further(again, otherwise);
    jmp(otherwise);
  });
  if (!is_message_) {
    mov(rsi, STOPBIT_FIELD(map));
    lea(rax, map_bits(limits::kMaxPresenceMapDepth));
    cmp(rsi, rax);
    jae(otherwise);
  }
  movbe(rax, ptr[window_ + last_ + 1]);
  mov(last_, rcx);
  // The bits to the top, and nothing below them.
  and_(rax, by_length(rdx, offsetof(ByLength, front)));
  pext(rax, rax, data_bits());
  shl(rax, 8);
  const std::vector<ProfileEntry> programs = programs_of(program_.code[in.address].constant);
  for (const ProfileEntry& entry : programs) {
    if (needs_map(entry)) continue;
    mov(rcx, entry.presence_bits);
    cmp(rax, rcx);
    je(labels_[entry.entry]);
  }
  push_bits(in);
  for (const ProfileEntry& entry : programs) {
    if (needs_map(entry)) enter_profile(entry);
  }
  L(done);
}

void Emitter::push_bits(Place in) {
  if (is_message_) {
    mov(map_bits(in->depth.maps), map_);
    mov(map_left(in->depth.maps + 1), kMaxExposedBits + 1);
  } else {
    mov(ptr[rsi + kMapBits], map_);
    add(rsi, static_cast<int>(sizeof(wire::PresenceMap)));
    mov(STOPBIT_FIELD(map), rsi);
    mov(dword[rsi + kMapLeft], kMaxExposedBits + 1);
  }
  mov(map_, rax);
}

auto Emitter::map_bits(unsigned depth) const -> Xbyak::Address {
  return qword[machine_ + static_cast<int>(offsetof(Machine, maps) + depth * sizeof(wire::PresenceMap)) + kMapBits];
}

auto Emitter::map_left(unsigned depth) const -> Xbyak::Address {
  return dword[machine_ + static_cast<int>(offsetof(Machine, maps) + depth * sizeof(wire::PresenceMap)) + kMapLeft];
}

auto Emitter::programs_of(std::uint16_t segment) const -> std::vector<ProfileEntry> {
  const auto [first, last] =
      std::equal_range(program_.profiles.begin(), program_.profiles.end(), ProfileEntry{.segment = segment},
                       [](const ProfileEntry& x, const ProfileEntry& y) { return x.segment < y.segment; });
  std::vector<ProfileEntry> programs(first, last);
  std::sort(programs.begin(), programs.end(),
            [](const ProfileEntry& x, const ProfileEntry& y) { return x.entry < y.entry; });
  return programs;
}

bool Emitter::needs_map(const ProfileEntry& entry) const {
  std::size_t at = entry.entry;
  while (steps_[at].control <= ControlOp::Block || steps_[at].control == ControlOp::Skip) ++at;
  return steps_[at].control != ControlOp::Lend;
}

void Emitter::enter_profile(const ProfileEntry& entry) {
  const Within part(*this, Part::Map);
  Label next;
  mov(rcx, entry.presence_bits);
  cmp(map_, rcx);
  jne(next);
  shl(map_, entry.taken);
  jmp(labels_[entry.entry]);
  L(next);
}

void Emitter::pop_map(Place in) {
  const Within part(*this, Part::Map);
  if (is_message_) return mov(map_, map_bits(in->depth.maps - 1));
  mov(rcx, STOPBIT_FIELD(map));
  sub(rcx, static_cast<int>(sizeof(wire::PresenceMap)));
  mov(STOPBIT_FIELD(map), rcx);
  mov(map_, ptr[rcx + kMapBits]);
}

void Emitter::template_id(Place in) {
  const Within part(*this, Part::Template);
  Label& done = new_label();
  Label& clear = new_label();
  Label& taken = new_label();
  if (has_wide_map_[in.address]) {
    take_elsewhere(in);
    mov(eax, STOPBIT_FIELD_DWORD(template_id));
    return;
  }
  go_if_clear(clear);
  Label& otherwise = elsewhere(in, taken, Bit::Set);
  read_integer(Type::U32, false, done, otherwise);
  assign(in->slot, state::EntryType::U32);
  mov(STOPBIT_FIELD_DWORD(template_id), eax);
  L(done);
  rare([this, in, &clear, &taken, &done] {
    Label undefined;
    L(clear);
    cmp(entry_mark(in->slot), mark_of(state::EntryType::U32));
    jne(undefined);
    mov(rax, entry_value(in->slot));
    mov(STOPBIT_FIELD_DWORD(template_id), eax);
    jmp(done);
    L(undefined);
    put_back(Bit::Clear);
    take_elsewhere(in);
    L(taken);
    mov(eax, STOPBIT_FIELD_DWORD(template_id));
    jmp(done);
  });
}

}  // namespace stopbit::jit
