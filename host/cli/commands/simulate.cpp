#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/signals.hpp"
#include "host/feed/description/description.hpp"
#include "host/lab/simulate/exchange.hpp"
#include "host/lab/venue/market_feed.hpp"
#include "host/os/clock.hpp"
#include "host/ports/out/frame.hpp"
#include "host/ports/out/pcap/pcap_writer.hpp"
#include "host/ports/out/socket/copying_sender.hpp"
#include "host/replay/pacer.hpp"
#include "microcode/base/time.hpp"

namespace stopbit::tools {
namespace {

constexpr std::size_t kBatch = 64;

struct SimulateArguments {
  std::string settings;
  std::string output;
  std::string pace = "1x";
  std::optional<std::uint64_t> seed;
  std::string feed;
  std::string truth;
  bool quiet = false;
};

/// Where datagrams go.
class Way {
 public:
  Way() = default;
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;
  virtual ~Way() = default;
  virtual void send(const simulate::Sent& sent) = 0;
  /// @returns how many datagrams did not get through, after a word about them.
  virtual std::uint64_t finish() = 0;
};

class CaptureWay final : public Way {
 public:
  explicit CaptureWay(Output out) : out_(std::move(out)) {
    Result<egress::PcapWriter> opened = egress::PcapWriter::open([this](std::string_view bytes) {
      out_.buffer() += bytes;
      out_.flush_if_full();
    });
    if (!opened) throw ToolError(kExitEnvironment, opened.message());
    pcap_.emplace(std::move(opened).value());
  }

  void send(const simulate::Sent& sent) override {
    pcap_->write(egress::FrameBuilder(sent.source, sent.group).build(sent.payload), sent.time_ns);
  }
  std::uint64_t finish() override {
    out_.close();
    return 0;
  }

 private:
  Output out_;
  std::optional<egress::PcapWriter> pcap_;
};

/// Sends in real time, a socket for each sender of each line; what is due together leaves together.
class NetworkWay final : public Way {
 public:
  NetworkWay(const simulate::Settings& settings, double speed) : start_ns_(settings.start_ns), speed_(speed) {
    for (std::size_t i = 0; i < settings.lines.size(); ++i) {
      const simulate::LineSettings& line = settings.lines[i];
      senders_.push_back(open(line.interface, line.source));
      senders_.push_back(open(line.interface, line.backup_source ? line.backup_source : line.source));
    }
    begin_ns_ = os::monotonic_clock_ns();
  }

  void send(const simulate::Sent& sent) override {
    wait_for(sent.time_ns);
    senders_[2 * sent.line + (sent.from_backup ? 1 : 0)].add(sent.group, sent.payload);
  }

  std::uint64_t finish() override {
    flush();
    std::uint64_t refused = 0;
    int error = 0;
    for (const egress::CopyingSender& sender : senders_) {
      refused += sender.socket().refused();
      if (sender.socket().last_error() != 0) error = sender.socket().last_error();
    }
    if (refused != 0) {
      print_stderr("stopbit: the system refused to send {} datagrams: {}\n", refused, std::strerror(error));
    }
    if (latest_ns_ > kNsPerSecond / 100) {
      print_stderr("stopbit: datagrams were sent up to {} ms late: this machine is too slow for the rate\n",
                   latest_ns_ / 1'000'000);
    }
    return refused;
  }

 private:
  static egress::CopyingSender open(const std::string& interface, const std::optional<net::Endpoint>& source) {
    egress::UdpSenderOptions options;
    options.interface = interface;
    options.source = source.value_or(net::Endpoint{});
    options.loop = true;
    options.batch = kBatch;
    Result<egress::CopyingSender> opened = egress::CopyingSender::open(options);
    if (!opened) throw ToolError(kExitEnvironment, opened.message());
    return std::move(opened).value();
  }

  void flush() {
    for (egress::CopyingSender& sender : senders_) sender.flush();
  }

  void wait_for(std::uint64_t time_ns) {
    if (speed_ <= 0) return;
    constexpr std::uint64_t kWakeUpNs = 100'000;  // a sleep ends this much late, or less
    const std::uint64_t due = begin_ns_ + static_cast<std::uint64_t>(static_cast<double>(time_ns - start_ns_) / speed_);
    std::uint64_t now = os::monotonic_clock_ns();
    if (now >= due) {
      latest_ns_ = std::max(latest_ns_, now - due);
      return;
    }
    flush();
    for (; now < due && !stop_requested(); now = os::monotonic_clock_ns()) {
      if (due - now <= kWakeUpNs) continue;
      const std::uint64_t nap = std::min(due - now - kWakeUpNs, kNsPerSecond / 10);
      const timespec time{0, static_cast<long>(nap)};
      (void)::nanosleep(&time, nullptr);
    }
  }

