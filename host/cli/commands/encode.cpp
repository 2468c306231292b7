#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>

#include "decoder/encode/encoder.hpp"
#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/json_reader.hpp"
#include "decoder/record/reader.hpp"
#include "host/cli/common/commands.hpp"
#include "host/cli/common/engine_arguments.hpp"
#include "host/cli/common/line_reader.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/program_source.hpp"
#include "host/cli/common/signals.hpp"
#include "host/feed/packet/packet.hpp"
#include "host/ports/out/datagrams.hpp"
#include "host/ports/out/frame.hpp"
#include "host/ports/out/pcap/pcap_writer.hpp"
#include "microcode/base/hex.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::tools {
namespace {

constexpr std::uint32_t kMsgSeqNum = 34;  ///< FIX tag.
constexpr std::uint64_t kDefaultStartNs = 1'600'000'000'000'000'000;
constexpr std::uint64_t kDefaultIntervalNs = 10'000;
constexpr std::uint64_t kMaxLineShiftNs = 500;         ///< Delay of line B against line A.
constexpr std::uint64_t kDefaultPayloadBytes = 1'472;  ///< The payload of an Ethernet frame of 1500 bytes.
constexpr std::uint64_t kMinPayloadBytes = 32;
constexpr std::uint64_t kShownProblems = 20;
constexpr net::Endpoint kSource = {0xC0000201, 30'001};        // 192.0.2.1, an address for examples
constexpr net::Endpoint kDefaultGroup = {0xEF010101, 30'001};  // 239.1.1.1

struct EncodeArguments {
  std::string input = "-";
  ProgramSource program;
  std::string framing = "none";
  std::string reset;
  std::string output = "-";
  std::string format;
  std::vector<std::string> groups;
  std::optional<std::uint64_t> lines;
  std::optional<std::uint64_t> per_packet;
  std::optional<std::uint64_t> max_payload;
  std::optional<std::uint64_t> start;
  std::optional<std::uint64_t> interval;
  EngineArguments engine;
  bool quiet = false;
};

/// Where finished datagrams go.
class DatagramWriter {
 public:
  explicit DatagramWriter(Output out) : out_(std::move(out)) {}
  DatagramWriter(const DatagramWriter&) = delete;
  DatagramWriter& operator=(const DatagramWriter&) = delete;
  virtual ~DatagramWriter() = default;

  virtual void write(std::span<const std::byte> payload) = 0;
  void close() { out_.close(); }

 protected:
  [[nodiscard]] Output& out() { return out_; }

 private:
  Output out_;
};

/// A line a datagram, for `stopbit decode`.
class HexWriter final : public DatagramWriter {
 public:
  using DatagramWriter::DatagramWriter;

  void write(std::span<const std::byte> payload) override {
    std::string& text = out().buffer();
    for (const std::byte byte : payload) {
      append_hex(text, std::to_integer<unsigned>(byte), 2);
      text += ' ';
    }
    text.back() = '\n';
    out().flush_if_full();
  }
};

/// A capture of one line of a feed, or of both.
class CaptureWriter final : public DatagramWriter {
 public:
  CaptureWriter(Output out, const std::vector<net::Endpoint>& groups, std::uint64_t start_ns, std::uint64_t interval_ns)
      : DatagramWriter(std::move(out)), time_ns_(start_ns), interval_ns_(interval_ns) {
    for (const net::Endpoint& group : groups) lines_.emplace_back(kSource, group);
    Result<egress::PcapWriter> opened = egress::PcapWriter::open([this](std::string_view bytes) {
      DatagramWriter::out().buffer() += bytes;
      DatagramWriter::out().flush_if_full();
    });
    if (!opened) throw ToolError(kExitEnvironment, opened.message());
    pcap_.emplace(std::move(opened).value());
  }

  void write(std::span<const std::byte> payload) override {
    const std::uint64_t shift_ns = std::min(kMaxLineShiftNs, interval_ns_ / 2);
    for (std::size_t i = 0; i < lines_.size(); ++i) pcap_->write(lines_[i].build(payload), time_ns_ + i * shift_ns);
    time_ns_ += interval_ns_;
  }

 private:
  std::vector<egress::FrameBuilder> lines_;
  std::optional<egress::PcapWriter> pcap_;
  std::uint64_t time_ns_;
  std::uint64_t interval_ns_;
};

/// Finds the sequence number that a message gives itself.
struct SequenceFinder : record::Visitor {
  void field(const SchemaNode& node, const record::Value& value) {
    if (node.id == kMsgSeqNum && !sequence && !record::is_text(node.type)) sequence = value.bits;
  }
  std::optional<std::uint64_t> sequence;
};

/// The packet header of T7, by its shape, as net::read_preamble knows it: one or two integers, then two byte vectors.
bool is_t7_header(const record::Schema& schema, const Template& item) {
  std::size_t integers = 0;
  std::size_t vectors = 0;
  for (std::size_t i = item.first_node; i < item.end_node && vectors < 2; ++i) {
    const SchemaNode& node = schema.node(i);
    if (node.kind != NodeKind::Field || node.optional || node.constant) return false;
    const bool is_vector = node.type == FieldType::ByteVector;
    if (!is_vector && (vectors != 0 || record::is_text(node.type) || node.type == FieldType::Decimal)) return false;
    ++(is_vector ? vectors : integers);
  }
  return vectors == 2 && (integers == 1 || integers == 2);
}

/// Part of a line around a byte, with a caret under it.
std::string excerpt(std::string_view line, std::size_t offset, std::uint64_t number) {
  constexpr std::size_t kBefore = 40;
  constexpr std::size_t kLength = 80;
  const std::size_t begin = offset - std::min(offset, kBefore);
  std::string shown(line.substr(std::min(begin, line.size()), kLength));
  for (char& c : shown) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7E) c = '.';
  }
  return fmt::format("{:>6} | {}\n       | {:>{}}\n", number, shown, '^', offset - begin + 1);
}

/// JSON lines to datagrams.
class Encode {
 public:
  Encode(const Program& program, const net::Framing& framing, const encode::EncodeOptions& options,
         std::size_t messages_per_datagram, std::size_t max_payload_bytes, LineReader& lines, DatagramWriter& writer)
      : schema_(schema_of(program)),
        framing_(framing),
        per_datagram_(messages_per_datagram),
        max_payload_bytes_(max_payload_bytes),
        lines_(lines),
        writer_(writer),
        json_(schema_),
        reader_(schema_),
        encoder_(program, options),
        sink_(program.max_record_slots, Keep{record_}) {}

