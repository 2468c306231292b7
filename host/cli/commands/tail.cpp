#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <list>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "host/cli/common/appliance_name.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/multicast_arguments.hpp"
#include "host/cli/common/program_source.hpp"
#include "host/cli/common/record_printer.hpp"
#include "host/cli/common/remote_arguments.hpp"
#include "host/cli/common/ring_files.hpp"
#include "host/cli/common/rings_printer.hpp"
#include "host/cli/common/signals.hpp"
#include "host/cli/common/stream_arguments.hpp"
#include "host/cli/common/stream_copy.hpp"
#include "host/market/state/tables.hpp"
#include "host/os/clock.hpp"
#include "host/os/shm/folder.hpp"
#include "host/os/shm/name.hpp"
#include "host/ring/reader.hpp"
#include "host/ring/reader_registration.hpp"
#include "host/standby/pair_reader.hpp"
#include "microcode/base/printable.hpp"
#include "microcode/image/image.hpp"

namespace stopbit::tools {
namespace {

using namespace std::chrono_literals;
constexpr auto kIdleWait = 1ms;
constexpr auto kNameWait = 50ms;

struct TailArguments {
  std::string ring;
  std::string format = "jsonl";
  StyleArguments style;
  ContentArguments content;
  std::string standby;
  std::string reader;
  std::string user;
  bool wait = false;
  bool follow = false;
  bool watch = false;
  RemoteArguments remote;
  StreamArguments stream;
  MulticastArguments multicast;
};

/// Why the publisher gives the ring no more, if that is why it has ended; else empty. A ring that the publisher writes
/// ends a moment before its reason arrives. A lossless one that ends without a confirmed end is not complete.
std::string why_taken(const remote::RemoteRing& ring, bool is_lossless) {
  constexpr auto kMoment = std::chrono::seconds(1);
  const auto end = std::chrono::steady_clock::now() + kMoment;
  remote::RemoteRing::Look now = ring.look();
  while (!now.is_refused && !now.has_ended && !stop_requested() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kIdleWait);
    now = ring.look();
  }
  if (now.is_refused || !is_lossless || now.has_ended || stop_requested()) return now.is_refused ? now.problem : "";
  return "the publisher has not confirmed the end of the ring; " + now.problem;
}

/// A ring of another host, and the name that it has here as long as this lives.
class Fetched {
 public:
  explicit Fetched(const TailArguments& arguments)
      : is_lossless_(arguments.remote.lossless),
        wait_(wait_for_signals(arguments.wait, [name = arguments.ring](const std::string& line) {
          print_stderr("stopbit: {}: {}\n", name, printable(line));
        })) {
    RemoteUse use{.arguments = arguments.remote};
    if (arguments.remote.lossless) use.records_read = records_read_;
    ring_ = open_remote(arguments.ring, name_, use, wait_);
  }
  Fetched(const Fetched&) = delete;
  Fetched& operator=(const Fetched&) = delete;
  ~Fetched() {
    const bool has_file = ring_ && ring_->look().exists;
    ring_.reset();
    if (has_file) hide();
  }
  /// Removes its names, so that no file is left however this process ends. A process that has the ring open keeps it.
  void hide() const {
    const auto found = os::open_accepted(name_, "", "ring");
    if (!found) return;
    const std::string& path = found.value().path;
    if (const auto tables = market::Tables::open(path)) tables.value().unshare(path);
    ::unlink(path.c_str());
  }
  /// Waits until the ring exists. False: a signal asks this process to stop.
  [[nodiscard]] bool wait() const { return ring_ && wait_until_there(*ring_, wait_); }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const remote::RemoteRing& ring() const noexcept { return *ring_; }
  [[nodiscard]] std::string why_taken() const { return tools::why_taken(*ring_, is_lossless_); }
  /// With --lossless the publisher waits until all records were read: reports how many were.
  void show_read(std::uint64_t records) noexcept { records_read_->store(records, std::memory_order_release); }

