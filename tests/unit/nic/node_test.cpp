#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "host/nic/netvm/fault_source.hpp"
#include "host/nic/node/broker.hpp"
#include "host/nic/node/client.hpp"
#include "host/nic/node/fd_passing.hpp"
#include "host/nic/transport/model/network.hpp"
#include "host/os/clock.hpp"
#include "tests/lib/scratch.hpp"
#include "tests/lib/why.hpp"
#include "tests/unit/nic/broker_host.hpp"

namespace stopbit::nic::node_test {

using test::Host;

constexpr Pdid kDomain = 7;
constexpr Pdid kOtherDomain = 8;

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

class Clients : public ::testing::Test {
 protected:
  Clients() {
    options.socket = (scratch.folder() / "broker").string();
    Entitlement mine;
    mine.user = ::geteuid();
    mine.domain = kDomain;
    mine.feeds = {"cme"};
    mine.ports = 16;
    mine.memory_bytes = 1U << 20U;
    options.entitlements = {mine};
    options.log = options.log_refusal = [this](const std::string& line) { lines.push_back(line); };
  }
  [[nodiscard]] std::unique_ptr<Client> open(std::size_t slot_bytes = 64) const {
    Result<std::unique_ptr<Client>> opened = Client::open(options.socket, slot_bytes);
    EXPECT_TRUE(opened.ok()) << (opened.ok() ? "" : opened.message());
    return opened ? std::move(opened).value() : nullptr;
  }
  static std::string receive(Client& client) {
    static std::array<std::byte, kMaxMessageBytes> into;
    for (std::uint64_t end = os::monotonic_clock_ns() + 20'000'000'000; os::monotonic_clock_ns() < end;) {
      if (const auto head = client.receive(into)) {
        return {reinterpret_cast<const char*>(into.data()), head->length};
      }
      ::usleep(20);
    }
    return "nothing came";
  }
  static Notification notified(Client& client) {
    Notification notification;
    for (std::uint64_t end = os::monotonic_clock_ns() + 20'000'000'000; os::monotonic_clock_ns() < end;) {
      if (client.notifications().take(notification)) return notification;
      ::usleep(20);
    }
    ADD_FAILURE() << "no notification";
    return {};
  }
  static Command transfer(Operation operation, const Client& target, WindowName window) {
    Command command;
    command.operation = operation;
    command.target_node = target.node();
    command.target_vpid = target.vpid();
    command.window = window.id;
    command.capability = window.capability;
    command.modifiers = kAcknowledge;
    return command;
  }
  static Error issue(Client& client, const Command& command) {
    EXPECT_EQ(client.queue(CommandRing::Transfer).insert({&command, 1}).reply, Reply::NoError);
    return notified(client).error;
  }

  testing::Scratch scratch;
  BrokerOptions options;
  std::vector<std::string> lines;
};

TEST_F(Clients, exchange_messages_of_every_size_with_the_identity_of_their_page) {
  Host host(options);
  host.start();
  const auto a = open(64);
  const auto b = open(128);
  ASSERT_NE(a->vpid(), b->vpid());
  for (const std::size_t length : {1U, 40U, 41U, 80U, 119U, 120U, 1000U, 2048U}) {
    const std::string words(length, static_cast<char>('a' + length % 26));
    ASSERT_EQ(a->send(b->node(), b->vpid(), bytes_of(words)), Reply::NoError);
    EXPECT_EQ(receive(*b), words);
    ASSERT_EQ(b->send(a->node(), a->vpid(), bytes_of(words)), Reply::NoError);
    EXPECT_EQ(receive(*a), words);
  }
  std::array<std::byte, kMaxMessageBytes> into;
  SendHow how;
  how.acknowledges = true;
  how.announces = true;
  how.tag = 42;
  how.type = 3;
  ASSERT_EQ(a->send(b->node(), b->vpid(), bytes_of("hello"), how), Reply::NoError);
  EXPECT_EQ(notified(*a).teller, Teller::Acknowledge);
  const Notification told = notified(*b);
  EXPECT_EQ(told.teller, Teller::Completer);
  EXPECT_EQ(told.vpid, a->vpid());
  const auto head = b->receive(into);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->vpid, a->vpid());
  EXPECT_EQ(head->tag, 42);
  EXPECT_EQ(head->type, 3);
  EXPECT_EQ(a->send(0, b->vpid(), {}), Reply::Invalid);
}

TEST_F(Clients, move_memory_through_windows_and_are_refused_by_code_when_they_may_not) {
  Host host(options);
  host.start();
  const auto owner = open();
  const auto user = open();
  const Result<SharedRegion> theirs = owner->share(8 * kPageBytes, Access::ReadWrite);
  const Result<SharedRegion> ours = user->share(2 * kPageBytes, Access::ReadWrite);
  ASSERT_TRUE(theirs && ours);
  std::byte* const target = theirs.value().memory.span().data();
  std::byte* const source = ours.value().memory.span().data();
  const Result<WindowName> window =
      owner->open_window(theirs.value().address + kPageBytes, 2 * kPageBytes, Access::ReadWrite);
  ASSERT_TRUE(window) << window.message();
  std::memset(source, 'x', kPageBytes);
  Command put = transfer(Operation::Put, *owner, window.value());
  put.address = ours.value().address;
  put.offset = 4;
  put.length = 5000;
  EXPECT_EQ(issue(*user, put), Error::None);
  EXPECT_EQ(std::count(target, target + 8 * kPageBytes, std::byte{'x'}), 4096);

  // Everything that is refused, and by which code. Nothing of it changes a byte.
  const std::vector<std::byte> before(target, target + 8 * kPageBytes);
  const auto refused = [&](auto change) {
    Command command = put;
    change(command);
    const Error error = issue(*user, command);
    EXPECT_TRUE(std::equal(before.begin(), before.end(), target));
    return error;
  };
  EXPECT_EQ(refused([](Command& c) { c.capability ^= 1; }), Error::Capability);
  EXPECT_EQ(refused([](Command& c) { c.window = 999; }), Error::TargetWindowId);
  EXPECT_EQ(refused([](Command& c) { c.offset = 2 * kPageBytes - 4999; }), Error::TargetWindow);
  EXPECT_EQ(refused([](Command& c) { c.offset = ~std::uint64_t{0} - 10; }), Error::TargetWindow);  // wraps
  EXPECT_EQ(refused([](Command& c) { c.address += 1U << 30U; }), Error::OriginWindow);
  EXPECT_EQ(refused([](Command& c) { c.address = ~std::uint64_t{0} - 100; }), Error::OriginWindow);
  EXPECT_EQ(refused([&](Command& c) { c.address = theirs.value().address; }), Error::OriginWindow);  // another's memory
  EXPECT_EQ(refused([](Command& c) { c.target_node = 5; }), Error::Route);
  EXPECT_EQ(refused([](Command& c) { c.target_vpid = 60000; }), Error::TargetVpid);
  EXPECT_EQ(refused([](Command& c) { c.modifiers = 0xFF; }), Error::Command);
  // A window of another port, or on memory of another one.
  EXPECT_NE(testing::why(user->close_window(window.value().id)), "");
  EXPECT_FALSE(user->open_window(theirs.value().address, kPageBytes, Access::Read));
  EXPECT_FALSE(owner->open_window(theirs.value().address, 9 * kPageBytes, Access::Read));
  // Closed, and revoked.
  const Result<WindowName> second = owner->open_window(theirs.value().address, kPageBytes, Access::ReadWrite);
  ASSERT_TRUE(second);
  EXPECT_EQ(testing::why(owner->close_window(window.value().id)), "");
  EXPECT_EQ(refused([](Command&) {}), Error::TargetWindowId);
  EXPECT_EQ(testing::why(owner->unshare(theirs.value().address)), "");
  EXPECT_EQ(refused([&](Command& c) {
              c.window = second.value().id;
              c.capability = second.value().capability;
            }),
            Error::TargetWindowId);
  EXPECT_NE(testing::why(owner->unshare(theirs.value().address)), "");
  for (int i = 0; i < 1000 && host.steps < 100; ++i) ::usleep(1000);
  host.stop();
  host.settle();
  EXPECT_EQ(host.broker->unflushed(), 0U);
  EXPECT_EQ(host.broker->counters().shared_bytes, 2 * kPageBytes);
}

