// The network interface, beside the yardstick of the same run: a cache line handed from one core to another (nic/line).
//
//   nic/<way>/message_8             half a round trip of a message of 8 bytes, from a port to a port
//   nic/<way>/message_8/lines       the same in line transfers, measured right before it
//   nic/<way>/message_8/own         the same, less one line transfer: what does not depend on where the processors are
//   nic/<way>/put_8 ... put_4096    half a round trip: put, seen in memory, answered by a put
//   nic/<way>/notification          half a round trip of a notification put
//   nic/<way>/get_8 ... get_4096    a whole get, from the command to its notification
//   nic/<way>/get_words_8           the same, with the word in the notification
//   nic/<way>/lock, add             a whole lock of a window; a whole fetch and add
//   nic/<way>/synchronize           a whole step of a semaphore
//   nic/<way>/message_8/rate        messages one after another, ns each; so put_8, get_8, notification
//   nic/producers_2/rate            two processors insert messages into one ring, one of which is the node's, too; ns
//                                   each. producers_1: that one alone
//   nic/remote_ring/6_slots         half a round trip of a record from a ring to a ring of another node; beside it a
//                                   ring without nodes, by turns, and the ratio. /far_way: sent by puts, over shm;
//                                   /fabric-shm, /fabric-tcp, /udp, /udp-sealed: over these
//   nic/remote_ring/6_slots/<way>/stream   records one after another to a ring of another node, ns each; 32 at once
//                                   between steps of the node; stream_1: one
//   nic/udp_ping_pong/48            half a round trip of a datagram of 48 bytes over loopback between two processes
//   that
//                                   poll their sockets; /1064 likewise: what udp cannot undercut
//   nic/udp_frame/48, nic/udp_sealed_frame/48   the same of a frame of the carrier, without links and ports
//   nic/model/<transfer>            what our units do for it, with the costs of a source document (ns); the source's
//                                   figure is a fact
//   nic/translate/...               the translation unit alone: a hit, and a miss
//   nic/step/idle_ports_16          a step of a node with 16 ports that have rested for a while; awake_ports_16:
//                                   that have asked for something lately
//   nic/apart/hop                   what a frame takes to the process in which libfabric runs apart, or back
//   nic/step/message_8              all that both sides do for a message, in one thread: no line has to travel
//
// Ways: `shm`, `fabric-shm`, `fabric-tcp`, `udp`, `udp-sealed`, two nodes in two processes over these carriers, each
// node with its port on a processor of its own; `local`, two ports of one node, the other one in a process that has no
// node. Every answer is compared with what was sent, before the clock starts and while it runs.

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/lib/arguments.hpp"
#include "bench/lib/cpu.hpp"
#include "bench/lib/histogram.hpp"
#include "bench/lib/line_transfer.hpp"
#include "bench/lib/pace.hpp"
#include "bench/lib/report.hpp"
#include "bench/lib/ring_end.hpp"
#include "bench/lib/statistics.hpp"
#include "bench/lib/ticks.hpp"
#include "host/nic/msg/mailbox.hpp"
#include "host/nic/node/node.hpp"
#include "host/nic/notify/ring.hpp"
#include "host/nic/queue/command_queue.hpp"
#include "host/nic/rma/memory.hpp"
#include "host/nic/sync/word.hpp"
#include "host/nic/transport/fabric/fabric_transport.hpp"
#include "host/nic/transport/fabric/isolated/isolated_device.hpp"
#include "host/nic/transport/shm/shm_transport.hpp"
#include "host/nic/transport/udp/sockets.hpp"
#include "host/nic/transport/udp/udp_transport.hpp"
#include "host/os/clock.hpp"
#include "host/remote/publisher.hpp"
#include "host/remote/subscriber.hpp"
#include "tests/nic/budgets.hpp"

namespace stopbit::bench {
namespace {

using namespace nic;  // NOLINT: the subject of this program
using nic::Node;

constexpr std::uint64_t kRoundTrips = 2'000;  ///< Of a burst, and as many before them that are not timed.
constexpr std::uint64_t kStream = 100'000;
constexpr double kPatienceNs = 5e9;  ///< For an answer: then something is wrong.
// In the memory of a port: what it puts, what others add to, what others get, what others put, what it has got.
constexpr std::size_t kOriginAt = 0;
constexpr std::size_t kCounterAt = 1 * kPageBytes;
constexpr std::size_t kSourceAt = 2 * kPageBytes;
constexpr std::size_t kTargetAt = 3 * kPageBytes;
constexpr std::size_t kGottenAt = 4 * kPageBytes;
constexpr std::size_t kMemoryBytes = 5 * kPageBytes;
constexpr std::uint64_t kSourceWords = 0x5709'B17;  ///< The words at kSourceAt count up from this.

/// Memory that a child process shares; zeros at first.
class Shared {
 public:
  explicit Shared(std::size_t bytes)
      : bytes_(bytes),
        memory_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::runtime_error("no shared memory");
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { ::munmap(memory_, bytes_); }
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {static_cast<std::byte*>(memory_), bytes_}; }

 private:
  std::size_t bytes_;
  void* memory_;
};

/// What both sides must know of each other, and where they meet.
struct Board {
  struct End {
    std::uint16_t vpid = 0;
    NodeId node = 0;
    Nla memory = 0;
    WindowName window;
  };
  std::array<End, 2> ends;
  std::array<char, 128> address{};  ///< Of the first node's carrier, if the other one has to join it.
  alignas(128) std::atomic<std::uint64_t> arrived[2] = {};
  alignas(128) std::atomic<std::uint64_t> end{0};  ///< The burst that is over, for a side that only serves.
};

/// A node's clock. A node needs it for what was lost, so the time may be that of some steps before without harm.
class StepClock {
 public:
  [[nodiscard]] std::uint64_t now() {
    if (steps_++ % 8 == 0) now_ns_ = os::monotonic_clock_ns();
    return now_ns_;
  }

 private:
  std::uint64_t steps_ = 0;
  std::uint64_t now_ns_ = 0;
};

/// Waits, but not for ever.
class Patience {
 public:
  void look() {
    if (++looks_ % 4096 != 0) return;
    const std::uint64_t now = os::monotonic_clock_ns();
    if (begin_ == 0) begin_ = now;
    if (static_cast<double>(now - begin_) > kPatienceNs) throw std::runtime_error("no answer came");
  }

 private:
  std::uint64_t looks_ = 0;
  std::uint64_t begin_ = 0;
};

/// Runs both at once, `there` in a process of its own. What went wrong in either, if something did.
template <class There, class Here>
std::optional<std::string> in_two_processes(const There& there, const Here& here) {
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("cannot start a process");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
      there();
      ::_exit(0);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "bench_nic: %s\n", error.what());
      ::_exit(1);
    }
  }
  std::optional<std::string> problem;
  try {
    here();
  } catch (const std::exception& error) {
    problem = error.what();
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (!problem && status != 0) problem = "the answering process ended";
  return problem;
}

/// The memory of a port: its pages, and what it registers.
struct PortMemory {
  Shared pages{PageLayout::kBytes};
  Shared memory{kMemoryBytes};
  [[nodiscard]] Page page() const noexcept {
    return Page(std::span<std::byte, PageLayout::kBytes>(pages.bytes().data(), PageLayout::kBytes));
  }
};

/// Makes the port at its node. The node belongs to the calling process.
Board::End open_end(Node& node, const PortMemory& port) {
  Board::End end;
  const std::optional<Vpid> vpid = node.open_port(port.page(), 0, {});
  if (!vpid) throw std::runtime_error("no port");
  std::vector<PageNumber> pages;
  for (std::size_t at = 0; at < kMemoryBytes; at += kPageBytes) {
    pages.push_back(to_page_number(port.memory.bytes().data() + at));
  }
  const std::optional<Nla> memory = node.atu().register_pages(*vpid, pages, Access::ReadWrite);
  if (!memory) throw std::runtime_error("no addresses");
  const std::optional<WindowName> window = node.rma().open_window(*vpid, *memory, kMemoryBytes, Access::ReadWrite);
  if (!window) throw std::runtime_error("no window");
  end.vpid = *vpid;
  end.node = node.id();
  end.memory = *memory;
  end.window = *window;
  return end;
}

