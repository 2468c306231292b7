#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "microcode/verify/findings.hpp"
#include "microcode/verify/schema_walk.hpp"

namespace stopbit::verify {
namespace {

using isa::ControlOp;
using isa::DataOp;
using isa::Instruction;
using isa::Operator;
using isa::Type;

constexpr std::uint32_t kNone = 0xFFFFFFFF;         ///< No loop, no map.
constexpr std::uint32_t kTemplateMap = 0xFFFFFFFE;  ///< The map that was loaded before the template's identifier.
constexpr std::uint64_t kManyBytes = std::uint64_t{1} << 32;
constexpr std::uint64_t kSlotWords = 7;        ///< Value words of a record's slot.
constexpr std::uint64_t kHeaderWords = 4;      ///< Words before the root block's.
constexpr std::uint64_t kElementsPerByte = 8;  ///< Engines refuse more elements per byte of the datagram.

constexpr std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

/// State before an instruction, on whichever path it was reached.
struct State {
  bool reached = false;
  std::uint16_t template_index = 0;
  std::uint16_t block = kNoBlock;  ///< The open block, or kNoBlock: then only BLOCK may use a word.
  std::uint16_t next_word = 0;     ///< Lowest word that may be written.
  std::uint16_t bits = 0;          ///< Most presence bits taken from the map on top.
  std::uint16_t map_depth = 0;
  std::uint32_t loop = kNone;     ///< Address of the innermost SEQ.
  std::uint32_t map = kNone;      ///< Address of the PMAP that loaded the map on top.
  std::uint64_t least_bytes = 0;  ///< Fewest bytes since the template's or the element's begin.
  std::uint32_t most_steps = 0;   ///< Most instructions since then, inner loops not entered.
};

/// State when a SEQ began its loop.
struct Loop {
  State outer;
  std::uint32_t node = kNone;  ///< The sequence; none if the schema does not know the length's word.
  std::uint32_t depth = 0;
  std::uint64_t inner_rate = 0;   ///< Instructions per byte of the costliest loop inside.
  std::uint64_t inner_chain = 0;  ///< Instructions of one element of the costliest nest inside.
};

struct TemplateFlow {
  std::uint64_t least_bytes = kManyBytes;
  std::uint64_t most_steps = 0;
  std::uint64_t slots = 0;
  std::uint64_t rate = 0;
  std::uint64_t chain = 0;
  std::uint16_t bits = 1;  ///< The identifier's.
  bool calls = false;
};

/// Fewest bytes a data-op takes from the stream. A mantissa counts only if its exponent cannot be absent.
std::uint64_t least_bytes_of(const Instruction& in, const Instruction& before, const std::vector<Constant>& constants) {
  if (in.op == DataOp::Pmap) return 1;
  if (isa::is_special(in.op)) return 0;
  const Type type = isa::type_of(in.op);
  if (isa::is_mantissa(type) && isa::is_optional(before.op)) return 0;
  if (in.op == DataOp::NonBitsMan) return isa::group_bytes(constants[in.constant].limit);
  switch (isa::operator_of(in.op)) {
    case Operator::Non: return 1;
    case Operator::Del: return isa::is_string(type) && !isa::is_optional(in.op) ? 2 : 1;
    default: return 0;
  }
}

/// Instructions go in order of address. All jumps but LEND go forward, so that an instruction's state is complete when
/// its turn comes, and one pass is enough. LEND's way back needs no second look: a loop begins with a block of its own,
/// takes no bit of an outer map, and LEND restores maps and loops as SEQ left them.
class FlowCheck {
 public:
  FlowCheck(const Program& program, const WordClaims& claims, Findings& findings)
      : program_(program),
        code_(program.code.data(), general_size(program)),
        claims_(claims),
        findings_(findings),
        states_(code_.size()),
        loops_(code_.size()),
        outer_of_map_(code_.size()),
        templates_(program.templates.size()),
        walk_(program, claims),
        is_entry_(code_.size(), false),
        opened_by_(program.blocks.size(), kNone) {
    for (const ProfileEntry& profile : program.profiles) profiled_.insert(profile.segment);
  }

