#include "host/relay/relay.hpp"

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "host/cli/common/commands.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/recorded_refill.hpp"
#include "host/cli/common/recordings.hpp"
#include "host/cli/common/signals.hpp"
#include "host/cli/common/stream_arguments.hpp"
#include "host/os/clock.hpp"
#include "host/os/shm/name.hpp"
#include "host/relay/books/books.hpp"
#include "host/relay/kafka/kafka.hpp"
#include "host/relay/nats/nats.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::tools {
namespace {

using namespace std::chrono_literals;
constexpr auto kIdleNap = 500us;

struct RelayArguments {
  std::string ring;
  std::string address;
  std::string feed;
  std::string token_file;
  StreamArguments stream;
  std::optional<std::uint64_t> max_bytes;
  bool keep_oldest = false;
  std::optional<std::uint64_t> replicas;
  std::optional<std::uint64_t> outstanding;
  bool watch = false;
  bool once = false;
  std::optional<std::uint64_t> books;
  std::string settings;
};

std::uint64_t replicas_of(const RelayArguments& arguments) {
  constexpr std::uint64_t kMaxReplicas = 5;
  const std::uint64_t replicas = arguments.replicas.value_or(1);
  if (replicas == 0 || replicas > kMaxReplicas) throw ToolError(kExitUsage, "--replicas: 1 to 5");
  return replicas;
}

relay::NatsStreamOptions stream_from(const RelayArguments& arguments) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 62;
  relay::NatsStreamOptions options;
  const std::string feed = arguments.feed.empty() ? arguments.ring : arguments.feed;
  if (!relay::is_nats_name(feed)) {
    throw ToolError(kExitUsage,
                    fmt::format("'{}' cannot be part of a subject; give --feed a name of letters, digits, '_' "
                                "and '-'",
                                printable(feed)));
  }
  options.subject = "stopbit." + feed;
  options.max_bytes = arguments.max_bytes.value_or(0);
  options.replicas = replicas_of(arguments);
  options.keeps_oldest = arguments.keep_oldest;
  if (options.max_bytes > kMaxBytes) throw ToolError(kExitUsage, "--max-bytes: too large");
  if (options.keeps_oldest && options.max_bytes == 0) throw ToolError(kExitUsage, "--keep-oldest needs --max-bytes");
  options.access = nats_access(arguments.address, arguments.stream.nats, arguments.token_file);
  return options;
}

using Tell = std::function<void(const std::string&)>;

std::unique_ptr<relay::Store> open_store(const RelayArguments& arguments, const Tell& tell) {
  check_stream_options(arguments.address, arguments.stream, arguments.token_file);
  const bool is_kafka = relay::is_kafka_address(arguments.address);
  if (is_kafka && (!arguments.feed.empty() || arguments.max_bytes || arguments.keep_oldest || arguments.replicas)) {
    throw ToolError(kExitUsage, "--feed, --max-bytes, --keep-oldest and --replicas: not for a topic of Kafka");
  }
  auto made = is_kafka ? relay::make_kafka_store(kafka_access(arguments.address, arguments.stream.kafka_config), tell)
                       : relay::make_nats_store(stream_from(arguments));
  if (!made) throw ToolError(kExitEnvironment, made.message());
  return std::move(made).value();
}

std::size_t outstanding_of(const RelayArguments& arguments) {
  constexpr std::uint64_t kLeast = 16;
  constexpr std::uint64_t kMost = 65'536;
  const std::uint64_t outstanding = arguments.outstanding.value_or(relay::RelayOptions().outstanding);
  if (outstanding < kLeast || outstanding > kMost) {
    throw ToolError(kExitUsage, fmt::format("--outstanding: {} to {} messages", kLeast, kMost));
  }
  return outstanding;
}

relay::RelayOptions relay_from(const RelayArguments& arguments) {
  relay::RelayOptions options;
  options.ring = arguments.ring;
  options.takes_seat = !arguments.watch;
  options.once = arguments.once;
  options.outstanding = outstanding_of(arguments);
  options.stops = stop_requested;
  return options;
}

/// Calls step until the machine has ended or a signal comes. @returns whether it has not failed.
template <class Machine>
bool drive(Machine& machine) {
  using State = typename Machine::State;
  State state = State::Idle;
  while (!stop_requested() && state != State::Done && state != State::Failed) {
    state = machine.step(os::monotonic_clock_ns());
    if (state == State::Idle) std::this_thread::sleep_for(kIdleNap);
  }
  return state != State::Failed;
}

