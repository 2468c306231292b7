// stopbit_wire_soak: two lines of datagrams cross a virtual cable at a given rate, and every one of them has to arrive,
// whole, in order and counted. Says in one line of JSON what was seen; a lost or wrong datagram ends it with status 1.

#include <sys/resource.h>
#include <time.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "host/feed/packet/byte_order.hpp"
#include "host/ports/out/socket/udp_sender.hpp"
#include "host/ports/socket/socket_port.hpp"
#include "tests/lib/veth.hpp"
#include "tests/soak/frame_sender.hpp"

#ifdef STOPBIT_DPDK
#include "host/os/clock.hpp"
#include "host/ports/dpdk/dpdk_port.hpp"
#endif

namespace stopbit::ingest {
namespace {

using testing::Veth;

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr std::array<net::Endpoint, 2> kLines = {net::Endpoint{0xEF010101, 30'001}, net::Endpoint{0xEF010201, 30'101}};
constexpr std::size_t kSendBatch = 16;
constexpr std::uint64_t kSilenceNs = kNsPerSecond / 2;  ///< After the last datagram.
constexpr int kSkipped = 77;

/// Every byte follows from the line and the number.
void fill(std::vector<std::byte>& payload, std::size_t line, std::uint64_t number) {
  net::store_be(payload.data(), number);
  const auto rest = static_cast<std::byte>((number * 31 + line) & 0xFF);
  std::fill(payload.begin() + 8, payload.end(), rest);
}

struct Sending {
  std::uint64_t packets_per_second = 0;  ///< Of both lines together.
  std::uint64_t seconds = 0;
  std::size_t payload_bytes = 0;

