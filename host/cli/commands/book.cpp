#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <vector>

#include "host/cli/common/commands.hpp"
#include "host/cli/common/event_printer.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/live_market.hpp"
#include "host/cli/common/market_source.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/screen.hpp"
#include "host/cli/common/signals.hpp"
#include "host/cli/common/text.hpp"
#include "host/market/event/print.hpp"
#include "host/market/stage/book_text.hpp"
#include "host/os/readable.hpp"
#include "microcode/base/hash.hpp"

namespace stopbit::tools {
namespace {

using market::Event;
using market::Side;

struct BookArguments {
  MarketArguments market;
  std::string instrument;
  std::string at;
  std::optional<std::uint64_t> levels;
  std::optional<std::uint64_t> every;
  std::optional<std::string> format;  ///< Default: text, of events jsonl.
  bool events = false;
  bool check = false;
  bool digest = false;
  bool once = false;
};

std::string format_of(const BookArguments& arguments) {
  return arguments.format.value_or(arguments.events ? "jsonl" : "text");
}

/// Where --at stops: after this sequence number of a channel, or at this time.
struct Stop {
  std::optional<std::uint64_t> channel;  ///< Of the sequence number; none: there is one channel only.
  std::optional<std::uint64_t> sequence;
  std::optional<std::uint64_t> time_ns;
  bool is_of_day = false;  ///< The time counts from midnight UTC; the first record will say of which day.

  [[nodiscard]] bool concerns(const record::HeaderView& record) const {
    return !sequence || record.channel() == channel.value_or(record.channel());
  }
  /// Of a record that it concerns.
  [[nodiscard]] bool is_before(const record::HeaderView& record) {
    constexpr std::uint64_t kDayNs = 86'400'000'000'000;
    if (sequence) return record.sequence() > *sequence;
    if (!time_ns) return false;
    if (is_of_day) {
      // A capture over midnight has two days: the first such time that is not before its begin.
      const std::uint64_t begin = record.arrival_ns();
      *time_ns += begin - begin % kDayNs + (begin % kDayNs > *time_ns ? kDayNs : 0);
      is_of_day = false;
    }
    return record.arrival_ns() > *time_ns;
  }
};

/// A number, CHANNEL:NUMBER, HH:MM:SS[.fraction], or ns since 1970 with "ns" after it.
Stop stop_from(const std::string& text) {
  Stop stop;
  if (text.empty()) return stop;
  const auto refuse = [] {
    throw ToolError(kExitUsage,
                    "--at: must be a sequence number, CHANNEL:NUMBER, a time of day as 09:30:00.5, or "
                    "1333459710000000000ns");
  };
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) refuse();
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (unit.empty()) {
    stop.sequence = number;
    return stop;
  }
  if (unit == "ns") {
    stop.time_ns = number;
    return stop;
  }
  if (unit.starts_with(':') && unit.find(':', 1) == std::string_view::npos) {
    std::uint64_t sequence = 0;
    const auto [last, problem] = std::from_chars(rest + 1, end, sequence);
    if (problem != std::errc() || last != end) refuse();
    stop.channel = number;
    stop.sequence = sequence;
    return stop;
  }
  // HH:MM:SS, then up to nine digits.
  const auto digits = [&](std::size_t at) {
    if (at + 2 > text.size() || text[at] < '0' || text[at] > '9' || text[at + 1] < '0' || text[at + 1] > '9') refuse();
    return static_cast<std::uint64_t>((text[at] - '0') * 10 + text[at + 1] - '0');
  };
  if (text.size() < 8 || text[2] != ':' || text[5] != ':' || text.size() > 18) refuse();
  const std::uint64_t seconds = (digits(0) * 60 + digits(3)) * 60 + digits(6);
  if (digits(0) > 23 || digits(3) > 59 || digits(6) > 59) refuse();
  std::string fraction;
  if (text.size() > 8) {
    if (text[8] != '.' || text.size() == 9) refuse();
    fraction = text.substr(9);
  }
  if (fraction.find_first_not_of("0123456789") != std::string::npos) refuse();
  fraction.resize(9, '0');
  stop.time_ns = seconds * 1'000'000'000 + std::stoull(fraction);
  stop.is_of_day = true;
  return stop;
}

/// What the books contradicted, and how often. Returns whether anything did.
bool print_check(const MarketRun& run, Output& out) {
  const market::MarketCounts counts = run.market().translator().counts();
  std::uint64_t faults = counts.unknown_actions;
  out.buffer() += fmt::format("{{\"entries\":{},\"events\":{},\"gaps\":{},\"repeats\":{},\"unknown_actions\":{}",
                              counts.entries, counts.events, counts.gaps, counts.repeats, counts.unknown_actions);
#define STOPBIT_BOOK_FAULT(enumerator, cause, name, what)                                    \
  if (market::Fault::enumerator != market::Fault::None) {                                    \
    const std::uint64_t count = run.market().books().faults(market::Fault::enumerator);      \
    out.buffer() += fmt::format(",\"{}\":{}", name, count);                                  \
    if (market::cause_of(market::Fault::enumerator) != market::Cause::None) faults += count; \
  }
#include "host/market/book/faults.def"
#undef STOPBIT_BOOK_FAULT
  std::uint64_t unseen = 0;
  for (std::uint32_t row = 1; row <= run.market().instruments().count(); ++row) {
    const market::OrderBook* const book = run.market().books().find(row)->as_order();
    if (book != nullptr) unseen += book->unseen();
  }
  out.buffer() += fmt::format(",\"unseen_orders\":{}}}\n", unseen);
  return faults != 0;
}

/// Follows the events of a run and prints books.
class Books {
 public:
  Books(const BookArguments& arguments, Output out)
      : arguments_(arguments),
        out_(std::move(out)),
        is_jsonl_(format_of(arguments) == "jsonl"),
        stop_(stop_from(arguments.at)),
        levels_(static_cast<std::size_t>(arguments.levels.value_or(10))),
        every_(arguments.check || arguments.digest || !arguments.at.empty()
                   ? 0
                   : arguments.every.value_or(is_jsonl_ ? 1 : 0)) {
    rows_.resize(2 * levels_);
  }

