// Generated headers, compiled, on records made by hand.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <limits>
#include <random>
#include <ranges>
#include <sstream>

#include "decoder/record/reader.hpp"
#include "references.hpp"
#include "rich.hpp"
#include "sample.hpp"
#include "tests/unit/templates/emit/maker.hpp"

namespace stopbit::emit::views_test {

namespace rich = ::test::rich;
using record::ReadError;
using record::Slot;
using testing::compile_file;
using testing::Maker;

const Program& rich_program() {
  static const Program program = compile_file(STOPBIT_EMIT_TEST_FOLDER "/rich.xml");
  return program;
}
const Program& reference_program() {
  static const Program program = compile_file(STOPBIT_EMIT_TEST_FOLDER "/references.xml");
  return program;
}

rich::Feed rich_feed() {
  return rich::Feed::open(layout_hash(rich_program())).value();
}

/// The view of a record that the feed finds nothing wrong with. The record stays alive for the test.
template <class View>
View checked(Maker& maker) {
  static std::vector<std::vector<Slot>> kept;
  const std::vector<Slot>& slots = kept.emplace_back(maker.commit());
  EXPECT_FALSE(slots.empty());
  EXPECT_EQ(rich_feed().check(slots), ReadError::None) << error_text(rich_feed().check(slots));
  const std::optional<View> view = View::from(slots);
  EXPECT_TRUE(view);
  return *view;
}

TEST(Views, read_integers_of_every_width) {
  Maker maker(rich_program(), "Integers");
  maker.put("I8", -128).put("U8", 255).put("I16", -32768).put("U16", 65535);
  maker.put("I32", INT32_MIN).put("U32", UINT32_MAX).put("I64", INT64_MIN).put("U64", UINT64_MAX).put("OptI8", -1);
  const auto view = checked<rich::Integers>(maker);
  static_assert(std::is_same_v<decltype(view.I8()), std::int8_t>);
  static_assert(std::is_same_v<decltype(view.OptI8()), std::optional<std::int8_t>>);
  EXPECT_EQ(view.I8(), -128);
  EXPECT_EQ(view.U8(), 255);
  EXPECT_EQ(view.I16(), -32768);
  EXPECT_EQ(view.U16(), 65535);
  EXPECT_EQ(view.I32(), INT32_MIN);
  EXPECT_EQ(view.U32(), UINT32_MAX);
  EXPECT_EQ(view.I64(), INT64_MIN);
  EXPECT_EQ(view.U64(), UINT64_MAX);
  EXPECT_EQ(view.OptI8(), -1);
  EXPECT_EQ(view.OptU64(), std::nullopt);
}

/// Everything mandatory; the test adds what it is about.
Maker& values(Maker& maker, std::string_view ascii, std::string_view raw) {
  maker.decimal("Px", -5, -1).put("Ascii", ascii).put("Raw", raw).put("Side", 1).put("Marks", 2).put("Flag", 1);
  return maker.put("At", 1'330'000'000'123'456'789).put("On", -1);
}

TEST(Views, read_values_of_every_kind) {
  using namespace std::chrono_literals;
  Maker maker(rich_program(), "Values");
  values(maker, "EUR", "\x01\x02").put("Since", 5).put("OptFlag", 0).put("OptSide", 2).decimal("OptPx", 7, 63);
  const auto view = checked<rich::Values>(maker);
  EXPECT_EQ(view.Px(), (view::Decimal{-5, -1}));
  EXPECT_EQ(view.OptPx(), (view::Decimal{7, 63}));
  EXPECT_EQ(view.Ascii(), "EUR");
  EXPECT_EQ(view.Uni(), std::nullopt);
  EXPECT_EQ(view.Raw().size(), 2U);
  EXPECT_EQ(view.OptRaw().has_value(), false);
  EXPECT_EQ(view.Side(), rich::Side::Sell);
  EXPECT_EQ(text(view.Side()), "2");
  EXPECT_EQ(label(view.Side()), "Sell");
  EXPECT_EQ(view.OptSide(), rich::Side::v7);
  EXPECT_EQ(label(*view.OptSide()), "");
  EXPECT_EQ(text(static_cast<rich::Side>(77)), "");
  EXPECT_TRUE(view.Marks().has(rich::Marks::Block));
  EXPECT_FALSE(view.Marks().has(rich::Marks::Auction));
  EXPECT_EQ(view.Marks().size(), 1U);
  EXPECT_TRUE(view.Flag());
  EXPECT_EQ(view.OptFlag(), false);
  EXPECT_EQ(view.At().time_since_epoch(), 1'330'000'000'123'456'789ns);
  EXPECT_EQ(std::chrono::year_month_day(std::chrono::floor<std::chrono::days>(view.At())),
            std::chrono::year(2012) / 2 / 23);
  EXPECT_EQ(view.At_raw(), 1'330'000'000'123'456'789);
  EXPECT_EQ(view.Since(), 5us);
  EXPECT_EQ(view.Since_raw(), 5);
  EXPECT_EQ(std::chrono::year_month_day(view.On()), std::chrono::year(1969) / 12 / 31);
}

TEST(Views, read_strings_of_every_length) {
  for (const std::size_t length : std::initializer_list<std::size_t>{0, 1, 7, 8, 9, 55, 56, 57, 112, 113, 4000}) {
    for (const char fill : {'a', '\xe9', '\0'}) {
      const std::string text(length, fill);
      Maker maker(rich_program(), "Values");
      values(maker, text, text).put("Uni", text);
      const auto view = checked<rich::Values>(maker);
      const view::Text ascii = view.Ascii();
      view::Text::Buffer buffer;
      EXPECT_EQ(ascii.view(buffer), text);
      EXPECT_EQ(ascii.str(), text);
      EXPECT_EQ(ascii, std::string_view(text));
      EXPECT_FALSE(ascii == text + "x");
      EXPECT_EQ(view.Uni()->str(), text);
      // A temporary gives views, too: they never point into it.
      const std::string_view of_temporary = view.Ascii().view(buffer);
      EXPECT_EQ(of_temporary, text);
      const view::Bytes raw = view.Raw();
      std::vector<std::byte> copy(raw.size());
      raw.copy_to(copy.data());
      EXPECT_TRUE(std::ranges::equal(copy, std::as_bytes(std::span(text))));
      view::Bytes::Buffer bytes;
      EXPECT_TRUE(std::ranges::equal(raw.view(bytes), copy));
    }
  }
}

TEST(Views, know_constants_at_compile_time) {
  static_assert(rich::Constants::Low() == INT64_MIN);
  static_assert(rich::Constants::High() == UINT64_MAX);
  static_assert(rich::Constants::Half() == view::Decimal{5, -1});
  static_assert(rich::Constants::Text() == "W\"\\?\?/*/");
  static_assert(rich::Constants::Bytes() == std::array{std::byte{0}, std::byte{0xFF}});
  static_assert(rich::Constants::Side() == rich::Side::Sell);
  static_assert(rich::Constants::kTemplateId == 3);
  static_assert(rich::Constants::kTemplateName == "Constants");
}

TEST(Views, show_groups_only_if_they_are_there) {
  Maker absent(rich_program(), "Groups");
  absent.put("A", 1).put("B", 2).put("F", 3);
  const auto without = checked<rich::Groups>(absent);
  EXPECT_EQ(without.Must().B(), 2U);
  EXPECT_EQ(without.Must().Inner().C(), std::nullopt);
  EXPECT_FALSE(without.May());
  EXPECT_FALSE(without.Witnessed());
  EXPECT_EQ(without.F(), 3U);

  Maker present(rich_program(), "Groups");
  present.put("A", 1).put("B", 2).put("C", 9).put("May", 1).put("E", 4).put("F", 3);
  const auto with = checked<rich::Groups>(present);
  EXPECT_EQ(with.Must().Inner().C(), 9U);
  ASSERT_TRUE(with.May());
  EXPECT_EQ(with.May()->D(), std::nullopt);
  ASSERT_TRUE(with.Witnessed());
  EXPECT_EQ(with.Witnessed()->E(), 4U);
}

TEST(Views, jump_over_elements_of_constant_length) {
  for (const std::uint32_t count : {0U, 1U, 3U}) {
    for (const bool has_more : {false, true}) {
      Maker maker(rich_program(), "Flat");
      maker.put("Legs", count);
      for (std::uint32_t i = 0; i < count; ++i) {
        maker.element("Legs").put("Qty", i).put("Name", std::string(20, static_cast<char>('a' + i)));
      }
      maker.open("More");
      if (has_more) maker.put("More", 2).element("More").put("X", 5).element("More").put("X", 6);
      maker.put("Nothing", 4).put("Tail", 77);
      const auto view = checked<rich::Flat>(maker);
      const auto legs = view.Legs();
      ASSERT_EQ(legs.size(), count);
      for (std::uint32_t i = 0; i < count; ++i) {
        EXPECT_EQ(legs[i].Qty(), i);
        EXPECT_EQ(legs[i].Name().str(), std::string(20, static_cast<char>('a' + i)));
        EXPECT_EQ(legs[i].Px(), std::nullopt);
      }
      EXPECT_EQ(static_cast<std::uint32_t>(legs.end() - legs.begin()), count);
      const auto after = view.after_Legs();
      EXPECT_EQ(after.More().has_value(), has_more);
      if (has_more) {
        EXPECT_EQ(after.More()[1].X(), 6U);
      }
      EXPECT_EQ(after.after_More().Nothing().size(), 4U);
      for (const auto& nothing : after.after_More().Nothing()) EXPECT_EQ(nothing.Fixed(), 7U);
      EXPECT_EQ(after.after_More().after_Nothing().Tail(), 77U);
    }
  }
}

static_assert(std::ranges::random_access_range<decltype(std::declval<rich::Flat>().Legs())>);
static_assert(std::ranges::forward_range<decltype(std::declval<rich::Nested>().Outer())>);

TEST(Views, ranges_work_with_algorithms) {
  Maker maker(rich_program(), "Flat");
  maker.put("Legs", 3);
  for (const int quantity : {1, 4, 9}) maker.element("Legs").put("Qty", quantity).put("Name", "");
  maker.open("More").put("Nothing", 0).put("Tail", 0);
  const auto legs = checked<rich::Flat>(maker).Legs();
  const auto found = std::ranges::lower_bound(legs, 4U, {}, [](const auto& leg) { return leg.Qty(); });
  EXPECT_EQ(found - legs.begin(), 1);
  std::uint32_t sum = 0;
  for (auto it = legs.end(); it != legs.begin();) sum = sum * 10 + (*--it).Qty();
  EXPECT_EQ(sum, 941U);
}

TEST(Views, walk_over_elements_with_sequences_inside) {
  for (const bool has_group : {false, true}) {
    Maker maker(rich_program(), "Nested");
    maker.put("Outer", 3);
    for (std::uint32_t i = 0; i < 3; ++i) {
      maker.element("Outer").put("N", i);
      if (i != 1) maker.put("Inner", i);
      for (std::uint32_t k = 0; i != 1 && k < i; ++k) maker.element("Inner").put("V", 10 * i + k);
      maker.put("Behind", 100 + i);
    }
    maker.open("K");
    if (has_group) maker.put("K", 50).put("InG", 1).element("InG").put("InGValue", 51).put("L", 52);
    maker.open("InH")
        .put("InH", 2)
        .element("InH")
        .put("InHValue", 60)
        .element("InH")
        .put("InHValue", 61)
        .put("M", 62)
        .put("Last", 63);
    const auto view = checked<rich::Nested>(maker);
    std::uint32_t i = 0;
    for (const auto& outer : view.Outer()) {
      EXPECT_EQ(outer.N(), i);
      EXPECT_EQ(outer.Inner().has_value(), i != 1);
      if (outer.Inner()) {
        EXPECT_EQ(outer.Inner().size(), i);
        std::uint32_t k = 0;
        for (const auto& inner : outer.Inner()) EXPECT_EQ(inner.V(), 10 * i + k++);
      }
      EXPECT_EQ(outer.after_Inner().Behind(), 100 + i);
      ++i;
    }
    EXPECT_EQ(i, 3U);
    const auto after_outer = view.after_Outer();
    ASSERT_EQ(after_outer.G().has_value(), has_group);
    if (has_group) {
      EXPECT_EQ(after_outer.G()->K(), 50U);
      EXPECT_EQ(after_outer.G()->InG()[0].InGValue(), 51U);
      EXPECT_EQ(after_outer.G()->after_InG().L(), 52U);
    }
    const auto after_group = after_outer.after_G();
    EXPECT_EQ(after_group.H().InH()[1].InHValue(), 61U);
    EXPECT_EQ(after_group.H().after_InH().M(), 62U);
    EXPECT_EQ(after_group.after_H().Last(), 63U);
  }
}

TEST(Views, show_bit_groups_as_groups) {
  for (const bool is_there : {false, true}) {
    Maker maker(rich_program(), "Bits");
    maker.put("N", 15).put("Side", 2).put("Marks", 3).put("Flag", 1);
    if (is_there) maker.put("May", 1);
    const auto view = checked<rich::Bits>(maker);
    EXPECT_EQ(view.G().N(), 15);
    EXPECT_EQ(view.G().Z(), std::nullopt);
    EXPECT_EQ(view.G().Side(), rich::Side::v7);
    EXPECT_EQ(view.G().Marks()->bits(), 3U);
    EXPECT_TRUE(view.G().Flag());
    ASSERT_EQ(view.May().has_value(), is_there);
    if (is_there) {
      EXPECT_EQ(view.May()->Only(), std::nullopt);
    }
  }
}

TEST(Views, show_vectors_as_ranges_of_integers) {
  Maker maker(rich_program(), "Vectors");
  maker.put("U", 2).element("U").put("", UINT32_MAX).element("U").put("", 1);
  maker.open("I").put("End", 5);
  const auto view = checked<rich::Vectors>(maker);
  static_assert(std::is_same_v<std::ranges::range_value_t<decltype(view.U())>, std::uint32_t>);
  EXPECT_TRUE(std::ranges::equal(view.U(), std::vector<std::uint32_t>{UINT32_MAX, 1}));
  EXPECT_EQ(view.U()[1], 1U);
  const auto absent = view.after_U().I();
  static_assert(std::is_same_v<decltype(absent[0]), std::int64_t>);
  EXPECT_FALSE(absent);
  EXPECT_TRUE(absent.empty());
  EXPECT_EQ(view.after_U().after_I().End(), 5U);
}

TEST(Views, follow_dynamic_references) {
  const auto feed = refs::Feed::open(layout_hash(reference_program())).value();
  Maker maker(reference_program(), "Envelope");
  maker.put("Seq", 1);
  maker.reference("Quote").put("Symbol", "EURUSD-LONG-NAME").put("Levels", 2);
  maker.element("Levels").put("Qty", 7).element("Levels").put("Qty", 8).put("Flags", 5).end_reference();
  maker.reference("Empty").end_reference();
  maker.put("Sum", 12).put("List", 2).element("List").reference("Empty").end_reference();
  maker.element("List").reference("Quote").put("Symbol", "X").put("Levels", 0).put("Flags", 6).end_reference();
  maker.put("End", 13);
  const std::vector<Slot> slots = maker.commit();
  ASSERT_EQ(feed.check(slots), ReadError::None);
  const auto envelope = refs::Envelope::from(slots);
  ASSERT_TRUE(envelope);
  EXPECT_EQ(envelope->Seq(), 1U);

  struct Seen {
    std::string text;
    void operator()(const refs::QuoteAt<record::kReferenceWords>& quote) {
      text += quote.Symbol().str();
      for (const auto& level : quote.Levels()) text += '/' + std::to_string(level.Qty());
      text += ':' + std::to_string(quote.after_Levels().Flags()) + ' ';
    }
    void operator()(const refs::EmptyAt<record::kReferenceWords>&) { text += "empty "; }
  } seen;
  envelope->templateRef(seen);
  EXPECT_EQ(seen.text, "EURUSD-LONG-NAME/7/8:5 ");
  const auto second = envelope->after_templateRef();
  second.templateRef(seen);
  const auto rest = second.after_templateRef();
  EXPECT_EQ(rest.Sum(), 12U);
  for (const auto& element : rest.List()) element.templateRef(seen);
  EXPECT_EQ(seen.text, "EURUSD-LONG-NAME/7/8:5 empty empty X:6 ");
  EXPECT_EQ(rest.after_List().End(), 13U);
}

TEST(Views, visit_messages_and_events) {
  const auto feed = rich_feed();
  struct Seen {
    int integers = 0;
    int events = 0;
    void operator()(const rich::Constants& view) { integers += static_cast<int>(view.Last()); }
    void operator()(const record::EventView& event) { events += event.kind() == record::EventKind::Gap ? 1 : 0; }
  } seen;
  Maker message(rich_program(), "Constants");
  message.put("Last", 3);
  EXPECT_EQ(feed.read(message.commit(), seen), ReadError::None);
  Maker other(rich_program(), "Feed");  // no output is wanted of it
  other.put("Feed", 3);
  EXPECT_EQ(feed.read(other.commit(), seen), ReadError::None);
  record::test::RecordMaker event(rich_program());
  record::Event gap;
  gap.kind = record::EventKind::Gap;
  EXPECT_EQ(feed.read(event.commit_event(gap), seen), ReadError::None);
  EXPECT_EQ(seen.integers, 3);
  EXPECT_EQ(seen.events, 1);
}

TEST(Views, tell_templates_and_headers) {
  Maker maker(rich_program(), "Feed");
  maker.header().sequence = 7;
  maker.put("Feed", 3);
  const std::vector<Slot> slots = maker.commit();
  EXPECT_FALSE(rich::Groups::from(slots));
  EXPECT_EQ(rich::Feed_2::from(slots)->Feed(), 3U);
  EXPECT_EQ(rich::Feed_2::from(slots)->header().sequence(), 7U);
}

TEST(Views, refuse_records_of_another_layout_and_say_why) {
  const auto opened = rich::Feed::open(layout_hash(reference_program()));
  ASSERT_FALSE(opened);
  const auto hex = [](std::uint64_t hash) {
    std::ostringstream text;
    text << std::hex << std::setw(16) << std::setfill('0') << hash;
    return text.str();
  };
  EXPECT_EQ(opened.message().find("this view was generated for records of layout " + hex(rich::Feed::kLayoutHash) +
                                  ", these have layout " + hex(refs::Feed::kLayoutHash)),
            0U)
      << opened.message();
  struct Ring {
    [[nodiscard]] std::uint64_t layout_hash() const { return refs::Feed::kLayoutHash; }
    [[nodiscard]] std::uint32_t image_generation() const { return 0x10003; }
  };
  EXPECT_FALSE(rich::Feed::open(Ring()));
  EXPECT_TRUE(refs::Feed::open(Ring()));
  EXPECT_EQ(refs::Feed::kLayoutHash, layout_hash(reference_program()));
}

TEST(Views, refuse_records_of_another_image) {
  const auto feed = rich::Feed::open(rich::Feed::kLayoutHash, 3).value();
  for (const std::uint16_t generation : {std::uint16_t{3}, std::uint16_t{4}}) {
    Maker maker(rich_program(), "Feed");
    maker.header().image_generation = generation;
    maker.put("Feed", 3);
    EXPECT_EQ(feed.check(maker.commit()), generation == 3 ? ReadError::None : ReadError::ForeignImage);
  }
}

TEST(Views, turn_hostile_names_into_identifiers) {
  Maker maker(rich_program(), "class");
  int value = 0;
  for (const char* name : {"place", "class", "class_", "NULL", "header", "kBase", "std", "stopbit", "detail", "feed",
                           "a-b", "a.b", "__x", "\xc3\xa9", "Side"}) {
    maker.put(name, ++value);
  }
  const auto view = checked<rich::class_>(maker);
  EXPECT_EQ(view.place_2(), 1U);
  EXPECT_EQ(view.class_2(), 2U);
  EXPECT_EQ(view.class_3(), 3U);
  EXPECT_EQ(view.NULL_(), 4U);
  EXPECT_EQ(view.header_2(), 5U);
  EXPECT_EQ(view.std(), 7U);
  EXPECT_EQ(view.a_b_2(), 12U);
  EXPECT_EQ(view.x(), 13U);
  EXPECT_EQ(view.unnamed(), 14U);
  EXPECT_EQ(view.Side(), 15U);
}

TEST(Decimal, converts_to_the_nearest_double) {
  EXPECT_EQ((view::Decimal{141150, -2}).to_double(), 1411.50);
  EXPECT_EQ((view::Decimal{1, -1}).to_double(), 0.1);
  EXPECT_EQ((view::Decimal{-3, 22}).to_double(), -3e22);
  EXPECT_EQ((view::Decimal{INT64_MAX, -63}).to_double(), 9223372036854775807e-63);
  EXPECT_EQ((view::Decimal{INT64_MIN, 63}).to_double(), -9223372036854775808e63);
  EXPECT_EQ((view::Decimal{9007199254740993, -5}).to_double(), 9007199254740993e-5);
  EXPECT_EQ((view::Decimal{7, -40}).to_double(), 7e-40);
}

TEST(Decimal, scales_exactly_or_not_at_all) {
  EXPECT_EQ((view::Decimal{141150, -2}).scaled(-2), 141150);
  EXPECT_EQ((view::Decimal{141150, -2}).scaled(-4), 14115000);
  EXPECT_EQ((view::Decimal{141150, -2}).scaled(-1), 14115);
  EXPECT_EQ((view::Decimal{141150, -2}).scaled(0), std::nullopt);
  EXPECT_EQ((view::Decimal{-1, 1}).scaled(0), -10);
  EXPECT_EQ((view::Decimal{0, 63}).scaled(-63), 0);
  EXPECT_EQ((view::Decimal{1, 18}).scaled(0), 1'000'000'000'000'000'000);
  EXPECT_EQ((view::Decimal{1, 19}).scaled(0), std::nullopt);
  EXPECT_EQ((view::Decimal{INT64_MIN, 0}).scaled(0), INT64_MIN);
  EXPECT_EQ((view::Decimal{INT64_MIN, 0}).scaled(-1), std::nullopt);
}

/// Looks at everything a view offers, so that a sanitizer sees what a check lets pass.
struct Look {
  std::uint64_t sum = 0;
  void operator()(const rich::Values& view) {
    view::Text::Buffer buffer;
    const view::Text ascii = view.Ascii();
    for (const char c : ascii.view(buffer)) sum += static_cast<unsigned char>(c);
    if (const auto uni = view.Uni()) sum += uni->str().size();
    sum += view.Raw().str().size() + text(view.Side()).size();
  }
  void operator()(const rich::Flat& view) {
    for (const auto& leg : view.Legs()) sum += leg.Qty() + leg.Name().str().size();
    for (const auto& one : view.after_Legs().More()) sum += one.X();
    sum += view.after_Legs().after_More().after_Nothing().Tail();
  }
  void operator()(const rich::Nested& view) {
    for (const auto& outer : view.Outer()) {
      for (const auto& inner : outer.Inner()) sum += inner.V();
      sum += outer.after_Inner().Behind();
    }
    sum += view.after_Outer().after_G().after_H().Last();
  }
  template <std::size_t kBase>
  void operator()(const refs::EnvelopeAt<kBase>& view) {
    view.templateRef(*this);
    view.after_templateRef().templateRef(*this);
    const auto rest = view.after_templateRef().after_templateRef();
    for (const auto& element : rest.List()) element.templateRef(*this);
    sum += rest.after_List().End();
  }
  template <std::size_t kBase>
  void operator()(const refs::QuoteAt<kBase>& view) {
    sum += view.Symbol().str().size() + view.after_Levels().Flags();
  }
};

/// Changes a record in every way that a few random words allow: the check says the same as the reader that goes by the
/// schema, and nothing is read outside the record.
template <class Feed>
void expect_agreement(const Program& program, const Feed& feed, const std::vector<Slot>& good, unsigned seed) {
  const record::Schema schema = record::Schema::make(program).value();
  record::Reader reader(schema);
  std::mt19937 random{seed};
  const auto below = [&](std::size_t bound) { return random() % bound; };
  ASSERT_EQ(feed.check(good), ReadError::None);
  std::size_t accepted = 0;
  for (int i = 0; i < 20'000; ++i) {
    // Exactly as large as the record, so that AddressSanitizer sees a read past the end.
    std::vector<Slot> slots = good;
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      Slot& slot = slots[below(slots.size())];
      std::uint64_t& word = slot.words[below(record::kSlotWords)];
      switch (below(5)) {
        case 0: word ^= std::uint64_t{1} << below(64); break;
        case 1: word = below(8); break;
        case 2: word ^= static_cast<std::uint64_t>(below(256)) << 8 * below(8); break;
        case 3: word = (static_cast<std::uint64_t>(record::kLongString) << 56) | below(4) << 32 | below(200); break;
        default: word = 0; break;
      }
    }
    if (below(16) == 0) slots.resize(below(slots.size() + 1));
    Look look;
    const ReadError error = feed.read(slots, look);
    ReadError expected = reader.read(slots, record::Visitor());
    // Events have no fields; this reader is not asked to read them.
    if (!slots.empty() && record::HeaderView(slots[0]).is_event()) expected = reader.open(slots);
    // The generation is in a place that the schema does not read.
    if (error == ReadError::ForeignImage) continue;
    ASSERT_EQ(error, expected) << error_text(error) << " / " << error_text(expected);
    accepted += error == ReadError::None ? 1U : 0U;
  }
  EXPECT_GT(accepted, 100U);
}

