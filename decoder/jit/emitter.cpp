#include "decoder/jit/emitter.hpp"

#include <xbyak/xbyak.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <type_traits>

#include "decoder/engine/integers.hpp"
#include "decoder/wire/index_kernels.hpp"

namespace stopbit::jit {
namespace {

using engine::Decimal;
using engine::is_narrow;
using engine::is_signed;
using engine::Machine;
using engine::remembers;
using engine::Step;
using isa::ControlOp;
using isa::DataOp;
using isa::KnownBit;
using isa::Operator;
using record::BuilderState;
using Entry = state::Dictionary::Entry;

static_assert(std::is_standard_layout_v<Machine> && std::is_standard_layout_v<BuilderState> &&
              std::is_standard_layout_v<Entry>);

constexpr std::size_t kBytesPerInstruction = 1'600;
constexpr std::size_t kFirstTemplate = 2;   ///< Address: behind the message's map and its template identifier.
constexpr std::size_t kTypicalBytes = 110;  ///< Of an instruction, its rare paths not counted.
constexpr std::size_t kPrefetchedLines = 64;
constexpr std::size_t kLineBytes = 64;
constexpr std::size_t kFixedBytes = 1U << 16;
constexpr std::size_t kDirectIds = 65'536;  ///< Identifiers up to here are found by index.
constexpr unsigned kMaxExposedBits = 63;    ///< Of a presence map that native code takes bits from.
constexpr std::size_t kMaxInlineText = 8;
constexpr int kNullText = 0x80;  ///< The one byte of an absent string.
constexpr unsigned kWindowBytes = 64;
constexpr std::uint64_t kDataBits = 0x7F7F'7F7F'7F7F'7F7F;

/// The word of a string of up to eight bytes, without its characters.
constexpr std::uint64_t text_word(std::size_t length) {
  return (length == kMaxInlineText ? std::uint64_t{0x80} : std::uint64_t{length}) << 56;
}

/// Writes the code of a program, one instruction after the other; what is rare goes to the end.
class Emitter : private Xbyak::CodeGenerator {
 public:
  Emitter(const Program& program, const EngineOptions& options, const Hooks& hooks, const CodeMemory& memory)
      : CodeGenerator(memory.size(), memory.data()),
        program_(program),
        options_(options),
        hooks_(hooks),
        nesting_(static_cast<int>(std::min<std::size_t>(options.limits.nesting, limits::kMaxLoopDepth))) {
    setDefaultJmpNEAR(true);
  }

  Code emit(const Steps& steps) {
    Code code;
    make_dispatch(code);
    emit_texts();
    align(16);
    code.run = getCurr<bool (*)(Machine*)>();
    emit_frame();
    code.message = emit_steps(steps.message, 0);
    const bool calls = std::any_of(program_.code.begin(), program_.code.end(),
                                   [](const auto& in) { return in.control == ControlOp::Call; });
    if (calls) code.reference = emit_steps(steps.reference, kFirstTemplate);
    code.complete = complete_.getAddress();
    for (const auto& [id, label] : dispatched_) code.dispatch[id] = label->getAddress();
    std::replace(code.dispatch.begin(), code.dispatch.end(), static_cast<const void*>(nullptr),
                 static_cast<const void*>(dispatch_elsewhere_.getAddress()));
    if (hasUndefinedLabel()) throw Xbyak::Error(Xbyak::ERR_LABEL_IS_NOT_FOUND);
    code.bytes = getSize();
    code.rare_bytes = rare_bytes_;
    return code;
  }

 private:
  using Reg = Xbyak::Reg64;
  using Type = isa::Type;
  using Label = Xbyak::Label;

  // ---- Registers. The first row survives calls.
  const Reg machine_ = rbx, map_ = rbp, position_ = r12, stops_ = r13, window_ = r14, block_ = r15;
  const Reg record_ = r8, mark_ = r9, entries_ = r10, data_bits_ = r11, fields_ = rdi;
  // rax holds values; rcx, rdx and rsi are free.

#define STOPBIT_FIELD(member) ptr[machine_ + static_cast<int>(offsetof(Machine, member))]
#define STOPBIT_FIELD_BYTE(member) byte[machine_ + static_cast<int>(offsetof(Machine, member))]
#define STOPBIT_FIELD_WORD(member) word[machine_ + static_cast<int>(offsetof(Machine, member))]
#define STOPBIT_FIELD_DWORD(member) dword[machine_ + static_cast<int>(offsetof(Machine, member))]
#define STOPBIT_FIELD_QWORD(member) qword[machine_ + static_cast<int>(offsetof(Machine, member))]
#define STOPBIT_RECORD_QWORD(member) qword[record_ + static_cast<int>(offsetof(BuilderState, member))]
#define STOPBIT_RECORD(member) ptr[record_ + static_cast<int>(offsetof(BuilderState, member))]

  static constexpr int kPosition = static_cast<int>(offsetof(Machine, in) + offsetof(wire::Cursor, position));
  static constexpr int kBegin = static_cast<int>(offsetof(Machine, in) + offsetof(wire::Cursor, begin));
  static constexpr int kEnd = static_cast<int>(offsetof(Machine, in) + offsetof(wire::Cursor, end));
  static inline const int kMapBits = static_cast<int>(wire::PresenceMap::bits_offset());
  static inline const int kMapLeft = static_cast<int>(wire::PresenceMap::left_offset());

  // ---- The frame: entry, exit, and the ways to the interpreter's functions.

  void emit_texts() {
    align(8);
    L(texts_);
    for (std::size_t length = 0; length <= kMaxInlineText; ++length) dq(text_word(length));
  }

