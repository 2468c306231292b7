// Two processes exchange messages, a put and a get through the network interface of an appliance.
//
//   exchange BROKER                   prints its address, then serves one caller
//   exchange BROKER NODE PORT         calls the process with that address
//
// BROKER is the socket that the appliance's settings name: [nic] broker = "...".

#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "host/nic/node/client.hpp"

namespace nic = stopbit::nic;

constexpr std::size_t kBytes = 4096;

// What one side tells the other: its window, into which the caller puts and from which it gets.
struct Offer {
  nic::WindowName window;
};

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "exchange: %s\n", why.c_str());
  std::exit(1);
}

// The value of a call to the broker, or the end of the program.
template <class T>
T must(stopbit::Result<T> result) {
  if (!result) fail(result.message());
  return std::move(result).value();
}

// Calls `look` until it returns true. A call of the client never waits, so a program chooses how: this one sleeps a
// little, and looks now and then whether the appliance is still there.
template <class Look>
void await(const nic::Client& client, Look look) {
  for (int looks = 1; !look(); ++looks) {
    ::usleep(50);
    if (looks % 1000 == 0 && !client.is_open()) fail("the broker has closed the port");
  }
}

// What became of a message or a transfer of this port, by its tag.
void await_outcome(nic::Client& client, std::uint64_t tag, const char* what) {
  nic::Notification told;
  await(client, [&] {
    // Others can notify this port, too.
    return client.notifications().take(told) && nic::is_of_own_command(told) && told.tag == tag;
  });
  if (told.error != nic::Error::None) fail(std::string(what) + " was refused: " + nic::to_meaning(told.error));
}

void send(nic::Client& client, nic::NodeId node, nic::Vpid port, std::span<const std::byte> message) {
  nic::SendHow how;
  how.acknowledges = true;  // or else a message to a port that does not exist comes to nothing
  how.tag = 1;
  await(client, [&] {
    const nic::Reply reply = client.send(node, port, message, how);
    if (reply != nic::Reply::NoError && reply != nic::Reply::Full) fail(nic::to_text(reply));
    return reply == nic::Reply::NoError;
  });
  await_outcome(client, how.tag, "the message");
}

std::pair<nic::MessageHead, std::string> receive(nic::Client& client) {
  std::array<std::byte, nic::kMaxMessageBytes> bytes;
  nic::MessageHead head;
  await(client, [&] {
    const auto message = client.receive(bytes);
    if (message) head = *message;
    return message.has_value();
  });
  return {head, std::string(reinterpret_cast<const char*>(bytes.data()), head.length)};
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// Issues a transfer, and waits until the target has carried it out or refused it.
void carry_out(nic::Client& client, const nic::Command& transfer) {
  nic::Command command = transfer;
  command.tag = 2;
  command.modifiers = command.operation == nic::Operation::Get ? nic::kNotifyCompleter : nic::kAcknowledge;
  command.modifiers |= nic::kNotifyRefusal;
  const nic::CommandQueue queue = client.queue(nic::CommandRing::Transfer);
  await(client, [&] { return queue.insert({&command, 1}).reply == nic::Reply::NoError; });
  await_outcome(client, command.tag, "the transfer");
}

int serve(nic::Client& client) {
  const nic::SharedRegion memory = must(client.share(kBytes, nic::Access::ReadWrite));
  const Offer offer{must(client.open_window(memory.address, kBytes, nic::Access::ReadWrite))};
  std::printf("%u %u\n", static_cast<unsigned>(client.node()), static_cast<unsigned>(client.vpid()));
  std::fflush(stdout);

  const auto [caller, greeting] = receive(client);
  std::printf("from port %u: %s\n", static_cast<unsigned>(caller.vpid), greeting.c_str());
  send(client, caller.node, caller.vpid, std::as_bytes(std::span(&offer, 1)));

  // The caller says when its put is done. The bytes are in this process's memory by then.
  const std::string done = receive(client).second;
  std::printf("%s: %s\n", done.c_str(), reinterpret_cast<const char*>(memory.memory.span().data()));
  return 0;
}

int call(nic::Client& client, nic::NodeId node, nic::Vpid port) {
  const nic::SharedRegion memory = must(client.share(kBytes, nic::Access::ReadWrite));
  send(client, node, port, bytes_of("a window, please"));
  const std::string answer = receive(client).second;
  Offer offer;
  if (answer.size() != sizeof(offer)) fail("no offer");
  std::memcpy(&offer, answer.data(), sizeof(offer));

  nic::Command transfer;
  transfer.target_node = node;
  transfer.target_vpid = port;
  transfer.window = offer.window.id;
  transfer.capability = offer.window.capability;
  transfer.address = memory.address;
  transfer.length = kBytes / 2;
  char* const text = reinterpret_cast<char*>(memory.memory.span().data());
  std::strcpy(text, "these bytes were put");
  transfer.operation = nic::Operation::Put;
  carry_out(client, transfer);

  // Back into the other half.
  transfer.operation = nic::Operation::Get;
  transfer.address = memory.address + kBytes / 2;
  carry_out(client, transfer);
  std::printf("got back: %s\n", text + kBytes / 2);
  send(client, node, port, bytes_of("put is done"));
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 2 && argc != 4) return std::fprintf(stderr, "usage: exchange BROKER [NODE PORT]\n"), 2;
  const auto client = must(nic::Client::open(argv[1]));
  if (argc == 2) return serve(*client);
  return call(*client, static_cast<nic::NodeId>(std::strtoul(argv[2], nullptr, 10)),
              static_cast<nic::Vpid>(std::strtoul(argv[3], nullptr, 10)));
}
