#pragma once

#include <xbyak/xbyak.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "decoder/engine/machine.hpp"
#include "decoder/engine/steps.hpp"
#include "decoder/jit/emitter.hpp"
#include "decoder/jit/parts.hpp"
#include "decoder/record/builder.hpp"
#include "decoder/state/dictionary.hpp"
#include "decoder/wire/presence_map.hpp"
#include "microcode/program.hpp"

/// The implementation of jit::emit, one file for each kind of code it writes. Only this folder includes xbyak.
namespace stopbit::jit {

inline constexpr std::size_t kFirstTemplate = 2;  ///< Address: after the message's map and its template identifier.
inline constexpr unsigned kMapWordBits = 63;      ///< Of a presence map in a register.
inline constexpr int kMapByteBits = 7;            ///< Of a presence map of one byte.
inline constexpr std::size_t kMaxInlineText = 8;
inline constexpr int kNullText = 0x80;  ///< The one byte of an absent string.
inline constexpr unsigned kWindowBytes = 56;
inline constexpr int kNoStop = 64;  ///< The place of a stop bit that the window does not have.
using engine::ByLength;
inline constexpr std::uint64_t kDataBits = ByLength::kDataBits;

/// The word of a string of up to eight bytes, without its characters.
constexpr std::uint64_t text_word(std::size_t length) {
  return (length == kMaxInlineText ? std::uint64_t{0x80} : std::uint64_t{length}) << 56;
}

/// Writes the code of a program, one instruction after the other; what is rare goes to the end.
class Emitter : private Xbyak::CodeGenerator {
 public:
  Emitter(const Program& program, const EngineOptions& options, const Hooks& hooks, const CodeMemory& memory);
  Code emit(const Steps& steps);

 private:
  using Reg = Xbyak::Reg64;
  using Label = Xbyak::Label;
  using Type = isa::Type;
  using Operator = isa::Operator;
  using DataOp = isa::DataOp;
  using ControlOp = isa::ControlOp;
  using KnownBit = isa::KnownBit;
  using Step = engine::Step;
  using Machine = engine::Machine;
  using Decimal = engine::Decimal;
  using BuilderState = record::BuilderState;
  using Entry = state::Dictionary::Entry;
  static_assert(std::is_standard_layout_v<Machine> && std::is_standard_layout_v<BuilderState> &&
                std::is_standard_layout_v<Entry>);

  // ---- Registers. The first row survives calls.
  const Reg machine_ = rbx, map_ = rbp, last_ = r12, stops_ = r13, window_ = r14, block_ = r15;
  const Reg record_ = r8, mark_ = r9, entries_ = r10, next_ = r11, fields_ = rdi;
  // rax holds values; rcx, rdx and rsi are free. The position is window_ + last_ + 1: after the last stop bit. The
  // window is kWindowBytes of the datagram.

  static constexpr int kPosition = static_cast<int>(offsetof(Machine, in) + offsetof(wire::Cursor, position));
  static constexpr int kBegin = static_cast<int>(offsetof(Machine, in) + offsetof(wire::Cursor, begin));
  static constexpr int kEnd = static_cast<int>(offsetof(Machine, in) + offsetof(wire::Cursor, end));
  static inline const int kMapBits = static_cast<int>(wire::PresenceMap::bits_offset());
  static inline const int kMapLeft = static_cast<int>(wire::PresenceMap::left_offset());
  static inline const int kMapNext = static_cast<int>(wire::PresenceMap::next_offset());
  static inline const int kMapEnd = static_cast<int>(wire::PresenceMap::end_offset());
  static constexpr int kMapBytes = static_cast<int>(sizeof(wire::PresenceMap));

  /// What is written while it lives belongs to a part of the code. In rare paths everything does to them.
  class Within {
   public:
    Within(Emitter& emitter, Part part) : emitter_(emitter), outer_(emitter.part_) {
      if (outer_ != Part::Rare) emitter_.set_part(part);
    }
    ~Within() { emitter_.set_part(outer_); }
    Within(const Within&) = delete;
    Within& operator=(const Within&) = delete;

   private:
    Emitter& emitter_;
    const Part outer_;
  };
  void set_part(Part part) {
    part_ = part;
    parts_.add(getCurr(), part);
  }

