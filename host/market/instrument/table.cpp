#include "host/market/instrument/table.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "host/os/random.hpp"
#include "host/os/shm/folder.hpp"
#include "host/os/shm/name.hpp"
#include "microcode/base/nearest.hpp"

namespace stopbit::market {
namespace {

constexpr int kTries = 1'000;  ///< To copy a row while its writer changes it.
constexpr std::size_t kRowWords = sizeof(InstrumentRow) / sizeof(std::uint64_t);

template <class T>
T load(const T& from, int order = __ATOMIC_RELAXED) noexcept {
  return __atomic_load_n(&from, order);
}
template <class T>
void store(T& to, T value, int order = __ATOMIC_RELAXED) noexcept {
  __atomic_store_n(&to, value, order);
}

std::uint8_t put(char* to, std::size_t room, std::string_view text) noexcept {
  const std::size_t size = std::min(room, text.size());
  std::memset(to, 0, room);
  if (size != 0) std::memcpy(to, text.data(), size);
  return static_cast<std::uint8_t>(size);
}

}  // namespace

Result<InstrumentView> InstrumentView::open(std::string_view name, const os::Accepted& accepted) {
  Result<os::FoundFile> found = os::open_accepted(name, kInstrumentSuffix, "instrument table", accepted);
  if (!found) return Failure{found.message()};
  os::FoundFile file = std::move(found).value();
  struct stat info {};
  if (::fstat(file.file.get(), &info) != 0) return Failure{os::system_error("read", file.path)};
  const auto bytes = static_cast<std::size_t>(std::max<off_t>(info.st_size, 0));
  if (bytes < kInstrumentHeaderBytes) return Failure{file.path + " is not an instrument table: it is too short"};
  os::Mapping mapping;
  if (!mapping.map(file.file, bytes, os::Mapping::Use::Read)) return Failure{os::system_error("map", file.path)};
  Result<InstrumentView> checked = over({mapping.data(), bytes});
  if (mapping.is_broken()) return Failure{file.path + " was truncated while it was opened"};
  if (!checked) return Failure{file.path + " " + checked.message()};
  InstrumentView view = std::move(checked).value();
  view.mapping_ = std::move(mapping);
  view.path_ = std::move(file.path);
  view.file_ = std::move(file.file);
  return view;
}

Result<std::uint32_t> capacity_of(const InstrumentHeader& header, std::uint64_t bytes) {
  if (load(header.magic) != kInstrumentMagic) return Failure{"is not an instrument table"};
  if (load(header.schema_version) != kInstrumentSchemaVersion || load(header.row_bytes) != sizeof(InstrumentRow)) {
    return Failure{"has version " + std::to_string(load(header.schema_version)) +
                   " of the instrument table, and this program reads version " +
                   std::to_string(kInstrumentSchemaVersion)};
  }
  const std::uint32_t capacity = load(header.capacity);
  const std::uint32_t slots = load(header.index_slots);
  if (capacity == 0 || capacity > kMaxInstruments || slots != instrument_index_slots(capacity) ||
      instrument_table_bytes(capacity) > bytes) {
    return Failure{"is damaged: its sizes do not fit each other"};
  }
  return capacity;
}

Result<InstrumentView> InstrumentView::over(std::span<const std::byte> memory) {
  if (memory.size() < kInstrumentHeaderBytes) return Failure{"is not an instrument table: it is too short"};
  const Result<std::uint32_t> capacity =
      capacity_of(*reinterpret_cast<const InstrumentHeader*>(memory.data()), memory.size());
  if (!capacity) return capacity.failure();
  return InstrumentView(memory.data(), capacity.value(),
                        static_cast<std::uint32_t>(instrument_index_slots(capacity.value())));
}

Status InstrumentView::share(std::string_view name, const InstrumentView* before) const {
  const Result<std::string> path = os::path_of(name);
  if (!path) return path.failure();
  return os::share(
      file_, path.value() + std::string(kInstrumentSuffix),
      {.magic = kInstrumentMagic, .noun = kInstrumentNoun, .own = before != nullptr ? &before->file_ : nullptr});
}

void InstrumentView::unshare(std::string_view name) const {
  if (const Result<std::string> path = os::path_of(name))
    os::unlink_at(file_, path.value() + std::string(kInstrumentSuffix));
}

std::uint32_t InstrumentView::count() const noexcept {
  return std::min(load(header().count, __ATOMIC_ACQUIRE), capacity_);
}
std::uint64_t InstrumentView::generation() const noexcept {
  return load(header().generation);
}
std::uint64_t InstrumentView::ring_epoch() const noexcept {
  return load(header().ring_epoch);
}
std::uint64_t InstrumentView::refused() const noexcept {
  return load(header().refused);
}
std::uint64_t InstrumentView::changes() const noexcept {
  return load(header().changes);
}
std::uint64_t InstrumentView::refused_names() const noexcept {
  return load(header().refused_names);
}
std::uint64_t InstrumentView::hash_of(std::string_view text) const noexcept {
  std::uint64_t hash = header().salt ^ text.size();
  while (!text.empty()) {
    std::uint64_t word = 0;
    const std::size_t bytes = std::min(text.size(), sizeof(word));
    std::memcpy(&word, text.data(), bytes);
    hash = (hash ^ word) * 0x9E37'79B9'7F4A'7C15U;
    hash ^= hash >> 32;
    text.remove_prefix(bytes);
  }
  return hash;
}
std::uint32_t InstrumentView::quantity_decimals() const noexcept {
  return std::min(load(header().quantity_decimals), kMaxQuantityDecimals);
}
std::string InstrumentView::map_name() const {
  const char* const text = header().map_name;
  return {text, ::strnlen(text, sizeof(InstrumentHeader::map_name))};
}
bool InstrumentView::writer_has_ended() const noexcept {
  return file_.ok() && !os::is_locked(file_);
}

bool InstrumentView::replaced() const noexcept {
  return file_.ok() && !os::is_at(file_, path_);
}

std::uint64_t InstrumentView::version(std::uint32_t number) const noexcept {
  if (number == 0 || number > count()) return 0;
  return load(*reinterpret_cast<const std::uint64_t*>(&row(number)), __ATOMIC_ACQUIRE);
}

bool InstrumentView::read(std::uint32_t number, InstrumentRow& to) const noexcept {
  int tries = kTries;
  return read(number, to, tries);
}

bool InstrumentView::read(std::uint32_t number, InstrumentRow& to, int& tries) const noexcept {
  if (number == 0 || number > count()) return false;
  const auto* const words = reinterpret_cast<const std::uint64_t*>(&row(number));
  std::uint64_t copy[kRowWords];
  for (; tries > 0; --tries) {
    const std::uint64_t version = load(words[0], __ATOMIC_ACQUIRE);
    if ((version & 1) != 0) continue;
    for (std::size_t word = 0; word < kRowWords; ++word) copy[word] = load(words[word]);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (load(words[0]) != version) continue;
    std::memcpy(static_cast<void*>(&to), copy, sizeof(to));
    return true;
  }
  return false;
}

template <class Fits>
std::uint32_t InstrumentView::search(unsigned which, std::uint64_t hash, Fits fits) const noexcept {
  const std::uint32_t* const slots = index(which);
  const std::uint32_t mask = index_slots_ - 1;
  for (std::uint32_t i = 0; i < index_slots_; ++i) {
    const std::uint32_t number = load(slots[(hash + i) & mask], __ATOMIC_ACQUIRE);
    if (number == 0) return 0;
    if (number <= capacity_ && fits(number)) return number;
  }
  return 0;
}

std::uint32_t InstrumentView::find(std::string_view key) const noexcept {
  const std::uint64_t hash = hash_of(key);
  return search(0, hash, [&](std::uint32_t number) {
    // Key and hash never change after the row is visible.
    const InstrumentRow& one = row(number);
    return one.key_hash == hash && key_of(one) == key;
  });
}

std::uint32_t InstrumentView::find_name(std::string_view name) const noexcept {
  // Of all rows together: a writer changes one at a time, but a hostile one may leave each as if it changed.
  int tries = kTries;
  return search(1, hash_of(name), [&](std::uint32_t number) {
    InstrumentRow copy;
    return read(number, copy, tries) && instrument_name(copy) == name;
  });
}

void InstrumentTable::Free::operator()(std::byte* data) const noexcept {
  std::free(data);
}

Result<InstrumentTable> InstrumentTable::make(const Options& options) {
  if (options.capacity == 0 || options.capacity > kMaxInstruments) {
    return Failure{"an instrument table has 1 to " + std::to_string(kMaxInstruments) + " rows"};
  }
  const std::size_t bytes = instrument_table_bytes(options.capacity);
  auto* const data = static_cast<std::byte*>(std::aligned_alloc(4'096, (bytes + 4'095) / 4'096 * 4'096));
  if (data == nullptr) return Failure{"no memory for " + std::to_string(options.capacity) + " instruments"};
  std::memset(data, 0, bytes);
  InstrumentTable table(
      InstrumentView(data, options.capacity, static_cast<std::uint32_t>(instrument_index_slots(options.capacity))));
  table.memory_.reset(data);
  table.begin(options);
  return table;
}

