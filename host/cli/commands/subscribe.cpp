#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "host/cli/common/commands.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/multicast_arguments.hpp"
#include "host/cli/common/remote_arguments.hpp"
#include "host/cli/common/signals.hpp"
#include "host/cli/common/stream_arguments.hpp"
#include "host/cli/common/stream_copy.hpp"
#include "host/os/shm/name.hpp"
#include "microcode/base/printable.hpp"

namespace stopbit::tools {
namespace {

using namespace std::chrono_literals;

struct SubscribeArguments {
  std::string address;
  std::string ring;
  bool once = false;
  RemoteArguments remote;
  StreamArguments stream;
  MulticastArguments multicast;
};

/// A stream that `stopbit relay` writes.
int subscribe_stream(const SubscribeArguments& arguments) {
  const auto& remote = arguments.remote;
  if (!remote.filter.empty() || !remote.provider.empty() || remote.is_far || remote.max_table_bytes ||
      !remote.network_token_file.empty() || remote.is_plain) {
    throw ToolError(kExitUsage,
                    "--filter, --network-token-file, --plain, --provider, --far and --max-tables: not for a stream of "
                    "`stopbit relay`");
  }
  OpenStream opened = open_stream(arguments.address, arguments.stream, remote.token_file);
  const StreamCopy copy{
      arguments.address,
      std::move(opened.stream),
      {.start = stream_start(arguments.stream, remote.from_start), .is_patient = true, .follows = !arguments.once}};
  const std::string name = arguments.ring.empty() ? opened.name : arguments.ring;
  if (const auto path = os::path_of(name); !path) throw ToolError(kExitUsage, path.message());
  catch_stop_signals();
  return copy_stream(copy, name, remote.lossless);
}

/// A ring that an appliance sends on multicast lines.
int subscribe_multicast(const SubscribeArguments& arguments) {
  refuse_stream_options(arguments.stream);
  const auto& remote = arguments.remote;
  if (!remote.filter.empty() || !remote.provider.empty() || remote.is_far || remote.max_table_bytes ||
      !remote.network_token_file.empty() || !remote.token_file.empty() || remote.is_plain || remote.lossless) {
    throw ToolError(kExitUsage,
                    "multicast:// has no other options than --ring, --once, --from-start, --refill, --interface-a and "
                    "--interface-b");
  }
  if (arguments.ring.empty()) throw ToolError(kExitUsage, "--ring: name the local ring, the lines have no name");
  if (const auto path = os::path_of(arguments.ring); !path) throw ToolError(kExitUsage, path.message());
  MulticastCopy copy{arguments.address, receiver_options(arguments.address, arguments.multicast)};
  copy.options.from_start = remote.from_start;
  copy.options.follows = !arguments.once;
  if (!copy.options.refill) {
    throw ToolError(kExitUsage, "--refill is needed: the layout of records comes from there");
  }
  catch_stop_signals();
  return copy_multicast(copy, arguments.ring);
}

int subscribe(const SubscribeArguments& arguments) {
  if (multicast::is_multicast_address(arguments.address)) return subscribe_multicast(arguments);
  if (has_multicast_options(arguments.multicast)) {
    throw ToolError(kExitUsage, "--refill, --interface-a and --interface-b need an address multicast://");
  }
  if (is_stream_address(arguments.address)) return subscribe_stream(arguments);
  refuse_stream_options(arguments.stream);
  const remote::RingAddress address = ring_address_from(arguments.address);
  const std::string name = arguments.ring.empty() ? address.ring : arguments.ring;
  if (const auto path = os::path_of(name); !path) throw ToolError(kExitUsage, path.message());
  catch_stop_signals();
  const remote::RingWait wait = wait_for_signals(
      true, [&](const std::string& line) { print_stderr("stopbit: {}: {}\n", name, printable(line)); });
  const auto ring = open_remote(arguments.address, name, {arguments.remote, !arguments.once}, wait);
  if (!ring) return kExitDone;
  (void)wait_until_there(*ring, wait);
  remote::RemoteRing::Look now;
  while (!stop_requested()) {
    now = ring->look();
    if (now.is_refused) throw ToolError(kExitRejected, now.problem);
    if (now.has_ended) break;
    std::this_thread::sleep_for(10ms);
  }
  now = ring->look();
  print_stderr("stopbit: {}: {} records, {} of them fetched, {} lost, {} sessions{}\n", name, now.records, now.fetched,
               now.lost, now.sessions, now.is_near ? ", near" : "");
  return now.lost == 0 ? kExitDone : kExitRejected;
}

}  // namespace

Command subscribe_command() {
  const auto arguments = std::make_shared<SubscribeArguments>();
  std::vector<Option> options = {
      {.names = "",
       .value = "ADDRESS",
       .help = "Address of the published ring: udp://HOST:PORT/RING or fabric://HOST:PORT/RING, by the carrier that "
               "the appliance offers; shm://NETWORK/RING for a ring of this host and user; broker:SOCKET/RING for a "
               "ring of this host to which the appliance's entitlements admit you; nats://HOST[:PORT]/STREAM or "
               "kafka://HOST[:PORT][,HOST[:PORT]...]/TOPIC for a stream that `stopbit relay` writes; "
               "multicast://GROUP:PORT,GROUP:PORT for a ring on two multicast lines.",
       .target = &arguments->address,
       .required = true},
      {.names = "--ring",
       .value = "NAME",
       .help =
           "Name of the local ring; a name with a / is the path of a file. Default: the publisher's name for it, or "
           "the stream's.",
       .target = &arguments->ring},
      {.names = "--once",
       .value = "",
       .help = "Ends when the ring ends. Default: waits for its successor.",
       .target = &arguments->once}};
  for (Option& option : remote_options(arguments->remote)) options.push_back(std::move(option));
  for (Option& option : stream_reader_options(arguments->stream)) options.push_back(std::move(option));
  for (Option& option : multicast_options(arguments->multicast)) options.push_back(std::move(option));
  return {
      .name = "subscribe",
      .summary = "Copies a ring that an appliance publishes into memory of this host",
      .description =
          "Receives the records of a ring that an appliance publishes ([[publish]] in appliance.toml) and writes them "
          "into a ring of this host. Programs in C++, C and Python and `stopbit tail` open it like any other ring.\n"
          "\n"
          "Runs until SIGTERM or SIGINT. If the publisher is down, the command waits for it. If the connection "
          "breaks, the local ring remains and continues when the publisher is back: missed records are fetched if the "
          "publisher still has them; otherwise an event record counts the lost ones. Changes of state are logged on "
          "stderr.\n"
          "\n"
          "With --lossless the publisher waits until records are in the local ring, not until a program has read "
          "them: a reader that lags by half a ring may lose records. To make the publisher wait for the reader "
          "itself, use `stopbit tail ADDRESS --lossless`.\n"
          "\n"
          "On the appliance's own host the appliance writes the local ring directly while this command runs. The name "
          "of the ring then has no '/' and no '.', and differs from the names of the appliance's rings. With shm://, "
          "if the appliance cannot write the ring, the records are sent.\n"
          "\n"
          "A stream of NATS or a topic of Kafka becomes a ring for each ring that it has; with --lossless that ring's "
          "writer waits for a reader before it begins, and then for the slowest of its readers.\n"
          "\n"
          "The exit status is 1 if records were lost, or if the publisher refuses the subscription for good.",
      .options = std::move(options),
      .examples = {{"stopbit subscribe fabric://md1:7700/cme --from-start",
                    "then, in another terminal: stopbit tail cme"},
                   {"stopbit subscribe fabric://md1:7700/cme --ring es --filter SecurityID=3400",
                    "one instrument, in a ring of its own"},
                   {"stopbit subscribe udp://md1:7701/cme --network-token-file token",
                    "over UDP, encrypted with keys that only those have who know the token"},
                   {"stopbit subscribe broker:/run/stopbit/broker/cme --ring mine --filter template=30",
                    "on the appliance's host, as any user entitled to the ring"}},
      .run = [arguments] { return subscribe(*arguments); },
      .runs_until_stopped = true,
  };
}

}  // namespace stopbit::tools