/// One side: a port, and the node that this process drives, if any.
class Side {
 public:
  Side(Node* node, const PortMemory& port, const Board::End& own, const Board::End& other)
      : node_(node),
        port_(port),
        own_(own),
        other_(other),
        messages_(port.page(), CommandRing::Low),
        transfers_(port.page(), CommandRing::Transfer),
        mailbox_(port.page(), Priority::Low),
        notifications_(port.page()) {
    fill(kSourceAt, kPageBytes, kSourceWords);
  }

  void step() {
    if (node_ != nullptr) (void)node_->step(clock_.now());
  }
  /// A command whose other end is the other port. Waits for room in the ring.
  void issue(const CommandQueue& queue, const Command& command) {
    for (Patience patience; queue.insert({&command, 1}).reply == Reply::Full; patience.look()) step();
  }
  [[nodiscard]] Command command(Operation operation) const {
    Command command;
    command.operation = operation;
    command.target_node = other_.node;
    command.target_vpid = other_.vpid;
    command.window = other_.window.id;
    command.capability = other_.window.capability;
    return command;
  }

  void send(std::span<const std::byte> bytes) {
    Command command = this->command(Operation::FastSend);
    command.window = static_cast<std::uint16_t>(bytes.size());
    std::memcpy(reinterpret_cast<std::byte*>(&command) + kPayloadAt, bytes.data(), bytes.size());
    issue(messages_, command);
  }
  [[nodiscard]] std::optional<std::size_t> poll_message() {
    const auto head = mailbox_.poll(inbox_);
    if (!head) return std::nullopt;
    if (head->node != other_.node || head->vpid != other_.vpid) throw std::runtime_error("a message of somebody else");
    return head->length;
  }
  [[nodiscard]] std::span<const std::byte, kMaxMessageBytes> inbox() const noexcept { return inbox_; }

  void put(std::size_t bytes) {
    Command command = this->command(Operation::Put);
    command.address = own_.memory + kOriginAt;
    command.offset = kTargetAt;
    command.length = static_cast<std::uint32_t>(bytes);
    issue(transfers_, command);
  }
  void get(std::size_t bytes, std::uint8_t modifiers = kNotifyCompleter) {
    Command command = this->command(Operation::Get);
    command.address = own_.memory + kGottenAt;
    command.offset = kSourceAt;
    command.length = static_cast<std::uint32_t>(bytes);
    command.modifiers = modifiers;
    issue(transfers_, command);
  }
  void transfer(const Command& command) { issue(transfers_, command); }

  [[nodiscard]] bool take(Notification& notification) { return notifications_.take(notification); }
  /// Steps until there is one.
  Notification await_notification() {
    Notification notification;
    for (Patience patience; !take(notification); patience.look()) step();
    if (notification.error != Error::None) throw std::runtime_error(to_name(notification.error));
    return notification;
  }

  /// Word of the port's own memory, which others may be writing.
  [[nodiscard]] std::atomic_ref<std::uint64_t> word(std::size_t at) const noexcept {
    return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(port_.memory.bytes().data() + at));
  }
  void fill(std::size_t at, std::size_t bytes, std::uint64_t value) const noexcept {
    for (std::size_t i = 0; i < bytes; i += 8) word(at + i).store(value + i, std::memory_order_relaxed);
  }
  void expect(std::size_t at, std::size_t bytes, std::uint64_t value) const {
    for (std::size_t i = 0; i < bytes; i += 8) {
      if (word(at + i).load(std::memory_order_relaxed) != value + i) throw std::runtime_error("wrong bytes in memory");
    }
  }

 private:
  Node* node_;
  StepClock clock_;
  const PortMemory& port_;
  Board::End own_;
  Board::End other_;
  CommandQueue messages_;
  CommandQueue transfers_;
  MailboxReader mailbox_;
  NotificationReader notifications_;
  std::array<std::byte, kMaxMessageBytes> inbox_{};
};

/// One thing to measure. `ask` is one round of the side that has the clock; `answer` is the other side's, nothing if
/// its node does all that is to be done.
struct Exchange {
  std::string name;
  bool is_half = true;  ///< The figure is half of a round.
  std::function<void(Side&, std::uint64_t)> ask;
  std::function<void(Side&, std::uint64_t)> answer;
};

/// `bytes`: a multiple of 8, up to kMaxFastBytes.
void send_numbered(Side& side, std::size_t bytes, std::uint64_t value) {
  std::array<std::uint64_t, kMaxFastBytes / 8> words;
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = value + 8 * i;
  side.send(std::as_bytes(std::span(words)).first(bytes));
}
void expect_numbered(const Side& side, std::size_t length, std::size_t bytes, std::uint64_t value) {
  bool is_right = length == bytes;
  for (std::size_t at = 0; is_right && at + 8 <= bytes; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, side.inbox().data() + at, sizeof(word));
    is_right = word == value + at;
  }
  if (!is_right) {
    std::uint64_t word = 0;
    std::memcpy(&word, side.inbox().data(), sizeof(word));
    throw std::runtime_error("a message of " + std::to_string(length) + " bytes that begins with " +
                             std::to_string(word) + " instead of " + std::to_string(value));
  }
}
void await_numbered(Side& side, std::size_t bytes, std::uint64_t value) {
  for (Patience patience;; patience.look()) {
    side.step();
    if (const auto length = side.poll_message()) return expect_numbered(side, *length, bytes, value);
  }
}

Exchange message(std::size_t bytes) {
  return {"message_" + std::to_string(bytes), true,
          [bytes](Side& side, std::uint64_t i) {
            send_numbered(side, bytes, i);
            await_numbered(side, bytes, ~i);
          },
          [bytes](Side& side, std::uint64_t i) {
            await_numbered(side, bytes, i);
            send_numbered(side, bytes, ~i);
          }};
}

/// The last word is written last, so who sees it sees all.
void await_put(Side& side, std::size_t bytes, std::uint64_t value) {
  const std::size_t last = kTargetAt + bytes - 8;
  for (Patience patience; side.word(last).load(std::memory_order_acquire) != value + bytes - 8; patience.look()) {
    side.step();
  }
}

Exchange put(std::size_t bytes) {
  const auto give = [bytes](Side& side, std::uint64_t value) {
    side.fill(kOriginAt, bytes, value);
    side.put(bytes);
  };
  return {"put_" + std::to_string(bytes), true,
          [bytes, give](Side& side, std::uint64_t i) {
            give(side, i + 1);
            await_put(side, bytes, i + 1);
            if (i % 1000 == 0) side.expect(kTargetAt, bytes, i + 1);
          },
          [bytes, give](Side& side, std::uint64_t i) {
            await_put(side, bytes, i + 1);
            give(side, i + 1);
          }};
}

Exchange notification() {
  const auto give = [](Side& side, std::uint64_t value) {
    Command command = side.command(Operation::NotificationPut);
    command.address = value;
    side.transfer(command);
  };
  const auto expect = [](Side& side, std::uint64_t value) {
    if (side.await_notification().value != value) throw std::runtime_error("a notification with a wrong word");
  };
  return {"notification", true,
          [give, expect](Side& side, std::uint64_t i) {
            give(side, i);
            expect(side, ~i);
          },
          [give, expect](Side& side, std::uint64_t i) {
            expect(side, i);
            give(side, ~i);
          }};
}

Exchange get(std::size_t bytes) {
  return {"get_" + std::to_string(bytes), false,
          [bytes](Side& side, std::uint64_t i) {
            const std::size_t last = kGottenAt + bytes - 8;
            side.word(last).store(0, std::memory_order_relaxed);
            side.get(bytes);
            (void)side.await_notification();
            // All of it now and then; the last word always.
            i % 1000 == 0 ? side.expect(kGottenAt, bytes, kSourceWords)
                          : side.expect(last, 8, kSourceWords + bytes - 8);
          },
          nullptr};
}

Exchange get_words() {
  return {"get_words_8", false,
          [](Side& side, std::uint64_t) {
            Command command = side.command(Operation::GetWords);
            command.offset = kSourceAt;
            command.length = 8;
            command.modifiers = kNotifyCompleter;
            side.transfer(command);
            if (side.await_notification().value != kSourceWords) throw std::runtime_error("a wrong word");
          },
          nullptr};
}

Exchange lock() {
  return {"lock", false,
          [](Side& side, std::uint64_t i) {
            Command command = side.command(i % 2 == 0 ? Operation::LockWindow : Operation::UnlockWindow);
            command.modifiers = kAcknowledge;
            side.transfer(command);
            (void)side.await_notification();
          },
          nullptr};
}