  void run(std::vector<TemplateCost>& costs) {
    State start;
    start.reached = true;
    states_[0] = start;
    for (const DispatchEntry& entry : program_.dispatch) enter(entry);
    bool in_dead_code = false;
    for (at_ = 0; at_ < code_.size(); ++at_) {
      if (states_[at_].reached) {
        in_dead_code = false;
        state_ = states_[at_];
        step();
      } else if (!in_dead_code) {
        in_dead_code = true;
        require(false, "code-unreachable", "this instruction is unreachable");
      }
    }
    check_reference_maps();
    fill_costs(costs);
  }

 private:
  bool require(bool holds, std::string_view rule, std::string_view message) {
    return findings_.require(holds, rule, "code", at_, message);
  }

  [[nodiscard]] const Instruction& now() const { return code_[at_]; }
  [[nodiscard]] std::uint32_t here() const { return static_cast<std::uint32_t>(at_); }
  TemplateFlow& flow() { return templates_[state_.template_index]; }

  void enter(const DispatchEntry& entry) {
    State state;
    state.reached = true;
    state.template_index = entry.template_index;
    state.block = program_.templates[entry.template_index].root_block;
    state.map = kTemplateMap;
    state.map_depth = 1;
    state.bits = 1;
    state.least_bytes = 1;
    state.most_steps = 2;
    at_ = entry.entry;
    is_entry_[at_] = true;
    join(entry.entry, state);
  }

  /// A path leads to `address` with `state`.
  void join(std::size_t address, const State& state) {
    if (!require(address < code_.size(), "path-without-end", "a path runs past the end of the code")) return;
    State& old = states_[address];
    if (!old.reached) {
      old = state;
      return;
    }
    const auto agree = [&](bool holds, std::string_view rule, std::string_view message) {
      return findings_.require(holds, rule, "code", address, message);
    };
    if (!agree(old.template_index == state.template_index && (old.map == kNone) == (state.map == kNone),
               "join-template", "paths of two templates meet here") ||
        !agree(old.loop == state.loop, "join-loop", "paths of different loops meet here") ||
        !agree(old.map == state.map, "join-presence-map", "paths with different presence maps meet here")) {
      return;
    }
    if (old.block != state.block) old.block = kNoBlock;
    old.next_word = std::max(old.next_word, state.next_word);
    old.bits = std::max(old.bits, state.bits);
    old.least_bytes = std::min(old.least_bytes, state.least_bytes);
    old.most_steps = std::max(old.most_steps, state.most_steps);
  }

  void step() {
    ++state_.most_steps;
    if (is_entry_[at_]) begin_template();
    while (!groups_.empty() && groups_.back().end == at_) {
      follow({SchemaStep::Kind::GroupEnd, groups_.back().node});
      groups_.pop_back();
    }
    if (now().control == ControlOp::Block) {
      open_block();
    } else {
      require(!at_loop_start(), "element-without-block", "the first instruction of an element must open its block");
    }
    require(now().known == isa::KnownBit::No, "known-outside-profile", "bits are known in profile programs only");
    if (isa::info(now().control)->target == isa::TargetUse::Address &&
        !require(now().target < code_.size(), "jump-into-profile", "the target is in a profile program")) {
      return;
    }
    do_data_op();
    do_control_op();
  }

  // The code of a template is contiguous, from its entry to its END, and does what the schema says in the schema's
  // order: so a reader finds in the record what the code has put there.

  void begin_template() {
    require(!in_template_, "entry-inside-template", "an entry is inside the code of a template");
    walk_.begin(state_.template_index);
    groups_.clear();
    entry_ = here();
    in_template_ = true;
    follows_ = true;
  }

