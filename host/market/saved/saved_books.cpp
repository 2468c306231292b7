#include "host/market/saved/saved_books.hpp"

#include <string>

namespace stopbit::market {
namespace {

/// Whether the slot is an entry of a snapshot, and nothing else.
bool is_entry_of_snapshot(const record::Slot& slot) noexcept {
  const Event event = Event::from(slot);
  Content content = event.content();
  const bool has_side = content.side == Side::Bid || content.side == Side::Ask;
  const bool is_entry = content.kind == Kind::New || content.kind == Kind::Delete;
  if (!is_event(slot) || !is_entry || !has_side || content.flags != record::kFlagSnapshot) return false;
  if (content.instrument != kAllInstruments) return false;
  const Event again = Event::of(content);
  return std::memcmp(again.words, event.words, sizeof(again.words)) == 0;
}

bool is_good(const SavedRow& row) noexcept {
  return row.kind == SavedKind::Row && row.key_bytes <= kInstrumentKeyBytes && row.name_bytes <= kInstrumentNameBytes &&
         row.product_bytes <= kInstrumentProductBytes && (row.entries == 0 || (row.has & kSavedBook) != 0);
}

}  // namespace

Result<SavedBooks> SavedBooks::over(std::span<const std::byte> bytes) {
  constexpr std::size_t kLeast = sizeof(SavedHead) + sizeof(SavedEnd);
  if (bytes.size() < sizeof(SavedHead)) return Failure{"it is too short"};
  SavedBooks made;
  std::memcpy(static_cast<void*>(&made.head_), bytes.data(), sizeof(made.head_));
  if (made.head_.magic != kSavedMagic) return Failure{"it is not a file of saved books"};
  if (made.head_.version != kSavedVersion) {
    return Failure{"it has version " + std::to_string(made.head_.version) + ", not " + std::to_string(kSavedVersion)};
  }
  if (bytes.size() < kLeast || bytes.size() % record::kSlotBytes != 0) return Failure{"its end is missing"};
  made.slots_ = {reinterpret_cast<const record::Slot*>(bytes.data()), bytes.size() / record::kSlotBytes};
  const std::span<const record::Slot> content = made.slots_.first(made.slots_.size() - 1);
  std::memcpy(static_cast<void*>(&made.end_), &made.slots_.back(), sizeof(made.end_));
  if (made.end_.kind != SavedKind::End || made.end_.slots != made.slots_.size()) return Failure{"its end is missing"};
  SavedSum sum;
  for (const record::Slot& slot : content) sum.add(slot);
  if (made.end_.check != sum.with(made.end_)) return Failure{"it is damaged"};
  std::size_t at = 1;
  for (std::uint32_t i = 0; i < made.end_.rows; ++i) {
    SavedRow row;
    if (content.size() - at < kSavedRowSlots) return Failure{"it contradicts itself"};
    std::memcpy(static_cast<void*>(&row), &content[at], sizeof(row));
    at += kSavedRowSlots;
    if (!is_good(row) || row.entries > content.size() - at) return Failure{"it contradicts itself"};
    for (const record::Slot& slot : content.subspan(at, row.entries)) {
      if (!is_entry_of_snapshot(slot)) return Failure{"it contradicts itself"};
    }
    at += row.entries;
  }
  if (at != content.size()) return Failure{"it contradicts itself"};
  return made;
}

}  // namespace stopbit::market
