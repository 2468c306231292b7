#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <memory>
#include <numeric>

#include "host/cli/common/commands.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/pipeline.hpp"
#include "host/cli/common/ring_output.hpp"
#include "host/cli/common/signals.hpp"
#include "host/feed/packet/flow_table.hpp"
#include "host/feed/packet/packet.hpp"
#include "host/lab/impair/impairer.hpp"
#include "host/ports/out/pcap/pcap_writer.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::tools {
namespace {

constexpr std::uint16_t kMaxGroups = 256;
constexpr std::size_t kEthernetHeaderBytes = 14;
constexpr std::uint64_t kMaxDelayNs = 60'000'000'000;

struct ImpairArguments {
  std::string input;
  std::string output;
  std::string log;
  std::vector<std::string> groups;
  std::optional<std::uint64_t> seed;
  std::string loss;
  std::string burst;
  std::string duplicate;
  std::string reorder;
  std::optional<std::uint64_t> depth;
  std::string corrupt;
  std::string delay;
  std::optional<std::uint64_t> dies_at;
  std::optional<std::uint64_t> returns_at;
  bool quiet = false;
};

double number_from(const char* option, std::string_view text, double least, double most) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || !(value >= least && value <= most)) {
    throw ToolError(kExitUsage, fmt::format("{}: must be a number from {} to {}", option, least, most));
  }
  return value;
}

/// "0.01" or "1%".
double part_from(const char* option, std::string_view text) {
  if (text.empty()) return 0;
  if (!text.ends_with('%')) return number_from(option, text, 0, 1);
  text.remove_suffix(1);
  return number_from(option, text, 0, 100) / 100;
}

impair::Options impairment_from(const ImpairArguments& arguments) {
  impair::Options options;
  options.lines = 1;
  options.corrupt_from = kEthernetHeaderBytes;
  impair::LineOptions& line = options.line[0];
  line.loss.rate = part_from("--loss", arguments.loss);
  if (!arguments.burst.empty()) line.loss.mean_burst = number_from("--burst", arguments.burst, 1, 1e6);
  line.duplicate = part_from("--duplicate", arguments.duplicate);
  line.reorder = part_from("--reorder", arguments.reorder);
  if (arguments.depth.value_or(1) < 1 || arguments.depth.value_or(1) > impair::kMaxReorderDepth) {
    throw ToolError(kExitUsage, fmt::format("--depth: 1 to {}", impair::kMaxReorderDepth));
  }
  line.reorder_depth = static_cast<std::uint32_t>(arguments.depth.value_or(1));
  line.corrupt = part_from("--corrupt", arguments.corrupt);
  if (!arguments.delay.empty()) line.delay_ns = parse_time_ns("--delay", arguments.delay);
  if (line.delay_ns > kMaxDelayNs) throw ToolError(kExitUsage, "--delay: at most 60s");
  // People count from 1.
  if (arguments.dies_at == 0U || arguments.returns_at == 0U) throw ToolError(kExitUsage, "packets count from 1");
  if (arguments.dies_at) line.dies_at = *arguments.dies_at - 1;
  if (arguments.returns_at) line.returns_at = *arguments.returns_at - 1;
  return options;
}

/// The groups of a capture, each with an impairer of its own; whatever is none of them passes as it is.
class Network {
 public:
  Network(const ImpairArguments& arguments, Output out, std::optional<Output> log)
      : options_(impairment_from(arguments)),
        seed_(arguments.seed.value_or(1)),
        flows_(kMaxGroups),
        out_(std::move(out)),
        log_(std::move(log)),
        writer_(open_writer()) {
    std::vector<net::Endpoint> groups;
    for (const std::string& group : arguments.groups) {
      const auto endpoint = net::parse_endpoint(group);
      if (!endpoint) throw ToolError(kExitUsage, "--group: " + endpoint.message());
      groups.push_back(endpoint.value());
    }
    filter_.emplace(std::move(groups));
  }