  void run() {
    while (!stop_requested() && lines_.next()) {
      if (lines_.line().find_first_not_of(" \t\r") == std::string_view::npos) continue;
      if (lines_.is_too_long()) {
        complain(record::kMaxJsonLine, ErrorCode::None, "the line is too long");
        continue;
      }
      take_line();
    }
    finish_datagram();
  }

  [[nodiscard]] std::uint64_t problems() const { return problems_; }
  [[nodiscard]] std::string summary() const {
    std::string text = fmt::format("Encoded {} message{} into {} datagram{}, {} bytes of FAST data", messages_,
                                   messages_ == 1 ? "" : "s", datagrams_, datagrams_ == 1 ? "" : "s", data_bytes_);
    if (events_ != 0) text += fmt::format("; skipped {} lines about errors and events", events_);
    if (problems_ > kShownProblems) text += fmt::format("; {} more problems", problems_ - kShownProblems);
    return text;
  }

 private:
  struct Keep {
    std::span<const record::Slot>& to;
    void operator()(std::span<const record::Slot> slots) const { to = slots; }
  };

  void take_line() {
    switch (json_.read(lines_.line(), sink_)) {
      case record::JsonReader::Line::Event: ++events_; return;
      case record::JsonReader::Line::Error: {
        const record::JsonReader::Problem& problem = json_.problem();
        complain(problem.offset, problem.code, problem.message);
        return;
      }
      case record::JsonReader::Line::Message: break;
    }
    const Template& item = *schema_.find(record::HeaderView(record_[0]).template_index());
    if (framing_.kind == net::FramingKind::T7) {
      const bool is_header = is_t7_header(schema_, item);
      if (is_header) finish_datagram();
      if (!is_header && in_datagram_ == 0) {
        complain(json_.offset_of(0, isa::kNoWord), ErrorCode::X9, "a packet of t7 must begin with the packet header");
        return;
      }
    }
    if (in_datagram_ == 0) encoder_.begin_datagram();
    const encode::Outcome outcome = encoder_.encode(record_);
    if (!outcome.ok()) {
      complain(json_.offset_of(outcome.slot, outcome.word), ErrorCode::None, encode::error_text(schema_, outcome));
      return;
    }
    last_message_ = {lines_.number(), json_.offset_of(0, isa::kNoWord)};
    if (outcome.bytes.size() > egress::max_data_bytes(framing_) - data_.size()) {
      // The encoded bytes depend on the messages before them, so they cannot move to a datagram of their own.
      give_up(fmt::format("the messages of the datagram exceed {} bytes [X13]", egress::max_data_bytes(framing_)));
    }
    if (in_datagram_ == 0) sequence_ = sequence_of_record();
    data_.insert(data_.end(), outcome.bytes.begin(), outcome.bytes.end());
    ++messages_;
    ++in_datagram_;
    if (framing_.kind != net::FramingKind::T7 && in_datagram_ == per_datagram_) finish_datagram();
  }

