#include "host/market/stage/saver.hpp"

#include <algorithm>
#include <utility>

namespace stopbit::market {
namespace {

constexpr BookOf kBooks[] = {BookOf::Direct, BookOf::Implied};
constexpr Side kSides[] = {Side::Bid, Side::Ask};

/// Whether its events would make the same books.
bool is_pictured(const BookSet& books, std::uint32_t row) noexcept {
  bool has_any = false;
  for (const BookOf of : kBooks) {
    const AnyBook* const book = books.find(row, of);
    has_any = has_any || (book != nullptr && book->kind() != BookKind::None);
    for (const Side side : kSides) {
      if (!is_pictured(books, row, side, of)) return false;
    }
  }
  return has_any;
}

/// What a row of the table and a saved one both have.
template <class From, class To>
void copy_common(const From& from, To& to) noexcept {
  to.session = from.session;
  to.complex = from.complex;
  to.tick = from.tick;
  to.first_number = from.first_number;
  to.first_ns = from.first_ns;
  to.definition_ns = from.definition_ns;
  to.definition_sequence = from.definition_sequence;
  to.definition_channel = from.definition_channel;
  to.flags = from.flags;
  to.channel = from.channel;
  std::copy(std::begin(from.depth), std::end(from.depth), to.depth);
  std::copy(std::begin(from.book_kind), std::end(from.book_kind), to.book_kind);
}

template <std::size_t N>
std::uint8_t put(char (&to)[N], std::string_view text) noexcept {
  std::memcpy(to, text.data(), std::min(text.size(), N));
  return static_cast<std::uint8_t>(std::min(text.size(), N));
}

}  // namespace

SavedRow Translator::saved(std::uint32_t row) const noexcept {
  const InstrumentRow& from = instruments_.row(row);
  SavedRow to;
  copy_common(from, to);
  to.key_bytes = put(to.key, key_of(from));
  to.name_bytes = put(to.name, instrument_name(from));
  to.product_bytes = put(to.product, product_of(from));
  const SyncChannel* const home = recovery_.of_row(row);
  if (home == nullptr || row > books_.instruments()) return to;
  to.channel = home->channel();
  to.era = home->era();
  to.newest = home->newest();
  to.sent_ns = restarts_.sent_ns(row);
  if (recovery_.has_increments(row)) to.has |= kSavedIncrements;
  const std::uint32_t product = products_.of(row);
  if (product != 0) to.scope = products_.name(product);
  const auto at = home->sync().pictured(row);
  if (!at || !is_pictured(books_, row) || (scope_ == ScopeOf::Product && product == 0)) return to;
  std::uint32_t entries = 0;
  for (const BookOf of : kBooks) {
    for (const Side side : kSides) entries += entry_count(books_, row, side, of);
  }
  if (entries > home->picture_room()) return to;
  to.has |= kSavedBook;
  to.number = at->number;
  to.message = at->message;
  to.entries = entries;
  return to;
}

Translator::Restored Translator::restore(const SavedBooks& saved, std::span<const Left> left,
                                         std::uint64_t now_ns) noexcept {
  Restored restored;
  saved.for_each([&](const SavedRow& from, std::span<const Event> events) {
    message_ = {.arrival_ns = now_ns,
                .sequence = static_cast<std::uint32_t>(from.newest),
                .channel = from.channel,
                .flags = record::kFlagSnapshot};
    const std::uint32_t row = restore_instrument(from);
    if (row == 0) return;
    ++restored.instruments;
    if ((from.has & kSavedBook) != 0 && restore_book(row, from, events, left)) ++restored.books;
    writer_.flush(true);
    if (writer_.has_faulty()) recovery_.distrust_faulty();
  });
  message_ = {};
  return restored;
}

Translator::Restored Translator::restore_definitions(const SavedBooks& saved, std::uint64_t since_ns,
                                                     std::uint64_t now_ns) noexcept {
  // The exchange may use other keys today: as many new instruments as the file's process has seen find room.
  std::uint32_t seen = 0;
  saved.for_each([&](const SavedRow& from, std::span<const Event>) { seen += from.first_ns != 0 ? 1 : 0; });
  const std::uint32_t room = std::min(instruments_.view().capacity(), books_.instruments());
  const std::uint32_t most = room - std::min(room, seen);
  Restored restored;
  saved.for_each([&](const SavedRow& from, std::span<const Event>) {
    if ((from.flags & kRowDefined) == 0 || from.definition_ns < since_ns) return;
    if (restored.instruments == most) {
      ++restored.left_out;
      return;
    }
    SavedRow row;
    row.flags = from.flags | kRowEarlier;
    row.tick = from.tick;
    row.definition_ns = from.definition_ns;
    row.definition_sequence = from.definition_sequence;
    row.definition_channel = from.definition_channel;
    row.channel = from.channel;
    set_books(map_, row);
    row.key_bytes = put(row.key, {from.key, from.key_bytes});
    row.name_bytes = put(row.name, {from.name, from.name_bytes});
    row.product_bytes = put(row.product, {from.product, from.product_bytes});
    message_ = {.arrival_ns = now_ns, .channel = from.channel, .flags = record::kFlagSnapshot};
    if (restore_instrument(row) != 0) ++restored.instruments;
    writer_.flush(true);
  });
  message_ = {};
  return restored;
}

/// Trading states are not taken over: they may be others by now.
std::uint32_t Translator::restore_instrument(const SavedRow& saved) noexcept {
  const std::string_view key(saved.key, saved.key_bytes);
  if ((saved.flags & kRowRemoved) != 0 || instruments_.view().find(key) != 0) return 0;
  const std::uint32_t number = instruments_.add(key, [&](InstrumentRow& row) {
    copy_common(saved, row);
    InstrumentTable::set_product(row, {saved.product, saved.product_bytes});
  });
  if (number == 0) return 0;
  if (saved.name_bytes != 0) {
    instruments_.change(number, [&](InstrumentRow& row) {
      instruments_.set_name(row, {saved.name, saved.name_bytes});
      row.flags = saved.flags;
    });
  }
  directory_.note_restored(number);
  if (number > books_.instruments()) return number;
  for (std::size_t i = 0; i < map_.books.size(); ++i) {
    (void)shapes_.set_depth(number, i, saved.depth[static_cast<std::size_t>(map_.books[i].of)]);
  }
  shapes_.set_tick(number, saved.tick);
  if ((saved.flags & kRowDefined) != 0) writer_.emit(message_.content(Kind::Definition, number));
  return number;
}

bool Translator::restore_book(std::uint32_t row, const SavedRow& saved, std::span<const Event> events,
                              std::span<const Left> left) noexcept {
  if (row > books_.instruments()) return false;
  const auto goes_on = std::find_if(
      left.begin(), left.end(), [&](const Left& one) { return one.channel == saved.channel && one.era == saved.era; });
  SyncChannel* const home = recovery_.of(saved.channel);
  if (goes_on == left.end() || home == nullptr) return false;
  // A picture that is ahead of its channel is not one that a process has followed.
  const bool is_ahead = saved.message > saved.newest || (scope_ == ScopeOf::Channel && saved.number > saved.newest);
  if (is_ahead) return false;
  if (!home->resume_after(saved.newest, goes_on->last)) return false;
  if (!recovery_.settle(row, *home, (saved.has & kSavedIncrements) != 0)) return false;
  if (scope_ == ScopeOf::Product) {
    const std::uint32_t product = products_.find_or_add(saved.scope);
    if (product == 0) return false;
    home->attach(row, product);
  }
  if (!home->restore(row, {.number = saved.number, .message = saved.message}, events)) return false;
  std::uint64_t& known = restored_[restored_index(row)];
  if (known == 0 && saved.number != 0) ++restored_left_;
  known = std::max(known, saved.number);
  // What the exchange did meanwhile is not known, as after a loss.
  if (restarts_.has_rows()) restarts_.note(row, saved.number, ~std::uint64_t{0}, saved.sent_ns);
  return true;
}

/// The first number of an instrument or product whose book was restored. All messages are later than the picture: if
/// a first number is not, the exchange began anew while no process ran.
void Translator::judge_restored(std::uint32_t of, std::uint64_t number) noexcept {
  --restored_left_;
  if (number > std::exchange(restored_[of], 0)) return;
  for (std::uint32_t row = 1; row <= instruments_.count(); ++row) {
    if (recovery_.of_row(row) != increments_) continue;
    if (std::exchange(restored_[restored_index(row)], 0) != 0) --restored_left_;
  }
  increments_->forget(Cause::Reset);
  increments_->enter();
}

void Translator::begin_era(std::uint16_t channel, std::uint64_t era) noexcept {
  if (SyncChannel* const known = recovery_.of(channel)) known->set_era(era);
}

void Translator::continue_eras(Translator& before) noexcept {
  // Books begin anew, and numbers go on: what was saved before is still of use.
  recovery_.for_each_channel([&](SyncChannel& channel) { channel.set_era(before.era(channel.channel())); });
}

void Translator::begin_anew(std::uint16_t channel, std::uint64_t now_ns) noexcept {
  SyncChannel* const known = recovery_.of(channel);
  if (known == nullptr) return;
  message_ = {.arrival_ns = now_ns, .channel = channel};
  known->forget(Cause::Reset);
  writer_.flush(true);
}

}  // namespace stopbit::market