  void begin(MarketRun& run) {
    run_ = &run;
    if (arguments_.events) {
      const Format format = format_from(format_of(arguments_));
      events_.emplace(format, &run.market().instruments().view());
      out_.buffer() += EventPrinter::title(format);
    }
    marks_.resize(run.market().instruments().view().capacity() + 1);
    check_channel(run.channels());
    if (!arguments_.at.empty()) {
      run.set_before_record([this](const record::HeaderView& record) { stop_before(record); });
    }
  }

  void take(const Event& event) {
    if (is_stopped_) return;
    if (events_) {
      if (!wants(event)) return;
      events_->print(event, out_.buffer());
      out_.flush_if_full();
      return;
    }
    const std::uint32_t row = event.instrument();
    if (event.kind() == market::Kind::Clear && event.cause() == market::Cause::Gap) ++marks_[row].gaps;
    if (event.kind() <= market::Kind::DeleteSide && row != market::kAllInstruments && every_ != 0 &&
        !marks_[row].is_touched) {
      marks_[row].is_touched = true;
      touched_.push_back(row);
    }
    if (!event.last_of_event()) return;
    for (const std::uint32_t touched : touched_) {
      marks_[touched].is_touched = false;
      if (wants(touched) && ++marks_[touched].changes % every_ == 0) print(touched, event.sequence());
    }
    touched_.clear();
    last_sequence_ = event.sequence();
  }

  /// The first record after the moment that --at asks for: the books are as they were then.
  void stop_before(const record::HeaderView& record) {
    if (is_stopped_ || !stop_.concerns(record)) return;
    if (!stop_.is_before(record)) {
      if (!has_begun_) first_ns_ = record.arrival_ns();
      has_begun_ = true;
      stop_sequence_ = std::max(stop_sequence_, record.sequence());
      return;
    }
    if (!has_begun_) {
      throw ToolError(kExitRejected,
                      fmt::format("--at: {} is before the first message of the capture: sequence {}, {}",
                                  plain(arguments_.at), record.sequence(), os::time_text(record.arrival_ns())));
    }
    run_->market().translator().finish();
    if (!arguments_.events && !arguments_.digest && !arguments_.check) print_all();
    if (arguments_.digest) print_digest();
    if (arguments_.check) has_contradiction_ = print_check(*run_, out_);
    is_stopped_ = true;
  }