TEST_F(Clients, let_a_mailbox_grow_over_segments_of_their_memory) {
  options.entitlements[0].hold_us = 20'000'000;
  Host host(options);
  host.start();
  const auto sender = open();
  auto receiver = open();
  SendHow how;
  how.acknowledges = true;
  const auto send = [&](const std::string& words) {
    EXPECT_EQ(sender->send(receiver->node(), receiver->vpid(), bytes_of(words), how), Reply::NoError);
    return notified(*sender).error;
  };
  EXPECT_EQ(send("in the page"), Error::None);
  EXPECT_NE(testing::why(receiver->add_segment(Priority::Low, 1)), "");
  EXPECT_NE(testing::why(receiver->use_segments(Priority::Low, {.slot_bytes = 64, .places = 1})), "");
  EXPECT_NE(testing::why(receiver->use_segments(Priority::Low, {.slot_bytes = 48})), "");
  EXPECT_NE(testing::why(receiver->use_segments(Priority::Low, {.hold_us = 20'000'001})), "") << "more than it may";
  ASSERT_EQ(testing::why(receiver->use_segments(Priority::Low, {.slot_bytes = 128, .places = 3})), "");
  EXPECT_EQ(send("too early"), Error::Full);
  ASSERT_EQ(testing::why(receiver->add_segment(Priority::Low, 4)), "");
  EXPECT_EQ(send(std::string(400, 'a')), Error::None);
  EXPECT_EQ(send("no room"), Error::Full);
  ASSERT_EQ(testing::why(receiver->add_segment(Priority::Low, 600)), "");
  for (int i = 0; i < 500; ++i) ASSERT_EQ(send("number " + std::to_string(i)), Error::None) << i;
  EXPECT_EQ(receive(*receiver), "in the page");
  EXPECT_EQ(receive(*receiver), std::string(400, 'a'));
  for (int i = 0; i < 500; ++i) ASSERT_EQ(receive(*receiver), "number " + std::to_string(i));
  ASSERT_EQ(testing::why(receiver->add_segment(Priority::Low, 1)), "");
  EXPECT_NE(testing::why(receiver->add_segment(Priority::Low, 1)), "") << "the list is full";
  EXPECT_EQ(receiver->segments(Priority::Low)->segments(), 3U);
  EXPECT_EQ(receiver->segments(Priority::High), nullptr);
  // It holds what finds no segment.
  ASSERT_EQ(testing::why(receiver->use_segments(Priority::High, {.hold_us = 20'000'000})), "");
  EXPECT_NE(testing::why(receiver->use_segments(Priority::High, {.hold_us = 20'000'001})), "")
      << "and the one before stays";
  how.priority = Priority::High;
  EXPECT_EQ(sender->send(receiver->node(), receiver->vpid(), bytes_of("waits"), how), Reply::NoError);
  ASSERT_EQ(testing::why(receiver->add_segment(Priority::High, 4)), "");
  EXPECT_EQ(notified(*sender).error, Error::None);
  EXPECT_EQ(receive(*receiver), "waits");
  // Everything goes with the client.
  host.stop();
  EXPECT_GT(host.broker->counters().shared_bytes, 600U * 128);
  receiver.reset();
  host.settle();
  EXPECT_EQ(host.broker->counters().shared_bytes, 0U);
  EXPECT_EQ(host.broker->unflushed(), 0U);
}

TEST_F(Clients, give_a_message_bit_by_bit_and_may_cut_it_short) {
  NodeOptions patient;
  patient.combine_patience_ns = 60'000'000'000;
  Host host(options, patient);
  host.start();
  auto sender = open();
  const auto receiver = open();
  const std::string words = "one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve";
  PartSender parts = sender->begin(receiver->node(), receiver->vpid(), words.size());
  for (std::size_t at = 0; at < words.size(); at += 7) {
    ASSERT_EQ(parts.append(bytes_of(words.substr(at, 7))).reply, Reply::NoError);
  }
  EXPECT_EQ(parts.left(), 0U);
  EXPECT_EQ(parts.append(bytes_of("more")).reply, Reply::Invalid);
  EXPECT_EQ(receive(*receiver), words);
  PartSender cut = sender->begin(receiver->node(), receiver->vpid(), 2000);
  ASSERT_EQ(cut.append(bytes_of(std::string(500, 'x'))).reply, Reply::NoError);
  ASSERT_EQ(cut.abort(), Reply::NoError);
  PartSender unsaid = sender->begin(receiver->node(), receiver->vpid(), 2000);
  ASSERT_EQ(unsaid.append(bytes_of("x")).reply, Reply::NoError);
  ASSERT_EQ(unsaid.abort(), Reply::NoError);
  ASSERT_EQ(sender->send(receiver->node(), receiver->vpid(), bytes_of("next")), Reply::NoError);
  EXPECT_EQ(receive(*receiver), "next");
  EXPECT_EQ(receiver->mailbox(Priority::Low).erroneous(), 1U);
  // A process that dies in the middle.
  PartSender last = sender->begin(receiver->node(), receiver->vpid(), 100);
  ASSERT_EQ(last.append(bytes_of(std::string(80, 'x'))).reply, Reply::NoError);
  SendHow how;
  how.acknowledges = true;
  ASSERT_EQ(sender->send(receiver->node(), receiver->vpid(), bytes_of("behind"), how), Reply::NoError);
  (void)notified(*sender);  // its parts have been taken
  EXPECT_EQ(receive(*receiver), "behind");
  sender.reset();
  std::array<std::byte, kMaxMessageBytes> into;
  for (int i = 0; i < 20'000 && receiver->mailbox(Priority::Low).erroneous() == 1; ++i) {
    EXPECT_FALSE(receiver->receive(into));
    ::usleep(1000);
  }
  EXPECT_EQ(receiver->mailbox(Priority::Low).erroneous(), 2U);
  EXPECT_EQ(receiver->mailbox(Priority::Low).cut()->length, 80);
}