  std::vector<egress::CopyingSender> senders_;  ///< By line: the first sender, the backup.
  std::uint64_t start_ns_;
  std::uint64_t begin_ns_ = 0;
  double speed_;
  std::uint64_t latest_ns_ = 0;
};

/// Prints what was found and ends the command if there were errors.
void tell(const Diagnostics& diagnostics) {
  write_stderr(diagnostics.format());
  if (diagnostics.has_errors()) throw ToolError(kExitRejected, "");
}

/// What a decoder of the feed has to know.
struct FeedPlan {
  struct Stream {
    std::string name;  ///< Empty: its role.
    simulate::Role role = simulate::Role::Incremental;
    net::Framing framing;
    std::string templates_name;
    std::string templates;
    std::string templates_file = {};  ///< Where they are from; empty: from this program.
  };
  std::string name;
  std::vector<Stream> streams;  ///< Of a channel.
  std::string map;              ///< Empty: there is none.
  std::uint32_t depth = 0;      ///< Of books; 0: the feed says it.
};

FeedPlan plan_of(const simulate::Preset& preset) {
  FeedPlan plan;
  plan.name = std::filesystem::path(preset.name).stem().string();
  for (const simulate::StreamModel& stream : preset.streams) {
    plan.streams.push_back({.name = {},
                            .role = stream.role,
                            .framing = stream.framing,
                            .templates_name = stream.templates_name,
                            .templates = std::string(stream.templates->text()),
                            .templates_file = preset.is_file() ? stream.templates->name() : std::string()});
  }
  return plan;
}

FeedPlan plan_of(const simulate::MarketSettings& market, const venue::Voice& voice) {
  FeedPlan plan;
  plan.name = voice.map();
  plan.map = voice.map();
  const bool is_of_prices = voice.depth() != ~std::size_t{0};
  if (is_of_prices) plan.depth = static_cast<std::uint32_t>(market.depth);
  for (const venue::StreamPlan& stream : voice.streams()) {
    plan.streams.push_back({.name = std::string(stream.name),
                            .role = stream.role,
                            .framing = net::parse_framing(stream.framing).value(),
                            .templates_name = std::string(voice.templates_name()),
                            .templates = std::string(voice.templates())});
  }
  return plan;
}

feed::Role role_of(simulate::Role role) {
  switch (role) {
    case simulate::Role::Incremental: return feed::Role::Incremental;
    case simulate::Role::Snapshot: return feed::Role::Snapshot;
    case simulate::Role::Carousel: break;
  }
  return feed::Role::Carousel;
}

/// Writes the files that a decoder of this feed needs: template files, and feed.toml with the channels.
void write_feed(const simulate::Settings& settings, const FeedPlan& plan,
                const std::vector<simulate::StreamReport>& streams, const std::string& folder,
                const std::vector<std::string>& inputs) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw ToolError(kExitEnvironment, folder + ": " + error.message());
  feed::Description description;
  description.name = plan.name;
  for (const FeedPlan::Stream& stream : plan.streams) {
    const std::filesystem::path file = std::filesystem::path(stream.templates_name).filename();
    const bool is_known = std::any_of(description.images.begin(), description.images.end(),
                                      [&file](const feed::Image& image) { return image.name == file.stem(); });
    if (is_known) continue;
    description.images.push_back({.name = file.stem().string(), .templates = {file.string()}, .firmware = {}});
    const std::filesystem::path target = std::filesystem::path(folder) / file;
    // A preset's own template file may be there already: it is not touched.
    const bool is_there =
        !stream.templates_file.empty() && std::filesystem::equivalent(target, stream.templates_file, error);
    if (!is_there) write_file(target.string(), stream.templates, inputs);
  }
  for (std::size_t i = 0; i < streams.size(); ++i) {
    const FeedPlan::Stream& stream = plan.streams[i % plan.streams.size()];
    feed::Channel& channel = description.channels.emplace_back();
    channel.number = static_cast<std::uint16_t>(i);
    channel.name =
        stream.name.empty() ? fmt::format("{} {}", simulate::role_text(stream.role), streams[i].channel) : stream.name;
    channel.role = role_of(stream.role);
    channel.window = feed::default_window(channel.role);
    channel.framing = stream.framing;
    const std::string image = std::filesystem::path(stream.templates_name).stem().string();
    while (description.images[channel.image].name != image) ++channel.image;
    channel.ring = image;
    if (!plan.map.empty()) {
      channel.map = plan.map;
      channel.events = image + "-events";
      channel.depth = plan.depth;
      if (i == venue::kSnapshots) channel.recovers = plan.streams[venue::kIncrements].name;
    }
    for (std::size_t line = 0; line < settings.lines.size(); ++line) {
      // After a fail-over another source continues, so none is named then.
      const bool is_fixed = settings.lines[line].source && !settings.lines[line].backup_source;
      channel.lines[line] = feed::Line{streams[i].groups[line], std::nullopt};
      if (is_fixed) channel.lines[line]->source = settings.lines[line].source->address;
    }
  }
  write_file((std::filesystem::path(folder) / "feed.toml").string(),
             feed::to_toml(description, "A simulated feed, as `stopbit simulate` sends it."), inputs);
}

std::string report_text(const std::vector<simulate::StreamReport>& reports) {
  std::string text = fmt::format("{:>7}  {:<11}  {:<8}  {:>10}  {:>10}  {:>12}  {:>10}  {}\n", "channel", "role",
                                 "framing", "packets", "messages", "bytes", "last", "groups");
  for (const simulate::StreamReport& report : reports) {
    std::string groups;
    for (const net::Endpoint& group : report.groups) groups += (groups.empty() ? "" : " ") + net::to_text(group);
    text += fmt::format("{:>7}  {:<11}  {:<8}  {:>10}  {:>10}  {:>12}  {:>10}  {}", report.channel,
                        simulate::role_text(report.role), report.framing, report.packets, report.messages, report.bytes,
                        report.last_sequence, groups);
    if (report.datagrams != report.packets) text += fmt::format("  {} chunks", report.datagrams);
    if (report.cycles != 0) text += fmt::format("  {} cycles", report.cycles);
    if (report.resets != 0) text += fmt::format("  {} resets", report.resets);
    if (report.failovers != 0) text += fmt::format("  {} fail-overs", report.failovers);
    text += '\n';
    for (std::size_t line = 0; line < report.groups.size(); ++line) {
      const simulate::ImpairReport& impaired = report.impaired;
      if (impaired.lost[line] + impaired.doubled[line] + impaired.held_back[line] + impaired.damaged[line] == 0)
        continue;
      text +=
          fmt::format("         line {}: {} lost, {} duplicated, {} held back, {} damaged\n", line == 0 ? 'A' : 'B',
                      impaired.lost[line], impaired.doubled[line], impaired.held_back[line], impaired.damaged[line]);
    }
  }
  return text;
}

/// The exchange of the settings, and what a decoder of its feed has to know.
struct Made {
  std::unique_ptr<simulate::Exchange> exchange;
  FeedPlan plan;
  venue::MarketFeed* market = nullptr;  ///< The exchange, if its books are true.
};

Made make_exchange(const simulate::Settings& settings, Diagnostics& diagnostics) {
  Made made;
  if (settings.market) {
    std::unique_ptr<venue::MarketFeed> feed = venue::MarketFeed::make(settings, diagnostics);
    if (feed == nullptr) return made;
    made.plan = plan_of(*settings.market, feed->venue().voice());
    made.market = feed.get();
    made.exchange = std::move(feed);
    return made;
  }
  const std::optional<simulate::Preset> preset = simulate::load_preset(settings.preset, diagnostics);
  if (!preset) return made;
  made.plan = plan_of(*preset);
  made.exchange = simulate::Exchange::make(settings, *preset, diagnostics);
  return made;
}

int simulate_feed(const SimulateArguments& arguments) {
  const Result<double> speed = replay::parse_pace(arguments.pace);
  if (!speed) throw ToolError(kExitUsage, "--pace: " + speed.message());
  Diagnostics diagnostics;
  const config::Document document =
      config::Document::parse(arguments.settings, read_file(arguments.settings, config::kMaxFileBytes), diagnostics);
  std::optional<simulate::Settings> settings = simulate::read_settings(document, diagnostics);
  if (settings && arguments.seed) settings->seed = *arguments.seed;
  const Made made = settings ? make_exchange(*settings, diagnostics) : Made();
  tell(diagnostics);
  simulate::Exchange& exchange = *made.exchange;
  if (!arguments.truth.empty() && made.market == nullptr) {
    throw ToolError(kExitUsage, "--truth: only a [market] has books that are known");
  }
  if (arguments.truth == "-" && arguments.output == "-") {
    throw ToolError(kExitUsage, "-o and --truth cannot both be stdout");
  }
  const std::vector<std::string> inputs = {arguments.settings, settings->preset};
  if (!arguments.feed.empty()) write_feed(*settings, made.plan, exchange.report(), arguments.feed, inputs);
  std::optional<Output> truth;
  if (!arguments.truth.empty()) {
    truth.emplace(Output::open(arguments.truth, inputs));
    made.market->tell_truth([&truth](const venue::Venue& venue, const venue::Packet& packet) {
      for (const venue::TruthRow& row : packet.truth) truth->buffer() += venue::truth_line(venue, packet, row) + '\n';
      truth->flush_if_full();
    });
  }

  std::unique_ptr<Way> way;
  if (arguments.output.empty()) {
    way = std::make_unique<NetworkWay>(*settings, speed.value());
  } else {
    way = std::make_unique<CaptureWay>(
        Output::open(arguments.output, {arguments.settings, settings->preset, arguments.truth}));
  }
  catch_stop_signals();
  simulate::Sent sent;
  while (!stop_requested() && exchange.next(sent)) way->send(sent);
  const std::uint64_t refused = way->finish();
  if (truth) truth->close();
  if (!exchange.fault().empty()) throw ToolError(kExitRejected, exchange.fault());
  if (!arguments.quiet) write_stderr(report_text(exchange.report()));
  return refused == 0 ? kExitDone : kExitEnvironment;
}

std::string preset_list() {
  std::string text;
  for (const std::string_view name : simulate::preset_names()) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

}  // namespace

Command simulate_command() {
  const auto arguments = std::make_shared<SimulateArguments>();
  return {
      .name = "simulate",
      .summary = "Simulates an exchange and sends its feed",
      .description =
          "Simulates an exchange: order books follow a random walk, and a feed reports them on lines A and B, by "
          "multicast or into a capture. The same settings and seed give the same packets. Each preset imitates a real "
          "exchange, with templates of our own: " +
          preset_list() +
          ".\n"
          "\n"
          "Settings are TOML. Mandatory: preset, duration (\"10s\"), [line_a] with group (\"239.1.1.1:30001\"; later "
          "streams take the next addresses and ports). Optional: seed, start (seconds since 1970), channels, "
          "instruments, products, rate (packets per second of a channel), snapshot_every, heartbeat_every, skew (of "
          "line B), carousel_skew, [burst] with every, packets and gap, [[reset]] and [[failover]] with at and "
          "channel, [line_b]; and for a line source, backup_source (after a fail-over) and interface. To impair a "
          "line: impair = {loss = 0.01, loss_burst = 10, duplicate, reorder, reorder_depth, corrupt, dies_at, "
          "returns_at}; to impair both lines at once: [impair_both] with loss and loss_burst.\n"
          "\n"
          "With [market] instead of preset the books are true: every message follows from what happens to orders, and "
          "--truth tells what the books are. [market] has exchange (moex-fx, t7, t7-mdi, b3, cme), depth (prices of a "
          "side), orders (most of a side), changes (most in an update), fragment (orders in a part of a snapshot) and "
          "definitions_every; [[phase]] has at and state (pre_open, open, halted, closed); a [[reset]] is of = "
          "\"numbers\" or of = \"books\". --write-feed names the feed map, too, and what each channel recovers.\n"
          "\n"
          "Your own preset is a file: preset = \"mine.toml\". Its messages are JSON lines, as `stopbit encode` reads "
          "them, with variables:\n"
          "\n" +
          simulate::Pattern::variables() +
          "\n"
          "At the end a report on stderr counts what each stream sent. The exit status is 3 if the system refused to "
          "send.",
      .options =
          {{.names = "",
            .value = "SIM.toml",
            .help = "Settings; - is stdin.",
            .target = &arguments->settings,
            .hint = file_hint({".toml"}),
            .required = true},
           {.names = "-o,--output",
            .value = "FILE",
            .help = "Writes a pcap capture instead of sending; - is stdout.",
            .target = &arguments->output,
            .hint = file_hint({".pcap"})},
           {.names = "--pace",
            .value = "PACE",
            .help = "Speed of sending: max, or a multiple of the simulated clock: 1x, 10x, 0.5x. Default 1x.",
            .target = &arguments->pace,
            .hint = open_choice_hint({"max", "1x", "10x"})},
           {.names = "--seed", .value = "N", .help = "Overrides the seed of the settings.", .target = &arguments->seed},
           {.names = "--write-feed",
            .value = "FOLDER",
            .help = "Also writes to this folder what a decoder of the feed needs: feed.toml and the template "
                    "files.",
            .target = &arguments->feed,
            .hint = folder_hint()},
           {.names = "--truth",
            .value = "FILE",
            .help = "Of a [market]: also writes the true books, a JSON line for each book that a packet of increments "
                    "changes: channel, sequence, time, instrument, number, bids and asks as [price, size, orders].",
            .target = &arguments->truth,
            .hint = file_hint({".jsonl"})},
           {.names = "-q,--quiet", .value = "", .help = "Prints no report on stderr.", .target = &arguments->quiet}},
      .examples = {{"stopbit simulate sim.toml", "sends to the groups of the settings in real time"},
                   {"stopbit simulate sim.toml -o day.pcap --write-feed . --seed 7",
                    "a capture of both lines, and what `stopbit replay` needs to decode it"},
                   {"stopbit simulate market.toml -o day.pcap --write-feed . --truth truth.jsonl",
                    "an exchange with true books, and what the books are at each number"}},
      .run = [arguments] { return simulate_feed(*arguments); },
  };
}

}  // namespace stopbit::tools