  /// The next step of the schema must be this one. After a difference, the rest of the template is not compared; a
  /// difference that may follow from an earlier finding is not reported.
  bool follow(SchemaStep step) {
    if (!follows_ || walk_.take(step)) return follows_;
    follows_ = false;
    return require(!findings_.empty(), "schema-order", "the schema has another element here") && false;
  }

  /// An optional group whose word is its own, or a field's, begins here; it ends at the jump's target.
  void begin_group() {
    const SchemaStep* next = walk_.next();
    std::uint16_t node = 0;
    if (now().op == DataOp::Nop && now().word != isa::kNoWord) {
      if (!has_claim()) return;
      node = claims_.at(state_.block, now().word).node;
    } else {
      if (follows_ && next != nullptr) node = next->node;
      if (!follow({SchemaStep::Kind::Group, node})) return;
      require(program_.nodes[node].block == state_.block, "block-missing",
              "the block of the group's word is not open where the group begins");
    }
    require(groups_.empty() || now().target <= groups_.back().end, "jump-out-of-group",
            "the target is outside the enclosing group");
    groups_.push_back({node, now().target});
  }

  /// Whether the instruction's word is one of the open block.
  [[nodiscard]] bool has_claim() const { return state_.block != kNoBlock && claims_.covers(state_.block, now().word); }

  /// Whether nothing is stored of what the code is in.
  [[nodiscard]] bool in_unstored() const {
    const std::uint32_t sequence = state_.loop == kNone ? kNone : loops_[state_.loop].node;
    return (sequence != kNone && program_.nodes[sequence].unstored) ||
           (!groups_.empty() && program_.nodes[groups_.back().node].unstored);
  }

  /// A block that is no element's is opened once, where something follows that has its word in it. If the block is in
  /// the record, a reader must open it too: what is stored next, in the same group or element, is stored in it.
  void check_after_block(std::uint16_t number) {
    require(opened_by_[number] != entry_, "block-opened-twice", "the block is opened twice");
    opened_by_[number] = entry_;
    if (!follows_) return;
    const auto is_here = [&](const SchemaStep* step) {
      return step != nullptr && step->kind != SchemaStep::Kind::LoopEnd && step->kind != SchemaStep::Kind::GroupEnd &&
             step->kind != SchemaStep::Kind::Reference && program_.nodes[step->node].block == number;
    };
    const bool is_read = program_.blocks[number].words == 0 || (!in_unstored() && is_here(walk_.next_stored()));
    require(is_here(walk_.next()) && is_read, "block-without-word", "the next element is not stored in this block");
  }

  [[nodiscard]] bool at_loop_start() const { return state_.loop != kNone && state_.loop + 1 == here(); }

  void open_block() {
    const std::uint16_t number = now().target;
    const Block& block = program_.blocks[number];
    require(state_.map != kNone && block.template_index == state_.template_index, "block-of-other-template",
            "the block belongs to another template");
    require(block.kind == (at_loop_start() ? BlockKind::Element : BlockKind::After), "block-kind-here",
            "the first instruction of an element must open an element's block, every other an after-block");
    if (at_loop_start()) {
      const std::uint32_t sequence = loops_[state_.loop].node;
      require(sequence == kNone || program_.nodes[sequence].element_block == number, "element-block",
              "the loop opens another block than in the schema");
    } else {
      check_after_block(number);
    }
    state_.block = number;
    state_.next_word = 0;
    if (state_.loop == kNone) flow().slots += divide_up(block.words, kSlotWords);
  }

  void do_data_op() {
    const Instruction& in = now();
    const Instruction& before = code_[at_ == 0 ? 0 : at_ - 1];
    state_.least_bytes = std::min(kManyBytes, state_.least_bytes + least_bytes_of(in, before, program_.constants));
    if (in.op == DataOp::Pmap) {
      push_map();
    } else if (in.op == DataOp::Tid) {
      ++state_.bits;
    } else {
      if (isa::info(in.op)->bit != isa::BitUse::None) take_bit();
      if (in.word != isa::kNoWord && !isa::is_bits(in.op)) write_word();
    }
  }