  void emit_frame() {
    for (const Reg& reg : {rbx, rbp, r12, r13, r14, r15}) push(reg);
    sub(rsp, 8);
    mov(machine_, rdi);
    mov(position_, ptr[machine_ + kPosition]);
    mov(window_, STOPBIT_FIELD(window));
    mov(stops_, STOPBIT_FIELD(window_stops));
    reload();
    Label start;
    jmp(start);

    L(failed_);
    add(rsp, 16);  // the return address, and what aligned the stack
    xor_(eax, eax);
    jmp(exit_);
    L(complete_);
    mov(eax, 1);
    L(exit_);
    mov(ptr[machine_ + kPosition], position_);
    mov(STOPBIT_FIELD(window), window_);
    mov(STOPBIT_FIELD(window_stops), stops_);
    add(STOPBIT_FIELD_DWORD(fields), fields_.cvt32());
    add(rsp, 8);
    for (const Reg& reg : {r15, r14, r13, r12, rbp, rbx}) pop(reg);
    ret();

    // Of a register that returns a bool only the lowest byte means something.
    emit_call(open_block_, reinterpret_cast<const void*>(hooks_.open_block), al);
    emit_call(take_, reinterpret_cast<const void*>(hooks_.take), al);
    emit_call(take_text_, reinterpret_cast<const void*>(hooks_.take_text), al);
    emit_call(steer_, reinterpret_cast<const void*>(hooks_.steer), rax);
    emit_refill();
    L(start);
  }

  /// Registers that do not survive calls.
  void reload() {
    mov(record_, STOPBIT_FIELD(record));
    mov(mark_, STOPBIT_FIELD(assigned_mark));
    mov(entries_, STOPBIT_FIELD(entries));
    mov(data_bits_, kDataBits);
    xor_(fields_.cvt32(), fields_.cvt32());
  }

  /// Calls a hook with the address in esi; `result` is what it gave. Leaves the message after an error.
  void emit_call(Label& label, const void* function, const Xbyak::Reg& result) {
    align(16);
    L(label);
    sub(rsp, 8);
    mov(ptr[machine_ + kPosition], position_);
    mov(rcx, STOPBIT_FIELD(map));
    mov(ptr[rcx + kMapBits], map_);
    add(STOPBIT_FIELD_DWORD(fields), fields_.cvt32());
    mov(rdi, reinterpret_cast<std::uintptr_t>(hooks_.self));
    mov(rax, reinterpret_cast<std::uintptr_t>(function));
    call(rax);
    reload();
    mov(position_, ptr[machine_ + kPosition]);
    // The window in which the position now is.
    mov(rcx, position_);
    sub(rcx, ptr[machine_ + kBegin]);
    mov(rdx, rcx);
    and_(rdx, -static_cast<int>(kWindowBytes));
    mov(window_, ptr[machine_ + kBegin]);
    add(window_, rdx);
    shr(rdx, 3);
    add(rdx, STOPBIT_FIELD(stops));
    mov(stops_, -1);
    shlx(stops_, stops_, rcx);
    and_(stops_, ptr[rdx]);
    mov(rcx, STOPBIT_FIELD(map));
    mov(map_, ptr[rcx + kMapBits]);
    mov(block_, STOPBIT_RECORD(bases[0]));
    test(result, result);
    jz(failed_);
    add(rsp, 8);
    ret();
  }

  /// Goes to the next window with a stop bit and counts the bytes before it in rcx. Carry: there is none.
  void emit_refill() {
    align(16);
    L(refill_);
    mov(rdx, window_);
    Label again, none;
    L(again);
    add(rdx, kWindowBytes);
    cmp(rdx, ptr[machine_ + kEnd]);
    jae(none);
    mov(rcx, rdx);
    sub(rcx, ptr[machine_ + kBegin]);
    shr(rcx, 3);
    add(rcx, STOPBIT_FIELD(stops));
    mov(stops_, ptr[rcx]);
    test(stops_, stops_);
    jz(again);
    mov(window_, rdx);
    tzcnt(rcx, stops_);  // clears carry
    ret();
    L(none);
    stc();
    ret();
  }

  // ---- Instructions.

  struct Place {
    std::uint32_t address = 0;
    const Step* step = nullptr;
    [[nodiscard]] const Step* operator->() const { return step; }
  };
  [[nodiscard]] Place place(std::size_t address) const {
    return {static_cast<std::uint32_t>(address), &steps_[address]};
  }

  std::vector<const void*> emit_steps(std::span<const Step> steps, std::size_t first) {
    steps_ = steps;
    labels_ = std::vector<Label>(steps.size() + 1);
    find_wide_maps();
    const bool is_message = first == 0;
    for (std::size_t i = first; i < steps.size(); ++i) {
      if (is_message) emit_entry(i);
      i = emit_step(i);
    }
    const std::size_t before = getSize();
    // A rare path may have rarer ones.
    for (std::size_t i = 0; i < rare_.size(); ++i) {
      const std::function<void()> path = std::move(rare_[i]);
      path();
    }
    rare_.clear();
    rare_bytes_ += getSize() - before;
    std::vector<const void*> places(steps.size(), nullptr);
    for (std::size_t i = first; i < steps.size(); ++i) places[i] = labels_[i].getAddress();
    return places;
  }

  // ---- Templates by identifier: a table of addresses, whose place is known before its content.

  void make_dispatch(Code& code) {
    std::size_t ids = 0;
    for (const DispatchEntry& entry : program_.dispatch) {
      if (entry.table == 0 && entry.id < kDirectIds) ids = std::max<std::size_t>(ids, entry.id + 1);
    }
    code.dispatch.resize(ids);
    dispatch_ = code.dispatch;
  }

  void dispatch(Place in) {
    cmp(eax, static_cast<std::uint32_t>(dispatch_.size()));
    jae(dispatch_elsewhere_);
    mov(rcx, reinterpret_cast<std::uintptr_t>(dispatch_.data()));
    jmp(ptr[rcx + rax * 8]);
    rare([this, in] {
      L(dispatch_elsewhere_);
      steer_elsewhere(in);
    });
  }

