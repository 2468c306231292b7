// Two processes exchange messages of any length through the network interface of an appliance, by the calls of PALMS.
//
//   palms BROKER                   prints its address, then answers one caller
//   palms BROKER NODE PORT         calls the process with that address
//
// BROKER is the socket that the appliance's settings name: [nic] broker = "...".

#include "host/nic/palms/port.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace palms = stopbit::nic::palms;

constexpr std::uint32_t kQuestion = 1, kAnswer = 2, kThanks = 3;
constexpr std::size_t kLong = 1'000'000;  // more than the rings hold

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "palms: %s\n", why.c_str());
  std::exit(1);
}

template <class T>
T must(stopbit::Result<T> result) {
  if (!result) fail(result.message());
  return std::move(result).value();
}

void must(palms::Code code) {
  if (code != palms::Code::Ok) fail(palms::to_text(code));
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

int serve(palms::Port& port) {
  std::printf("%u %u\n", static_cast<unsigned>(port.node()), static_cast<unsigned>(port.vpid()));
  std::fflush(stdout);

  // The header in one buffer, the data in two.
  std::string header(64, ' ');
  std::string word(5, ' ');
  std::string rest(100, ' ');
  const std::array<std::span<std::byte>, 2> parts = {std::as_writable_bytes(std::span(word)),
                                                     std::as_writable_bytes(std::span(rest))};
  const palms::Received question = port.receive({}, parts, std::as_writable_bytes(std::span(header)));
  must(question.code);
  header.resize(question.header_length);
  rest.resize(question.length - word.size());
  std::printf("from port %u, %s: %s|%s\n", static_cast<unsigned>(question.vpid), header.c_str(), word.c_str(),
              rest.c_str());

  const palms::Handle caller = must(port.connect(question.node, question.vpid));
  std::vector<std::byte> answer(kLong);
  for (std::size_t i = 0; i < answer.size(); ++i) answer[i] = static_cast<std::byte>(i * 7);
  must(port.send(caller, answer, kAnswer));
  const palms::Received thanks = port.receive(caller, std::span<std::byte>());
  must(thanks.code);
  std::printf("%s\n", thanks.tag == kThanks ? "thanks" : "no thanks");
  return 0;
}

int call(palms::Port& port, stopbit::nic::NodeId node, stopbit::nic::Vpid vpid) {
  const palms::Handle peer = must(port.connect(node, vpid));
  // In place: room first, then its parts in any order, and then it goes.
  const std::string header = "a question";
  const std::string data = "how much is it?";
  palms::Code code = palms::Code::Ok;
  palms::SendDescriptor* const message = port.send_malloc(peer, header.size(), data.size(), &code);
  if (message == nullptr) fail(palms::to_text(code));
  message->set_tag(kQuestion);
  (void)port.copy(*message, bytes_of(data));
  (void)port.copy_h(*message, bytes_of(header));
  port.send_commit(*message);

  std::vector<std::byte> answer(kLong);
  const palms::Received received = port.receive(peer, std::span<std::byte>(answer));
  must(received.code);
  for (std::size_t i = 0; i < answer.size(); ++i) {
    if (answer[i] != static_cast<std::byte>(i * 7)) fail("byte " + std::to_string(i) + " is another one");
  }
  std::printf("an answer of %llu bytes\n", static_cast<unsigned long long>(received.length));
  must(port.fast_send(peer, kThanks));
  must(port.flush(peer));
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 2 && argc != 4) return std::fprintf(stderr, "usage: palms BROKER [NODE PORT]\n"), 2;
  const auto port = must(palms::Port::open(argv[1]));
  if (argc == 2) return serve(*port);
  return call(*port, static_cast<stopbit::nic::NodeId>(std::strtoul(argv[2], nullptr, 10)),
              static_cast<stopbit::nic::Vpid>(std::strtoul(argv[3], nullptr, 10)));
}