 private:
  bool is_lossless_;
  std::shared_ptr<std::atomic<std::uint64_t>> records_read_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::string name_ = "tail-" + std::to_string(::getpid());
  remote::RingWait wait_;
  std::unique_ptr<remote::RemoteRing> ring_;
};

Content content_of(const TailArguments& arguments) {
  const auto& [records, events] = arguments.content;
  if (records && events) throw ToolError(kExitUsage, "--records and --events: a ring carries one of both; give one");
  const Format format = format_from(arguments.format);
  if (events && !prints_events(format)) throw ToolError(kExitUsage, "--events: --format is jsonl, csv or sbe");
  if (events) check_style_of_events(arguments.style);
  if (records && format == Format::Sbe) throw ToolError(kExitUsage, "--format sbe is for market events");
  check_not_binary_to_terminal(format, "-");
  return records ? Content::Records : events ? Content::Events : Content::Any;
}

/// False if a signal asks this process to stop before the ring exists.
bool wait_for_ring(const TailArguments& arguments) {
  if (const auto path = os::path_of(arguments.ring); !path) throw ToolError(kExitUsage, path.message());
  while ((arguments.wait || arguments.follow) && !os::exists(arguments.ring)) {
    if (stop_requested()) return false;
    std::this_thread::sleep_for(kNameWait);
  }
  return true;
}

struct Printed {
  int status = kExitDone;
  bool writer_ended = false;
};

/// Prints records until the writer has ended, a signal asks this process to stop, or the output fails. `remote`: where
/// the ring comes from; or null.
Printed print_records(ring::Reader& reader, RecordPrinter& printer, std::size_t schema, const std::string& name,
                      ring::ReaderRegistration* sign, Fetched* remote) {
  constexpr std::uint64_t kShowEvery = 256;
  bool writer_ended = false;
  while (!stop_requested() && !printer.failed()) {
    switch (reader.poll()) {
      case ring::Poll::Record:
        printer.print(reader.record(), schema);
        if (remote != nullptr) remote->show_read(reader.next_record());
        if (sign != nullptr && reader.delivered() % kShowEvery == 0) sign->show(reader);
        continue;
      case ring::Poll::Lost:
        if (remote != nullptr) remote->show_read(reader.next_record());
        if (sign != nullptr) sign->show(reader);
        print_stderr("stopbit: {}: {} records lost in {} slots, {}\n", name, reader.lost_records(), reader.lost(),
                     reader.is_detached() ? "the writer stopped waiting for this reader" : "the writer was faster");
        continue;
      case ring::Poll::Damaged:
        print_stderr("stopbit: {}: {}\n", name, reader.damage());
        return {.status = kExitRejected};
      case ring::Poll::Nothing: break;
    }
    // The writer's last records may have come between this poll and its end: once more after it.
    if (writer_ended) break;
    printer.flush();
    if (sign != nullptr) sign->show(reader);
    writer_ended =
        reader.writer() != ring::WriterState::Running || (remote != nullptr && remote->ring().look().is_refused);
    if (!writer_ended) std::this_thread::sleep_for(kIdleWait);
  }
  if (writer_ended && reader.writer() == ring::WriterState::Dead) {
    print_stderr("stopbit: {}: the writer died\n", name);
    return {.status = kExitEnvironment, .writer_ended = true};
  }
  if (const std::string why = writer_ended && remote != nullptr ? remote->why_taken() : ""; !why.empty()) {
    print_stderr("stopbit: {}: {}\n", name, printable(why));
    return {.status = kExitRejected, .writer_ended = true};
  }
  return {.status = reader.total_lost() == 0 ? kExitDone : kExitRejected, .writer_ended = writer_ended};
}

/// Nothing if a signal asks this process to stop.
std::optional<ring::Reader> open_ring(const TailArguments& arguments) {
  Result<ring::Reader> opened = ring::Reader::open(arguments.ring);
  if (opened && opened.value().mode() == ring::Mode::Lossless && !arguments.watch) {
    opened = ring::Reader::attach(arguments.ring, ring::Reader::kAttachTimeoutNs, [] { return !stop_requested(); });
    if (!opened && stop_requested()) return std::nullopt;
  }
  if (!opened) {
    throw ToolError(kExitEnvironment,
                    opened.message() + (os::exists(arguments.ring) ? "" : ring_instead_of(arguments.ring)));
  }
  return std::move(opened).value();
}

/// Waits until another ring has the name. False if a signal asks this process to stop.
bool wait_for_next_ring(const std::string& name, std::uint64_t epoch) {
  constexpr auto kLook = 100ms;
  while (!stop_requested()) {
    const Result<ring::Reader> next = ring::Reader::open(name);
    if (next && next.value().epoch() != epoch) return true;
    std::this_thread::sleep_for(kLook);
  }
  return false;
}

/// One ring to its end. @returns how it ended.
Printed print_ring(const TailArguments& arguments, ring::Reader& reader, RingsPrinter& rings, Fetched* fetched) {
  const std::size_t schema = rings.begin(reader);
  if (fetched != nullptr && arguments.reader.empty()) fetched->hide();
  std::optional<ring::ReaderRegistration> sign;
  if (!arguments.reader.empty()) {
    Result<ring::ReaderRegistration> made = ring::ReaderRegistration::create(arguments.ring, arguments.reader);
    if (!made) throw ToolError(kExitEnvironment, made.message());
    sign.emplace(std::move(made).value());
  }
  const Printed printed =
      print_records(reader, rings.printer(), schema, arguments.ring, sign ? &*sign : nullptr, fetched);
  if (reader.total_lost() != 0) {
    print_stderr("stopbit: {}: {} records read, {} lost, of {} from record {} on\n", arguments.ring, reader.delivered(),
                 reader.total_lost_records(), reader.next_record() - reader.first_record(), reader.first_record() + 1);
  }
  return printed;
}

/// Rings of one name, one after another, until this process is to stop or the output fails. Returns the exit status.
int follow_rings(const TailArguments& arguments, RingsPrinter& rings) {
  bool lost = false;
  for (bool is_first = true; !stop_requested(); is_first = false) {
    std::optional<ring::Reader> reader = open_ring(arguments);
    if (!reader) break;
    if (!is_first) {
      print_stderr("stopbit: {}: a new ring, made by process {}, image generation {}\n", printable(arguments.ring),
                   reader->writer_pid(), reader->image_generation());
    }
    const Printed printed = print_ring(arguments, *reader, rings, nullptr);
    lost = lost || reader->total_lost() != 0;
    if (!printed.writer_ended) return printed.status;
    rings.printer().flush();
    if (rings.printer().failed()) return printed.status;
    const std::uint64_t epoch = reader->epoch();
    reader.reset();
    print_stderr("stopbit: {}: its writer has ended; waiting for the next ring of this name\n",
                 printable(arguments.ring));
    if (!wait_for_next_ring(arguments.ring, epoch)) break;
  }
  return lost ? kExitRejected : kExitDone;
}

/// Prints what two rings carry as one stream.
class PairPrinter final : public standby::Output {
 public:
  PairPrinter(RingsPrinter& rings, const TailArguments& arguments) : rings_(rings), arguments_(arguments) {}
  void follow(const standby::PairReader& pair) noexcept { pair_ = &pair; }