Result<InstrumentTable> InstrumentTable::create(std::string_view name, const Options& options) {
  Result<InstrumentTable> table = prepare(name, options);
  if (!table) return table;
  if (const Status named = table.value().take_name(); !named) return Failure{named.message()};
  return table;
}

Result<InstrumentTable> InstrumentTable::prepare(std::string_view name, const Options& options) {
  if (options.capacity == 0 || options.capacity > kMaxInstruments) {
    return Failure{"an instrument table has 1 to " + std::to_string(kMaxInstruments) + " rows"};
  }
  const Result<std::string> plain = os::path_of(name);
  if (!plain) return Failure{plain.message()};
  const std::string path = plain.value() + std::string(kInstrumentSuffix);
  const os::SegmentKind kind = {.magic = kInstrumentMagic,
                                .noun = kInstrumentNoun,
                                .own = options.replaces != nullptr ? &options.replaces->view_.file_ : nullptr};
  auto unnamed = std::make_unique<os::NewSegment>(path, kind);
  os::Descriptor file = unnamed->create();
  if (!file.ok()) return Failure{unnamed->problem()};
  if (!os::lock(file)) return Failure{os::system_error("lock", path)};
  const std::size_t bytes = instrument_table_bytes(options.capacity);
  os::Mapping mapping;
  if (!mapping.create(file, bytes)) return Failure{os::no_memory(file, path, bytes)};
  InstrumentTable table(InstrumentView(mapping.data(), options.capacity,
                                       static_cast<std::uint32_t>(instrument_index_slots(options.capacity))));
  table.begin(options);
  table.view_.mapping_ = std::move(mapping);
  table.view_.file_ = std::move(file);
  table.unnamed_ = std::move(unnamed);
  return table;
}

