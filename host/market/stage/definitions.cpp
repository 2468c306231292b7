#include <algorithm>
#include <array>

#include "host/market/stage/condition.hpp"
#include "host/market/stage/translator.hpp"

namespace stopbit::market {

void Translator::definition() noexcept {
  const Key key = directory_.find();
  if (!key.exists() || key.row == 0) {
    ++(key.exists() ? counts_.refused : counts_.nameless);
    forget_depths();
    return;
  }
  const bool is_removed = !message_.rule->removed.empty() && holds(message_.typed->removed);
  bool is_wide = false;
  const std::int64_t tick =
      values_.has(message_.slots->step) ? amounts_.price(message_.slots->step, is_wide) : kNoPrice;
  bool has_depth = false;
  if (!message_.rule->depth.entries && values_.has(message_.slots->depth))
    depth_[0] = as_level(amounts_.integer(message_.slots->depth));
  for (std::size_t i = 0; i < kMaxBooks; ++i) {
    has_depth = shapes_.set_depth(key.row, i, depth_[i]) || has_depth;
  }
  forget_depths();
  bool has_moved = false;
  const std::uint8_t product = message_.slots->product != kNoSlot ? message_.slots->product : map_.product;
  instruments_.change(key.row, [&](InstrumentRow& row) {
    const bool was_earlier = (row.flags & kRowEarlier) != 0;
    if (was_earlier && message_.rule->adds_rows && !is_removed) forget_earlier(row);
    std::array<char, 8> room;
    if (values_.has(message_.slots->name) && values_.is_text(message_.slots->name)) {
      instruments_.set_name(row, values_.text(message_.slots->name, room));
    }
    if (tick > 0) {
      has_moved = !was_earlier && row.tick != 0 && row.tick != tick;
      row.tick = tick;
    }
    for (std::size_t i = 0; i < map_.books.size(); ++i) {
      const std::uint16_t depth = shapes_.depth(key.row, i);
      if (depth != 0) row.depth[static_cast<std::size_t>(map_.books[i].of)] = depth;
    }
    if (has_moved) row.flags |= kRowTickMoved;
    if (message_.rule->adds_rows) row.flags |= kRowDefined;
    if (is_removed) row.state = static_cast<std::uint8_t>(TradingState::Ended);
    row.flags = is_removed ? row.flags | kRowRemoved : row.flags & ~kRowRemoved;
    row.definition_ns = message_.arrival_ns;
    row.definition_sequence = message_.sequence;
    row.definition_channel = message_.channel;
  });
  if (has_moved) ++counts_.tick_moves;
  shapes_.set_tick(key.row, tick);
  if (has_depth && shapes_.is_defined(key.row)) recovery_.reshape(key.row);
  directory_.join_group(key.row, product);
  writer_.emit(message_.content(is_removed ? Kind::Removed : Kind::Definition, key.row));
  if (is_removed) return;
  states(message_.slots->states, message_.typed->states, message_.rule->states, true);
  if (message_.plan->has_entries)
    states(message_.slots->entry_states, message_.typed->entry_states, message_.rule->entry_states, true);
}

/// Nothing of what was defined on an earlier day is part of the definition that has come now.
void Translator::forget_earlier(InstrumentRow& row) const noexcept {
  row.flags &= ~(kRowEarlier | kRowNameCut | kRowTickMoved);
  instruments_.set_name(row, {});
  InstrumentTable::set_product(row, {});
  row.tick = 0;
  row.complex = 0;
}

/// The depths of an entry are not those of the next one. A list of the message itself is for all its entries.
void Translator::forget_depths() noexcept {
  if (message_.plan->depth_in_entries) std::fill(std::begin(depth_), std::end(depth_), std::uint16_t{0});
}

void Translator::depth_element() noexcept {
  if (!values_.has(message_.slots->depth)) return;
  std::uint16_t book = 0;
  if (message_.slots->depth_type != kNoSlot) {
    if (!values_.has(message_.slots->depth_type)) return;
    const auto known = map_.translate(message_.typed->depth_books, values_.bits(message_.slots->depth_type));
    if (!known) return;
    book = *known;
  }
  // A list without types may have several feeds' depths. The greatest one drops no row that the exchange has.
  depth_[book] = std::max(depth_[book], as_level(amounts_.integer(message_.slots->depth)));
}

/// The states in some slots: of the instrument if the message has its key, else of a group, else of all. Of several
/// fields the last one counts whose value its scale has.
void Translator::states(std::span<const std::uint8_t> slots, std::span<const Span> scales,
                        std::span<const StateField> fields, bool only_if_new) noexcept {
  bool has_any = false;
  bool has_known = false;
  TradingState state = TradingState::Unknown;
  std::uint64_t code = 0;
  std::uint8_t scale = 0;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!values_.has(slots[i])) continue;
    const std::uint8_t letters = fields[i].letters;
    const std::uint64_t bits = letters == 0 ? values_.bits(slots[i]) : values_.first_letters(slots[i], letters);
    const auto known = map_.translate(scales[i], bits);
    if (!known && has_any) continue;
    has_any = true;
    has_known = has_known || known;
    state = static_cast<TradingState>(known.value_or(0));
    code = bits;
    scale = fields[i].scale;
  }
  const bool resets = message_.plan->kind == MessageKind::State && !message_.rule->statistics_reset.empty() &&
                      !message_.plan->has_entries && holds(message_.typed->statistics_reset);
  if (!has_any && !resets) return;
  const auto take = [&](std::uint32_t row) {
    const StateCode said{state, static_cast<std::uint32_t>(code), scale};
    if (picture_ != nullptr) {
      // It counts if the snapshot does.
      Content event = message_.content(Kind::State, row);
      event.id = said.packed();
      if (has_known && row == picture_->row()) picture_->add(Event::of(event));
    } else if (has_any && !(only_if_new && (!has_known || states_.now(row) == state))) {
      states_.tell(row, said);
    }
    if (resets) {
      Content reset = message_.content(Kind::Statistic, row);
      reset.level = static_cast<std::uint16_t>(Statistic::Reset);
      writer_.emit(reset);
    }
  };
  const bool is_of_group = message_.plan->kind == MessageKind::State && slots.data() == message_.slots->states.data();
  const Key key = directory_.find();
  if (key.exists()) {
    if (key.row == 0) {
      ++counts_.refused;
      return;
    }
    return take(key.row);
  }
  if (!is_of_group) return;
  if (values_.has(message_.slots->group)) {
    const std::uint64_t group = values_.bits(message_.slots->group);
    const bool is_limited = values_.has(message_.slots->within);
    // A later instrument may be outside the limit.
    if (has_any && !is_limited) directory_.groups().set_state(group, state, code, scale);
    const std::uint64_t within = is_limited ? values_.bits(message_.slots->within) + 1 : 0;
    const bool is_simple = is_limited && !message_.rule->simple.empty() && holds(message_.typed->simple);
    return directory_.groups().for_each(group, [&](std::uint32_t row) {
      if (!afford(1)) return;
      const std::uint64_t complex = instruments_.row(row).complex;
      if (!is_limited || complex == within || (complex == 0 && is_simple)) take(row);
    });
  }
  if (message_.slots->group != kNoSlot || key.found == Key::Found::Part) {
    ++counts_.nameless;
    return;
  }
  if (!afford(instruments_.view().capacity())) return;
  if (has_any) instruments_.set_channel_state(static_cast<std::uint32_t>(state));
  take(kAllInstruments);
}

}  // namespace stopbit::market