  void take(const ingest::Packet& packet) {
    if (packet.link != net::LinkType::Ethernet) {
      throw ToolError(kExitRejected, "only captures of Ethernet can be impaired");
    }
    now_ns_ = std::max(now_ns_, packet.arrival_ns);
    let_out(now_ns_);
    net::Datagram datagram;
    const net::Verdict verdict = net::parse_frame(packet.link, packet.frame, packet.original_bytes, datagram);
    if (verdict == net::Verdict::Accepted && filter_->accepts(datagram.destination)) {
      if (const auto channel = flows_.channel(datagram.destination)) {
        impairer(*channel).push(packet.frame, now_ns_);
        let_out(now_ns_);
        return;
      }
    }
    writer_.write(packet.frame, packet.arrival_ns);
    ++passed_;
  }

  void finish() {
    for (const auto& one : impairers_) one->flush(now_ns_);
    let_out(impair::kNever);
    out_.close();
    if (log_) log_->close();
  }

  [[nodiscard]] std::string report() const {
    std::string text = fmt::format("{:>12}  packets passed as they were\n", passed_);
    for (std::size_t i = 0; i < impairers_.size(); ++i) {
      text += fmt::format("\n{}, seed {}\n{:>12}  packets in\n", net::to_text(flows_.groups()[i]), seed_ + i,
                          impairers_[i]->packets());
      for (std::size_t kind = 0; kind < counts_[i].size(); ++kind) {
        if (counts_[i][kind] == 0) continue;
        text += fmt::format("{:>12}  {}\n", counts_[i][kind], impair::to_text(static_cast<impair::Event::Kind>(kind)));
      }
    }
    return text;
  }

 private:
  egress::PcapWriter open_writer() {
    auto writer = egress::PcapWriter::open([this](std::string_view bytes) {
      out_.write(bytes);
      out_.flush_if_full();
    });
    if (!writer) throw ToolError(kExitEnvironment, writer.message());
    return std::move(writer).value();
  }

  impair::Impairer& impairer(std::uint16_t channel) {
    while (impairers_.size() <= channel) {
      const std::size_t index = impairers_.size();
      impair::Options options = options_;
      options.seed = seed_ + index;
      counts_.emplace_back();
      impairers_.push_back(std::make_unique<impair::Impairer>(
          options, [this, index](const impair::Event& event) { note(index, event); }));
    }
    return *impairers_[channel];
  }

  void note(std::size_t index, const impair::Event& event) {
    ++counts_[index][static_cast<std::size_t>(event.kind)];
    if (!log_) return;
    log_->write(fmt::format("{{\"group\":\"{}\",\"event\":\"{}\",\"packet\":{},\"time_ns\":{},\"detail\":{}}}\n",
                            net::to_text(flows_.groups()[index]), impair::to_text(event.kind), event.packet + 1,
                            event.time_ns, event.detail));
    log_->flush_if_full();
  }

  /// Writes the packets that leave any group by then, in the order of time.
  void let_out(std::uint64_t until_ns) {
    for (;;) {
      impair::Impairer* first = nullptr;
      std::uint64_t first_ns = until_ns;
      for (const auto& one : impairers_) {
        const auto time = one->next_time();
        if (time && (first == nullptr ? *time <= first_ns : *time < first_ns)) {
          first = one.get();
          first_ns = *time;
        }
      }
      if (first == nullptr) return;
      const impair::Copy* const copy = first->pop(first_ns);
      writer_.write(copy->bytes, copy->time_ns);
    }
  }

  impair::Options options_;
  std::uint64_t seed_;
  std::optional<net::GroupFilter> filter_;
  net::FlowTable flows_;
  Output out_;
  std::optional<Output> log_;
  egress::PcapWriter writer_;
  std::vector<std::unique_ptr<impair::Impairer>> impairers_;  ///< By group.
  std::vector<std::array<std::uint64_t, 7>> counts_;          ///< By group and kind of event.
  std::uint64_t now_ns_ = 0;
  std::uint64_t passed_ = 0;
};