  // ---- frame.cpp. Entry, exit, and the ways to the interpreter's functions.

  void emit_frame();

  /// Registers that do not survive calls.
  void reload();

  /// Calls a hook with the address in esi; `result` is what it gave. Leaves the message after an error.
  void emit_call(Label& label, const void* function, const Xbyak::Reg& result, Part part);

  /// A function: the window from the position on. Zero flag: it has no stop bit. Loses rcx and rdx only.
  void emit_next_window();

  /// The same for the position in `window_`.
  void open_window();

  /// A function: the next bits of the map in rsi. Loses rsi only.
  void emit_next_bits();

  // ---- emit.cpp. All instructions.

  struct Place {
    std::uint32_t address = 0;
    const Step* step = nullptr;
    [[nodiscard]] const Step* operator->() const { return step; }
  };
  [[nodiscard]] Place place(std::size_t address) const;
  std::vector<const void*> emit_steps(std::span<const Step> steps, std::size_t first);

  // ---- templates.cpp. By identifier: a table of addresses, whose place is known before its content.

  void make_dispatch(Code& code);
  void dispatch(Place in);

  /// Where a template begins when a message names it: opens its root block, which has a static place.
  void emit_entry(std::size_t address);

  /// All but the template identifier, which is in eax.
  void reset_dictionary();

  /// Nothing in the slot but the tag word in rcx.
  void clear_slot(const Reg& base, int at);

  // ---- emit.cpp. One instruction.

  /// Gives the address of the last instruction it wrote: a decimal is two.
  std::size_t emit_step(std::size_t address);
  void rare(std::function<void()> path);

  /// The interpreter runs the data-op, then the code goes on at `done`.
  void take_elsewhere(Place in);
  void steer_elsewhere(Place in);

  /// The bit an instruction has taken, so that it can be put back.
  enum class Bit : std::uint8_t { None, Clear, Set };

  /// A label after which the interpreter repeats the instruction from its beginning.
  Label& elsewhere(Place in, Label& done, Bit bit, std::optional<Decimal> decimal = {});

  void put_back(Bit bit);
  Label& new_label();
  void data_op(Place in);

  /// Takes the instruction's bit: what follows runs if it is set, `path` if it is clear. False: it is known to be
  /// clear, and `path` is all there is.
  bool take_bit(Place in, std::function<void()> path);

  // ---- entities.cpp.

  /// Takes the next stop bit of the window: rcx is where `last_` will be after the entity at the position, or kNoStop.
  /// Callers compare the length with what they can take: without a stop bit it is more than eight bytes. Those that
  /// take more look at the carry flag, which then is set.
  void find_stop();

  /// In the rare path of a longer entity, with the position before it and rcx as find_stop left it: if the window has
  /// no stop bit for it, goes back to `again` with a window that has, or to `otherwise`.
  void look_further(Label& again, Label& otherwise);

  /// Strict: overlong entities have their own rules.
  void refuse_overlong(Label& otherwise);

  /// The last four bytes of the entity that ends at rcx, or eight, first byte on top, in rax.
  void load(bool is_wide);

  /// The number in them. `length` is -4 to -1, or -8 to -1.
  void extract(bool is_signed, bool is_wide, const Reg& length);

  /// The same for nine bytes at the position: 63 bits.
  void extract_nine(bool is_signed);

  /// The same for a 32-bit integer of five to eight bytes, whose length is in rdx: whether it is in range shows.
  void longer_narrow(bool is_signed, bool is_optional, Label& null, Label& otherwise);

  /// NULL is 0, and what is above it counts one less. rcx is kept.
  void take_null_away(bool is_signed, Label& null);

  /// An integer from the stream in rax; the position is after it. `null`: present, but NULL (position after it too).
  void read_integer(Type type, bool is_optional, Label& null, Label& otherwise);

  /// In the state: of a table by the length in a register, -8 to -1.
  [[nodiscard]] Xbyak::Address by_length(const Reg& length, std::size_t table) const;
  /// The data bits of all eight bytes.
  [[nodiscard]] Xbyak::Address data_bits() const;

  // ---- values.cpp. The dictionary and the record.