  void record(std::span<const record::Slot> record, standby::Side /*from*/) noexcept override {
    if (error_ != nullptr) return;
    try {
      if (pair_->images() != images_) schema_ = rings_.begin(pair_->image(), arguments_.ring);
      images_ = pair_->images();
      rings_.printer().print(record, schema_);
    } catch (...) {
      error_ = std::current_exception();
    }
  }
  /// Throws what went wrong meanwhile.
  void check() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  RingsPrinter& rings_;
  const TailArguments& arguments_;
  const standby::PairReader* pair_ = nullptr;
  std::size_t images_ = 0;
  std::size_t schema_ = 0;
  std::exception_ptr error_;
};

constexpr standby::Side kSides[] = {standby::Side::First, standby::Side::Second};

/// Says on stderr which ring is not followed, when that changes.
class PairNews {
 public:
  explicit PairNews(const TailArguments& arguments) : names_{arguments.ring, arguments.standby} {}
  void show(const standby::PairReader& pair) {
    for (const standby::Side side : kSides) {
      const auto i = static_cast<std::size_t>(side);
      if (pair.problem(side) == problems_[i]) continue;
      problems_[i] = pair.problem(side);
      print_stderr("stopbit: {}: {}\n", printable(names_[i]), problems_[i].empty() ? "reading" : problems_[i]);
    }
    if (pair.merge().counts().foreign != 0 && !has_foreign_) {
      has_foreign_ = true;
      print_stderr("stopbit: records of one ring match none of the other and are dropped: is it of the same feed?\n");
    }
  }