int run_impair(const ImpairArguments& arguments) {
  (void)impairment_from(arguments);  // before any file is touched
  const auto source = open_capture(arguments.input);
  catch_stop_signals();
  std::optional<Output> log;
  Output out = Output::open(arguments.output, {arguments.input});
  if (!arguments.log.empty()) log.emplace(Output::open(arguments.log, {arguments.input, arguments.output}));
  Network network(arguments, std::move(out), std::move(log));
  ingest::Packet packet;
  bool is_damaged = false;
  for (;;) {
    const ingest::Next next = source->next(packet);
    if (next == ingest::Next::Fault) {
      print_stderr("{}\n", printable(source->fault().message));
      is_damaged = true;
    }
    if (next != ingest::Next::Packet || stop_requested()) break;
    network.take(packet);
  }
  network.finish();
  if (!arguments.quiet) write_stderr(network.report());
  return is_damaged ? kExitRejected : kExitDone;
}

}  // namespace

Command impair_command() {
  const auto arguments = std::make_shared<ImpairArguments>();
  return {
      .name = "impair",
      .summary = "Impairs a capture: loss, duplicates, reordering, damage, delay",
      .description =
          "Impairs the UDP packets of a capture as a bad network does. The same seed gives the same file. Every group "
          "(destination address and port) is impaired as a line of its own, with its own seed, counted up from "
          "--seed. Other packets pass unchanged.\n"
          "\n"
          "A PART is a fraction or a percentage: 0.01 or 1%. Damage flips one bit after the Ethernet header and does "
          "not correct the checksums. The log has a JSON line for each impairment and for each packet in the output; "
          "packets are counted from 1 within their group.",
      .options =
          {{.names = "",
            .value = "CAPTURE",
            .help = "pcap or pcapng of Ethernet, plain or compressed; - is stdin.",
            .target = &arguments->input,
            .hint = file_hint(),
            .required = true},
           {.names = "-o,--output",
            .value = "OUT.pcap",
            .help = "Output file; - is stdout.",
            .target = &arguments->output,
            .hint = file_hint({".pcap"}),
            .required = true},
           {.names = "--seed", .value = "N", .help = "Default 1.", .target = &arguments->seed},
           {.names = "--group",
            .value = "A.B.C.D:PORT",
            .help = "Impairs only packets to this group; the others pass unchanged.",
            .target = &arguments->groups},
           {.names = "--loss", .value = "PART", .help = "Part of the packets to drop.", .target = &arguments->loss},
           {.names = "--burst",
            .value = "N",
            .help = "Mean number of packets lost in a row. Default 1.",
            .target = &arguments->burst},
           {.names = "--duplicate",
            .value = "PART",
            .help = "Part of the packets to duplicate.",
            .target = &arguments->duplicate},
           {.names = "--reorder",
            .value = "PART",
            .help = "Part of the copies to hold back.",
            .target = &arguments->reorder},
           {.names = "--depth",
            .value = "N",
            .help = "Maximum number of later packets that overtake one that is held back. Default 1.",
            .target = &arguments->depth},
           {.names = "--corrupt",
            .value = "PART",
            .help = "Part of the copies in which to flip a bit.",
            .target = &arguments->corrupt},
           {.names = "--delay",
            .value = "TIME",
            .help = "Delay of every packet: 250us, 5ms. At most 60s.",
            .target = &arguments->delay},
           {.names = "--dies-at",
            .value = "N",
            .help = "Drops every packet of a group from this one on.",
            .target = &arguments->dies_at},
           {.names = "--returns-at",
            .value = "N",
            .help = "Ends --dies-at: packets pass again from this one on.",
            .target = &arguments->returns_at},
           {.names = "--log",
            .value = "FILE",
            .help = "Writes the log to this file.",
            .target = &arguments->log,
            .hint = file_hint({".jsonl"})},
           {.names = "-q,--quiet", .value = "", .help = "Prints no report on stderr.", .target = &arguments->quiet}},
      .examples = {{"stopbit impair day.pcap -o bad.pcap --loss 1% --burst 10 --seed 7 --log bad.jsonl",
                    "bursts of loss on every line"},
                   {"stopbit impair day.pcap -o bad.pcap --group 239.1.2.1:31001 --delay 5ms --dies-at 1000",
                    "one line is late and then dies"}},
      .run = [arguments] { return run_impair(*arguments); },
  };
}

}  // namespace stopbit::tools