std::unique_ptr<relay::KeyValues> open_key_values(const RelayArguments& arguments) {
  check_stream_options(arguments.address, arguments.stream, arguments.token_file);
  const bool is_kafka = relay::is_kafka_address(arguments.address);
  if (!arguments.feed.empty() || arguments.max_bytes || arguments.keep_oldest || arguments.watch ||
      !arguments.settings.empty() || (is_kafka && arguments.replicas)) {
    throw ToolError(kExitUsage,
                    "--feed, --max-bytes, --keep-oldest, --watch and --settings: not with --books; nor --replicas with "
                    "a topic of Kafka");
  }
  auto made = is_kafka ? relay::make_kafka_key_values(kafka_access(arguments.address, arguments.stream.kafka_config))
                       : relay::make_nats_key_values(
                             nats_access(arguments.address, arguments.stream.nats, arguments.token_file),
                             replicas_of(arguments));
  if (!made) throw ToolError(kExitEnvironment, made.message());
  return std::move(made).value();
}

int run_books(const RelayArguments& arguments, const Tell& tell) {
  constexpr std::uint64_t kMostLooks = 1'000;
  constexpr std::uint64_t kSecondNs = 1'000'000'000;
  if (*arguments.books == 0 || *arguments.books > kMostLooks) {
    throw ToolError(kExitUsage, fmt::format("--books: 1 to {} times a second", kMostLooks));
  }
  relay::BooksOptions options;
  options.ring = arguments.ring;
  options.period_ns = kSecondNs / *arguments.books;
  options.once = arguments.once;
  options.outstanding = outstanding_of(arguments);
  const std::unique_ptr<relay::KeyValues> store = open_key_values(arguments);
  catch_stop_signals();
  relay::Books machine(*store, std::move(options), tell, os::wall_clock_ns);
  const bool is_well = drive(machine);
  const relay::BooksCounts& counts = machine.counts();
  print_stderr("stopbit: {}: {} values written in {} looks, {} sessions\n", printable(arguments.ring), counts.values,
               counts.looks, counts.sessions);
  if (!is_well) throw ToolError(kExitRejected, machine.problem().message);
  return kExitDone;
}

int run_relay(const RelayArguments& arguments) {
  if (const auto path = os::path_of(arguments.ring); !path) throw ToolError(kExitUsage, path.message());
  const Tell tell = [&](const std::string& line) {
    print_stderr("stopbit: {}: {}\n", printable(arguments.ring), printable(line));
  };
  if (arguments.books) return run_books(arguments, tell);
  relay::RelayOptions options = relay_from(arguments);
  const std::unique_ptr<relay::Store> store = open_store(arguments, tell);
  std::optional<RecordedRefill> refill;
  if (!arguments.settings.empty()) {
    options.refill = &refill.emplace(settings_of("", arguments.settings), arguments.ring);
  }
  catch_stop_signals();
  relay::Relay machine(*store, std::move(options), tell);
  const bool is_well = drive(machine);
  const relay::RelayCounts& counts = machine.counts();
  print_stderr("stopbit: {}: {} records in {} messages stored, {}{} lost{}, {} sessions\n", printable(arguments.ring),
               counts.records, counts.messages,
               counts.refilled == 0 ? "" : fmt::format("{} from the recording, ", counts.refilled), counts.lost,
               counts.unknown_losses == 0 ? "" : " and an unknown number more", counts.sessions);
  if (!is_well) throw ToolError(kExitRejected, machine.problem().message);
  return counts.lost == 0 && counts.unknown_losses == 0 ? kExitDone : kExitRejected;
}

}  // namespace