  /// Returns whether --check found a contradiction.
  bool finish() {
    if (!is_stopped_) {
      if (arguments_.events) out_.flush();
      check_end();
    }
    const bool prints_books = !arguments_.events && !arguments_.digest && !arguments_.check;
    if (prints_books && !is_stopped_ && every_ == 0) print_all();
    if (arguments_.digest && !is_stopped_) print_digest();
    if (arguments_.check && !is_stopped_) has_contradiction_ = print_check(*run_, out_);
    out_.close();
    return has_contradiction_;
  }

  [[nodiscard]] bool is_terminal() const { return out_.is_terminal(); }
  /// Partial books of which no definition has said the depth: with it they would become known.
  [[nodiscard]] std::size_t count_without_depth() const {
    const market::BookSet& books = run_->market().books();
    std::size_t count = 0;
    for (std::uint32_t row = 1; row <= run_->market().instruments().count(); ++row) {
      if (!wants(row) || books.find(row)->kind() != market::BookKind::Level) continue;
      const bool is_known = books.extent(row, Side::Bid).is_whole && books.extent(row, Side::Ask).is_whole;
      count += run_->market().instruments().row(row).depth[0] == 0 && !is_known ? 1 : 0;
    }
    return count;
  }
  /// An instrument that is wanted has a book.
  [[nodiscard]] bool has_book() const {
    for (std::uint32_t row = 1; row <= run_->market().instruments().count(); ++row) {
      if (wants(row) && run_->market().books().find(row)->kind() != market::BookKind::None) return true;
    }
    return false;
  }

 private:
  struct Mark {
    std::uint32_t gaps = 0;
    std::uint64_t changes = 0;
    bool is_touched = false;
  };

  /// The capture ended before the moment that --at asks for: what the books were then is not known.
  void check_end() const {
    if (!has_begun_ || run_->was_stopped()) return;
    if (stop_.sequence && stop_sequence_ < *stop_.sequence) {
      throw ToolError(kExitRejected, fmt::format("--at: {} is after the end of the capture: its last sequence is {}",
                                                 plain(arguments_.at), stop_sequence_));
    }
    if (stop_.time_ns && run_->last_arrival_ns() < *stop_.time_ns) {
      throw ToolError(kExitRejected,
                      fmt::format("--at: {} is not in the capture, which goes from {} to {}", plain(arguments_.at),
                                  os::time_text(first_ns_), os::time_text(run_->last_arrival_ns())));
    }
  }

  /// Numbers are those of one channel.
  void check_channel(const std::vector<feed::Channel>& channels) const {
    if (!stop_.sequence) return;
    if (!stop_.channel && channels.size() > 1) {
      throw ToolError(kExitUsage,
                      "--at: the feed has several channels, each with its own numbers: give CHANNEL:NUMBER");
    }
    const bool exists =
        !stop_.channel || std::any_of(channels.begin(), channels.end(),
                                      [&](const feed::Channel& channel) { return channel.number == *stop_.channel; });
    if (!exists) throw ToolError(kExitUsage, fmt::format("--at: the feed has no channel {}", *stop_.channel));
  }

  /// An event for all instruments of its channel is one of the instrument, too.
  [[nodiscard]] bool wants(const Event& event) const {
    if (arguments_.instrument.empty() || event.instrument() != market::kAllInstruments) {
      return wants(event.instrument());
    }
    const Market& market = run_->market();
    std::uint32_t row = market.instruments().view().find(arguments_.instrument);
    if (row == 0) row = market.instruments().view().find_name(arguments_.instrument);
    return row != 0 && row <= market.books().instruments() && market.books().is_of_channel(row, event.channel());
  }
  [[nodiscard]] bool wants(std::uint32_t row) const {
    if (arguments_.instrument.empty()) return true;
    const market::InstrumentRow& known = run_->market().instruments().row(row);
    return market::key_of(known) == arguments_.instrument || market::instrument_name(known) == arguments_.instrument;
  }

  void print_all() {
    for (std::uint32_t row = 1; row <= run_->market().instruments().count(); ++row) {
      if (wants(row) && run_->market().books().find(row)->kind() != market::BookKind::None) print(row, last_sequence_);
    }
  }

