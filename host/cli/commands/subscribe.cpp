#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "host/cli/common/commands.hpp"
#include "host/cli/common/messages.hpp"
#include "host/cli/common/remote_arguments.hpp"
#include "host/cli/common/signals.hpp"
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
};

int subscribe(const SubscribeArguments& arguments) {
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
       .help = "Of the published ring: fabric://HOST:PORT/RING; shm://NETWORK/RING for one of this host and user; "
               "broker:SOCKET/RING for one of this host that the appliance's entitlements give.",
       .target = &arguments->address,
       .required = true},
      {.names = "--ring",
       .value = "NAME",
       .help = "Name of the ring that is made here; one with a / is the path of a file. Default: as the publisher "
               "calls it.",
       .target = &arguments->ring},
      {.names = "--once",
       .value = "",
       .help = "Ends when the ring ends; else its successor is waited for.",
       .target = &arguments->once}};
  for (Option& option : remote_options(arguments->remote)) options.push_back(std::move(option));
  return {
      .name = "subscribe",
      .summary = "Keeps a ring that an appliance publishes on another host in memory of this one",
      .description =
          "Receives the records of a ring that an appliance publishes ([[publish]] in appliance.toml) and writes them "
          "into a ring of this host. Programs in C++, C and Python and `stopbit tail` open that as any ring; they are "
          "not concerned with where the records come from.\n"
          "\n"
          "Runs until SIGTERM or SIGINT. A publisher that is not there is waited for; if it is gone, the ring stays "
          "and goes on when it is back: what was missed is fetched, if the publisher still has it; else an event tells "
          "readers how many records were lost. Changes of state are told on stderr.\n"
          "\n"
          "With --lossless the publisher waits until records have come into the ring here, not until somebody has read "
          "them: a reader that is half a ring behind may lose some. `stopbit tail ADDRESS --lossless` is waited for.\n"
          "\n"
          "On the appliance's own host it writes that ring itself, near, as long as this command runs: its name has "
          "then "
          "no '/' and no '.', and is no ring of the appliance. With shm:// the records are sent if it does not.\n"
          "\n"
          "The exit status is 1 if records were lost, or the publisher refuses for good.",
      .options = std::move(options),
      .examples = {{"stopbit subscribe fabric://md1:7700/cme --from-start",
                    "then, in another terminal: stopbit tail cme"},
                   {"stopbit subscribe fabric://md1:7700/cme --ring es --filter SecurityID=3400",
                    "one instrument, in a ring of its own"},
                   {"stopbit subscribe broker:/run/stopbit/broker/cme --ring mine --filter template=30",
                    "on the appliance's host, as any user that is entitled to the ring"}},
      .run = [arguments] { return subscribe(*arguments); },
  };
}

}  // namespace stopbit::tools