TEST_F(Clients, of_another_domain_reach_nobody) {
  // The second entitlement is for a user that is not there: the port of the other domain is opened at the node itself.
  SharedMemory pages;  // outlives the node's thread
  ASSERT_TRUE(pages.create("other", PageLayout::kBytes));
  Host host(options);
  const std::optional<Vpid> other = host.node.open_port(pages.page(), kOtherDomain, {});
  ASSERT_TRUE(other);
  host.start();
  const auto client = open();
  SendHow how;
  how.acknowledges = true;
  EXPECT_EQ(client->send(0, *other, bytes_of("let me in"), how), Reply::NoError);
  EXPECT_EQ(notified(*client).error, Error::Domain);
  MailboxReader reader(pages.page(), Priority::Low);
  std::array<std::byte, kMaxMessageBytes> into;
  EXPECT_FALSE(reader.poll(into));
}

TEST_F(Clients, attach_the_feeds_that_they_may_and_are_counted_and_logged) {
  std::string words(3 * kPageBytes, 'r');
  words.replace(5000, 5, "ticks");
  const std::string path = scratch.write("segment", words);
  Host host(options);
  ASSERT_EQ(testing::why(host.broker->add_feed("cme", path)), "");
  ASSERT_EQ(testing::why(host.broker->add_feed("secret", path)), "");
  EXPECT_NE(testing::why(host.broker->add_feed("cme", path)), "");
  EXPECT_NE(testing::why(host.broker->add_feed("none", path + "x")), "");
  host.start();
  auto client = open();
  Result<AttachedFeed> feed = client->attach("cme");
  ASSERT_TRUE(feed) << feed.message();
  EXPECT_EQ(feed.value().bytes, words.size());
  // The file can be read, and not written.
  std::array<char, 5> read{};
  EXPECT_EQ(::pread(feed.value().file.get(), read.data(), 5, 5000), 5);
  EXPECT_EQ(std::string(read.data(), 5), "ticks");
  EXPECT_EQ(::fcntl(feed.value().file.get(), F_GETFL) & O_ACCMODE, O_RDONLY);
  // And got through its window.
  const Result<SharedRegion> memory = client->share(kPageBytes, Access::ReadWrite);
  ASSERT_TRUE(memory);
  Command get;
  get.operation = Operation::Get;
  get.target_node = feed.value().node;
  get.target_vpid = feed.value().vpid;
  get.window = feed.value().window.id;
  get.capability = feed.value().window.capability;
  get.address = memory.value().address;
  get.offset = 5000;
  get.length = 5;
  get.modifiers = kNotifyCompleter;
  EXPECT_EQ(issue(*client, get), Error::None);
  EXPECT_EQ(std::memcmp(memory.value().memory.span().data(), "ticks", 5), 0);
  Command put = get;
  put.operation = Operation::Put;
  put.modifiers = kAcknowledge;
  EXPECT_EQ(issue(*client, put), Error::TargetWindow);  // it may only read

  // A ring it may not open and one that does not exist look the same.
  const Result<AttachedFeed> secret = client->attach("secret");
  const Result<AttachedFeed> none = client->attach("none");
  ASSERT_FALSE(secret || none);
  EXPECT_EQ(secret.message(), none.message());
  // A second attachment is a window of its own; detached, it is worthless.
  const Result<AttachedFeed> again = client->attach("cme");
  ASSERT_TRUE(again);
  EXPECT_NE(again.value().window.capability, feed.value().window.capability);
  EXPECT_EQ(testing::why(client->detach(again.value().window.id)), "");
  EXPECT_NE(testing::why(client->detach(again.value().window.id)), "");
  get.window = again.value().window.id;
  get.capability = again.value().window.capability;
  EXPECT_EQ(issue(*client, get), Error::TargetWindowId);
  client.reset();
  host.stop();
  host.settle();
  const Broker::Uses uses = host.broker->uses();
  EXPECT_EQ(uses.at({"cme", ::geteuid()}).attached, 2U);
  EXPECT_EQ(uses.at({"cme", ::geteuid()}).now, 0U);
  EXPECT_EQ(uses.at({"cme", ::geteuid()}).gets, 1U);
  EXPECT_EQ(uses.at({"cme", ::geteuid()}).bytes, 5U);
  EXPECT_EQ(uses.at({"secret", ::geteuid()}).refused, 1U);
  const auto logged = [&](const std::string& part) {
    return std::any_of(lines.begin(), lines.end(),
                       [&](const std::string& line) { return line.find(part) != std::string::npos; });
  };
  EXPECT_TRUE(logged("feed 'cme' attached"));
  EXPECT_TRUE(logged("attach refused, ERR_TWINID_INV"));
  EXPECT_TRUE(logged("after 1 gets of 5 bytes"));
  EXPECT_TRUE(logged("gone with process"));
  EXPECT_EQ(host.broker->unflushed(), 0U);
  EXPECT_EQ(host.broker->counters().shared_bytes, 0U);
}

TEST_F(Clients, keep_the_file_they_attached_when_the_feed_gets_another) {
  Host host(options);
  ASSERT_EQ(testing::why(host.broker->add_feed("cme", scratch.write("old", std::string(kPageBytes, 'o')))), "");
  EXPECT_NE(testing::why(host.broker->replace_feed("other", scratch.path("old"))), "");
  host.start();
  const auto client = open();
  const Result<AttachedFeed> old = client->attach("cme");
  ASSERT_TRUE(old) << old.message();
  host.stop();
  ASSERT_EQ(testing::why(host.broker->replace_feed("cme", scratch.write("new", std::string(2 * kPageBytes, 'n')))), "");
  host.start();
  const Result<AttachedFeed> next = client->attach("cme");
  ASSERT_TRUE(next) << next.message();
  EXPECT_EQ(next.value().bytes, 2 * kPageBytes);
  const Result<SharedRegion> memory = client->share(kPageBytes, Access::ReadWrite);
  ASSERT_TRUE(memory);
  const auto got = [&](const AttachedFeed& feed) {
    Command get;
    get.operation = Operation::Get;
    get.target_node = feed.node;
    get.target_vpid = feed.vpid;
    get.window = feed.window.id;
    get.capability = feed.window.capability;
    get.address = memory.value().address;
    get.length = 1;
    get.modifiers = kNotifyCompleter;
    EXPECT_EQ(issue(*client, get), Error::None);
    return static_cast<char>(memory.value().memory.span()[0]);
  };
  EXPECT_EQ(got(old.value()), 'o');
  EXPECT_EQ(got(next.value()), 'n');
  // The old one goes with the last attachment to it.
  EXPECT_EQ(host.broker->kept_segments(), 1U);
  EXPECT_EQ(testing::why(client->detach(old.value().window.id)), "");
  host.stop();
  host.settle();
  EXPECT_EQ(host.broker->kept_segments(), 0U);
}

