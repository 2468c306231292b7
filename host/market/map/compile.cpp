#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "decoder/record/builder.hpp"
#include "decoder/record/reader.hpp"
#include "host/market/book/any_book.hpp"
#include "host/market/map/map.hpp"
#include "host/os/config/nearest.hpp"
#include "microcode/base/ascii.hpp"
#include "microcode/base/hash.hpp"

namespace stopbit::market {
namespace {

/// Of all tables together: what a hostile map could make large.
constexpr std::size_t kMaxTableRows = 1U << 20;
constexpr std::uint64_t kMaxWork = 1U << 28;  ///< Comparisons of names with patterns.
constexpr std::size_t kMaxErrors = 64;        ///< Each error searches for a similar name, so their number is bounded.

/// A field of a template that a slot takes its value from.
struct Source {
  std::size_t node = 0;
  FieldType type = FieldType::UInt32;
  std::uint16_t type_info = kNoTypeInfo;
  bool exists = false;
  auto operator<=>(const Source&) const = default;
};
using Sources = std::vector<Source>;  ///< By slot.

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t dot = path.find('.');
    parts.emplace_back(path.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    path.remove_prefix(dot + 1);
  }
}

using Wanted = std::multimap<std::size_t, std::uint8_t>;  ///< Node -> slots.

/// The nodes of one template with their parents.
class Tree {
 public:
  Tree(const Program& program, const Template& item) : program_(program), item_(item) {
    parents_.resize(item.end_node - item.first_node, kRoot);
    sequences_.resize(parents_.size(), kRoot);
    std::vector<std::size_t> open;
    for (std::size_t i = item.first_node; i < item.end_node; ++i) {
      while (!open.empty() && program.nodes[open.back()].end <= i) open.pop_back();
      const std::size_t parent = open.empty() ? kRoot : open.back();
      parents_[i - item.first_node] = parent;
      const bool is_in_sequence = parent != kRoot && program.nodes[parent].kind == NodeKind::Sequence;
      sequences_[i - item.first_node] = parent == kRoot || is_in_sequence ? parent : sequence_of(parent);
      const NodeKind kind = program.nodes[i].kind;
      if (kind == NodeKind::Group || kind == NodeKind::Sequence) open.push_back(i);
    }
  }

  static constexpr std::size_t kRoot = ~std::size_t{0};

  [[nodiscard]] std::size_t parent(std::size_t node) const { return parents_[node - item_.first_node]; }
  /// The innermost sequence around the node.
  [[nodiscard]] std::size_t sequence_of(std::size_t node) const { return sequences_[node - item_.first_node]; }
  /// The sequence at the end of a path "A.B" that begins inside a sequence.
  [[nodiscard]] std::optional<std::size_t> sequence_at(std::string_view path, std::size_t inside) const {
    if (path.empty()) return std::nullopt;
    const std::vector<std::string> parts = split(path);
    std::size_t outer = inside;
    for (const std::string& part : parts) {
      const auto found = find(outer, [&](std::size_t node) {
        return program_.nodes[node].kind == NodeKind::Sequence && program_.name(program_.nodes[node].name) == part;
      });
      if (!found) return std::nullopt;
      outer = *found;
    }
    return outer;
  }
  /// The field with this name in the sequence itself, not in those inside it. A dotted name has its groups before it.
  [[nodiscard]] std::optional<std::size_t> field_in(std::size_t sequence, const std::vector<std::string>& name) const {
    return find(sequence, [&](std::size_t node) {
      if (program_.nodes[node].kind != NodeKind::Field || program_.nodes[node].unstored) return false;
      std::size_t at = node;
      for (std::size_t i = name.size(); i-- > 0; at = parent(at)) {
        if (at == kRoot || program_.name(program_.nodes[at].name) != name[i]) return false;
      }
      return true;
    });
  }

 private:
  template <class Fits>
  std::optional<std::size_t> find(std::size_t sequence, Fits fits) const {
    const std::size_t first = sequence == kRoot ? item_.first_node : sequence + 1;
    const std::size_t end = sequence == kRoot ? item_.end_node : program_.nodes[sequence].end;
    for (std::size_t i = first; i < end; ++i) {
      if (sequence_of(i) == sequence && fits(i)) return i;
    }
    return std::nullopt;
  }

  const Program& program_;
  const Template& item_;
  std::vector<std::size_t> parents_;
  std::vector<std::size_t> sequences_;
};

class Compiler {
 public:
  Compiler(Map& map, const Program& program, Diagnostics& diagnostics)
      : map_(map), source_(map.source), program_(program), diagnostics_(diagnostics) {}

  void run() {
    collect_slots();
    if (diagnostics_.has_errors()) return;
    map_.plans.resize(program_.templates.size());
    sources_.resize(program_.templates.size());
    choose_rules();
    for (std::size_t i = 0; i < map_.plans.size() && rows() < kMaxTableRows; ++i) plan(i);
    check_fields();
    if (diagnostics_.has_errors()) return;
    for (std::size_t i = 0; i < map_.plans.size() && rows() < kMaxTableRows; ++i) add_types(i);
    if (rows() >= kMaxTableRows)
      error(source_.messages.front().range, "the map and its templates are too large together");
    check_literals();
  }

 private:
  // Slots.

  std::uint8_t slot(const Named& name) {
    if (!name) return kNoSlot;
    const auto [at, is_new] = slots_.emplace(name.text, static_cast<std::uint8_t>(map_.slot_names.size()));
    if (!is_new) return at->second;
    if (map_.slot_names.size() == kMaxFields) {
      if (!too_many_) error(name.range, "a map names at most " + std::to_string(kMaxFields) + " fields");
      too_many_ = true;
      slots_.erase(at);
      return kNoSlot;
    }
    map_.slot_names.push_back(name.text);
    places_.push_back(name.range);
    return at->second;
  }

  void collect(const Condition& condition) {
    for (const Test& test : condition) (void)slot(test.field);
  }