Exchange add() {
  return {"add", false,
          [sum = std::uint64_t{0}](Side& side, std::uint64_t) mutable {
            Command command = side.command(Operation::FetchAdd);
            command.address = 1;
            command.offset = kCounterAt;
            command.modifiers = kNotifyCompleter;
            side.transfer(command);
            if (side.await_notification().value != sum++) throw std::runtime_error("a wrong sum");
          },
          nullptr};
}

/// Counts a semaphore up and down.
Exchange synchronize() {
  return {"synchronize", false,
          [](Side& side, std::uint64_t i) {
            SyncRequest request;
            request.step = i % 2 == 0 ? SyncStep::SemaphoreV : SyncStep::SemaphoreP;
            request.member = 1;
            Command command = side.command(Operation::Synchronize);
            command.address = std::bit_cast<std::uint64_t>(request);
            command.offset = kCounterAt + sizeof(std::uint64_t);
            command.modifiers = kNotifyCompleter;
            side.transfer(command);
            if (to_state(side.await_notification().value).count != i % 2) throw std::runtime_error("a wrong count");
          },
          nullptr};
}

/// Both sides reach it, or it throws.
class Meeting {
 public:
  Meeting(Board& board, std::size_t side) : board_(board), side_(side) {}
  template <typename Step>
  void meet(const Step& step) {
    board_.arrived[side_].store(++count_, std::memory_order_release);
    for (Patience patience; board_.arrived[1 - side_].load(std::memory_order_acquire) < count_; patience.look()) {
      step();
    }
  }

 private:
  Board& board_;
  std::size_t side_;
  std::uint64_t count_ = 1;  ///< They have met once, to open their ports.
};

/// Round trips in ticks, by the side that has the clock.
Histogram ask(Side& side, Board& board, Meeting& meeting, const Exchange& exchange, std::uint64_t burst,
              std::uint64_t round_trips) {
  Histogram rounds;
  meeting.meet([&] { side.step(); });
  const Undisturbed undisturbed;
  const std::uint64_t first = burst * 2 * round_trips;
  std::uint64_t before = ticks();
  for (std::uint64_t i = 0; i < 2 * round_trips; ++i) {
    exchange.ask(side, first + i);
    const std::uint64_t after = ticks();
    if (i >= round_trips) rounds.record(after - before);
    before = after;
  }
  board.end.store(burst + 1, std::memory_order_release);
  return rounds;
}

void answer(Side& side, Board& board, Meeting& meeting, const Exchange& exchange, std::uint64_t burst,
            std::uint64_t round_trips) {
  meeting.meet([&] { side.step(); });
  const Undisturbed undisturbed;
  const std::uint64_t first = burst * 2 * round_trips;
  if (exchange.answer) {
    for (std::uint64_t i = 0; i < 2 * round_trips; ++i) exchange.answer(side, first + i);
  }
  for (Patience patience; board.end.load(std::memory_order_acquire) <= burst; patience.look()) side.step();
}

/// Commands one after another. `give` issues number i. `take` takes what has come, beginning with number i, and says
/// how many; without it the other side's node does all that is to be done.
struct Stream {
  std::string name;
  std::function<void(Side&, std::uint64_t)> give;
  std::function<std::uint64_t(Side&, std::uint64_t)> take;
};

Stream stream_of_messages() {
  return {"message_8", [](Side& side, std::uint64_t i) { send_numbered(side, 8, i); },
          [](Side& side, std::uint64_t first) {
            std::uint64_t count = 0;
            for (std::optional<std::size_t> length; first + count < kStream && (length = side.poll_message());
                 ++count) {
              expect_numbered(side, *length, 8, first + count);  // a message that was dropped is a wrong one here
            }
            return count;
          }};
}

Stream stream_of_notifications() {
  return {"notification",
          [](Side& side, std::uint64_t i) {
            Command command = side.command(Operation::NotificationPut);
            command.address = i;
            side.transfer(command);
          },
          [](Side& side, std::uint64_t first) {
            std::uint64_t count = 0;
            for (Notification notification; first + count < kStream && side.take(notification); ++count) {
              if (notification.value != first + count) throw std::runtime_error("a notification is missing");
            }
            return count;
          }};
}

Stream stream_of_puts() {
  return {"put_8", [](Side& side, std::uint64_t) { side.put(8); }, nullptr};
}
Stream stream_of_gets() {
  return {"get_8", [](Side& side, std::uint64_t) { side.get(8, 0); }, nullptr};
}

/// ns each. The last of them has been carried out when the other side says so, or a fence.
double ask_stream(Side& side, Board& board, Meeting& meeting, const TickClock& clock, const Stream& stream,
                  std::uint64_t burst) {
  side.word(kOriginAt).store(burst + 1, std::memory_order_relaxed);
  side.word(kGottenAt).store(0, std::memory_order_relaxed);
  const Undisturbed undisturbed;  // before they meet: a side that is preempted after it delays the other
  meeting.meet([&] { side.step(); });
  const std::uint64_t begin = ticks_begin();
  for (std::uint64_t i = 0; i < kStream; ++i) stream.give(side, i);
  if (stream.take) {
    await_numbered(side, 8, ~kStream);
  } else {
    Command fence;
    fence.operation = Operation::Fence;
    fence.modifiers = kNotifyRequester;
    side.transfer(fence);
    (void)side.await_notification();
  }
  const std::uint64_t end = ticks_end();
  if (stream.name == "get_8") side.expect(kGottenAt, 8, kSourceWords);
  board.end.store(burst + 1, std::memory_order_release);
  return clock.ns(static_cast<double>(end - begin)) / static_cast<double>(kStream);
}

void answer_stream(Side& side, Board& board, Meeting& meeting, const Stream& stream, std::uint64_t burst) {
  // It also tells that all slots are free.
  if (side.poll_message()) throw std::runtime_error("a message that nobody sent");
  if (Notification none; side.take(none)) throw std::runtime_error("a notification that nobody sent");
  const Undisturbed undisturbed;
  meeting.meet([&] { side.step(); });
  if (stream.take) {
    Patience patience;
    // Nothing is left in the ring when the node is stepped, so a whole window of what comes has room there.
    for (std::uint64_t i = 0; i < kStream; side.step(), patience.look()) i += stream.take(side, i);
    send_numbered(side, 8, ~kStream);
  }
  for (Patience patience; board.end.load(std::memory_order_acquire) <= burst; patience.look()) side.step();
  if (stream.name == "put_8" && side.word(kTargetAt).load(std::memory_order_acquire) != burst + 1) {
    throw std::runtime_error("a put has not come");
  }
}

/// A connection of two sides in two processes.
struct Way {
  std::string name;
  std::size_t nodes = 2;  ///< 1: the second side has none of its own.
  /// `address`: of the first node, which publishes it when it has started.
  std::function<std::unique_ptr<Transport>(NodeId node, std::string& address)> open;
  bool joins = false;  ///< The second node needs the first one's address.
  LinkOptions link{};
  std::uint64_t round_trips = kRoundTrips;
};

/// Processes rest between bursts, which must not count as a lost node.
NodeOptions node_options(LinkOptions link = {}) {
  NodeOptions options;
  options.link = link;
  options.link.silence_ns = 60'000'000'000;
  options.link.resend_ns = std::max<std::uint64_t>(link.resend_ns, 10'000'000);
  return options;
}

/// Two nodes, or two ports of one.
Way shm(const std::string& name, std::size_t nodes) {
  const std::string network = "bench-nic-" + std::to_string(::getpid()) + "-" + name;
  return {name, nodes, [network, nodes](NodeId node, std::string&) -> std::unique_ptr<Transport> {
            Result<std::unique_ptr<ShmTransport>> opened =
                ShmTransport::open({.network = network, .node = node, .nodes = nodes});
            if (!opened) throw std::runtime_error(opened.message());
            return std::move(opened).value();
          }};
}

Way fabric(const std::string& name, const std::string& provider, std::uint64_t round_trips) {
  Way way;
  way.name = name;
  way.joins = true;
  way.link = fabric_link_options();
  way.round_trips = round_trips;
  way.open = [provider](NodeId node, std::string& address) -> std::unique_ptr<Transport> {
    FabricOptions options;
    options.provider = provider;
    options.network = "bench";
    options.nodes = 2;
    options.lease_ns = 60'000'000'000;
    if (node == 0) options.listen = provider == "shm" ? "bench-nic-" + std::to_string(::getpid()) : "127.0.0.1:0";
    Result<std::unique_ptr<FabricTransport>> opened =
        node == 0 ? FabricTransport::listen(options) : FabricTransport::join(options, address);
    if (!opened) throw std::runtime_error(opened.message());
    address = opened.value()->address();
    return std::move(opened).value();
  };
  return way;
}