TEST(Check, agrees_with_the_reader_about_damaged_records) {
  Maker values_record(rich_program(), "Values");
  values(values_record, std::string(60, 'x'), "abcdefgh").put("Uni", std::string(300, 'y')).put("OptSide", 1);
  expect_agreement(rich_program(), rich_feed(), values_record.commit(), 1);

  Maker flat(rich_program(), "Flat");
  flat.put("Legs", 3);
  for (int i = 0; i < 3; ++i) flat.element("Legs").put("Qty", i).put("Name", std::string(20, 'n'));
  flat.open("More").put("More", 1).element("More").put("X", 1).put("Nothing", 2).put("Tail", 1);
  expect_agreement(rich_program(), rich_feed(), flat.commit(), 2);

  Maker nested(rich_program(), "Nested");
  nested.put("Outer", 2);
  for (int i = 0; i < 2; ++i)
    nested.element("Outer").put("N", i).put("Inner", 1).element("Inner").put("V", 1).put("Behind", 2);
  nested.put("K", 1).put("InG", 1).element("InG").put("InGValue", 1).put("L", 1);
  nested.put("InH", 1).element("InH").put("InHValue", 1).put("M", 1).put("Last", 1);
  expect_agreement(rich_program(), rich_feed(), nested.commit(), 3);
}

TEST(Check, agrees_with_the_reader_about_damaged_references) {
  Maker maker(reference_program(), "Envelope");
  maker.put("Seq", 1).reference("Quote").put("Symbol", "S").put("Levels", 1).element("Levels").put("Qty", 7);
  maker.put("Flags", 5).end_reference().reference("Empty").end_reference();
  maker.put("Sum", 12).put("List", 1).element("List").reference("Empty").end_reference().put("End", 13);
  expect_agreement(reference_program(), refs::Feed::open(refs::Feed::kLayoutHash).value(), maker.commit(), 4);
}

TEST(Check, a_record_that_nests_references_endlessly_is_refused) {
  // Envelope in Envelope in Envelope ...: each begins where the one before ends.
  Maker maker(reference_program(), "Envelope");
  maker.put("Seq", 1);
  for (int i = 0; i < 20; ++i) maker.reference("Envelope").put("Seq", 1);
  EXPECT_EQ(refs::Feed::open(refs::Feed::kLayoutHash).value().check(maker.commit()), ReadError::TooDeep);
}

}  // namespace stopbit::emit::views_test