  void print(std::uint32_t row, std::uint32_t sequence) {
    if (is_jsonl_) {
      print_json(row, sequence);
    } else {
      print_text(row, sequence);
    }
    out_.flush_if_full();
  }

  void print_json(std::uint32_t row, std::uint32_t sequence) {
    const Market& market = run_->market();
    market::append_book_json(
        market::read_book(market.books(), row, rows_), sequence, json(market::key_of(market.instruments().row(row))),
        marks_[row].gaps + marks_[market::kAllInstruments].gaps, run_->map().source.quantity_decimals, out_.buffer());
  }

  void print_text(std::uint32_t row, std::uint32_t sequence) {
    const market::BookView book = market::read_book(run_->market().books(), row, rows_);
    const market::InstrumentRow& known = run_->market().instruments().row(row);
    std::string& out = out_.buffer();
    const std::string name = plain(market::instrument_name(known));
    out += fmt::format("{}{}{}  seq {}  book {}  trading {}\n", plain(market::key_of(known)), name.empty() ? "" : "  ",
                       name, sequence, book.is_known ? "known" : "partial",
                       market::name_of(run_->market().books().status(row).state));
    std::size_t last = 0;
    for (std::size_t i = 0; i < levels_; ++i) {
      if (book.bids[i].is_known != 0 || book.asks[i].is_known != 0) last = i + 1;
    }
    for (std::size_t i = 0; i < last; ++i) {
      const bool has_bid = i < book.bid_end;
      const bool has_ask = i < book.ask_end;
      out += fmt::format("{:>5}  {:>12} {:>14}  {:<14} {:<12}\n", i + 1, has_bid ? quantity_text(book.bids[i]) : "",
                         has_bid ? price_text(book.bids[i]) : "", has_ask ? price_text(book.asks[i]) : "",
                         has_ask ? quantity_text(book.asks[i]) : "");
      while (out[out.size() - 2] == ' ') out.erase(out.size() - 2, 1);
    }
    out += '\n';
  }

  [[nodiscard]] static std::string price_text(const market::Row& row) {
    std::string text;
    if (row.is_known == 0) return "?";
    if (row.price == market::kNoPrice) return "market";
    market::append_price(row.price, text);
    return text;
  }
  [[nodiscard]] std::string quantity_text(const market::Row& row) const {
    std::string text;
    if (row.is_known == 0) return "?";
    if (row.quantity != market::kNoQuantity)
      market::append_fixed(row.quantity, run_->map().source.quantity_decimals, text);
    return text;
  }

  /// One number for all books: those with the same keys and rows give the same, whatever the order of the instruments.
  void print_digest() {
    std::uint64_t sum = 0;
    std::size_t count = 0;
    for (std::uint32_t row = 1; row <= run_->market().instruments().count(); ++row) {
      if (!wants(row)) continue;
      std::string text(market::key_of(run_->market().instruments().row(row)));
      const market::BookView book = market::read_book(run_->market().books(), row, rows_);
      text += book.is_known ? '+' : '-';
      for (const auto& side : {book.bids, book.asks}) {
        text += '|';
        for (const market::Row& one : side) {
          market::append_row_json(one, run_->map().source.quantity_decimals, text);
        }
      }
      sum += fnv1a(text);
      ++count;
    }
    out_.buffer() += fmt::format("{:016x}  {} instruments, {} levels\n", sum, count, levels_);
  }