  void collect_slots() {
    map_.message_number = slot(source_.message_number);
    map_.entry_number = slot(source_.entry_number);
    map_.time = slot(source_.time);
    for (const Named& name : source_.key) (void)slot(name);
    map_.product = slot(source_.product);
    map_.complex = slot(source_.complex);
    collect(source_.end_when);
    for (const MessageRule& rule : source_.messages) map_.messages.push_back(slots_of(rule));
    for (const BookRule& book : source_.books) {
      map_.books.push_back({.kind = book.kind,
                            .of = book.of,
                            .depth = book.depth,
                            .action = slot(book.action),
                            .position = slot(book.position),
                            .price = slot(book.price),
                            .quantity = slot(book.quantity),
                            .count = slot(book.count),
                            .id = slot(book.id)});
    }
    for (const EntryRule& rule : source_.entries) {
      collect(rule.when);
      for (const Named* name : {&rule.side_field, &rule.statistic_field, &rule.price, &rule.quantity, &rule.id}) {
        (void)slot(*name);
      }
    }
    for (const Named& name : source_.optional) {
      if (slots_.find(name.text) == slots_.end()) error(name.range, "no rule names the field '" + name.text + "'");
    }
  }

  MessageSlots slots_of(const MessageRule& rule) {
    MessageSlots slots;
    const std::vector<Named>& key = rule.key.empty() ? source_.key : rule.key;
    for (const Named& name : key) slots.key[slots.key_count++] = slot(name);
    for (const Named& name : rule.scope.empty() ? source_.scope : rule.scope) {
      slots.scope[slots.scope_count++] = slot(name);
    }
    slots.group = slot(rule.group);
    slots.within = slot(rule.within);
    slots.number = slot(rule.number);
    slots.processed = slot(rule.processed);
    slots.name = slot(rule.name);
    slots.product = slot(rule.product);
    slots.step = slot(rule.step);
    slots.session = slot(rule.session);
    slots.depth = slot(rule.depth.depth);
    slots.depth_type = slot(rule.depth.type);
    for (std::size_t i = 0; i < rule.states.size(); ++i) slots.states[i] = slot(rule.states[i].field);
    for (std::size_t i = 0; i < rule.entry_states.size(); ++i) slots.entry_states[i] = slot(rule.entry_states[i].field);
    for (const Condition* condition :
         {&rule.first, &rule.last, &rule.refresh, &rule.removed, &rule.statistics_reset, &rule.simple}) {
      collect(*condition);
    }
    return slots;
  }

  // Templates and their rules.

  void choose_rules() {
    for (std::size_t i = 0; i < program_.templates.size(); ++i) {
      const std::string_view name = program_.name(program_.templates[i].name);
      for (std::size_t rule = 0; rule < source_.messages.size(); ++rule) {
        const auto& patterns = source_.messages[rule].templates;
        if (is_full()) return;
        for (const Named& pattern : patterns) work_ += pattern.text.size() * name.size();
        if (work_ > kMaxWork)
          return error(source_.messages[rule].range, "the map and its templates are too large together");
        const bool fits = std::any_of(patterns.begin(), patterns.end(),
                                      [&](const Named& pattern) { return matches(pattern.text, name); });
        if (!fits) continue;
        map_.plans[i].rule = static_cast<std::uint16_t>(rule);
        map_.plans[i].kind = source_.messages[rule].kind;
        break;
      }
      if (map_.plans[i].kind == MessageKind::None) refuse_if_numbered(i, name);
    }
  }

  /// A template that takes a number of its channel would look like a loss if nothing knew it.
  void refuse_if_numbered(std::size_t index, std::string_view name) {
    const Template& item = program_.templates[index];
    const bool is_numbered =
        !source_.message_number ? !item.supplied : find_field(item, split(source_.message_number.text));
    if (!is_numbered) return;
    std::vector<std::string> patterns;
    for (const MessageRule& rule : source_.messages) {
      for (const Named& pattern : rule.templates) patterns.push_back(pattern.text);
    }
    const std::string near = config::nearest(name, patterns);
    SourceRange range = source_.message_number ? source_.message_number.range : source_.messages.front().range;
    for (const MessageRule& rule : source_.messages) {
      for (const Named& pattern : rule.templates) {
        if (!near.empty() && pattern.text == near) range = pattern.range;
      }
    }
    error(range, "no rule for the template '" + std::string(name) + "', whose messages have a number" +
                     (near.empty() ? "" : "; did you mean it with '" + near + "'?"));
  }

  [[nodiscard]] bool find_field(const Template& item, const std::vector<std::string>& name) const {
    return Tree(program_, item).field_in(Tree::kRoot, name).has_value();
  }

  // Plans.

  void plan(std::size_t index) {
    TemplatePlan& plan = map_.plans[index];
    Sources& sources = sources_[index];
    sources.resize(map_.slot_names.size());
    if (plan.rule == kNoIndex) return;
    const Template& item = program_.templates[index];
    const MessageRule& rule = source_.messages[plan.rule];
    const Tree tree(program_, item);
    const auto entries = tree.sequence_at(rule.entries.text, Tree::kRoot);
    plan.has_entries = entries.has_value();
    plan.is_entry = has_market_entries(plan) && !rule.entries;
    if (rule.entries && !entries) missing_entries_.insert(plan.rule);
    if (entries) found_entries_.insert(plan.rule);
    auto depth = entries ? tree.sequence_at(rule.depth.entries.text, *entries) : std::nullopt;
    plan.depth_in_entries = depth.has_value();
    if (!depth) depth = tree.sequence_at(rule.depth.entries.text, Tree::kRoot);
    if (depth) found_depth_.insert(plan.rule);

    Wanted wanted;  // node -> slot
    std::size_t last_of_message = 0;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const std::vector<std::string> name = split(map_.slot_names[i]);
      std::optional<std::size_t> node;
      const MessageSlots& slots = map_.messages[plan.rule];
      const bool is_of_depth = rule.depth.entries && (i == slots.depth || i == slots.depth_type);
      if (is_of_depth && depth) node = tree.field_in(*depth, name);
      for (std::size_t at = entries.value_or(Tree::kRoot); !node && !is_of_depth;) {
        node = tree.field_in(at, name);
        if (at == Tree::kRoot) break;
        at = tree.sequence_of(at);
      }
      // "Sequence.Field": the sequence of the entries may be part of the name.
      if (!node && !is_of_depth && name.size() > 1) {
        const std::string path = map_.slot_names[i].substr(0, map_.slot_names[i].rfind('.'));
        const auto named = tree.sequence_at(path, Tree::kRoot);
        if (named && entries && *named == *entries) node = tree.field_in(*named, {name.back()});
      }
      if (!node) continue;
      const SchemaNode& field = program_.nodes[*node];
      sources[i] = {.node = *node, .type = field.type, .type_info = field.type_info, .exists = true};
      wanted.emplace(*node, static_cast<std::uint8_t>(i));
      if (entries && tree.sequence_of(*node) == Tree::kRoot) last_of_message = std::max(last_of_message, *node);
    }
    plan.numbered = map_.message_number != kNoSlot && sources[map_.message_number].exists;
    if (depth && !plan.depth_in_entries) last_of_message = std::max(last_of_message, *depth);
    plan.two_passes = entries && last_of_message > *entries;
    if (plan.kind == MessageKind::Heartbeat) return;  // only its number counts, which is the header's