std::unique_ptr<Transport> open_udp(const std::string& token, NodeId node, std::string& address) {
  UdpOptions options;
  options.network = "bench";
  options.nodes = 2;
  options.lease_ns = 60'000'000'000;
  options.token = token;
  if (node == 0) options.listen = "127.0.0.1:0";
  Result<std::unique_ptr<UdpTransport>> opened =
      node == 0 ? UdpTransport::listen(options) : UdpTransport::join(options, address);
  if (!opened) throw std::runtime_error(opened.message());
  address = opened.value()->address();
  return std::move(opened).value();
}
constexpr const char* kUdpToken = "bench bench bench bench";

Way udp(const std::string& name, const std::string& token) {
  Way way;
  way.name = name;
  way.joins = true;
  way.link = udp_link_options();
  way.round_trips = 2000;
  way.open = [token](NodeId node, std::string& address) { return open_udp(token, node, address); };
  return way;
}

/// All exchanges of a way. The sides go through the same bursts in the same order.
class Contest {
 public:
  Contest(const Arguments& arguments, const Way& way, std::size_t rounds)
      : way_(way), rounds_(rounds), board_(sizeof(Board)) {
    new (board_.bytes().data()) Board;
    for (Exchange& exchange : std::vector<Exchange>{message(8), message(40), put(8), put(64), put(512), put(2048),
                                                    put(4096), notification(), get(8), get(64), get(512), get(2048),
                                                    get(4096), get_words(), lock(), add(), synchronize()}) {
      if (arguments.wants("nic/" + way.name + "/" + exchange.name)) exchanges_.push_back(std::move(exchange));
    }
    // Between ports of one node no sender waits for a receiver: its mailbox would drop.
    if (way.nodes != 2) return;
    for (Stream& stream :
         std::vector<Stream>{stream_of_messages(), stream_of_puts(), stream_of_gets(), stream_of_notifications()}) {
      if (arguments.wants("nic/" + way.name + "/" + stream.name + "/rate")) streams_.push_back(std::move(stream));
    }
  }

  void run(const TickClock& clock, std::pair<int, int> processors, Report& report) {
    if (exchanges_.empty() && streams_.empty()) return;
    const auto problem = in_two_processes(
        [&] {
          const int code = be_answerer(processors.second);
          node_.reset();
          transport_.reset();  // with its inbox
          if (code != 0) ::_exit(code);
        },
        [&] {
          pin(processors.first);
          ask_all(clock, processors, report);
        });
    if (problem) report.problem("nic/" + way_.name + ": " + *problem);
  }

 private:
  [[nodiscard]] Board& board() const noexcept { return *reinterpret_cast<Board*>(board_.bytes().data()); }

  /// Opens the ports, and waits until the other side has done it, too.
  std::unique_ptr<Side> open(std::size_t side) {
    std::string address;
    const auto await_other = [&] {
      for (Patience patience; board().arrived[1 - side].load(std::memory_order_acquire) == 0; patience.look()) {
        if (node_ != nullptr) (void)node_->step(os::monotonic_clock_ns());
        std::this_thread::yield();
      }
    };
    if (side == 1 && way_.joins) {
      await_other();
      address = board().address.data();
    }
    if (side < way_.nodes) {
      transport_ = way_.open(static_cast<NodeId>(side), address);
      if (side == 0) address.copy(board().address.data(), board().address.size() - 1);
      node_ = std::make_unique<Node>(*transport_, node_options(way_.link));
      for (std::size_t i = side; i < 2; i += way_.nodes) board().ends[i] = open_end(*node_, memory_[i]);
    }
    board().arrived[side].store(1, std::memory_order_release);
    await_other();
    return std::make_unique<Side>(node_.get(), memory_[side], board().ends[side], board().ends[1 - side]);
  }

  int be_answerer(int processor) {
    try {
      pin(processor);
      const std::unique_ptr<Side> side = open(1);
      Meeting meeting(board(), 1);
      each_burst(
          [&](const Exchange& exchange, std::uint64_t burst) {
            answer(*side, board(), meeting, exchange, burst, way_.round_trips);
          },
          [&](const Stream& stream, std::uint64_t burst) { answer_stream(*side, board(), meeting, stream, burst); });
      return 0;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "bench_nic: %s\n", error.what());
      return 1;
    }
  }

  void ask_all(const TickClock& clock, std::pair<int, int> processors, Report& report) {
    const std::unique_ptr<Side> side = open(0);
    Meeting meeting(board(), 0);
    std::vector<std::vector<Histogram>> bursts(exchanges_.size());
    std::vector<std::vector<double>> ratios(exchanges_.size());
    std::vector<std::vector<double>> owns(exchanges_.size());
    std::vector<std::vector<double>> rates(streams_.size());
    double line_ns = 0;
    each_burst(
        [&](const Exchange& exchange, std::uint64_t burst) {
          const auto which = static_cast<std::size_t>(&exchange - exchanges_.data());
          if (which == 0) {
            line_ns = measure_line_transfer(clock, processors.first, processors.second, 1).median_ns();
            pin(processors.first);
            lines_.push_back(line_ns);
          }
          bursts[which].push_back(ask(*side, board(), meeting, exchange, burst, way_.round_trips));
          const double ns =
              clock.ns(static_cast<double>(bursts[which].back().percentile(0.5))) / (exchange.is_half ? 2 : 1);
          ratios[which].push_back(ns / line_ns);
          owns[which].push_back(ns - line_ns);
        },
        [&](const Stream& stream, std::uint64_t burst) {
          rates[static_cast<std::size_t>(&stream - streams_.data())].push_back(
              ask_stream(*side, board(), meeting, clock, stream, burst));
        });
    const std::string prefix = "nic/" + way_.name + "/";
    for (std::size_t k = 0; k < exchanges_.size(); ++k) {
      const Exchange& exchange = exchanges_[k];
      report.add(prefix + exchange.name, "ns", bursts[k], clock.ns_per_tick() / (exchange.is_half ? 2 : 1));
      report.add(prefix + exchange.name + "/lines", "lines", ratios[k]);
      if (exchange.name == "message_8") report.add(prefix + exchange.name + "/own", "ns", owns[k]);
    }
    for (std::size_t k = 0; k < streams_.size(); ++k) {
      report.add(prefix + streams_[k].name + "/rate", "ns each", rates[k]);
    }
    if (!lines_.empty()) report.add(prefix + "line", "ns", lines_);
  }

  template <typename DoExchange, typename DoStream>
  void each_burst(const DoExchange& exchange_once, const DoStream& stream_once) {
    std::uint64_t burst = 0;
    for (std::size_t round = 0; round < rounds_; ++round) {
      for (const Exchange& exchange : exchanges_) exchange_once(exchange, burst++);
      for (const Stream& stream : streams_) stream_once(stream, burst++);
    }
  }

  const Way& way_;
  std::size_t rounds_;
  std::vector<Exchange> exchanges_;
  std::vector<Stream> streams_;
  Shared board_;
  std::array<PortMemory, 2> memory_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Node> node_;
  std::vector<double> lines_;
};

/// One side of two rings that each have a copy on the other node, or of two rings without nodes.
class RemoteSide {
 public:
  /// `address`: of the first node's carrier, which says so itself.
  RemoteSide(const Way& way, std::size_t side, std::string& address, const std::string& prefix, ring::Writer& out,
             const std::string& out_name, remote::SubscriberOptions::Way how)
      : out_(out),
        is_near_(how == remote::SubscriberOptions::Way::Near),
        here_(prefix + "-here-" + std::to_string(side)) {
    transport_ = way.open(static_cast<NodeId>(side), address);
    node_ = std::make_unique<Node>(*transport_, node_options(way.link));
    remote::PublisherOptions publishes;
    publishes.rings.push_back({"ring", out_name, "token"});
    Result<std::unique_ptr<remote::Publisher>> publisher = remote::Publisher::open(*node_, publishes);
    if (!publisher) throw std::runtime_error(publisher.message());
    publisher_ = std::move(publisher).value();
    remote::SubscriberOptions subscribes;
    subscribes.publisher = static_cast<NodeId>(1 - side);
    subscribes.ring = "ring";
    subscribes.name = here_;
    subscribes.token = "token";
    subscribes.wants_history = false;
    subscribes.silence_ns = 60'000'000'000;
    subscribes.way = how;
    Result<std::unique_ptr<remote::Subscriber>> subscriber = remote::Subscriber::open(*node_, subscribes);
    if (!subscriber) throw std::runtime_error(subscriber.message());
    subscriber_ = std::move(subscriber).value();
  }
  RemoteSide(const RemoteSide&) = delete;
  RemoteSide& operator=(const RemoteSide&) = delete;
  ~RemoteSide() { ::unlink(os::path_of(here_).value().c_str()); }