TEST_F(Clients, lose_what_new_entitlements_do_not_give_them) {
  options.entitlements[0].feeds = {"cme", "moex"};
  Host host(options);
  ASSERT_EQ(testing::why(host.broker->add_feed("cme", scratch.write("cme", std::string(kPageBytes, 'c')))), "");
  ASSERT_EQ(testing::why(host.broker->add_feed("moex", scratch.write("moex", std::string(kPageBytes, 'm')))), "");
  host.start();
  const auto client = open();
  ASSERT_TRUE(client->attach("cme"));
  ASSERT_TRUE(client->attach("moex"));
  ASSERT_TRUE(client->share(4 * kPageBytes, Access::Read));
  host.stop();
  Entitlement less = options.entitlements[0];
  less.feeds = {"moex"};
  less.memory_bytes = kPageBytes;  // less than it has
  host.broker->entitle({less});
  EXPECT_EQ(host.broker->uses().at({"cme", ::geteuid()}).now, 0U);
  EXPECT_EQ(host.broker->uses().at({"moex", ::geteuid()}).now, 1U);
  host.start();
  EXPECT_FALSE(client->attach("cme"));
  EXPECT_FALSE(client->share(kPageBytes, Access::Read));
  host.stop();
  less.domain = kOtherDomain;
  host.broker->entitle({less});
  EXPECT_EQ(host.broker->clients(), 0U);
  host.start();
  EXPECT_FALSE(client->attach("moex"));  // closed
  EXPECT_TRUE(open());
  host.stop();
  host.settle();
}

TEST_F(Clients, are_entitled_as_members_of_a_group) {
  options.entitlements[0].user.reset();
  options.entitlements[0].group = ::getegid();
  Entitlement others;
  others.group = ::getegid() + 12'345;
  options.entitlements.insert(options.entitlements.begin(), others);
  Host host(options);
  host.start();
  EXPECT_TRUE(open());
  host.stop();
  host.broker->entitle({others});
  host.start();
  EXPECT_FALSE(Client::open(options.socket));
}

TEST_F(Clients, that_open_no_port_take_only_a_few_places) {
  options.entitlements[0].ports = 1;
  Host host(options);
  host.start();
  std::vector<os::Descriptor> idle;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, options.socket.c_str(), options.socket.size() + 1);
  for (int i = 0; i < 5; ++i) {
    idle.emplace_back(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(idle.back().get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }
  const Result<std::unique_ptr<Client>> refused = Client::open(options.socket);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.message().find("its maximum of connections"), std::string::npos) << refused.message();
  idle.clear();
  host.stop();
  host.settle();
  host.start();
  EXPECT_TRUE(open());
}

TEST_F(Clients, get_no_more_than_their_entitlement) {
  options.entitlements[0].ports = 2;
  options.clients = 3;
  Host host(options);
  host.start();
  auto a = open();
  const auto b = open();
  const Result<std::unique_ptr<Client>> third = Client::open(options.socket);
  ASSERT_FALSE(third);
  EXPECT_NE(third.message().find("ERR_QUEUE_FULL"), std::string::npos) << third.message();
  EXPECT_TRUE(a->share(1U << 20U, Access::Read));
  EXPECT_FALSE(a->share(kPageBytes, Access::Read));
  EXPECT_TRUE(b->share(kPageBytes, Access::Read));
  a.reset();
  std::unique_ptr<Client> next;
  for (int i = 0; i < 1000 && next == nullptr; ++i) {
    Result<std::unique_ptr<Client>> opened = Client::open(options.socket);
    if (opened) next = std::move(opened).value();
  }
  ASSERT_NE(next, nullptr);
  EXPECT_TRUE(next->share(1U << 20U, Access::Read));
}

TEST_F(Clients, of_a_user_without_entitlement_are_turned_away) {
  options.entitlements[0].user = ::geteuid() + 1;
  Host host(options);
  host.start();
  const Result<std::unique_ptr<Client>> opened = Client::open(options.socket);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.message().find("ERR_PDID"), std::string::npos) << opened.message();
  host.stop();
  EXPECT_EQ(host.broker->counters().turned_away, 1U);
}

TEST_F(Clients, share_only_sealed_anonymous_memory) {
  Host host(options);
  host.start();
  const int plain = ::open(scratch.write("file", std::string(kPageBytes, 'f')).c_str(), O_RDWR | O_CLOEXEC);
  const int unsealed = ::memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(::ftruncate(unsealed, kPageBytes), 0);
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  for (const int fd : {plain, unsealed, pipe[0]}) {
    SharedMemory memory;
    EXPECT_FALSE(memory.map(os::Descriptor(::dup(fd)), kPageBytes, SharedMemory::Use::Read));
  }
  SharedMemory good;
  ASSERT_TRUE(good.create("good", kPageBytes));
  EXPECT_NE(::ftruncate(good.descriptor(), 0), 0);
  SharedMemory mapped;
  EXPECT_FALSE(mapped.map(os::Descriptor(::dup(good.descriptor())), 2 * kPageBytes, SharedMemory::Use::Read));
  EXPECT_TRUE(mapped.map(os::Descriptor(::dup(good.descriptor())), kPageBytes, SharedMemory::Use::Read));
  for (const int fd : {plain, unsealed, pipe[0], pipe[1]}) ::close(fd);
}

/// A socket to the broker, as no client would use it.
int raw_socket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return -1;
  return fd;
}

/// Sends a request and waits for its reply.
BrokerReply ask_raw(int socket, const BrokerRequest& request, int to_pass = -1) {
  EXPECT_EQ(send_packet(socket, &request, sizeof(request), to_pass), static_cast<ssize_t>(sizeof(request)));
  BrokerReply reply;
  EXPECT_EQ(::recv(socket, &reply, sizeof(reply), 0), static_cast<ssize_t>(sizeof(reply)));
  return reply;
}

BrokerRequest request_of(BrokerCall call, std::uint64_t bytes = 0) {
  BrokerRequest request;
  request.call = call;
  request.bytes = bytes;
  request.access = Access::ReadWrite;
  return request;
}

std::size_t open_descriptors() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