    plan.first_step = static_cast<std::uint32_t>(map_.steps.size());
    touched_ = item.root_block;
    last_needed_ = item.first_node;
    if (!wanted.empty()) last_needed_ = wanted.rbegin()->first + 1;
    if (entries) last_needed_ = std::max<std::size_t>(last_needed_, *entries + 1);
    root_block_ = item.root_block;
    entry_block_ = entries ? program_.nodes[*entries].element_block : kNoBlock;
    plan.places = static_cast<std::uint32_t>(map_.places.size());
    map_.places.push_back(kCopied);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      map_.places.back()[i].type = sources[i].type;
      map_.places.back()[i].form = form_of(sources[i].type);
    }
    steps(item, item.first_node, item.end_node, record::kHeaderWords, item.root_block, wanted, entries, depth);
    plan.end_step = static_cast<std::uint32_t>(map_.steps.size());
    make_runs(plan.first_step);
  }

  record::WordPlace place(std::uint16_t block, std::uint8_t word, std::size_t root_base,
                          std::uint16_t root_block) const {
    const std::size_t base = block == root_block ? root_base : 0;
    return record::WordPlace::of(program_.blocks[block], base, word);
  }

  void touch(std::uint16_t block) {
    if (block == touched_) return;
    map_.steps.push_back({.op = Step::Op::Touch, .block = block});
    touched_ = block;
  }

  void steps(const Template& item, std::size_t first, std::size_t end, std::size_t root_base, std::uint16_t root_block,
             const Wanted& wanted, std::optional<std::size_t> entries, std::optional<std::size_t> depth) {
    for (std::size_t i = first; i < end && i < last_needed_; i = program_.nodes[i].end) {
      const SchemaNode& node = program_.nodes[i];
      if (node.unstored) continue;
      switch (node.kind) {
        case NodeKind::Field: field(i, root_base, root_block, wanted); break;
        case NodeKind::Group: {
          const std::size_t at = map_.steps.size();
          if (node.optional) {
            map_.steps.push_back({.op = Step::Op::Group,
                                  .place = place(node.block, node.word, root_base, root_block),
                                  .block = node.block});
            touched_ = node.block;
          }
          steps(item, i + 1, node.end, root_base, root_block, wanted, entries, depth);
          if (node.optional) {
            map_.steps[at].end = static_cast<std::uint32_t>(map_.steps.size());
            touched_ = kNoBlock;  // which one is open depends on the record
          }
          break;
        }
        case NodeKind::Sequence: sequence(item, i, root_base, root_block, wanted, entries, depth); break;
        case NodeKind::Reference:
          error(source_.messages[map_.plans[static_cast<std::size_t>(&item - program_.templates.data())].rule].range,
                "the template '" + name_of(item) +
                    "' has a dynamic reference before fields that the map needs; such templates cannot be mapped");
          return;
      }
    }
  }

  void make_runs(std::size_t first) {
    // A group that is absent leads to its end, which is not to be in the middle of a run.
    std::vector<bool> ends(map_.steps.size() + 1);
    for (std::size_t i = first; i < map_.steps.size(); ++i) {
      if (map_.steps[i].op == Step::Op::Group) ends[map_.steps[i].end] = true;
    }
    for (std::size_t i = first; i < map_.steps.size();) {
      Step& begin = map_.steps[i];
      if (!begin.fills()) {
        ++i;
        continue;
      }
      begin.checks.first = static_cast<std::uint32_t>(map_.checks.size());
      begin.copies.first = static_cast<std::uint32_t>(map_.copies.size());
      std::size_t end = i;
      do {
        add_to_run(begin, map_.steps[end++]);
      } while (!ends[end] && end < map_.steps.size() && map_.steps[end].fills() &&
               map_.steps[end].block == begin.block);
      begin.run = static_cast<std::uint16_t>(end - i);
      begin.checks.count = static_cast<std::uint32_t>(map_.checks.size()) - begin.checks.first;
      begin.copies.count = static_cast<std::uint32_t>(map_.copies.size()) - begin.copies.first;
      i = end;
    }
  }

  void add_to_run(Step& run, const Step& step) {
    const std::uint64_t slot = std::uint64_t{1} << step.slot;
    const bool is_decimal = step.op == Step::Op::Decimal;
    const bool is_text = step.op == Step::Op::Text;
    add_check(run.checks.first, step.place, slot, false);
    if (is_decimal) {
      add_check(run.checks.first, step.mantissa, slot, true);
      run.decimals |= slot;
    }
    const std::uint16_t value = (is_decimal ? step.mantissa : step.place).value_offset;
    const std::uint16_t exponent = step.place.value_offset;
    const auto in = is_text                      ? SlotPlace::In::Copy
                    : step.block == root_block_  ? SlotPlace::In::Root
                    : step.block == entry_block_ ? SlotPlace::In::Entry
                                                 : SlotPlace::In::Copy;
    if (in == SlotPlace::In::Copy) {
      map_.copies.push_back(
          {.value_offset = value, .exponent_offset = exponent, .slot = step.slot, .is_text = is_text});
    } else {
      SlotPlace& place = map_.places.back()[step.slot];
      place.value_offset = value;
      place.exponent_offset = exponent;
      place.in = in;
    }
  }

  void add_check(std::size_t first, const record::WordPlace& place, std::uint64_t slot, bool is_mantissa) {
    const auto offset = static_cast<std::uint16_t>(place.tag_offset & ~7U);
    const unsigned byte = place.tag_offset & 7U;
    auto at = std::find_if(map_.checks.begin() + static_cast<std::ptrdiff_t>(first), map_.checks.end(),
                           [&](const TagCheck& check) { return check.offset == offset; });
    if (at == map_.checks.end()) at = map_.checks.insert(at, {.offset = offset});
    at->mask |= std::uint64_t{0xFF} << 8 * byte;
    at->expected |= std::uint64_t{place.tag} << 8 * byte;
    at->slots[byte] |= slot;
    if (is_mantissa) at->mantissas |= static_cast<std::uint8_t>(1U << byte);
  }

  [[nodiscard]] static SlotPlace::Form form_of(FieldType type) noexcept {
    if (type == FieldType::Decimal) return SlotPlace::Form::Decimal;
    if (record::is_text(type)) return SlotPlace::Form::Text;
    return record::is_signed(type) ? SlotPlace::Form::Signed : SlotPlace::Form::Unsigned;
  }
  [[nodiscard]] static Step::Op op_of(FieldType type) noexcept {
    if (type == FieldType::Decimal) return Step::Op::Decimal;
    return record::is_text(type) ? Step::Op::Text : Step::Op::Word;
  }

  void field(std::size_t index, std::size_t root_base, std::uint16_t root_block, const Wanted& wanted) {
    const SchemaNode& node = program_.nodes[index];
    const auto [first, end] = wanted.equal_range(index);
    if (first == end && !node.constant) touch(node.block);
    for (auto at = first; at != end; ++at) {
      if (node.constant) {
        add_constant(node, at->second);
        continue;
      }
      Step step{.op = op_of(node.type),
                .type = node.type,
                .slot = at->second,
                .place = place(node.block, node.word, root_base, root_block),
                .block = node.block};
      if (node.type == FieldType::Decimal) {
        step.mantissa = place(node.block, static_cast<std::uint8_t>(node.word + 1), root_base, root_block);
      }
      map_.steps.push_back(step);
      touched_ = node.block;
    }
  }

  void sequence(const Template& item, std::size_t index, std::size_t root_base, std::uint16_t root_block,
                const Wanted& wanted, std::optional<std::size_t> entries, std::optional<std::size_t> depth) {
    const SchemaNode& node = program_.nodes[index];
    const auto first_wanted = wanted.upper_bound(index);
    const bool holds_entries = entries && *entries >= index && *entries < node.end;
    const bool has_wanted = first_wanted != wanted.end() && first_wanted->first < node.end;
    bool is_flat = true;
    for (std::size_t i = index + 1; i < node.end; ++i) {
      is_flat =
          is_flat && program_.nodes[i].kind != NodeKind::Sequence && program_.nodes[i].kind != NodeKind::Reference;
    }
    const std::size_t at = map_.steps.size();
    Step step{.op = Step::Op::Sequence,
              .place = place(node.block, node.word, root_base, root_block),
              .block = node.block,
              .element_block = node.element_block};
    step.stride = static_cast<std::uint16_t>(record::block_slots(0, program_.blocks[node.element_block].words));
    if (!holds_entries && !has_wanted && is_flat) {
      step.op = Step::Op::Skip;
      map_.steps.push_back(step);
    } else {
      if (entries == index) step.loop = Step::Loop::Entries;
      if (depth == index) step.loop = Step::Loop::Depth;
      map_.steps.push_back(step);
      touched_ = node.element_block;
      const std::size_t needed = std::exchange(last_needed_, node.end);  // an element has to be passed over whole
      steps(item, index + 1, node.end, root_base, root_block, wanted, entries, depth);
      last_needed_ = needed;
      std::uint64_t clears = 0;
      for (auto i = first_wanted; i != wanted.end() && i->first < node.end; ++i)
        clears |= std::uint64_t{1} << i->second;
      map_.steps[at].clears = clears;
      map_.plans[static_cast<std::size_t>(&item - program_.templates.data())].entry_slots |= clears;
    }
    map_.steps[at].end = static_cast<std::uint32_t>(map_.steps.size());
    touched_ = kNoBlock;
  }

  void add_constant(const SchemaNode& node, std::uint8_t slot) {
    const Constant& first = program_.constants[node.constant_index];
    Map::ConstantValue value;
    if (record::is_text(node.type)) {
      value.text = program_.constant_bytes(first.bytes());
      value.bits = record::word_of(value.text).value_or(hashed_text(value.text));
    } else if (node.type == FieldType::Decimal) {
      value.exponent = static_cast<std::int32_t>(first.value);
      value.bits = program_.constants[node.constant_index + std::size_t{1}].value;
    } else {
      value.bits = first.value;
    }
    map_.steps.push_back({.op = Step::Op::Constant,
                          .type = node.type,
                          .slot = slot,
                          .constant = static_cast<std::uint16_t>(map_.constants.size())});
    map_.constants.push_back(std::move(value));
    if (map_.constants.size() > 0xFFFF) error(places_[slot], "the templates have too many constants");
  }

  [[nodiscard]] static bool has_market_entries(const TemplatePlan& plan) {
    return plan.kind == MessageKind::Incremental || plan.kind == MessageKind::Snapshot;
  }
  [[nodiscard]] std::string name_of(const Template& item) const { return std::string(program_.name(item.name)); }

  // Fields that have to be there.

  /// Whether a template with that rule has the field. `rule` kNoIndex: any rule.
  [[nodiscard]] bool is_anywhere(std::uint8_t slot, std::uint16_t rule) const {
    for (std::size_t i = 0; i < map_.plans.size(); ++i) {
      if ((rule == kNoIndex || map_.plans[i].rule == rule) && sources_[i][slot].exists) return true;
    }
    return false;
  }
  [[nodiscard]] bool has_templates(std::uint16_t rule) const {
    return std::any_of(map_.plans.begin(), map_.plans.end(),
                       [&](const TemplatePlan& plan) { return plan.rule == rule; });
  }
  [[nodiscard]] bool is_optional(const Named& name) const {
    return std::any_of(source_.optional.begin(), source_.optional.end(),
                       [&](const Named& one) { return one.text == name.text; });
  }

  /// The names of all fields of templates with that rule, for suggestions.
  [[nodiscard]] std::vector<std::string> field_names(std::uint16_t rule, NodeKind kind) const {
    std::set<std::string, std::less<>> names;
    for (std::size_t i = 0; i < map_.plans.size() && names.size() < 4'096; ++i) {
      if (map_.plans[i].rule == kNoIndex || (rule != kNoIndex && map_.plans[i].rule != rule)) continue;
      const Template& item = program_.templates[i];
      for (std::size_t node = item.first_node; node < item.end_node; ++node) {
        if (program_.nodes[node].kind == kind) names.emplace(program_.name(program_.nodes[node].name));
      }
    }
    return {names.begin(), names.end()};
  }

  void refuse_field(const Named& name, std::uint16_t rule, NodeKind kind = NodeKind::Field) {
    if (is_full() || !refused_.insert(name.text + "/" + std::to_string(rule)).second) return;
    const std::string last = split(name.text).back();
    const std::string near = config::nearest(last, field_names(rule, kind));
    error(name.range, std::string("no template of ") + (rule == kNoIndex ? "the map" : "this rule") + " has a " +
                          (kind == NodeKind::Field ? "field" : "sequence") + " '" + name.text + "'" +
                          (near.empty() || near == last ? "" : "; did you mean '" + near + "'?"));
  }

  void need(const Named& name, std::uint16_t rule) {
    if (!name || is_optional(name)) return;
    if (!is_anywhere(slots_.find(name.text)->second, rule)) refuse_field(name, rule);
  }
  void need(const Condition& condition, std::uint16_t rule) {
    for (const Test& test : condition) need(test.field, rule);
  }

  void need_in(std::size_t index, const Named& name, std::string_view what) {
    if (!name || is_optional(name) || sources_[index][slots_.find(name.text)->second].exists) return;
    error(name.range,
          "the template '" + name_of(program_.templates[index]) + "' has no field '" + name.text + "', " +
              std::string(what) +
              (map_.plans[index].is_entry ? "; it is the entry itself, as its rule names no 'entries'" : ""));
  }

  void check_fields() {
    bool has_book_messages = false;
    bool has_increments = false;
    const auto rules = static_cast<std::uint16_t>(source_.messages.size());
    for (std::uint16_t i = 0; i < rules; ++i) {
      const MessageRule& rule = source_.messages[i];
      if (!has_templates(i)) continue;
      if (rule.entries && !found_entries_.contains(i)) refuse_field(rule.entries, i, NodeKind::Sequence);
      if (rule.depth.entries && !found_depth_.contains(i)) refuse_field(rule.depth.entries, i, NodeKind::Sequence);
      for (const Named* name : {&rule.group, &rule.within, &rule.number, &rule.processed, &rule.name, &rule.product,
                                &rule.step, &rule.session, &rule.depth.type, &rule.depth.depth}) {
        need(*name, i);
      }
      for (const Named& name : rule.key) need(name, i);
      for (const StateField& state : rule.states) need(state.field, i);
      for (const StateField& state : rule.entry_states) need(state.field, i);
      for (const Condition* condition :
           {&rule.first, &rule.last, &rule.refresh, &rule.removed, &rule.statistics_reset, &rule.simple}) {
        need(*condition, i);
      }
      has_increments = has_increments || rule.kind == MessageKind::Incremental;
      has_book_messages = has_book_messages || has_increments || rule.kind == MessageKind::Snapshot;
    }
    need(source_.message_number, kNoIndex);
    need(source_.entry_number, kNoIndex);
    need(source_.time, kNoIndex);
    need(source_.product, kNoIndex);
    need(source_.complex, kNoIndex);
    for (std::size_t i = 0; i < map_.plans.size(); ++i) check_template(i);
    if (!has_book_messages) return;
    need(source_.end_when, kNoIndex);
    for (const EntryRule& rule : source_.entries) {
      need(rule.when, kNoIndex);
      for (const Named* name : {&rule.side_field, &rule.statistic_field, &rule.price, &rule.quantity, &rule.id}) {
        need(*name, kNoIndex);
      }
    }
    for (const BookRule& book : source_.books) {
      // A file of snapshots alone has no actions.
      if (has_increments) need(book.action, kNoIndex);
      for (const Named* name : {&book.position, &book.price, &book.quantity, &book.count, &book.id}) {
        need(*name, kNoIndex);
      }
    }
  }

  void check_template(std::size_t index) {
    const TemplatePlan& plan = map_.plans[index];
    if (plan.rule == kNoIndex) return;
    const MessageRule& rule = source_.messages[plan.rule];
    if (has_market_entries(plan)) {
      if (!plan.has_entries && !plan.is_entry) {
        error(rule.range, "the template '" + name_of(program_.templates[index]) + "' has no sequence '" +
                              rule.entries.text + "' of entries");
        return;
      }
      for (const Named& name : rule.key.empty() ? source_.key : rule.key) need_in(index, name, "a part of the key");
      need_in(index, source_.message_number, "the number of the message");
    }
    if (plan.kind == MessageKind::Incremental) need_in(index, source_.entry_number, "the number of an entry");
    if (!plan.numbered) return;
    // A scope that is looked for in the wrong place would make each such message a gap.
    const Tree tree(program_, program_.templates[index]);
    for (const Named& name : rule.scope.empty() ? source_.scope : rule.scope) {
      const std::vector<std::string> parts = split(name.text);
      std::optional<std::size_t> found = tree.field_in(Tree::kRoot, parts);
      if (!found && parts.size() > 1) {
        const auto sequence = tree.sequence_at(name.text.substr(0, name.text.rfind('.')), Tree::kRoot);
        if (sequence) found = tree.field_in(*sequence, {parts.back()});
      }
      if (!found) {
        error(name.range, "the template '" + name_of(program_.templates[index]) + "' has no field '" + name.text +
                              "' at its top, the scope of its number; a rule's own 'scope' can say where it is");
      }
    }
  }

  // Types.

  [[nodiscard]] std::size_t rows() const { return map_.values.size() + map_.translations.size() + map_.tests.size(); }

  void add_types(std::size_t index) {
    TemplatePlan& plan = map_.plans[index];
    if (plan.rule == kNoIndex) return;
    Sources types = sources_[index];
    for (Source& source : types) source.node = 0;
    const auto [at, is_new] = typed_.emplace(std::make_pair(plan.rule, types), map_.typed.size());
    plan.typed = static_cast<std::uint16_t>(at->second);
    if (!is_new) return;
    types_ = &at->first.second;
    const MessageRule& rule = source_.messages[plan.rule];
    TypedRules typed;
    for (const Source& source : types) {
      const bool has_elements = source.type == FieldType::Enum || source.type == FieldType::Set;
      typed.type_infos.push_back(source.exists && has_elements ? source.type_info : kNoTypeInfo);
    }
    typed.first = compile(rule.first);
    typed.last = compile(rule.last);
    typed.refresh = compile(rule.refresh);
    typed.removed = compile(rule.removed);
    typed.statistics_reset = compile(rule.statistics_reset);
    typed.simple = compile(rule.simple);
    typed.end_of_event = compile(source_.end_when);
    typed.depth_books = compile(rule.depth.books, map_.messages[plan.rule].depth_type);
    for (std::size_t i = 0; i < rule.states.size(); ++i) {
      typed.states[i] = compile(rule.states[i], map_.messages[plan.rule].states[i]);
    }
    for (std::size_t i = 0; i < rule.entry_states.size(); ++i) {
      typed.entry_states[i] = compile(rule.entry_states[i], map_.messages[plan.rule].entry_states[i]);
    }
    if (has_market_entries(plan)) {
      for (std::size_t i = 0; i < source_.books.size(); ++i) {
        typed.actions[i] = compile(source_.books[i].actions, map_.books[i].action);
      }
      for (const EntryRule& entry : source_.entries) typed.entries.push_back(compile(entry));
      index_rules(typed);
      list_deciding(typed);
      for (std::size_t i = 0; i < typed.entries.size(); ++i)
        check_book_entry(index, source_.entries[i], typed.entries[i]);
    }
    typed.number = static_cast<std::uint16_t>(map_.typed.size());
    map_.typed.push_back(std::move(typed));
  }

  /// An entry of a book needs fields for the place, the price and the quantity. A snapshot's template has them all;
  /// some templates of increments carry nothing but trades or statistics: their types do not tell, or they have none of
  /// these fields.
  void check_book_entry(std::size_t index, const EntryRule& rule, const CompiledEntry& compiled) {
    if ((rule.role != EntryRole::Book && !rule.also_book) || compiled.when.never || is_full()) return;
    const BookRule& book = source_.books[rule.book];
    const bool has_own = rule.role == EntryRole::Book;  // else they are the trade's
    const TemplatePlan& plan = map_.plans[index];
    const auto need_for_book = [&](const Named& name, std::string_view what) {
      if (!name || sources_[index][slot(name)].exists) return;
      if (plan.kind == MessageKind::Incremental && is_anywhere(slot(name), plan.rule)) return;
      if (refused_.insert(name.text + "/" + std::to_string(plan.rule)).second) need_in(index, name, what);
    };
    const auto& price = has_own && rule.price ? rule.price : book.price;
    const auto& quantity = has_own && rule.quantity ? rule.quantity : book.quantity;
    const auto exists = [&](const Named& name) { return name && sources_[index][slot(name)].exists; };
    const bool has_any =
        exists(book.action) || exists(book.position) || exists(book.id) || exists(price) || exists(quantity);
    if (plan.kind == MessageKind::Incremental && !has_any) return;
    if (plan.kind == MessageKind::Incremental) need_for_book(book.action, "the action of book entries");
    need_for_book(book.position, "the position of book entries");
    need_for_book(price, "the price of book entries");
    need_for_book(quantity, "the quantity of book entries");
  }

  CompiledEntry compile(const EntryRule& rule) {
    CompiledEntry entry{.when = compile(rule.when),
                        .role = rule.role,
                        .book = rule.book,
                        .side = rule.side,
                        .also_side = rule.also_side,
                        .also_book = rule.also_book,
                        .statistic = rule.statistic,
                        .side_slot = slot(rule.side_field),
                        .statistic_slot = slot(rule.statistic_field),
                        .price = slot(rule.price),
                        .quantity = slot(rule.quantity),
                        .id = slot(rule.id),
                        .sides = {},
                        .statistics = {}};
    if (!map_.books.empty()) {
      const CompiledBook& book = map_.books[rule.book];
      if (entry.price == kNoSlot) entry.price = book.price;
      if (entry.quantity == kNoSlot) entry.quantity = book.quantity;
    }
    entry.sides = compile(rule.sides, entry.side_slot);
    entry.statistics = compile(rule.statistics, entry.statistic_slot);
    return entry;
  }

  CompiledCondition compile(const Condition& condition) {
    CompiledCondition compiled;
    compiled.tests.first = static_cast<std::uint32_t>(map_.tests.size());
    for (const Test& test : condition) {
      CompiledTest one{.slot = slot(test.field), .absent = test.absent};
      const Source& source = (*types_)[one.slot];
      if (!source.exists) {
        if (test.absent) continue;  // always true
        compiled.never = true;
        note_literals(test.is);
        continue;
      }
      const bool has_no_bits = record::is_text(source.type) || source.type == FieldType::Decimal;
      if (has_no_bits && (test.any_of || test.none_of || test.above) &&
          refused_tests_.insert(test.field.range.offset).second) {
        error(test.field.range, "'" + test.field.text + "' is a " +
                                    (source.type == FieldType::Decimal ? "decimal" : "text") +
                                    ": 'any_of', 'none_of' and 'above' are for integers");
      }
      if (!test.is.empty()) {
        one.is.first = static_cast<std::uint32_t>(map_.values.size());
        std::uint64_t set = 0;
        for (const Literal& literal : test.is) {
          const auto bits = bits_of(literal, one.slot);
          if (!bits) continue;
          if (source.type == FieldType::Set) set |= *bits;
          map_.values.push_back(*bits);
        }
        one.is.count = static_cast<std::uint32_t>(map_.values.size()) - one.is.first;
        if (source.type == FieldType::Set) {
          one.how = CompiledTest::How::AnyOf;
          one.number = set;
        }
        if (one.is.count == 0 && !test.absent) compiled.never = true;
      } else if (test.any_of) {
        one.how = CompiledTest::How::AnyOf;
        one.number = *test.any_of;
      } else if (test.none_of) {
        one.how = CompiledTest::How::NoneOf;
        one.number = *test.none_of;
      } else if (test.above) {
        one.how = CompiledTest::How::Above;
        one.number = *test.above;
      } else {
        one.how = CompiledTest::How::Absent;
      }
      if (!one.absent && one.how != CompiledTest::How::Absent) compiled.needs |= std::uint64_t{1} << one.slot;
      map_.tests.push_back(one);
    }
    compiled.tests.count = static_cast<std::uint32_t>(map_.tests.size()) - compiled.tests.first;
    if (compiled.tests.count == 1 && !compiled.never) {
      const CompiledTest& test = map_.tests.back();
      if (test.how == CompiledTest::How::Is && test.is.count == 1 && !test.absent) {
        compiled.only_slot = test.slot;
        compiled.only = map_.values[test.is.first];
      }
    }
    return compiled;
  }

  template <class T>
  Span compile(const Table<T>& table, std::uint8_t slot) {
    Span span{.first = static_cast<std::uint32_t>(map_.translations.size())};
    if (slot == kNoSlot || !(*types_)[slot].exists) {
      for (const auto& [literal, value] : table) note_literal(literal);
      return span;
    }
    for (const auto& [literal, value] : table) {
      if (const auto bits = bits_of(literal, slot)) {
        map_.translations.push_back({.bits = *bits, .to = static_cast<std::uint16_t>(value)});
      }
    }
    span.count = static_cast<std::uint32_t>(map_.translations.size()) - span.first;
    return span;
  }

  /// The bits of a slot with this value; nothing if the field cannot have it.
  Span compile(const StateField& state, std::uint8_t slot) {
    const Source& source = (*types_)[slot];
    if (state.letters != 0 && source.exists && !record::is_text(source.type)) {
      error(state.field.range, "'letters' is for texts, and the field '" + state.field.text + "' is none");
    }
    return compile(source_.scales[state.scale].states, slot);
  }

  std::optional<std::uint64_t> bits_of(const Literal& literal, std::uint8_t slot) {
    const Source& source = (*types_)[slot];
    const auto bits = bits_for(literal, slot, source);
    auto& seen = literals_[literal.range.offset];
    seen.literal = &literal;
    seen.was_tried = true;
    // A name of [names] is right, though the enumeration of this version does not have it.
    seen.has_meaning = seen.has_meaning || bits.has_value() || is_listed(literal, slot);
    if (!bits && (source.type == FieldType::Enum || source.type == FieldType::Set)) seen.enumeration = source.type_info;
    return bits;
  }
  [[nodiscard]] bool is_listed(const Literal& literal, std::uint8_t slot) const {
    return std::any_of(source_.names.begin(), source_.names.end(), [&](const auto& names) {
      return names.first.text == map_.slot_names[slot] &&
             std::find(names.second.begin(), names.second.end(), literal.text) != names.second.end();
    });
  }
  /// The field is not in this template: the literal still has to mean something in another one.
  void note_literal(const Literal& literal) { literals_[literal.range.offset].literal = &literal; }
  void note_literals(const std::vector<Literal>& list) {
    for (const Literal& literal : list) note_literal(literal);
  }

  std::optional<std::uint64_t> bits_for(const Literal& literal, std::uint8_t slot, const Source& source) const {
    if (record::is_text(source.type)) return record::word_of(literal.text).value_or(hashed_text(literal.text));
    switch (source.type) {
      case FieldType::Enum:
      case FieldType::Set: {
        const TypeInfo& type = program_.type_infos[source.type_info];
        for (std::uint32_t i = 0; i < type.element_count; ++i) {
          const Element& element = program_.elements[type.first_element + i];
          if (program_.name(element.name) != literal.text && program_.name(element.label) != literal.text) continue;
          return source.type == FieldType::Set ? std::uint64_t{1} << i : std::uint64_t{i};
        }
        return std::nullopt;
      }
      case FieldType::Decimal: return std::nullopt;
      default: break;
    }
    if (!literal.is_text) return literal.number;
    for (const auto& [field, list] : source_.names) {
      if (field.text != map_.slot_names[slot]) continue;
      const auto at = std::find(list.begin(), list.end(), literal.text);
      if (at != list.end()) return static_cast<std::uint64_t>(at - list.begin());
    }
    const bool is_number = !literal.text.empty() && literal.text.size() <= 18 &&
                           std::all_of(literal.text.begin(), literal.text.end(), is_digit);
    if (!is_number) return std::nullopt;
    std::uint64_t number = 0;
    for (const char c : literal.text) number = number * 10 + static_cast<std::uint64_t>(c - '0');
    return number;
  }

  /// A value that no template's field can have is a wrong name.
  void check_literals() {
    for (const auto& [offset, seen] : literals_) {
      if (!seen.was_tried || seen.has_meaning || is_full()) continue;
      std::vector<std::string> names;
      if (seen.enumeration != kNoTypeInfo) {
        const TypeInfo& type = program_.type_infos[seen.enumeration];
        for (std::uint32_t i = 0; i < std::min<std::uint32_t>(type.element_count, 4'096); ++i) {
          const Element& element = program_.elements[type.first_element + i];
          names.emplace_back(program_.name(element.name));
          names.emplace_back(program_.name(element.label));
        }
      } else {
        for (const auto& [field, list] : source_.names) names.insert(names.end(), list.begin(), list.end());
      }
      const std::string near = config::nearest(seen.literal->text, names);
      error(seen.literal->range, "the field has no value '" + seen.literal->text + "'" +
                                     (near.empty() ? "" : "; did you mean '" + near + "'?"));
    }
  }

  void index_rules(TypedRules& typed) const {
    std::array<std::size_t, kMaxFields> uses{};
    for (const CompiledEntry& entry : typed.entries) {
      for (std::uint32_t i = 0; i < entry.when.tests.count; ++i) {
        const CompiledTest& test = map_.tests[entry.when.tests.first + i];
        if (test.how == CompiledTest::How::Is) ++uses[test.slot];
      }
    }
    const auto most = std::max_element(uses.begin(), uses.end());
    if (*most != 0) typed.decisive = static_cast<std::uint8_t>(most - uses.begin());
    for (std::size_t rule = 0; rule < typed.entries.size(); ++rule) {
      const CompiledCondition& when = typed.entries[rule].when;
      if (when.never) continue;
      const std::uint64_t bit = std::uint64_t{1} << rule;
      std::array<bool, 257> may{};
      may.fill(true);
      for (std::uint32_t i = 0; i < when.tests.count; ++i) {
        const CompiledTest& test = map_.tests[when.tests.first + i];
        if (test.slot != typed.decisive || test.how != CompiledTest::How::Is) continue;
        std::array<bool, 257> these{};
        these[256] = test.absent;
        for (std::uint32_t value = 0; value < test.is.count; ++value) {
          these[map_.values[test.is.first + value] & 0xFF] = true;
        }
        for (std::size_t at = 0; at < may.size(); ++at) may[at] = may[at] && these[at];
      }
      for (std::size_t at = 0; at < may.size(); ++at) typed.candidates[at] |= may[at] ? bit : 0;
    }
  }

  void list_deciding(TypedRules& typed) const {
    const auto add = [&](std::uint8_t slot) {
      const auto end = typed.deciding.begin() + typed.deciding_count;
      if (slot == kNoSlot || end == typed.deciding.end() || std::find(typed.deciding.begin(), end, slot) != end) return;
      *end = slot;
      ++typed.deciding_count;
      typed.deciding_slots |= std::uint64_t{1} << slot;
    };
    add(typed.decisive);
    for (const CompiledBook& book : map_.books) add(book.action);
    for (const CompiledEntry& entry : typed.entries) {
      if (entry.when.never) continue;
      add(entry.side_slot);
      for (std::uint32_t i = 0; i < entry.when.tests.count; ++i) add(map_.tests[entry.when.tests.first + i].slot);
    }
  }

  [[nodiscard]] bool is_full() const { return errors_ >= kMaxErrors; }

  void error(const SourceRange& range, std::string message) {
    if (is_full()) return;
    if (++errors_ == kMaxErrors) message = "there are more errors than these";
    diagnostics_.error(ErrorCode::None, range, std::move(message));
  }

  struct Seen {
    const Literal* literal = nullptr;
    bool was_tried = false;
    bool has_meaning = false;
    std::uint16_t enumeration = kNoTypeInfo;
  };

  Map& map_;
  const MapSource& source_;
  const Program& program_;
  Diagnostics& diagnostics_;
  std::map<std::string, std::uint8_t, std::less<>> slots_;
  std::vector<SourceRange> places_;  ///< Of slots: where the map names them first.
  bool too_many_ = false;
  std::size_t errors_ = 0;
  std::uint64_t work_ = 0;
  std::vector<Sources> sources_;         ///< By template.
  std::set<std::size_t> refused_tests_;  ///< By place: one error each, though several templates have the field.
  std::set<std::uint16_t> found_entries_, missing_entries_, found_depth_;
  std::set<std::string> refused_;
  std::map<std::pair<std::uint16_t, Sources>, std::size_t> typed_;
  const Sources* types_ = nullptr;
  std::map<std::size_t, Seen> literals_;  ///< By place in the map's text.
  std::uint16_t touched_ = kNoBlock;
  std::uint16_t root_block_ = kNoBlock;   ///< Of the template.
  std::uint16_t entry_block_ = kNoBlock;  ///< Of its entries.
  std::size_t last_needed_ = 0;
};

}  // namespace