  void push_map() {
    outer_of_map_[at_] = state_;
    state_.map = here();
    state_.bits = 0;
    ++state_.map_depth;
    require(state_.map_depth <= limits::kMaxPresenceMapDepth, "presence-map-depth",
            "presence maps are nested too deeply");
  }

  /// Returns to the state below the map on top.
  void pop_map() {
    const State& outer = outer_of_map_[state_.map];
    state_.bits = outer.bits;
    state_.map_depth = outer.map_depth;
    state_.map = outer.map;
  }

  /// The map that the innermost loop or the template began with. It cannot be dropped inside.
  [[nodiscard]] std::uint32_t base_map() const {
    return state_.loop == kNone ? kTemplateMap : loops_[state_.loop].outer.map;
  }

  void take_bit() {
    require(state_.loop == kNone || state_.map != base_map(), "bit-without-map",
            "an element that takes presence bits needs a presence map of its own");
    ++state_.bits;
    const bool own = state_.map == kTemplateMap || state_.map == kNone;
    const std::size_t bound = own ? limits::kMaxPresenceBits : code_[state_.map].slot;
    require(state_.bits <= bound, "presence-bits", "more presence bits are taken than PMAP says");
    if (own) flow().bits = std::max(flow().bits, state_.bits);
  }

  void write_word() {
    const Instruction& in = now();
    if (!require(state_.block != kNoBlock, "block-missing", "no block is open here, or different ones are")) return;
    const Block& block = program_.blocks[state_.block];
    if (!require(has_claim(), "word-outside-block", "the open block has no such word")) return;
    if (in.word < block.words) {
      require(in.word >= state_.next_word, "word-order", "words must be in ascending order within a block");
      state_.next_word = static_cast<std::uint16_t>(in.word + 1);
    }
    check_claim(claims_.at(state_.block, in.word));
  }

  /// The schema must say of the word what the instruction stores there.
  void check_claim(WordClaim claim) {
    const Instruction& in = now();
    if (!require(claim.use != WordUse::Free, "word-not-in-schema", "no node of the schema owns the word")) return;
    const SchemaNode& node = program_.nodes[claim.node];
    if (claim.use == WordUse::Witness || in.op == DataOp::Nop) {
      require(claim.use == WordUse::Witness && in.op == DataOp::Nop, "word-type",
              "the words of optional groups, and only these, must be written by NOP");
      follow({SchemaStep::Kind::Witness, claim.node});
      return;
    }
    if (claim.use == WordUse::Length || in.control == ControlOp::Seq) {
      require(claim.use == WordUse::Length && in.control == ControlOp::Seq, "word-type",
              "the length of a sequence, and only this, must have SEQ");
    }
    if (claim.use == WordUse::Mantissa) {
      require(isa::is_mantissa(isa::type_of(in.op)), "word-type", "the word is for a mantissa");
      follow({SchemaStep::Kind::Mantissa, claim.node});
      return;
    }
    require(isa::is_optional(in.op) == node.optional, "word-presence", "schema and instruction differ in presence");
    if (claim.use == WordUse::Field) check_field(node);
    follow({claim.use == WordUse::Length ? SchemaStep::Kind::Length : SchemaStep::Kind::Value, claim.node});
  }

  /// Of a field of a bit group: what its bits can hold is no more than the schema's type, or limited to it.
  void check_bit_field(const SchemaNode& node) {
    const Instruction& in = now();
    const Constant& constant = program_.constants[in.constant];
    const bool is_signed = isa::type_of(in.op) == Type::S64;
    const unsigned width = isa::BitField::of(in.slot).width;
    const auto limited = [&](LimitKind kind, std::uint64_t most, bool fits) {
      require(is_signed == (kind == LimitKind::Signed), "word-type", "schema and instruction differ in type");
      const bool by_limit = constant.limit_kind == kind && constant.limit <= most;
      require(by_limit || (fits && !isa::is_optional(in.op)), "word-limit",
              "the instruction does not limit the value as the schema demands");
    };
    const auto elements = [&] { return std::uint64_t{program_.type_infos[node.type_info].element_count}; };
    switch (node.type) {
      case FieldType::Int8: return limited(LimitKind::Signed, 8, width <= 8);
      case FieldType::UInt8: return limited(LimitKind::Unsigned, 0xFF, width <= 8);
      case FieldType::Enum: return limited(LimitKind::Enum, elements(), std::uint64_t{1} << width <= elements());
      case FieldType::Set: return limited(LimitKind::Set, elements(), width <= elements());
      case FieldType::Boolean: return limited(LimitKind::Enum, 2, width == 1);
      default: require(false, "word-type", "the type is not allowed in bit groups");
    }
  }

