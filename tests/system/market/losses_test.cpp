// A loss of every packet of a real capture in turn: books after recovery by snapshots of the true state are those of
// the run without the loss, at every later message. STOPBIT_LONG=1 loses each packet, else one in kRun;
// STOPBIT_PASSES=FIRST-LAST chooses which ones. ./dev nightly losses.

#include <gtest/gtest.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/json_reader.hpp"
#include "decoder/select/make_engine.hpp"
#include "host/feed/description/description.hpp"
#include "host/market/event/print.hpp"
#include "host/market/map/map.hpp"
#include "host/market/stage/translator.hpp"
#include "host/ports/pcap/pcap_source.hpp"
#include "host/replay/replay.hpp"
#include "templates/compiler.hpp"
#include "tests/lib/file_text.hpp"
#include "tests/lib/form.hpp"

namespace stopbit::market::losses_test {

constexpr std::size_t kBefore = 20;    ///< Packets that a run has before the loss.
constexpr std::size_t kRecovery = 12;  ///< Packets between the loss and the snapshots.
constexpr std::size_t kAfter = 60;     ///< Packets after the snapshots.
constexpr std::size_t kRun = kBefore + kRecovery + kAfter + 1;
constexpr std::uint16_t kSnapshots = 1;

using Record = std::vector<record::Slot>;

/// What a row's entries have said of it.
struct Numbers : Translator::Tracer {
  explicit Numbers(const Map& of) : map(of) {}
  void entry(const Values& values, const TemplatePlan& plan, int /*rule*/, std::uint32_t row) override {
    if (plan.kind != MessageKind::Incremental || !values.has(map.entry_number)) return;
    last[row] = values.bits(map.entry_number);
  }
  void entry_end() override {}
  void made() override {}
  const Map& map;
  std::map<std::uint32_t, std::uint64_t> last;  ///< By row.
};

/// A stage with its books, by instrument.
class Run {
 public:
  Run(const Map& map, const Program& program)
      : instruments_(InstrumentTable::make({.capacity = 64}).value()),
        books_({.instruments = 64, .implied = 64, .rows = 8'192}),
        sink_(1, [](std::span<const record::Slot>) {}),
        publisher_(books_, &sink_, nullptr),
        translator_(map, program, instruments_, books_, publisher_, 1, options()) {}

  void take(const Record& record) { translator_.take(record); }
  [[nodiscard]] Translator& translator() { return translator_; }
  [[nodiscard]] const BookSet& books() const { return books_; }
  [[nodiscard]] const InstrumentTable& instruments() const { return instruments_; }
  /// The rows of an instrument's books, as text.
  [[nodiscard]] std::string text(std::string_view key) const {
    std::string text;
    const std::uint32_t row = instruments_.view().find(key);
    if (row == 0) return text;
    std::vector<Row> rows(16);
    for (const BookOf of : {BookOf::Direct, BookOf::Implied}) {
      for (const Side side : {Side::Bid, Side::Ask}) {
        const std::size_t count = books_.rows(row, side, rows, of);
        for (std::size_t i = 0; i < count; ++i) {
          append_price(rows[i].price, text);
          text += rows[i].is_known != 0 ? "*" + std::to_string(rows[i].quantity) + " " : "? ";
        }
        text += books_.extent(row, side, of).is_whole ? "| " : "... ";
      }
    }
    return text;
  }
  [[nodiscard]] Standing standing(std::string_view key) const {
    const std::uint32_t row = instruments_.view().find(key);
    return row == 0 ? Standing::Stale : books_.standing(row);
  }

 private:
  static RecoveryOptions options() {
    return {.channels = {{.number = 0, .has_increments = true, .sequence_bits = 32, .recovers = {}},
                         {.number = kSnapshots, .has_increments = false, .sequence_bits = 32, .recovers = 0}},
            .queued = 4'096,
            .holes = 1'024,
            .picture = 256};
  }
  InstrumentTable instruments_;
  BookSet books_;
  record::BufferSink<void (*)(std::span<const record::Slot>)> sink_;
  Publisher publisher_;
  Translator translator_;
};

class Capture {
 public:
  explicit Capture(const std::string& folder) {
    Diagnostics diagnostics;
    const std::string templates = folder + "/templates.xml";
    auto program = templates::compile(
        {std::make_shared<SourceBuffer>(templates, stopbit::testing::file_text(templates))}, {}, diagnostics);
    EXPECT_TRUE(program) << diagnostics.format();
    program_ = program.value_or(Program());
    const std::string path = std::string(STOPBIT_MAPS_FOLDER) + "/cme-mdp2.toml";
    auto source = read_map(path, stopbit::testing::file_text(path), diagnostics);
    auto map = source ? compile_map(std::move(*source), program_, diagnostics) : std::nullopt;
    EXPECT_TRUE(map) << diagnostics.format();
    map_ = map.value_or(Map());
    if (!map_.books.empty()) map_.books[0].depth = 10;
    read(folder + "/capture.pcap");
  }

  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] const Map& map() const { return map_; }
  /// Records of each packet, losses of the capture among them.
  [[nodiscard]] const std::vector<std::vector<Record>>& packets() const { return packets_; }

  /// A snapshot of an instrument's direct and implied book, as the exchange would send it.
  Record snapshot(const Run& run, std::uint32_t row, std::uint64_t number, std::uint32_t processed,
                  std::uint32_t place) {
    std::string entries;
    std::vector<Row> rows(16);
    for (const BookOf of : {BookOf::Direct, BookOf::Implied}) {
      for (const Side side : {Side::Bid, Side::Ask}) {
        const std::size_t count = run.books().rows(row, side, rows, of);
        for (std::size_t i = 0; i < count; ++i) {
          entries += entries.empty() ? "" : ",";
          entries += R"({"MDEntryType":")" + std::string(side == Side::Bid ? "0" : "1") + R"(","MDPriceLevel":)" +
                     std::to_string(i + 1) + R"(,"MDEntryPx":)";
          append_price(rows[i].price, entries);
          entries += R"(,"MDEntrySize":)" + std::to_string(rows[i].quantity);
          if (of == BookOf::Implied) {
            entries += R"(,"QuoteCondition":"K")";
          } else {
            entries += R"(,"NumberOfOrders":)" + std::to_string(rows[i].orders);
          }
          entries += "}";
        }
      }
    }
    const std::string json = R"({"template":"MDSnapshotFullRefresh_80","fields":{"MsgSeqNum":)" +
                             std::to_string(place) + R"(,"SendingTime":20120403140000000,"LastMsgSeqNumProcessed":)" +
                             std::to_string(processed) + R"(,"TotNumReports":4,"RptSeq":)" + std::to_string(number) +
                             R"(,"MDBookType":1,"SecurityID":)" + std::string(key_of(run.instruments().row(row))) +
                             R"(,"MDEntries":[)" + entries + "]}}";
    Record made;
    record::BufferSink sink(program_.max_record_slots, [&](std::span<const record::Slot> slots) {
      made.assign(slots.begin(), slots.end());
      made[0].words[1] = 1'333'461'600'000'000'000;
      made[0].words[2] |= place | std::uint64_t{kSnapshots} << 32 | std::uint64_t{record::kFlagLastOfPacket} << 56;
    });
    const record::Schema schema = record::Schema::make(program_).value();
    record::JsonReader reader(schema);
    EXPECT_EQ(reader.read(json, sink), record::JsonReader::Line::Message) << reader.problem().message << json;
    return made;
  }

 private:
  void read(const std::string& path) {
    feed::Channel channel;
    channel.framing = net::parse_framing("cme").value();
    channel.window = feed::default_window(channel.role);
    channel.lines[0] = feed::Line{.group = net::parse_endpoint("224.0.31.1:10001").value(), .source = std::nullopt};
    replay::Options options;
    options.feed = {&channel};
    std::uint64_t packet = ~std::uint64_t{0};
    record::BufferSink sink(program_.max_record_slots, [&](std::span<const record::Slot> slots) {
      const record::HeaderView header(slots[0]);
      const bool is_event = header.is_event();
      if (is_event || header.sequence() != packet) packets_.emplace_back();
      packet = is_event ? ~std::uint64_t{0} : header.sequence();
      packets_.back().emplace_back(slots.begin(), slots.end());
    });
    const MadeEngine made = make_engine(program_, replay::engine_options(options), EngineKind::Interp);
    replay::Replay replay(program_, *made.engine, sink, options);
    std::vector<std::unique_ptr<ingest::PacketSource>> sources;
    sources.push_back(std::move(ingest::open_capture(path).value()));
    EXPECT_EQ(replay.run(sources).error_count(), 0U);
  }

  Program program_;
  Map map_;
  std::vector<std::vector<Record>> packets_;
};

class Losses {
 public:
  explicit Losses(Capture& capture)
      : capture_(capture), master_(capture.map(), capture.program()), numbers_(capture.map()) {
    master_.translator().trace(&numbers_);
  }