  void step() {
    const std::uint64_t now = clock_.now();
    (void)publisher_->step(now);
    (void)node_->step(now);
    (void)subscriber_->step(now);
  }
  /// The cost between a record in the local ring and its transfer to the other side.
  void publish() {
    if (!is_near_) return step();
    (void)publisher_->step(clock_.now());
  }
  /// Beside a reader. One of a near ring has nothing to do with nodes, and is another process; here both are one, so
  /// what else there is to do is done now and then.
  void wait() {
    constexpr std::uint32_t kSeldom = 256;
    if (!is_near_ || ++waits_ % kSeldom == 0) step();
  }
  void await_ring() {
    for (const std::uint64_t begin = os::monotonic_clock_ns(); subscriber_->state() != remote::SubscriberState::Live;
         step()) {
      if (static_cast<double>(os::monotonic_clock_ns() - begin) > kPatienceNs) {
        throw std::runtime_error(std::string("the remote ring is ") + to_text(subscriber_->state()) + ": " +
                                 subscriber_->problem());
      }
    }
    Result<ring::Reader> opened = ring::Reader::open(here_, ring::Start::Newest);
    if (!opened) throw std::runtime_error(opened.message());
    in_.emplace(std::move(opened).value());
  }
  [[nodiscard]] ring::Writer& out() noexcept { return out_; }
  [[nodiscard]] ring::Reader& in() noexcept { return *in_; }

 private:
  ring::Writer& out_;
  bool is_near_;
  std::string here_;
  std::uint32_t waits_ = 0;
  StepClock clock_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Node> node_;
  std::unique_ptr<remote::Publisher> publisher_;
  std::unique_ptr<remote::Subscriber> subscriber_;
  std::optional<ring::Reader> in_;
};

template <typename Wait>
void await_record(ring::Reader& in, std::uint64_t value, const Wait& wait) {
  Patience patience;
  while (in.poll() != ring::Poll::Record) {
    wait();
    patience.look();
  }
  if (in.record().back().words[record::kValueWords - 1] != value) throw std::runtime_error("a record with wrong words");
}

/// Records to and fro; half a round trip of the second half of them.
template <typename Publish, typename Wait>
Histogram bounce(bool asks, ring::Writer& out, ring::Reader& in, std::uint32_t slots, std::uint64_t round_trips,
                 const Publish& publish, const Wait& wait) {
  Histogram rounds;
  const Undisturbed undisturbed;
  // The last slot's last value word: what write() stores there for this record.
  const std::uint64_t last = slots == 1 ? 0 : record::kValueWords - 1;
  std::uint64_t before = ticks();
  for (std::uint64_t i = 0; i < 2 * round_trips; ++i) {
    if (!asks) await_record(in, i + last, wait);
    write(out, slots, i);
    publish();
    if (asks) await_record(in, i + last, wait);
    const std::uint64_t after = ticks();
    if (i >= round_trips) rounds.record(after - before);
    before = after;
  }
  return rounds;
}

constexpr std::uint32_t kStreamed = 512;  ///< Records of a burst, which the ring has room for.

/// Bursts of records to the other side, which answers each burst with one record. `at_once`: records between two steps
/// of the node. @returns ns per record of a burst.
double stream(bool asks, RemoteSide& here, std::uint32_t slots, std::uint32_t at_once, std::uint32_t bursts,
              const TickClock& clock) {
  const std::uint64_t last = record::kValueWords - 1;
  const auto step = [&] { here.step(); };
  const Undisturbed undisturbed;
  const std::uint64_t begin = ticks();
  for (std::uint32_t burst = 0; burst < bursts; ++burst) {
    for (std::uint64_t i = 0; i < kStreamed; ++i) {
      if (!asks) {
        await_record(here.in(), i + last, step);
        continue;
      }
      write(here.out(), slots, i);
      if (i % at_once == at_once - 1) step();
    }
    if (asks) {
      await_record(here.in(), burst + last, step);
    } else {
      write(here.out(), slots, burst);
      step();
    }
  }
  return clock.ns(static_cast<double>(ticks() - begin)) / (static_cast<double>(bursts) * kStreamed);
}

/// Remote rings and rings of this host, by turns. `suffix`: of the name.
void measure_remote_ring(const TickClock& clock, const Arguments& arguments, std::pair<int, int> processors,
                         std::size_t rounds, const Way& way, remote::SubscriberOptions::Way how,
                         const std::string& suffix, Report& report) {
  constexpr std::uint32_t kSlots = 6;
  const bool is_near = how == remote::SubscriberOptions::Way::Near;
  const std::string name = "nic/remote_ring/" + std::to_string(kSlots) + "_slots" + suffix;
  if (!arguments.wants(name)) return;
  const Shared memory(sizeof(Board));
  Board& board = *new (memory.bytes().data()) Board;
  const std::string prefix = "bench-nic-" + std::to_string(::getpid());
  Ring there("na");
  Ring back("nb");
  Ring plain_there("nc");
  Ring plain_back("nd");
  ring::Reader plain_questions = plain_there.reader();
  ring::Reader plain_answers = plain_back.reader();
  // Both sides do the same; only one of them begins.
  constexpr std::uint32_t kBursts = 8;
  constexpr std::uint32_t kAtOnce = 32;  // as of an agent that has found datagrams waiting
  std::vector<double> streams;
  std::vector<double> single_streams;
  const auto play = [&](std::size_t side, std::vector<Histogram>& remote_bursts, std::vector<Histogram>& plain_bursts) {
    pin(side == 0 ? processors.first : processors.second);
    Ring& own = side == 0 ? there : back;
    std::string address;
    if (side == 1 && way.joins) {
      for (Patience patience; board.arrived[0].load(std::memory_order_acquire) == 0; patience.look()) {
        std::this_thread::yield();
      }
      address = board.address.data();
    }
    RemoteSide here(way, side, address, prefix, own.writer(), own.name(), how);
    if (side == 0) address.copy(board.address.data(), board.address.size() - 1);
    board.arrived[side].store(1, std::memory_order_release);
    here.await_ring();
    Meeting meeting(board, side);
    const auto step = [&] { here.step(); };
    for (std::size_t round = 0; round < rounds; ++round) {
      meeting.meet(step);
      remote_bursts.push_back(bounce(
          side == 0, here.out(), here.in(), kSlots, way.round_trips, [&] { here.publish(); }, [&] { here.wait(); }));
      for (int i = 0; i < 1000; ++i) step();
      meeting.meet(step);
      plain_bursts.push_back(bounce(
          side == 0, (side == 0 ? plain_there : plain_back).writer(), side == 0 ? plain_answers : plain_questions,
          kSlots, way.round_trips, [] {}, [] {}));
      meeting.meet(step);
      if (is_near) continue;
      streams.push_back(stream(side == 0, here, kSlots, kAtOnce, kBursts, clock));
      meeting.meet(step);
      single_streams.push_back(stream(side == 0, here, kSlots, 1, kBursts, clock));
    }
    meeting.meet(step);
  };
  std::vector<Histogram> remote_bursts;
  std::vector<Histogram> plain_bursts;
  if (const auto problem = in_two_processes([&] { play(1, remote_bursts, plain_bursts); },
                                            [&] { play(0, remote_bursts, plain_bursts); })) {
    report.problem(name + ": " + *problem);
    return;
  }
  std::vector<double> ratios;
  for (std::size_t i = 0; i < rounds; ++i) {
    ratios.push_back(static_cast<double>(remote_bursts[i].percentile(0.5)) /
                     static_cast<double>(plain_bursts[i].percentile(0.5)));
  }
  report.add(name, "ns", remote_bursts, clock.ns_per_tick() / 2);
  if (is_near) report.add("nic/remote_ring/plain_6_slots", "ns", plain_bursts, clock.ns_per_tick() / 2);
  report.add(name + "/over_plain", "times", ratios);
  if (is_near) return;
  report.add(name + "/stream", "ns each", streams);
  report.add(name + "/stream_1", "ns each", single_streams);
}