  void check_field(const SchemaNode& node) {
    const Instruction& in = now();
    if (isa::is_bit(in.op)) return check_bit_field(node);
    const Type type = isa::type_of(in.op);
    const Constant& constant = program_.constants[in.constant];
    const auto is = [&](bool holds) { require(holds, "word-type", "schema and instruction differ in type"); };
    const auto limited = [&](LimitKind kind, std::uint64_t most) {
      const bool by_limit = constant.limit_kind == kind && constant.limit <= most;
      const bool by_value = isa::operator_of(in.op) == Operator::Con && constant.kind == ValueKind::Integer &&
                            (kind == LimitKind::Enum  ? constant.value < most
                             : kind == LimitKind::Set ? most >= 64 || constant.value >> most == 0
                                                      : true);
      require(by_limit || by_value, "word-limit", "the instruction does not limit the value as the schema demands");
    };
    switch (node.type) {
      case FieldType::Int8: is(type == Type::S32); return limited(LimitKind::Signed, 8);
      case FieldType::Int16: is(type == Type::S32); return limited(LimitKind::Signed, 16);
      case FieldType::Int32: return is(type == Type::S32);
      case FieldType::Int64: return is(type == Type::S64);
      case FieldType::UInt8: is(type == Type::U32); return limited(LimitKind::Unsigned, 0xFF);
      case FieldType::UInt16: is(type == Type::U32); return limited(LimitKind::Unsigned, 0xFFFF);
      case FieldType::UInt32: return is(type == Type::U32);
      case FieldType::UInt64: return is(type == Type::U64);
      case FieldType::Decimal: return is(isa::is_exponent(type));
      case FieldType::Ascii: return is(type == Type::Ascii);
      case FieldType::Unicode: return is(type == Type::Uni);
      case FieldType::ByteVector: return is(type == Type::Bytes);
      case FieldType::Enum:
        is(type == Type::U32);
        return limited(LimitKind::Enum, program_.type_infos[node.type_info].element_count);
      case FieldType::Set:
        is(type == Type::U32 || type == Type::U64);
        return limited(LimitKind::Set, program_.type_infos[node.type_info].element_count);
      case FieldType::Boolean: is(type == Type::U32); return limited(LimitKind::Enum, 2);
      case FieldType::Timestamp:
        return is(type == Type::S32 || type == Type::S64 || type == Type::U32 || type == Type::U64);
    }
  }

  void do_control_op() {
    switch (now().control) {
      case ControlOp::Next:
      case ControlOp::Block: return join(at_ + 1, state_);
      case ControlOp::Seq: return begin_loop();
      case ControlOp::Lend: return end_loop();
      case ControlOp::Skip: return skip();
      case ControlOp::Pop:
        if (require(state_.map != base_map() && state_.map != kTemplateMap, "pop-without-map",
                    "no group's presence map is on the stack here")) {
          pop_map();
        }
        return join(at_ + 1, state_);
      case ControlOp::Disp: return;
      case ControlOp::Call:
        follow({SchemaStep::Kind::Reference, walk_.next() == nullptr ? std::uint16_t{0} : walk_.next()->node});
        pop_map();
        state_.block = kNoBlock;
        flow().calls = true;
        return join(at_ + 1, state_);
      case ControlOp::End: return end();
      case ControlOp::Join: require(false, "join-outside-profile", "JOIN is allowed in profile programs only"); return;
    }
  }