  const BookArguments& arguments_;
  Output out_;
  bool is_jsonl_;
  std::optional<EventPrinter> events_;  ///< --events: instead of books.
  Stop stop_;
  std::size_t levels_;
  std::uint64_t every_;
  MarketRun* run_ = nullptr;
  std::vector<Mark> marks_;  ///< By row; 0: all.
  std::vector<std::uint32_t> touched_;
  std::vector<market::Row> rows_;  ///< Room for those of both sides.
  std::uint32_t last_sequence_ = 0;
  std::uint64_t first_ns_ = 0;       ///< Of the first record.
  std::uint32_t stop_sequence_ = 0;  ///< The highest number of the channel that --at names.
  bool has_begun_ = false;           ///< A record that concerns --at has come.
  bool is_stopped_ = false;
  bool has_contradiction_ = false;
};

/// A ladder that follows the market, until a key or a signal ends it.
int run_live_book(const BookArguments& arguments) {
  if (arguments.instrument.empty()) {
    throw ToolError(kExitUsage, "--instrument: which book? `stopbit states " + arguments.market.captures[0] +
                                    "` lists the instruments");
  }
  if (!arguments.at.empty() || arguments.every || arguments.check || arguments.digest || arguments.format ||
      arguments.events) {
    throw ToolError(
        kExitUsage,
        "--at, --every, --check, --digest, --events and --format need captures, not a ring of market events");
  }
  constexpr int kRefreshMs = 100;
  LiveMarket market(arguments.market.captures[0]);
  std::uint32_t row = market.row_of(arguments.instrument);
  if (arguments.once) {
    Output out = Output::open("-");
    out.write(ladder_text(market, row, Screen::Size().columns, Screen::Size().rows));
    out.close();
    if (const std::string warning = market.warning(); !warning.empty()) {
      print_stderr("stopbit: {}: the writer {}\n", arguments.market.captures[0], warning);
    }
    return kExitDone;
  }
  catch_stop_signals();
  Screen screen;
  while (!stop_requested()) {
    const Screen::Size size = Screen::size();
    market.follow();
    row = market.find(arguments.instrument);
    screen.show(row == 0 ? "the new writer has not seen the instrument yet\n"
                         : ladder_text(market, row, size.columns, size.rows));
    if (Screen::quits(screen.key(kRefreshMs))) break;
  }
  screen.close();
  return kExitDone;
}

void check_format(const BookArguments& arguments) {
  const std::string format = format_of(arguments);
  if (arguments.events && format == "text") throw ToolError(kExitUsage, "--events: --format is jsonl, csv or sbe");
  if (!arguments.events && format != "text" && format != "jsonl") {
    throw ToolError(kExitUsage, "--format " + format + " is for --events; books are printed as text or jsonl");
  }
  check_not_binary_to_terminal(format_from(format), arguments.market.output);
  if (arguments.events && (arguments.check || arguments.digest)) {
    throw ToolError(kExitUsage, "--events takes the place of --check and --digest");
  }
}

int run_book(const BookArguments& arguments) {
  if (arguments.levels && (*arguments.levels == 0 || *arguments.levels > 1'000)) {
    throw ToolError(kExitUsage, "--levels: from 1 to 1000");
  }
  if (arguments.every == 0U) throw ToolError(kExitUsage, "--every: at least 1");
  check_format(arguments);
  if (names_live_market(arguments.market)) return run_live_book(arguments);
  if (arguments.every && (!arguments.at.empty() || arguments.check || arguments.digest || arguments.events)) {
    throw ToolError(kExitUsage, "--every prints books as they change: without --at, --check, --digest and --events");
  }
  if (arguments.levels && (arguments.check || arguments.events) && !arguments.digest) {
    throw ToolError(kExitUsage, "--levels: neither --check nor --events prints rows of books");
  }
  if (arguments.once) throw ToolError(kExitUsage, "--once is for a ring of market events");
  std::optional<Books> books;
  MarketRun run(arguments.market, [&](const Event& event) { books->take(event); });
  const bool needs_books = !arguments.events;
  if (needs_books && run.map().books.empty()) {
    throw ToolError(kExitRejected, fmt::format("the map '{}' describes no books; --events prints its events",
                                               plain(run.map().source.name)));
  }
  books.emplace(arguments, Output::open(arguments.market.output, run.inputs()));
  books->begin(run);
  int status = run.run(books->is_terminal());
  if (books->finish() && status == kExitDone) status = kExitRejected;
  if (!arguments.instrument.empty() && run.market().instruments().view().find(arguments.instrument) == 0 &&
      run.market().instruments().view().find_name(arguments.instrument) == 0) {
    throw ToolError(
        kExitRejected,
        "--instrument: the captures have no instrument '" + plain(arguments.instrument) + "'" +
            plain(market::did_you_mean_instrument(arguments.instrument, run.market().instruments().view())));
  }
  if (needs_books && status == kExitDone && !run.was_stopped() && !books->has_book()) {
    print_stderr("no message of the captures is about the book of an instrument\n");
    return kExitRejected;
  }
  const std::size_t without_depth =
      format_of(arguments) == "text" && !arguments.market.quiet ? books->count_without_depth() : 0;
  if (without_depth != 0) {
    print_stderr("\n{} of the books are partial, and no definition says their depth; --depth N does\n", without_depth);
  }
  return status;
}

}  // namespace

Command book_command() {
  const auto arguments = std::make_shared<BookArguments>();
  std::vector<Option> options = market_options(arguments->market);
  const std::vector<Option> more = {
      {.names = "--instrument",
       .value = "KEY",
       .help = "Only this instrument: its key, as 27069 or SBER/TQBR, or its name.",
       .target = &arguments->instrument},
      {.names = "--at",
       .value = "WHEN",
       .help = "The books after the packet with this sequence number, of a channel if there are several, or at this "
               "time of day (UTC): 3574500, 310:3574500, 13:28:30.5, 1333459710000000000ns. It must be within the "
               "capture.",
       .target = &arguments->at},
      {.names = "--levels", .value = "N", .help = "Rows of each side. Default 10.", .target = &arguments->levels},
      {.names = "--every",
       .value = "N",
       .help = "A book after every N-th change of an instrument's book, instead of all books at the end. Default of "
               "jsonl: 1.",
       .target = &arguments->every},
      {.names = "--check",
       .value = "",
       .help = "Prints no book, but how often a book contradicted the feed; the exit status is 1 if one did.",
       .target = &arguments->check},
      {.names = "--digest",
       .value = "",
       .help = "Prints one number for all books at the end: equal books give the same.",
       .target = &arguments->digest},
      {.names = "--once",
       .value = "",
       .help = "Of a ring of market events: prints the book once and ends.",
       .target = &arguments->once},
      {.names = "--events",
       .value = "",
       .help = "Prints the market events of which the books are made, instead of books. Default format jsonl.",
       .target = &arguments->events},
      {.names = "--format",
       .value = "FORMAT",
       .help = "Of books: text (default), or jsonl: one object a book. Of --events: jsonl, csv or sbe, see below.",
       .target = &arguments->format,
       .hint = choice_hint({"text", "jsonl", "csv", "sbe"})},
  };
  options.insert(options.begin() + 2, more.begin(), more.end());
  return {
      .name = "book",
      .summary = "Builds order books from captures",
      .description =
          "Decodes captures, turns their messages into market events with the help of a feed map, and "
          "builds the book of each instrument.\n"
          "\n"
          "In text, ? is a row that is not known: after a loss, and at the start; a side that is known to end has no "
          "further rows. A book is 'known' when no row is missing, else 'partial'. The trading state is that of the "
          "feed, 'unknown' until a message says it.\n"
          "\n"
          "In jsonl, `state` is that of the book, known or partial; a row is [price, quantity, number of orders], and "
          "null if it is not known or does not exist.\n"
          "\n"
          "With the name of a ring of market events, which `stopbit run` with a map or `stopbit replay --events "
          "--ring` writes, it shows the book of --instrument as a ladder that follows the market; q ends it. The "
          "ladder has as "
          "many rows as the state table publishes.\n"
          "\n" +
          event_format_text() + "\n\n" + market_text() + "\n\n" + framing_text(),
      .options = std::move(options),
      .examples = {{"stopbit book day.pcap --templates templates.xml --framing cme --map cme-mdp2",
                    "all books at the end of the capture"},
                   {"stopbit book day.pcap --feed feed.toml --map cme-mdp2 --instrument 27069 --at 13:28:30 --levels 5",
                    "one book at a time of day"},
                   {"stopbit book day.pcap --feed feed.toml --map cme-mdp2 --format jsonl > books.jsonl",
                    "every state of every book"},
                   {"stopbit book day.pcap --feed feed.toml --map cme-mdp2 --instrument 27069 --events --format csv",
                    "what changed one book"},
                   {"stopbit book moex-events --instrument SBER/TQBR", "a book of a running appliance"}},
      .run = [arguments] { return run_book(*arguments); },
  };
}

}  // namespace stopbit::tools