/// Not measured but counted: the same on every machine.
void count_budgets(const Arguments& arguments, Report& report) {
  for (const Budget& budget : run_budgets()) {
    const std::string name = "nic/model/" + std::string(budget.name);
    if (!arguments.wants(name)) continue;
    report.add(name, "ns", std::vector<double>{budget.ours_ns()});
    report.fact(name, "source, ns", budget.source_ns);
    report.fact(name, "cycles", budget.costs->total_cycles(budget.counts));
    for (std::size_t i = 0; i < kSteps; ++i) {
      report.fact(name, std::string(to_text(static_cast<Step>(i))), static_cast<double>(budget.counts[i]));
    }
  }
}

/// The translation unit alone, ns each: pages that are in its cache, pages that are not, one after another.
void measure_translation(const TickClock& clock, Pace& pace, const Arguments& arguments, int processor,
                         std::size_t rounds, Report& report) {
  constexpr std::size_t kPages = 1U << 16U;
  constexpr std::size_t kLooks = 100'000;
  pin(processor);
  Atu atu(AtuOptions{});
  std::vector<PageNumber> pages(kPages);
  for (std::size_t i = 0; i < kPages; ++i) pages[i] = 1000 + i;
  const std::optional<Nla> first = atu.register_pages(1, pages, Access::Read);
  if (!first) throw std::runtime_error("no addresses");
  // A stride that no cache of the unit holds, and that the processor's prefetcher does not follow.
  for (const auto& [name, used, stride] :
       {std::tuple("nic/translate/hit", std::size_t{64}, std::size_t{1}), {"nic/translate/miss", kPages, 40'503}}) {
    if (!arguments.wants(name)) continue;
    Repetitions repetitions(rounds);
    while (!repetitions.is_done(pace)) {
      pace.wait();
      const Undisturbed undisturbed;
      PaceOf paces;
      paces.add(pace.probe());
      std::size_t page = 0;
      std::uint64_t wrong = 0;
      const std::uint64_t begin = ticks_begin();
      for (std::size_t i = 0; i < kLooks; ++i) {
        const Translation translation = atu.translate(1, *first + page * kPageBytes, Access::Read);
        wrong |= (translation.page ^ (1000 + page)) | (translation.ok ? 0U : 1U);
        page = (page + stride + (translation.page & ~0xFF'FFFFULL)) % used;  // the next waits for this one
      }
      const std::uint64_t end = ticks_end();
      paces.add(pace.probe());
      if (wrong != 0) throw std::runtime_error(std::string(name) + ": a wrong page");
      repetitions.add(clock.ns(static_cast<double>(end - begin)) / kLooks, paces.slowest_ns());
    }
    report.add(name, "ns", repetitions, pace);
  }
}

/// Cost of a step without commands, by the number of ports polled.
void measure_idle_step(const TickClock& clock, Pace& pace, const Arguments& arguments, int processor,
                       std::size_t rounds, Report& report) {
  constexpr std::size_t kSteps = 2'000;
  pin(processor);
  for (const auto& [state, ports] : {std::pair("idle", std::size_t{1}), {"idle", 16}, {"idle", 256}, {"awake", 256}}) {
    const std::string name = std::string("nic/step/") + state + "_ports_" + std::to_string(ports);
    if (!arguments.wants(name)) continue;
    std::string address;
    const std::unique_ptr<Transport> transport = shm("idle", 2).open(0, address);
    NodeOptions options = node_options();
    if (state == std::string_view("awake")) options.rest_ns = ~std::uint64_t{0};
    Node node(*transport, options);
    std::vector<std::unique_ptr<Shared>> pages;
    for (std::size_t i = 0; i < ports; ++i) {
      pages.push_back(std::make_unique<Shared>(PageLayout::kBytes));
      const Page page(std::span<std::byte, PageLayout::kBytes>(pages.back()->bytes().data(), PageLayout::kBytes));
      if (!node.open_port(page, 0, {})) throw std::runtime_error("no port");
    }
    // Time enough for all of them to go to rest, if they do.
    std::uint64_t now = 0;
    for (std::size_t i = 0; i < 2 * ports; ++i) (void)node.step(now += options.rest_ns / 2);
    Repetitions repetitions(rounds);
    while (!repetitions.is_done(pace)) {
      pace.wait();
      const Undisturbed undisturbed;
      PaceOf paces;
      paces.add(pace.probe());
      std::size_t work = 0;
      const std::uint64_t begin = ticks_begin();
      for (std::size_t i = 0; i < kSteps; ++i) work += node.step(++now);
      const std::uint64_t end = ticks_end();
      paces.add(pace.probe());
      if (work != 0) throw std::runtime_error(name + ": there was something to do");
      repetitions.add(clock.ns(static_cast<double>(end - begin)) / kSteps, paces.slowest_ns());
    }
    report.add(name, "ns", repetitions, pace);
  }
}

/// A message of an honest port to another one of its node, beside a port that moves a mebibyte to itself again and
/// again, or signals to sleepers of its own: the median and the 99th of each hundred.
void measure_greedy(const TickClock& clock, Pace& pace, const Arguments& arguments, int processor, std::size_t rounds,
                    Report& report) {
  constexpr std::size_t kMessages = 2'000;
  constexpr std::size_t kLong = 1U << 20U;
  pin(processor);
  for (const std::string neighbour : {"none", "puts", "gets", "wakes"}) {
    const std::string name = "nic/greedy/" + neighbour;
    if (!arguments.wants(name)) continue;
    std::string address;
    const std::unique_ptr<Transport> transport = shm("greedy", 2).open(0, address);
    Node node(*transport, node_options());
    const auto open = [&] { return std::move(remote::NodePort::open(node, 0)).value(); };
    const auto sender = open();
    const auto reader = open();
    const auto greedy = open();
    const auto memory = remote::PortMemory::make(*greedy, "bench-greedy", 2 * kLong, Access::ReadWrite);
    if (!memory) throw std::runtime_error(memory.message());
    const auto window =
        node.rma().open_window(greedy->vpid(), memory.value().address(), 2 * kLong, Access::ReadWrite).value();
    Command command;
    command.target_vpid = greedy->vpid();
    if (neighbour == "wakes") {
      command.operation = Operation::Signal;
    } else {
      command.operation = neighbour == "gets" ? Operation::Get : Operation::Put;
      command.window = window.id;
      command.capability = window.capability;
      command.address = memory.value().address();
      command.offset = kLong;
      command.length = kLong;
    }
    // One of the 63 events has a sleeper.
    std::atomic<bool> is_over = false;
    std::thread sleeper([&] {
      while (neighbour == "wakes" && !is_over) (void)greedy->events().wait(1, std::chrono::milliseconds(50));
    });
    std::uint64_t event = 0;
    std::array<std::byte, kMaxMessageBytes> inbox;
    Repetitions median(rounds);
    Repetitions worst(rounds);
    std::vector<double> taken(kMessages);
    while (!median.is_done(pace)) {
      pace.wait();
      const Undisturbed undisturbed;
      PaceOf paces;
      paces.add(pace.probe());
      for (std::uint64_t i = 0; i < kMessages; ++i) {
        for (int k = 0; neighbour != "none" && k < 64; ++k) {
          if (neighbour == "wakes") command.more = 1 + event++ % 63;
          if (greedy->transfers().insert({&command, 1}).accepted != 1) break;
        }
        const std::uint64_t begin = ticks_begin();
        if (!sender->send(0, reader->vpid(), std::as_bytes(std::span(&i, 1)), os::monotonic_clock_ns())) {
          throw std::runtime_error(name + ": no room for a message");
        }
        while (!reader->receive(inbox)) (void)node.step(os::monotonic_clock_ns());
        taken[i] = clock.ns(static_cast<double>(ticks_end() - begin));
        for (Notification told; greedy->notifications().take(told);) {
        }
      }
      paces.add(pace.probe());
      std::sort(taken.begin(), taken.end());
      median.add(taken[kMessages / 2], paces.slowest_ns());
      worst.add(taken[kMessages * 99 / 100], paces.slowest_ns());
    }
    is_over = true;
    sleeper.join();
    report.add(name + "/p50", "ns", median, pace);
    report.add(name + "/p99", "ns", worst, pace);
  }
}

/// What both processors do for a message, by one of them.
void measure_both_sides(const TickClock& clock, Pace& pace, const Arguments& arguments, int processor,
                        std::size_t rounds, Report& report) {
  constexpr std::size_t kMessages = 10'000;
  const std::string name = "nic/step/message_8";
  if (!arguments.wants(name)) return;
  pin(processor);
  const Way way = shm("both", 2);
  std::array<PortMemory, 2> memory;
  std::array<std::unique_ptr<Transport>, 2> transports;
  std::array<std::unique_ptr<Node>, 2> nodes;
  std::array<Board::End, 2> ends;
  for (std::size_t i = 0; i < 2; ++i) {
    std::string address;
    transports[i] = way.open(static_cast<NodeId>(i), address);
    nodes[i] = std::make_unique<Node>(*transports[i], node_options());
    ends[i] = open_end(*nodes[i], memory[i]);
  }
  Side sender(nodes[0].get(), memory[0], ends[0], ends[1]);
  Side receiver(nodes[1].get(), memory[1], ends[1], ends[0]);
  Repetitions repetitions(rounds);
  for (std::uint64_t sent = 0; !repetitions.is_done(pace);) {
    pace.wait();
    const Undisturbed undisturbed;
    PaceOf paces;
    paces.add(pace.probe());
    const std::uint64_t begin = ticks_begin();
    for (std::size_t i = 0; i < kMessages; ++i, ++sent) {
      send_numbered(sender, 8, sent);
      sender.step();
      for (Patience patience;; patience.look(), sender.step()) {
        receiver.step();
        if (const auto length = receiver.poll_message()) {
          expect_numbered(receiver, *length, 8, sent);
          break;
        }
      }
    }
    const std::uint64_t end = ticks_end();
    paces.add(pace.probe());
    repetitions.add(clock.ns(static_cast<double>(end - begin)) / kMessages, paces.slowest_ns());
  }
  report.add(name, "ns", repetitions, pace);
}

/// Two processors insert messages into one ring; the first of them is the node's, too, and the reader's.
void measure_producers(const TickClock& clock, const Arguments& arguments, std::pair<int, int> processors,
                       std::size_t rounds, Report& report) {
  constexpr std::uint64_t kMessages = 50'000;  // of each producer
  constexpr unsigned kProducerAt = 56;
  for (const std::size_t producers : {std::size_t{1}, std::size_t{2}}) {
    const std::string name = "nic/producers_" + std::to_string(producers) + "/rate";
    if (!arguments.wants(name)) continue;
    pin(processors.first);
    std::string address;
    const std::unique_ptr<Transport> transport = shm("producers", 1).open(0, address);
    Node node(*transport, node_options());
    const std::array<PortMemory, 2> memory;
    const Board::End sender = open_end(node, memory[0]);
    const Board::End receiver = open_end(node, memory[1]);
    Side reader(&node, memory[1], receiver, sender);
    const CommandQueue queue(memory[0].page());
    const auto insert = [&](std::uint64_t producer, std::uint64_t number) {
      Command command;
      command.operation = Operation::FastSend;
      command.target_node = receiver.node;
      command.target_vpid = receiver.vpid;
      command.window = sizeof(number);
      number |= producer << kProducerAt;
      std::memcpy(reinterpret_cast<std::byte*>(&command) + kPayloadAt, &number, sizeof(number));
      return queue.insert({&command, 1}).accepted == 1;
    };
    std::vector<double> rates;
    for (std::size_t round = 0; round < rounds; ++round) {
      std::atomic<bool> goes{false};
      std::atomic<bool> is_over{false};
      std::jthread other([&] {
        if (producers == 1) return;
        pin(processors.second);
        const Undisturbed undisturbed;
        goes.store(true);
        for (std::uint64_t i = 0; i < kMessages && !is_over.load(std::memory_order_relaxed);) i += insert(1, i) ? 1 : 0;
      });
      const Undisturbed undisturbed;
      for (Patience patience; producers == 2 && !goes.load(); patience.look()) std::this_thread::yield();
      try {
        std::array<std::uint64_t, 2> taken{};
        const std::uint64_t begin = ticks_begin();
        Patience patience;
        for (std::uint64_t given = 0; taken[0] + taken[1] < producers * kMessages; patience.look()) {
          if (given < kMessages && insert(0, given)) ++given;
          reader.step();
          while (const auto length = reader.poll_message()) {
            std::uint64_t number = 0;
            std::memcpy(&number, reader.inbox().data(), sizeof(number));
            const std::uint64_t producer = number >> kProducerAt;
            if (*length != 8 || producer > 1 || number != (producer << kProducerAt | taken[producer]++)) {
              throw std::runtime_error(name + ": a message is missing");
            }
          }
        }
        rates.push_back(clock.ns(static_cast<double>(ticks_end() - begin)) /
                        static_cast<double>(producers * kMessages));
      } catch (...) {
        is_over.store(true);
        throw;
      }
    }
    report.add(name, "ns each", rates);
  }
}

/// The server of an endpoint that is played here.
class Echo final : public ServerProcess {
 public:
  void start() override {}
  void kill() override {}
  [[nodiscard]] std::optional<std::string> ended() override { return std::nullopt; }
};
/// Sends everything back at once.
void echo(const IsolatedMemory& memory, const std::atomic<bool>& is_over) {
  TaskQueue from = memory.to_server();
  TaskQueue to = memory.from_server();
  std::vector<std::uint32_t> posted;
  while (!is_over.load(std::memory_order_relaxed)) {
    const std::optional<FabricTask> task = from.pop();
    if (!task) continue;
    if (task->kind == FabricTask::Kind::Post) posted.push_back(task->slot);
    if (task->kind != FabricTask::Kind::Submit) continue;
    const std::uint32_t slot = posted.back();
    posted.pop_back();
    std::memcpy(memory.slot(slot), memory.slot(task->slot), task->length);
    (void)to.push({.kind = FabricTask::Kind::Arrived, .slot = slot, .handle = task->handle, .length = task->length});
    (void)to.push({.kind = FabricTask::Kind::Sent, .slot = task->slot});
  }
}

/// One side of a ping-pong of datagrams or frames: sends one, or takes one if it has come.
struct PingPong {
  std::function<void(std::span<const std::byte>)> send;
  std::function<std::size_t(std::span<std::byte>)> receive;
};

/// Half of a round trip between two processes, each with one side that `open` makes; `address` is the first one's.
void measure_ping_pong(const TickClock& clock, const Arguments& arguments, std::pair<int, int> processors,
                       std::size_t rounds, const std::string& name, std::size_t bytes,
                       const std::function<PingPong(std::size_t side, std::string& address)>& open, Report& report) {
  if (!arguments.wants(name)) return;
  constexpr std::uint64_t kRounds = 5000;
  const Shared memory(sizeof(Board));
  Board& board = *new (memory.bytes().data()) Board;
  std::vector<Histogram> bursts;
  const auto play = [&](std::size_t side) {
    pin(side == 0 ? processors.first : processors.second);
    std::string address;
    std::vector<std::byte> into(2048);
    std::vector<std::byte> frame(bytes);
    PingPong way;
    if (side == 0) {
      way = open(0, address);
      address.copy(board.address.data(), board.address.size() - 1);
    }
    board.arrived[side].store(1, std::memory_order_release);
    for (Patience patience; board.arrived[1 - side].load(std::memory_order_acquire) == 0; patience.look()) {
      if (side == 0) (void)way.receive(into);
    }
    if (side == 1) {
      address = board.address.data();
      way = open(1, address);
    }
    // The first one finds the way, and may be lost; `number` tells which is meant.
    const auto take = [&](std::uint64_t number, bool is_sent_again) {
      std::uint64_t got = 0;
      Patience patience;
      for (std::uint64_t looks = 1; got != number; ++looks, patience.look()) {
        if (is_sent_again && looks % 100'000 == 0) way.send(frame);
        if (way.receive(into) == bytes) std::memcpy(&got, into.data(), sizeof(got));
      }
    };
    const Undisturbed undisturbed;
    std::uint64_t number = 0;
    for (std::size_t round = 0; round <= rounds; ++round) {
      Histogram histogram;
      std::uint64_t before = ticks();
      for (std::uint64_t i = 0; i < kRounds; ++i) {
        ++number;
        if (side == 0) {
          take(number, false);
          std::memcpy(frame.data(), &number, sizeof(number));
          way.send(frame);
        } else {
          std::memcpy(frame.data(), &number, sizeof(number));
          way.send(frame);
          take(number, true);
          const std::uint64_t after = ticks();
          histogram.record(after - before);
          before = after;
        }
      }
      if (round > 0) bursts.push_back(histogram);
    }
    // The last answer must leave the batch, and may be asked for again.
    board.end.fetch_add(side, std::memory_order_release);
    for (Patience patience; side == 0 && board.end.load(std::memory_order_acquire) == 0; patience.look()) {
      if (way.receive(into) == bytes) way.send(frame);
    }
  };
  if (const auto problem = in_two_processes([&] { play(0); }, [&] { play(1); })) {
    report.problem(name + ": " + *problem);
    return;
  }
  report.add(name, "ns", bursts, clock.ns_per_tick() / 2);
}

/// Two sockets, without anything of ours.
PingPong plain_sockets(std::size_t side, std::string& address) {
  const auto check = [](auto result) {
    if (!result) throw std::runtime_error(result.message());
    return std::move(result).value();
  };
  const auto socket = std::make_shared<os::Descriptor>(check(bind_udp(check(nic::resolve("127.0.0.1:0")))));
  const auto peer = std::make_shared<UdpSocketAddress>();
  if (side == 0) {
    address = to_text(check(own_endpoint(socket->get())));
  } else {
    *peer = to_socket_address(check(nic::resolve(address)));
  }
  PingPong way;
  way.send = [socket, peer](std::span<const std::byte> frame) {
    (void)::sendto(socket->get(), frame.data(), frame.size(), MSG_DONTWAIT, peer->get(), peer->bytes);
  };
  way.receive = [socket, peer](std::span<std::byte> into) -> std::size_t {
    peer->bytes = sizeof(peer->storage);
    const ssize_t got = ::recvfrom(socket->get(), into.data(), into.size(), MSG_DONTWAIT, peer->get(), &peer->bytes);
    return got > 0 ? static_cast<std::size_t>(got) : 0;
  };
  return way;
}

PingPong frames_of_udp(const std::string& token, std::size_t side, std::string& address) {
  const std::shared_ptr<Transport> transport = open_udp(token, static_cast<NodeId>(side), address);
  PingPong way;
  way.send = [transport, side](std::span<const std::byte> frame) {
    (void)transport->send(static_cast<NodeId>(1 - side), frame);
  };
  way.receive = [transport](std::span<std::byte> into) { return transport->receive(into); };
  return way;
}

void measure_udp(const TickClock& clock, const Arguments& arguments, std::pair<int, int> processors, std::size_t rounds,
                 Report& report) {
  for (const std::size_t bytes : {std::size_t{48}, std::size_t{1064}}) {
    const std::string size = "/" + std::to_string(bytes);
    measure_ping_pong(clock, arguments, processors, rounds, "nic/udp_ping_pong" + size, bytes, plain_sockets, report);
    measure_ping_pong(
        clock, arguments, processors, rounds, "nic/udp_frame" + size, bytes,
        [](std::size_t side, std::string& address) { return frames_of_udp("", side, address); }, report);
    measure_ping_pong(
        clock, arguments, processors, rounds, "nic/udp_sealed_frame" + size, bytes,
        [](std::size_t side, std::string& address) { return frames_of_udp(kUdpToken, side, address); }, report);
  }
}

/// What a frame takes to the process of libfabric, or back from it: half of a round trip to one on another processor
/// that does nothing else.
void measure_apart(const TickClock& clock, const Arguments& arguments, std::pair<int, int> processors,
                   std::size_t rounds, Report& report) {
  const std::string name = "nic/apart/hop";
  if (!arguments.wants(name)) return;
  constexpr std::uint64_t kFrames = 20'000;
  constexpr std::size_t kFrameBytes = 64;
  FabricOptions options;
  options.nodes = 2;
  struct alignas(kPageBytes) PageOfBytes {
    std::byte bytes[kPageBytes];
  };
  std::vector<PageOfBytes> pages(IsolatedMemory::bytes(options) / kPageBytes + 1);
  const std::span<std::byte> bytes(reinterpret_cast<std::byte*>(pages.data()), pages.size() * kPageBytes);
  const IsolatedMemory memory(bytes, options);
  IsolatedDevice device(options, "", bytes, std::make_unique<Echo>());
  device.step(1);
  memory.answer().own_bytes = 16;
  memory.state().store(static_cast<std::uint32_t>(IsolatedMemory::State::Serves));
  device.step(2);
  const std::array<std::byte, 16> address{};
  const FabricHandle peer = device.add(address);
  for (std::size_t slot = 0; slot < options.rx_slots; ++slot) (void)device.post(static_cast<std::uint32_t>(slot));
  const auto out = static_cast<std::uint32_t>(options.rx_slots);
  const auto one_round_trip = [&](std::uint64_t number, Patience& patience) {
    std::memcpy(device.memory(out), &number, sizeof(number));
    if (!device.submit(out, peer, kFrameBytes)) throw std::runtime_error(name + ": not taken");
    FabricDevice::Event event;
    for (int events = 0; events != 2; patience.look()) {
      if (!device.poll(event)) continue;
      ++events;
      if (event.kind != FabricDevice::Event::Kind::Arrived) continue;
      if (event.frame.size() != kFrameBytes || std::memcmp(event.frame.data(), &number, sizeof(number)) != 0) {
        throw std::runtime_error(name + ": another frame");
      }
      (void)device.post(event.slot);
    }
  };
  std::atomic<bool> is_over{false};
  std::jthread other([&] {
    pin(processors.second);
    const Undisturbed undisturbed;
    echo(memory, is_over);
  });
  pin(processors.first);
  const Undisturbed undisturbed;
  std::vector<double> times;
  try {
    for (std::size_t round = 0; round < rounds; ++round) {
      Patience patience;
      const std::uint64_t begin = ticks_begin();
      for (std::uint64_t number = 1; number <= kFrames; ++number) one_round_trip(number, patience);
      times.push_back(clock.ns(static_cast<double>(ticks_end() - begin)) / (2.0 * kFrames));
    }
  } catch (...) {
    is_over.store(true);
    throw;
  }
  is_over.store(true);
  report.add(name, "ns", times);
}

}  // namespace
}  // namespace stopbit::bench

int main(int argc, char** argv) {
  using namespace stopbit::bench;
  const Arguments arguments = read_arguments(argc, argv, "The network interface, beside the transfer of a cache line.");
  Report report;
  const auto processors = two_processors();
  if (!processors) {
    report.problem("one processor only: nothing can be handed from one to another");
    return report.finish(arguments.json);
  }
  if (!Undisturbed::is_possible()) report.note("without real-time priority: other programs disturb the figures");
  const TickClock clock;
  pin(processors->first);
  Pace pace(clock, arguments.pace_ns);
  const std::size_t rounds = arguments.quick ? 3 : 11;
  try {
    std::vector<Way> ways = {shm("shm", 2), shm("local", 1)};
    if (const stopbit::Status has = FabricTransport::available(); has) {
      ways.push_back(fabric("fabric-shm", "shm", kRoundTrips));
      ways.push_back(fabric("fabric-tcp", "tcp;ofi_rxm", 200));
    } else {
      report.note("nic/fabric: " + has.message());
    }
    ways.push_back(udp("udp", ""));
    ways.push_back(udp("udp-sealed", kUdpToken));
    for (const Way& way : ways) Contest(arguments, way, rounds).run(clock, *processors, report);
    using enum stopbit::remote::SubscriberOptions::Way;
    measure_remote_ring(clock, arguments, *processors, rounds, shm("remote", 2), Near, "", report);
    measure_remote_ring(clock, arguments, *processors, rounds, shm("remote", 2), Far, "/far_way", report);
    for (const Way& way : ways) {
      if (way.joins) measure_remote_ring(clock, arguments, *processors, rounds, way, Far, "/" + way.name, report);
    }
    measure_producers(clock, arguments, *processors, rounds, report);
    measure_udp(clock, arguments, *processors, rounds, report);
    measure_apart(clock, arguments, *processors, rounds, report);
    count_budgets(arguments, report);
    measure_translation(clock, pace, arguments, processors->first, rounds, report);
    measure_idle_step(clock, pace, arguments, processors->first, rounds, report);
    measure_greedy(clock, pace, arguments, processors->first, rounds, report);
    measure_both_sides(clock, pace, arguments, processors->first, rounds, report);
  } catch (const std::exception& error) {
    report.problem(error.what());
  }
  report.add("nic", clock, pace);
  return report.finish(arguments.json);
}