  /// Where a template begins when a message names it: opens its root block, which has a static place.
  void emit_entry(std::size_t address) {
    for (const DispatchEntry& entry : program_.dispatch) {
      if (entry.table != 0 || entry.entry != address || entry.id >= dispatch_.size()) continue;
      const Template& chosen = program_.templates[entry.template_index];
      const Block& root = program_.blocks[chosen.root_block];
      const std::size_t slots = record::block_slots(record::kHeaderWords, root.words);
      if (slots > program_.max_record_slots) continue;
      Label& label = new_label();
      dispatched_.emplace_back(entry.id, &label);
      L(label);
      prefetch_code(address);
      if (chosen.reset && options_.reset != ResetRule::Never) reset_dictionary();
      mov(ecx, entry.template_index);
      mov(STOPBIT_FIELD_WORD(message_template), cx);
      mov(STOPBIT_FIELD_WORD(current_template), cx);
      mov(ecx, chosen.root_block);
      mov(STOPBIT_FIELD_WORD(block), cx);
      mov(STOPBIT_RECORD_QWORD(next_slot), static_cast<int>(slots));
      mov(block_, STOPBIT_RECORD(slots));
      mov(STOPBIT_RECORD(bases[0]), block_);
      mov(rcx, STOPBIT_RECORD(phase));
      vpxor(xmm0, xmm0, xmm0);
      clear_slot(record_, static_cast<int>(offsetof(BuilderState, first)));
      if (slots > 1) mov(rsi, record::tag_word_base(false, 1));
      for (std::size_t i = 1; i < slots; ++i) {
        if (i % 128 == 0) {
          mov(rcx, STOPBIT_RECORD(phase));
        } else {
          add(rcx, rsi);
        }
        clear_slot(block_, static_cast<int>(i * record::kSlotBytes));
      }
      const auto segment = static_cast<std::uint16_t>(ProfileEntry::kBody | entry.template_index);
      if (!has_wide_map_[0]) {
        for (const ProfileEntry& program : programs_of(segment)) enter_profile(program);
      }
      // Several names for one template would need a way over each other's entry.
      jmp(labels_[address]);
    }
  }

  /// Asks for the template's code before it is needed: on a live feed other work has pushed it out of the nearest
  /// caches since the last message. One line after the other would be waited for.
  void prefetch_code(std::size_t address) {
    std::size_t end = address;
    do {
      ++end;
    } while (end < steps_.size() && steps_[end - 1].control != ControlOp::End);
    const std::size_t lines = std::min(kPrefetchedLines, (end - address) * kTypicalBytes / kLineBytes);
    for (std::size_t i = 0; i < lines; ++i) prefetcht1(ptr[rip + labels_[address] + static_cast<int>(i * kLineBytes)]);
  }

  /// All but the template identifier, which is in eax.
  void reset_dictionary() {
    constexpr std::uint32_t kOneGeneration = 1U << state::Dictionary::kGenerationShift;
    mov(rcx, STOPBIT_FIELD(dictionary));
    inc(qword[rcx + static_cast<int>(state::Dictionary::generation_offset())]);
    add(mark_, kOneGeneration);
    mov(STOPBIT_FIELD(assigned_mark), mark_);
    mov(rcx, STOPBIT_FIELD(waits_for_reset));
    mov(byte[rcx], 0);
    assign(isa::kTemplateIdSlot, state::EntryType::U32);
  }

  /// Nothing in the slot but the tag word in rcx.
  void clear_slot(const Reg& base, int at) {
    vmovdqu(ptr[base + at], ymm0);
    vmovdqu(ptr[base + at + 32], ymm0);
    mov(ptr[base + at + static_cast<int>(record::kTagWord * 8)], rcx);
  }