  std::uint64_t sequence_of_record() {
    SequenceFinder finder;
    if (reader_.read(record_, finder) != record::ReadError::None) return sequence_ + 1;
    return finder.sequence.value_or(sequence_ + 1);
  }

  /// About the datagram whose last message was encoded last.
  [[noreturn]] void give_up(const std::string& message) {
    throw ToolError(kExitRejected, fmt::format("{}:{}:{}: error: {}", lines_.file_name(), last_message_.line,
                                               last_message_.offset + 1, message));
  }

  void finish_datagram() {
    if (in_datagram_ == 0) return;
    if (encoder_.owed_bytes() != 0) {
      give_up(
          fmt::format("the datagram is {} bytes too short for the elements of its sequences; put more messages into "
                      "it (--per-packet) [X2]",
                      encoder_.owed_bytes()));
    }
    for (const auto& datagram : egress::make_datagrams(framing_, data_, sequence_, max_payload_bytes_)) {
      writer_.write(datagram);
      ++datagrams_;
    }
    data_bytes_ += data_.size();
    data_.clear();
    in_datagram_ = 0;
  }

  /// About a byte of the line.
  void complain(std::size_t offset, ErrorCode code, const std::string& message) {
    if (++problems_ > kShownProblems) return;
    const std::string code_shown = code == ErrorCode::None ? "" : " [" + std::string(code_text(code)) + "]";
    print_stderr("{}:{}:{}: error: {}{}\n{}", printable(lines_.file_name()), lines_.number(), offset + 1,
                 printable(message), code_shown, excerpt(lines_.line(), offset, lines_.number()));
  }

  record::Schema schema_;
  const net::Framing& framing_;
  std::size_t per_datagram_;
  std::size_t max_payload_bytes_;
  LineReader& lines_;
  DatagramWriter& writer_;
  record::JsonReader json_;
  record::Reader reader_;
  encode::Encoder encoder_;
  std::span<const record::Slot> record_;
  record::BufferSink<Keep> sink_;