std::uint64_t hashed_text(std::string_view text) noexcept {
  return (fnv1a(text) & 0x00FF'FFFF'FFFF'FFFF) | std::uint64_t{kHashedText} << 56;
}

bool matches(std::string_view pattern, std::string_view name) noexcept {
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = std::string_view::npos;
  std::size_t after = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++after;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::optional<Map> compile_map(MapSource source, const Program& program, Diagnostics& diagnostics) {
  const std::size_t errors = diagnostics.errors();
  Map map;
  map.source = std::move(source);
  Compiler(map, program, diagnostics).run();
  if (diagnostics.errors() != errors) return std::nullopt;
  return map;
}

Status set_depth(Map& map, std::uint64_t depth) {
  const auto direct = std::find_if(map.books.begin(), map.books.end(),
                                   [](const CompiledBook& book) { return book.of == BookOf::Direct; });
  const bool is_by_level = direct != map.books.end() && direct->kind == BookKind::Level;
  if (!is_by_level && (direct == map.books.end() || direct->kind != BookKind::Price)) {
    return Failure{"the map has no book by level or by price"};
  }
  const std::uint64_t most = is_by_level ? LevelBook::kMaxDepth : PriceBook::kMaxRows;
  if (depth == 0 || depth > most) return Failure{"from 1 to " + std::to_string(most)};
  direct->depth = static_cast<std::uint32_t>(depth);
  return Done{};
}

}  // namespace stopbit::market