  /// The run without losses goes on to this packet.
  void go_to(std::size_t packet) {
    for (; at_ < packet; ++at_) give(master_, at_);
  }
  /// The run without losses knows a whole book, of which a snapshot can be made.
  [[nodiscard]] bool can_show() const {
    for (std::uint32_t row = 1; row <= master_.instruments().count(); ++row) {
      if (is_whole(row)) return true;
    }
    return false;
  }
  /// Loses the packet that comes kBefore after here.
  void lose_one() {
    const std::size_t begin = at_;
    const std::size_t lost = begin + kBefore;
    Run right(capture_.map(), capture_.program());
    Run wrong(capture_.map(), capture_.program());
    give(right, begin);  // joins
    give(wrong, begin);
    go_to(begin + 1);
    show(right);
    show(wrong);
    std::vector<std::string> keys;
    for (std::uint32_t row = 1; row <= master_.instruments().count(); ++row) {
      const std::string key(key_of(master_.instruments().row(row)));
      if (right.standing(key) == Standing::Latest) keys.push_back(key);
    }
    if (keys.empty()) return;  // the next packet has ended the book that was whole
    for (std::size_t i = begin + 1; i <= lost + kRecovery + kAfter && i < capture_.packets().size(); ++i) {
      go_to(i + 1);
      give(right, i);
      if (i == lost) {
        lose(wrong, i);
      } else {
        give(wrong, i);
      }
      if (i == lost + kRecovery) {
        show(right);
        show(wrong);
      }
      compare(right, wrong, keys, i);
      if (::testing::Test::HasFatalFailure()) return;
    }
    for (const std::string& key : keys) {
      if (right.standing(key) == Standing::Latest) {
        ASSERT_EQ(wrong.standing(key), Standing::Latest) << key << " at the end, packet " << lost << " was lost";
      }
    }
    ++runs_;
    healed_ += has_been_stale_ ? 1 : 0;
    has_been_stale_ = false;
  }
  [[nodiscard]] std::size_t healed() const { return healed_; }
  [[nodiscard]] std::size_t compared() const { return compared_; }
  [[nodiscard]] std::size_t runs() const { return runs_; }

