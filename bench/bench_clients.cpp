/// What a thousand clients that mean no good cost the data path: from a datagram's arrival in the kernel until its
/// records are published, as the agent of `stopbit run` counts it, without any client, while the crowd connects to
/// those of another `stopbit run` on the same processors, and while it is at ours. What only the load of the machine
/// does is in the second, too; so the third compared with the second shows the cost of the sockets.

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/lib/appliance.hpp"
#include "bench/lib/arguments.hpp"
#include "bench/lib/cpu.hpp"
#include "bench/lib/histogram.hpp"
#include "bench/lib/report.hpp"
#include "host/feed/packet/byte_order.hpp"
#include "host/feed/packet/packet.hpp"
#include "host/monitor/counters/reader.hpp"
#include "host/ports/out/socket/udp_sender.hpp"
#include "host/ports/pcap/pcap_source.hpp"
#include "tests/lib/scratch.hpp"
#include "tests/lib/veth.hpp"

namespace stopbit::bench {
namespace {

using namespace std::chrono_literals;
using testing::Scratch;
using testing::Veth;
using Steady = std::chrono::steady_clock;

constexpr int kClients = 1'000;
constexpr int kRate = 5'000;  ///< Packets a second.
constexpr std::size_t kPackets = 2'048;
constexpr net::Endpoint kGroup = {0xEF140101, 20'001};
constexpr auto kBlock = 500ms;   ///< That counts.
constexpr auto kLeadIn = 250ms;  ///< Of each block: the crowd comes, or has gone.
constexpr int kOurHttp = 9464, kOtherHttp = 9465;

template <class T>
T need(Result<T> result) {
  if (!result) throw std::runtime_error(result.message());
  return std::move(result).value();
}

/// A thousand clients of an appliance's sockets; they are stopped until they are started.
class Crowd {
 public:
  Crowd(const Veth& veth, const Appliance& appliance, int http) {
    const std::string where = fmt::format("127.0.0.1:{}", http);
    const std::string clients = std::to_string(kClients);
    veth.enter_receiver();
    child_ = ::fork();
    if (child_ == 0) {
      const std::string out = scratch_.path("out");
      if (std::freopen(out.c_str(), "w", stdout) != nullptr) {
        ::execlp("python3", "python3", STOPBIT_CROWD, "--clients", clients.c_str(), "--http", where.c_str(), "--socket",
                 appliance.socket().c_str(), "--seconds", "1000", nullptr);
      }
      ::_exit(127);
    }
    veth.enter_sender();
    for (const auto until = Steady::now() + Appliance::kPatience; !said().starts_with("here\n");) {
      if (::waitpid(child_, nullptr, WNOHANG) != 0 || Steady::now() > until) throw std::runtime_error("no crowd comes");
      std::this_thread::sleep_for(50ms);
    }
    rest();
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;
  ~Crowd() {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
  }

  void rage() const { ::kill(child_, SIGCONT); }
  void rest() const { ::kill(child_, SIGSTOP); }
  /// Ends them. @returns how many connections they made.
  [[nodiscard]] std::uint64_t end() {
    rage();
    ::kill(child_, SIGTERM);
    ::waitpid(child_, nullptr, 0);
    child_ = -1;
    const std::string text = said();
    const auto summary = nlohmann::json::parse(text.substr(text.find('\n') + 1), nullptr, false);
    return summary.is_object() ? summary.value("came", std::uint64_t{0}) : 0;
  }

 private:
  [[nodiscard]] std::string said() const {
    return std::filesystem::exists(scratch_.path("out")) ? scratch_.read("out") : std::string();
  }

  const Scratch scratch_;
  pid_t child_ = -1;
};

/// Waits until the agent polls: then its sockets are open, and no other thread visits its processor.
void await_agent(const counters::Reader& counters) {
  for (const auto until = Steady::now() + Appliance::kPatience; counters.sum("agent_turns") == 0;
       std::this_thread::sleep_for(1ms)) {
    if (Steady::now() > until) throw std::runtime_error("the agent does not start");
  }
}

/// The thread of a process that may be on this processor only.
pid_t agent_of(pid_t process, int processor) {
  for (const auto until = Steady::now() + Appliance::kPatience; Steady::now() < until;
       std::this_thread::sleep_for(1ms)) {
    for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process))) {
      const pid_t thread = std::stoi(task.path().filename());
      cpu_set_t set;
      CPU_ZERO(&set);
      if (::sched_getaffinity(thread, sizeof(set), &set) == 0 && CPU_COUNT(&set) == 1 &&
          CPU_ISSET(static_cast<std::size_t>(processor), &set)) {
        return thread;
      }
    }
  }
  throw std::runtime_error("the appliance has no agent on its processor");
}

/// While it lives, that thread runs before all ordinary ones.
class First {
 public:
  explicit First(pid_t thread) : thread_(thread) { set(SCHED_FIFO, 1); }
  First(const First&) = delete;
  First& operator=(const First&) = delete;
  ~First() { set(SCHED_OTHER, 0); }