 private:
  std::array<std::string, 2> names_;
  std::array<std::string, 2> problems_;
  bool has_foreign_ = false;
};

constexpr const char* kNoMarketEvents = "--standby follows rings of records, not of market events";
constexpr const char* kNeedsPublished =
    "--filter, --from-start, --token-file, --network-token-file, --plain, --provider, --far and --max-tables need a "
    "published ring";

bool has_remote_options(const TailArguments& arguments) {
  const auto& remote = arguments.remote;
  return !remote.filter.empty() || remote.from_start || !remote.token_file.empty() || !remote.provider.empty() ||
         !remote.network_token_file.empty() || remote.is_plain || remote.is_far || remote.max_table_bytes;
}

bool is_address(const std::string& ring) {
  return remote::is_ring_address(ring) || is_stream_address(ring) || multicast::is_multicast_address(ring);
}

void check_pair(const TailArguments& arguments) {
  if (is_address(arguments.ring) || is_address(arguments.standby)) {
    throw ToolError(kExitUsage,
                    "--standby needs local rings; `stopbit subscribe` keeps a copy of one that is published");
  }
  if (arguments.content.events) throw ToolError(kExitUsage, kNoMarketEvents);
  if (!arguments.reader.empty()) throw ToolError(kExitUsage, "--standby and --name: give one");
  if (arguments.watch) throw ToolError(kExitUsage, "--standby and --watch: give one");
  if (arguments.remote.lossless) throw ToolError(kExitUsage, "--standby and --lossless: give one");
  if (has_remote_options(arguments)) throw ToolError(kExitUsage, kNeedsPublished);
  if (arguments.standby == arguments.ring) throw ToolError(kExitUsage, "--standby: give another ring");
  for (const std::string* name : {&arguments.ring, &arguments.standby}) {
    if (const auto path = os::path_of(*name); !path) throw ToolError(kExitUsage, path.message());
  }
}

/// Two rings as one, until both writers have ended, or, with --follow, until this process is to stop.
int print_pair(const TailArguments& arguments, RingsPrinter& rings) {
  PairPrinter output(rings, arguments);
  standby::PairReader pair(arguments.ring, arguments.standby, {}, output);
  output.follow(pair);
  PairNews news(arguments);
  const auto has_failed = [&] { return rings.has_begun() && rings.printer().failed(); };
  while (!stop_requested() && !has_failed()) {
    const std::size_t count = pair.poll(os::monotonic_clock_ns());
    output.check();
    if (pair.has_market_events()) throw ToolError(kExitUsage, kNoMarketEvents);
    news.show(pair);
    if (pair.images() == 0 && !arguments.wait && !arguments.follow) {
      throw ToolError(kExitEnvironment, "there is no ring to follow" + ring_instead_of(arguments.ring));
    }
    if (pair.has_ended() && !arguments.follow) break;
    if (count != 0) continue;
    if (rings.has_begun()) rings.printer().flush();
    std::this_thread::sleep_for(kIdleWait);
  }
  const standby::MergeCounts& counts = pair.merge().counts();
  print_stderr("stopbit: {} records from {}, {} from {}; {} duplicates discarded, {} numbers lost, {} recovered late\n",
               counts.delivered[0], printable(arguments.ring), counts.delivered[1], printable(arguments.standby),
               counts.copies, counts.lost, counts.filled);
  const std::uint64_t dropped = counts.dropped + counts.foreign + counts.refused;
  if (dropped != 0) print_stderr("stopbit: {} records were dropped: of another feed, or impossible\n", dropped);
  const bool both_lost = pair.lost(standby::Side::First) != 0 && pair.lost(standby::Side::Second) != 0;
  if (dropped != 0 || both_lost) return kExitRejected;
  return pair.has_died() ? kExitEnvironment : kExitDone;
}

/// A stream that `stopbit relay` writes.
int tail_stream(const TailArguments& arguments, const PrintStyle& style) {
  const auto& remote = arguments.remote;
  if (!remote.filter.empty() || remote.lossless || !remote.provider.empty() || remote.is_far ||
      remote.max_table_bytes || !remote.network_token_file.empty() || remote.is_plain) {
    throw ToolError(
        kExitUsage,
        "--filter, --lossless, --network-token-file, --plain, --provider, --far and --max-tables: not for a "
        "stream of `stopbit relay`");
  }
  if (arguments.watch || !arguments.reader.empty() || arguments.content.events) {
    throw ToolError(kExitUsage, "--watch, --name and --events need a ring");
  }
  const StreamCopy copy{arguments.ring,
                        open_stream(arguments.ring, arguments.stream, remote.token_file).stream,
                        {.start = stream_start(arguments.stream, remote.from_start),
                         .is_patient = arguments.wait || arguments.follow,
                         .follows = arguments.follow}};
  RingsPrinter rings(style, Content::Records);
  const int status = print_stream(copy, rings);
  if (rings.has_begun()) rings.printer().finish();
  return status;
}

/// A ring that an appliance sends on multicast lines.
int tail_multicast(const TailArguments& arguments, const PrintStyle& style, Content content) {
  RemoteArguments other = arguments.remote;
  other.from_start = false;
  TailArguments without = arguments;
  without.remote = other;
  if (has_remote_options(without) || other.lossless || arguments.watch || !arguments.reader.empty()) {
    throw ToolError(kExitUsage,
                    "multicast:// has no other options than --from-start, --follow, --refill, --state, "
                    "--interface-a and --interface-b");
  }
  MulticastCopy copy{arguments.ring, receiver_options(arguments.ring, arguments.multicast)};
  copy.options.from_start = arguments.remote.from_start;
  copy.options.follows = arguments.follow;
  if (copy.options.from_start && copy.options.from_state) {
    throw ToolError(kExitUsage, "--from-start and --state: give one");
  }
  if (copy.options.from_start && !copy.options.refill) {
    throw ToolError(kExitUsage, "--from-start needs --refill: the lines carry only what is new");
  }
  RingsPrinter rings(style, content);
  const int status = print_multicast(copy, rings, style.format, content);
  if (rings.has_begun()) rings.printer().finish();
  return status;
}

int tail(TailArguments arguments) {
  const Content content = content_of(arguments);
  const PrintStyle style = style_from(format_from(arguments.format), arguments.style);
  catch_stop_signals();
  accept_user(arguments.user);
  if (is_stream_address(arguments.ring) && arguments.standby.empty()) return tail_stream(arguments, style);
  if (multicast::is_multicast_address(arguments.ring) && arguments.standby.empty()) {
    refuse_stream_options(arguments.stream);
    return tail_multicast(arguments, style, content);
  }
  if (has_multicast_options(arguments.multicast)) {
    throw ToolError(kExitUsage, "--refill, --state, --interface-a and --interface-b need an address multicast://");
  }
  refuse_stream_options(arguments.stream);
  if (!arguments.standby.empty()) {
    check_pair(arguments);
    RingsPrinter rings(style, content);
    const int status = print_pair(arguments, rings);
    if (rings.has_begun()) rings.printer().finish();
    return status;
  }
  std::optional<Fetched> fetched;
  if (remote::is_ring_address(arguments.ring)) {
    if (arguments.watch) throw ToolError(kExitUsage, "--watch needs a local ring");
    if (arguments.follow) {
      throw ToolError(kExitUsage,
                      "--follow needs a local ring; `stopbit subscribe` keeps a copy of one that is published");
    }
    fetched.emplace(arguments);
    if (!fetched->wait()) return kExitDone;
    arguments.ring = fetched->name();
  } else if (has_remote_options(arguments)) {
    throw ToolError(kExitUsage, kNeedsPublished);
  } else if (!wait_for_ring(arguments)) {
    return kExitDone;
  }
  RingsPrinter rings(style, content);
  int status = kExitDone;
  if (arguments.follow) {
    status = follow_rings(arguments, rings);
  } else {
    std::optional<ring::Reader> reader = open_ring(arguments);
    if (!reader) return kExitDone;
    status = print_ring(arguments, *reader, rings, fetched ? &*fetched : nullptr).status;
  }
  if (rings.has_begun()) rings.printer().finish();
  if (fetched && fetched->ring().look().lost != 0) {
    print_stderr("stopbit: {} records were lost before they reached this host\n", fetched->ring().look().lost);
    return kExitRejected;
  }
  return status;
}

}  // namespace