TEST_F(Clients, that_share_in_small_pieces_use_up_neither_descriptors_nor_mappings) {
  options.entitlements[0].memory_bytes = 64U << 20U;
  Host host(options);
  host.start();
  const os::Descriptor socket(raw_socket(options.socket));
  ASSERT_EQ(ask_raw(socket.get(), request_of(BrokerCall::Open)).error, Error::None);
  SharedMemory memory;
  ASSERT_TRUE(memory.create("small", kPageBytes));
  const BrokerRequest share = request_of(BrokerCall::Share, kPageBytes);
  const std::size_t before = open_descriptors();
  std::size_t shared = 0;
  while (shared < 1000 && ask_raw(socket.get(), share, memory.descriptor()).error == Error::None) ++shared;
  EXPECT_EQ(shared, 256U);
  EXPECT_EQ(ask_raw(socket.get(), share, memory.descriptor()).error, Error::Full);
  EXPECT_LE(open_descriptors(), before + 1);  // what has just been passed may not be closed yet
}

TEST_F(Clients, have_no_more_windows_than_their_entitlement) {
  options.entitlements[0].windows = 3;
  Host host(options);
  ASSERT_EQ(testing::why(host.broker->add_feed("cme", scratch.write("ring", "records"))), "");
  host.start();
  const auto client = open();
  const Result<SharedRegion> memory = client->share(kPageBytes, Access::ReadWrite);
  ASSERT_TRUE(memory);
  const auto window = [&] { return client->open_window(memory.value().address, 64, Access::Read); };
  const Result<WindowName> first = window();
  ASSERT_TRUE(first && window());
  const Result<AttachedFeed> feed = client->attach("cme");
  ASSERT_TRUE(feed);
  const Result<WindowName> fourth = window();
  ASSERT_FALSE(fourth);
  EXPECT_NE(fourth.message().find("ERR_QUEUE_FULL"), std::string::npos) << fourth.message();
  EXPECT_FALSE(client->attach("cme"));
  EXPECT_EQ(testing::why(client->close_window(first.value().id)), "");
  EXPECT_TRUE(client->attach("cme"));
  EXPECT_FALSE(window());
  EXPECT_EQ(testing::why(client->detach(feed.value().window.id)), "");
  EXPECT_TRUE(window());
}