  [[nodiscard]] Xbyak::Address entry_mark(std::uint16_t slot) const;
  [[nodiscard]] Xbyak::Address entry_value(std::uint16_t slot) const;
  [[nodiscard]] Xbyak::Address entry_string_length(std::uint16_t slot) const;
  [[nodiscard]] Xbyak::Address entry_string_offset(std::uint16_t slot) const;

  /// Into rcx, or a register that holds it already.
  Reg mark_of(state::EntryType type);
  void set_mark(std::uint16_t slot, state::EntryType type);
  void set_empty(std::uint16_t slot);
  void assign(std::uint16_t slot, state::EntryType type);

  /// rax into the instruction's word.
  void store(Place in);
  void count_field(Place in);

  /// Goes to `outside` if rax does not keep the limit of the instruction's constant.
  void check_limit(Place in, Label& outside);

  /// The same for a value that is known now.
  [[nodiscard]] bool keeps_limit(Place in, std::uint64_t value) const;
  static bool has_initial(Place in);
  static bool is_limited(Place in);

  // ---- openings.cpp. Words that surely get a value are tagged and counted when their block is opened.

  struct Opening {
    std::vector<std::uint64_t> tags;  ///< By slot of the block.
    std::vector<bool> words;          ///< Those with a tag, and those that records do not hold.
    std::uint32_t fields = 0;
  };
  void find_openings();

  /// Whether the field of the general program has a value whenever its block is opened and the message has no error,
  /// or all but always. The instruction must not depend on a group.
  [[nodiscard]] bool is_all_but_sure(Place in) const;
  [[nodiscard]] bool is_in_opening(Place in) const;

  /// Makes an expected field like any other.
  void undo(Place in);

  /// Where an instruction without a value goes on: `absent`, with what its block's opening has said about it undone.
  /// A sequence without a length has 0 elements: eax.
  Label& when_absent(Place in, Label& absent);

  // ---- integers.cpp.

  struct Field {
    Place in;
    Operator op;
    Type type;
    bool is_optional;
    state::EntryType entry;
    Label* done;                     ///< After the field.
    Label* absent;                   ///< After it, too, if it has no value.
    std::optional<Decimal> decimal;  ///< Facts that the interpreter needs to run the instruction.
  };

  void integer(Place in, Label& done, Label& absent, std::optional<Decimal> decimal = {});

  Label& elsewhere(const Field& field, Bit bit);
  void keep(const Field& field);
  void put(const Field& field);
  void plain(const Field& field);
  void constant(const Field& field);

  /// The stream's value if the bit is set; else the dictionary's, or the initial one.
  void with_bit(const Field& field);
  void branching(const Field& field);
  /// Without a branch on the bit, which the profile has found to be unpredictable.
  void predicated(const Field& field);
  [[nodiscard]] bool is_predicated(const Field& field) const;
  void with_default(const Field& field);

  /// Takes the next bit of the map on top, which is at a depth of the stack.
  void go_if_clear(unsigned depth, Label& clear);
  /// The same: it is the carry flag. Other registers are kept.
  void shift_map(unsigned depth);

  /// Takes the bit of a field that is absent if it is clear. False: it is known to be clear, so nothing follows.
  bool unless_clear(const Field& field);
  void sent(const Field& field);

  /// The field was not sent; continues after this code if its previous value exists.
  void not_sent(const Field& field, Label& have);
  void take_initial(const Field& field, Label& have, Label& otherwise);
  void increment(const Field& field, Label& otherwise);
  /// The next value of the type, which wraps round.
  void add_one(Type type, const Reg& value);

  void delta(const Field& field);
  /// Unless the slot has a value of the field's type; and unless it is undefined.
  void go_if_not_previous(const Field& field, Label& other);
  void go_if_not_undefined(const Field& field, Label& otherwise);

  /// The delta in rax becomes the value, and the next previous one. Out of range: `otherwise`, and nothing is kept.
  void add_to_previous(const Field& field, Label& otherwise);
  void add_to_initial(const Field& field, Label& otherwise);
  void add_delta(Type type, const Xbyak::Operand& base, Label& otherwise);

  // The position has moved when a value turns out to be one for the interpreter: it is kept beside the value.
  void keep_place();
  Label& go_back(Label& otherwise);

