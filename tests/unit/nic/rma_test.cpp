#include "host/nic/rma/rma.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "host/nic/transport/model/network.hpp"
#include "microcode/image/crc32c.hpp"
#include "tests/nic/host.hpp"

namespace stopbit::nic::rma_test {

ModelOptions bad_network(std::uint64_t seed) {
  ModelOptions options;
  options.seed = seed;
  options.line.loss = {0.05, 2};
  options.line.duplicate = 0.05;
  options.line.reorder = 0.2;
  options.line.reorder_depth = 20;
  options.line.corrupt = 0.02;
  options.line.delay_ns = 3'000;
  return options;
}

/// STOPBIT_DESCRIPTORS=100000000 for the long run.
std::uint64_t descriptors(std::uint64_t otherwise) {
  const char* const text = std::getenv("STOPBIT_DESCRIPTORS");
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct Pair {
  explicit Pair(const ModelOptions& options) : network(options), origin(network.port(0)), target(network.port(1)) {
    from = &origin.open(1);
    to = &target.open(2);
  }
  void step() {
    network.set_time(now += 1000);
    origin.step(now);
    target.step(now);
  }
  void settle() {
    do {
      step();
      ASSERT_LT(now, 100'000'000'000U) << "it hangs";
    } while (!origin.is_idle() || !target.is_idle());
  }

  ModelNetwork network;
  Host origin;
  Host target;
  HostPort* from = nullptr;
  HostPort* to = nullptr;
  std::uint64_t now = 0;
};

Command command_of(Operation operation, const WindowName& window) {
  Command command;
  command.operation = operation;
  command.target_node = 1;
  command.target_vpid = 2;
  command.window = window.id;
  command.capability = window.capability;
  return command;
}

/// A small node of a subscriber and the large one of an appliance, whose ports are numbered far beyond those here.
TEST(Rma, serves_every_port_of_a_node_that_has_more_ports) {
  ModelNetwork network({});
  NodeOptions options;
  options.ports = kVpids;
  options.atu = {1, Host::kPages, 64, 55};
  Node origin(network.port(0), options);
  Host target(network.port(1));
  HostPort& to = target.open(2, 1);
  const auto sink = target.add_memory(2, 1, Access::ReadWrite);
  const auto window = target.rma.open_window(2, sink->nla, kPageBytes, Access::ReadWrite);
  ASSERT_TRUE(window);

  std::uint64_t now = 0;
  for (std::size_t number = 0; number < kVpids; ++number) {
    PageMemory memory;
    const auto vpid = origin.open_port(memory.page(), 1, {});
    ASSERT_EQ(vpid, number);
    Registered source(1);
    std::memset(source.bytes().data(), static_cast<int>(number), kPageBytes);
    const std::array<PageNumber, 1> pages{to_page_number(source.bytes().data())};
    const auto nla = origin.atu().register_pages(*vpid, pages, Access::ReadWrite);
    ASSERT_TRUE(nla);

    CommandQueue queue(memory.page(), CommandRing::Transfer);
    NotificationReader notifications(memory.page());
    const auto done = [&](const Command& command) {
      ASSERT_EQ(queue.insert({&command, 1}).reply, Reply::NoError);
      Notification notification;
      for (const std::uint64_t until = now + 1'000'000'000; !notifications.take(notification);) {
        ASSERT_LT(now, until) << "port " << number << " gets no answer";
        network.set_time(now += 1000);
        (void)origin.step(now);
        target.step(now);
      }
      EXPECT_EQ(notification.error, Error::None) << "port " << number;
    };
    Command put = command_of(Operation::Put, *window);
    put.modifiers = kAcknowledge;
    put.address = *nla;
    put.length = kPageBytes;
    done(put);
    ASSERT_EQ(std::memcmp(sink->bytes().data(), source.bytes().data(), kPageBytes), 0);
    Command word = command_of(Operation::ImmediatePut, *window);
    word.modifiers = kAcknowledge;
    word.address = number * 0x0101010101;
    done(word);
    ASSERT_EQ(sink->word(0), number * 0x0101010101);
    Command get = command_of(Operation::Get, *window);
    get.modifiers = kNotifyCompleter;
    get.address = *nla;
    get.length = kPageBytes;
    done(get);
    ASSERT_EQ(std::memcmp(sink->bytes().data(), source.bytes().data(), kPageBytes), 0);
    origin.close_port(*vpid);
  }
  EXPECT_EQ(target.rma.counters().malformed, 0U);
  Notification none;
  EXPECT_FALSE(to.notifications.take(none));
}

TEST(Rma, has_no_more_ports_than_others_can_know) {
  ModelNetwork network({});
  NodeOptions options;
  options.ports = kVpids + 1;
  EXPECT_THROW(Node(network.port(0), options), std::invalid_argument);
}

/// When a port learns of a put, the bytes are in place: by a notification, by an event, or by a word after
/// it. The network overtakes, and some early packets come before others, which is counted.
TEST(Rma, tells_of_no_data_before_they_are_there) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Pair pair(bad_network(seed * 100));
    constexpr std::size_t kPages = 16;
    const auto source = pair.origin.add_memory(1, kPages, Access::Read);
    const auto sink = pair.target.add_memory(2, kPages + 1, Access::ReadWrite);
    const auto window = pair.target.rma.open_window(2, sink->nla, (kPages + 1) * kPageBytes, Access::Write);
    ASSERT_TRUE(window);
    for (std::uint64_t round = 1; round <= 30; ++round) {
      const std::size_t length = 1 + (round * 7919) % (kPages * kPageBytes);
      std::fill_n(source->bytes().begin(), length, static_cast<std::byte>(round));
      Command put = command_of(Operation::Put, *window);
      put.address = source->nla;
      put.length = static_cast<std::uint32_t>(length);
      put.offset = 8;
      put.tag = round;
      put.modifiers = kNotifyCompleter;
      put.more = 3;
      Command word = command_of(Operation::ImmediatePut, *window);
      word.address = round;
      const Command commands[] = {put, word};
      ASSERT_EQ(pair.from->queue.insert(commands).reply, Reply::NoError);
      bool is_told = false;
      bool is_signalled = false;
      while (!is_told || !is_signalled || sink->word(0) != round) {
        pair.step();
        ASSERT_LT(pair.now, 100'000'000'000U) << "it hangs";
        Notification told;
        const bool has_told = pair.to->notifications.take(told);
        const bool has_signalled = pair.to->events.poll(3);
        if (has_told || has_signalled || sink->word(0) == round) {
          const auto data = sink->bytes().subspan(8, length);
          ASSERT_TRUE(std::all_of(data.begin(), data.end(), [&](std::byte b) { return b == std::byte(round); }))
              << "round " << round << ", seed " << seed;
        }
        if (has_told) {
          ASSERT_EQ(told.tag, round);
        }
        is_told |= has_told;
        is_signalled |= has_signalled;
      }
      pair.settle();  // the next one writes over it
    }
    EXPECT_GT(pair.target.links.counters().duplicates, 0U);
  }
}

/// What a fence has let by was carried out before, at the other node too.
TEST(Rma, starts_nothing_behind_a_fence_before_all_before_it_is_done) {
  ModelOptions options = bad_network(5);
  options.nodes = 3;
  ModelNetwork network(options);
  std::vector<std::unique_ptr<Host>> hosts;
  for (NodeId node = 0; node < 3; ++node) hosts.push_back(std::make_unique<Host>(network.port(node)));
  HostPort& from = hosts[0]->open(1);
  (void)hosts[1]->open(2);
  (void)hosts[2]->open(2);
  const auto source = hosts[0]->add_memory(1, 8, Access::Read);
  const auto far = hosts[1]->add_memory(2, 8, Access::ReadWrite);
  const auto flag = hosts[2]->add_memory(2, 1, Access::ReadWrite);
  const auto data_window = hosts[1]->rma.open_window(2, far->nla, 8 * kPageBytes, Access::Write);
  const auto flag_window = hosts[2]->rma.open_window(2, flag->nla, 8, Access::Write);
  ASSERT_TRUE(data_window && flag_window);
  std::uint64_t now = 0;
  for (std::uint64_t round = 1; round <= 20; ++round) {
    std::ranges::fill(source->bytes(), static_cast<std::byte>(round));
    Command put = command_of(Operation::Put, *data_window);
    put.address = source->nla;
    put.length = 8 * kPageBytes;
    Command fence;
    fence.operation = Operation::Fence;
    Command word = command_of(Operation::ImmediatePut, *flag_window);
    word.target_node = 2;
    word.address = round;
    const Command commands[] = {put, fence, word, fence};
    ASSERT_EQ(from.queue.insert(commands).reply, Reply::NoError);
    while (flag->word(0) != round) {
      network.set_time(now += 1000);
      for (const auto& host : hosts) host->step(now);
      ASSERT_LT(now, 100'000'000'000U) << "it hangs";
    }
    ASSERT_TRUE(std::ranges::all_of(far->bytes(), [&](std::byte b) { return b == std::byte(round); }));
    while (!hosts[0]->is_idle()) {
      network.set_time(now += 1000);
      for (const auto& host : hosts) host->step(now);
    }
  }
}

/// Puts and gets of any place and length, against a plain copy of the memories.
TEST(Rma, agrees_with_plain_copies_over_random_puts_and_gets) {
  Pair pair(bad_network(9));
  constexpr std::size_t kBytes = 4 * kPageBytes;
  const auto mine = pair.origin.add_memory(1, 4, Access::ReadWrite);
  const auto theirs = pair.target.add_memory(2, 4, Access::ReadWrite);
  const auto window = pair.target.rma.open_window(2, theirs->nla, kBytes, Access::ReadWrite);
  ASSERT_TRUE(window);
  std::mt19937_64 random(17);
  for (std::byte& byte : mine->bytes()) byte = static_cast<std::byte>(random());
  std::vector<std::byte> model_mine(mine->bytes().begin(), mine->bytes().end());
  std::vector<std::byte> model_theirs(kBytes);
  for (int i = 0; i < 300; ++i) {
    Command command = command_of(random() % 2 != 0 ? Operation::Put : Operation::Get, *window);
    command.length = static_cast<std::uint32_t>(1 + random() % (random() % 4 == 0 ? kBytes : 300));
    const std::size_t at = random() % (kBytes - command.length + 1);
    command.offset = random() % (kBytes - command.length + 1);
    command.address = mine->nla + at;
    ASSERT_EQ(pair.from->queue.insert({&command, 1}).reply, Reply::NoError);
    pair.settle();
    const auto length = static_cast<std::ptrdiff_t>(command.length);
    const auto a = model_mine.begin() + static_cast<std::ptrdiff_t>(at);
    const auto b = model_theirs.begin() + static_cast<std::ptrdiff_t>(command.offset);
    if (command.operation == Operation::Put) {
      std::copy(a, a + length, b);
    } else {
      std::copy(b, b + length, a);
    }
  }
  EXPECT_TRUE(std::ranges::equal(mine->bytes(), model_mine));
  EXPECT_TRUE(std::ranges::equal(theirs->bytes(), model_theirs));
}

/// Random commands, most of them wrong in one field: those that may not write change nothing.
TEST(Rma, changes_nothing_outside_the_window_for_random_commands) {
  Pair pair(ModelOptions{});
  const auto mine = pair.origin.add_memory(1, 2, Access::ReadWrite);
  const auto theirs = pair.target.add_memory(2, 3, Access::ReadWrite);
  const auto window = pair.target.rma.open_window(2, theirs->nla + kPageBytes, kPageBytes, Access::ReadWrite);
  const auto guard = pair.target.rma.open_window(2, theirs->nla, 64, Access::Read);
  ASSERT_TRUE(window && guard);
  const auto fill = std::byte{0xA5};
  std::ranges::fill(theirs->bytes(), fill);
  std::mt19937_64 random(23);
  const std::uint64_t limits[] = {0, 1, 7, 4095, 4096, 4097, 1U << 20U, 1ULL << 39U, 1ULL << 63U, ~std::uint64_t{0}};
  const auto any = [&] { return limits[random() % std::size(limits)] + random() % 3 - 1; };
  for (std::uint64_t i = 0, all = descriptors(30'000); i < all; ++i) {
    Command command = command_of(static_cast<Operation>(random() % 20), random() % 4 == 0 ? *guard : *window);
    command.address = random() % 2 != 0 ? mine->nla + random() % 4096 : any();
    command.length = static_cast<std::uint32_t>(random() % 2 != 0 ? random() % 4096 : any());
    command.offset = random() % 2 != 0 ? random() % 8192 : any();
    command.more = any();
    command.modifiers = static_cast<std::uint8_t>(random());
    switch (random() % 8) {
      case 0: command.capability ^= 1ULL << random() % 64; break;
      case 1: command.window = static_cast<std::uint16_t>(any()); break;
      case 2: command.target_vpid = static_cast<std::uint16_t>(any()); break;
      case 3: command.target_node = static_cast<std::uint16_t>(any()); break;
      default: break;
    }
    // As a port writes it that does not use the library.
    pair.origin.rma.is_busy(1) ? pair.settle() : pair.origin.rma.start(1, command, pair.now);
    if (i % 32 == 0) pair.settle();
    Notification told;
    while (pair.from->notifications.take(told)) {
    }
  }
  pair.settle();
  const auto bytes = theirs->bytes();
  EXPECT_TRUE(std::all_of(bytes.begin(), bytes.begin() + kPageBytes, [&](std::byte b) { return b == fill; }));
  EXPECT_TRUE(std::all_of(bytes.begin() + 2 * kPageBytes, bytes.end(), [&](std::byte b) { return b == fill; }));
  const RmaCounters& counters = pair.target.rma.counters();
  EXPECT_GT(counters.served, 100U);
  EXPECT_GT(counters.refused[static_cast<std::size_t>(Error::Capability)], 100U);
  EXPECT_GT(counters.refused[static_cast<std::size_t>(Error::TargetWindow)], 100U);
}

// The target has taken the request, so nothing of the origin's is under way any more when it dies.
TEST(Rma, tells_that_the_route_is_broken_when_the_target_dies_while_it_answers_a_get) {
  Pair pair(ModelOptions{});
  constexpr std::size_t kPages = 256;  // many steps of the target
  const auto into = pair.origin.add_memory(1, kPages, Access::ReadWrite);
  const auto theirs = pair.target.add_memory(2, kPages, Access::Read);
  const auto window = pair.target.rma.open_window(2, theirs->nla, kPages * kPageBytes, Access::Read);
  ASSERT_TRUE(window);
  Command get = command_of(Operation::Get, *window);
  get.address = into->nla;
  get.length = kPages * kPageBytes;
  get.modifiers = kNotifyCompleter;
  ASSERT_EQ(pair.from->queue.insert({&get, 1}).reply, Reply::NoError);
  while (pair.origin.links.taken(1, VirtualChannel::Low) == 0) {
    pair.step();
    ASSERT_LT(pair.now, 1'000'000U) << "the request is not acknowledged";
  }
  Notification told;
  ASSERT_FALSE(pair.from->notifications.take(told)) << "the answer is whole already";
  pair.network.cut(1);
  while (!pair.from->notifications.take(told)) {
    pair.step();
    ASSERT_LT(pair.now, 1'000'000'000U) << "nobody says that it will not come";
  }
  EXPECT_EQ(told.error, Error::RouteBroken);
}

/// Packets of a node that lies, with a good frame around them.
TEST(Rma, survives_random_packets_and_writes_nothing_for_them) {
  Pair pair(ModelOptions{});
  const auto mine = pair.origin.add_memory(1, 1, Access::ReadWrite);
  const auto theirs = pair.target.add_memory(2, 1, Access::ReadWrite);
  const auto window = pair.target.rma.open_window(2, theirs->nla, kPageBytes, Access::ReadWrite);
  ASSERT_TRUE(window);
  // A get that stays open, so that forged answers have something to hit.
  Command get = command_of(Operation::Get, *window);
  get.address = mine->nla;
  get.length = 100;
  pair.target.rma.start(2, get, 0);
  std::mt19937_64 random(29);
  for (int i = 0; i < 100'000; ++i) {
    RmaHeader header;
    header.kind = static_cast<std::uint8_t>(random() % 3 != 0 ? random() % 16 : 0x80 + random() % 3);
    header.modifiers = static_cast<std::uint8_t>(random());
    header.error = static_cast<Error>(random());
    header.source_vpid = static_cast<Vpid>(random() % 3 != 0 ? random() % 8 : random());
    header.target_vpid = static_cast<Vpid>(random() % 3 != 0 ? 2 : random());
    header.window = random() % 3 != 0 ? window->id : static_cast<std::uint16_t>(random());
    header.request = static_cast<std::uint32_t>(random() % 2 != 0 ? random() % 4 : random());
    header.capability = random();  // never the right one
    header.offset = random() % 2 != 0 ? random() % 5000 : random();
    header.length = static_cast<std::uint32_t>(random() % 2 != 0 ? random() % 5000 : random());
    header.at = static_cast<std::uint32_t>(random() % 2 != 0 ? 0 : random());
    header.word = random();
    header.more = random();
    std::vector<std::byte> packet(random() % 200);
    if (packet.size() >= sizeof(header)) std::memcpy(packet.data(), &header, sizeof(header));
    if (packet.empty()) continue;
    const bool is_early = random() % 2 != 0;
    const std::uint8_t status = is_early ? pair.target.rma.early(0, VirtualChannel::Low, packet) : std::uint8_t{0};
    const VirtualChannel channel = random() % 2 != 0 ? VirtualChannel::Low : VirtualChannel::High;
    (void)pair.target.rma.ordered(0, channel, packet, random() % 8 != 0 ? status : static_cast<std::uint8_t>(random()));
    if (i % 16 == 0) pair.step();
  }
  EXPECT_TRUE(std::ranges::all_of(theirs->bytes(), [](std::byte b) { return b == std::byte{0}; }));
  EXPECT_GT(pair.target.rma.counters().malformed, 1'000U);
  EXPECT_GT(pair.target.rma.counters().stale, 1'000U);
}

TEST(Rma, forgets_a_closed_port_and_refuses_late_answers_to_it) {
  Pair pair(ModelOptions{});
  const auto mine = pair.origin.add_memory(1, 1, Access::ReadWrite);
  const auto theirs = pair.target.add_memory(2, 1, Access::ReadWrite);
  const auto window = pair.target.rma.open_window(2, theirs->nla, kPageBytes, Access::Read);
  std::ranges::fill(theirs->bytes(), std::byte{1});
  Command get = command_of(Operation::Get, *window);
  get.address = mine->nla;
  get.length = kPageBytes;
  pair.origin.rma.start(1, get, 0);
  pair.origin.close(1);
  pair.settle();
  EXPECT_TRUE(std::ranges::all_of(mine->bytes(), [](std::byte b) { return b == std::byte{0}; }));
  EXPECT_GT(pair.origin.rma.counters().stale, 0U);
  pair.target.close(2);
  EXPECT_FALSE(pair.target.rma.close_window(2, window->id)) << "it went with its port";
}

}  // namespace stopbit::nic::rma_test