TEST_F(Clients, that_share_much_memory_at_once_hold_up_nobody_until_all_of_it_is_there) {
  options.entitlements[0].memory_bytes = 64U << 20U;
  Host host(options);
  const os::Descriptor socket(raw_socket(options.socket));
  const BrokerRequest open = request_of(BrokerCall::Open);
  ASSERT_EQ(send_packet(socket.get(), &open, sizeof(open), -1), static_cast<ssize_t>(sizeof(open)));
  host.settle();
  std::array<os::Descriptor, 2> memory;
  for (os::Descriptor& one : memory) {
    one = os::Descriptor(::memfd_create("much", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(::ftruncate(one.get(), 16U << 20U), 0);
    ASSERT_EQ(::fcntl(one.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
    const BrokerRequest share = request_of(BrokerCall::Share, 16U << 20U);
    ASSERT_EQ(send_packet(socket.get(), &share, sizeof(share), one.get()), static_cast<ssize_t>(sizeof(share)));
  }
  (void)host.broker->step();
  EXPECT_EQ(host.broker->counters().shared_bytes, 32U << 20U);
  std::uint64_t there = 0;
  for (const os::Descriptor& one : memory) {
    struct stat status {};
    ASSERT_EQ(::fstat(one.get(), &status), 0);
    there += static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  EXPECT_GT(there, 0U);
  EXPECT_LE(there, 4U << 20U);
}

TEST_F(Clients, that_lock_the_file_of_a_feed_and_die_leave_no_lock) {
  Host host(options);
  const std::string path = scratch.write("ring", "records");
  ASSERT_EQ(testing::why(host.broker->add_feed("cme", path)), "");
  host.start();
  auto client = open();
  {
    const Result<AttachedFeed> feed = client->attach("cme");
    ASSERT_TRUE(feed) << feed.message();
    struct flock whole {};
    whole.l_type = F_RDLCK;
    whole.l_whence = SEEK_SET;
    ASSERT_EQ(::fcntl(feed.value().file.get(), F_OFD_SETLK, &whole), 0);
  }
  client.reset();
  const os::Descriptor writer(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  bool is_locked = false;
  for (int i = 0; i < 2000 && !is_locked; ++i) {  // until the broker has closed what it passed
    is_locked = os::lock(writer);
    if (!is_locked) ::usleep(1000);
  }
  EXPECT_TRUE(is_locked);
}

TEST_F(Clients, are_offered_no_file_that_another_can_cut_short) {
  Host host(options);
  const std::string path = scratch.write("ring", "records");
  ASSERT_EQ(::symlink(path.c_str(), (scratch.folder() / "link").c_str()), 0);
  EXPECT_NE(testing::why(host.broker->add_feed("link", (scratch.folder() / "link").string())), "");
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  EXPECT_NE(testing::why(host.broker->add_feed("cme", path)).find("must belong to this user or root"),
            std::string::npos);
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
    EXPECT_NE(testing::why(host.broker->add_feed("cme", path)).find("must belong to this user or root"),
              std::string::npos);
    ASSERT_EQ(::chown(path.c_str(), 0, 0), 0);
  }
  EXPECT_EQ(testing::why(host.broker->add_feed("cme", path)), "");
}

TEST_F(Clients, of_a_later_broker_reach_no_memory_of_the_one_before) {
  NodeOptions few;
  few.ports = 2;
  Host host(options, few);
  ASSERT_EQ(testing::why(host.broker->add_feed("cme", scratch.write("ring", "records"))), "");
  host.start();
  auto client = open();
  ASSERT_TRUE(client->attach("cme"));
  client.reset();
  host.stop();
  host.settle();
  host.broker.reset();
  Result<std::unique_ptr<Broker>> again = Broker::open(host.node, options);
  ASSERT_TRUE(again);
  host.broker = std::move(again).value();
  host.start();
  // One of the two is what the port of the feeds was; the feed's memory had the first addresses that there are.
  std::array<std::unique_ptr<Client>, 2> clients{open(), open()};
  const Result<SharedRegion> region = clients[0]->share(kPageBytes, Access::ReadWrite);
  ASSERT_TRUE(region);
  const Result<WindowName> window = clients[0]->open_window(region.value().address, kPageBytes, Access::ReadWrite);
  ASSERT_TRUE(window);
  for (const std::unique_ptr<Client>& reader : clients) {
    Command put = transfer(Operation::Put, *clients[0], window.value());
    for (put.address = 0; put.address < 4 * kPageBytes; put.address += kPageBytes) {
      put.length = 64;
      const Error error = issue(*reader, put);
      EXPECT_EQ(error,
                reader == clients[0] && put.address == region.value().address ? Error::None : Error::OriginWindow);
    }
  }
}

/// A broker that says what the test wants.
class FalseBroker {
 public:
  explicit FalseBroker(const std::string& path, int backlog = 4)
      : listener_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(listener_.get(), backlog), 0);
  }
  void accept() { client_ = os::Descriptor(::accept(listener_.get(), nullptr, nullptr)); }
  [[nodiscard]] BrokerRequest hear() const {
    BrokerRequest request;
    EXPECT_EQ(::recv(client_.get(), &request, sizeof(request), 0), static_cast<ssize_t>(sizeof(request)));
    return request;
  }
  void say(const BrokerRequest& to, Error error, int to_pass = -1) const {
    BrokerReply reply;
    reply.call = to.call;
    reply.id = to.id;
    reply.error = error;
    reply.bytes = PageLayout::kBytes;
    EXPECT_EQ(send_packet(client_.get(), &reply, sizeof(reply), to_pass), static_cast<ssize_t>(sizeof(reply)));
  }

 private:
  os::Descriptor listener_;
  os::Descriptor client_;
};

TEST_F(Clients, of_a_slow_broker_take_no_late_reply_for_another_request) {
  FalseBroker broker(options.socket);
  SharedMemory pages;
  ASSERT_TRUE(pages.create("pages", PageLayout::kBytes));
  pages.page().word(PageWord::Magic).store(kPageMagic);
  std::thread thread([&] {
    broker.accept();
    broker.say(broker.hear(), Error::None, pages.descriptor());
    const BrokerRequest late = broker.hear();
    const BrokerRequest next = broker.hear();
    broker.say(late, Error::OriginWindowId);
    broker.say(next, Error::None);
  });
  const Result<std::unique_ptr<Client>> client = Client::open(options.socket, 64, 200);
  ASSERT_TRUE(client) << client.message();
  EXPECT_NE(testing::why(client.value()->close_window(1)).find("does not answer"), std::string::npos);
  EXPECT_EQ(testing::why(client.value()->close_window(2)), "");
  thread.join();
}

TEST_F(Clients, of_a_broker_that_accepts_nobody_give_up) {
  const FalseBroker broker(options.socket, 0);
  std::vector<os::Descriptor> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.emplace_back(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, options.socket.c_str(), options.socket.size() + 1);
    (void)::connect(waiting.back().get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  }
  const Result<std::unique_ptr<Client>> client = Client::open(options.socket, 64, 50);
  ASSERT_FALSE(client);
  EXPECT_NE(client.message().find("connect to the broker"), std::string::npos) << client.message();
}

TEST_F(Clients, that_speak_nonsense_are_closed_and_harm_nobody) {
  Host host(options);
  host.start();
  const auto good = open();
  std::mt19937_64 random(9);
  for (int round = 0; round < 300; ++round) {
    const int fd = raw_socket(options.socket);
    ASSERT_GE(fd, 0);
    for (int i = 0; i < 3; ++i) {
      BrokerRequest request;
      request.call = static_cast<BrokerCall>(round % 2 == 0 ? random() % 11 : 1 + random() % 9);
      request.bytes = random() % 5 == 0 ? random() : kPageBytes * (random() % 4);
      request.address = random() % 2 == 0 ? 0 : random();
      request.window = static_cast<std::uint16_t>(random());
      for (char& c : request.name) c = static_cast<char>(random());
      if (random() % 8 == 0) request.version = 2;
      if (random() % 8 == 0) request.magic ^= 4;
      const std::size_t length = random() % 6 == 0 ? random() % 200 : sizeof(request);
      std::array<char, 200> bytes{};
      std::memcpy(bytes.data(), &request, sizeof(request));
      (void)::send(fd, bytes.data(), length, MSG_NOSIGNAL);
    }
    ::close(fd);
  }
  ASSERT_EQ(good->send(0, good->vpid(), bytes_of("still here")), Reply::NoError);
  EXPECT_EQ(receive(*good), "still here");
  host.stop();
  host.settle();
  for (int i = 0; i < 2000 && host.broker->clients() > 1; ++i) {
    ::usleep(1000);
    host.settle();
  }
  EXPECT_EQ(host.broker->clients(), 1U);
  EXPECT_GT(host.broker->counters().malformed, 50U);
  EXPECT_EQ(host.broker->counters().shared_bytes, 0U);
}

TEST_F(Clients, of_several_decoder_threads_keep_the_order_of_each_channel_in_one_ring) {
  Host host(options);
  host.start();
  const auto decoder = open();
  const auto reader = open();
  constexpr std::uint64_t kThreads = 4;
  constexpr std::uint64_t kEach = 5'000;
  std::atomic<std::uint64_t> taken = 0;
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint64_t number = 0; number < kEach;) {
        // Messages under way fit into the mailbox: none is dropped.
        const std::array<std::uint64_t, 2> tick = {thread, number};
        if (number > taken / kThreads + 12) {
          std::this_thread::yield();
          continue;
        }
        if (decoder->send(reader->node(), reader->vpid(), std::as_bytes(std::span(tick))) == Reply::NoError) ++number;
      }
    });
  }
  std::array<std::uint64_t, kThreads> next{};
  std::array<std::uint64_t, kThreads> lost{};
  std::array<std::byte, kMaxMessageBytes> into;
  const std::uint64_t end = os::monotonic_clock_ns() + 60'000'000'000;
  const auto all = [&] {
    std::uint64_t sum = 0;
    for (std::uint64_t thread = 0; thread < kThreads; ++thread) sum += next[thread];
    return sum;
  };
  while (all() < kThreads * kEach && os::monotonic_clock_ns() < end) {
    const auto head = reader->receive(into);
    if (!head) {
      std::this_thread::yield();
      continue;
    }
    std::array<std::uint64_t, 2> tick{};
    ASSERT_EQ(head->length, sizeof(tick));
    std::memcpy(tick.data(), into.data(), sizeof(tick));
    ASSERT_LT(tick[0], kThreads);
    ASSERT_GE(tick[1], next[tick[0]]) << "out of order";
    lost[tick[0]] += tick[1] - next[tick[0]];
    next[tick[0]] = tick[1] + 1;
    taken = *std::min_element(next.begin(), next.end()) * kThreads;
  }
  for (std::thread& thread : threads) thread.join();
  host.stop();
  EXPECT_EQ(all(), kThreads * kEach);
  EXPECT_EQ(host.node.messages().counters().dropped, 0U);
  for (const std::uint64_t count : lost) EXPECT_EQ(count, 0U);
}

