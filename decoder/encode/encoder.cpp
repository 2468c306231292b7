#include "decoder/encode/encoder.hpp"

#include <algorithm>
#include <limits>

#include "decoder/engine/integers.hpp"
#include "decoder/record/views.hpp"
#include "microcode/base/utf8.hpp"

namespace stopbit::encode {

using engine::incremented;
using engine::is_exponent_in_range;
using engine::is_signed;
using engine::kMax;
using engine::kMin;
using engine::limit_error;
using engine::number;
using engine::remembers;
using engine::unused_of_bits;
using isa::ControlOp;
using isa::DataOp;
using isa::Operator;
using isa::Type;
using record::ReadError;
using state::Dictionary;

namespace {

constexpr std::uint64_t kMaxSteps = 1U << 24;  ///< Far more than any message that fits a datagram.
constexpr std::uint64_t kElementsPerByte = limits::kMaxLoopDepth;
constexpr std::int64_t kMaxDigits = 19;  ///< Of an int64.
constexpr std::size_t kBitsPerByte = 7;
constexpr std::size_t kMapRoom = limits::kMaxPresenceMapDepth * (limits::kMaxPresenceBits / kBitsPerByte + 1);

constexpr std::size_t common_prefix(std::string_view a, std::string_view b) {
  const std::size_t length = std::min(a.size(), b.size());
  std::size_t same = 0;
  while (same < length && a[same] == b[same]) ++same;
  return same;
}
constexpr std::size_t common_suffix(std::string_view a, std::string_view b) {
  const std::size_t length = std::min(a.size(), b.size());
  std::size_t same = 0;
  while (same < length && a[a.size() - 1 - same] == b[b.size() - 1 - same]) ++same;
  return same;
}

/// Bytes of a mandatory string or vector on the wire.
template <Type T>
std::size_t wire_size(std::string_view text, bool is_nullable) {
  if (T == Type::Ascii) return wire::ascii_size(text, is_nullable);
  return wire::integer_size<false>(static_cast<wire::Int128>(text.size()) + (is_nullable ? 1 : 0)) + text.size();
}

/// Multiplies by ten as often as `places` says, or divides if it is negative; false if the result is no int64.
bool shift_decimal(std::int64_t& mantissa, std::int64_t places) {
  if (mantissa == 0) return true;
  for (; places > 0; --places) {
    if (__builtin_mul_overflow(mantissa, std::int64_t{10}, &mantissa)) return false;
  }
  for (; places < 0; ++places) {
    if (mantissa % 10 != 0) return false;
    mantissa /= 10;
  }
  return true;
}

}  // namespace

Encoder::Encoder(const Program& program, const EncodeOptions& options)
    : program_(program),
      is_projected_(is_projected(program)),
      options_(options),
      message_code_(make_code(program, record::kHeaderWords)),
      reference_code_(make_code(program, record::kReferenceWords)),
      dictionary_(program),
      undo_(program),
      out_(std::min<std::size_t>(options.limits.datagram_bytes, limits::kMaxDatagramBytes) + kMapRoom) {}

Encoder::Code Encoder::make_code(const Program& program, std::size_t root_base) {
  Code code{engine::make_steps(program, root_base), std::vector<record::WordPlace>(program.code.size())};
  // The code of a template does what its schema says, in the schema's order (the verifier's rule schema-order), so its
  // SKIPs and its optional groups are the same in number and order.
  for (const DispatchEntry& entry : program.dispatch) {
    const Template& item = program.templates[entry.template_index];
    std::size_t node = item.first_node;
    for (std::size_t at = entry.entry; program.code[at].control != ControlOp::End; ++at) {
      if (program.code[at].control != ControlOp::Skip) continue;
      while (program.nodes[node].kind != NodeKind::Group || !program.nodes[node].optional) ++node;
      const SchemaNode& group = program.nodes[node++];
      const Block& block = program.blocks[group.block];
      code.witnesses[at] = record::WordPlace::of(block, block.kind == BlockKind::Root ? root_base : 0, group.word);
    }
  }
  return code;
}

void Encoder::begin_datagram() noexcept {
  datagram_bytes_ = 0;
  datagram_elements_ = 0;
  datagram_needs_ = 0;
  if (options_.reset == ResetRule::Packet) dictionary_.reset();
}

std::size_t Encoder::owed_bytes() const noexcept {
  const std::size_t needed =
      std::max<std::size_t>(datagram_needs_, (datagram_elements_ + kElementsPerByte - 1) / kElementsPerByte);
  return needed - std::min(needed, datagram_bytes_);
}

// ---------------------------------------------------------------------------------------------------------------------
// Messages

Outcome Encoder::encode(std::span<const record::Slot> record) noexcept {
  outcome_ = {};
  if (is_projected_) {
    outcome_.unreadable = record::ReadError::Projected;
    return outcome_;
  }
  record_slots_ = record;
  out_.clear();
  undo_.begin(dictionary_);
  if (!run()) {
    undo_.roll_back(dictionary_);
    return outcome_;
  }
  outcome_.bytes = std::as_bytes(std::span(out_.data(), out_.size()));
  if (needed_ != 0) datagram_needs_ = std::max(datagram_needs_, datagram_bytes_ + needed_);
  datagram_bytes_ += out_.size();
  datagram_elements_ += elements_;
  return outcome_;
}

bool Encoder::run() noexcept {
  step_ = message_code_.steps.data();
  template_index_ = 0xFFFF;
  block_ = kNoBlock;
  code_ = &message_code_;
  next_ = 0;
  map_depth_ = 0;
  loop_depth_ = 0;
  call_depth_ = 0;
  complete_ = false;
  elements_ = 0;
  needed_ = 0;
  if (!pass(record_.open(record_slots_))) return false;
  for (std::uint64_t steps = 0; !complete_; ++steps) {
    if (steps == kMaxSteps) return fail(ReadError::TooMuchWork);
    const Step& in = code_->steps[next_++];
    step_ = &in;
    if (in.control == ControlOp::Block && !open_block(in.target, 0)) return false;
    if (!run_data_op(in)) return false;
    if (in.control > ControlOp::Block && !run_control_op(in)) return false;
    if (out_.full()) return fail_at(ErrorCode::X13, {template_index_});
  }
  if (!record_.at_end()) return fail(ReadError::LeftOver);
  const std::size_t limit = std::min<std::size_t>(options_.limits.datagram_bytes, limits::kMaxDatagramBytes);
  if (out_.size() > limit) return fail_at(ErrorCode::X13, {template_index_});
  return true;
}

bool Encoder::run_data_op(const Step& in) noexcept {
  switch (in.op) {
#define STOPBIT_DATA_OP(enumerator, mnemonic, op, type, presence, ...) \
  case DataOp::enumerator:                                             \
    return field<Operator::op, Type::type, isa::Presence::presence == isa::Presence::Opt>(in);
#include "microcode/isa/opcodes.def"
    case DataOp::Nop: return true;
    case DataOp::Pmap: return push_map(in);
    case DataOp::Tid: return put_template_id(in);
  }
  return true;
}

bool Encoder::run_control_op(const Step& in) noexcept {
  switch (in.control) {
    case ControlOp::Next:
    case ControlOp::Block: return true;
    case ControlOp::Seq: return begin_loop(in);
    case ControlOp::Lend: {
      Loop& loop = loops_[loop_depth_ - 1];
      while (map_depth_ != loop.map_depth) pop_map();
      if (--loop.elements_left != 0) {
        next_ = in.target;
      } else {
        --loop_depth_;
      }
      return true;
    }
    case ControlOp::Skip: {
      bool present = false;
      std::uint64_t witness = 0;
      if (!pass(record_.load(code_->witnesses[next_ - 1], witness, present))) return false;
      put_bit(present);
      if (!present) next_ = in.target;
      return true;
    }
    case ControlOp::Pop: pop_map(); return true;
    case ControlOp::Disp:
    case ControlOp::Call: return dispatch(in);
    case ControlOp::End:
      pop_map();
      if (call_depth_ == 0) {
        complete_ = true;
      } else {
        const Call& call = calls_[--call_depth_];
        code_ = call.code;
        next_ = call.return_to;
        template_index_ = call.template_index;
      }
      return true;
    case ControlOp::Join: return true;  // in profile programs only, which nothing here enters
  }
  return true;
}

bool Encoder::open_block(std::uint16_t block, std::size_t base) noexcept {
  block_ = block;
  return pass(record_.open_block(program_.blocks[block], base));
}

bool Encoder::begin_loop(const Step& in) noexcept {
  const std::uint64_t count = sequence_length_;
  if (count == 0) {
    next_ = in.target;
    return true;
  }
  // Decoders demand that the least bytes of the elements are left in the datagram.
  const std::uint64_t element_bytes = program_.blocks[code_->steps[next_].target].min_bytes;
  elements_ += count;
  if (elements_ > options_.limits.elements) return fail(ErrorCode::X2);
  if (element_bytes == 0 && count > options_.limits.empty_elements) return fail(ErrorCode::X2);
  needed_ = std::max<std::size_t>(needed_, out_.size() + count * element_bytes);
  if (loop_depth_ == max_nesting()) return fail(ErrorCode::X7);
  loops_[loop_depth_++] = {count, map_depth_};
  return true;
}

/// The template is the one the record names: in its header, or where a reference's block begins.
bool Encoder::put_template_id(const Step& in) noexcept {
  std::uint64_t index = record::HeaderView(record_.record()[0]).template_index();
  const bool is_message = in.control == ControlOp::Disp;
  if (!is_message && !pass(record_.reference(index))) return false;
  if (index >= program_.templates.size()) return fail(ReadError::UnknownTemplate);
  const Template& chosen = program_.templates[index];
  entry_ = engine::find_dispatch(program_, in.target, chosen.id);
  if (entry_ == nullptr || entry_->template_index != index) return fail_at(ErrorCode::D9, {template_index_});

  const bool is_known =
      dictionary_.state(in.slot) == Dictionary::State::Assigned && dictionary_.value(in.slot) == chosen.id;
  const bool must_be_named = is_message && chosen.reset && options_.reset == ResetRule::Template;
  put_bit(!is_known || must_be_named);
  if (!is_known || must_be_named) out_.integer<false>(chosen.id);
  assign(in.slot, state::EntryType::U32, chosen.id);
  return true;
}

bool Encoder::dispatch(const Step& in) noexcept {
  const Template& chosen = program_.templates[entry_->template_index];
  if (chosen.reset && options_.reset != ResetRule::Never) {
    dictionary_.reset();
    assign(isa::kTemplateIdSlot, state::EntryType::U32, chosen.id);
  }
  const bool is_message = in.control == ControlOp::Disp;
  if (!is_message) {
    if (call_depth_ == max_nesting()) return fail(ErrorCode::X7);
    calls_[call_depth_++] = {code_, next_, template_index_};
    code_ = &reference_code_;
  }
  template_index_ = entry_->template_index;
  next_ = entry_->entry;
  return open_block(chosen.root_block, is_message ? record::kHeaderWords : record::kReferenceWords);
}

bool Encoder::push_map(const Step& in) noexcept {
  if (map_depth_ == maps_.size()) return fail(ErrorCode::X7);
  const std::size_t bytes = std::max<std::size_t>(1, (in.slot + kBitsPerByte - 1) / kBitsPerByte);
  maps_[map_depth_++] = {out_.size(), bytes, 0, needed_};
  needed_ = 0;
  out_.open_map(bytes);
  return true;
}

void Encoder::pop_map() noexcept {
  const Map& map = maps_[--map_depth_];
  const std::size_t moved = out_.close_map(map.place, map.bytes);
  if (needed_ != 0) needed_ -= moved;
  needed_ = std::max(needed_, map.outer_needed);
}

void Encoder::put_bit(bool set) noexcept {
  Map& map = maps_[map_depth_ - 1];
  if (set) out_.set_map_bit(map.place, map.bits);
  ++map.bits;
}

// ---------------------------------------------------------------------------------------------------------------------
// Errors, record, dictionary

bool Encoder::fail_at(ErrorCode code, Place place) noexcept {
  outcome_.error = code;
  outcome_.template_index = place.template_index;
  outcome_.block = place.block;
  outcome_.word = place.word;
  outcome_.slot = place.block == kNoBlock ? 0 : record_.block_slot();
  return false;
}

bool Encoder::fail(ReadError error) noexcept {
  fail_at(ErrorCode::None, place());
  outcome_.unreadable = error;
  return false;
}

bool Encoder::load_decimal(const Step& exponent) noexcept {
  if (!load(exponent, exponent_, decimal_present_)) return false;
  if (!decimal_present_) return true;
  bool has_mantissa = false;
  if (!load(code_->steps[next_], mantissa_, has_mantissa)) return false;
  return has_mantissa || fail(ErrorCode::X11);
}

void Encoder::assign(std::uint16_t slot, state::EntryType type, std::uint64_t value) noexcept {
  undo_.save(dictionary_, slot);
  dictionary_.assign(slot, type, value);
}

void Encoder::assign(std::uint16_t slot, state::EntryType type, std::string_view value) noexcept {
  undo_.save(dictionary_, slot);
  dictionary_.assign(slot, type, value);
}

void Encoder::set_empty(std::uint16_t slot) noexcept {
  undo_.save(dictionary_, slot);
  dictionary_.set_empty(slot);
}

template <Operator Op, Type T, bool Optional>
auto Encoder::implied(const Step& in) const noexcept -> Implied {
  constexpr Implied::What kNothing = Optional ? Implied::Absent : Implied::Nothing;
  const Implied initial{has_initial(in) ? Implied::Initial : kNothing, in.constant->value};
  if constexpr (!remembers(Op)) {
    return initial;
  } else {
    switch (dictionary_.state(in.slot)) {
      case Dictionary::State::Undefined: return initial;
      case Dictionary::State::Empty: return {kNothing, 0};
      case Dictionary::State::Assigned: break;
    }
    if (dictionary_.type(in.slot) != state::entry_type(T, *in.constant)) return {Implied::Nothing, 0};
    const std::uint64_t previous = dictionary_.value(in.slot);
    if constexpr (Op == Operator::Inc) return {Implied::Previous, incremented<T>(previous, *in.constant)};
    return {Implied::Previous, previous};
  }
}

template <Type T>
bool Encoder::find_base(const Step& in, bool empty_is_base, Implied::What& base) noexcept {
  base = has_initial(in) ? Implied::Initial : Implied::Nothing;
  switch (dictionary_.state(in.slot)) {
    case Dictionary::State::Undefined: return true;
    case Dictionary::State::Empty: return empty_is_base || fail(ErrorCode::D6);
    case Dictionary::State::Assigned: break;
  }
  base = Implied::Previous;
  return dictionary_.type(in.slot) == state::entry_type(T, *in.constant) || fail(ErrorCode::D4);
}

std::string_view Encoder::text_of(const Step& in, Implied::What source) const noexcept {
  if (source == Implied::Previous) return dictionary_.string(in.slot);
  if (source == Implied::Initial) return program_.constant_bytes(in.constant->bytes());
  return {};
}

// ---------------------------------------------------------------------------------------------------------------------
// Integers

template <Operator Op, Type T, bool Optional>
bool Encoder::field(const Step& in) noexcept {
  if constexpr (Op == Operator::Bit) {
    return true;  // the bit group has packed it
  } else if constexpr (T == Type::Bits) {
    return bit_group<Op>(in);
  } else if constexpr (T == Type::Dexp) {
    return exponent<Op, Optional>(in);
  } else if constexpr (T == Type::Dman) {
    return mantissa<Op>(in);
  } else if constexpr (isa::is_string(T)) {
    return string<Op, T, Optional>(in);
  } else if constexpr (T == Type::Iexp) {
    if (!load_decimal(in)) return false;
    if (decimal_present_ && !rescale(in, code_->steps[next_])) return false;
    return integer<Op, T, Optional>(in, decimal_present_, exponent_);
  } else if constexpr (T == Type::Iman) {
    return !decimal_present_ || integer<Op, T, Optional>(in, true, mantissa_);
  } else {
    bool present = false;
    std::uint64_t value = 0;
    if (!load(in, value, present)) return false;
    if constexpr (T == Type::U32) sequence_length_ = value;  // 0 if absent
    return integer<Op, T, Optional>(in, present, value);
  }
}

template <Type T, bool Optional>
void Encoder::put(std::uint64_t value) noexcept {
  const Int128 wide = number<T>(value);
  out_.integer<is_signed(T)>(Optional ? wire::nullable(wide) : wide);
}

template <Operator Op, Type T, bool Optional>
bool Encoder::integer(const Step& in, bool present, std::uint64_t value) noexcept {
  const Constant& constant = *in.constant;
  if (!present && !Optional) return fail(ErrorCode::X11);
  if (present) {
    const Int128 wide = number<T>(value);
    if (wide < kMin<T> || wide > kMax<T>) return fail(T == Type::Iexp ? ErrorCode::R1 : ErrorCode::D2);
    const ErrorCode outside = limit_error<T>(constant, value, ErrorCode::D2);
    if (outside != ErrorCode::None) return fail(outside);
  }

  if constexpr (Op == Operator::Con) {
    if (present && value != constant.value) return fail(ErrorCode::X12);
    if constexpr (Optional) put_bit(present);
    return true;
  } else if constexpr (Op == Operator::Del) {
    if (!present) {
      out_.null();
      return true;
    }
    Implied::What base{};
    if (!find_base<T>(in, false, base)) return false;
    const Int128 delta =
        number<T>(value) - number<T>(base == Implied::Previous ? dictionary_.value(in.slot) : constant.value);
    out_.integer<true>(Optional ? wire::nullable(delta) : delta);
  } else {
    bool is_sent = true;
    if constexpr (Op != Operator::Non) {
      const Implied if_clear = implied<Op, T, Optional>(in);
      is_sent = present ? !if_clear.has_value() || if_clear.value != value : if_clear.what != Implied::Absent;
      put_bit(is_sent);
    }
    if (is_sent && present) put<T, Optional>(value);
    if (is_sent && !present) out_.null();
  }
  if constexpr (remembers(Op)) {
    if (present) {
      assign(in.slot, state::entry_type(T), value);
    } else {
      set_empty(in.slot);
    }
  }
  return true;
}

// ---------------------------------------------------------------------------------------------------------------------
// Bit groups

/// Adds a field of a bit group to its entity.
bool Encoder::pack(const Step& field, std::uint64_t& bits) noexcept {
  const bool is_nullable = isa::is_optional(field.op);
  bool present = false;
  std::uint64_t value = 0;
  if (!load(field, value, present)) return false;
  if (!present && !is_nullable) return fail(ErrorCode::X11);
  if (!present) return true;
  const bool is_signed_field = isa::type_of(field.op) == Type::S64;
  const ErrorCode outside = limit_error<Type::S64>(*field.constant, value, ErrorCode::D2);
  if (outside != ErrorCode::None) return fail(outside);
  const isa::BitField place = isa::BitField::of(field.slot);
  Int128 wire = is_signed_field ? number<Type::S64>(value) : number<Type::U64>(value);
  if (is_nullable) wire = wire::nullable(wire);
  const Int128 most = Int128{1} << (is_signed_field ? place.width - 1 : place.width);
  if (wire >= most || wire < (is_signed_field ? -most : Int128{0})) return fail(ErrorCode::D2);
  bits |= static_cast<std::uint64_t>(wire) << (64 - place.width) >> place.position;
  return true;
}

/// The following fields are packed first; their errors name their own words.
template <Operator Op>
bool Encoder::bit_group(const Step& in) noexcept {
  constexpr Type T = Type::Bits;
  const Constant& constant = *in.constant;
  const unsigned bytes = isa::group_bytes(constant.limit);
  std::uint64_t value = 0;
  for (std::size_t at = next_; isa::is_bit(code_->steps[at].op); ++at) {
    step_ = &code_->steps[at];
    if (!pack(*step_, value)) return false;
  }
  step_ = &in;
  value >>= 64 - bytes * 7;

  if constexpr (Op == Operator::Con) {
    return value == constant.value || fail(ErrorCode::X12);
  } else if constexpr (Op == Operator::Del) {
    Implied::What base{};
    if (!find_base<T>(in, false, base)) return false;
    out_.integer<true>(number<T>(value) -
                       number<T>(base == Implied::Previous ? dictionary_.value(in.slot) : constant.value));
  } else {
    bool is_sent = true;
    if constexpr (Op != Operator::Non) {
      // After an increment, bits that no field uses may be set.
      const Implied if_clear = implied<Op, T, false>(in);
      is_sent = !if_clear.has_value() || ((if_clear.value ^ value) & ~unused_of_bits(constant)) != 0;
      put_bit(is_sent);
      if (!is_sent) value = if_clear.value;
    }
    if (is_sent) out_.bits(value, bytes);
  }
  if constexpr (remembers(Op)) assign(in.slot, state::entry_type(T, constant), value);
  return true;
}

// ---------------------------------------------------------------------------------------------------------------------
// Decimals

/// The exponent of a decimal with one operator decides what is sent of both halves.
template <Operator Op, bool Optional>
bool Encoder::exponent(const Step& in) noexcept {
  constexpr Type T = Type::Dexp;
  if (!load_decimal(in)) return false;
  if (!decimal_present_ && !Optional) return fail(ErrorCode::X11);
  if (decimal_present_ && !is_exponent_in_range(exponent_)) return fail(ErrorCode::R1);
  const Step& other = code_->steps[next_];

  if constexpr (Op == Operator::Con) {
    mantissa_is_sent_ = false;
    put_bit(decimal_present_);
    if (!decimal_present_) return true;
    if (!scale_mantissa(in.constant->value, ErrorCode::X12)) return false;
    return mantissa_ == other.constant->value || fail(ErrorCode::X12);
  } else if constexpr (Op == Operator::Del) {
    mantissa_is_sent_ = decimal_present_;
    if (!decimal_present_) {
      out_.null();
      return true;
    }
    if (!find_base<T>(in, false, decimal_base_)) return false;
    const Int128 delta =
        number<T>(exponent_) -
        number<T>(decimal_base_ == Implied::Previous ? dictionary_.value(in.slot) : in.constant->value);
    out_.integer<true>(Optional ? wire::nullable(delta) : delta);
  } else {
    bool is_sent = true;
    if constexpr (Op != Operator::Non) {
      const Implied if_clear = implied<Op, T, Optional>(in);
      const std::uint64_t its_mantissa =
          if_clear.what == Implied::Previous ? dictionary_.value(other.slot) : other.constant->value;
      is_sent = decimal_present_ ? !if_clear.has_value() || if_clear.value != exponent_ || its_mantissa != mantissa_
                                 : if_clear.what != Implied::Absent;
      put_bit(is_sent);
    }
    mantissa_is_sent_ = is_sent && decimal_present_;
    if (mantissa_is_sent_) put<T, Optional>(exponent_);
    if (is_sent && !decimal_present_) out_.null();
  }
  if constexpr (remembers(Op)) {
    if (decimal_present_) {
      assign(in.slot, state::EntryType::Decimal, exponent_);
    } else {
      set_empty(in.slot);
    }
  }
  return true;
}

template <Operator Op>
bool Encoder::mantissa(const Step& in) noexcept {
  constexpr Type T = Type::Dman;
  if (!decimal_present_) return true;
  if (mantissa_is_sent_) {
    if constexpr (Op == Operator::Del) {
      out_.integer<true>(number<T>(mantissa_) - number<T>(decimal_base_ == Implied::Previous
                                                              ? dictionary_.value(in.slot)
                                                              : in.constant->value));
    } else {
      put<T, false>(mantissa_);
    }
  }
  if constexpr (remembers(Op)) assign(in.slot, state::EntryType::Decimal, mantissa_);
  return true;
}

/// Gives the decimal another exponent, exactly.
bool Encoder::scale_mantissa(std::uint64_t exponent, ErrorCode otherwise) noexcept {
  const auto places = static_cast<std::int64_t>(exponent_ - exponent);
  if (places < -2 * engine::kMaxExponent || places > 2 * engine::kMaxExponent) return fail(otherwise);
  auto mantissa = static_cast<std::int64_t>(mantissa_);
  if (!shift_decimal(mantissa, places)) return fail(otherwise);
  exponent_ = exponent;
  mantissa_ = static_cast<std::uint64_t>(mantissa);
  return true;
}

/// Where one half of the decimal is constant, the other must do.
bool Encoder::rescale(const Step& exponent, const Step& mantissa) noexcept {
  if (!is_exponent_in_range(exponent_)) return fail(ErrorCode::R1);
  const bool has_fixed_exponent = isa::operator_of(exponent.op) == Operator::Con;
  if (has_fixed_exponent && !scale_mantissa(exponent.constant->value, ErrorCode::D3)) return false;
  if (isa::operator_of(mantissa.op) != Operator::Con || mantissa_ == mantissa.constant->value) return true;
  if (has_fixed_exponent) return fail(ErrorCode::D3);
  for (std::int64_t places = -kMaxDigits; places <= kMaxDigits; ++places) {
    auto shifted = static_cast<std::int64_t>(mantissa_);
    if (!shift_decimal(shifted, places) || static_cast<std::uint64_t>(shifted) != mantissa.constant->value) continue;
    return scale_mantissa(exponent_ - static_cast<std::uint64_t>(places), ErrorCode::D3);
  }
  return fail(ErrorCode::D3);
}

// ---------------------------------------------------------------------------------------------------------------------
// Strings

template <Type T>
bool Encoder::put_text(std::string_view text, bool is_nullable) noexcept {
  if constexpr (T == Type::Ascii) {
    const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
    if (!std::all_of(text.begin(), text.end(), is_ascii)) return fail(ErrorCode::R3);
    out_.ascii(text, is_nullable);
  } else {
    const auto length = static_cast<Int128>(text.size());
    out_.integer<false>(is_nullable ? wire::nullable(length) : length);
    out_.raw(text);
  }
  return true;
}

/// Takes away from the back or from the front of the base, whichever is shorter on the wire.
template <Type T>
bool Encoder::put_delta(std::string_view text, std::string_view base, bool is_nullable) noexcept {
  const std::size_t front = common_prefix(text, base);
  const std::size_t back = common_suffix(text, base);
  const auto from_back = static_cast<Int128>(base.size() - front);
  const Int128 from_front = -1 - static_cast<Int128>(base.size() - back);  // excess one: -1 removes nothing
  const auto subtraction = [&](Int128 length) { return is_nullable ? wire::nullable(length) : length; };
  const std::string_view appended = text.substr(front);
  const std::string_view prepended = text.substr(0, text.size() - back);
  const bool at_back = wire::integer_size<true>(subtraction(from_back)) + wire_size<T>(appended, false) <=
                       wire::integer_size<true>(subtraction(from_front)) + wire_size<T>(prepended, false);
  out_.integer<true>(subtraction(at_back ? from_back : from_front));
  return put_text<T>(at_back ? appended : prepended, false);
}

/// The new end of the base. A string longer than the base is sent whole; a shorter one cannot be encoded.
template <Type T>
bool Encoder::put_tail(std::string_view text, std::string_view base, bool is_nullable) noexcept {
  if (text.size() < base.size()) return fail(ErrorCode::X14);
  if (text.size() > base.size()) return put_text<T>(text, is_nullable);
  // A tail that is empty or begins with a zero has a preamble, which one or two characters more can save.
  const std::size_t least = common_prefix(text, base);
  std::size_t best = least;
  for (std::size_t from = least; from + 2 >= least; --from) {
    if (wire_size<T>(text.substr(from), is_nullable) < wire_size<T>(text.substr(best), is_nullable)) best = from;
    if (from == 0) break;
  }
  return put_text<T>(text.substr(best), is_nullable);
}

template <Operator Op, Type T, bool Optional>
bool Encoder::string(const Step& in) noexcept {
  bool present = false;
  std::uint64_t word = 0;
  std::string_view text;
  if (!load(in, word, present)) return false;
  if (present && !pass(record_.text(word, text))) return false;
  if (!present && !Optional) return fail(ErrorCode::X11);
  if (text.size() > options_.limits.string_bytes) return fail(ErrorCode::X3);
  if (remembers(Op) && text.size() > dictionary_.capacity(in.slot)) return fail(ErrorCode::X3);
  if (T == Type::Uni && options_.strict && !is_utf8(text)) return fail(ErrorCode::R2);

  if constexpr (Op == Operator::Con) {
    if (present && text != text_of(in, Implied::Initial)) return fail(ErrorCode::X12);
    if constexpr (Optional) put_bit(present);
    return true;
  } else if constexpr (Op == Operator::Del) {
    if (!present) {
      out_.null();
      return true;
    }
    Implied::What base{};
    if (!find_base<T>(in, false, base) || !put_delta<T>(text, text_of(in, base), Optional)) return false;
  } else {
    bool is_sent = true;
    if constexpr (Op != Operator::Non) {
      const Implied if_clear = implied<Op, T, Optional>(in);
      is_sent =
          present ? !if_clear.has_value() || text_of(in, if_clear.what) != text : if_clear.what != Implied::Absent;
      put_bit(is_sent);
    }
    if (is_sent && !present) out_.null();
    if (is_sent && present) {
      if constexpr (Op == Operator::Tai) {
        Implied::What base{};
        if (!find_base<T>(in, true, base) || !put_tail<T>(text, text_of(in, base), Optional)) return false;
      } else {
        if (!put_text<T>(text, Optional)) return false;
      }
    }
  }
  if constexpr (remembers(Op)) {
    if (present) {
      assign(in.slot, state::entry_type(T), text);
    } else {
      set_empty(in.slot);
    }
  }
  return true;
}

// ---------------------------------------------------------------------------------------------------------------------

std::string error_text(const record::Schema& schema, const Outcome& outcome) {
  std::string text(outcome.error != ErrorCode::None ? code_meaning(outcome.error)
                                                    : record::error_text(outcome.unreadable));
  if (outcome.error != ErrorCode::None) text += " [" + std::string(code_text(outcome.error)) + "]";
  const Template* item = schema.find(outcome.template_index);
  if (item == nullptr) return text;
  const SchemaNode* owner = schema.owner(outcome.template_index, outcome.block, outcome.word);
  text += ", template " + std::string(schema.name(item->name));
  if (owner != nullptr) text += ", field " + std::string(schema.owner_name(*owner));
  const std::uint32_t line = owner != nullptr ? owner->line : item->line;
  const std::uint16_t source = owner != nullptr ? owner->source : item->source;
  const std::vector<Source>& sources = schema.program().sources;
  if (line != 0 && source < sources.size()) {
    text += " (" + std::string(schema.name(sources[source].name)) + ":" + std::to_string(line) + ")";
  }
  return text;
}

}  // namespace stopbit::encode
