#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "host/nic/palms/port.hpp"
#include "tests/lib/scratch.hpp"
#include "tests/unit/nic/broker_host.hpp"
#include "tests/unit/nic/processes.hpp"

namespace stopbit::nic::palms::palms_test {

constexpr std::uint64_t kLongNs = processes::kPatienceNs;
constexpr std::size_t kRingFragments = 16;

std::vector<std::byte> content(std::size_t bytes, std::uint64_t seed = 0) {
  std::vector<std::byte> all(bytes);
  std::mt19937_64 random(seed + bytes);
  for (std::byte& one : all) one = static_cast<std::byte>(random());
  return all;
}

Options small_rings() {
  Options options;
  options.send_descriptors = 16;
  options.send_bytes = kRingFragments * kFragmentBytes;
  options.receive_descriptors = 32;
  options.receive_bytes = kRingFragments * kFragmentBytes;
  options.connections = 4;
  options.mtu = 4 * kPayloadBytes;
  options.watermark = 4;
  return options;
}

class Palms : public ::testing::Test {
 protected:
  Palms() {
    options_.socket = (scratch_.folder() / "broker").string();
    Entitlement mine;
    mine.user = ::geteuid();
    mine.domain = 7;
    mine.ports = 16;
    mine.memory_bytes = 4U << 20U;
    options_.entitlements = {mine};
  }
  void start() {
    host_ = std::make_unique<test::Host>(options_);
    host_->start();
  }
  [[nodiscard]] std::unique_ptr<Port> open(const Options& options = small_rings()) const {
    Result<std::unique_ptr<Port>> opened = Port::open(options_.socket, options);
    EXPECT_TRUE(opened) << opened.message();
    return opened ? std::move(opened).value() : nullptr;
  }
  static Handle connect(Port& from, const Port& to) {
    const Result<Handle> connected = from.connect(to.node(), to.vpid(), kLongNs);
    EXPECT_TRUE(connected) << connected.message();
    return connected ? connected.value() : Handle();
  }
  template <class Ready>
  static bool until(const std::vector<Port*>& ports, Ready ready) {
    for (const std::uint64_t end = os::monotonic_clock_ns() + kLongNs; !ready();) {
      if (os::monotonic_clock_ns() > end) return false;
      bool any = false;
      for (Port* const port : ports) any = port->progress() || any;
      if (!any) ::usleep(20);
    }
    return true;
  }

  stopbit::testing::Scratch scratch_;
  BrokerOptions options_;
  std::unique_ptr<test::Host> host_;
};

TEST_F(Palms, messages_of_every_size_arrive_whole_with_header_and_tag) {
  start();
  const auto sender = open();
  const auto reader = open();
  const Handle to = connect(*sender, *reader);
  const std::size_t ring = kRingFragments * kPayloadBytes;
  const std::size_t mtu = small_rings().mtu;
  std::vector<std::size_t> sizes = {0, 1, 3, 7, 8, 9, kPayloadBytes - 1, kPayloadBytes, kPayloadBytes + 1};
  for (const std::size_t one : {mtu, ring, 5 * ring}) {
    sizes.insert(sizes.end(), {one - 1, one, one + 1});
  }
  std::thread sending([&] {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::vector<std::byte> data = content(sizes[i]);
      const std::vector<std::byte> header = content(i * 13 % (kMostHeaderBytes + 1), 5);
      EXPECT_EQ(sender->send(to, data, static_cast<std::uint32_t>(100 + i), header, kLongNs), Code::Ok) << sizes[i];
    }
    EXPECT_EQ(sender->flush(to, kLongNs), Code::Ok);
  });
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::vector<std::byte> data(sizes[i] + 16, std::byte{0xEE});
    std::vector<std::byte> header(kMostHeaderBytes);
    const Received received = reader->receive({}, std::span(data), header, kLongNs);
    const std::size_t header_bytes = i * 13 % (kMostHeaderBytes + 1);
    ASSERT_EQ(received.code, Code::Ok) << sizes[i] << ": " << to_text(received.code);
    EXPECT_EQ(received.tag, 100 + i);
    EXPECT_EQ(received.length, sizes[i]);
    EXPECT_EQ(received.size, (sizes[i] + 7) / 8 * 8) << "the source's rule: whole words";
    EXPECT_EQ(received.header_length, header_bytes);
    EXPECT_EQ(received.vpid, sender->vpid());
    const std::vector<std::byte> expected = content(sizes[i]);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), data.begin())) << sizes[i];
    EXPECT_EQ(data[sizes[i]], std::byte{0xEE}) << "nothing beyond its end is written";
    const std::vector<std::byte> expected_header = content(header_bytes, 5);
    EXPECT_TRUE(std::equal(expected_header.begin(), expected_header.end(), header.begin()));
  }
  sending.join();
  EXPECT_EQ(reader->counts().malformed, 0U);
  EXPECT_EQ(reader->counts().received, sizes.size());
  EXPECT_EQ(sender->resources().send_bytes, ring) << "all of it is free again";
}