TEST_F(Clients, with_a_low_ring_that_is_stuck_still_send_high) {
  // Two nodes; the second one takes nothing, so the window of low packets fills up.
  ModelOptions two;
  two.nodes = 2;
  ModelNetwork network(two);
  NodeOptions patient;
  patient.link.silence_ns = 1'000'000'000'000;
  Node node(network.port(0), patient);
  Result<std::unique_ptr<Broker>> opened = Broker::open(node, options);
  ASSERT_TRUE(opened);
  std::atomic<bool> is_over = false;
  std::thread thread([&] {
    while (!is_over) {
      (void)node.step(0);
      (void)opened.value()->step();
      std::this_thread::yield();
    }
  });
  auto client = open();
  std::size_t low = 0;
  for (int refused = 0; refused < 200;) {
    if (client->send(1, 5, bytes_of("low")) == Reply::NoError) {
      ++low;
      refused = 0;
    } else {
      ++refused;
      ::usleep(100);
    }
  }
  EXPECT_GE(low, Links::kWindow + PageLayout::kCommands);  // under way, and in the ring
  SendHow high;
  high.priority = Priority::High;
  EXPECT_EQ(client->send(client->node(), client->vpid(), bytes_of("high"), high), Reply::NoError);
  EXPECT_EQ(receive(*client), "high");
  client.reset();
  is_over = true;
  thread.join();
}

// Unpinned memory: files that clients share.

constexpr std::size_t kResident = 32 * kPageBytes;

/// A file without a name, in memory, each word of which holds its own position.
class NumberedFile {
 public:
  explicit NumberedFile(std::size_t pages) : file_(::memfd_create("numbered", MFD_CLOEXEC)) {
    std::vector<std::uint64_t> words(kPageBytes / 8);
    for (std::size_t page = 0; page < pages; ++page) {
      for (std::size_t i = 0; i < words.size(); ++i) words[i] = word_at(page, i);
      const auto at = static_cast<off_t>(page * kPageBytes);
      EXPECT_EQ(::pwrite(file_.get(), words.data(), kPageBytes, at), static_cast<ssize_t>(kPageBytes));
    }
  }
  static std::uint64_t word_at(std::size_t page, std::size_t word) { return (page + 1) << 32U | word; }
  [[nodiscard]] int get() const { return file_.get(); }
  [[nodiscard]] std::uint64_t read_word(std::size_t page) const {
    std::uint64_t word = 0;
    EXPECT_EQ(::pread(file_.get(), &word, sizeof(word), static_cast<off_t>(page * kPageBytes)), 8);
    return word;
  }

 private:
  os::Descriptor file_;
};

