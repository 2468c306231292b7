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
    if (program_.code[0].slot <= kMapWordBits) {
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

void Emitter::push_map(Place in) {
  const Within part(*this, Part::Map);
  if (options_.strict) return take_elsewhere(in);
  Label& done = new_label();
  Label& otherwise = elsewhere(in, done, Bit::None);
  Label& again = new_label();
  Label& longer = new_label();
  Label& have = new_label();
  const auto find = [this, in, &otherwise] {
    if (!is_message_ || has_long_maps_) find_map(in->depth.maps);
    if (is_message_) return;
    lea(rax, ptr[machine_ + map_offset(limits::kMaxPresenceMapDepth)]);
    cmp(rsi, rax);
    jae(otherwise);
  };
  L(again);
  find_stop();
  mov(rdx, last_);
  sub(rdx, rcx);
  cmp(edx, -8);
  jl(longer);
  rare([this, find, &again, &longer, &otherwise, &have] {
    L(longer);
    look_further(again, otherwise);
    find();
    load_long_map();
    jmp(have);
  });
  find();
  load_map(in);
  std::vector<ProfileEntry> programs;
  if (in->slot <= kMapWordBits) programs = programs_of(program_.code[in.address].constant);
  for (const ProfileEntry& entry : programs) {
    if (needs_map(entry)) continue;
    mov(rcx, entry.presence_bits);
    cmp(rax, rcx);
    je(labels_[entry.entry]);
  }
  if (has_long_maps_) {
    inc(rax);
    // No bytes follow.
    mov(ptr[rsi + kMapBytes + kMapNext], window_);
    mov(ptr[rsi + kMapBytes + kMapEnd], window_);
  }
  L(have);
  push_bits(in);
  for (const ProfileEntry& entry : programs) {
    if (needs_map(entry)) enter_profile(entry);
  }
  L(done);
}

void Emitter::load_map(Place in) {
  if (in->slot <= kMapByteBits) {
    // What depends on the bits begins six cycles earlier than with a mask. Bits of further bytes are no field's.
    movzx(eax, byte[window_ + last_ + 1]);
    mov(last_, rcx);
    shl(rax, 64 - kMapByteBits);
    return;
  }
  movbe(rax, ptr[window_ + last_ + 1]);
  mov(last_, rcx);
  // The bits to the top, and nothing below them.
  and_(rax, by_length(rdx, offsetof(ByLength, front)));
  pext(rax, rax, data_bits());
  shl(rax, 8);
}

void Emitter::load_long_map() {
  movbe(rax, ptr[window_ + last_ + 1]);
  pext(rax, rax, data_bits());
  shl(rax, 8);
  movzx(edx, byte[window_ + last_ + 9]);
  and_(edx, 0x7F);
  lea(rax, ptr[rax + rdx * 2 + (has_long_maps_ ? 1 : 0)]);
  if (has_long_maps_) {
    lea(rdx, ptr[window_ + last_ + 10]);
    mov(ptr[rsi + kMapBytes + kMapNext], rdx);
    lea(rdx, ptr[window_ + rcx + 1]);
    mov(ptr[rsi + kMapBytes + kMapEnd], rdx);
  }
  mov(last_, rcx);
}

void Emitter::push_bits(Place in) {
  if (has_long_maps_) {
    tzcnt(rcx, map_);
    xor_(ecx, static_cast<int>(kMapWordBits));  // counted from the top
    blsr(rdx, map_);
    mov(ptr[rsi + kMapBits], rdx);
    mov(ptr[rsi + kMapLeft], ecx);
  } else if (is_message_) {
    mov(ptr[machine_ + map_offset(in->depth.maps) + kMapBits], map_);
    mov(dword[machine_ + map_offset(in->depth.maps + 1U) + kMapLeft], kMapWordBits + 1);  // zeros follow
  } else {
    mov(ptr[rsi + kMapBits], map_);
    mov(dword[rsi + kMapBytes + kMapLeft], kMapWordBits + 1);
  }
  if (!is_message_) {
    add(rsi, kMapBytes);
    mov(STOPBIT_FIELD(map), rsi);
  }
  mov(map_, rax);
}

void Emitter::find_map(unsigned depth) {
  if (is_message_) {
    lea(rsi, ptr[machine_ + map_offset(depth)]);
  } else {
    mov(rsi, STOPBIT_FIELD(map));
  }
}

void Emitter::restore_map(const Reg& base, int offset) {
  mov(map_, ptr[base + offset + kMapBits]);
  if (!has_long_maps_) return;
  mov(esi, ptr[base + offset + kMapLeft]);
  xor_(esi, static_cast<int>(kMapWordBits));
  bts(map_, rsi);
}

int Emitter::map_offset(unsigned depth) {
  return static_cast<int>(offsetof(Machine, maps) + depth * sizeof(wire::PresenceMap));
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
  mov(rcx, entry.presence_bits | (has_long_maps_ ? 1U : 0U));
  cmp(map_, rcx);
  jne(next);
  shl(map_, entry.taken);
  jmp(labels_[entry.entry]);
  L(next);
}

void Emitter::pop_map(Place in) {
  const Within part(*this, Part::Map);
  if (is_message_) return restore_map(machine_, map_offset(in->depth.maps - 1U));
  mov(rcx, STOPBIT_FIELD(map));
  sub(rcx, kMapBytes);
  mov(STOPBIT_FIELD(map), rcx);
  restore_map(rcx, 0);
}

void Emitter::template_id(Place in) {
  const Within part(*this, Part::Template);
  Label& done = new_label();
  Label& clear = new_label();
  Label& taken = new_label();
  go_if_clear(in->depth.maps, clear);
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