  // ---- decimals.cpp.

  /// Both halves; gives the second.
  Place decimal(Place exponent);
  void two_operators(Place exponent, Place mantissa, Label& done);

  /// The common path continues at `next`; `entry` begins a rare path.
  void jmp_over(Label& next, Label& entry, const std::function<void()>& path);
  void one_operator(Place exponent, Place mantissa, Label& done);
  void sent_mantissa(const Field& value);
  /// The base of both halves is the previous decimal, or the initial one.
  void delta_decimal(const Field& field, const Field& value, Label& done);
  void delta_mantissa(const Field& value, bool has_previous);
  void decimal_not_sent(const Field& field, const Field& value, Label& done);

  // ---- strings.cpp.

  void ascii(Place in, Label& done);

  /// The function for texts runs the data-op.
  void take_text(Place in);

  /// A label after which it repeats the instruction from its beginning: the string is longer than a word.
  Label& longer_text(Place in, Label& done, Bit bit);
  void text_with_default(Place in, Label& done);

  // ---- long_strings.cpp.

  /// A label after which a string of the stream that is longer than a word is stored, as read_text leaves it; those
  /// that need more than a slot of the string area go to `longer`.
  Label& long_text(Place in, Label& done, Label& longer);
  void go_if_strings_are_full(Label& otherwise);

  /// The string at rsi, with its length in edx, goes to the string area. `kept`: of record::kKeptBytes, where the ones
  /// end.
  void store_long_text(Place in, std::uintptr_t kept);

  /// The same for up to eight bytes, unless they need the string area.
  void store_short_text(Place in, Label& is_long);

  struct TextDelta {
    Place in;
    Label* otherwise;  ///< engine::Texts takes the instruction.
    Label* again;
    Label* beyond;    ///< The window does not have both stop bits.
    Label* zero;      ///< The addition begins with seven zero bits.
    Label* is_known;  ///< After a look at them.
    Label* null;
    Label* done;
  };
  /// At the end of the previous string: others are for engine::Texts.
  void delta_text(Place in, Label& done);

  /// The subtraction length in eax, the bytes of the addition in edx; rcx and rsi are where `last_` will be after each.
  void read_delta(const TextDelta& delta);

  /// The previous string becomes the new one: at rsi, with its length in edx. The position is after it.
  void extend_previous(const TextDelta& delta);
  void rare_delta(const TextDelta& delta);

  struct TextTail {
    Place in;
    Label* otherwise;  ///< engine::Texts takes the instruction, whose bit is set.
    Label* done;
  };
  /// Tails of up to 32 bytes of strings of up to a slot of the string area: others are for engine::Texts.
  void tail_text(Place in, Label& done);

  /// The previous string becomes the one with the stream's tail: at rsi, with its length in edx. The position is after
  /// it.
  void read_tail(const TextTail& tail);
  /// The base of a tail without a previous value; its length in eax. It is undefined, or is left to `otherwise`.
  void tail_of_undefined(const TextTail& tail);
  /// The previous string: at rsi, with its length in edx.
  void tail_not_sent(Place in, Label& done);

  /// The bytes at rsi + rax, and the length in edx, of an entry of the dictionary: the first 32 in xmm0 and xmm1 as
  /// they are in the stream.
  void extend_entry(std::uint16_t slot);
  /// Of the slot's strings that native code makes.
  [[nodiscard]] int longest_text(std::uint16_t slot) const;
  /// The string at rsi, with its length in edx, is the field's value.
  void store_text(Place in, Label& done);

  /// The word of a constant string that has no slot of its own. Characters that no stream can send are left to the
  /// interpreter.
  [[nodiscard]] std::optional<std::uint64_t> short_constant(Place in) const;

  /// A string of up to eight bytes from the stream: its word in rax, its length, less than 0, in rdx, the position
  /// after it.
  void read_text(Place in, Label& null, Label& longer, Label& otherwise);
  void copied_text(Place in, Label& done);
  void text_not_sent(Place in, Label& null, Label& have, Label& done);

  /// The string whose word is in rax and whose length in ecx becomes the previous value.
  void assign_text(std::uint16_t slot);