Command tail_command() {
  const auto arguments = std::make_shared<TailArguments>();
  Command command = {
      .name = "tail",
      .summary = "Prints the records of a ring in shared memory",
      .description =
          "Prints the records that `stopbit replay --ring` or another writer puts into a ring in shared memory, "
          "beginning with the oldest record still in it, and ends when the writer ends. The ring carries the schema "
          "of its records. Any number of readers may follow a ring without slowing its writer: a reader that falls "
          "behind loses records, and the loss is counted on stderr. The writer of a lossless ring (`stopbit replay "
          "--lossless`) waits for its readers instead.\n"
          "\n"
          "A ring of market events (`stopbit replay --events --ring`, or an appliance with a map) is printed as one "
          "line "
          "per event; the instruments' keys come from the table RING.instruments beside it. A ring carries records or "
          "events: --records and --events say which it must, else either is printed.\n"
          "\n"
          "An address in place of a name is a ring that an appliance publishes: udp://HOST:PORT/RING or "
          "fabric://HOST:PORT/RING on any host; on this host shm://NETWORK/RING for the appliance's user, "
          "broker:SOCKET/RING for users that its "
          "entitlements admit. `stopbit subscribe` keeps a copy of such a ring for several readers. With --lossless "
          "the publisher waits until the records are printed; it detaches a reader that stays too slow.\n"
          "\n"
          "nats://HOST[:PORT]/STREAM or kafka://HOST[:PORT][,HOST[:PORT]...]/TOPIC is a stream that `stopbit relay` "
          "writes. --from-start begins with its oldest message, else with the next one; --follow goes on after the end "
          "of the stream's last ring.\n"
          "\n"
          "multicast://GROUP:PORT,GROUP:PORT is a ring that an appliance sends on two multicast lines ([[multicast]] "
          "of "
          "its settings). It ends with the ring; --follow goes on with the next one.\n"
          "\n"
          "--standby RING2 follows the rings of two appliances on the same feeds as one stream: each message once, "
          "from the one that has it first, even if one is killed, stopped or started again. What one has lost comes "
          "from the other; what neither has is one gap. A message that comes after its gap is marked as recovered. In "
          "the head `epoch` counts the channel's runs of numbers in this stream.\n"
          "\n"
          "The exit status is 1 if records were lost on their way through the ring, and 3 if the writer died; with "
          "--standby, if both did. Gaps of the feed are records, and do not change it.\n" +
          format_text() + "\n\n" + event_format_text(),
      .options = {{.names = "",
                   .value = "RING",
                   .help = "Name of the ring; a name with a / is the path of a file. Or an address, see above.",
                   .target = &arguments->ring,
                   .hint = ring_hint(),
                   .required = true},
                  {.names = "--records",
                   .value = "",
                   .help = "Only records: a ring of market events is an error.",
                   .target = &arguments->content.records},
                  {.names = "--events",
                   .value = "",
                   .help = "Only market events: a ring of records is an error.",
                   .target = &arguments->content.events},
                  format_option(arguments->format, "Output format. Default jsonl.", {"sbe"}),
                  {.names = "--wait",
                   .value = "",
                   .help = "Waits for the ring if it does not exist yet.",
                   .target = &arguments->wait},
                  {.names = "--follow",
                   .value = "",
                   .help = "Goes on with the next ring of this name when the writer has ended, as after a restart or a "
                           "new image, and says so on stderr. Waits for the first one, too. Looks for the next one ten "
                           "times a second: of rings that last less, some may be missed.",
                   .target = &arguments->follow},
                  {.names = "--standby",
                   .value = "RING2",
                   .help = "Follows this ring, too, as one stream with RING: of another appliance on the same feeds.",
                   .target = &arguments->standby,
                   .hint = ring_hint()},
                  {.names = "--name",
                   .value = "NAME",
                   .help = "Name under which `stopbit stat` lists the records this reader has read and lost.",
                   .target = &arguments->reader},
                  {.names = "--state",
                   .value = "",
                   .help = "For multicast:// with market events: begins with events that make the present books, from "
                           "--refill, and goes on with the events after them. The publisher must keep them "
                           "(`state = true`).",
                   .target = &arguments->multicast.state},
                  user_option(arguments->user),
                  {.names = "--watch",
                   .value = "",
                   .help = "Does not register as a reader of a lossless ring: the writer does not wait, and records "
                           "may be lost.",
                   .target = &arguments->watch}},
      .examples = {{"stopbit tail moex", "prints what `stopbit replay ... --ring moex` writes"},
                   {"stopbit tail moex --wait --format csv > moex.csv", "start it before or after the writer"},
                   {"stopbit tail moex --follow --header >> moex.jsonl", "across restarts and new images"},
                   {"stopbit tail md1 --standby md2 --follow", "two appliances as one, either of which may fail"},
                   {"stopbit tail moex --header", "with arrival time, channel, line and sequence number"},
                   {"stopbit tail moex --format table --template Quote/Legs", "the entries of a sequence, for people"},
                   {"stopbit tail moex-events --events --format sbe > moex.sbe", "market events, for a program"},
                   {"stopbit tail fabric://md1:7700/moex --from-start --filter template=30", "a ring of another host"},
                   {"stopbit tail udp://md1:7701/moex --network-token-file token", "the same, faster and encrypted"},
                   {"stopbit tail multicast://239.255.7.1:7001,239.255.7.2:7002 --refill 10.1.2.3:7003",
                    "a ring on two multicast lines"},
                   {"stopbit tail multicast://239.255.7.1:7001 --refill 10.1.2.3:7003 --state",
                    "market events, after those that make the present books"},
                   {"stopbit tail nats://nats1/CME --from-start --follow",
                    "what `stopbit relay` has stored, and more"}},
      .run = [arguments] { return tail(*arguments); },
      .runs_until_stopped = true,
  };
  for (Option& option : style_options(arguments->style)) command.options.push_back(std::move(option));
  for (Option& option : remote_options(arguments->remote)) command.options.push_back(std::move(option));
  for (Option& option : stream_reader_options(arguments->stream)) command.options.push_back(std::move(option));
  for (Option& option : multicast_options(arguments->multicast)) command.options.push_back(std::move(option));
  return command;
}

}  // namespace stopbit::tools