  [[nodiscard]] std::uint64_t per_line() const { return packets_per_second * seconds / kLines.size(); }
};

struct Sent {
  std::uint64_t refused = 0;
  double seconds = 0;
};

/// Sends on schedule; what is late goes as soon as it can.
template <class Sender>
Sent send_all(Sender& sender, const Sending& sending) {
  Sent sent;
  std::vector<std::vector<std::byte>> payloads(2 * kSendBatch, std::vector<std::byte>(sending.payload_bytes));
  const std::uint64_t begin = os::monotonic_clock_ns();
  for (std::uint64_t number = 0; number < sending.per_line();) {
    const std::uint64_t due = begin + number * kLines.size() * kNsPerSecond / sending.packets_per_second;
    for (std::uint64_t now = os::monotonic_clock_ns(); now < due; now = os::monotonic_clock_ns()) {
      if (due - now > 100'000) {
        const timespec nap{0, 50'000};
        (void)::nanosleep(&nap, nullptr);
      }
    }
    for (std::size_t i = 0; i < kSendBatch && number < sending.per_line(); ++i, ++number) {
      for (std::size_t line = 0; line < kLines.size(); ++line) {
        fill(payloads[2 * i + line], line, number);
        sender.add(kLines[line], payloads[2 * i + line]);
      }
    }
    sender.flush();
  }
  sent.refused = sender.refused();
  sent.seconds = static_cast<double>(os::monotonic_clock_ns() - begin) / 1e9;
  return sent;
}

/// To sockets through a socket; to DPDK, which takes what a socket cannot send, as frames.
Sent send(const std::string& kind, const Veth& veth, const Sending& sending) {
  veth.enter_sender();
  const net::Endpoint source{Veth::kSenderAddress, 20'000};
  const auto with = [&](auto opened) {
    if (opened) return send_all(opened.value(), sending);
    std::fprintf(stderr, "%s\n", opened.message().c_str());
    return Sent{.refused = sending.per_line() * kLines.size(), .seconds = 0};
  };
  if (kind == "af_packet") return with(testing::FrameSender::open(Veth::kSender, source, 2 * kSendBatch));
  egress::UdpSenderOptions options;
  options.interface = Veth::kSender;
  options.source = source;
  options.batch = 2 * kSendBatch;
  return with(egress::UdpSender::open(options));
}

struct Received {
  std::array<std::uint64_t, kLines.size()> datagrams{};
  std::array<std::uint64_t, kLines.size()> next{};  ///< The least number that may come.
  std::uint64_t wrong = 0;                          ///< Damaged, doubled or out of order.
  std::uint64_t foreign = 0;                        ///< Of groups that were not joined.
  std::uint64_t unstamped = 0;                      ///< Without a time of the kernel.
};

void take(const Arrival& arrival, std::size_t payload_bytes, std::vector<std::byte>& expected, Received& received) {
  for (std::size_t line = 0; line < kLines.size(); ++line) {
    if (arrival.destination != kLines[line]) continue;
    ++received.datagrams[line];
    const bool has_number = arrival.payload.size() == payload_bytes;
    const std::uint64_t number = has_number ? net::load_be<std::uint64_t>(arrival.payload.data()) : 0;
    fill(expected, line, number);
    const bool whole = has_number && std::memcmp(arrival.payload.data(), expected.data(), payload_bytes) == 0;
    received.wrong += whole && number >= received.next[line] ? 0 : 1;
    received.next[line] = number + 1;
    received.unstamped += arrival.time_quality < record::TimeQuality::Kernel ? 1 : 0;
    return;
  }
  ++received.foreign;
}

Received receive(Port& port, const Sending& sending, const std::atomic<bool>& finished) {
  Received received;
  std::vector<Arrival> batch(64);
  std::vector<std::byte> expected(sending.payload_bytes);
  std::uint64_t last = os::monotonic_clock_ns();
  for (;;) {
    const std::size_t count = port.poll(batch);
    for (const Arrival& arrival : std::span(batch).first(count))
      take(arrival, sending.payload_bytes, expected, received);
    if (count != 0) {
      if (finished.load(std::memory_order_relaxed)) last = os::monotonic_clock_ns();
      continue;
    }
    if (!finished.load(std::memory_order_relaxed)) {
      last = os::monotonic_clock_ns();
    } else if (os::monotonic_clock_ns() - last > kSilenceNs) {
      return received;
    }
  }
}

Result<std::unique_ptr<Port>> open_port(const std::string& kind) {
  if (kind == "socket") {
    SocketPortOptions options;
    options.interface = Veth::kReceiver;
    options.times = ArrivalTimes::Kernel;
    return open_socket_port(options);
  }
#ifdef STOPBIT_DPDK
  DpdkOptions dpdk;
  dpdk.huge_pages = false;
  if (auto started = start_dpdk(dpdk); !started) return Failure{started.message()};
  DpdkPortOptions options;
  options.device =
      std::string("net_af_packet0,iface=") + Veth::kReceiver + ",blocksz=65536,framesz=2048,framecnt=32768";
  auto ports = open_dpdk_ports(options);
  if (!ports) return Failure{ports.message()};
  return std::move(ports.value().front());
#else
  return Failure{"this build has no DPDK"};
#endif
}

int run(const std::string& kind, const Sending& sending) {
  std::string why;
  const auto veth = Veth::make(why);
  if (veth == nullptr) {
    std::fprintf(stderr, "skipped: %s\n", why.c_str());
    return kSkipped;
  }
  veth->enter_receiver();
  auto opened = open_port(kind);
  if (!opened) {
    std::fprintf(stderr, "%s\n", opened.message().c_str());
    return 1;
  }
  const std::unique_ptr<Port> port = std::move(opened).value();
  for (const net::Endpoint group : kLines) {
    if (auto joined = port->join({group, Veth::kSenderAddress}); !joined) {
      std::fprintf(stderr, "%s\n", joined.message().c_str());
      return 1;
    }
  }
  for (const std::string& note : port->notes())
    std::fprintf(stderr, "%s: %s\n", std::string(port->name()).c_str(), note.c_str());

  std::atomic<bool> finished = false;
  Sent sent;
  std::thread sender([&] {
    sent = send(kind, *veth, sending);
    finished = true;
  });
  const Received received = receive(*port, sending, finished);
  sender.join();

  const std::uint64_t expected = sending.per_line();
  const std::uint64_t lost = 2 * expected - received.datagrams[0] - received.datagrams[1];
  const PortCounters& counters = port->counters();
  const std::uint64_t accepted = counters.verdicts[static_cast<std::size_t>(net::Verdict::Accepted)].value();
  std::uint64_t frames = 0;
  for (const PortCounter& counter : counters.verdicts) frames += counter.value();
  // Datagrams handed out equal those counted; the kernel has dropped the others.
  const bool exact = frames == counters.frames.value() &&
                     accepted == received.datagrams[0] + received.datagrams[1] + received.foreign &&
                     (kind != "socket" || lost == counters.dropped_by_kernel.value());
  const bool good = lost == 0 && received.wrong == 0 && sent.refused == 0 && exact;
  std::printf(
      "{\"form\":\"%s\",\"packets_per_second\":%llu,\"seconds\":%.2f,\"payload_bytes\":%zu,\"sent\":%llu,\"lost\":%llu,"
      "\"dropped_by_kernel\":%llu,\"wrong\":%llu,\"foreign\":%llu,\"without_kernel_time\":%llu,\"accounting\":\"%s\"}"
      "\n",
      kind.c_str(), static_cast<unsigned long long>(sending.packets_per_second), sent.seconds, sending.payload_bytes,
      2 * static_cast<unsigned long long>(expected), static_cast<unsigned long long>(lost),
      static_cast<unsigned long long>(counters.dropped_by_kernel.value()),
      static_cast<unsigned long long>(received.wrong), static_cast<unsigned long long>(received.foreign),
      static_cast<unsigned long long>(received.unstamped), exact ? "exact" : "wrong");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace stopbit::ingest

int main(int argc, char** argv) {
  using stopbit::ingest::Sending;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool is_known = !arguments.empty() && (arguments[0] == "socket" || arguments[0] == "af_packet");
  const bool is_long = arguments.size() == 2 && arguments[1] == "--long";
  if (!is_known || (arguments.size() != 1 && !is_long)) {
    std::fputs("usage: stopbit_wire_soak socket|af_packet [--long]\n", stderr);
    return 2;
  }
  Sending sending{.packets_per_second = 10'000, .seconds = 2, .payload_bytes = 200};
  if (is_long) {
    sending.seconds = 60;
    sending.packets_per_second = arguments[0] == "socket" ? 100'000 : 300'000;
  }
  return stopbit::ingest::run(arguments[0], sending);
}