  std::vector<std::byte> data_;  ///< Of the open datagram.
  std::size_t in_datagram_ = 0;
  struct {
    std::uint64_t line = 0;
    std::size_t offset = 0;
  } last_message_;  ///< Where it begins.
  std::uint64_t sequence_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t datagrams_ = 0;
  std::uint64_t data_bytes_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t problems_ = 0;
};

std::vector<net::Endpoint> groups_from(const EncodeArguments& arguments) {
  const std::uint64_t lines = arguments.lines.value_or(1);
  if (lines != 1 && lines != 2) throw ToolError(kExitUsage, "--lines: 1 or 2");
  if (arguments.groups.size() > lines) throw ToolError(kExitUsage, "--group: at most one per line (--lines)");
  std::vector<net::Endpoint> groups;
  for (const std::string& text : arguments.groups) {
    const Result<net::Endpoint> group = net::parse_endpoint(text);
    if (!group) throw ToolError(kExitUsage, "--group: " + group.message());
    groups.push_back(group.value());
  }
  if (groups.empty()) groups.push_back(kDefaultGroup);
  if (groups.size() < lines) groups.push_back({groups[0].address + 1, groups[0].port});
  return groups;
}

bool writes_capture(const EncodeArguments& arguments) {
  if (!arguments.format.empty()) return arguments.format == "pcap";
  return arguments.output.ends_with(".pcap");
}

std::unique_ptr<DatagramWriter> open_writer(const EncodeArguments& arguments) {
  const std::vector<net::Endpoint> groups = groups_from(arguments);
  const bool is_capture = writes_capture(arguments);
  if (!is_capture && (arguments.lines || !arguments.groups.empty() || arguments.start || arguments.interval)) {
    throw ToolError(kExitUsage, "--lines, --group, --start and --interval need a capture: -o FILE.pcap");
  }
  std::vector<std::string> inputs = arguments.program.templates;
  inputs.push_back(arguments.input);
  if (!arguments.program.firmware.empty()) inputs.push_back(arguments.program.firmware);
  Output out = Output::open(arguments.output, inputs);
  if (!is_capture) return std::make_unique<HexWriter>(std::move(out));
  return std::make_unique<CaptureWriter>(std::move(out), groups, arguments.start.value_or(kDefaultStartNs),
                                         arguments.interval.value_or(kDefaultIntervalNs));
}

int encode_lines(const EncodeArguments& arguments) {
  net::Framing framing = framing_from(arguments.framing);
  if (const Status can = egress::can_write(framing); !can) throw ToolError(kExitUsage, "--framing: " + can.message());
  set_reset_rule(arguments.reset, framing);
  if (arguments.per_packet && (framing.kind == net::FramingKind::T7 || *arguments.per_packet == 0)) {
    throw ToolError(kExitUsage, framing.kind == net::FramingKind::T7
                                    ? "--per-packet: not with t7, where each packet header begins a packet"
                                    : "--per-packet: at least 1");
  }
  const std::uint64_t max_payload = arguments.max_payload.value_or(kDefaultPayloadBytes);
  if (max_payload < kMinPayloadBytes || max_payload > egress::kMaxPayloadBytes) {
    throw ToolError(kExitUsage,
                    fmt::format("--max-payload: from {} to {}", kMinPayloadBytes, egress::kMaxPayloadBytes));
  }
  replay::Options engine;
  apply(arguments.engine, engine);

  const Program program = load_program(arguments.program);
  if (is_projected(program)) {
    throw ToolError(kExitRejected, arguments.program.firmware +
                                       ": made with --fields, so its records lack fields of the messages; nothing can "
                                       "be encoded");
  }
  LineReader lines(InputFile::open(arguments.input), record::kMaxJsonLine);
  const std::unique_ptr<DatagramWriter> writer = open_writer(arguments);
  catch_stop_signals();
  Encode encode(program, framing, {framing.reset, engine.strict, engine.limits}, arguments.per_packet.value_or(1),
                max_payload, lines, *writer);
  encode.run();
  writer->close();
  if (!arguments.quiet) print_stderr("{}\n", encode.summary());
  return encode.problems() == 0 ? kExitDone : kExitRejected;
}

}  // namespace