Status InstrumentTable::take_name() {
  Status published = unnamed_->publish(view_.file_);
  if (published) unnamed_.reset();
  return published;
}

void InstrumentTable::begin(const Options& options) noexcept {
  InstrumentHeader& to = header();
  to.schema_version = kInstrumentSchemaVersion;
  to.row_bytes = sizeof(InstrumentRow);
  to.capacity = view_.capacity_;
  to.index_slots = view_.index_slots_;
  to.generation = options.generation;
  to.quantity_decimals = options.quantity_decimals;
  to.ring_epoch = options.ring_epoch;
  to.salt = os::random_word();
  (void)put(to.map_name, sizeof(to.map_name) - 1, options.map_name);
  store(to.magic, kInstrumentMagic, __ATOMIC_RELEASE);
}

std::uint32_t InstrumentTable::add_row(std::string_view key, InstrumentRow& row) noexcept {
  const std::uint32_t number = header().count + 1;
  row.key_bytes = put(row.key, kInstrumentKeyBytes, key);
  row.key_hash = view_.hash_of(key_of(row));
  InstrumentRow& to = own_row(number);
  std::memcpy(static_cast<void*>(&to), &row, sizeof(row));
  auto* const slots = const_cast<std::uint32_t*>(view_.index(0));
  const std::uint32_t mask = view_.index_slots_ - 1;
  std::uint64_t at = row.key_hash;
  while (slots[at & mask] != 0) ++at;
  // A reader that finds the number before the count has grown does not use the row.
  store(header().count, number, __ATOMIC_RELEASE);
  store(slots[at & mask], number, __ATOMIC_RELEASE);
  if (row.name_bytes != 0) index_name(number, instrument_name(row));
  store(header().changes, header().changes + 1);
  return number;
}