TEST_F(Palms, are_filled_and_read_in_place_by_building_blocks) {
  start();
  const auto sender = open();
  const auto reader = open();
  const Handle to = connect(*sender, *reader);
  const std::vector<std::byte> head = content(16);
  const std::vector<std::byte> data = content(2'500);
  Code code = Code::Ok;
  SendDescriptor* const made = sender->send_malloc(to, head.size(), data.size(), &code);
  ASSERT_NE(made, nullptr) << to_text(code);
  // In any order.
  made->set_tag(0xFFFF'FFFF);
  const std::array<std::span<const std::byte>, 3> gathered = {
      std::span(data).first(7), std::span(data).subspan(7, 1'500), std::span(data).subspan(1'507)};
  EXPECT_TRUE(sender->copyv(*made, gathered));
  EXPECT_TRUE(sender->copy_h(*made, std::span(head).subspan(8), 8));
  EXPECT_TRUE(sender->copy_h(*made, std::span(head).first(8)));
  EXPECT_FALSE(sender->copy(*made, std::span(data).first(2), data.size() - 1)) << "beyond its end";
  EXPECT_FALSE(sender->copy_h(*made, std::span(data).first(2), 15));
  ASSERT_EQ(sender->fast_send(to, 77), Code::Ok);
  sender->send_commit(*made);
  ASSERT_TRUE(until({sender.get(), reader.get()}, [&] { return reader->counts().pieces == 4; }));
  // Committed first, received first.
  const ReceiveDescriptor* piece = reader->match();
  ASSERT_NE(piece, nullptr);
  EXPECT_EQ(piece->tag, 77U);
  reader->free(*piece);
  std::vector<std::byte> got_head(16);
  std::vector<std::byte> got(data.size());
  const std::array<std::span<std::byte>, 3> scattered = {std::span(got).first(1), std::span(got).subspan(1, 2'000),
                                                         std::span(got).subspan(2'001)};
  std::uint64_t at = 0;
  for (bool is_last = false; !is_last;) {
    piece = reader->match();
    ASSERT_NE(piece, nullptr);
    EXPECT_EQ(piece->tag, 0xFFFF'FFFF);
    EXPECT_EQ(piece->total, data.size());
    EXPECT_EQ(piece->offset, at);
    EXPECT_EQ(reader->copy_h(*piece, got_head), piece->is_first ? 16U : 0U);
    EXPECT_EQ(reader->copyv(*piece, scattered, piece->offset), piece->data_bytes);
    at += piece->data_bytes;
    is_last = piece->is_last;
    reader->free(*piece);
  }
  EXPECT_EQ(got_head, head);
  EXPECT_EQ(got, data);
  EXPECT_EQ(reader->match(), nullptr);
  EXPECT_EQ(sender->send_malloc(to, kMostHeaderBytes + 1, 1, &code), nullptr);
  EXPECT_EQ(code, Code::TooLong);
  EXPECT_EQ(sender->send_malloc(to, 0, sender->mtu() + 1, &code), nullptr);
  EXPECT_EQ(code, Code::TooLong);
  EXPECT_EQ(sender->send_malloc(Handle(), 0, 1, &code), nullptr);
  EXPECT_EQ(code, Code::NoPeer);
}

TEST_F(Palms, scatter_into_buffers_of_any_sizes_and_say_when_they_are_too_short) {
  start();
  const auto sender = open();
  const auto reader = open();
  const Handle to = connect(*sender, *reader);
  const std::vector<std::byte> data = content(5'000);
  ASSERT_EQ(sender->send(to, data, 1), Code::Ok);
  ASSERT_EQ(sender->send(to, data, 2), Code::Ok);
  std::thread sending([&] { EXPECT_EQ(sender->flush(to, kLongNs), Code::Ok); });
  std::vector<std::byte> got(data.size());
  std::vector<std::span<std::byte>> parts;
  for (std::size_t at = 0, size = 0; at < got.size(); at += size) {
    size = std::min<std::size_t>(got.size() - at, parts.size() % 3 * 331);
    parts.push_back(std::span(got).subspan(at, size));
  }
  EXPECT_EQ(reader->receive({}, parts, {}, kLongNs).code, Code::Ok);
  EXPECT_EQ(got, data);
  std::vector<std::byte> little(1'234);
  const Received received = reader->receive({}, std::span(little), {}, kLongNs);
  EXPECT_EQ(received.code, Code::TooLong);
  EXPECT_EQ(received.length, data.size());
  EXPECT_TRUE(std::equal(little.begin(), little.end(), data.begin()));
  sending.join();
  EXPECT_EQ(reader->match(), nullptr) << "the rest is gone";
}

TEST_F(Palms, fast_messages_carry_an_operand_and_multicast_reaches_all) {
  start();
  const auto sender = open();
  const auto one = open();
  const auto other = open();
  const std::array<Handle, 3> all = {connect(*sender, *one), Handle(), connect(*sender, *other)};
  EXPECT_EQ(sender->fast_send(all[0], 0xDEAD'BEEF), Code::Ok);
  const Port::Multicast sent = sender->multicast(all, content(50), 9);
  EXPECT_EQ(sent.sent, 2U);
  EXPECT_EQ(sent.code, Code::NoPeer);
  EXPECT_EQ(sender->flush(all[0], kLongNs), Code::Ok);
  EXPECT_EQ(sender->flush(all[2], kLongNs), Code::Ok);
  std::optional<std::uint32_t> operand;
  ASSERT_TRUE(until({one.get()}, [&] { return (operand = one->fast_receive()).has_value(); }));
  EXPECT_EQ(*operand, 0xDEAD'BEEF);
  EXPECT_FALSE(one->fast_receive()) << "the next message has data";
  for (const auto& reader : {one.get(), other.get()}) {
    std::vector<std::byte> got(50);
    const Received received = reader->receive({}, std::span(got), {}, kLongNs);
    EXPECT_EQ(received.code, Code::Ok);
    EXPECT_EQ(received.tag, 9U);
    EXPECT_EQ(got, content(50));
  }
}

TEST_F(Palms, write_the_read_pointers_once_for_many_pieces_or_when_there_is_no_room) {
  start();
  const auto sender = open();
  Options options = small_rings();
  options.watermark = 5;
  const auto reader = open(options);
  const Handle to = connect(*sender, *reader);
  const auto take = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const ReceiveDescriptor* piece = nullptr;
      ASSERT_TRUE(until({sender.get(), reader.get()}, [&] { return (piece = reader->match()) != nullptr; }));
      reader->free(*piece);
    }
  };
  for (std::uint32_t i = 0; i < 15; ++i) ASSERT_EQ(sender->fast_send(to, i), Code::Ok);
  take(15);
  EXPECT_EQ(reader->counts().freed, 15U);
  EXPECT_EQ(reader->counts().pointer_writes, 3U);
  // A watermark that is never reached: the pointers are written when a piece would else have no room.
  reader->set_watermark(1'000'000);
  const std::uint64_t before = reader->counts().pointer_writes;
  for (int round = 0; round < 20; ++round) {
    for (std::uint32_t i = 0; i < 10; ++i) ASSERT_EQ(sender->send(to, content(100), i, {}, kLongNs), Code::Ok);
    take(10);
  }
  const std::uint64_t writes = reader->counts().pointer_writes - before;
  EXPECT_GE(writes, 200 / kRingFragments);
  EXPECT_LE(writes, 2 * 200 / kRingFragments);
  // Out of order: a piece in use holds the pointers, and those after it are free with it.
  const auto other = open();
  const Handle of_other = connect(*other, *reader);
  ASSERT_EQ(sender->fast_send(to, 1), Code::Ok);
  ASSERT_TRUE(until({sender.get(), reader.get()}, [&] { return reader->match() != nullptr; }));
  const ReceiveDescriptor* const first = reader->match();
  ASSERT_EQ(other->fast_send(of_other, 2), Code::Ok);
  const ReceiveDescriptor* second = nullptr;
  ASSERT_TRUE(until({other.get(), reader.get()}, [&] {
    second = reader->match(reader->connect(other->node(), other->vpid(), kLongNs).value());
    return second != nullptr;
  }));
  EXPECT_EQ(second->tag, 2U);
  reader->set_watermark(1);
  const std::size_t all = small_rings().receive_descriptors;
  reader->free(*second);
  EXPECT_EQ(reader->resources().receive_descriptors, all - 2);
  EXPECT_EQ(reader->match(), first);
  reader->free(*first);
  EXPECT_EQ(reader->resources().receive_descriptors, all);
}

TEST_F(Palms, of_a_reader_that_is_stopped_wait_in_the_ring_and_others_go_on) {
  start();
  const auto sender = open();
  const auto stopped = open();
  const auto other = open();
  const Handle to_stopped = connect(*sender, *stopped);
  const Handle to_other = connect(*sender, *other);
  // Its mailbox and rings fill: until then messages are taken, later they wait here.
  const std::vector<std::byte> data = content(900);
  std::uint32_t taken = 0;
  for (Code code = Code::Ok; code == Code::Ok;) {
    code = sender->send(to_stopped, data, taken, {}, 50'000'000);
    if (code == Code::Ok) ++taken;
    ASSERT_TRUE(code == Code::Ok || code == Code::TimedOut) << to_text(code);
    ASSERT_LT(taken, 1'000U) << "a bound is missing";
  }
  EXPECT_GT(sender->counts().refused_full, 0U);
  EXPECT_EQ(sender->state(to_stopped), Code::Ok) << "a reader that does not read is no failure";
  SendDescriptor* const none = sender->send_malloc(to_other, 0, 900);
  EXPECT_EQ(none, nullptr) << "the ring is full, as that of the hardware would be";
  // It reads again: all of it is there, once and in order.
  std::thread sending([&] { EXPECT_EQ(sender->flush(to_stopped, kLongNs), Code::Ok); });
  for (std::uint32_t i = 0; i < taken; ++i) {
    std::vector<std::byte> got(900);
    const Received received = stopped->receive({}, std::span(got), {}, kLongNs);
    ASSERT_EQ(received.code, Code::Ok);
    ASSERT_EQ(received.tag, i);
    ASSERT_EQ(got, data);
  }
  sending.join();
  EXPECT_GT(sender->counts().sent_again, 0U);
  EXPECT_EQ(sender->send(to_other, data, 1, {}, kLongNs), Code::Ok);
  EXPECT_EQ(sender->flush(to_other, kLongNs), Code::Ok);
  std::vector<std::byte> got(900);
  EXPECT_EQ(other->receive({}, std::span(got), {}, kLongNs).code, Code::Ok);
}

TEST_F(Palms, of_a_stopped_reader_are_dropped_with_its_connection_and_others_have_the_ring) {
  start();
  const auto sender = open();
  const auto stopped = open();
  const auto other = open();
  const Handle to_stopped = connect(*sender, *stopped);
  const Handle to_other = connect(*sender, *other);
  while (sender->send(to_stopped, content(900), 0, {}, 20'000'000) == Code::Ok) {
  }
  sender->disconnect(to_stopped);
  EXPECT_EQ(sender->state(to_stopped), Code::NoPeer);
  EXPECT_EQ(sender->send(to_stopped, content(1), 0, {}, 0), Code::NoPeer);
  EXPECT_EQ(sender->send(to_other, content(900), 1, {}, kLongNs), Code::Ok);
  std::vector<std::byte> got(900);
  std::thread sending([&] { EXPECT_EQ(sender->flush(to_other, kLongNs), Code::Ok); });
  EXPECT_EQ(other->receive({}, std::span(got), {}, kLongNs).code, Code::Ok);
  sending.join();
}

TEST_F(Palms, of_several_peers_come_interleaved_and_each_is_whole) {
  start();
  const auto reader = open();
  constexpr int kPeers = 3;
  std::vector<std::unique_ptr<Port>> peers;
  std::vector<std::thread> threads;
  constexpr std::size_t kLong = 40 * kPayloadBytes;
  for (int i = 0; i < kPeers; ++i) peers.push_back(open());
  for (int i = 0; i < kPeers; ++i) {
    threads.emplace_back([&, i] {
      const Handle to = connect(*peers[static_cast<std::size_t>(i)], *reader);
      for (std::uint32_t k = 0; k < 20; ++k) {
        EXPECT_EQ(peers[static_cast<std::size_t>(i)]->send(to, content(kLong + k, 50U + static_cast<unsigned>(i)), k,
                                                           {}, kLongNs),
                  Code::Ok);
      }
      EXPECT_EQ(peers[static_cast<std::size_t>(i)]->flush(to, kLongNs), Code::Ok);
    });
  }
  // A reception for each message that begins, each longer than the ring.
  struct Part {
    std::vector<std::byte> bytes = std::vector<std::byte>(kLong + 20);
    std::span<std::byte> span{bytes};
    Reception reception{std::nullopt, {&span, 1}};
  };
  std::vector<std::unique_ptr<Part>> parts;
  for (int i = 0; i < kPeers; ++i) parts.push_back(std::make_unique<Part>());
  std::array<std::uint32_t, 65'536> next{};
  int done = 0;
  ASSERT_TRUE(until({}, [&] {
    for (auto& part : parts) {
      const Received received = reader->try_receive(part->reception);
      if (received.code == Code::Nothing) continue;
      EXPECT_EQ(received.code, Code::Ok) << to_text(received.code);
      const auto from =
          std::find_if(peers.begin(), peers.end(), [&](auto& one) { return one->vpid() == received.vpid; });
      EXPECT_EQ(received.tag, next[received.vpid]++);
      const auto expected = content(kLong + received.tag, 50U + static_cast<unsigned>(from - peers.begin()));
      EXPECT_EQ(received.length, expected.size());
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), part->bytes.begin()));
      ++done;
      part = std::make_unique<Part>();
    }
    return done == kPeers * 20;
  }));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(reader->counts().abandoned, 0U);
}

TEST_F(Palms, of_others_that_fill_the_ring_end_a_receive_that_waits_for_more_of_one) {
  start();
  const auto reader = open();
  const auto other = open();
  const Handle to = connect(*other, *reader);
  // The first piece of a message whose sender does not go on.
  const auto slow = std::move(Client::open(options_.socket, 128)).value();
  std::array<std::byte, kFragmentHeadBytes + 10> bytes{};
  const auto head = std::span(bytes).first<kFragmentHeadBytes>();
  encode({.kind = Fragment::Kind::Hello, .connection = 1}, head);
  ASSERT_EQ(slow->send(reader->node(), reader->vpid(), head), Reply::NoError);
  encode({.kind = Fragment::Kind::Piece, .is_first = true, .connection = 1, .data_bytes = 10, .total = 100}, head);
  ASSERT_EQ(slow->send(reader->node(), reader->vpid(), bytes), Reply::NoError);
  ASSERT_TRUE(until({reader.get()}, [&] { return reader->match() != nullptr; }));
  constexpr std::uint32_t kMessages = 3 * kRingFragments;
  std::thread sending([&] {
    for (std::uint32_t i = 0; i < kMessages; ++i) {
      EXPECT_EQ(other->send(to, content(kPayloadBytes), i, {}, kLongNs), Code::Ok);
    }
    EXPECT_EQ(other->flush(to, kLongNs), Code::Ok);
  });
  EXPECT_TRUE(until({reader.get()}, [&] { return reader->resources().receive_bytes == 0; }));

  std::vector<std::byte> got(kPayloadBytes);
  const Received cut = reader->receive({}, std::span(got), {}, kLongNs);
  EXPECT_EQ(cut.code, Code::Full);
  EXPECT_EQ(cut.vpid, slow->vpid());
  EXPECT_EQ(reader->receive(cut.from, std::span(got), {}, kLongNs).code, Code::Full);
  // The others lose nothing.
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    const Received whole = reader->receive({}, std::span(got), {}, kLongNs);
    EXPECT_EQ(whole.code, Code::Ok) << to_text(whole.code);
    EXPECT_EQ(whole.vpid, other->vpid());
    EXPECT_EQ(whole.tag, i);
  }
  sending.join();
}

TEST_F(Palms, refuse_connections_that_cannot_be) {
  start();
  const auto port = open();
  const auto peer = open();
  const Vpid gone = open()->vpid();
  // The broker closes a port when it sees that its process has.
  std::string why;
  ASSERT_TRUE(until({}, [&] {
    const Result<Handle> late = port->connect(port->node(), gone, kLongNs);
    if (late) port->disconnect(late.value());
    why = late ? "" : late.message();
    return !late;
  }));
  EXPECT_NE(why.find("takes no connection"), std::string::npos) << why;
  EXPECT_FALSE(port->connect(static_cast<NodeId>(port->node() + 7), 1, kLongNs)) << "no such node";
  const Handle first = connect(*port, *peer);
  EXPECT_EQ(connect(*port, *peer), first) << "once";
  std::vector<std::unique_ptr<Port>> more;
  for (int i = 0; i < 3; ++i) {
    more.push_back(open());
    (void)connect(*port, *more.back());
  }
  more.push_back(open());
  const Result<Handle> full = port->connect(more.back()->node(), more.back()->vpid(), kLongNs);
  ASSERT_FALSE(full);
  EXPECT_NE(full.message().find("in use"), std::string::npos) << full.message();
  port->disconnect(first);
  EXPECT_EQ(port->state(first), Code::NoPeer);
  (void)connect(*port, *more.back());
  Options wrong = small_rings();
  wrong.send_descriptors = 7;
  EXPECT_FALSE(Port::open(options_.socket, wrong));
  wrong = small_rings();
  wrong.mtu = wrong.send_bytes;
  EXPECT_FALSE(Port::open(options_.socket, wrong));
  EXPECT_FALSE(Port::open((scratch_.folder() / "none").string()));
}

TEST_F(Palms, of_a_connection_that_the_peer_forgot_are_an_error_and_never_silently_lost) {
  start();
  const auto sender = open();
  auto reader = open();
  const Handle to = connect(*sender, *reader);
  ASSERT_EQ(sender->send(to, content(10)), Code::Ok);
  ASSERT_EQ(sender->flush(to, kLongNs), Code::Ok);
  reader.reset();
  ASSERT_TRUE(until({sender.get()}, [&] {
    (void)sender->fast_send(to, 1);
    return sender->state(to) == Code::Broken;
  }));
  EXPECT_EQ(sender->why(to), Error::TargetVpid);
  EXPECT_EQ(sender->send(to, content(10), 0, {}, 0), Code::Broken);
  // What was not sent holds no memory.
  ASSERT_TRUE(until({sender.get()}, [&] { return sender->resources().send_bytes == kRingFragments * kPayloadBytes; }));
  // A reader that knows nothing of the connection says so.
  const auto one = open();
  const auto raw = std::move(Client::open(options_.socket, 128)).value();
  const Handle to_raw = one->connect(raw->node(), raw->vpid(), kLongNs).value();
  std::array<std::byte, kMaxMessageBytes> message;
  std::optional<MessageHead> head;
  ASSERT_TRUE(until({one.get()}, [&] { return (head = raw->receive(message)).has_value(); }));
  const auto hello = decode_fragment(std::span(message).first(head->length));
  ASSERT_TRUE(hello && hello->kind == Fragment::Kind::Hello);
  std::array<std::byte, kFragmentHeadBytes> reset;
  encode({.kind = Fragment::Kind::Reset, .connection = hello->connection + 1}, reset);
  ASSERT_EQ(raw->send(one->node(), one->vpid(), reset), Reply::NoError);
  encode({.kind = Fragment::Kind::Reset, .connection = hello->connection}, reset);
  ASSERT_EQ(raw->send(one->node(), one->vpid(), reset), Reply::NoError);
  ASSERT_TRUE(until({one.get()}, [&] { return one->state(to_raw) == Code::Broken; }));
  EXPECT_EQ(one->why(to_raw), Error::None);
}

TEST_F(Palms, stay_right_whatever_hostile_ports_send) {
  start();
  const auto sender = open();
  Options options = small_rings();
  options.connections = 3;
  const auto reader = open(options);
  const Handle to = connect(*sender, *reader);
  std::atomic<bool> is_over = false;
  // Two ports that send anything, among it fragments that are nearly right.
  std::vector<std::thread> hostile;
  for (unsigned seed = 1; seed <= 2; ++seed) {
    hostile.emplace_back([&, seed] {
      const auto raw = std::move(Client::open(options_.socket, 128)).value();
      std::mt19937 random(seed);
      std::array<std::byte, kFragmentBytes + 64> bytes;
      for (std::uint32_t sequence = 0; !is_over; ++sequence) {
        Fragment fragment{.kind = static_cast<Fragment::Kind>(1 + random() % 4),
                          .is_first = random() % 2 == 0,
                          .is_last = random() % 2 == 0,
                          .connection = static_cast<std::uint32_t>(1 + random() % 3),
                          .sequence = static_cast<std::uint32_t>(random() % 4),
                          .tag = static_cast<std::uint32_t>(random()),
                          .header_bytes = static_cast<std::uint16_t>(random() % 3 == 0 ? random() % 300 : 0),
                          .data_bytes = static_cast<std::uint16_t>(random() % 64),
                          .total = random() % 2 == 0 ? random() % 200 : std::uint64_t{random()} << 20};
        std::size_t length = kFragmentHeadBytes + fragment.header_bytes + fragment.data_bytes;
        if (fragment.kind != Fragment::Kind::Piece && random() % 4 != 0) {
          fragment = {.kind = fragment.kind, .connection = fragment.connection};
          length = kFragmentHeadBytes;
        }
        encode(fragment, std::span(bytes).first<kFragmentHeadBytes>());
        if (random() % 4 == 0) bytes[random() % length] = static_cast<std::byte>(random());
        if (random() % 8 == 0) length = 1 + random() % bytes.size();
        SendHow how;
        how.announces = random() % 4 == 0;
        (void)raw->send(reader->node(), reader->vpid(), std::span(bytes).first(length), how);
        if (random() % 4 == 0) (void)raw->send(sender->node(), sender->vpid(), std::span(bytes).first(length), how);
        if (sequence % 16 == 0) ::usleep(50);
      }
    });
  }
  std::thread sending([&] {
    for (std::uint32_t i = 0; i < 300; ++i) {
      EXPECT_EQ(sender->send(to, content(i * 37 % 6'000), i, {}, kLongNs), Code::Ok) << i;
    }
    EXPECT_EQ(sender->flush(to, kLongNs), Code::Ok);
  });
  std::uint32_t next = 0;
  std::vector<std::byte> got(6'000);
  while (next < 300) {
    const Received received = reader->receive({}, std::span(got), {}, kLongNs);
    if (received.vpid != sender->vpid()) {
      ASSERT_NE(received.code, Code::TimedOut) << "after " << next;
      continue;  // of a hostile port, which may send messages, too
    }
    ASSERT_EQ(received.code, Code::Ok) << next;
    ASSERT_EQ(received.tag, next);
    const auto expected = content(next * 37 % 6'000);
    ASSERT_EQ(received.length, expected.size());
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), got.begin()));
    ++next;
  }
  sending.join();
  is_over = true;
  for (std::thread& thread : hostile) thread.join();
  EXPECT_GT(reader->counts().malformed, 0U);
  EXPECT_GT(reader->counts().strays, 0U);
}

TEST_F(Palms, do_not_wait_for_acknowledgements_that_others_have_displaced) {
  start();
  const auto sender = open();
  const auto reader = open();
  const auto raw = std::move(Client::open(options_.socket, 128)).value();
  const Handle to = connect(*sender, *reader);
  // Notifications of others fill the ring of this port, which does not read meanwhile.
  SendHow how;
  how.announces = how.acknowledges = true;
  Notification told;
  std::uint64_t announced = 0;
  std::array<std::byte, kMaxMessageBytes> into;
  for (const std::byte one{1}; announced < 80;) {
    if (raw->send(sender->node(), sender->vpid(), {&one, 1}, how) != Reply::NoError) continue;
    while (!raw->notifications().take(told)) ::usleep(20);
    ++announced;
    if (announced == 50) {
      // Some of its own are among those that find no room.
      for (std::uint32_t i = 0; i < 10; ++i) ASSERT_EQ(sender->fast_send(to, i), Code::Ok);
    }
    if (told.error == Error::Full) break;
  }
  for (std::uint32_t i = 10; i < 14; ++i) ASSERT_EQ(sender->fast_send(to, i), Code::Ok);
  ASSERT_TRUE(until({reader.get()}, [&] { return reader->counts().pieces == 14; }));
  // After this the node has tried to report all of them.
  how.announces = false;
  const std::byte last{1};
  ASSERT_EQ(raw->send(reader->node(), reader->vpid(), {&last, 1}, how), Reply::NoError);
  ASSERT_TRUE(until({reader.get()}, [&] { return raw->notifications().take(told); }));
  std::thread sending([&] { EXPECT_EQ(sender->flush(to, kLongNs), Code::Ok); });
  for (std::uint32_t i = 0; i < 14; ++i) {
    const Received received = reader->receive({}, std::span<std::byte>(into).first(1), {}, kLongNs);
    ASSERT_EQ(received.code, Code::Ok);
    ASSERT_EQ(received.tag, i);
  }
  sending.join();
  EXPECT_GT(sender->counts().unknown_outcomes, 0U);
}

// ---- Processes of their own.

std::unique_ptr<Port> open_when_there(const std::string& broker, const Options& options) {
  for (const std::uint64_t end = os::monotonic_clock_ns() + kLongNs; os::monotonic_clock_ns() < end;) {
    if (Result<std::unique_ptr<Port>> opened = Port::open(broker, options)) return std::move(opened).value();
    ::usleep(1'000);
  }
  return nullptr;
}

/// Says its address, then echoes messages until it is killed.
void echo(const std::string& broker, const processes::Say& say) {
  const std::unique_ptr<Port> port = open_when_there(broker, small_rings());
  if (port == nullptr) return say("no port");
  say(std::to_string(port->node()) + " " + std::to_string(port->vpid()));
  std::vector<std::byte> data(100'000);
  for (;;) {
    const Received received = port->receive({}, std::span(data), {}, kLongNs);
    if (received.code != Code::Ok) return say(to_text(received.code));
    const Result<Handle> back = port->connect(received.node, received.vpid, kLongNs);
    if (!back) return say(back.message());
    const auto bytes = std::span<const std::byte>(data).first(received.length);
    if (port->send(back.value(), bytes, received.tag, {}, kLongNs) != Code::Ok) return say("not sent");
    if (port->flush(back.value(), kLongNs) != Code::Ok) return say("not taken");
  }
}

TEST_F(Palms, go_between_processes_one_of_which_is_stopped_and_killed) {
  const std::string broker = options_.socket;
  // Before this process has threads.
  processes::Process peer([&](const processes::Say& say) { echo(broker, say); });
  processes::Process other([&](const processes::Say& say) { echo(broker, say); });
  start();
  const auto address = [](const std::string& line) {
    const std::size_t space = line.find(' ');
    EXPECT_NE(space, std::string::npos) << line;
    return std::pair(static_cast<NodeId>(std::stoul(line)), static_cast<Vpid>(std::stoul(line.substr(space + 1))));
  };
  const auto at = address(peer.line());
  const auto other_at = address(other.line());
  const auto port = open();
  const Handle to = port->connect(at.first, at.second, kLongNs).value();
  const Handle to_other = port->connect(other_at.first, other_at.second, kLongNs).value();
  const auto round = [&](Handle handle, std::size_t bytes, std::uint32_t tag) {
    const std::vector<std::byte> data = content(bytes, tag);
    ASSERT_EQ(port->send(handle, data, tag, {}, kLongNs), Code::Ok);
    std::vector<std::byte> got(bytes);
    const Received received = port->receive({}, std::span(got), {}, kLongNs);
    ASSERT_EQ(received.code, Code::Ok) << to_text(received.code);
    ASSERT_EQ(received.tag, tag);
    ASSERT_EQ(got, data);
  };
  for (std::uint32_t i = 0; i < 20; ++i) round(i % 2 == 0 ? to : to_other, i * 5'000, i);
  // Stopped: its node takes messages until the mailbox is full; they are not lost.
  ASSERT_EQ(::kill(peer.pid(), SIGSTOP), 0);
  std::uint32_t sent = 0;
  while (sent < 8 && port->send(to, content(900, sent), sent, {}, 50'000'000) == Code::Ok) ++sent;
  EXPECT_EQ(port->state(to), Code::Ok);
  ASSERT_EQ(::kill(peer.pid(), SIGCONT), 0);
  for (std::uint32_t i = 0; i < sent; ++i) {
    std::vector<std::byte> got(900);
    const Received received = port->receive(to, std::span(got), {}, kLongNs);
    ASSERT_EQ(received.code, Code::Ok);
    ASSERT_EQ(got, content(900, i));
  }
  // Killed: an error, soon, and the other one goes on.
  peer.kill();
  ASSERT_TRUE(until({port.get()}, [&] {
    (void)port->fast_send(to, 1);
    return port->state(to) == Code::Broken;
  }));
  EXPECT_EQ(port->why(to), Error::TargetVpid);
  round(to_other, 30'000, 99);
}

TEST_F(Palms, end_when_the_appliance_ends) {
  start();
  const auto port = open();
  const auto peer = open();
  const Handle to = connect(*port, *peer);
  host_.reset();
  std::vector<std::byte> into(8);
  EXPECT_EQ(port->receive({}, std::span(into), {}, kLongNs).code, Code::PortEnded);
  Code code = Code::Ok;
  for (int i = 0; i < 1'000 && code == Code::Ok; ++i) code = port->send(to, content(900), 0, {}, kLongNs);
  EXPECT_EQ(code, Code::PortEnded);
}

// ---- Fragments.

TEST(PalmsFragment, is_read_as_it_was_written_and_refused_if_any_part_is_impossible) {
  std::array<std::byte, kFragmentBytes + 1> message{};
  const auto write = [&](const Fragment& fragment) {
    encode(fragment, std::span(message).first<kFragmentHeadBytes>());
    return std::span<const std::byte>(message).first(kFragmentHeadBytes + fragment.header_bytes + fragment.data_bytes);
  };
  const Fragment sound{.kind = Fragment::Kind::Piece,
                       .is_first = true,
                       .is_last = false,
                       .connection = 7,
                       .sequence = 0xFFFF'FFFF,
                       .tag = 9,
                       .header_bytes = 256,
                       .data_bytes = 736,
                       .total = kMostMessageBytes};
  const auto read = decode_fragment(write(sound));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->sequence, sound.sequence);
  EXPECT_EQ(read->total, sound.total);
  EXPECT_EQ(read->header_bytes, 256);
  EXPECT_TRUE(read->is_first && !read->is_last);
  EXPECT_FALSE(decode_fragment(write(sound).first(1'023)));
  EXPECT_FALSE(decode_fragment(std::span<const std::byte>(message).first(kFragmentBytes + 1)));
  EXPECT_FALSE(decode_fragment({}));
  const auto is_refused = [&](auto change) {
    Fragment wrong = sound;
    change(wrong);
    return !decode_fragment(write(wrong));
  };
  EXPECT_TRUE(is_refused([](Fragment& f) { f.connection = 0; }));
  EXPECT_TRUE(is_refused([](Fragment& f) { f.header_bytes = 257, f.data_bytes = 735; }));
  EXPECT_TRUE(is_refused([](Fragment& f) { f.is_first = false; })) << "a header within a message";
  EXPECT_TRUE(is_refused([](Fragment& f) { f.total = kMostMessageBytes + 1; }));
  EXPECT_TRUE(is_refused([](Fragment& f) { f.total = 735; }));
  EXPECT_TRUE(is_refused([](Fragment& f) { f.kind = Fragment::Kind::Hello; })) << "with a payload";
  EXPECT_TRUE(is_refused([](Fragment& f) { f.kind = static_cast<Fragment::Kind>(5); }));
  (void)write(sound);
  message[0] = std::byte{2};
  EXPECT_FALSE(decode_fragment(std::span<const std::byte>(message).first(kFragmentBytes))) << "another version";
}

TEST(PalmsSequence, takes_pieces_once_in_order_and_sees_what_no_sender_sends) {
  using Taken = Sequence::Taken;
  Sequence sequence;
  const auto piece = [](std::uint32_t number, bool is_first, bool is_last, std::uint16_t bytes, std::uint64_t total,
                        std::uint32_t tag = 0) {
    return Fragment{.kind = Fragment::Kind::Piece,
                    .is_first = is_first,
                    .is_last = is_last,
                    .connection = 1,
                    .sequence = number,
                    .tag = tag,
                    .data_bytes = bytes,
                    .total = total};
  };
  EXPECT_EQ(sequence.take(piece(1, true, true, 1, 1)), Taken::Early);
  EXPECT_EQ(sequence.take(piece(0, true, false, 5, 12)), Taken::Next);
  EXPECT_EQ(sequence.offset(), 0U);
  EXPECT_EQ(sequence.take(piece(0, true, false, 5, 12)), Taken::Repeated);
  EXPECT_EQ(sequence.take(piece(1, true, false, 5, 12)), Taken::Impossible) << "within a message";
  EXPECT_EQ(sequence.take(piece(1, false, false, 5, 13)), Taken::Impossible) << "another length";
  EXPECT_EQ(sequence.take(piece(1, false, false, 5, 12, 1)), Taken::Impossible) << "another tag";
  EXPECT_EQ(sequence.take(piece(1, false, true, 5, 12)), Taken::Impossible) << "not the end";
  EXPECT_EQ(sequence.take(piece(1, false, false, 8, 12)), Taken::Impossible) << "beyond it";
  EXPECT_EQ(sequence.take(piece(1, false, false, 0, 12)), Taken::Impossible) << "for ever";
  EXPECT_EQ(sequence.take(piece(1, false, true, 7, 12)), Taken::Next);
  EXPECT_EQ(sequence.offset(), 5U);
  EXPECT_EQ(sequence.take(piece(2, false, true, 0, 12)), Taken::Impossible) << "none has begun";
  EXPECT_EQ(sequence.take(piece(2, true, true, 0, 0)), Taken::Next);
}

}  // namespace stopbit::nic::palms::palms_test