Command relay_command() {
  const auto arguments = std::make_shared<RelayArguments>();
  Command command = {
      .name = "relay",
      .summary = "Copies a ring into a stream of NATS JetStream or a topic of Kafka",
      .description =
          "Reads a ring in shared memory and publishes its slots to a stream of a NATS server or a topic of Kafka, "
          "each "
          "record exactly once, even if this command, the server or the ring's writer is killed and started again. The "
          "relay keeps no state: it goes on after the stream's last message. `stopbit tail ADDRESS` prints the "
          "records, `stopbit subscribe ADDRESS` makes a ring of them again.\n"
          "\n"
          "Runs until SIGTERM or SIGINT. If the ring, the server or the stream does not exist yet, the command waits "
          "or "
          "makes the stream. When the ring's writer has ended, it waits for the next ring of the name.\n"
          "\n"
          "A message has up to 64 slots of one channel. Its subject is stopbit.FEED.CHANNEL; what is about the ring is "
          "in stopbit.FEED.ring. The images of the records lie beside in the stream STREAM_layouts.\n"
          "\n"
          "In Kafka everything is in partition 0 of TOPIC, and the images in TOPIC_layouts. Both topics must exist. A "
          "message's key is its kind, epoch, first slot and end, its header `channel` the channel. The relay's "
          "transactional id is stopbit-relay-TOPIC: a relay that begins ends another one of the same topic. Readers "
          "need isolation level read_committed.\n"
          "\n"
          "The writer of a live ring never waits: what the ring no longer has when the relay comes to it is taken from "
          "the appliance's recorder (--settings) or, without one or if it does not have exactly these slots, lost and "
          "counted in the stream itself, on stderr and in the exit status. The writer of a lossless ring waits until "
          "the server has confirmed the records, but no longer than its patience: then the relay is one that may lose "
          "records, and says so. Rings of market events are refused without "
          "--books.\n"
          "\n"
          "With --books RATE the relay reads the tables beside a ring of events instead, as `stopbit states` does, and "
          "writes the newest state of each instrument that has changed, at most RATE times a second: what changes "
          "faster is conflated. Key book.KEY has the line of `stopbit states --format jsonl` with the ring's epoch; "
          "each byte of the instrument's key but letters, digits, '-', '_' and '/' is =XX. Key `status`, "
          "written at least once a second, has the time and what the writer of the tables does. Books that nothing "
          "keeps up to date any more are written as stale, with the cause. A relay that begins writes all "
          "instruments once. Only one relay writes a bucket.\n"
          "\n"
          "The server confirms a message before it is on disk. A server that is killed loses nothing; a host that "
          "loses power may lose the last seconds, which the relay then sends again if the ring still has them. "
          "Recordings of the datagrams (`stopbit run` with a recorder) remain the truth.\n"
          "\n"
          "The exit status is 1 if records were lost, or if the server refuses the relay for good.",
      .options =
          {{.names = "",
            .value = "RING",
            .help = "Name of the ring; a name with a / is the path of a file, and needs --feed.",
            .target = &arguments->ring,
            .hint = ring_hint(),
            .required = true},
           {.names = "",
            .value = "ADDRESS",
            .help = "nats://HOST[:PORT]/STREAM: a stream that does not exist is made, in files. Or "
                    "kafka://HOST[:PORT][,HOST[:PORT]...]/TOPIC.",
            .target = &arguments->address,
            .required = true},
           {.names = "--books",
            .value = "RATE",
            .help = "Instead of records: writes the states of the instruments of the ring of events RING as "
                    "key-value, RATE times a second (1 to 1000). The last part of ADDRESS is a bucket, which is made "
                    "if it does not exist, or a compacted topic of Kafka, which must exist.",
            .target = &arguments->books},
           {.names = "--feed",
            .value = "NAME",
            .help = "For nats://: part of the subjects. Default: the ring's name.",
            .target = &arguments->feed},
           {.names = "--token-file",
            .value = "FILE",
            .help = "For nats://: a file whose first line is the token that the server requires.",
            .target = &arguments->token_file,
            .hint = file_hint()},
           {.names = "--max-bytes",
            .value = "BYTES",
            .help = "Of a stream that is made: drops the oldest messages beyond this size. Default: no limit but "
                    "the server's.",
            .target = &arguments->max_bytes},
           {.names = "--keep-oldest",
            .value = "",
            .help = "Of a stream that is made, with --max-bytes: takes no more messages when it is full.",
            .target = &arguments->keep_oldest},
           {.names = "--replicas",
            .value = "COUNT",
            .help = "Of a stream that is made: servers of a cluster that keep it. Default 1.",
            .target = &arguments->replicas},
           {.names = "--watch",
            .value = "",
            .help = "Takes no seat at a lossless ring: its writer does not wait, and records may be lost.",
            .target = &arguments->watch},
           {.names = "--settings",
            .value = "APPLIANCE.toml",
            .help = "The settings of the appliance that writes RING. What the ring no longer has when the relay comes "
                    "to it "
                    "is decoded again from what the recorder of these settings has written.",
            .target = &arguments->settings,
            .hint = file_hint({".toml"})},
           {.names = "--once",
            .value = "",
            .help = "Ends when the ring has ended and all of it is stored.",
            .target = &arguments->once},
           {.names = "--outstanding",
            .value = "COUNT",
            .help = "Messages that may wait for the server's confirmation, 4 KiB of memory each. Default 512.",
            .target = &arguments->outstanding,
            .is_limit = true}},
      .examples = {{"stopbit relay cme nats://nats1/CME",
                    "and on any host: stopbit tail nats://nats1/CME --from-start"},
                   {"stopbit relay cme nats://nats1/CME --max-bytes 100000000000 --tls --credentials relay.creds",
                    "the newest 100 GB, encrypted, as a user of the server"},
                   {"stopbit relay cme kafka://broker1:9092,broker2:9092/cme --kafka-config access.properties",
                    "into a topic of Kafka"},
                   {"stopbit relay cme-events nats://nats1/books --books 10",
                    "best prices and states ten times a second; then: nats kv watch books"},
                   {"stopbit relay cme nats://nats1/CME --settings /etc/stopbit/cme/appliance.toml",
                    "what the ring no longer has comes from the appliance's recorder"},
                   {"stopbit relay day nats://127.0.0.1/DAY --once",
                    "with `stopbit replay day.pcap ... --ring day --lossless 1`: a recorded day, complete"}},
      .run = [arguments] { return run_relay(*arguments); },
      .runs_until_stopped = true,
  };
  for (Option& option : stream_options(arguments->stream)) command.options.push_back(std::move(option));
  return command;
}

}  // namespace stopbit::tools
