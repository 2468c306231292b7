#include "decoder/interp/interpreter.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "decoder/engine/integers.hpp"
#include "microcode/base/utf8.hpp"

namespace stopbit::interp {

using engine::incremented;
using engine::is_exponent_in_range;
using engine::is_narrow;
using engine::is_signed;
using engine::kMax;
using engine::kMaxExponent;
using engine::kMin;
using engine::limit_error;
using engine::make_steps;
using engine::max_of_bits;
using engine::number;
using engine::remembers;
using engine::unused_of_bits;
using isa::ControlOp;
using isa::DataOp;
using isa::Operator;
using isa::Type;
using wire::Int128;
using wire::Status;

namespace {

constexpr std::size_t kDirectIds = 65'536;  ///< Identifiers up to here are found by index.

}  // namespace

template <class Observer>
Interpreter<Observer>::Interpreter(const Program& program, const EngineOptions& options, Observer& observer)
    : program_(program),
      options_(options),
      observer_(observer),
      profiles_(std::is_same_v<Observer, Silent> ? engine::Profiles(program, options.least_saved) : engine::Profiles()),
      message_code_(make_steps(program, record::kHeaderWords, profiles_)),
      reference_code_(make_steps(program, record::kReferenceWords, profiles_)),
      builder_(program) {
  m_.record = &builder_.state();
  channels_.reserve(options.channels);
  for (std::uint16_t i = 0; i < options.channels; ++i) channels_.emplace_back(program);
  std::size_t ids = 0;
  for (const DispatchEntry& entry : program.dispatch) {
    if (entry.table == 0 && entry.id < kDirectIds) ids = std::max<std::size_t>(ids, entry.id + 1);
  }
  table0_.resize(ids);
  for (const DispatchEntry& entry : program.dispatch) {
    if (entry.table == 0 && entry.id < ids) table0_[entry.id] = &entry;
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Datagrams and messages

template <class Observer>
Outcome Interpreter<Observer>::decode(std::span<const std::byte> datagram, const PacketInfo& info,
                                      record::RecordSink& sink) noexcept {
  const std::size_t bytes = std::min(datagram.size(), max_datagram_bytes());
  return run_datagram(datagram.first(bytes), bytes != datagram.size(), info, sink, [this] {
    begin_message();
    return run_message();
  });
}

template <class Observer>
void Interpreter<Observer>::write_error(Outcome& outcome, record::RecordSink& sink) noexcept {
  outcome.error = error_;
  outcome.offset_bytes = error_offset_;
  outcome.template_id = error_ == ErrorCode::D9 ? m_.template_id : 0;
  outcome.template_index = m_.current_template;
  outcome.block = error_word_ == isa::kNoWord ? kNoBlock : m_.block;
  outcome.word = error_word_;
  invalidate(info_->channel);
  builder_.write_event(sink, header_,
                       {.kind = record::EventKind::DecodeError,
                        .code = error_,
                        .template_index = outcome.template_index,
                        .block = outcome.block,
                        .word = outcome.word,
                        .word5 = outcome.offset_bytes | static_cast<std::uint64_t>(outcome.template_id) << 32,
                        .word6 = info_->number},
                       message_index_);
}

template <class Observer>
bool Interpreter<Observer>::fail(ErrorCode code) noexcept {
  fail_at(code, m_.entity);
  error_word_ = m_.step->word;
  return false;
}

template <class Observer>
bool Interpreter<Observer>::fail_at(ErrorCode code, const std::uint8_t* place) noexcept {
  error_ = code;
  error_offset_ = m_.in.offset_of(place);
  error_word_ = isa::kNoWord;
  return false;
}

/// Whether the first message explicitly names a template that resets the dictionary.
template <class Observer>
bool Interpreter<Observer>::begins_with_reset(std::span<const std::byte> data) const noexcept {
  if (options_.reset != ResetRule::Template) return false;
  wire::Cursor in(data);
  wire::PresenceMap map;
  wire::Integer id;
  if (!map.load(in) || !map.take() || !wire::read_long<false>(in, id)) return false;
  if (id.value > std::numeric_limits<std::uint32_t>::max()) return false;
  const DispatchEntry* entry = find(0, static_cast<std::uint32_t>(id.value));
  return entry != nullptr && program_.templates[entry->template_index].reset;
}

template <class Observer>
bool Interpreter<Observer>::run_message() noexcept {
  do {
    const Step& in = *m_.next++;
    ++instructions_;
    observer_.step(static_cast<std::uint16_t>(&in - m_.code), m_.in.offset());
    begin_step(in);
    if (in.control == ControlOp::Block && !open_block(in)) return false;
    if (!take(in)) return false;
    if (in.control > ControlOp::Block && !steer(in)) return false;
  } while (!m_.complete);
  return true;
}

template <class Observer>
bool Interpreter<Observer>::open_block(const Step& in) noexcept {
  m_.block = in.target;
  observer_.block_opens(m_.block, builder_.next_slot(), 0);
  return builder_.open_block(program_.blocks[in.target], 0) || fail(ErrorCode::X4);
}

template <class Observer>
bool Interpreter<Observer>::take(const Step& in) noexcept {
  switch (in.op) {
#define STOPBIT_DATA_OP(enumerator, mnemonic, op, type, presence, ...) \
  case DataOp::enumerator:                                             \
    return field<Operator::op, Type::type, isa::Presence::presence == isa::Presence::Opt>(in);
#include "microcode/isa/opcodes.def"
    case DataOp::Nop: return true;
    case DataOp::Pmap:
      if (!push_map()) return false;
      if (in.profiles != 0) enter_profile(static_cast<std::uint16_t>(in.profiles - 1));
      return true;
    case DataOp::Tid: return take_template_id(in);
  }
  return true;
}

template <class Observer>
bool Interpreter<Observer>::steer(const Step& in) noexcept {
  switch (in.control) {
    case ControlOp::Next:
    case ControlOp::Block: return true;
    case ControlOp::Seq: return begin_loop(in);
    case ControlOp::Lend: {
      engine::Loop& loop = m_.loops[m_.loop_depth - 1U];
      while (m_.map != loop.map) {
        if (!pop_map()) return false;
      }
      --loop.elements_left;
      observer_.element_ends(loop.elements_left);
      if (loop.elements_left != 0) {
        m_.next = m_.code + in.target;
      } else {
        --m_.loop_depth;
      }
      return true;
    }
    case ControlOp::Skip:
      if (!take_bit(in)) {
        m_.next = m_.code + in.target;
      } else if (in.op == DataOp::Nop && in.word != isa::kNoWord) {
        builder_.store(in.place, 1);
      }
      return true;
    case ControlOp::Pop: return pop_map();
    case ControlOp::Join: m_.next = m_.code + in.target; return true;
    case ControlOp::Disp:
    case ControlOp::Call: return dispatch(in);
    case ControlOp::End:
      if (!pop_map()) return false;
      if (m_.call_depth == 0) {
        m_.complete = true;
      } else {
        --m_.call_depth;
        const engine::Call& call = m_.calls[m_.call_depth];
        m_.code = call.code;
        m_.next = call.return_to;
        m_.current_template = call.template_index;
        observer_.reference_ends();
      }
      return true;
  }
  return true;
}

template <class Observer>
bool Interpreter<Observer>::push_map() noexcept {
  if (m_.map == &m_.maps.back()) return fail(ErrorCode::X7);
  if (!m_.map[1].load(m_.in)) return fail(ErrorCode::X1);
  ++m_.map;
  observer_.map_begins(since(m_.map->begin()));
  return !(options_.strict && m_.map->overlong()) || fail(ErrorCode::R7);
}

template <class Observer>
void Interpreter<Observer>::enter_profile(std::uint16_t segment) noexcept {
  std::uint64_t bits = 0;
  if (!profiles_.has(segment) || !m_.map->rest(bits)) return;
  const engine::Profiles::Entry* const entry = profiles_.find(segment, bits);
  if (entry == nullptr) return;
  m_.map->skip(entry->taken);
  m_.next = m_.code + entry->address;
}

template <class Observer>
bool Interpreter<Observer>::pop_map() noexcept {
  const wire::PresenceMap& map = *m_.map--;
  observer_.map_ends();
  return !(options_.strict && map.has_unused_bits()) || fail_at(ErrorCode::R8, map.begin());
}

template <class Observer>
bool Interpreter<Observer>::take_bit(const Step& in) noexcept {
  if (in.known != isa::KnownBit::No) return in.known == isa::KnownBit::Set;
  const bool bit = m_.map->take();
  observer_.bit(bit);
  return bit;
}

template <class Observer>
bool Interpreter<Observer>::take_template_id(const Step& in) noexcept {
  const bool is_sent = take_bit(in);
  if (is_sent) {
    std::uint64_t value = 0;
    if (read_integer<Type::U32, false>(value) != Status::Ok) return false;
    m_.dictionary->assign(in.slot, state::EntryType::U32, value);
  } else if (m_.dictionary->state(in.slot) != state::Dictionary::State::Assigned) {
    return fail(ErrorCode::D5);
  }
  m_.template_id = static_cast<std::uint32_t>(m_.dictionary->value(in.slot));
  observer_.value(is_sent ? Source::Stream : Source::Previous, m_.template_id);
  return true;
}

template <class Observer>
const DispatchEntry* Interpreter<Observer>::find(std::uint16_t table, std::uint32_t id) const noexcept {
  if (table == 0 && id < table0_.size()) return table0_[id];
  return engine::find_dispatch(program_, table, id);
}

template <class Observer>
bool Interpreter<Observer>::dispatch(const Step& in) noexcept {
  const DispatchEntry* entry = find(in.target, m_.template_id);
  if (entry == nullptr) return fail(ErrorCode::D9);
  const Template& chosen = program_.templates[entry->template_index];
  if (chosen.reset && options_.reset != ResetRule::Never) {
    reset(info_->channel);
    observer_.resets();
    m_.dictionary->assign(isa::kTemplateIdSlot, state::EntryType::U32, m_.template_id);
  }
  const Block& root = program_.blocks[chosen.root_block];
  if (in.control == ControlOp::Call) {
    if (m_.call_depth == max_nesting()) return fail(ErrorCode::X7);
    m_.calls[m_.call_depth++] = {m_.code, m_.next, m_.current_template};
    m_.code = reference_code_.data();
    observer_.block_opens(chosen.root_block, builder_.next_slot(), record::kReferenceWords);
    if (!builder_.open_reference(root, entry->template_index)) return fail(ErrorCode::X4);
  } else {
    m_.message_template = entry->template_index;
    observer_.block_opens(chosen.root_block, builder_.next_slot(), record::kHeaderWords);
    if (!builder_.open_block(root, record::kHeaderWords)) return fail(ErrorCode::X4);
  }
  m_.current_template = entry->template_index;
  m_.block = chosen.root_block;
  m_.next = m_.code + entry->entry;
  if (in.control == ControlOp::Disp) {
    enter_profile(static_cast<std::uint16_t>(ProfileEntry::kBody | entry->template_index));
  }
  observer_.template_begins(entry->template_index, in.control == ControlOp::Call);
  return true;
}

template <class Observer>
bool Interpreter<Observer>::begin_loop(const Step& in) noexcept {
  const std::uint64_t count = m_.present ? m_.sequence_length : 0;
  if (count == 0) {
    m_.next = m_.code + in.target;
    return true;
  }
  const Block& element = program_.blocks[m_.next->target];
  // Elements of no bytes need none that are left; the three limits bound them.
  if (count * element.min_bytes > m_.in.left() || count > m_.elements_left) return fail(ErrorCode::X2);
  if (count > m_.message_elements_left) return fail(ErrorCode::X2);
  if (element.min_bytes == 0 && count > options_.limits.empty_elements) return fail(ErrorCode::X2);
  m_.elements_left -= count;
  m_.message_elements_left -= static_cast<std::uint32_t>(count);
  if (m_.loop_depth == max_nesting()) return fail(ErrorCode::X7);
  m_.loops[m_.loop_depth++] = {static_cast<std::uint32_t>(count), m_.map};
  observer_.loop_begins(static_cast<std::uint32_t>(count));
  return true;
}

// ---------------------------------------------------------------------------------------------------------------------
// Entities

template <class Observer>
template <bool Signed>
bool Interpreter<Observer>::read_wide(wire::Integer& out) noexcept {
  const std::uint8_t* const begin = m_.in.position;
  if (!wire::read_long<Signed>(m_.in, out)) return fail(ErrorCode::X1);
  observer_.integer(since(begin), out.value);
  if (options_.strict && out.overlong) return fail(ErrorCode::R6);
  return true;
}

template <class Observer>
template <Type T, bool Optional>
Status Interpreter<Observer>::read_integer(std::uint64_t& value) noexcept {
  const std::uint8_t* const begin = m_.in.position;
  std::int64_t bits = 0;
  if (wire::read_short<is_signed(T)>(m_.in, bits)) [[likely]] {
    observer_.integer(since(begin), bits);
    if constexpr (Optional) {
      if (bits == 0) return Status::Null;
      if (bits > 0) --bits;
    }
    if constexpr (is_narrow(T)) {
      if (bits < static_cast<std::int64_t>(kMin<T>) || bits > static_cast<std::int64_t>(kMax<T>)) {
        fail(ErrorCode::D2);
        return Status::Error;
      }
    }
    value = static_cast<std::uint64_t>(bits);
    return Status::Ok;
  }
  wire::Integer wide;
  if (!read_wide<is_signed(T)>(wide)) return Status::Error;
  if constexpr (Optional) {
    if (wide.value == 0) return Status::Null;
    if (wide.value > 0) --wide.value;
  }
  if (wide.value < kMin<T> || wide.value > kMax<T>) {
    fail(ErrorCode::D2);
    return Status::Error;
  }
  value = static_cast<std::uint64_t>(wide.value);
  return Status::Ok;
}

/// Exactly as many bytes as the fields need.
template <class Observer>
Status Interpreter<Observer>::read_bits(const Step& in, std::uint64_t& value) noexcept {
  const std::uint8_t* const begin = m_.in.position;
  const unsigned wanted = isa::group_bytes(in.constant->limit);
  std::uint8_t byte = 0;
  unsigned count = 0;
  for (value = 0; count < wanted && (byte & wire::kStop) == 0; ++count) {
    if (m_.in.position == m_.in.end) {
      fail(ErrorCode::X1);
      return Status::Error;
    }
    byte = *m_.in.position++;
    value = value << 7 | (byte & wire::kData);
  }
  observer_.integer(since(begin), static_cast<Int128>(value));
  const bool is_whole = count == wanted && (byte & wire::kStop) != 0;
  if (is_whole && (value & unused_of_bits(*in.constant)) == 0) return Status::Ok;
  fail(ErrorCode::X10);
  return Status::Error;
}

template <class Observer>
template <bool Optional>
Status Interpreter<Observer>::read_delta(Int128& delta) noexcept {
  const std::uint8_t* const begin = m_.in.position;
  std::int64_t bits = 0;
  if (wire::read_short<true>(m_.in, bits)) [[likely]] {
    observer_.integer(since(begin), bits);
    delta = bits;
  } else {
    wire::Integer wide;
    if (!read_wide<true>(wide)) return Status::Error;
    constexpr Int128 kBound = static_cast<Int128>(1) << (wire::kWideBits - 1);
    if (wide.value >= kBound || wide.value < -kBound) {
      fail(ErrorCode::D2);
      return Status::Error;
    }
    delta = wide.value;
  }
  if constexpr (Optional) {
    if (delta == 0) return Status::Null;
    if (delta > 0) --delta;
  }
  return Status::Ok;
}

template <class Observer>
template <bool Optional>
Status Interpreter<Observer>::read_ascii(std::string_view& text) noexcept {
  const std::uint8_t* first = m_.in.position;
  const std::uint8_t* p = first;
  std::size_t length = 0;
  for (std::uint8_t byte = 0; (byte & wire::kStop) == 0; ++length) {
    if (p == m_.in.end) {
      fail(ErrorCode::X1);
      return Status::Error;
    }
    byte = *p++;
    // A string that is longer than any record can hold is refused by its length, so its rest need not be kept.
    if (length < ascii_.size()) ascii_[length] = static_cast<char>(byte & wire::kData);
  }
  m_.in.position = p;
  text = {ascii_.data(), length};
  if ((*first & wire::kData) != 0) [[likely]] {
    observer_.ascii(since(first), text.substr(0, ascii_.size()), false);
    return Status::Ok;
  }

  // A zero preamble: one zero for the empty string and for strings that begin with a zero, one more for their nullable
  // form.
  if (Optional && text.size() == 1) {
    observer_.ascii(since(first), {}, true);
    return Status::Null;
  }
  std::size_t preamble = 1;
  if (Optional && (first[1] & wire::kData) == 0) preamble = 2;
  text.remove_prefix(preamble);
  observer_.ascii(since(first), text.substr(0, ascii_.size() - preamble), false);
  if (options_.strict && !text.empty() && (first[preamble] & wire::kData) != 0) {
    fail(ErrorCode::R9);
    return Status::Error;
  }
  return Status::Ok;
}

template <class Observer>
template <bool Optional>
Status Interpreter<Observer>::read_vector(std::string_view& text) noexcept {
  std::uint64_t length = 0;
  const Status status = read_integer<Type::U32, Optional>(length);
  if (status != Status::Ok) return status;
  if (length > m_.in.left()) {
    fail(ErrorCode::X1);
    return Status::Error;
  }
  const std::uint8_t* const begin = m_.in.position;
  m_.in.position += length;
  text = {reinterpret_cast<const char*>(begin), static_cast<std::size_t>(length)};
  observer_.vector(since(begin), text);
  return Status::Ok;
}

template <class Observer>
template <Type T, bool Optional>
Status Interpreter<Observer>::read_string(std::string_view& text) noexcept {
  if constexpr (T == Type::Ascii) {
    return read_ascii<Optional>(text);
  } else {
    return read_vector<Optional>(text);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Fields

template <class Observer>
template <Operator Op, Type T, bool Optional>
bool Interpreter<Observer>::field(const Step& in) noexcept {
  if constexpr (Op == Operator::Bit) {
    return bit_field<T, Optional>(in);
  } else if constexpr (T == Type::Bits) {
    return bit_group<Op>(in);
  } else if constexpr (T == Type::Dexp) {
    return exponent<Op, Optional>(in);
  } else if constexpr (T == Type::Dman) {
    return mantissa<Op>(in);
  } else if constexpr (isa::is_string(T)) {
    return string<Op, T, Optional>(in);
  } else {
    return integer<Op, T, Optional>(in);
  }
}

template <class Observer>
template <Type T>
bool Interpreter<Observer>::has_previous_type(const Step& in) noexcept {
  return m_.dictionary->type(in.slot) == state::entry_type(T, *in.constant) || fail(ErrorCode::D4);
}

template <class Observer>
template <Type T>
auto Interpreter<Observer>::previous(const Step& in, ErrorCode if_undefined, ErrorCode if_empty) noexcept -> Source {
  const auto nothing = [&](ErrorCode code) {
    if (code == ErrorCode::None) return Source::Nothing;
    fail(code);
    return Source::Error;
  };
  switch (m_.dictionary->state(in.slot)) {
    case state::Dictionary::State::Assigned: return has_previous_type<T>(in) ? Source::Previous : Source::Error;
    case state::Dictionary::State::Undefined: return has_initial(in) ? Source::Initial : nothing(if_undefined);
    case state::Dictionary::State::Empty: return nothing(if_empty);
  }
  return Source::Error;
}

template <class Observer>
template <Operator Op, Type T, bool Optional>
auto Interpreter<Observer>::take_integer(const Step& in, std::uint64_t& value) noexcept -> Source {
  value = in.constant->value;
  if constexpr (Op == Operator::Con) {
    return !Optional || take_bit(in) ? Source::Initial : Source::Nothing;
  } else {
    if (Op == Operator::Non || take_bit(in)) {
      const auto read = [&] {
        if constexpr (T == Type::Bits) {
          return read_bits(in, value);
        } else {
          return read_integer<T, Optional>(value);
        }
      };
      const Source source = source_of(read());
      if (remembers(Op) && source == Source::Nothing) m_.dictionary->set_empty(in.slot);
      return source;
    }
    if constexpr (!remembers(Op)) {
      return has_initial(in) ? Source::Initial : Source::Nothing;
    } else {
      const Source source =
          previous<T>(in, Optional ? ErrorCode::None : ErrorCode::D5, Optional ? ErrorCode::None : ErrorCode::D6);
      if (source == Source::Nothing) m_.dictionary->set_empty(in.slot);
      if (source != Source::Previous) return source;
      value = m_.dictionary->value(in.slot);
      if constexpr (Op == Operator::Inc) value = incremented<T>(value, *in.constant);
      return source;
    }
  }
}

template <class Observer>
template <Operator Op, Type T, bool Optional>
bool Interpreter<Observer>::integer(const Step& in) noexcept {
  if constexpr (T == Type::Iman) {
    m_.present = m_.decimal != engine::Decimal::Absent;
    if (!m_.present) {
      observer_.value(Source::Nothing, 0);
      return true;
    }
  }
  const Constant& constant = *in.constant;
  std::uint64_t value = 0;
  Source source = Source::Stream;
  ErrorCode range_code = ErrorCode::D2;

  if constexpr (Op == Operator::Del) {
    Int128 delta = 0;
    source = source_of(read_delta<Optional>(delta));
    if (source == Source::Stream) {
      const Source base = previous<T>(in, ErrorCode::None, ErrorCode::D6);
      if (base == Source::Error) return false;
      const Int128 sum = number<T>(base == Source::Previous ? m_.dictionary->value(in.slot) : constant.value) + delta;
      range_code = T == Type::Iman || T == Type::Iexp ? ErrorCode::R1 : ErrorCode::R4;
      if (sum < kMin<T> || sum > kMax<T>) return fail(range_code);
      value = static_cast<std::uint64_t>(sum);
    }
  } else {
    source = take_integer<Op, T, Optional>(in, value);
  }

  if (source == Source::Error) return false;
  observer_.value(source, value);
  m_.present = source != Source::Nothing;
  if constexpr (T == Type::Iexp) m_.decimal = m_.present ? engine::Decimal::Stream : engine::Decimal::Absent;
  if constexpr (T == Type::U32) m_.sequence_length = static_cast<std::uint32_t>(value);
  if (!m_.present) return true;
  const bool is_limited = T == Type::Iexp || constant.limit_kind != LimitKind::None;
  if (is_limited) {
    const ErrorCode outside = limit_error<T>(constant, value, range_code);
    if (outside != ErrorCode::None) return fail(outside);
  }
  if constexpr (remembers(Op)) m_.dictionary->assign(in.slot, state::entry_type(T), value);
  builder_.store(in.place, value);
  if constexpr (T != Type::Iman) ++m_.fields;
  return true;
}

/// The exponent of a decimal with one operator decides where both halves come from.
template <class Observer>
template <Operator Op, bool Optional>
bool Interpreter<Observer>::exponent(const Step& in) noexcept {
  constexpr Type T = Type::Dexp;
  std::uint64_t value = 0;
  Source source = Source::Stream;

  if constexpr (Op == Operator::Del) {
    Int128 delta = 0;
    source = source_of(read_delta<Optional>(delta));
    if (source == Source::Stream) {
      const Source base = previous<T>(in, ErrorCode::None, ErrorCode::D6);
      if (base == Source::Error) return false;
      m_.decimal_base_is_previous = base == Source::Previous;
      const std::uint64_t initial = in.constant->value;
      const Int128 sum = number<T>(m_.decimal_base_is_previous ? m_.dictionary->value(in.slot) : initial) + delta;
      if (sum < -kMaxExponent || sum > kMaxExponent) return fail(ErrorCode::R1);
      value = static_cast<std::uint64_t>(sum);
    }
  } else {
    source = take_integer<Op, T, Optional>(in, value);
  }

  if (source == Source::Error) return false;
  observer_.value(source, value);
  m_.decimal = source == Source::Nothing    ? engine::Decimal::Absent
               : source == Source::Previous ? engine::Decimal::Previous
               : source == Source::Initial  ? engine::Decimal::Initial
                                            : engine::Decimal::Stream;
  m_.present = m_.decimal != engine::Decimal::Absent;
  if (!m_.present) return true;
  if (!is_exponent_in_range(value)) return fail(ErrorCode::R1);
  if constexpr (remembers(Op)) m_.dictionary->assign(in.slot, state::EntryType::Decimal, value);
  builder_.store(in.place, value);
  ++m_.fields;
  return true;
}

template <class Observer>
template <Operator Op>
bool Interpreter<Observer>::mantissa(const Step& in) noexcept {
  constexpr Type T = Type::Dman;
  m_.present = m_.decimal != engine::Decimal::Absent;
  if (!m_.present) {
    observer_.value(Source::Nothing, 0);
    return true;
  }
  std::uint64_t value = in.constant->value;

  if (m_.decimal == engine::Decimal::Previous) {
    value = m_.dictionary->value(in.slot);
  } else if (m_.decimal == engine::Decimal::Stream) {
    if constexpr (Op == Operator::Del) {
      Int128 delta = 0;
      if (read_delta<false>(delta) == Status::Error) return false;
      const Int128 sum = number<T>(m_.decimal_base_is_previous ? m_.dictionary->value(in.slot) : value) + delta;
      if (sum < kMin<T> || sum > kMax<T>) return fail(ErrorCode::R1);
      value = static_cast<std::uint64_t>(sum);
    } else {
      if (read_integer<T, false>(value) == Status::Error) return false;
    }
  }
  observer_.value(m_.decimal == engine::Decimal::Previous  ? Source::Previous
                  : m_.decimal == engine::Decimal::Initial ? Source::Initial
                                                           : Source::Stream,
                  value);
  if constexpr (remembers(Op)) m_.dictionary->assign(in.slot, state::EntryType::Decimal, value);
  builder_.store(in.place, value);
  return true;
}

/// Takes the entity; the following BIT instructions extract the fields from it.
template <class Observer>
template <Operator Op>
bool Interpreter<Observer>::bit_group(const Step& in) noexcept {
  constexpr Type T = Type::Bits;
  const Constant& constant = *in.constant;
  std::uint64_t value = 0;
  bits_source_ = Source::Stream;
  if constexpr (Op == Operator::Del) {
    Int128 delta = 0;
    if (read_delta<false>(delta) == Status::Error) return false;
    const Source base = previous<T>(in, ErrorCode::None, ErrorCode::D6);
    if (base == Source::Error) return false;
    const Int128 sum = number<T>(base == Source::Previous ? m_.dictionary->value(in.slot) : constant.value) + delta;
    if (sum < 0 || sum > max_of_bits(constant)) return fail(ErrorCode::R4);
    value = static_cast<std::uint64_t>(sum);
    if ((value & unused_of_bits(constant)) != 0) return fail(ErrorCode::R4);
  } else {
    bits_source_ = take_integer<Op, T, false>(in, value);
    if (bits_source_ == Source::Error) return false;
  }
  observer_.value(bits_source_, value);
  if constexpr (remembers(Op)) m_.dictionary->assign(in.slot, state::entry_type(T, constant), value);
  bits_ = value << (64 - isa::group_bytes(constant.limit) * 7);
  bits_entity_ = m_.entity;
  return true;
}

template <class Observer>
template <Type T, bool Optional>
bool Interpreter<Observer>::bit_field(const Step& in) noexcept {
  m_.entity = bits_entity_;
  const isa::BitField field = isa::BitField::of(in.slot);
  const unsigned behind = 64U - field.width;
  std::uint64_t value = bits_ << field.position;
  value = is_signed(T) ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value) >> behind) : value >> behind;
  m_.present = !Optional || value != 0;
  if (Optional && static_cast<std::int64_t>(value) > 0) --value;
  observer_.value(m_.present ? bits_source_ : Source::Nothing, value);
  if (!m_.present) return true;
  const ErrorCode outside = limit_error<T>(*in.constant, value, ErrorCode::D2);
  if (outside != ErrorCode::None) return fail(outside);
  builder_.store(in.place, value);
  ++m_.fields;
  return true;
}

template <class Observer>
bool Interpreter<Observer>::apply_delta(std::int32_t subtraction, std::string_view addition, std::string_view base,
                                        std::size_t capacity, std::string_view& result) noexcept {
  // Excess one for the front, so that -1 says "prepend, remove nothing".
  const bool at_front = subtraction < 0;
  const auto removed = static_cast<std::size_t>(at_front ? -(static_cast<std::int64_t>(subtraction) + 1) : subtraction);
  if (removed > base.size()) return fail(ErrorCode::D7);
  const std::string_view kept = at_front ? base.substr(removed) : base.substr(0, base.size() - removed);
  if (kept.size() + addition.size() > capacity) return fail(ErrorCode::X3);
  char* out = scratch_.data();
  const std::string_view first = at_front ? addition : kept;
  const std::string_view second = at_front ? kept : addition;
  out = std::copy(first.begin(), first.end(), out);
  out = std::copy(second.begin(), second.end(), out);
  result = {scratch_.data(), static_cast<std::size_t>(out - scratch_.data())};
  return true;
}

template <class Observer>
bool Interpreter<Observer>::apply_tail(std::string_view tail, std::string_view base, std::size_t capacity,
                                       std::string_view& result) noexcept {
  const std::string_view kept = base.substr(0, base.size() - std::min(base.size(), tail.size()));
  if (kept.size() + tail.size() > capacity) return fail(ErrorCode::X3);
  char* out = std::copy(kept.begin(), kept.end(), scratch_.data());
  out = std::copy(tail.begin(), tail.end(), out);
  result = {scratch_.data(), static_cast<std::size_t>(out - scratch_.data())};
  return true;
}

template <class Observer>
template <Operator Op, Type T, bool Optional>
bool Interpreter<Observer>::string(const Step& in) noexcept {
  std::string_view value;
  Source source = Source::Stream;
  const auto initial = [&] { return program_.constant_bytes(in.constant->bytes()); };

  if constexpr (Op == Operator::Non) {
    source = source_of(read_string<T, Optional>(value));
  } else if constexpr (Op == Operator::Con) {
    source = !Optional || take_bit(in) ? Source::Initial : Source::Nothing;
  } else if constexpr (Op == Operator::Def) {
    if (take_bit(in)) {
      source = source_of(read_string<T, Optional>(value));
    } else {
      source = has_initial(in) ? Source::Initial : Source::Nothing;
    }
  } else if constexpr (Op == Operator::Cop || Op == Operator::Tai) {
    constexpr bool kIsCopy = Op == Operator::Cop;
    if (take_bit(in)) {
      source = source_of(read_string<T, Optional>(value));
      if (!kIsCopy && source == Source::Stream) {
        // The base of a tail: previous value, else initial value, else "".
        const Source base = previous<T>(in, ErrorCode::None, ErrorCode::None);
        if (base == Source::Error) return false;
        const std::string_view text = base == Source::Previous ? m_.dictionary->string(in.slot)
                                      : has_initial(in)        ? initial()
                                                               : std::string_view{};
        if (!apply_tail(value, text, m_.dictionary->capacity(in.slot), value)) return false;
      }
    } else {
      source = previous<T>(in,
                           Optional  ? ErrorCode::None
                           : kIsCopy ? ErrorCode::D5
                                     : ErrorCode::D6,
                           Optional  ? ErrorCode::None
                           : kIsCopy ? ErrorCode::D6
                                     : ErrorCode::D7);
    }
    if (source == Source::Nothing) m_.dictionary->set_empty(in.slot);
  } else if constexpr (Op == Operator::Del) {
    std::uint64_t subtraction = 0;
    source = source_of(read_integer<Type::S32, Optional>(subtraction));
    if (source == Source::Error && error_ == ErrorCode::D2) error_ = ErrorCode::D7;
    if (source == Source::Stream) {
      std::string_view addition;
      if (read_string<T, false>(addition) == Status::Error) return false;
      const Source base = previous<T>(in, ErrorCode::None, ErrorCode::D6);
      if (base == Source::Error) return false;
      const std::string_view text = base == Source::Previous  ? m_.dictionary->string(in.slot)
                                    : base == Source::Initial ? initial()
                                                              : std::string_view{};
      const auto length = static_cast<std::int32_t>(static_cast<std::int64_t>(subtraction));
      if (!apply_delta(length, addition, text, m_.dictionary->capacity(in.slot), value)) return false;
    }
  }

  if (source == Source::Error) return false;
  if (source == Source::Initial) value = initial();
  if (remembers(Op) && source == Source::Previous) value = m_.dictionary->string(in.slot);
  m_.present = source != Source::Nothing;
  if (!m_.present) {
    observer_.text(source, {});
    return true;
  }
  if (value.size() > options_.limits.string_bytes) return fail(ErrorCode::X3);
  if constexpr (T == Type::Uni) {
    if (options_.strict && !is_utf8(value)) return fail(ErrorCode::R2);
  }
  if (remembers(Op) && source != Source::Previous) {
    if (value.size() > m_.dictionary->capacity(in.slot)) return fail(ErrorCode::X3);
    m_.dictionary->assign(in.slot, state::entry_type(T), value);
  }
  if (!builder_.store(in.place, value)) return fail(ErrorCode::X8);
  observer_.text(source, value);
  ++m_.fields;
  return true;
}

template class Interpreter<Silent>;
template class Interpreter<trace::Observer>;

}  // namespace stopbit::interp

namespace stopbit {

std::unique_ptr<Engine> make_interpreter(const Program& program, const EngineOptions& options) {
  static interp::Silent nobody;
  return std::make_unique<interp::Interpreter<interp::Silent>>(program, options, nobody);
}

std::unique_ptr<Engine> make_tracing_interpreter(const Program& program, const EngineOptions& options,
                                                 trace::Observer& observer) {
  return std::make_unique<interp::Interpreter<trace::Observer>>(program, options, observer);
}

}  // namespace stopbit
