// Any bytes as a file of saved books: it is refused with a reason, or all of it is taken over, as often as it is read,
// and what is saved then is good and says the same. Half of the inputs get a right sum, so that more than it is tried.

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <vector>

#include "decoder/record/buffer_sink.hpp"
#include "host/market/saved/saved_books.hpp"
#include "host/market/stage/saver.hpp"
#include "host/market/stage/translator.hpp"
#include "templates/compiler.hpp"
#include "tests/fuzz/checks.hpp"

namespace {

using namespace stopbit;
using namespace stopbit::market;

constexpr std::uint32_t kInstruments = 8;
constexpr std::uint16_t kChannel = 3;
constexpr std::uint64_t kEra = 7;

const Program& program() {
  static const Program made = [] {
    Diagnostics diagnostics;
    auto compiled = templates::compile({std::make_shared<SourceBuffer>("t.xml", R"(<templates>
  <template name="Entry" id="1">
    <uInt32 name="Security"/><uInt64 name="RptSeq"/><uInt32 name="Action"/><string name="Type"/>
    <int64 name="Price"/><uInt32 name="Size"/>
  </template>
</templates>)")},
                                       {}, diagnostics);
    fuzz::require(compiled.has_value(), "templates", diagnostics.format());
    return std::move(*compiled);
  }();
  return made;
}

/// Books by price of this depth; numbers of instruments, or of messages.
Map map_of(bool is_each, bool has_depth) {
  std::string text = "[feed]\nname = \"test\"\n[sequence]\nmessage = \"RptSeq\"\n";
  if (is_each) text += "entry = \"RptSeq\"\n";
  text += "[instrument]\nkey = [\"Security\"]\n[[book]]\nby = \"price\"\naction = \"Action\"\n";
  text += "actions = { 0 = \"new\", 1 = \"change\", 2 = \"delete\" }\nprice = \"Price\"\nquantity = \"Size\"\n";
  if (has_depth) text += "depth = 3\n";
  text += "[[message]]\nkind = \"incremental\"\ntemplates = [\"Entry\"]\n[[entry]]\nrole = \"book\"\n";
  text += "side_field = \"Type\"\nsides = { 0 = \"bid\", 1 = \"ask\" }\n";
  Diagnostics diagnostics;
  auto source = read_map("m.toml", text, diagnostics);
  auto map = source ? compile_map(std::move(*source), program(), diagnostics) : std::nullopt;
  fuzz::require(map.has_value(), "map", diagnostics.format());
  return std::move(*map);
}

struct Ignore {
  void operator()(std::span<const record::Slot>) const {}
};

struct Out {
  std::vector<record::Slot> slots;
  [[nodiscard]] static std::size_t room() { return 65'536; }
  [[nodiscard]] static std::size_t capacity() { return 65'536; }
  void put(const record::Slot& slot) { slots.push_back(slot); }
};

/// A stage that takes a file over.
struct Stage {
  explicit Stage(const Map& map)
      : table(InstrumentTable::make({.capacity = kInstruments}).value()),
        books({.instruments = kInstruments, .rows = 4'096}),
        events(1, Ignore()),
        publisher(books, &events, nullptr),
        translator(map, program(), table, books, publisher, 1, options()) {
    translator.begin_era(kChannel, kEra);
  }
  static RecoveryOptions options() {
    RecoveryOptions made;
    made.channels = {{.number = kChannel, .has_increments = true, .sequence_bits = 32, .recovers = {}}};
    made.queued = made.holes = made.picture = 256;
    made.products = 16;
    return made;
  }
  std::vector<record::Slot> save() {
    Out out;
    BookSaver saver;
    saver.begin();
    while (saver.is_running()) saver.step(translator, table.count(), {}, 64, 4'096, out);
    return out.slots;
  }

  InstrumentTable table;
  BookSet books;
  record::BufferSink<Ignore> events;
  Publisher publisher;
  Translator translator;
};

Translator::Restored restore(Stage& stage, std::span<const record::Slot> file, std::uint64_t last) {
  const auto saved = SavedBooks::over(std::as_bytes(file));
  fuzz::require(saved.ok(), "what was saved is good", saved.ok() ? "" : saved.message());
  const Translator::Left left{.channel = kChannel, .era = kEra, .last = last};
  return stage.translator.restore(saved.value(), std::span(&left, 1), 1'700'000'000'000'000'000);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || size > 65'536) return 0;
  const std::uint8_t choice = data[0];
  const std::uint64_t last = data[1] * std::uint64_t{0x0101};
  std::vector<record::Slot> slots((size - 2 + sizeof(record::Slot) - 1) / sizeof(record::Slot) + 1);
  std::memcpy(static_cast<void*>(slots.data()), data + 2, size - 2);
  std::size_t bytes = size - 2;
  if ((choice & 1) != 0 && slots.size() >= 3) {
    SavedHead head;
    std::memcpy(static_cast<void*>(&head), &slots[0], sizeof(head));
    head.magic = kSavedMagic;
    head.version = kSavedVersion;
    slots[0] = std::bit_cast<record::Slot>(head);
    SavedEnd end{.rows = static_cast<std::uint32_t>(choice >> 4), .slots = slots.size()};
    SavedSum sum;
    for (const record::Slot& slot : std::span(slots).first(slots.size() - 1)) sum.add(slot);
    end.check = sum.with(end);
    slots.back() = std::bit_cast<record::Slot>(end);
    bytes = slots.size() * sizeof(record::Slot);
  }
  const std::span<const std::byte> file = std::as_bytes(std::span<const record::Slot>(slots)).first(bytes);
  const auto saved = SavedBooks::over(file);
  if (!saved) {
    fuzz::require(!saved.message().empty(), "a refusal has a reason");
    return 0;
  }
  static const Map maps[] = {map_of(false, false), map_of(false, true), map_of(true, false), map_of(true, true)};
  const Map& map = maps[choice >> 1 & 3];
  Stage first(map);
  const Translator::Restored taken = restore(first, slots, last);
  fuzz::require(taken.instruments <= saved.value().rows() && taken.books <= taken.instruments, "no more than there is");
  fuzz::require(first.table.count() == taken.instruments, "each has a row");
  fuzz::require(first.books.count_of(Standing::Latest) == 0, "nothing is latest before the first message");
  Stage later(map);
  const Translator::Restored defined =
      later.translator.restore_definitions(saved.value(), last << 48, 1'700'000'000'000'000'000);
  fuzz::require(defined.instruments + defined.left_out <= saved.value().rows() && defined.books == 0, "definitions");
  fuzz::require(later.table.count() == defined.instruments, "each has a row");
  for (std::uint32_t row = 1; row <= later.table.count(); ++row) {
    fuzz::require((later.table.row(row).flags & kRowEarlier) != 0, "each says so");
    fuzz::require(later.books.standing(row) == Standing::Stale, "there is no book");
  }
  const std::vector<record::Slot> again = first.save();
  Stage second(map);
  const Translator::Restored twice = restore(second, again, last);
  fuzz::require(twice.instruments == taken.instruments, "what is saved again has the same instruments");
  for (std::uint32_t row = 1; row <= second.table.count(); ++row) {
    std::vector<Row> ours(16);
    std::vector<Row> theirs(16);
    const SavedRow one = first.translator.saved(row);
    if ((one.has & kSavedBook) == 0 || twice.books == 0) continue;
    for (const Side side : {Side::Bid, Side::Ask}) {
      const std::size_t count = first.books.rows(row, side, ours);
      fuzz::require(second.books.rows(row, side, theirs) == count, "the same book");
      const auto is_same = [](const Row& a, const Row& b) { return a.price == b.price && a.quantity == b.quantity; };
      fuzz::require(
          std::equal(ours.begin(), ours.begin() + static_cast<std::ptrdiff_t>(count), theirs.begin(), is_same),
          "the same rows");
      fuzz::require(first.books.extent(row, side) == second.books.extent(row, side), "known as far");
    }
  }
  return 0;
}