 private:
  void set(int policy, int priority) const {
    const sched_param parameters{.sched_priority = priority};
    (void)::sched_setscheduler(thread_, policy, &parameters);
  }

  pid_t thread_;
};

class Feed {
 public:
  Feed() : sender_(open()) {
    const auto source = need(ingest::open_capture(STOPBIT_SAMPLE_FOLDER "/capture.pcap.gz"));
    ingest::Packet packet;
    while (payloads_.size() < kPackets && source->next(packet) == ingest::Next::Packet) {
      net::Datagram datagram;
      if (net::parse_frame(packet.link, packet.frame, packet.original_bytes, datagram) != net::Verdict::Accepted) {
        continue;
      }
      payloads_.emplace_back(datagram.payload.begin(), datagram.payload.end());
    }
  }

  void send(Steady::duration duration) {
    const auto begin = Steady::now();
    for (std::uint64_t i = 0;; ++i) {
      const auto due = begin + i * std::chrono::nanoseconds(1'000'000'000 / kRate);
      if (due > begin + duration) return;
      while (Steady::now() < due) {
      }
      std::vector<std::byte>& payload = payloads_[sent_ % payloads_.size()];
      net::store_be(payload.data(), static_cast<std::uint32_t>(++sent_));
      sender_.add(kGroup, payload);
      sender_.flush();
    }
  }
  [[nodiscard]] std::uint64_t sent() const noexcept { return sent_; }

 private:
  static egress::UdpSender open() {
    egress::UdpSenderOptions options;
    options.interface = Veth::kSender;
    options.source = {Veth::kSenderAddress, 20'000};
    options.batch = 1;
    return need(egress::UdpSender::open(options));
  }

  egress::UdpSender sender_;
  std::vector<std::vector<std::byte>> payloads_;
  std::uint64_t sent_ = 0;
};

/// Counts between two moments, values spread evenly over their buckets.
Histogram between(const counters::Distribution& before, const counters::Distribution& after) {
  Histogram histogram;
  for (std::size_t i = 0; i < after.buckets.size(); ++i) {
    const std::uint64_t count = after.buckets[i] - before.buckets[i];
    const std::uint64_t begin = counters::bucket_begin(i);
    const double width = count == 0 ? 0 : static_cast<double>(counters::bucket_last(i) - begin) + 1;
    for (std::uint64_t n = 0; n < count; ++n) {
      histogram.record(begin +
                       static_cast<std::uint64_t>(width * (static_cast<double>(n) + 0.5) / static_cast<double>(count)));
    }
  }
  return histogram;
}

enum class Where { Nowhere, Elsewhere, Here };
constexpr std::array kNames = {"clients/nowhere", "clients/elsewhere", "clients/here"};

void run(const Arguments& arguments, Report& report) {
  const auto processors = two_processors();
  if (!processors) return report.problem("clients: two processors are needed");
  if (!Undisturbed::is_possible()) report.note("clients: no SCHED_FIFO: others run on the agent's processor");
  std::string why;
  const auto veth = Veth::make(why);
  if (veth == nullptr) return report.note("clients: " + why);
  if (!veth->run_in_receiver("ip link set lo up")) throw std::runtime_error("there is no loopback for clients");
  const auto [ours, agents] = *processors;
  pin(ours);  // and with this thread all that it starts

  Appliance appliance(*veth, {.name = "bench", .group = "239.20.1.1", .processor = agents, .http = kOurHttp});
  Appliance other(*veth,
                  {.name = "other", .group = "239.20.9.1", .processor = ours, .idle = "sleep", .http = kOtherHttp});
  (void)appliance.reader();
  (void)other.reader();
  const auto counters = need(counters::Reader::open(appliance.name()));
  const counters::Metric* latency = counters.find("agent_latency");
  if (latency == nullptr) throw std::runtime_error("the appliance does not count latencies");
  await_agent(counters);
  const pid_t agent = agent_of(appliance.process(), agents);

  Feed feed;
  feed.send(kBlock);  // caches
  Crowd elsewhere(*veth, other, kOtherHttp);
  Crowd here(*veth, appliance, kOurHttp);

  std::array<std::vector<Histogram>, kNames.size()> bursts;
  const auto block = [&](Where where) {
    const Crowd* crowd = where == Where::Here ? &here : where == Where::Elsewhere ? &elsewhere : nullptr;
    if (crowd != nullptr) crowd->rage();
    feed.send(kLeadIn);
    const counters::Distribution before = counters.distribution(*latency);
    {
      const First first(agent);
      feed.send(kBlock);
    }
    bursts[static_cast<std::size_t>(where)].push_back(between(before, counters.distribution(*latency)));
    if (crowd != nullptr) crowd->rest();
  };
  std::vector<double> moved;
  const std::size_t rounds = arguments.quick ? 2 : 16;
  for (std::size_t i = 0; i < rounds; ++i) {
    std::array order = {Where::Nowhere, Where::Elsewhere, Where::Here};
    if (i % 2 == 1) std::swap(order.front(), order.back());
    for (const Where where : order) block(where);
    const auto p99 = [&](Where where) {
      return static_cast<double>(bursts[static_cast<std::size_t>(where)].back().percentile(0.99));
    };
    if (p99(Where::Elsewhere) > 0) moved.push_back(p99(Where::Here) / p99(Where::Elsewhere));
  }

  const std::uint64_t came = here.end();
  if (came < kClients) report.problem(fmt::format("clients: only {} came to the doors", came));
  for (const auto until = Steady::now() + Appliance::kPatience;
       counters.value("packets_delivered") < feed.sent() && Steady::now() < until;) {
    std::this_thread::sleep_for(50ms);
  }
  if (counters.value("packets_delivered") != feed.sent() || counters.sum("decode_errors") != 0) {
    return report.problem(fmt::format("clients: {} packets were sent and {} delivered, {} did not decode", feed.sent(),
                                      counters.value("packets_delivered"), counters.sum("decode_errors")));
  }
  for (std::size_t i = 0; i < kNames.size(); ++i) report.add(kNames[i], "ns", bursts[i], 1.0);
  report.add("clients/p99-here-to-elsewhere", "ratio", moved);
}

}  // namespace
}  // namespace stopbit::bench

int main(int argc, char** argv) {
  using namespace stopbit::bench;
  const Arguments arguments = read_arguments(
      argc, argv, "Latency of `stopbit run` with and without a thousand clients that mean no good at its doors.");
  Report report;
  try {
    run(arguments, report);
  } catch (const std::exception& failure) {
    report.problem(std::string("clients: ") + failure.what());
  }
  return report.finish(arguments.json);
}