  /// A jump must stay inside the innermost loop: its last address is that of LEND.
  [[nodiscard]] bool inside_loop(std::size_t target) const {
    return state_.loop == kNone || target < code_[state_.loop].target;
  }

  void skip() {
    take_bit();
    require(inside_loop(now().target), "jump-out-of-loop", "the target is outside the element");
    begin_group();
    join(now().target, state_);
    join(at_ + 1, state_);
  }

  void begin_loop() {
    const std::size_t behind = now().target;
    const Instruction& last = code_[behind - 1];
    if (!require(last.control == ControlOp::Lend && last.target == at_ + 1, "seq-target",
                 "the target must be the address after the LEND of this loop") ||
        !require(inside_loop(behind), "jump-out-of-loop", "the target is outside the enclosing element")) {
      return;
    }
    Loop& loop = loops_[at_];
    loop.outer = state_;
    if (has_claim()) loop.node = claims_.at(state_.block, now().word).node;
    loop.depth = state_.loop == kNone ? 1 : loops_[state_.loop].depth + 1;
    require(loop.depth <= limits::kMaxLoopDepth, "loop-depth", "sequences are nested too deeply");
    if (constant_length() == 0) join(behind, state_);
    state_.loop = here();
    state_.block = kNoBlock;
    state_.least_bytes = 0;
    state_.most_steps = 0;
    join(at_ + 1, state_);
  }

  /// The length of the loop that begins here, if it is always the same and not 0; else 0.
  [[nodiscard]] std::uint64_t constant_length() const {
    return now().op == DataOp::ConU32Man ? program_.constants[now().constant].value : 0;
  }

  void end_loop() {
    const std::uint32_t seq = state_.loop;
    if (!require(seq != kNone, "lend-outside-loop", "no loop is open here") ||
        !require(now().target == seq + 1 && code_[seq].target == at_ + 1, "lend-target", "LEND and SEQ do not match")) {
      return;
    }
    const Loop& loop = loops_[seq];
    require(state_.map == loop.outer.map || state_.map == seq + 1, "lend-presence-map",
            "a presence map is on the stack that the element's first instruction has not loaded");
    if (loop.node != kNone) follow({SchemaStep::Kind::LoopEnd, static_cast<std::uint16_t>(loop.node)});
    const Instruction& first = code_[seq + 1];  // without BLOCK, its target may be anything
    require(first.control != ControlOp::Block || program_.blocks[first.target].min_bytes <= state_.least_bytes,
            "element-min-bytes", "an element can take fewer bytes than min_bytes of its block");

    const std::uint64_t rate = loop_rate(state_.most_steps, state_.least_bytes) + loop.inner_rate;
    const std::uint64_t chain = state_.most_steps + loop.inner_chain;
    const std::uint32_t outer = loop.outer.loop;
    std::uint64_t& outer_rate = outer == kNone ? flow().rate : loops_[outer].inner_rate;
    std::uint64_t& outer_chain = outer == kNone ? flow().chain : loops_[outer].inner_chain;
    outer_rate = std::max(outer_rate, rate);
    outer_chain = std::max(outer_chain, chain);

    State behind = loop.outer;
    behind.block = kNoBlock;
    // The last element may leave the loop by a profile program, which has an instruction more to come back here.
    if (first.op == DataOp::Pmap && profiled_.contains(first.constant)) ++behind.most_steps;
    const std::uint64_t fewest = code_[seq].op == DataOp::ConU32Man ? program_.constants[code_[seq].constant].value : 0;
    behind.least_bytes = std::min(kManyBytes, behind.least_bytes + fewest * state_.least_bytes);
    join(at_ + 1, behind);
  }

  /// Instructions per byte of a loop, the loops inside not counted.
  static std::uint64_t loop_rate(std::uint64_t steps, std::uint64_t element_bytes) {
    return element_bytes == 0 ? steps * kElementsPerByte : divide_up(steps, element_bytes);
  }

