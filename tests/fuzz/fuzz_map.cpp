// Any text as a feed map, for a few fixed template sets: errors inside the text, or a map that gives sound events for
// any records and any datagrams of these templates.
//
// Input: template set, the map's text up to a zero byte, then slots of 64 bytes.

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "decoder/record/buffer_sink.hpp"
#include "host/market/stage/translator.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/fuzz/fixed_templates.hpp"

namespace {

using namespace stopbit;
using namespace stopbit::market;

constexpr std::uint32_t kInstruments = 16;

void check_errors(const Diagnostics& diagnostics, std::size_t size) {
  fuzz::require(diagnostics.errors() <= 4'096, "the number of errors is bounded");
  for (const Diagnostic& item : diagnostics.all()) {
    fuzz::require(item.range.source == nullptr || item.range.offset <= size, "an error lies inside the text",
                  item.message);
  }
  (void)diagnostics.format();
}

/// Checks events, and counts what the translator says that it counted.
struct Events {
  std::uint64_t all = 0;
  std::uint64_t wide = 0;

  void operator()(std::span<const record::Slot> slots) {
    const Event event = Event::from(slots[0]);
    fuzz::require(is_event(slots[0]) && !name_of(event.kind()).empty(), "an event has a known kind");
    fuzz::require(event.instrument() <= kInstruments, "an event's instrument has a row");
    fuzz::require(!name_of(event.side()).empty(), "an event has a side or none");
    ++all;
    wide += event.has(kFlagWide) ? 1 : 0;
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > 16'384) return 0;
  const Program& program = fuzz::fixed_program(data[0]);
  const std::uint8_t* const begin = data + 1;
  const std::uint8_t* const end = data + size;
  const std::uint8_t* const zero = std::find(begin, end, std::uint8_t{0});
  const std::string text(begin, zero);
  Diagnostics diagnostics;
  auto source = read_map("fuzz.toml", text, diagnostics);
  std::optional<Map> map;
  if (source) map = compile_map(std::move(*source), program, diagnostics);
  fuzz::require(map.has_value() != diagnostics.has_errors(), "a map, or errors");
  check_errors(diagnostics, text.size());
  if (!map) return 0;

  InstrumentTable table = InstrumentTable::make({.capacity = kInstruments}).value();
  BookSet books({.instruments = kInstruments,
                 .implied = kInstruments,
                 .rows = 1'024,
                 .orders = 64,
                 .levels = 64,
                 .listed = 64,
                 .ladders = 2,
                 .placed = 64,
                 .positions = 128});
  Events events;
  record::BufferSink sink(1, std::ref(events));
  Publisher publisher(books, &sink, nullptr);
  Translator translator(*map, program, table, books, publisher, 1,
                        {.increments = 2, .products = 16, .queued = 64, .holes = 64, .picture = 64});

  // Slots as an untrusted ring may hold them; exactly as many as there are, so that a sanitizer sees a read past them.
  const std::size_t bytes = zero == end ? 0 : static_cast<std::size_t>(end - zero) - 1;
  std::vector<record::Slot> slots(bytes / sizeof(record::Slot));
  if (!slots.empty()) std::memcpy(static_cast<void*>(slots.data()), zero + 1, slots.size() * sizeof(record::Slot));
  for (std::size_t at = 0; at < slots.size(); ++at) translator.take(std::span(slots).subspan(at));

  // The same bytes as datagrams: records as an engine makes them.
  if (zero != end) {
    fuzz::Input input({zero + 1, end});
    for (const cases::Record& record :
         fuzz::run_datagrams(program, {.channels = 1}, fuzz::take_datagrams(input)).records) {
      translator.take(record);
    }
  }
  translator.finish();
  // Each that a fault of a book added is one of an instrument that became stale.
  const MarketCounts& counts = translator.counts();
  fuzz::require(events.all >= counts.events && events.all <= counts.events + counts.stale, "each event was written");
  fuzz::require(events.wide == counts.wide, "wide events are counted");
  return 0;
}
