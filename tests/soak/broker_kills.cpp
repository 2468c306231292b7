// stopbit_nic_soak brokers: a process that writes a ring, publishes it and is the broker is killed at random
// instructions and started again, as an appliance would be; so are clients. The survivors see it, learn why, and
// go on with the next one; nothing of the dead stays.

#include "tests/soak/broker_kills.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "decoder/record/layout.hpp"
#include "decoder/record/views.hpp"
#include "host/nic/node/broker.hpp"
#include "host/nic/node/client.hpp"
#include "host/nic/transport/shm/shm_transport.hpp"
#include "host/os/clock.hpp"
#include "host/remote/publisher.hpp"
#include "host/remote/subscriber.hpp"
#include "host/ring/reader.hpp"
#include "host/ring/writer.hpp"
#include "tests/lib/scratch.hpp"

namespace stopbit::nic {
namespace {

using Random = std::mt19937_64;
using Count = unsigned long long;

constexpr std::size_t kNodes = 4;
constexpr std::uint64_t kSlots = 1024;
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kPatienceNs = 60 * kSecond;
constexpr std::size_t kMostErrors = 32;

NodeOptions node_options() {
  NodeOptions options;
  options.ports = 16;
  options.link.silence_ns = 10 * kSecond;  // a process that waits for a processor is not lost
  return options;
}

ShmOptions shm_options(const std::string& folder, NodeId node) {
  ShmOptions options;
  options.network = folder + "/net";
  options.node = node;
  options.nodes = kNodes;
  return options;
}

Program numbers() {
  Program program;
  program.max_record_slots = 1;
  return program;
}

/// A record of one slot, which says its number.
void write(ring::Writer& writer, std::uint64_t number) {
  const record::RecordSink::Place place = writer.open();
  record::Slot slot;
  for (std::size_t word = 1; word < record::kValueWords; ++word) slot.words[word] = number * word;
  slot.words[0] = std::uint64_t{1} << 16 | std::uint64_t{place.stamp()} << 32;
  slot.words[record::kTagWord] = ring::first_slot_tags(place.phase());
  writer.commit(slot, 1);
}
bool is_whole(const record::Slot& slot, std::uint64_t& number) {
  number = slot.words[1];
  for (std::size_t word = 1; word < record::kValueWords; ++word) {
    if (slot.words[word] != number * word) return false;
  }
  return true;
}

std::atomic<bool> stop_serving = false;

/// What all threads have seen.
struct Seen {
  std::atomic<bool> is_over = false;
  std::atomic<std::uint64_t> life = 0;    ///< The number of brokers so far.
  std::atomic<std::uint64_t> opened = 0;  ///< Ports.
  std::atomic<std::uint64_t> ended = 0;   ///< Of these, by the broker's death.
  std::atomic<std::uint64_t> wrong = 0;   ///< Words that came back and were none of ours; rings that were cut.
  std::atomic<std::uint64_t> records = 0, lost = 0, rings = 0;

