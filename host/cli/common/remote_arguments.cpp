#include "host/cli/common/remote_arguments.hpp"

#include <algorithm>
#include <utility>

#include "host/cli/common/files.hpp"
#include "host/cli/common/signals.hpp"
#include "host/remote/subscriber.hpp"

namespace stopbit::tools {
namespace {

/// Throws, unless a signal asks this process to stop.
void report(const remote::RingFailure& failure) {
  using Kind = remote::RingFailure::Kind;
  switch (failure.kind) {
    case Kind::Usage: throw ToolError(kExitUsage, failure.message);
    case Kind::Unreachable: throw ToolError(kExitEnvironment, failure.message);
    case Kind::Refused: throw ToolError(kExitRejected, failure.message);
    case Kind::Stopped: break;
  }
}

/// Only udp:// has a network with a token of its own.
void check_network(const RemoteArguments& arguments, const remote::RingAddress& where) {
  const bool is_udp = where.carrier == remote::RingAddress::Carrier::Udp;
  if (!is_udp && (arguments.is_plain || !arguments.network_token_file.empty())) {
    throw ToolError(kExitUsage, "--network-token-file and --plain need udp://HOST:PORT/RING");
  }
  if (arguments.is_plain && !arguments.network_token_file.empty()) {
    throw ToolError(kExitUsage, "--network-token-file and --plain: give one");
  }
  if (is_udp && !arguments.provider.empty()) {
    throw ToolError(kExitUsage, "--provider needs fabric://HOST:PORT/RING");
  }
}

std::string token_from(const std::string& path) {
  constexpr std::size_t kMaxFileBytes = 4'096;
  if (path.empty()) return {};
  std::string token = read_file(path, kMaxFileBytes);
  token.resize(std::min(token.find_first_of("\r\n"), token.size()));
  if (token.size() > remote::kMaxTokenBytes) {
    throw ToolError(kExitUsage,
                    path + ": a token must have at most " + std::to_string(remote::kMaxTokenBytes) + " characters");
  }
  return token;
}

}  // namespace

remote::RingAddress ring_address_from(const std::string& text) {
  Result<remote::RingAddress> address = remote::parse_ring_address(text);
  if (!address) throw ToolError(kExitUsage, address.message());
  return std::move(address).value();
}

std::vector<Option> remote_options(RemoteArguments& arguments) {
  return {
      {.names = "--filter",
       .value = "CONDITIONS",
       .help = "For a published ring: receives only records that meet all these conditions, for instance "
               "channel=7,template=30,SecurityID=3400: number of the channel, identifier of the template, value of a "
               "field anywhere in the record; text in quotes. If given several times, one of the filters has to "
               "match. Events are always sent.",
       .target = &arguments.filter},
      {.names = "--from-start",
       .value = "",
       .help = "For a published ring: begins with the oldest record still in it, not with the next one.",
       .target = &arguments.from_start},
      {.names = "--lossless",
       .value = "",
       .help = "For a published ring with lossless = true: its writer waits for this process, so that no record is "
               "lost.",
       .target = &arguments.lossless},
      {.names = "--token-file",
       .value = "FILE",
       .help = "For a published ring: a file whose first line is the token that the publisher requires for the ring.",
       .target = &arguments.token_file,
       .hint = file_hint()},
      {.names = "--network-token-file",
       .value = "FILE",
       .help = "For udp://: a file whose first line is the token of the network, `token_file` of [nic.udp]. Records "
               "are then encrypted, and both sides have proved that they know the token, which is never sent.",
       .target = &arguments.network_token_file,
       .hint = file_hint()},
      {.names = "--plain",
       .value = "",
       .help = "For udp://: joins another host without encryption, where the publisher has encryption = \"off\". "
               "Others on the way can then read and forge records.",
       .target = &arguments.is_plain},
      {.names = "--provider",
       .value = "NAME",
       .help = "For fabric://: the libfabric provider, the same as the publisher's. Default tcp;ofi_rxm.",
       .target = &arguments.provider},
      {.names = "--far",
       .value = "",
       .help = "For shm://: has the records sent, even if the publisher could write the ring directly.",
       .target = &arguments.is_far},
      {.names = "--max-tables",
       .value = "BYTES",
       .help = "For a published ring of market events: maximum memory for copies of its tables of instruments and "
               "states, default " +
               std::to_string(remote::SubscriberOptions().max_table_bytes) +
               "; with larger tables the ring is copied without them.",
       .target = &arguments.max_table_bytes,
       .is_limit = true}};
}

remote::RingWait wait_for_signals(bool is_patient, std::function<void(const std::string&)> tell) {
  return {.is_patient = is_patient, .stops = stop_requested, .tell = std::move(tell)};
}

std::unique_ptr<remote::RemoteRing> open_remote(const std::string& address, const std::string& name,
                                                const RemoteUse& use, const remote::RingWait& wait) {
  const remote::RingAddress where = ring_address_from(address);
  Result<remote::Filter> filter = remote::parse_filter(use.arguments.filter);
  if (!filter) throw ToolError(kExitUsage, "--" + filter.message());
  remote::RemoteRing::Options options;
  options.filter = std::move(filter).value();
  options.from_start = use.arguments.from_start;
  options.is_lossless = use.arguments.lossless;
  options.is_far = use.arguments.is_far;
  options.follows = use.follows;
  check_network(use.arguments, where);
  options.token = token_from(use.arguments.token_file);
  options.provider = use.arguments.provider;
  options.network_token = token_from(use.arguments.network_token_file);
  options.is_plain = use.arguments.is_plain;
  options.records_read = use.records_read;
  options.max_table_bytes = use.arguments.max_table_bytes;
  if (options.is_far && where.carrier == remote::RingAddress::Carrier::Broker) {
    throw ToolError(kExitUsage, "--far needs shm://; the rings of a broker: address are written by the appliance");
  }
  auto opened = remote::RemoteRing::open(where, name, options, wait);
  if (opened) return std::move(opened).value();
  report(opened.failure());
  return nullptr;
}

bool wait_until_there(const remote::RemoteRing& ring, const remote::RingWait& wait) {
  const auto waited = ring.wait(wait);
  if (!waited) report(waited.failure());
  return waited.ok();
}

}  // namespace stopbit::tools