Command encode_command() {
  const auto arguments = std::make_shared<EncodeArguments>();
  std::vector<Option> options = {{.names = "",
                                  .value = "IN.jsonl",
                                  .help = "JSON lines; - is stdin, the default.",
                                  .target = &arguments->input,
                                  .hint = file_hint({".jsonl"})}};
  for (Option& option : program_options(arguments->program)) options.push_back(std::move(option));
  Option framing = framing_option(arguments->framing);
  framing.required = false;
  framing.help += " Default none.";
  options.push_back(std::move(framing));
  const std::vector<Option> more = {
      reset_option(arguments->reset),
      {.names = "-o,--output",
       .value = "FILE",
       .help = "Output file: a capture if the name ends in .pcap, otherwise hex, one datagram per line; - is stdout, "
               "the default.",
       .target = &arguments->output,
       .hint = file_hint({".pcap", ".hex"})},
      {.names = "--format",
       .value = "FORMAT",
       .help = "pcap or hex, regardless of the file name.",
       .target = &arguments->format,
       .hint = choice_hint({"pcap", "hex"})},
      {.names = "--per-packet",
       .value = "N",
       .help = "Messages per datagram, default 1. With t7 each packet header begins a datagram.",
       .target = &arguments->per_packet},
      {.names = "--max-payload",
       .value = "BYTES",
       .help =
           fmt::format("With b3: splits longer messages into chunks of this size; default {}. Other framings have no "
                       "chunks; longer messages make jumbo frames.",
                       kDefaultPayloadBytes),
       .target = &arguments->max_payload},
      {.names = "--lines",
       .value = "N",
       .help = "Number of lines, default 1. 2 sends every datagram to two groups, as lines A and B.",
       .target = &arguments->lines,
       .hint = choice_hint({"1", "2"})},
      {.names = "--group",
       .value = "A.B.C.D:PORT",
       .help = fmt::format("Multicast group of line A; give it again for line B. Default {}, and the next address for "
                           "line B.",
                           net::to_text(kDefaultGroup)),
       .target = &arguments->groups},
      {.names = "--start",
       .value = "NS",
       .help = "Time of the first packet, ns since 1970.",
       .target = &arguments->start},
      {.names = "--interval",
       .value = "NS",
       .help = fmt::format("Time between packets, default {} ns.", kDefaultIntervalNs),
       .target = &arguments->interval},
      {.names = "-q,--quiet", .value = "", .help = "Prints no summary on stderr.", .target = &arguments->quiet},
  };
  options.insert(options.end(), more.begin(), more.end());
  for (Option& option : engine_options(arguments->engine)) options.push_back(std::move(option));
  return {
      .name = "encode",
      .summary = "Encodes JSON lines as FAST datagrams",
      .description =
          "The reverse of `stopbit replay` and `stopbit decode`: turns the messages they print into FAST, in the "
          "shortest form that the templates allow, each datagram with the preamble of the framing. Decoding the "
          "result gives the same lines. Keys may come in any order; values convert as FAST defines (\"12\" to 12, "
          "1.50 to \"1.50\", 12.0 to 12).\n"
          "\n"
          "The sequence number of the preamble is the MsgSeqNum (FIX tag 34) of the message; messages without one are "
          "numbered in order. A line that cannot be encoded is reported with line and column; encoding continues with "
          "the next line. Lines about errors and events are skipped.\n"
          "\n"
          "The exit status is 1 if a line could not be encoded.\n"
          "\n" +
          framing_text(),
      .options = std::move(options),
      .examples =
          {{"stopbit encode day.jsonl --firmware feed.sbf --framing cme -o again.pcap",
            "a capture from the output of `stopbit replay`"},
           {"stopbit encode made-up.jsonl --templates templates.xml --framing b3 --lines 2 -o ab.pcap",
            "test data for a feed handler, with both lines"},
           {"echo '{\"id\":2,\"fields\":{\"MsgSeqNum\":1,\"SendingTime\":0}}' | stopbit encode --firmware feed.sbf",
            "one message in hex"}},
      .run = [arguments] { return encode_lines(*arguments); },
  };
}

}  // namespace stopbit::tools