  void say(const std::string& error) {
    const std::lock_guard lock(mutex);
    if (errors.size() < kMostErrors) errors.insert(error);
  }
  std::mutex mutex;
  std::set<std::string> errors;
};

/// A client that talks to itself until the broker dies, and goes on with the next. `answered`: the newest life in which
/// its word came back.
void live_on(const std::string& socket, Seen& seen, std::atomic<std::uint64_t>& answered) {
  std::array<std::byte, kMaxMessageBytes> into;
  std::uint64_t tick = 0;
  while (!seen.is_over) {
    const std::uint64_t life = seen.life;
    Result<std::unique_ptr<Client>> opened = Client::open(socket);
    if (!opened) {
      seen.say(opened.message());
      ::usleep(500);
      continue;
    }
    ++seen.opened;
    Client& self = *opened.value();
    for (bool is_alive = true; is_alive && !seen.is_over;) {
      ++tick;
      bool is_back = false;
      const bool is_sent = self.send(0, self.vpid(), std::as_bytes(std::span(&tick, 1))) == Reply::NoError;
      for (int i = 0; is_sent && !is_back && i < 50; ++i) {
        if (const auto head = self.receive(into)) {
          std::uint64_t word = 0;
          std::memcpy(&word, into.data(), sizeof(word));
          is_back = word == tick && head->vpid == self.vpid();
          if (word > tick) ++seen.wrong;
        } else {
          ::usleep(100);
        }
      }
      if (is_back) answered = life;
      // The command ring does not show that its reader has died: the socket does.
      const Result<AttachedFeed> feed = self.attach("ring");
      if (!feed) {
        seen.say(feed.message());
        is_alive = feed.message().find("no such feed") != std::string::npos;
      } else {
        is_alive = self.detach(feed.value().window.id).ok();
      }
    }
    ++seen.ended;
  }
}

/// A subscriber and a reader of the ring that it makes. `heard`: the newest life of which a record came.
void follow(const std::string& folder, Seen& seen, std::atomic<std::uint64_t>& heard) {
  auto carrier = ShmTransport::open(shm_options(folder, 1));
  if (!carrier) return seen.say("subscriber: " + carrier.message());
  Node node(*carrier.value(), node_options());
  remote::SubscriberOptions options;
  options.ring = "ring";
  options.name = folder + "/here";
  options.ask_ns = 5'000'000;
  options.silence_ns = kSecond;
  auto subscriber = remote::Subscriber::open(node, options);
  if (!subscriber) return seen.say("subscriber: " + subscriber.message());
  std::unique_ptr<ring::Reader> reader;
  std::uint64_t next = 0;
  for (std::uint64_t next_look_ns = 0; !seen.is_over;) {
    const std::uint64_t now = os::monotonic_clock_ns();
    if (node.step(now) + subscriber.value()->step(now) == 0) ::usleep(50);
    if (now >= next_look_ns && (!reader || reader->replaced())) {
      next_look_ns = now + 1'000'000;
      if (auto opened = ring::Reader::open(options.name)) {
        reader = std::make_unique<ring::Reader>(std::move(opened).value());
        next = 0;
        ++seen.rings;
      }
    }
    for (ring::Poll poll = ring::Poll::Record; reader && poll != ring::Poll::Nothing;) {
      poll = reader->poll();
      if (poll == ring::Poll::Damaged) ++seen.wrong;
      if (poll == ring::Poll::Damaged) break;
      if (poll != ring::Poll::Record) continue;
      const record::Slot& slot = reader->record().front();
      if (record::HeaderView(slot).is_event()) {
        seen.lost += record::EventView(slot).missing();
        next = 0;
        continue;
      }
      std::uint64_t number = 0;
      if (!is_whole(slot, number) || (next != 0 && number != next)) ++seen.wrong;
      next = number + 1;
      ++seen.records;
      heard = number >> 32U;
    }
  }
}

pid_t start(std::initializer_list<const char*> words) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nothing outlives the soak
  std::vector<char*> arguments;
  for (const char* word : words) arguments.push_back(const_cast<char*>(word));
  arguments.push_back(nullptr);
  ::execv("/proc/self/exe", arguments.data());
  ::_exit(3);
}
void kill_and_wait(pid_t child) {
  if (child <= 0) return;
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

/// The status of a process after a signal to end; nothing if it does not end.
std::optional<int> end(pid_t child) {
  ::kill(child, SIGTERM);
  int status = 0;
  for (const std::uint64_t until = os::monotonic_clock_ns() + kPatienceNs; os::monotonic_clock_ns() < until;
       ::usleep(1000)) {
    if (::waitpid(child, &status, WNOHANG) == child) return status;
  }
  kill_and_wait(child);
  return std::nullopt;
}

std::set<std::string> files_in(const std::string& folder) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.insert(entry.path().filename().string());
  return files;
}
std::string text_of(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += text.empty() ? "\"" : ",\"";
    for (const char c : word) text += c == '"' || c == '\\' ? '\'' : c;
    text += '"';
  }
  return text;
}

}  // namespace

int serve(const char* folder_name) {
  ::signal(SIGTERM, [](int) { stop_serving = true; });
  const std::string folder = folder_name;
  const auto fail = [](const std::string& why) {
    std::fprintf(stderr, "broker: %s\n", why.c_str());
    return 3;
  };
  // In the order of the appliance.
  auto writer = ring::Writer::create(folder + "/ring", numbers(), {.slot_count = kSlots});
  if (!writer) return fail(writer.message());
  auto carrier = ShmTransport::open(shm_options(folder, 0));
  if (!carrier) return fail(carrier.message());
  ShmTransport::remove_dead(folder + "/net", kNodes);
  Node node(*carrier.value(), node_options());
  remote::PublisherOptions published;
  published.rings = {{.name = "ring", .ring = folder + "/ring", .token = {}}};
  auto publisher = remote::Publisher::open(node, published);
  if (!publisher) return fail(publisher.message());
  BrokerOptions options;
  options.socket = folder + "/broker";
  options.entitlements = {Entitlement{}};
  options.entitlements[0].ports = 64;
  options.entitlements[0].feeds = {"ring"};
  auto broker = Broker::open(node, options);
  if (!broker) return fail(broker.message());
  if (const Status added = broker.value()->add_feed("ring", folder + "/ring"); !added) {
    return fail(added.message());
  }
  // The upper half of a number says which life it is of.
  const char* const life = ::getenv("STOPBIT_SOAK_LIFE");
  std::uint64_t number = (life != nullptr ? std::strtoull(life, nullptr, 10) : 0) << 32U;
  for (std::uint64_t next_ns = 0; !stop_serving;) {
    const std::uint64_t now = os::monotonic_clock_ns();
    if (now >= next_ns) {
      next_ns = now + 100'000;
      write(writer.value(), ++number);
    }
    if (node.step(now) + publisher.value()->step(now) + broker.value()->step() == 0) ::usleep(20);
  }
  writer.value().finish();
  return 0;
}