  void end() {
    require(state_.loop == kNone, "end-inside-loop", "END is inside a loop");
    require(state_.map == kTemplateMap, "end-inside-group", "a group's presence map is left on the stack");
    require(!follows_ || walk_.next() == nullptr || !findings_.empty(), "schema-order",
            "the schema continues after the END");
    require(groups_.empty(), "jump-behind-end", "a group that began before this END ends after it");
    in_template_ = false;
    follows_ = false;
    groups_.clear();
    TemplateFlow& result = flow();
    result.least_bytes = std::min(result.least_bytes, state_.least_bytes);
    result.most_steps = std::max<std::uint64_t>(result.most_steps, state_.most_steps);
  }

  /// The PMAP before a TID must announce as many bits as any template of its table takes.
  void check_reference_maps() {
    std::vector<std::uint16_t> bits;
    for (const DispatchEntry& entry : program_.dispatch) {
      if (entry.table >= bits.size()) bits.push_back(0);
      bits[entry.table] = std::max(bits[entry.table], templates_[entry.template_index].bits);
    }
    for (at_ = 1; at_ < code_.size(); ++at_) {
      if (now().op != DataOp::Tid) continue;
      require(bits[now().target] <= code_[at_ - 1].slot, "presence-bits",
              "a template of the table takes more presence bits than PMAP says");
    }
  }

  void fill_costs(std::vector<TemplateCost>& costs) {
    std::uint64_t any_steps = 0;
    std::uint64_t any_rate = 0;
    for (TemplateFlow& item : templates_) {
      item.most_steps += item.chain;
      any_steps = std::max(any_steps, item.most_steps);
      any_rate = std::max(any_rate, item.rate);
    }
    for (std::size_t i = 0; i < program_.dispatch.size() && program_.dispatch[i].table == 0; ++i) {
      const std::uint16_t index = program_.dispatch[i].template_index;
      const TemplateFlow& item = templates_[index];
      const Block& root = program_.blocks[program_.templates[index].root_block];
      const std::uint64_t slots = item.slots + divide_up(kHeaderWords + root.words, kSlotWords);
      findings_.require(slots <= program_.max_record_slots, "record-slots", "templates", index,
                        "the template's blocks alone exceed max_record_slots");
      // A call takes a byte at least, for its presence map, and may lead to any template.
      const std::uint64_t rate = item.calls ? any_rate + any_steps : item.rate;
      costs.push_back({index, narrow(item.most_steps), narrow(rate), narrow(slots), narrow(item.least_bytes)});
    }
  }

  static std::uint32_t narrow(std::uint64_t value) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, 0xFFFFFFFF));
  }

  const Program& program_;
  const std::span<const Instruction> code_;  ///< The general program; profile programs follow from it.
  const WordClaims& claims_;
  Findings& findings_;
  std::vector<State> states_;
  std::vector<Loop> loops_;          ///< By address of SEQ.
  std::vector<State> outer_of_map_;  ///< By address of PMAP.
  std::vector<TemplateFlow> templates_;
  State state_;
  std::size_t at_ = 0;

  /// An optional group that the code is in.
  struct Group {
    std::uint16_t node;
    std::size_t end;
  };
  std::set<std::uint16_t> profiled_;  ///< Segments with profile programs.
  SchemaWalk walk_;
  std::vector<bool> is_entry_;
  std::vector<Group> groups_;
  std::vector<std::uint32_t> opened_by_;  ///< By after-block: entry of the template's code that opened it last.
  std::uint32_t entry_ = kNone;
  bool in_template_ = false;
  bool follows_ = false;  ///< The code has done what the schema says so far.
};

}  // namespace

void check_flow(const Program& program, const WordClaims& claims, std::vector<TemplateCost>& costs,
                Findings& findings) {
  FlowCheck(program, claims, findings).run(costs);
}

}  // namespace stopbit::verify
