// stopbit_nic_soak: clients of a node are killed at random instructions, and ports that write whatever they like into
// their pages; or memory far larger than its resident part is read and written. Says in one line of JSON what was
// seen. Status 1 if another client noticed, or anything was left over.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "host/nic/node/broker.hpp"
#include "host/nic/node/client.hpp"
#include "host/nic/rma/memory.hpp"
#include "host/nic/transport/model/network.hpp"
#include "host/os/clock.hpp"
#include "tests/lib/scratch.hpp"
#include "tests/soak/broker_kills.hpp"
#include "tests/soak/models.hpp"
#include "tests/soak/unpinned.hpp"

namespace stopbit::nic {
namespace {

using Random = std::mt19937_64;
using Count = unsigned long long;

constexpr std::uint64_t kPatienceNs = 60'000'000'000;

ModelOptions one_node() {
  ModelOptions options;
  options.nodes = 1;
  return options;
}

std::size_t open_files() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// A client that does all there is, again and again, until it is killed.
int live_wildly(const std::string& socket, Vpid witness) {
  Random random(static_cast<std::uint64_t>(::getpid()));
  for (;;) {
    Result<std::unique_ptr<Client>> opened = Client::open(socket, random() % 2 == 0 ? 64 : 128);
    if (!opened) {
      ::usleep(500);
      continue;
    }
    Client& client = *opened.value();
    const Result<SharedRegion> memory = client.share(kPageBytes * (1 + random() % 4), Access::ReadWrite);
    if (!memory) continue;
    const Result<WindowName> window = client.open_window(memory.value().address, kPageBytes, Access::ReadWrite);
    for (int i = 0; i < 50; ++i) {
      const std::string words(1 + random() % 200, 'w');
      (void)client.send(0, random() % 2 == 0 ? witness : client.vpid(), bytes_of(words));
      Command command;
      command.operation = static_cast<Operation>(1 + random() % 14);
      command.modifiers = static_cast<std::uint8_t>(random() % 64);
      command.target_vpid = random() % 2 == 0 ? witness : client.vpid();
      command.window = window ? window.value().id : std::uint16_t{0};
      command.capability = window && random() % 4 != 0 ? window.value().capability : random();
      command.address = memory.value().address + random() % 100;
      command.offset = random() % 5000;
      command.length = static_cast<std::uint32_t>(random() % 9000);
      (void)client.queue(static_cast<CommandRing>(random() % 3)).insert({&command, 1});
    }
    if (random() % 2 == 0) (void)client.unshare(memory.value().address);
  }
}

int kills(std::uint64_t wanted, std::uint64_t seed) {
  testing::Scratch scratch;
  BrokerOptions options;
  options.socket = scratch.path("broker");
  options.entitlements = {Entitlement{}};
  options.entitlements[0].ports = 64;
  ModelNetwork network(one_node());
  Node node(network.port(0), NodeOptions{});
  Result<std::unique_ptr<Broker>> opened = Broker::open(node, options);
  if (!opened) {
    std::fprintf(stderr, "%s\n", opened.message().c_str());
    return 3;
  }
  Broker& broker = *opened.value();
  const std::size_t files = open_files();
  std::atomic<bool> is_over = false;
  std::thread thread([&] {
    while (!is_over) {
      if (node.step(os::monotonic_clock_ns()) + broker.step() == 0) ::usleep(20);
    }
  });
  Result<std::unique_ptr<Client>> witness = Client::open(options.socket);
  std::uint64_t killed = 0;
  std::uint64_t ticks = 0;
  std::uint64_t foreign = 0;
  std::uint64_t slowest_ns = 0;
  bool is_good = witness.ok();
  std::vector<pid_t> children(4, -1);
  Random random(seed);
  std::array<std::byte, kMaxMessageBytes> into;
  if (is_good) {
    Client& self = *witness.value();
    const std::string vpid = std::to_string(self.vpid());
    SendHow high;
    high.priority = Priority::High;
    while (is_good && killed < wanted) {
      pid_t& child = children[random() % children.size()];
      if (child > 0) {
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        ++killed;
      }
      child = ::fork();
      if (child == 0) {
        ::execl("/proc/self/exe", "stopbit_nic_soak", "client", options.socket.c_str(), vpid.c_str(), nullptr);
        ::_exit(3);
      }
      ::usleep(static_cast<useconds_t>(random() % 20'000));
      // The witness talks to itself: its word must come back, once, however the others die.
      const std::uint64_t begin = os::monotonic_clock_ns();
      is_good = child > 0 && self.send(0, self.vpid(), std::as_bytes(std::span(&ticks, 1)), high) == Reply::NoError;
      for (bool is_back = false; is_good && !is_back; is_good = os::monotonic_clock_ns() - begin < kPatienceNs) {
        const auto head = self.mailbox(Priority::High).poll(into);
        std::uint64_t tick = 0;
        std::memcpy(&tick, into.data(), sizeof(tick));
        is_back = head && head->vpid == self.vpid() && tick == ticks;
        if (head && !is_back) ++foreign;  // others may send to it, too
        if (self.mailbox(Priority::Low).poll(into)) ++foreign;
        if (!head) ::usleep(10);
      }
      slowest_ns = std::max(slowest_ns, os::monotonic_clock_ns() - begin);
      ++ticks;
      Notification notification;
      while (self.notifications().take(notification)) {
      }
    }
  }
  for (const pid_t child : children) {
    if (child <= 0) continue;
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  if (is_good) witness.value().reset();
  for (const std::uint64_t end = os::monotonic_clock_ns() + kPatienceNs;
       broker.clients() > 0 && os::monotonic_clock_ns() < end;)
    ::usleep(1000);
  is_over = true;
  thread.join();
  const BrokerCounters& counters = broker.counters();
  const auto is_clean = [&] {
    return broker.clients() == 0 && broker.unflushed() == 0 && counters.shared_bytes == 0 &&
           counters.opened == counters.gone && open_files() == files && node.is_idle();
  };
  for (const std::uint64_t end = os::monotonic_clock_ns() + kPatienceNs;
       !is_clean() && os::monotonic_clock_ns() < end;) {
    (void)node.step(os::monotonic_clock_ns());
    (void)broker.step();
  }
  is_good = is_good && is_clean();
  std::printf(
      "{\"soak\":\"nic "
      "kills\",\"seed\":%llu,\"kills\":%llu,\"ports_opened\":%llu,\"ticks\":%llu,\"other_messages\":%llu,"
      "\"slowest_tick_ms\":%.3f,\"clients_left\":%zu,\"bytes_left\":%llu,\"regions_left\":%zu,"
      "\"ports_left\":%lld,\"files_left\":%lld,\"idle\":%s,\"good\":%s}\n",
      static_cast<Count>(seed), static_cast<Count>(killed), static_cast<Count>(counters.opened),
      static_cast<Count>(ticks), static_cast<Count>(foreign), static_cast<double>(slowest_ns) / 1e6, broker.clients(),
      static_cast<Count>(counters.shared_bytes), broker.unflushed(),
      static_cast<long long>(counters.opened - counters.gone),
      static_cast<long long>(open_files()) - static_cast<long long>(files), node.is_idle() ? "true" : "false",
      is_good ? "true" : "false");
  return is_good ? 0 : 1;
}

/// A port of a node in this process, with memory of which the first and the last page are in no window.
struct Subject {
  static constexpr std::size_t kPages = 6;

  Subject(Node& node, Pdid domain, std::byte canary) {
    (void)pages.create("port", PageLayout::kBytes);
    (void)memory.create("memory", kPages * kPageBytes);
    vpid = node.open_port(pages.page(), domain, {}).value_or(0);
    std::fill(memory.span().begin(), memory.span().end(), canary);
    std::vector<PageNumber> numbers;
    for (std::size_t i = 0; i < kPages; ++i) {
      numbers.push_back(to_page_number(memory.span().data() + i * kPageBytes));
    }
    address = node.atu().register_pages(vpid, numbers, Access::ReadWrite).value_or(0);
    const auto opened = node.rma().open_window(vpid, address + 2 * kPageBytes, 2 * kPageBytes, Access::ReadWrite);
    window = opened.value_or(WindowName{});
    // The last page was shared once, in a window of its own, and is not any more.
    const Nla last = address + (kPages - 1) * kPageBytes;
    gone = node.rma().open_window(vpid, last, kPageBytes, Access::ReadWrite).value_or(WindowName{});
    (void)node.rma().revoke(vpid, last, 1);
  }
  /// Whether the memory outside of the window is as it was.
  [[nodiscard]] bool is_whole(std::byte canary) const {
    const auto span = memory.span();
    const auto is_canary = [&](std::byte byte) { return byte == canary; };
    return std::all_of(span.begin(), span.begin() + 2 * kPageBytes, is_canary) &&
           std::all_of(span.begin() + 4 * kPageBytes, span.end(), is_canary);
  }
  /// Whether the page that is not shared any more is as it was.
  [[nodiscard]] bool is_gone_whole(std::byte canary) const {
    const auto page = memory.span().last(kPageBytes);
    return std::all_of(page.begin(), page.end(), [&](std::byte byte) { return byte == canary; });
  }
  SharedMemory pages;
  SharedMemory memory;
  Vpid vpid = 0;
  Nla address = 0;
  WindowName window;
  WindowName gone;
};

/// What must become of a command of the attacker, said once more and in other words than in the node.
class Oracle {
 public:
  Oracle(const Subject& attacker, std::initializer_list<const Subject*> others) : attacker_(attacker) {
    ports_.emplace_back(&attacker, 7);
    for (const Subject* other : others) ports_.emplace_back(other, other == *others.begin() ? 7 : 8);
  }

  void expect(const Command& command) {
    const auto operation = static_cast<unsigned>(command.operation);
    if (operation == 1 || operation == 2 || operation == 7) return;  // messages
    const Error at_home = home(command);
    if (at_home != Error::None) {
      ++own_[static_cast<std::size_t>(at_home)];
    } else if (command.operation != Operation::Fence) {
      expect_at_target(command);
    }
  }
  /// What the node counted must be that. The number of codes that are not.
  [[nodiscard]] std::size_t differences(const RmaCounters& counters) const {
    std::size_t wrong = 0;
    for (std::size_t code = 1; code < kErrors; ++code) {
      const bool is_right = counters.refused[code] >= refused_[code] && counters.own_error[code] >= own_[code] &&
                            counters.refused[code] - refused_[code] <= maybe_[code] &&
                            counters.own_error[code] - own_[code] <= maybe_[code];
      if (is_right) continue;
      ++wrong;
      std::fprintf(stderr, "%s: expected %llu here and %llu there, up to %llu more; counted %llu and %llu\n",
                   to_name(static_cast<Error>(code)), static_cast<Count>(own_[code]),
                   static_cast<Count>(refused_[code]), static_cast<Count>(maybe_[code]),
                   static_cast<Count>(counters.own_error[code]), static_cast<Count>(counters.refused[code]));
    }
    return wrong;
  }

 private:
  static bool moves(const Command& command) {
    return command.operation == Operation::Put || command.operation == Operation::Get;
  }
  static bool moves_words(const Command& command) {
    return command.operation == Operation::PutWords || command.operation == Operation::GetWords;
  }
  static std::uint64_t word_bytes(const Command& command) {
    if (moves_words(command)) return command.length;
    return command.operation == Operation::FetchCompareAdd ? 4 : 8;
  }

  [[nodiscard]] Error home(const Command& command) const {
    const auto operation = static_cast<unsigned>(command.operation);
    if (operation < 3 || operation > 18 || (command.modifiers & ~(15U | kNotifyRefusal)) != 0) return Error::Command;
    if (command.operation == Operation::Fence) return command.more > 2 ? Error::Command : Error::None;
    if (command.target_node != 0) return Error::Route;
    if (moves_words(command)) return command.length == 0 || command.length > 24 ? Error::OriginLength : Error::None;
    if (!moves(command)) return Error::None;
    if (command.length == 0 || command.length > 1U << 20U) return Error::OriginLength;
    const Nla end = attacker_.address + (Subject::kPages - 1) * kPageBytes;  // without the revoked page
    const bool is_own =
        command.address >= attacker_.address && command.address < end && command.length <= end - command.address;
    return is_own ? Error::None : Error::OriginWindow;
  }
  void expect_at_target(const Command& command) {
    const Subject* target = nullptr;
    int domain = 0;
    for (const auto& [subject, its_domain] : ports_) {
      if (subject->vpid == command.target_vpid) {
        target = subject;
        domain = its_domain;
      }
    }
    Error error = Error::None;
    Error maybe = Error::None;
    if (target == nullptr) {
      error = Error::TargetVpid;
    } else if (command.operation == Operation::NotificationPut || command.operation == Operation::Signal) {
      if (domain != 7) error = Error::Domain;
      if (error == Error::None && command.operation == Operation::Signal && command.more > 63) error = Error::Command;
      if (error == Error::None && command.operation == Operation::NotificationPut) maybe = Error::Full;
    } else {
      error = at_window(command, *target, domain, maybe);
    }
    const bool is_answered =
        (command.modifiers & kAcknowledge) != 0 ||
        (command.operation != Operation::Put && command.operation != Operation::ImmediatePut &&
         command.operation != Operation::PutWords && command.operation != Operation::NotificationPut &&
         command.operation != Operation::Signal);
    const bool hears_refusals = is_answered || (command.modifiers & kNotifyRefusal) != 0;
    if (error != Error::None) {
      ++refused_[static_cast<std::size_t>(error)];
      if (hears_refusals) ++own_[static_cast<std::size_t>(error)];
    } else {
      ++maybe_[static_cast<std::size_t>(maybe)];
    }
  }
  static Error at_window(const Command& command, const Subject& target, int domain, Error& maybe) {
    if (command.window != target.window.id) return Error::TargetWindowId;
    if (command.capability != target.window.capability) return Error::Capability;
    if (domain != 7) return Error::Domain;
    if (command.operation == Operation::LockWindow) return Error::None;
    if (command.operation == Operation::UnlockWindow) {
      maybe = Error::Locked;  // it depends on which ring is served first
      return Error::None;
    }
    const std::uint64_t bytes = moves(command) ? command.length : word_bytes(command);
    constexpr std::uint64_t kBytes = 2 * kPageBytes;
    if (command.offset > kBytes || bytes > kBytes - command.offset) return Error::TargetWindow;
    if (!moves(command) && !moves_words(command) && command.offset % word_bytes(command) != 0)
      return Error::TargetOffset;
    if (command.operation == Operation::Synchronize) maybe = Error::Command;  // it depends on the word
    return Error::None;
  }

  const Subject& attacker_;
  std::vector<std::pair<const Subject*, int>> ports_;
  std::array<std::uint64_t, kErrors> own_{};
  std::array<std::uint64_t, kErrors> refused_{};
  std::array<std::uint64_t, kErrors> maybe_{};
};

int descriptors(std::uint64_t wanted, std::uint64_t seed) {
  ModelNetwork network(one_node());
  NodeOptions options;
  options.atu.entries = 256;
  Node node(network.port(0), options);
  Subject attacker(node, 7, std::byte{0});
  Subject neighbour(node, 7, std::byte{0xA5});  // of the same domain
  Subject stranger(node, 8, std::byte{0x5A});
  Oracle oracle(attacker, {&neighbour, &stranger});
  Random random(seed);
  std::array<std::uint64_t, kCommandRings> issued{};
  std::array<std::byte, kMaxMessageBytes> into;
  std::array<MailboxReader, 2> of_neighbour = {MailboxReader(neighbour.pages.page(), Priority::Low),
                                               MailboxReader(neighbour.pages.page(), Priority::High)};
  MailboxReader of_stranger(stranger.pages.page(), Priority::Low);
  std::array<NotificationReader, 2> notifications = {NotificationReader(neighbour.pages.page()),
                                                     NotificationReader(attacker.pages.page())};
  const Page page = attacker.pages.page();
  const CommandQueue honest(stranger.pages.page());
  std::uint64_t count = 0;
  std::uint64_t messages = 0;
  std::uint64_t forged = 0;
  std::uint64_t now = 0;
  bool is_good = attacker.window.capability != 0 && neighbour.window.capability != 0;
  const auto pick = [&](std::initializer_list<std::uint64_t> values) {
    return values.begin()[random() % values.size()];
  };
  while (is_good && count < wanted) {
    for (int i = 0; i < 12; ++i, ++count) {
      std::array<std::uint64_t, 8> words;
      for (std::uint64_t& word : words) word = random();
      if (random() % 8 != 0) {
        Command command;
        command.operation = static_cast<Operation>(random() % 20);
        command.modifiers = static_cast<std::uint8_t>(random() % 70 + (random() % 8 == 0 ? 128 : 0));
        command.target_vpid = static_cast<Vpid>(
            pick({attacker.vpid, neighbour.vpid, neighbour.vpid, stranger.vpid, random() % 300, random()}));
        command.target_node = static_cast<NodeId>(random() % 16 == 0 ? random() : 0);
        command.window = static_cast<std::uint16_t>(pick({attacker.window.id, neighbour.window.id, neighbour.window.id,
                                                          stranger.window.id, neighbour.gone.id, random() % 64}));
        command.capability = pick({attacker.window.capability, neighbour.window.capability, stranger.window.capability,
                                   neighbour.window.capability ^ 1, neighbour.gone.capability, random()});
        command.tag = random();
        command.address = pick({attacker.address, neighbour.address, stranger.address, random()}) + random() % 30'000;
        command.offset = pick({random() % 9000, 8192, std::uint64_t{0} - random() % 5000, random()});
        command.length = static_cast<std::uint32_t>(pick({random() % 9000, random() % 30, 1, 8192, random()}));
        command.mask = static_cast<std::uint32_t>(random());
        command.more = random() % 2 == 0 ? random() % 70 : random() % 3 == 0 ? random() % 4 : random();
        words = std::bit_cast<std::array<std::uint64_t, 8>>(command);
      }
      const std::size_t ring = random() % kCommandRings;
      const RingPlace place = place_of(static_cast<CommandRing>(ring));
      // A ring that is full is left alone: its own commands would be lost.
      if (issued[ring] - page.word(place.taken).load() > PageLayout::kCommands / 2) continue;
      const std::size_t at = place.at + issued[ring] % PageLayout::kCommands * kLineBytes;
      for (std::size_t word = 0; word < 7; ++word) page.word(at, word).store(words[word], std::memory_order_relaxed);
      page.word(at, 7).store(++issued[ring], std::memory_order_release);
      oracle.expect(std::bit_cast<Command>(words));
    }
    // It writes anything else, too, but what it needs itself to go on.
    const std::size_t word_at = random() % 512;
    const bool is_needed = word_at == static_cast<std::size_t>(PageWord::Taken) ||
                           word_at == static_cast<std::size_t>(PageWord::HighTaken) ||
                           word_at == static_cast<std::size_t>(PageWord::TransferTaken);
    if (random() % 16 == 0 && !is_needed) page.word(0, word_at).store(random() % 2 == 0 ? random() : random() % 100);
    for (int i = 0; i < 6; ++i) (void)node.step(now += 1000);
    for (MailboxReader& reader : of_neighbour) {
      while (const auto head = reader.poll(into)) {
        ++messages;
        if (head->node != 0 || head->vpid != attacker.vpid) ++forged;
      }
    }
    Notification notification;
    for (NotificationReader& reader : notifications) {
      while (reader.take(notification)) {
      }
    }
    if (count % 12'000 != 0) continue;
    // The stranger goes on as ever: its own word comes back, and nothing else does. Its window is open to the attacker,
    // who knows its capability.
    Command word;
    word.operation = Operation::FastSend;
    word.target_vpid = stranger.vpid;
    word.window = 8;
    is_good = honest.insert({&word, 1}).reply == Reply::NoError;
    for (int i = 0; i < 10; ++i) (void)node.step(now += 1000);
    const auto head = of_stranger.poll(into);
    is_good = is_good && head && head->vpid == stranger.vpid && !of_stranger.poll(into) && forged == 0 &&
              neighbour.is_whole(std::byte{0xA5}) && stranger.is_whole(std::byte{0x5A}) &&
              attacker.is_gone_whole(std::byte{0});
  }
  for (int quiet = 0; is_good && quiet < 100;) quiet = node.step(now += 1000) == 0 ? quiet + 1 : 0;
  const std::size_t differences = oracle.differences(node.rma().counters());
  is_good = is_good && differences == 0;
  std::uint64_t refused = 0;
  for (const std::uint64_t number : node.counters().refused) refused += number;
  for (const std::uint64_t number : node.rma().counters().own_error) refused += number;
  std::printf(
      "{\"soak\":\"nic descriptors\",\"seed\":%llu,\"written\":%llu,\"taken\":%llu,\"refused\":%llu,\"messages\":%llu,"
      "\"forged\":%llu,\"wrong_codes\":%zu,\"good\":%s}\n",
      static_cast<Count>(seed), static_cast<Count>(count), static_cast<Count>(node.counters().commands),
      static_cast<Count>(refused), static_cast<Count>(messages), static_cast<Count>(forged), differences,
      is_good ? "true" : "false");
  return is_good && refused != 0 && node.counters().commands > count / 4 ? 0 : 1;
}

struct Form {
  const char* name;
  int (*run)(std::uint64_t count, std::uint64_t seed);
  std::uint64_t count;
  std::uint64_t long_count;
};
constexpr Form kForms[] = {
    {"kills", kills, 60, 10'000},
    {"brokers", broker_kills, 60, 10'000},
    {"descriptors", descriptors, 200'000, 100'000'000},
    {"unpinned", unpinned, 100'000, 10'000'000},
    {"locks", model_locks, 20'000, 100'000'000},
    {"events", model_events, 50'000, 100'000'000},
    {"window", model_window, 200'000, 100'000'000},
    {"credits", model_credits, 500'000, 100'000'000},
    {"flush", model_flush, 500'000, 100'000'000},
    {"states", model_states, 0, 1},
};

int usage() {
  std::fputs("usage: stopbit_nic_soak ", stderr);
  for (const Form& form : kForms) std::fprintf(stderr, "%s%s", &form == kForms ? "" : "|", form.name);
  std::fputs(" [--long] [--count N] [--seed N]\n", stderr);
  return 2;
}

int run(std::span<char* const> words) {
  if (words.size() == 4 && std::string_view(words[1]) == "client") {
    return live_wildly(words[2], static_cast<Vpid>(std::strtoul(words[3], nullptr, 10)));
  }
  if (words.size() == 3 && std::string_view(words[1]) == "broker") return serve(words[2]);
  if (words.size() < 2) return usage();
  const auto* const form = std::ranges::find(kForms, std::string_view(words[1]), &Form::name);
  if (form == std::end(kForms)) return usage();
  std::uint64_t count = form->count;
  std::uint64_t seed = 1;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--long") {
      count = form->long_count;
    } else if ((word == "--count" || word == "--seed") && i + 1 < words.size()) {
      (word == "--count" ? count : seed) = std::strtoull(words[++i], nullptr, 10);
    } else {
      return usage();
    }
  }
  return form->run(count, seed);
}

}  // namespace
}  // namespace stopbit::nic

int main(int argc, char** argv) {
  return stopbit::nic::run({argv, static_cast<std::size_t>(argc)});
}