int broker_kills(std::uint64_t wanted, std::uint64_t seed) {
  testing::Scratch scratch;
  const std::string folder = scratch.folder().string();
  const std::string socket = scratch.path("broker");
  Random random(seed);
  Seen seen;
  const auto begin = [&] {
    ::setenv("STOPBIT_SOAK_LIFE", std::to_string(++seen.life).c_str(), 1);
    return start({"stopbit_nic_soak", "broker", folder.c_str()});
  };
  std::array<std::atomic<std::uint64_t>, 2> answered{};
  std::atomic<std::uint64_t> heard = 0;
  pid_t broker = begin();
  std::vector<std::thread> threads;
  for (std::atomic<std::uint64_t>& one : answered) threads.emplace_back([&] { live_on(socket, seen, one); });
  threads.emplace_back([&] { follow(folder, seen, heard); });
  std::array<pid_t, 2> clients{};
  std::uint64_t brokers_killed = 0, clients_killed = 0, followed = 0, served = 0;
  std::size_t most_files = 0;
  for (std::uint64_t killed = 0; killed < wanted;) {
    // Half of them while they start; one in sixteen when all have started again.
    const std::uint64_t how = random() % 16;
    ::usleep(static_cast<useconds_t>(random() % (how < 8 ? 4'000 : 25'000)));
    const auto all_are_back = [&] {
      return heard == seen.life && std::ranges::all_of(answered, [&](const auto& one) { return one == seen.life; });
    };
    for (const std::uint64_t until = os::monotonic_clock_ns() + kPatienceNs;
         how == 15 && !all_are_back() && os::monotonic_clock_ns() < until;) {
      ::usleep(1'000);
    }
    followed += heard == seen.life ? 1 : 0;
    served += answered[0] == seen.life ? 1 : 0;
    pid_t& client = clients[random() % clients.size()];
    if (random() % 2 == 0) {
      if (client > 0) ++clients_killed, ++killed;
      kill_and_wait(client);
      client = start({"stopbit_nic_soak", "client", socket.c_str(), "0"});
      continue;
    }
    kill_and_wait(broker);
    ++brokers_killed;
    ++killed;
    most_files = std::max(most_files, files_in(folder).size());
    broker = begin();
  }
  for (const pid_t client : clients) kill_and_wait(client);
  // Survivors go on with the last one.
  const std::uint64_t begin_ns = os::monotonic_clock_ns();
  bool is_good = false;
  while (!is_good && os::monotonic_clock_ns() - begin_ns < kPatienceNs) {
    is_good = heard == seen.life && std::ranges::all_of(answered, [&](const auto& one) { return one == seen.life; });
    ::usleep(1'000);
  }
  const std::uint64_t back_ns = os::monotonic_clock_ns() - begin_ns;
  const std::set<std::string> during = files_in(folder);
  is_good = is_good && during == std::set<std::string>{"broker", "here", "net.0", "net.1", "ring"};
  const std::optional<int> status = end(broker);
  is_good = is_good && status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0;
  seen.is_over = true;
  for (std::thread& thread : threads) thread.join();
  const std::set<std::string> after = files_in(folder);
  // Rings outlive their writers, for readers that are slow.
  is_good = is_good && after == std::set<std::string>{"here", "ring"} && seen.wrong == 0 && seen.records > 0 &&
            seen.ended > 0 && brokers_killed > 0;
  std::printf(
      "{\"soak\":\"nic brokers\",\"seed\":%llu,\"brokers_killed\":%llu,\"clients_killed\":%llu,\"ports_opened\":%llu,"
      "\"ends_seen\":%llu,\"lives_served\":%llu,\"lives_followed\":%llu,\"rings\":%llu,\"records\":%llu,\"lost\":%llu,"
      "\"wrong\":%llu,\"back_ms\":%.3f,\"most_files\":%zu,\"files\":[%s],\"left_over\":[%s],\"errors\":[%s],\"good\":%"
      "s}\n",
      static_cast<Count>(seed), static_cast<Count>(brokers_killed), static_cast<Count>(clients_killed),
      static_cast<Count>(seen.opened), static_cast<Count>(seen.ended), static_cast<Count>(served),
      static_cast<Count>(followed), static_cast<Count>(seen.rings), static_cast<Count>(seen.records),
      static_cast<Count>(seen.lost), static_cast<Count>(seen.wrong), static_cast<double>(back_ns) / 1e6, most_files,
      text_of(during).c_str(), text_of(after).c_str(), text_of(seen.errors).c_str(), is_good ? "true" : "false");
  return is_good ? 0 : 1;
}

}  // namespace stopbit::nic
