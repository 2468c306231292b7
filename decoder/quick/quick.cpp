#include "decoder/quick/quick.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "decoder/engine/integers.hpp"
#include "decoder/engine/texts.hpp"
#include "decoder/interp/interpreter.hpp"
#include "decoder/wire/index.hpp"

namespace stopbit::interp {
namespace {

using engine::Decimal;
using engine::is_exponent_in_range;
using engine::is_narrow;
using engine::is_signed;
using engine::kMax;
using engine::kMin;
using engine::limit_error;
using engine::Machine;
using engine::number;
using engine::remembers;
using engine::Step;
using isa::ControlOp;
using isa::DataOp;
using isa::Operator;
using isa::Type;
using state::EntryType;
using wire::kData;
using wire::kStop;
using Core = Interpreter<Silent>;
using Entry = state::Dictionary::Entry;

#define STOPBIT_INLINE [[nodiscard, gnu::always_inline]] inline

constexpr std::size_t kMaxPresenceBits = 63;  ///< That a word of PresenceMap holds.
constexpr std::size_t kShort = 8;             ///< Longest string here, and bytes read of the longest integer.

/// The part of the machine that all instructions need. A local variable of the loop whose address does not escape, so
/// the compiler keeps it in registers.
struct Registers {
  const Step* next;
  const std::uint8_t* position;
  std::uint64_t bits;  ///< Of the current presence map, the next one on top.
  Entry* entries;
  std::uint64_t empty_mark;    ///< Of the dictionary's entries.
  std::uint32_t fields;        ///< Not yet counted in the machine.
  std::uint32_t instructions;  ///< Likewise.
};

STOPBIT_INLINE Registers read(Machine& m, std::uint32_t instructions) noexcept {
  m.map->expose();
  const std::uint64_t empty_mark = m.dictionary->assigned_mark() & ~state::Dictionary::kAssigned;
  return {m.next, m.in.position, m.map->bits(), m.dictionary->entries(), empty_mark, 0, instructions};
}

[[gnu::always_inline]] inline void write(Machine& m, const Registers& r) noexcept {
  m.next = r.next;
  m.in.position = r.position;
  m.map->set_bits(r.bits);
  m.fields += r.fields;
}

// ---------------------------------------------------------------------------------------------------------------------
// Entities

constexpr std::uint64_t in_every_byte(std::uint8_t byte) {
  return byte * 0x0101'0101'0101'0101U;
}

STOPBIT_INLINE std::uint64_t load(const void* from) noexcept {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

/// The lowest seven bits of each byte, next to each other.
STOPBIT_INLINE std::uint64_t data_bits(std::uint64_t word) noexcept {
  word &= in_every_byte(kData);
  word = (word & 0x007F'007F'007F'007FU) | (word & 0x7F00'7F00'7F00'7F00U) >> 1;
  word = (word & 0x0000'3FFF'0000'3FFFU) | (word & 0x3FFF'0000'3FFF'0000U) >> 2;
  return (word & 0x0000'0000'0FFF'FFFFU) | (word & 0x0FFF'FFFF'0000'0000U) >> 4;
}

/// An entity of up to eight bytes as in the stream, first byte lowest. Zeros follow the datagram, so an entity that is
/// cut off has no end.
struct ShortEntity {
  std::uint64_t bytes;
  unsigned width;  ///< In bits, eight a byte.

  STOPBIT_INLINE static bool find(const std::uint8_t* position, ShortEntity& out) noexcept {
    out.bytes = load(position);
    const std::uint64_t stops = out.bytes & in_every_byte(kStop);
    if (stops == 0) return false;
    out.width = static_cast<unsigned>(std::countr_zero(stops)) + 1;
    return true;
  }
  [[nodiscard]] unsigned data_width() const noexcept { return width / 8 * 7; }
  [[nodiscard]] std::uint64_t data() const noexcept { return data_bits(__builtin_bswap64(bytes) >> (64 - width)); }
};

template <bool Signed>
STOPBIT_INLINE bool read_number(const std::uint8_t*& position, std::int64_t& number) noexcept {
  if ((*position & kStop) != 0) [[likely]] {
    number = Signed ? static_cast<std::int64_t>(static_cast<std::uint64_t>(*position) << 57) >> 57 : *position & kData;
    ++position;
    return true;
  }
  ShortEntity entity;
  if (!ShortEntity::find(position, entity)) return false;
  const unsigned above = 64 - entity.data_width();
  number =
      Signed ? static_cast<std::int64_t>(entity.data() << above) >> above : static_cast<std::int64_t>(entity.data());
  position += entity.width / 8;
  return true;
}

/// How much of a thing was common.
enum class Got : std::uint8_t { Value, Nothing, Rare };

template <Type T, bool Optional>
STOPBIT_INLINE Got read_integer(const std::uint8_t*& position, std::uint64_t& value) noexcept {
  std::int64_t number = 0;
  if (!read_number<is_signed(T)>(position, number)) return Got::Rare;
  if constexpr (Optional) {
    if (number == 0) return Got::Nothing;
    if (!is_signed(T) || number > 0) --number;
  }
  if constexpr (is_narrow(T)) {
    if (number < static_cast<std::int64_t>(kMin<T>) || number > static_cast<std::int64_t>(kMax<T>)) return Got::Rare;
  }
  value = static_cast<std::uint64_t>(number);
  return Got::Value;
}

/// The word of a string of up to eight characters.
STOPBIT_INLINE std::uint64_t text_word(std::uint64_t chars, unsigned width) noexcept {
  return chars | (width == 64 ? std::uint64_t{0x80} : width / 8) << 56;
}

template <bool Optional>
STOPBIT_INLINE Got read_text(const std::uint8_t*& position, std::uint64_t& word) noexcept {
  ShortEntity entity;
  if (!ShortEntity::find(position, entity)) return Got::Rare;
  position += entity.width / 8;
  if ((entity.bytes & kData) == 0) {
    if (entity.width != 8) return Got::Rare;
    word = 0;
    return Optional ? Got::Nothing : Got::Value;
  }
  const std::uint64_t chars = entity.bytes & in_every_byte(kData) & ~std::uint64_t{0} >> (64 - entity.width);
  word = text_word(chars, entity.width);
  return Got::Value;
}

template <Type T, bool Optional>
STOPBIT_INLINE Got read_value(const std::uint8_t*& position, std::uint64_t& value) noexcept {
  if constexpr (T == Type::Ascii) {
    return read_text<Optional>(position, value);
  } else {
    return read_integer<T, Optional>(position, value);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// The dictionary, as state::Dictionary has it

constexpr std::uint64_t kGenerationUnit = std::uint64_t{1} << state::Dictionary::kGenerationShift;

STOPBIT_INLINE std::uint64_t mark_of(const Registers& r, EntryType type) noexcept {
  return r.empty_mark | state::Dictionary::kAssigned | static_cast<std::uint64_t>(type);
}

template <Type T>
[[gnu::always_inline]] inline void assign(const Machine& m, const Registers& r, const Step& in,
                                          std::uint64_t value) noexcept {
  Entry& entry = r.entries[in.slot];
  if constexpr (T == Type::Ascii) {
    const auto top = static_cast<std::uint8_t>(value >> 56);
    entry.string_length = top < kShort ? top : kShort;
    const std::uint64_t chars = value & ~(std::uint64_t{kStop} << 56);
    std::memcpy(m.dictionary->strings() + entry.string_offset, &chars, sizeof(chars));
  } else {
    entry.value = value;
  }
  entry.mark = mark_of(r, state::entry_type(T));
}

template <Type T>
STOPBIT_INLINE bool has_room([[maybe_unused]] const Registers& r, [[maybe_unused]] const Step& in) noexcept {
  if constexpr (T == Type::Ascii) return r.entries[in.slot].string_capacity >= kShort;
  return true;
}

/// The previous value, of an entry that holds one of the type.
template <Type T>
STOPBIT_INLINE bool previous(const Machine& m, const Registers& r, const Step& in, std::uint64_t& value) noexcept {
  const Entry& entry = r.entries[in.slot];
  if constexpr (T == Type::Ascii) {
    if (entry.string_length > kShort || entry.string_capacity < kShort) return false;
    if (entry.string_length == 0) {
      value = 0;
      return true;
    }
    const unsigned width = 8 * entry.string_length;
    const std::uint64_t chars = load(m.dictionary->strings() + entry.string_offset) & ~std::uint64_t{0} >> (64 - width);
    if ((chars & in_every_byte(kStop)) != 0) return false;
    value = text_word(chars, width);
  } else {
    value = entry.value;
  }
  return true;
}

// ---------------------------------------------------------------------------------------------------------------------
// Data-ops. Registers are a copy, which counts if they give true.

STOPBIT_INLINE bool take_bit(Registers& r, const Step& in) noexcept {
  if (in.known != isa::KnownBit::No) [[unlikely]]
    return in.known == isa::KnownBit::Set;
  const bool is_set = static_cast<std::int64_t>(r.bits) < 0;
  r.bits <<= 1;
  return is_set;
}

[[gnu::always_inline]] inline void store(const record::BuilderState& record, const Step& in,
                                         std::uint64_t value) noexcept {
  if (in.place.tag == 0) return;  // records do not hold it
  unsigned char* const base = record.bases[in.place.in_first_slot ? 1 : 0];
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(base + in.place.value_offset), value, __ATOMIC_RELAXED);
  __atomic_store_n(base + in.place.tag_offset, in.place.tag, __ATOMIC_RELAXED);
}

/// Every operator but delta. Says where the value comes from.
template <Operator Op, Type T, bool Optional>
STOPBIT_INLINE Got take(const Machine& m, Registers& r, const Step& in, std::uint64_t& value, Decimal& from) noexcept {
  from = Decimal::Stream;
  if constexpr (Op == Operator::Con) {
    from = Decimal::Initial;
    if (Optional && !take_bit(r, in)) return Got::Nothing;
    value = in.initial_word;
    return in.has_initial_word ? Got::Value : Got::Rare;
  } else {
    if (Op == Operator::Non || take_bit(r, in)) {
      const Got got = read_value<T, Optional>(r.position, value);
      if constexpr (remembers(Op) && Optional) {
        if (got == Got::Nothing) r.entries[in.slot].mark = r.empty_mark;
      }
      return got;
    }
    if constexpr (!remembers(Op)) {
      from = Decimal::Initial;
      value = in.initial_word;
      if (in.has_initial_word) return Got::Value;
      return in.constant->kind == ValueKind::None && Optional ? Got::Nothing : Got::Rare;
    } else {
      const std::uint64_t mark = r.entries[in.slot].mark;
      if (mark == mark_of(r, state::entry_type(T))) {
        from = Decimal::Previous;
        if (!previous<T>(m, r, in, value)) return Got::Rare;
        if constexpr (Op == Operator::Inc) value = engine::incremented<T>(value, *in.constant);
        return Got::Value;
      }
      const bool is_undefined = (mark ^ r.empty_mark) >= kGenerationUnit;
      if (is_undefined && in.constant->kind != ValueKind::None) {
        from = Decimal::Initial;
        value = in.initial_word;
        return in.has_initial_word ? Got::Value : Got::Rare;
      }
      if (!Optional || !(is_undefined || mark == r.empty_mark)) return Got::Rare;
      r.entries[in.slot].mark = r.empty_mark;
      return Got::Nothing;
    }
  }
}

template <Type T, bool Optional>
STOPBIT_INLINE Got take_delta(Registers& r, const Step& in, std::uint64_t& value) noexcept {
  std::int64_t delta = 0;
  if (!read_number<true>(r.position, delta)) return Got::Rare;
  if constexpr (Optional) {
    if (delta == 0) return Got::Nothing;
    if (delta > 0) --delta;
  }
  const Entry& entry = r.entries[in.slot];
  std::uint64_t base = in.initial_word;
  if (entry.mark == mark_of(r, state::entry_type(T))) {
    base = entry.value;
  } else if ((entry.mark ^ r.empty_mark) < kGenerationUnit) {
    return Got::Rare;
  }
  if constexpr (is_narrow(T)) {
    const std::int64_t sum = static_cast<std::int64_t>(base) + delta;
    if (sum < static_cast<std::int64_t>(kMin<T>) || sum > static_cast<std::int64_t>(kMax<T>)) return Got::Rare;
    value = static_cast<std::uint64_t>(sum);
  } else {
    const wire::Int128 sum = number<T>(base) + delta;
    if (sum < kMin<T> || sum > kMax<T>) return Got::Rare;
    value = static_cast<std::uint64_t>(sum);
  }
  return Got::Value;
}

template <Operator Op, Type T, bool Optional>
STOPBIT_INLINE bool field(Machine& m, Registers& r, const Step& in) noexcept {
  if (isa::is_mantissa(T) && m.decimal == Decimal::Absent) return true;
  std::uint64_t value = 0;
  Decimal from = Decimal::Stream;
  Got got = Got::Rare;
  if constexpr (T == Type::Dman && Op == Operator::Del) {
    return false;
  } else if constexpr (T == Type::Dman) {
    if (m.decimal == Decimal::Stream) {
      got = read_integer<T, false>(r.position, value);
    } else {
      value = m.decimal == Decimal::Previous ? r.entries[in.slot].value : in.initial_word;
      got = Got::Value;
    }
  } else if constexpr (Op == Operator::Del) {
    if constexpr (T == Type::Dexp) return false;
    got = take_delta<T, Optional>(r, in, value);
  } else {
    got = take<Op, T, Optional>(m, r, in, value, from);
  }
  if (got == Got::Rare) return false;
  if (got == Got::Nothing) {
    if constexpr (isa::is_exponent(T)) m.decimal = Decimal::Absent;
    if constexpr (T == Type::U32) m.present = false;
    return true;
  }
  if constexpr (isa::is_exponent(T)) {
    if (!is_exponent_in_range(value)) return false;
  } else if constexpr (T != Type::Dman && T != Type::Ascii) {
    if (in.is_limited && limit_error<T>(*in.constant, value, ErrorCode::D2) != ErrorCode::None) return false;
  }
  if constexpr (remembers(Op)) {
    if (!has_room<T>(r, in)) return false;
    if (Op != Operator::Cop || from != Decimal::Previous) assign<T>(m, r, in, value);
  }
  store(*m.record, in, value);
  if constexpr (isa::is_exponent(T)) m.decimal = T == Type::Dexp ? from : Decimal::Stream;
  if constexpr (T == Type::U32) {
    m.sequence_length = static_cast<std::uint32_t>(value);
    m.present = true;
  }
  if constexpr (!isa::is_mantissa(T)) ++r.fields;
  return true;
}

/// Whether anything of these is common.
constexpr bool has_short_way(Operator op, Type type) {
  return op != Operator::Bit && op != Operator::Tai && type <= Type::Ascii &&
         !(op == Operator::Del && type >= Type::Dexp);
}

/// A block that is not the record's first.
STOPBIT_INLINE bool open_block(Machine& m, const Step& in) noexcept {
  record::BuilderState& record = *m.record;
  const auto first = static_cast<std::uint64_t>(record.next - record.slots);
  if (first == 0 || in.block_slots > record.end - record.next) return false;
  for (std::uint64_t number = first; number < first + in.block_slots; ++number) {
    record::clear_slot(record.slots[number], record.phase | record::tag_word_base(false, number));
  }
  record.bases[0] = reinterpret_cast<unsigned char*>(record.next);
  record.next += in.block_slots;
  m.block = in.target;
  return true;
}

STOPBIT_INLINE bool push_map(Machine& m, Registers& r) noexcept {
  ShortEntity entity;
  if (m.map == &m.maps.back() || !ShortEntity::find(r.position, entity)) return false;
  m.map->set_bits(r.bits);
  ++m.map;
  r.bits = entity.data() << (64 - entity.data_width());
  m.map->load_bits(r.bits);
  r.position += entity.width / 8;
  return true;
}

[[gnu::always_inline]] inline void pop_maps(Machine& m, Registers& r, wire::PresenceMap* to) noexcept {
  m.map = to;
  r.bits = to->bits();
}

/// A control-op after a data-op.
STOPBIT_INLINE bool steer(Machine& m, Registers& r, const Step& in) noexcept {
  switch (in.control) {
    case ControlOp::Seq:
      if (m.present && m.sequence_length != 0) return false;
      r.next = m.code + in.target;
      return true;
    case ControlOp::Lend: {
      engine::Loop& loop = m.loops[m.loop_depth - 1U];
      if (m.map != loop.map) pop_maps(m, r, loop.map);
      if (--loop.elements_left != 0) {
        r.next = m.code + in.target;
      } else {
        --m.loop_depth;
      }
      return true;
    }
    case ControlOp::Skip:
      if (!take_bit(r, in)) {
        r.next = m.code + in.target;
      } else if (in.op == DataOp::Nop && in.word != isa::kNoWord) {
        store(*m.record, in, 1);
      }
      return true;
    case ControlOp::Pop: pop_maps(m, r, m.map - 1); return true;
    case ControlOp::Join: r.next = m.code + in.target; return true;
    case ControlOp::End:
      if (m.call_depth != 0) return false;
      pop_maps(m, r, m.map - 1);
      m.complete = true;
      return true;
    default: return false;
  }
}

class Quick final : public stopbit::Engine {
 public:
  Quick(const Program& program, const EngineOptions& options)
      : core_(program, options, nobody),
        index_(core_.max_datagram_bytes()),
        texts_(core_.machine(), core_.builder(), index_, options.limits.string_bytes) {}

  Outcome decode(std::span<const std::byte> datagram, const PacketInfo& info,
                 record::RecordSink& sink) noexcept override {
    index_.build(datagram);
    return core_.run_datagram(std::as_bytes(std::span(index_.data(), index_.size())), index_.size() != datagram.size(),
                              info, sink, [this] {
                                core_.begin_message();
                                return run_message();
                              });
  }

  void reset(std::uint16_t channel) noexcept override { core_.reset(channel); }
  void invalidate(std::uint16_t channel) noexcept override { core_.invalidate(channel); }

 private:
  bool run_message() noexcept;

  /// A data-op without a short way. Not inlined: the loop of the common ones must stay small.
  [[gnu::noinline]] bool take_rare(const Step& in) noexcept {
    return (isa::type_of(in.op) == Type::Ascii && texts_.take(in)) || core_.take(in);
  }

  /// Goes on in the profile program of the map, if it has one.
  /// NOP and PMAP; the others have no short way.
  template <DataOp Op>
  STOPBIT_INLINE bool special([[maybe_unused]] Machine& m, [[maybe_unused]] Registers& r,
                              [[maybe_unused]] const Step& in) const noexcept {
    if constexpr (Op == DataOp::Pmap) {
      if (!push_map(m, r)) return false;
      if (in.profiles != 0) enter_profile(m, r, in);
    }
    return Op == DataOp::Nop || Op == DataOp::Pmap;
  }

  void enter_profile(const Machine& m, Registers& r, const Step& in) const noexcept {
    const auto segment = static_cast<std::uint16_t>(in.profiles - 1);
    const engine::Profiles::Entry* const entry = core_.profiles().find(segment, r.bits);
    if (entry == nullptr) return;
    r.bits <<= entry->taken;
    r.next = m.code + entry->address;
  }

  static inline Silent nobody;

  Core core_;
  wire::Index index_;
  engine::Texts texts_;
};

bool Quick::run_message() noexcept {
  Machine& m = core_.machine();
  Registers r = read(m, 0);
  const Step* in = nullptr;
  const std::uint8_t* entity = nullptr;
  // Leaves a part of the instruction to others. False after an error.
  const auto ask = [&](auto&& part) __attribute__((always_inline)) {
    write(m, r);
    m.step = in;
    m.entity = entity;
    const bool ok = part(*in);
    r = read(m, r.instructions);
    return ok;
  };
  for (;;) {
    in = r.next++;
    entity = r.position;
    ++r.instructions;
    if (in->control == ControlOp::Block && !open_block(m, *in) &&
        !ask([this](const Step& step) { return core_.open_block(step); }))
      break;
    bool done = false;
    switch (in->op) {
#define STOPBIT_DATA_OP(enumerator, mnemonic, op, type, presence, ...)                                      \
  case DataOp::enumerator:                                                                                  \
    if constexpr (has_short_way(Operator::op, Type::type)) {                                                \
      Registers after = r;                                                                                  \
      done = field<Operator::op, Type::type, isa::Presence::presence == isa::Presence::Opt>(m, after, *in); \
      if (done) r = after;                                                                                  \
    }                                                                                                       \
    break;
#define STOPBIT_SPECIAL_OP(enumerator, ...)        \
  case DataOp::enumerator:                         \
    done = special<DataOp::enumerator>(m, r, *in); \
    break;
#include "microcode/isa/opcodes.def"
      default: __builtin_unreachable();  // no verified program has another
    }
    if (!done && !ask([this](const Step& step) { return take_rare(step); })) break;
    if (in->control <= ControlOp::Block) continue;
    if (!steer(m, r, *in) && !ask([this](const Step& step) { return core_.steer(step); })) break;
    if (m.complete) break;
  }
  core_.count_instructions(r.instructions);
  if (!m.complete) return false;
  write(m, r);
  return true;
}

}  // namespace

std::unique_ptr<Engine> make_quick(const Program& program, const EngineOptions& options) {
  const bool has_wide_maps = std::any_of(program.code.begin(), program.code.end(), [](const isa::Instruction& in) {
    return in.op == DataOp::Pmap && in.slot > kMaxPresenceBits;
  });
  if (options.strict || options.limits.string_bytes < kShort || has_wide_maps) return nullptr;
  return std::make_unique<Quick>(program, options);
}

}  // namespace stopbit::interp