 private:
  void give(Run& run, std::size_t packet) const {
    for (const Record& record : capture_.packets()[packet]) run.take(record);
  }
  /// What the arbiter says instead of the packet.
  void lose(Run& run, std::size_t packet) const {
    const record::HeaderView header(capture_.packets()[packet][0][0]);
    if (header.is_event()) return give(run, packet);
    record::BufferSink sink(capture_.program().max_record_slots, [&](std::span<const record::Slot> slots) {
      Record gap(slots.begin(), slots.end());
      gap[0].words[1] = header.arrival_ns();
      gap[0].words[2] |= header.sequence();
      run.take(gap);
    });
    record::Builder(capture_.program())
        .write_event(sink, record::Header(), {.kind = record::EventKind::Gap, .word5 = header.sequence(), .word6 = 1},
                     0);
  }
  /// Snapshots of the run without losses, of instruments whose book it knows whole.
  void show(Run& run) {
    const std::uint32_t processed = record::HeaderView(capture_.packets()[at_ - 1][0][0]).sequence();
    for (std::uint32_t row = 1; row <= master_.instruments().count(); ++row) {
      if (!is_whole(row)) continue;
      run.take(capture_.snapshot(master_, row, numbers_.last[row], processed, ++place_));
    }
  }
  [[nodiscard]] bool is_whole(std::uint32_t row) const {
    for (const Side side : {Side::Bid, Side::Ask}) {
      if (!master_.books().extent(row, side).is_whole) return false;
    }
    return true;
  }
  void compare(Run& right, Run& wrong, const std::vector<std::string>& keys, std::size_t packet) {
    for (const std::string& key : keys) {
      if (right.standing(key) != Standing::Latest) continue;  // a loss of the capture's own
      if (wrong.standing(key) != Standing::Latest) {
        has_been_stale_ = true;
        continue;
      }
      ++compared_;
      ASSERT_EQ(wrong.text(key), right.text(key)) << key << " after packet " << packet;
    }
  }