class UnpinnedClients : public Clients {
 protected:
  void SetUp() override {
    FaultSource faults;
    if (!faults.open()) GTEST_SKIP() << "this kernel gives no userfaultfd";
    options.entitlements[0].unpinned_bytes = 64U << 20U;
    options.entitlements[0].resident_bytes = kResident;
  }
  /// A node that waits for a page, and for a processor, is not lost.
  static NodeOptions patient() {
    NodeOptions how;
    how.link.silence_ns = 20'000'000'000;
    return how;
  }
  /// Waits until memory of clients that have exited was given back.
  static bool is_given_back(Host& host) {
    for (int i = 0; i < 10'000; ++i) {
      host.stop();
      const bool is_free = host.broker->paging().memories == 0 && host.broker->unflushed() == 0;
      if (is_free) return true;
      host.start();
      ::usleep(1'000);
    }
    return false;
  }
  static std::string refusal(const Result<Nla>& result) { return result ? "" : result.message(); }
};

TEST_F(UnpinnedClients, read_a_file_of_many_times_what_may_be_here) {
  constexpr std::size_t kPages = 1'024;  // 32 times what may be here
  Host host(options, patient());
  host.start();
  auto owner = open();
  const auto reader = open();
  ASSERT_TRUE(owner && reader);
  const NumberedFile file(kPages);
  const Result<Nla> address = owner->share_file(file.get(), kPages * kPageBytes, kResident, Access::Read);
  ASSERT_TRUE(address) << address.message();
  const auto window = owner->open_window(address.value(), kPages * kPageBytes, Access::Read);
  ASSERT_TRUE(window) << window.message();
  EXPECT_FALSE(owner->open_window(address.value(), kPages * kPageBytes, Access::ReadWrite));
  auto into = reader->share(16 * kPageBytes, Access::ReadWrite);
  ASSERT_TRUE(into) << into.message();
  // Twice, and the second time backwards: what was evicted comes again.
  for (std::size_t i = 0; i < 2 * kPages; i += 16) {
    const std::size_t first = i < kPages ? i : 2 * kPages - i - 16;
    Command get = transfer(Operation::Get, *owner, window.value());
    get.offset = first * kPageBytes;
    get.address = into.value().address;
    get.length = 16 * kPageBytes;
    get.modifiers = kNotifyCompleter;
    ASSERT_EQ(issue(*reader, get), Error::None) << first;
    const auto* const words = reinterpret_cast<const std::uint64_t*>(into.value().memory.span().data());
    for (std::size_t page = 0; page < 16; ++page) {
      ASSERT_EQ(words[page * 512], NumberedFile::word_at(first + page, 0));
      ASSERT_EQ(words[page * 512 + 511], NumberedFile::word_at(first + page, 511));
    }
  }
  host.stop();
  const PagingUse use = host.broker->paging();
  EXPECT_EQ(use.memories, 1U);
  EXPECT_EQ(use.file_bytes, kPages * kPageBytes);
  EXPECT_EQ(use.resident_bytes, kResident);
  EXPECT_GE(use.fetched, 2 * kPages - 64);
  EXPECT_GE(use.evicted, use.fetched - kResident / kPageBytes);
  EXPECT_EQ(use.failures, 0U);
  // It dies: all of it is given back, and others are notified.
  host.start();
  owner.reset();
  ASSERT_TRUE(is_given_back(host));
  EXPECT_EQ(host.broker->paging().resident_bytes, 0U);
  EXPECT_GE(host.broker->paging().fetched, use.fetched) << "what was counted stays";
}

TEST_F(UnpinnedClients, have_all_changes_in_the_file_when_the_memory_is_gone) {
  constexpr std::size_t kPages = 256;
  Host host(options, patient());
  host.start();
  auto owner = open();
  const auto writer = open();
  const NumberedFile file(kPages);
  const Result<Nla> address = owner->share_file(file.get(), kPages * kPageBytes, kResident, Access::ReadWrite);
  ASSERT_TRUE(address) << address.message();
  const auto window = owner->open_window(address.value(), kPages * kPageBytes, Access::ReadWrite);
  ASSERT_TRUE(window) << window.message();
  for (std::size_t page = 0; page < kPages; page += 2) {
    Command put = transfer(Operation::ImmediatePut, *owner, window.value());
    put.offset = page * kPageBytes;
    put.address = 7'000'000 + page;
    ASSERT_EQ(issue(*writer, put), Error::None);
  }
  if (::testing::Test::HasFailure()) return;
  EXPECT_EQ(testing::why(owner->unshare(address.value())), "");
  ASSERT_TRUE(is_given_back(host));
  for (std::size_t page = 0; page < kPages; ++page) {
    ASSERT_EQ(file.read_word(page), page % 2 == 0 ? 7'000'000 + page : NumberedFile::word_at(page, 0)) << page;
  }
  EXPECT_GE(host.broker->paging().written, kPages / 2);
  // The window is closed, and there is room for another file.
  host.start();
  Command put = transfer(Operation::ImmediatePut, *owner, window.value());
  EXPECT_NE(issue(*writer, put), Error::None);
  EXPECT_TRUE(owner->share_file(file.get(), kPages * kPageBytes, kResident, Access::Read));
}

TEST_F(UnpinnedClients, get_no_more_than_they_are_entitled_to) {
  options.entitlements[0].unpinned_bytes = 100 * kPageBytes;
  options.resident_bytes = kResident + 16 * kPageBytes;
  Host host(options, patient());
  host.start();
  auto a = open();
  auto b = open();
  const NumberedFile file(200);
  const auto share = [&](Client& client, std::size_t pages, std::size_t resident_pages) {
    return refusal(client.share_file(file.get(), pages * kPageBytes, resident_pages * kPageBytes, Access::Read));
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(share(*a, 101, 16), HasSubstr("ERR_QUEUE_FULL: exceeds the port's limit of shared files"));
  EXPECT_THAT(share(*a, 100, 33), HasSubstr("exceeds the port's limit of resident bytes"));
  EXPECT_THAT(share(*a, 100, 15), HasSubstr("16 to 4194304 resident pages"));
  EXPECT_THAT(share(*a, 0, 16), HasSubstr("ERR_OLENGTH"));
  EXPECT_EQ(share(*a, 50, 16), "");
  EXPECT_THAT(share(*a, 51, 16), HasSubstr("exceeds the port's limit of shared files"));
  EXPECT_EQ(share(*a, 50, 16), "");
  EXPECT_EQ(share(*b, 10, 16), "");
  EXPECT_THAT(share(*b, 10, 16), HasSubstr("exceeds the broker's limit of resident bytes"));
  a.reset();
  std::string last;
  for (int i = 0; i < 10'000 && !(last = share(*b, 10, 16)).empty(); ++i) ::usleep(1'000);
  EXPECT_EQ(last, "");
  b.reset();
  EXPECT_TRUE(is_given_back(host));
}

TEST_F(UnpinnedClients, of_other_entitlements_get_none) {
  options.entitlements[0].unpinned_bytes = 0;
  Host host(options, patient());
  host.start();
  const auto client = open();
  const NumberedFile file(16);
  EXPECT_THAT(refusal(client->share_file(file.get(), kPageBytes, 16 * kPageBytes, Access::Read)),
              ::testing::HasSubstr("exceeds the port's limit of shared files"));
}

TEST_F(UnpinnedClients, share_only_files_that_cannot_stop_the_node) {
  using ::testing::HasSubstr;
  Host host(options, patient());
  host.start();
  const auto client = open();
  const auto share = [&](int file, std::uint64_t bytes = kPageBytes, Access access = Access::Read) {
    return refusal(client->share_file(file, bytes, 16 * kPageBytes, access));
  };
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  const os::Descriptor reads(pipe[0]);
  const os::Descriptor writes(pipe[1]);
  EXPECT_THAT(share(reads.get()), HasSubstr("ERR_POSTED_PA_INV"));
  const os::Descriptor proc(::open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  EXPECT_THAT(share(proc.get()), HasSubstr("must be a file on ext4, xfs, btrfs or tmpfs"));
  const os::Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_THAT(share(socket.get()), HasSubstr("ERR_POSTED_PA_INV"));
  const NumberedFile file(4);
  EXPECT_THAT(share(file.get(), 5 * kPageBytes), HasSubstr("the file is shorter"));
  EXPECT_THAT(share(file.get(), ~std::uint64_t{0}), HasSubstr("exceeds the port's limit of shared files"));
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  const os::Descriptor reading(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_THAT(share(reading.get(), kPageBytes, Access::ReadWrite), HasSubstr("not open for this access"));
  const os::Descriptor appending(::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC));
  EXPECT_THAT(share(appending.get(), kPageBytes, Access::ReadWrite), HasSubstr("open for appending"));
  EXPECT_EQ(share(appending.get(), kPageBytes, Access::Read), "");
  const os::Descriptor named(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (const auto shared = client->share_file(named.get(), kPageBytes, 16 * kPageBytes, Access::Read)) {
    // It cannot be read: a reader gets an error.
    const auto window = client->open_window(shared.value(), kPageBytes, Access::Read);
    ASSERT_TRUE(window) << window.message();
    auto into = client->share(kPageBytes, Access::ReadWrite);
    ASSERT_TRUE(into) << into.message();
    Command get = transfer(Operation::Get, *client, window.value());
    get.address = into.value().address;
    get.length = kPageBytes;
    EXPECT_NE(issue(*client, get), Error::None);
  }
}

TEST_F(UnpinnedClients, that_die_with_transfers_under_way_harm_nobody) {
  constexpr std::size_t kPages = 2'048;
  Host host(options, patient());
  host.start();
  const auto reader = open();
  auto into = reader->share(64 * kPageBytes, Access::ReadWrite);
  ASSERT_TRUE(into) << into.message();
  const NumberedFile file(kPages);
  for (int round = 0; round < 20; ++round) {
    auto owner = open();
    ASSERT_NE(owner, nullptr);
    Result<Nla> address = Failure{"not yet"};
    // The one before may still be given back.
    for (int i = 0; i < 10'000 && !address; ++i) {
      address = owner->share_file(file.get(), kPages * kPageBytes, kResident, Access::ReadWrite);
      if (!address) ::usleep(1'000);
    }
    ASSERT_TRUE(address) << address.message();
    const auto window = owner->open_window(address.value(), kPages * kPageBytes, Access::ReadWrite);
    ASSERT_TRUE(window) << window.message();
    for (std::size_t i = 0; i < 8; ++i) {
      Command get = transfer(Operation::Get, *owner, window.value());
      get.offset = i * 64 * kPageBytes;
      get.address = into.value().address;
      get.length = 64 * kPageBytes;
      get.modifiers = kNotifyCompleter;
      ASSERT_EQ(reader->queue(CommandRing::Transfer).insert({&get, 1}).reply, Reply::NoError);
    }
    if (round % 3 != 0) ::usleep(static_cast<useconds_t>(50 * round));
    owner.reset();
    for (int i = 0; i < 8; ++i) (void)notified(*reader);  // each ends, well or not
  }
  EXPECT_TRUE(is_given_back(host));
  for (std::size_t page = 0; page < kPages; page += 100) {
    EXPECT_EQ(file.read_word(page), NumberedFile::word_at(page, 0));
  }
}

}  // namespace stopbit::nic::node_test