  /// Code of templates whose presence maps may be longer than what native code holds takes its bits elsewhere.
  void find_wide_maps() {
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

  /// Gives the address of the last instruction it wrote: a decimal is two.
  std::size_t emit_step(std::size_t address) {
    const Place in = place(address);
    L(labels_[address]);
    switch (in->control) {
      case ControlOp::Block: open_block(in); break;
      case ControlOp::Seq:
      case ControlOp::Disp:
      case ControlOp::Call: mov(STOPBIT_FIELD(entity), position_); break;
      default: break;
    }
    Place last = in;
    if (isa::is_exponent(isa::type_of(in->op)) && !isa::is_special(in->op)) {
      last = decimal(in);
    } else {
      data_op(in);
    }
    control(last);
    return last.address;
  }

  void rare(std::function<void()> path) {
    rare_.push_back(std::move(path));
  }

  /// The interpreter runs the data-op, then the code goes on at `done`.
  void take_elsewhere(Place in) {
    mov(esi, in.address);
    call(take_);
    if (in->control == ControlOp::Seq) {
      xor_(ecx, ecx);
      mov(eax, STOPBIT_FIELD_DWORD(sequence_length));
      cmp(STOPBIT_FIELD_BYTE(present), 0);
      cmovz(eax, ecx);
    }
  }

  void steer_elsewhere(Place in) {
    mov(esi, in.address);
    call(steer_);
    jmp(rax);
  }

  /// The bit an instruction has taken, so that it can be put back.
  enum class Bit : std::uint8_t { None, Clear, Set };

  /// A label behind which the interpreter repeats the instruction from its beginning.
  Label& elsewhere(Place in, Label& done, Bit bit, std::optional<Decimal> decimal = {}) {
    Label& label = new_label();
    if (in->known != KnownBit::No) bit = Bit::None;
    rare([this, in, &done, &label, bit, decimal] {
      L(label);
      put_back(bit);
      if (decimal) mov(STOPBIT_FIELD_BYTE(decimal), static_cast<int>(*decimal));
      take_elsewhere(in);
      jmp(done);
    });
    return label;
  }

  void put_back(Bit bit) {
    if (bit == Bit::None) return;
    if (bit == Bit::Set) {
      stc();
    } else {
      clc();
    }
    rcr(map_, 1);
  }

  Label& new_label() {
    owned_.push_back(std::make_unique<Label>());
    return *owned_.back();
  }

  void data_op(Place in) {
    switch (in->op) {
      case DataOp::Nop: return;
      case DataOp::Pmap: return push_map(in);
      case DataOp::Tid: return template_id(in);
      default: break;
    }
    Label& done = new_label();
    const Type type = isa::type_of(in->op);
    const bool is_plain_integer = type <= Type::S64 && isa::operator_of(in->op) <= Operator::Del;
    const bool has_bit_elsewhere = takes_bit(in) && has_wide_map_[in.address];
    if (is_plain_integer && !has_bit_elsewhere) {
      integer(in, done, done);
    } else if (type == Type::Ascii && !has_bit_elsewhere) {
      ascii(in, done);
    } else {
      take_elsewhere(in);
    }
    L(done);
  }

  static bool takes_bit(Place in) {
    return isa::info(in->op)->bit != isa::BitUse::None && in->known == KnownBit::No;
  }

  /// Takes the instruction's bit: what follows runs if it is set, `path` if it is clear. False: it is known to be
  /// clear, and `path` is all there is.
  bool take_bit(Place in, std::function<void()> path) {
    if (in->known == KnownBit::Set) return true;
    if (in->known == KnownBit::Clear) {
      path();
      return false;
    }
    Label& clear = new_label();
    add(map_, map_);
    jnc(clear);
    rare([this, &clear, path = std::move(path)] {
      L(clear);
      path();
    });
    return true;
  }

  // ---- Entities.

  /// Finds the end of the entity at the position: rdx is the place behind it, ecx its length, less than 0.
  void find_end(Label& otherwise) {
    find_stop(otherwise);
    if (options_.strict) {
      // Overlong entities have their own rules.
      cmp(byte[position_], 0x00);
      je(otherwise);
      cmp(byte[position_], 0x7F);
      je(otherwise);
    }
  }

  void find_stop(Label& otherwise) {
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

  /// The number in the entity that find_end has found, of up to four bytes (eight, if it is wide), in rax. Shifts take
  /// their count modulo the width of the register.
  void extract(bool is_signed, bool is_wide) {
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

  /// The same for nine bytes: 63 bits.
  void extract_nine(bool is_signed) {
    movbe(rax, ptr[position_ + 1]);
    pext(rax, rax, data_bits_);
    movzx(ecx, byte[position_]);
    shl(rcx, is_signed ? 57 : 56);
    if (is_signed) sar(rcx, 1);
    or_(rax, rcx);
  }

  /// NULL is 0, and what is above it counts one less.
  void take_null_away(bool is_signed, bool is_wide, Label& null) {
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

  /// An integer from the stream in rax; the position is behind it. `null`: there, but NULL (position behind it too).
  void read_integer(Type type, bool is_optional, Label& null, Label& otherwise) {
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

  // ---- The dictionary and the record.

  [[nodiscard]] Xbyak::Address entry_mark(std::uint16_t slot) const {
    return qword[entries_ + static_cast<int>(slot * sizeof(Entry) + offsetof(Entry, mark))];
  }
  [[nodiscard]] Xbyak::Address entry_value(std::uint16_t slot) const {
    return qword[entries_ + static_cast<int>(slot * sizeof(Entry) + offsetof(Entry, value))];
  }
  [[nodiscard]] Xbyak::Address entry_string_length(std::uint16_t slot) const {
    return dword[entries_ + static_cast<int>(slot * sizeof(Entry) + offsetof(Entry, string_length))];
  }
  [[nodiscard]] Xbyak::Address entry_string_offset(std::uint16_t slot) const {
    return dword[entries_ + static_cast<int>(slot * sizeof(Entry) + offsetof(Entry, string_offset))];
  }

  /// Into rcx, or a register that holds it already.
  Reg mark_of(state::EntryType type) {
    if (static_cast<int>(type) == 0) return mark_;
    lea(rcx, ptr[mark_ + static_cast<int>(type)]);
    return rcx;
  }
  void set_mark(std::uint16_t slot, state::EntryType type) {
    mov(entry_mark(slot), mark_of(type));
  }
  void set_empty(std::uint16_t slot) {
    lea(rcx, ptr[mark_ - static_cast<int>(state::Dictionary::kAssigned)]);
    mov(entry_mark(slot), rcx);
  }
  void assign(std::uint16_t slot, state::EntryType type) {
    mov(entry_value(slot), rax);
    set_mark(slot, type);
  }

  /// rax into the instruction's word.
  void store(Place in) {
    if (in->place.tag == 0) return;  // records do not hold it
    const Reg base = in->place.in_first_slot ? record_ : block_;
    mov(ptr[base + in->place.value_offset], rax);
    mov(byte[base + in->place.tag_offset], in->place.tag);
  }

  void count_field() {
    inc(fields_.cvt32());
  }

  /// Goes to `outside` if rax does not keep the limit of the instruction's constant.
  void check_limit(Place in, Label& outside) {
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

  /// The same for a value that is known now.
  [[nodiscard]] bool keeps_limit(Place in, std::uint64_t value) const {
    const Constant& constant = *in->constant;
    if (isa::is_exponent(isa::type_of(in->op))) return engine::is_exponent_in_range(value);
    return engine::limit_error<Type::U64>(constant, value, ErrorCode::D2) == ErrorCode::None;
  }

  static bool has_initial(Place in) {
    return in->constant->kind != ValueKind::None;
  }
  static bool is_limited(Place in) {
    return isa::is_exponent(isa::type_of(in->op)) || in->constant->limit_kind != LimitKind::None;
  }

  // ---- Integers.

  struct Field {
    Place in;
    Operator op;
    Type type;
    bool is_optional;
    state::EntryType entry;
    Label* done;                     ///< Behind the field.
    Label* absent;                   ///< Behind it, too, if it has no value.
    std::optional<Decimal> decimal;  ///< What the interpreter must know to run the instruction.
  };

  /// Behind the field, if it is not there. rax is 0 on the way.
  void integer(Place in, Label& done, Label& absent, std::optional<Decimal> decimal = {}) {
    const Type type = isa::type_of(in->op);
    Field field{
        in, isa::operator_of(in->op), type, isa::is_optional(in->op), state::entry_type(type), &done, &absent, decimal};
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

  Label& elsewhere(const Field& field, Bit bit) {
    return elsewhere(field.in, *field.done, bit, field.decimal);
  }

  void keep(const Field& field) {
    if (remembers(field.op)) assign(field.in->slot, field.entry);
    put(field);
  }
  void put(const Field& field) {
    store(field.in);
    if (!isa::is_mantissa(field.type)) count_field();
  }

  void plain(const Field& field) {
    Label& otherwise = elsewhere(field, Bit::None);
    const bool is_checked = is_limited(field.in);
    if (is_checked) keep_place();
    read_integer(field.type, field.is_optional, *field.absent, otherwise);
    if (is_checked) check_limit(field.in, go_back(otherwise));
    keep(field);
  }

  void constant(const Field& field) {
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

  /// The stream's value if the bit is set; else the dictionary's, or the initial one.
  void with_bit(const Field& field) {
    const KnownBit known = field.in->known;
    if (!remembers(field.op) && known != KnownBit::Set) return with_default(field);
    // Both ways are common.
    Label& have = new_label();
    Label& clear = new_label();
    if (known == KnownBit::No) go_if_clear(clear);
    if (known != KnownBit::Clear) sent(field);
    if (known == KnownBit::No) {
      jmp(have);
      L(clear);
    }
    if (known != KnownBit::Set) not_sent(field, have);
    L(have);
    put(field);
  }

  void with_default(const Field& field) {
    const std::uint64_t initial = field.in->constant->value;
    const bool is_clear = field.in->known == KnownBit::Clear;
    Label& have = new_label();
    if (!has_initial(field.in) && field.is_optional) {
      if (!unless_clear(field)) return;
    } else if (has_initial(field.in) && keeps_limit(field.in, initial)) {
      mov(rax, initial);
      if (!is_clear) go_if_clear(have);
    } else {
      Label& otherwise = elsewhere(field, Bit::Clear);
      if (is_clear) return jmp(otherwise);
      go_if_clear(otherwise);
    }
    if (!is_clear) sent(field);
    L(have);
    put(field);
  }

  /// Takes the next bit of the map.
  void go_if_clear(Label& clear) {
    add(map_, map_);
    jnc(clear);
  }

  /// Takes the bit of a field that is absent if it is clear. False: it is known to be clear, so nothing follows.
  bool unless_clear(const Field& field) {
    if (field.in->known == KnownBit::Set) return true;
    xor_(eax, eax);
    if (field.in->known == KnownBit::No) {
      go_if_clear(*field.absent);
      return true;
    }
    if (field.absent != field.done) jmp(*field.absent);
    return false;
  }

  void sent(const Field& field) {
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

  /// The field was not sent; goes on behind this code if its previous value is there.
  void not_sent(const Field& field, Label& have) {
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

  void take_initial(const Field& field, Label& have, Label& otherwise) {
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

  void increment(const Field& field, Label& otherwise) {
    if (field.in->constant->limit_kind != LimitKind::None) {
      jmp(otherwise);  // limits have their own way round
    } else if (!is_narrow(field.type)) {
      inc(rax);
    } else if (is_signed(field.type)) {
      inc(eax);
      movsxd(rax, eax);
    } else {
      inc(eax);
    }
  }

  /// The previous value of a delta, or its initial one, in rdx.
  void delta_base(const Field& field, Label& otherwise) {
    Label& other = new_label();
    Label& have = new_label();
    const std::uint16_t slot = field.in->slot;
    const Reg mark = mark_of(field.entry);
    cmp(entry_mark(slot), mark);
    jne(other);
    mov(rdx, entry_value(slot));
    L(have);
    rare([this, field, slot, &other, &have, &otherwise] {
      L(other);
      mov(rcx, entry_mark(slot));
      xor_(rcx, mark_);
      shr(rcx, static_cast<int>(state::Dictionary::kGenerationShift));
      jz(otherwise);
      mov(rdx, field.in->constant->value);
      jmp(have);
    });
  }

  /// rax + rdx in rax; out of the type's range: `otherwise`.
  void add_delta(Type type, Label& otherwise) {
    if (is_narrow(type)) {
      add(rax, rdx);  // 56 bits and 32 bits
      if (is_signed(type)) {
        movsxd(rcx, eax);
      } else {
        mov(ecx, eax);
      }
      cmp(rcx, rax);
      jne(otherwise);
    } else if (is_signed(type)) {
      add(rax, rdx);
      jo(otherwise);
    } else {
      mov(rcx, rax);
      shr(rcx, 63);
      add(rax, rdx);
      setc(dl);
      cmp(cl, dl);
      jne(otherwise);
    }
  }

  void delta(const Field& field) {
    Label& otherwise = elsewhere(field, Bit::None);
    keep_place();
    Label& back = go_back(otherwise);
    read_integer(Type::S64, field.is_optional, *field.absent, otherwise);
    delta_base(field, back);
    add_delta(field.type, back);
    if (is_limited(field.in)) check_limit(field.in, back);
    keep(field);
  }

  // The position has moved when a value turns out to be one for the interpreter: it is kept beside the value.
  void keep_place() {
    mov(rsi, position_);
  }
  Label& go_back(Label& otherwise) {
    Label& label = new_label();
    rare([this, &label, &otherwise] {
      L(label);
      mov(position_, rsi);
      jmp(otherwise);
    });
    return label;
  }

  // ---- Decimals.

  /// Both halves; gives the second.
  Place decimal(Place exponent) {
    const Place mantissa = place(exponent.address + 1);
    Label& done = new_label();
    const bool is_odd = exponent->control > ControlOp::Block || mantissa->control == ControlOp::Block;
    if (is_odd || has_wide_map_[exponent.address]) {
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

  void two_operators(Place exponent, Place mantissa, Label& done) {
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

  /// The common way goes on at `next`; who comes to `entry` takes a rare path.
  void jmp_over(Label& next, Label& entry, const std::function<void()>& path) {
    rare([this, &entry, path] {
      L(entry);
      path();
    });
    L(next);
  }

  void one_operator(Place exponent, Place mantissa, Label& done) {
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

  void sent_mantissa(const Field& value) {
    Label& otherwise = elsewhere(value, Bit::None);
    read_integer(Type::Dman, false, *value.done, otherwise);
    keep(value);
  }

  void decimal_not_sent(const Field& field, const Field& value, Label& done) {
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

  // ---- Strings.

  void ascii(Place in, Label& done) {
    const Operator op = isa::operator_of(in->op);
    if (options_.limits.string_bytes < kMaxInlineText) return take_elsewhere(in);
    if (op == Operator::Non) {
      Label& otherwise = elsewhere(in, done, Bit::None);
      const bool may_be_longer = options_.limits.string_bytes >= wire::kIndexBlock;
      read_text(in, done, may_be_longer ? longer_text(in, done) : otherwise, otherwise);
      store(in);
      count_field();
    } else if (op == Operator::Con && short_constant(in)) {
      if (in->known == KnownBit::Clear) return;
      if (in->known == KnownBit::No) go_if_clear(done);
      mov(rax, *short_constant(in));
      store(in);
      count_field();
    } else if (op == Operator::Def && (!has_initial(in) || short_constant(in))) {
      text_with_default(in, done);
    } else if (op == Operator::Cop && program_.slots[in->slot].string_capacity >= kMaxInlineText) {
      copied_text(in, done);
    } else {
      take_elsewhere(in);
    }
  }

  /// A string without operator that is longer than a word.
  Label& longer_text(Place in, Label& done) {
    Label& label = new_label();
    rare([this, in, &label, &done] {
      L(label);
      mov(esi, in.address);
      call(take_text_);
      jmp(done);
    });
    return label;
  }

  void text_with_default(Place in, Label& done) {
    Label& have = new_label();
    const bool is_clear = in->known == KnownBit::Clear;
    if (is_clear && !has_initial(in)) return;
    if (has_initial(in) && in->known != KnownBit::Set) mov(rax, *short_constant(in));
    if (in->known == KnownBit::No) go_if_clear(has_initial(in) ? have : done);
    if (!is_clear) {
      Label& otherwise = elsewhere(in, done, Bit::Set);
      read_text(in, done, otherwise, otherwise);
    }
    L(have);
    store(in);
    count_field();
  }

  /// The word of a constant string that has no slot of its own. Characters that no stream can send are left to the
  /// interpreter.
  [[nodiscard]] std::optional<std::uint64_t> short_constant(Place in) const {
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

  /// A string of up to eight bytes from the stream: its word in rax, its length in rcx, the position behind it.
  void read_text(Place in, Label& null, Label& longer, Label& otherwise) {
    find_stop(otherwise);
    cmp(ecx, -static_cast<int>(kMaxInlineText));
    jl(longer);
    mov(rax, ptr[position_]);
    Label& zero = new_label();
    test(al, 0x7F);
    jz(zero);
    const bool is_optional = isa::is_optional(in->op);
    rare([this, is_optional, &zero, &null, &otherwise] {
      L(zero);
      if (is_optional) {
        cmp(al, kNullText);
        jne(otherwise);
        mov(position_, rdx);
        jmp(null);
      } else {
        jmp(otherwise);
      }
    });
    mov(position_, rdx);
    neg(ecx);
    lea(edx, ptr[rcx * 8]);
    bzhi(rax, rax, rdx);
    and_(rax, data_bits_);
    lea(rdx, ptr[rip + texts_]);
    or_(rax, ptr[rdx + rcx * 8]);
  }

  void copied_text(Place in, Label& done) {
    const std::uint16_t slot = in->slot;
    const bool is_optional = isa::is_optional(in->op);
    Label& have = new_label();
    Label& null = is_optional ? new_label() : done;
    Label& clear = new_label();
    if (in->known == KnownBit::No) go_if_clear(clear);
    if (in->known != KnownBit::Clear) {
      Label& otherwise = elsewhere(in, done, Bit::Set);
      read_text(in, null, otherwise, otherwise);
      assign_text(slot);
    }
    if (in->known == KnownBit::No) {
      jmp(have);
      L(clear);
    }
    if (in->known != KnownBit::Set) text_not_sent(in, null, have, done);
    L(have);
    store(in);
    count_field();
    if (is_optional) {
      rare([this, slot, &null, &done] {
        L(null);
        set_empty(slot);
        jmp(done);
      });
    }
  }

  void text_not_sent(Place in, Label& null, Label& have, Label& done) {
    const std::uint16_t slot = in->slot;
    Label& other = new_label();
    Label& otherwise = elsewhere(in, done, Bit::Clear);
    const Reg mark = mark_of(state::EntryType::Ascii);
    cmp(entry_mark(slot), mark);
    jne(other);
    mov(ecx, entry_string_length(slot));
    cmp(ecx, static_cast<int>(kMaxInlineText));
    ja(otherwise);
    mov(edx, entry_string_offset(slot));
    add(rdx, STOPBIT_FIELD(strings));
    mov(rax, ptr[rdx]);
    lea(edx, ptr[rcx * 8]);
    bzhi(rax, rax, rdx);
    mov(rdx, ~kDataBits);
    test(rax, rdx);
    jnz(otherwise);
    lea(rdx, ptr[rip + texts_]);
    or_(rax, ptr[rdx + rcx * 8]);

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

  /// The string whose word is in rax and whose length in ecx becomes the previous value.
  void assign_text(std::uint16_t slot) {
    mov(edx, entry_string_offset(slot));
    add(rdx, STOPBIT_FIELD(strings));
    mov(entry_string_length(slot), ecx);
    mov(rsi, rax);
    and_(rsi, data_bits_);
    mov(ptr[rdx], rsi);
    set_mark(slot, state::EntryType::Ascii);
  }

  // ---- Presence maps, templates.

  void push_map(Place in) {
    if (options_.strict || in->slot > kMaxExposedBits) return take_elsewhere(in);
    Label& done = new_label();
    Label& otherwise = elsewhere(in, done, Bit::None);
    find_end(otherwise);
    cmp(ecx, -8);
    jl(otherwise);
    mov(rsi, STOPBIT_FIELD(map));
    lea(rax, ptr[machine_ +
                 static_cast<int>(offsetof(Machine, maps) + limits::kMaxPresenceMapDepth * sizeof(wire::PresenceMap))]);
    cmp(rsi, rax);
    jae(otherwise);
    // The bits to the top, and nothing below them.
    movbe(rax, ptr[position_]);
    pext(rax, rax, data_bits_);
    shl(rax, 8);
    imul(ecx, ecx, 7);
    shrx(rax, rax, rcx);
    shlx(rax, rax, rcx);
    mov(position_, rdx);
    const std::vector<ProfileEntry> programs = programs_of(program_.code[in.address].constant);
    for (const ProfileEntry& entry : programs) {
      if (needs_map(entry)) continue;
      mov(rcx, entry.presence_bits);
      cmp(rax, rcx);
      je(labels_[entry.entry]);
    }
    mov(ptr[rsi + kMapBits], map_);
    add(rsi, static_cast<int>(sizeof(wire::PresenceMap)));
    mov(STOPBIT_FIELD(map), rsi);
    mov(dword[rsi + kMapLeft], kMaxExposedBits + 1);
    mov(map_, rax);
    for (const ProfileEntry& entry : programs) {
      if (needs_map(entry)) enter_profile(entry);
    }
    L(done);
  }

  /// The programs of a segment, those of the most frequent maps first: they stand so in the code.
  [[nodiscard]] std::vector<ProfileEntry> programs_of(std::uint16_t segment) const {
    const auto [first, last] =
        std::equal_range(program_.profiles.begin(), program_.profiles.end(), ProfileEntry{.segment = segment},
                         [](const ProfileEntry& x, const ProfileEntry& y) { return x.segment < y.segment; });
    std::vector<ProfileEntry> programs(first, last);
    std::sort(programs.begin(), programs.end(),
              [](const ProfileEntry& x, const ProfileEntry& y) { return x.entry < y.entry; });
    return programs;
  }

  /// Whether the general program goes on with the map. Programs of whole elements run without pushing theirs.
  [[nodiscard]] bool needs_map(const ProfileEntry& entry) const {
    std::size_t at = entry.entry;
    while (steps_[at].control <= ControlOp::Block || steps_[at].control == ControlOp::Skip) ++at;
    return steps_[at].control != ControlOp::Lend;
  }

  /// Goes on in the program if the map is its own. Comparisons, one behind the other, are predicted better than a jump
  /// through a table.
  void enter_profile(const ProfileEntry& entry) {
    Label next;
    mov(rcx, entry.presence_bits);
    cmp(map_, rcx);
    jne(next);
    shl(map_, entry.taken);
    jmp(labels_[entry.entry]);
    L(next);
  }

  void pop_map() {
    mov(rcx, STOPBIT_FIELD(map));
    sub(rcx, static_cast<int>(sizeof(wire::PresenceMap)));
    mov(STOPBIT_FIELD(map), rcx);
    mov(map_, ptr[rcx + kMapBits]);
  }

  void template_id(Place in) {
    Label& done = new_label();
    Label& clear = new_label();
    Label& taken = new_label();
    if (has_wide_map_[in.address]) {
      take_elsewhere(in);
      mov(eax, STOPBIT_FIELD_DWORD(template_id));
      return;
    }
    add(map_, map_);
    jnc(clear);
    Label& otherwise = elsewhere(in, taken, Bit::Set);
    read_integer(Type::U32, false, done, otherwise);
    assign(in->slot, state::EntryType::U32);
    mov(STOPBIT_FIELD_DWORD(template_id), eax);
    L(done);
    rare([this, in, &clear, &taken, &done] {
      L(clear);
      put_back(Bit::Clear);
      take_elsewhere(in);
      L(taken);
      mov(eax, STOPBIT_FIELD_DWORD(template_id));
      jmp(done);
    });
  }

  // ---- Blocks, control.

  void open_block(Place in) {
    const Block& block = program_.blocks[in->target];
    const auto slots = static_cast<int>(record::block_slots(0, block.words));
    Label& otherwise = new_label();
    Label& done = new_label();
    mov(rax, STOPBIT_RECORD(next_slot));
    lea(rcx, ptr[rax + slots]);
    cmp(rcx, STOPBIT_RECORD(max_slots));
    ja(otherwise);
    mov(STOPBIT_RECORD(next_slot), rcx);
    mov(block_, rax);
    shl(block_, 6);
    add(block_, STOPBIT_RECORD(slots));
    mov(STOPBIT_RECORD(bases[0]), block_);
    mov(STOPBIT_FIELD_WORD(block), in->target);
    if (slots > 0) clear_slots(slots);
    L(done);
    rare([this, in, &otherwise, &done] {
      L(otherwise);
      mov(esi, in.address);
      call(open_block_);
      jmp(done);
    });
  }

  /// Empties the block's slots, of which the first has the number in rax.
  void clear_slots(int slots) {
    vpxor(xmm0, xmm0, xmm0);
    shl(rax, 57);  // numbers count modulo 128: the bits above are gone
    if (slots > 1) mov(rsi, std::uint64_t{1} << 57);
    for (int i = 0; i < slots; ++i) {
      const int at = i * static_cast<int>(record::kSlotBytes);
      mov(rcx, rax);
      shr(rcx, 1);
      or_(rcx, STOPBIT_RECORD(phase));
      clear_slot(block_, at);
      if (i + 1 < slots) add(rax, rsi);
    }
  }

  void control(Place in) {
    switch (in->control) {
      case ControlOp::Next:
      case ControlOp::Block: return;
      case ControlOp::Seq: return begin_loop(in);
      case ControlOp::Lend: return end_element(in);
      case ControlOp::Skip: return skip(in);
      case ControlOp::Pop:
        if (options_.strict) return steer_elsewhere(in);
        return pop_map();
      case ControlOp::Disp: return dispatch(in);
      case ControlOp::Call: return steer_elsewhere(in);
      case ControlOp::End: return end(in);
      case ControlOp::Join: return jmp(labels_[in->target]);
    }
  }

  void skip(Place in) {
    if (in->known == KnownBit::No) {
      if (has_wide_map_[in.address]) return steer_elsewhere(in);
      add(map_, map_);
      jnc(labels_[in->target]);
    }
    if (in->op == DataOp::Nop && in->word != isa::kNoWord) {
      mov(eax, 1);
      store(in);
    }
  }

  /// The number of elements is in eax.
  void begin_loop(Place in) {
    const Block& element = program_.blocks[steps_[in.address + 1].target];
    Label& otherwise = new_label();
    test(eax, eax);
    jz(labels_[in->target]);
    mov(rdx, ptr[machine_ + kEnd]);
    sub(rdx, position_);
    if (element.min_bytes > 1) {
      imul(rcx, rax, element.min_bytes);
      cmp(rcx, rdx);
    } else {
      cmp(rax, rdx);
    }
    ja(otherwise);
    cmp(rax, STOPBIT_FIELD(elements_left));
    ja(otherwise);
    cmp(eax, STOPBIT_FIELD_DWORD(message_elements_left));
    ja(otherwise);
    if (element.min_bytes == 0) {
      cmp(eax, options_.limits.empty_elements);
      ja(otherwise);
    }
    movzx(ecx, STOPBIT_FIELD_BYTE(loop_depth));
    cmp(ecx, nesting_);
    jae(otherwise);
    sub(STOPBIT_FIELD_QWORD(elements_left), rax);
    sub(STOPBIT_FIELD_DWORD(message_elements_left), eax);
    inc(STOPBIT_FIELD_BYTE(loop_depth));
    static_assert(sizeof(engine::Loop) == 16);
    shl(ecx, 4);
    mov(dword[machine_ + rcx + kLoops], eax);
    mov(rdx, STOPBIT_FIELD(map));
    mov(ptr[machine_ + rcx + kLoops + kLoopMap], rdx);
    rare([this, in, &otherwise] {
      L(otherwise);
      mov(STOPBIT_FIELD_DWORD(sequence_length), eax);
      mov(STOPBIT_FIELD_BYTE(present), 1);
      steer_elsewhere(in);
    });
  }

  void end_element(Place in) {
    if (options_.strict) return steer_elsewhere(in);
    const bool has_map = steps_[in->target].op == DataOp::Pmap && in.address < general_size(program_);
    movzx(ecx, STOPBIT_FIELD_BYTE(loop_depth));
    shl(ecx, 4);
    if (has_map) {
      mov(rdx, ptr[machine_ + rcx + kLoops + kLoopMap - 16]);
      mov(STOPBIT_FIELD(map), rdx);
      mov(map_, ptr[rdx + kMapBits]);
    }
    dec(dword[machine_ + rcx + kLoops - 16]);
    jnz(labels_[in->target]);
    dec(STOPBIT_FIELD_BYTE(loop_depth));
  }

  void end(Place in) {
    if (!options_.strict) {
      cmp(STOPBIT_FIELD_BYTE(call_depth), 0);
      je(complete_);
    }
    steer_elsewhere(in);
  }

  static constexpr int kLoops = static_cast<int>(offsetof(Machine, loops));
  static constexpr int kLoopMap = static_cast<int>(offsetof(engine::Loop, map));

  const Program& program_;
  const EngineOptions& options_;
  const Hooks& hooks_;
  const int nesting_;

  std::span<const void*> dispatch_;
  std::vector<std::pair<std::uint32_t, Label*>> dispatched_;
  Label dispatch_elsewhere_;

  Label texts_, failed_, complete_, exit_, open_block_, take_, take_text_, steer_, refill_;
  std::span<const Step> steps_;
  std::vector<Label> labels_;
  std::vector<bool> has_wide_map_;
  std::vector<std::unique_ptr<Label>> owned_;
  std::vector<std::function<void()>> rare_;
  std::size_t rare_bytes_ = 0;
};

}  // namespace

Code emit(const Program& program, const EngineOptions& options, const Steps& steps, const Hooks& hooks,
          const CodeMemory& memory) {
  return Emitter(program, options, hooks, memory).emit(steps);
}

std::size_t room_for(const Program& program) noexcept {
  return kFixedBytes + 2 * program.code.size() * kBytesPerInstruction;
}

}  // namespace stopbit::jit