void InstrumentTable::replace(std::uint32_t number, InstrumentRow& row, std::uint64_t version) noexcept {
  InstrumentRow& to = own_row(number);
  const bool is_renamed = instrument_name(row) != instrument_name(to);
  row.version = version;
  auto* const words = reinterpret_cast<std::uint64_t*>(&to);
  std::uint64_t from[kRowWords];
  std::memcpy(from, &row, sizeof(row));
  store(words[0], version - 1);
  __atomic_thread_fence(__ATOMIC_RELEASE);
  for (std::size_t word = 1; word < kRowWords; ++word) store(words[word], from[word], __ATOMIC_RELEASE);
  store(words[0], version, __ATOMIC_RELEASE);
  if (is_renamed) index_name(number, instrument_name(row));
  store(header().changes, header().changes + 1);
}

bool InstrumentTable::copy_row(std::uint32_t number, const InstrumentRow& from) noexcept {
  const std::uint32_t count = header().count;
  // No row has the hash 0: this one was cut off.
  if (number == 0 || number > view_.capacity_ || number > count + 1 || from.version % 2 != 0 || from.key_hash == 0) {
    return false;
  }
  InstrumentRow row = from;
  row.key_bytes = static_cast<std::uint8_t>(key_of(row).size());
  row.name_bytes = static_cast<std::uint8_t>(instrument_name(row).size());
  row.product_bytes = static_cast<std::uint8_t>(product_of(row).size());
  if (number > count) {
    std::array<char, kInstrumentKeyBytes> key;
    std::memcpy(key.data(), row.key, key.size());
    (void)add_row({key.data(), row.key_bytes}, row);
    return true;
  }
  const InstrumentRow& own = view_.row(number);
  if (key_of(row) != key_of(own)) return false;
  row.key_hash = own.key_hash;
  if (row.version > own.version) replace(number, row, row.version);
  return true;
}

void InstrumentTable::copy_header(const InstrumentHeader& from) noexcept {
  store(header().refused, load(from.refused));
  store(header().channel_state, load(from.channel_state));
}

void InstrumentTable::refuse() noexcept {
  store(header().refused, header().refused + 1);
}

void InstrumentTable::set_channel_state(std::uint32_t state) noexcept {
  store(header().channel_state, state);
  store(header().changes, header().changes + 1);
}

/// The old name stays in the index: a reader that finds a row by it sees that the row has another name. The index never
/// fills, however often names change.
void InstrumentTable::index_name(std::uint32_t number, std::string_view name) noexcept {
  if (name.empty()) return;
  if (names_ >= view_.index_slots_ / 4 * 3) return store(header().refused_names, header().refused_names + 1);
  auto* const slots = const_cast<std::uint32_t*>(view_.index(1));
  const std::uint32_t mask = view_.index_slots_ - 1;
  std::uint64_t at = view_.hash_of(name);
  while (slots[at & mask] != 0 && slots[at & mask] != number) ++at;
  if (slots[at & mask] == 0) ++names_;
  store(slots[at & mask], number, __ATOMIC_RELEASE);
}

void InstrumentTable::set_name(InstrumentRow& row, std::string_view name) const noexcept {
  row.name_bytes = put(row.name, kInstrumentNameBytes, name);
  if (name.size() > kInstrumentNameBytes) row.flags |= kRowNameCut;
}

void InstrumentTable::set_product(InstrumentRow& row, std::string_view product) noexcept {
  row.product_bytes = put(row.product, kInstrumentProductBytes, product);
  if (product.size() > kInstrumentProductBytes) row.flags |= kRowNameCut;
}

std::string did_you_mean_instrument(std::string_view wanted, const InstrumentView& view) {
  constexpr std::uint32_t kMost = 100'000;  // a tenth of a second
  std::vector<std::string> known;
  for (std::uint32_t number = 1; number <= std::min(view.count(), kMost); ++number) {
    InstrumentRow row;
    if (!view.read(number, row)) continue;
    known.emplace_back(key_of(row));
    if (row.name_bytes != 0) known.emplace_back(instrument_name(row));
  }
  return did_you_mean(wanted, known);
}

}  // namespace stopbit::market