  Capture& capture_;
  Run master_;
  Numbers numbers_;
  std::size_t at_ = 0;
  std::uint32_t place_ = 0;
  std::size_t runs_ = 0;
  std::size_t healed_ = 0;
  std::size_t compared_ = 0;
  bool has_been_stale_ = false;
};

/// A run shows the packets that it has; those are the distance between two losses, so each needs a pass of its own.
struct Passes {
  std::size_t first = 1;
  std::size_t last = 1;
};

/// STOPBIT_PASSES=FIRST-LAST, either of which may be missing; else the first one, with STOPBIT_LONG all of them.
std::optional<Passes> passes_wanted() {
  const Passes all{.first = 1, .last = kRun};
  const char* const text = std::getenv("STOPBIT_PASSES");
  if (text == nullptr) return is_long_form() ? all : Passes();
  const std::string_view wanted(text);
  const std::size_t dash = wanted.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto number = [](std::string_view digits, std::size_t otherwise) -> std::size_t {
    std::size_t value = otherwise;
    const char* const end = digits.data() + digits.size();
    return digits.empty() || std::from_chars(digits.data(), end, value).ptr == end ? value : 0;
  };
  const Passes passes{.first = number(wanted.substr(0, dash), all.first),
                      .last = number(wanted.substr(dash + 1), all.last)};
  if (passes.first < 1 || passes.last > kRun || passes.first > passes.last) return std::nullopt;
  return passes;
}

TEST(Losses, of_each_packet_of_cme_2012_are_healed_by_a_snapshot) {
  const char* const corpus = std::getenv("STOPBIT_CORPUS");
  if (corpus == nullptr || *corpus == '\0') GTEST_SKIP() << "STOPBIT_CORPUS is not set: no captures of real exchanges";
  const std::optional<Passes> passes = passes_wanted();
  ASSERT_TRUE(passes) << "STOPBIT_PASSES must be FIRST-LAST, from 1 to " << kRun;
  Capture capture(std::string(corpus) + "/cme-mdp-2012");
  ASSERT_GT(capture.packets().size(), 8'000U);
  for (std::size_t pass = passes->first; pass <= passes->last; ++pass) {
    Losses losses(capture);
    for (std::size_t at = pass; at + kRun < capture.packets().size() && !HasFatalFailure(); at += kRun) {
      losses.go_to(at);
      if (losses.can_show()) losses.lose_one();
    }
    ASSERT_FALSE(HasFatalFailure()) << "in pass " << pass << ": STOPBIT_PASSES=" << pass << "-" << pass;
    std::printf("pass %zu of %zu: %zu losses, %zu of them concerned an instrument, %zu comparisons of a latest book\n",
                pass, kRun, losses.runs(), losses.healed(), losses.compared());
    std::fflush(stdout);  // a run that is interrupted goes on after its last line
    EXPECT_GT(losses.runs(), 20U);
    EXPECT_GT(losses.healed(), losses.runs() / 2);
    EXPECT_GT(losses.compared(), losses.runs() * 50);
  }
}

}  // namespace stopbit::market::losses_test