  // ---- templates.cpp. Presence maps.

  void push_map(Place in);

  /// The bits of a map of up to eight bytes that ends at rcx and has the length -rdx, in rax.
  void load_map(Place in);
  /// The first bits of a map of nine bytes or more that ends at rcx, in rax.
  void load_long_map();

  /// The bits in rax become those of the map on top.
  void push_bits(Place in);

  /// The map on top, at a depth of the stack, in rsi.
  void find_map(unsigned depth);
  /// The map on top of the stack is the present one again. Changes rsi.
  void restore_map(const Reg& base, int offset);
  [[nodiscard]] static int map_offset(unsigned depth);

  /// The programs of a segment in the order of the code: those of the most frequent maps first.
  [[nodiscard]] std::vector<ProfileEntry> programs_of(std::uint16_t segment) const;

  /// Whether the general program goes on with the map. Programs of whole elements run without pushing theirs.
  [[nodiscard]] bool needs_map(const ProfileEntry& entry) const;

  /// Continues in the program if the map is its own. A sequence of comparisons is predicted better than a jump through
  /// a table.
  void enter_profile(const ProfileEntry& entry);
  void pop_map(Place in);
  void template_id(Place in);

  // ---- control.cpp. Blocks and control.

  void open_block(Place in);

  /// Empties the slots of the block that was opened.
  void clear_slots(int slots, const Opening& opening);
  void control(Place in);
  void skip(Place in);

  /// The number of elements is in eax.
  void begin_loop(Place in);

  /// Goes to `otherwise` if it is more than limits allow.
  void check_elements(const Block& element, Label& otherwise);
  void end_element(Place in);

  // In dynamic references, where the depth of the stacks is not known.
  void push_loop(Label& otherwise);
  void end_inner_element(Place in, bool has_map);

  /// In messages.
  [[nodiscard]] Xbyak::Address elements_left(unsigned depth) const;
  void end(Place in);
  static constexpr int kLoops = static_cast<int>(offsetof(Machine, loops));
  static constexpr int kLoopMap = static_cast<int>(offsetof(engine::Loop, map));

  const Program& program_;
  const EngineOptions& options_;
  const Hooks& hooks_;
  const int nesting_;
  /// Some map has more bits than a register. In all code of the program the register then holds some of a map's bits,
  /// the next one on top, a one, and zeros. The one that leaves nothing is no bit: those that follow it are in memory.
  const bool has_long_maps_;
  const std::size_t general_size_;  ///< Instructions before those of profiles.

  std::span<const void*> dispatch_;
  std::vector<std::pair<std::uint32_t, Label*>> dispatched_;
  Label dispatch_elsewhere_;

  Label failed_, complete_, exit_, open_block_, take_, take_text_, steer_, next_window_, next_bits_;
  std::span<const Step> steps_;
  bool is_message_ = false;  ///< Not a dynamic reference.
  std::vector<Label> labels_;
  std::vector<Opening> openings_;  ///< By block.
  std::vector<bool> expected_;     ///< By instruction: its block's opening has tagged and counted it.
  std::vector<std::unique_ptr<Label>> owned_;
  std::vector<std::function<void()>> rare_;
  std::size_t rare_bytes_ = 0;
  Part part_ = Part::Frame;
  Parts parts_;
};

// Operands in the state, for Emitter's functions only.
#define STOPBIT_FIELD(member) ptr[machine_ + static_cast<int>(offsetof(Machine, member))]
#define STOPBIT_FIELD_BYTE(member) byte[machine_ + static_cast<int>(offsetof(Machine, member))]
#define STOPBIT_FIELD_WORD(member) word[machine_ + static_cast<int>(offsetof(Machine, member))]
#define STOPBIT_FIELD_DWORD(member) dword[machine_ + static_cast<int>(offsetof(Machine, member))]
#define STOPBIT_FIELD_QWORD(member) qword[machine_ + static_cast<int>(offsetof(Machine, member))]
#define STOPBIT_RECORD_QWORD(member) qword[record_ + static_cast<int>(offsetof(BuilderState, member))]
#define STOPBIT_RECORD(member) ptr[record_ + static_cast<int>(offsetof(BuilderState, member))]

}  // namespace stopbit::jit
