#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "host/nic/transport/udp/control_message.hpp"
#include "host/nic/transport/udp/datagram.hpp"
#include "host/nic/transport/udp/endpoint.hpp"
#include "host/nic/transport/udp/peer_keys.hpp"
#include "host/nic/transport/udp/peers.hpp"
#include "host/nic/transport/udp/replay_window.hpp"
#include "host/nic/transport/udp/secure_stream.hpp"

namespace stopbit::nic::udp_parts_test {

constexpr std::uint64_t kSecond = 1'000'000'000;

TEST(UdpEndpoint, reads_what_it_writes_and_knows_loopback) {
  for (const char* const text : {"10.1.2.3:5177", "127.0.0.1:1", "[::1]:65535", "[fd00::1]:5177"}) {
    const Result<UdpEndpoint> read = resolve(text);
    ASSERT_TRUE(read.ok()) << text;
    EXPECT_EQ(to_text(read.value()), text);
    const UdpSocketAddress address = to_socket_address(read.value());
    EXPECT_EQ(to_endpoint(address.storage, address.bytes), read.value());
    EXPECT_EQ(read.value().is_loopback(),
              std::string(text).starts_with("127") || std::string(text).starts_with("[::1"));
  }
  for (const char* const text :
       {"", "10.1.2.3", ":5177", "fd00::1:5177", "10.1.2.3:", "10.1.2.3:x", "10.1.2.3:70000"}) {
    EXPECT_FALSE(resolve(text).ok()) << text;
  }
  EXPECT_EQ(to_endpoint({}, 0), std::nullopt);
}

TEST(ReplayWindow, takes_each_number_once_like_a_set_in_any_order) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20; ++round) {
    ReplayWindow window;
    std::set<std::uint64_t> seen;
    std::uint64_t highest = 0;
    for (int i = 0; i < 20'000; ++i) {
      const std::uint64_t step = random() % 1000;
      const std::uint64_t ahead = step == 0 ? random() % 100'000 : random() % 4;
      const std::uint64_t behind = random() % (step < 10 ? 5000 : 300);
      const std::uint64_t number = step % 2 == 0 ? highest + ahead : highest - std::min(highest, behind);
      const bool is_known =
          number == 0 || seen.contains(number) || (number <= highest && highest - number >= ReplayWindow::kNumbers);
      ASSERT_EQ(window.is_new(number), !is_known) << number << " at " << highest;
      if (is_known) continue;
      window.accept(number);
      seen.insert(number);
      highest = std::max(highest, number);
    }
  }
}

TEST(ReplayWindow, remembers_1024_numbers_at_least_and_the_last_number_there_is) {
  static_assert(ReplayWindow::kNumbers >= 1024);
  ReplayWindow window;
  window.accept(5000);
  EXPECT_TRUE(window.is_new(5000 - ReplayWindow::kNumbers + 1));
  EXPECT_FALSE(window.is_new(5000 - ReplayWindow::kNumbers));
  window.accept(~std::uint64_t{0});
  EXPECT_FALSE(window.is_new(~std::uint64_t{0}));
  EXPECT_TRUE(window.is_new(~std::uint64_t{0} - 1));
  EXPECT_FALSE(window.is_new(5001));
}

UdpKey key_of(std::uint8_t seed) {
  UdpKey key;
  key.fill(std::byte{seed});
  return key;
}

class UdpSeals : public ::testing::TestWithParam<UdpCipher> {};
INSTANTIATE_TEST_SUITE_P(Ciphers, UdpSeals, ::testing::Values(UdpCipher::Aes128Gcm, UdpCipher::ChaCha20Poly1305));

TEST_P(UdpSeals, opens_what_was_sealed_and_nothing_in_which_a_bit_was_flipped) {
  UdpSeal sealer;
  UdpSeal opener;
  ASSERT_TRUE(sealer.set(GetParam(), UdpSeal::Use::Seal, key_of(7)));
  ASSERT_TRUE(opener.set(GetParam(), UdpSeal::Use::Open, key_of(7)));
  UdpHead head;
  head.flags = kUdpSealed;
  head.epoch = 3;
  head.sequence = 9;
  const std::string text = "a frame of a certain length";
  std::vector<std::byte> datagram(text.size() + kUdpTagBytes);
  std::memcpy(datagram.data(), text.data(), text.size());
  ASSERT_TRUE(sealer.seal(head, std::span(datagram).first(text.size()), std::span(datagram).last<kUdpTagBytes>()));
  EXPECT_NE(std::memcmp(datagram.data(), text.data(), text.size()), 0);
  const auto opens = [&](UdpHead with, std::vector<std::byte> bytes) {
    return opener.open(with, std::span(bytes).first(text.size()), std::span(bytes).last<kUdpTagBytes>()) &&
           std::memcmp(bytes.data(), text.data(), text.size()) == 0;
  };
  EXPECT_TRUE(opens(head, datagram));
  for (std::size_t bit = 0; bit < 8 * datagram.size(); ++bit) {
    std::vector<std::byte> flipped = datagram;
    flipped[bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_FALSE(opens(head, flipped)) << bit;
  }
  for (std::size_t bit = 0; bit < 8 * sizeof(head); ++bit) {
    UdpHead flipped = head;
    std::as_writable_bytes(std::span(&flipped, 1))[bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_FALSE(opens(flipped, datagram)) << bit;
  }
  ASSERT_TRUE(opener.set(GetParam(), UdpSeal::Use::Open, key_of(8)));
  EXPECT_FALSE(opens(head, datagram));
  opener.clear();
  EXPECT_FALSE(opens(head, datagram));
}

/// Two nodes and what they say to each other.
struct Pair {
  UdpPeerKeys a;
  UdpPeerKeys b;
  UdpKeyLimits limits;

  void install(std::uint32_t epoch, bool at_a, bool at_b, std::uint64_t now) {
    UdpPairKeys keys;
    keys.epoch = epoch;
    keys.send = key_of(static_cast<std::uint8_t>(2 * epoch));
    keys.receive = key_of(static_cast<std::uint8_t>(2 * epoch + 1));
    ASSERT_TRUE(!at_a || a.install(UdpCipher::Aes128Gcm, keys, now));
    std::swap(keys.send, keys.receive);
    ASSERT_TRUE(!at_b || b.install(UdpCipher::Aes128Gcm, keys, now));
  }
  struct Datagram {
    UdpHead head;
    std::array<std::byte, 8> text{};
    std::array<std::byte, kUdpTagBytes> tag{};
  };
  [[nodiscard]] std::optional<Datagram> seal(UdpPeerKeys& from) const {
    Datagram datagram;
    if (!from.seal(limits, datagram.head, datagram.text, datagram.tag)) return std::nullopt;
    return datagram;
  }
  [[nodiscard]] static UdpOpened open(UdpPeerKeys& to, Datagram datagram, std::uint64_t now = 0) {
    return to.open(datagram.head, datagram.text, datagram.tag, now);
  }
};

TEST(UdpPeerKeys, refuse_replays_and_reflections_and_forged_numbers_change_nothing) {
  Pair pair;
  EXPECT_FALSE(pair.seal(pair.a));
  pair.install(1, true, true, 0);
  const auto first = pair.seal(pair.a);
  const auto second = pair.seal(pair.a);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(pair.open(pair.b, *second), UdpOpened::Authentic);
  EXPECT_EQ(pair.open(pair.b, *second), UdpOpened::Replayed);
  EXPECT_EQ(pair.open(pair.a, *first), UdpOpened::Forged) << "reflected to its sender";
  Pair::Datagram far = *first;
  far.head.sequence = 1'000'000;
  EXPECT_EQ(pair.open(pair.b, far), UdpOpened::Forged);
  EXPECT_EQ(pair.open(pair.b, *first), UdpOpened::Authentic) << "a forged number moved the window";
  Pair::Datagram other = *first;
  other.head.epoch = 2;
  EXPECT_EQ(pair.open(pair.b, other), UdpOpened::UnknownEpoch);
}

TEST(UdpPeerKeys, change_over_without_losing_a_datagram_and_then_forget_the_old_keys) {
  Pair pair;
  pair.install(1, true, true, 0);
  const auto early = pair.seal(pair.a);
  pair.install(2, true, false, 10 * kSecond);
  EXPECT_EQ(pair.a.sending_epoch(), 1U) << "the other may not have them yet";
  EXPECT_EQ(pair.open(pair.b, *pair.seal(pair.a), 10 * kSecond), UdpOpened::Authentic);
  pair.install(2, false, true, 11 * kSecond);
  EXPECT_EQ(pair.open(pair.a, *pair.seal(pair.b), 11 * kSecond), UdpOpened::Authentic);
  pair.a.step(pair.limits, 15 * kSecond);
  EXPECT_EQ(pair.a.sending_epoch(), 2U) << "after its time";
  const auto newer = pair.seal(pair.a);
  EXPECT_EQ(pair.b.sending_epoch(), 1U);
  EXPECT_EQ(pair.open(pair.b, *newer, 15 * kSecond), UdpOpened::Authentic);
  EXPECT_EQ(pair.b.sending_epoch(), 2U) << "because the other has";
  EXPECT_EQ(pair.open(pair.b, *early, 15 * kSecond), UdpOpened::Authentic) << "both are good for a while";
  pair.b.step(pair.limits, 44 * kSecond);
  EXPECT_EQ(pair.open(pair.b, *early, 44 * kSecond), UdpOpened::Replayed);
  pair.b.step(pair.limits, 45 * kSecond);
  EXPECT_EQ(pair.open(pair.b, *early, 45 * kSecond), UdpOpened::UnknownEpoch);
  pair.install(1, false, true, 46 * kSecond);
  EXPECT_EQ(pair.open(pair.b, *early, 46 * kSecond), UdpOpened::UnknownEpoch) << "an old epoch does not return";
  pair.install(3, true, true, 50 * kSecond);
  pair.install(4, true, true, 51 * kSecond);
  EXPECT_EQ(pair.a.sending_epoch(), 3U);
  EXPECT_EQ(pair.open(pair.b, *pair.seal(pair.a), 51 * kSecond), UdpOpened::Authentic);
  pair.a.clear();
  EXPECT_FALSE(pair.seal(pair.a));
  pair.install(4, true, false, 52 * kSecond);
  EXPECT_TRUE(pair.seal(pair.a)) << "after a new session epochs begin anew";
}

TEST(UdpPeerKeys, ask_for_newer_ones_at_half_of_their_limit_and_stop_at_it) {
  Pair pair;
  pair.limits.datagrams = 10;
  pair.install(1, true, true, 0);
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(pair.a.wants_newer(pair.limits));
    EXPECT_TRUE(pair.seal(pair.a));
  }
  EXPECT_TRUE(pair.a.wants_newer(pair.limits));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(pair.seal(pair.a));
  EXPECT_FALSE(pair.seal(pair.a));
  pair.install(2, true, true, 0);
  EXPECT_FALSE(pair.a.wants_newer(pair.limits));
  EXPECT_FALSE(pair.seal(pair.a));
  pair.a.step(pair.limits, pair.limits.switch_ns);
  EXPECT_EQ(pair.open(pair.b, *pair.seal(pair.a)), UdpOpened::Authentic);
}

TEST(UdpMessages, are_read_as_written_in_pieces_of_any_length) {
  UdpHello hello;
  hello.incarnation = 5;
  hello.network = {'n'};
  UdpWelcome welcome;
  welcome.session = 3;
  welcome.cipher = UdpCipher::ChaCha20Poly1305;
  UdpRefused refused;
  refused.reason = UdpRefusal::Taken;
  UdpPeerLine line;
  line.node = 7;
  line.session = 9;
  line.receive = key_of(3);
  std::vector<std::byte> stream;
  UdpMessageBuffer buffer;
  const auto add = [&](std::span<const std::byte> message) {
    stream.insert(stream.end(), message.begin(), message.end());
  };
  add(write_message(buffer, UdpMessageKind::Hello, hello));
  add(write_message(buffer, UdpMessageKind::Alive));
  add(write_message(buffer, UdpMessageKind::Welcome, welcome));
  add(write_message(buffer, UdpMessageKind::Peer, line));
  add(write_message(buffer, UdpMessageKind::Refused, refused));
  add(write_message(buffer, UdpMessageKind::Leave));
  const std::vector<UdpMessageKind> expected = {UdpMessageKind::Hello, UdpMessageKind::Alive,   UdpMessageKind::Welcome,
                                                UdpMessageKind::Peer,  UdpMessageKind::Refused, UdpMessageKind::Leave};
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    UdpMessageReader reader;
    std::vector<UdpMessageKind> kinds;
    for (std::size_t at = 0; at < stream.size();) {
      while (const std::optional<UdpMessage> message = reader.next()) {
        kinds.push_back(message->kind);
        if (message->kind == UdpMessageKind::Peer) {
          EXPECT_EQ(body_of<UdpPeerLine>(*message).receive, line.receive);
        }
      }
      ASSERT_FALSE(reader.is_malformed());
      const std::span<std::byte> room = reader.room();
      ASSERT_FALSE(room.empty());
      const std::size_t count = std::min({piece, room.size(), stream.size() - at});
      std::copy_n(stream.begin() + static_cast<std::ptrdiff_t>(at), count, room.begin());
      reader.filled(count);
      at += count;
    }
    while (const std::optional<UdpMessage> message = reader.next()) kinds.push_back(message->kind);
    EXPECT_EQ(kinds, expected) << piece;
  }
  // Each byte of the first message counts.
  for (std::size_t i = 0; i < sizeof(UdpMessageHead) + sizeof(UdpHello); ++i) {
    UdpMessageReader reader;
    std::copy_n(stream.begin(), reader.room().size(), reader.room().begin());
    reader.room()[i] ^= std::byte{4};
    reader.filled(reader.room().size());
    EXPECT_FALSE(reader.next());
    EXPECT_TRUE(reader.is_malformed()) << i;
  }
}

/// Two ends of a control connection; everything that travels.
struct Ends {
  Ends(const std::string& server_token, const std::string& client_token) {
    EXPECT_TRUE(server_tls.open(server_token).ok());
    EXPECT_TRUE(client_tls.open(client_token).ok());
    server.emplace(server_tls, UdpStream::Role::Server);
    client.emplace(client_tls, UdpStream::Role::Client);
  }
  void move(UdpStream& from, UdpStream& to) {
    const std::span<const std::byte> bytes = from.waiting();
    wire.insert(wire.end(), bytes.begin(), bytes.end());
    to.take(bytes);
    from.sent(bytes.size());
  }
  void run() {
    for (int i = 0; i < 10; ++i) {
      move(*client, *server);
      move(*server, *client);
    }
  }
  [[nodiscard]] bool wire_has(const std::string& text) const {
    const auto bytes = std::as_bytes(std::span(text));
    return std::search(wire.begin(), wire.end(), bytes.begin(), bytes.end()) != wire.end();
  }
  UdpTls server_tls;
  UdpTls client_tls;
  std::optional<UdpStream> server;
  std::optional<UdpStream> client;
  std::vector<std::byte> wire;
};

TEST(UdpStream, opens_with_one_token_and_neither_it_nor_the_text_travels) {
  const std::string token = "correct horse battery";
  const std::string text = "a secret of two nodes";
  Ends ends(token, token);
  ends.run();
  ASSERT_TRUE(ends.server->is_open() && ends.client->is_open());
  ends.server->write(std::as_bytes(std::span(text)));
  ends.run();
  std::array<std::byte, 100> into;
  ASSERT_EQ(ends.client->read(into), text.size());
  EXPECT_EQ(std::memcmp(into.data(), text.data(), text.size()), 0);
  EXPECT_FALSE(ends.wire_has(token));
  EXPECT_FALSE(ends.wire_has(text));
  Ends plain("", "");
  plain.server->write(std::as_bytes(std::span(text)));
  plain.run();
  EXPECT_TRUE(plain.wire_has(text)) << "the test does not see what travels";
}

TEST(UdpStream, is_refused_with_another_token_or_without_one) {
  Ends other("correct horse battery", "correct horse batterz");
  other.run();
  EXPECT_TRUE(other.server->was_refused());
  EXPECT_TRUE(other.client->was_refused());
  Ends without("correct horse battery", "");
  without.client->write(std::as_bytes(std::span("hello")));
  without.run();
  EXPECT_TRUE(without.server->was_refused());
}

TEST(UdpStream, ends_when_a_stranger_sends_more_than_a_handshake_needs) {
  UdpTls tls;
  ASSERT_TRUE(tls.open("correct horse battery").ok());
  UdpStream stream(tls, UdpStream::Role::Server);
  // A ClientHello of a megabyte, a record at a time.
  std::vector<std::byte> record(4096 + 5);
  const std::array<std::uint8_t, 9> begin = {0x16, 3, 1, 0x10, 0, 1, 0x0F, 0xFF, 0xFF};
  std::memcpy(record.data(), begin.data(), begin.size());
  std::size_t taken = 0;
  for (; stream.is_good() && taken < 100; ++taken) stream.take(record);
  EXPECT_LE(taken, 3U);
}

/// The tables of two members, as node 0 has filled them.
struct Tables {
  explicit Tables(UdpCipher how) : cipher(how) {
    options.frame_bytes = 256;
    options.nodes = 4;
    a.enter(1, 11, cipher);
    b.enter(2, 22, cipher);
    const bool is_sealed = cipher != UdpCipher::None;
    UdpPeerLine line;
    line.epoch = is_sealed ? 1 : 0;
    line.node = 2;
    line.session = 22;
    line.send = key_of(5);
    line.receive = key_of(6);
    EXPECT_TRUE(a.set(line, at_b, 0));
    line.node = 1;
    line.session = 11;
    std::swap(line.send, line.receive);
    EXPECT_TRUE(b.set(line, at_a, 0));
  }
  [[nodiscard]] std::vector<std::byte> sealed(UdpPeers& from, NodeId to, std::string_view text) const {
    std::vector<std::byte> datagram(options.frame_bytes + kUdpExtraBytes);
    datagram.resize(from.seal(to, std::as_bytes(std::span(text)), datagram));
    return datagram;
  }
  [[nodiscard]] static std::optional<std::string> opened(UdpPeers& by, const UdpEndpoint& source,
                                                         std::vector<std::byte> datagram) {
    const UdpSocketAddress address = to_socket_address(source);
    const auto found = by.open(address.storage, address.bytes, datagram, 0);
    if (!found) return std::nullopt;
    return std::string(reinterpret_cast<const char*>(found->frame.data()), found->frame.size());
  }
  UdpCipher cipher;
  UdpOptions options;
  UdpCounters counts_a;
  UdpCounters counts_b;
  UdpPeers a{options, counts_a};
  UdpPeers b{options, counts_b};
  UdpEndpoint at_a{{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 0, 0, 1}}, 1000};
  UdpEndpoint at_b{{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 0, 0, 2}}, 2000};
};

TEST(UdpPeers, believe_keys_or_without_them_the_source_address) {
  for (const UdpCipher cipher : {UdpCipher::None, UdpCipher::Aes128Gcm}) {
    const bool is_sealed = cipher != UdpCipher::None;
    Tables tables(cipher);
    EXPECT_EQ(tables.opened(tables.b, tables.at_a, tables.sealed(tables.a, 2, "one")), "one");
    const bool is_believed = tables.opened(tables.b, tables.at_b, tables.sealed(tables.a, 2, "two")).has_value();
    EXPECT_EQ(is_believed, is_sealed);
    EXPECT_EQ(tables.counts_b.forged, is_sealed ? 0U : 1U);
    // To another node, reflected, of another session, of another form, cut.
    const std::vector<std::byte> good = tables.sealed(tables.a, 2, "three");
    EXPECT_FALSE(tables.opened(tables.a, tables.at_b, good));
    EXPECT_EQ(tables.counts_a.strangers, 1U);
    std::vector<std::byte> bad = good;
    bad[offsetof(UdpHead, session)] ^= std::byte{1};
    EXPECT_FALSE(tables.opened(tables.b, tables.at_a, bad));
    EXPECT_EQ(tables.counts_b.stale, 1U);
    bad = good;
    bad[offsetof(UdpHead, version)] = std::byte{2};
    EXPECT_FALSE(tables.opened(tables.b, tables.at_a, bad));
    EXPECT_EQ(tables.counts_b.version, 1U);
    bad.assign(tables.options.frame_bytes + kUdpExtraBytes + 1, std::byte{1});
    std::copy_n(good.begin(), sizeof(UdpHead), bad.begin());
    EXPECT_FALSE(tables.opened(tables.b, tables.at_a, bad));
    EXPECT_EQ(tables.counts_b.malformed, 1U);
    // Sealed where plain is expected, and the other way round.
    UdpHead head;
    std::memcpy(&head, good.data(), sizeof(head));
    head.flags = is_sealed ? 0 : kUdpSealed;
    head.epoch = is_sealed ? 0 : 1;
    head.sequence = is_sealed ? 0 : 1;
    bad.assign(100, std::byte{0});
    std::memcpy(bad.data(), &head, sizeof(head));
    const std::uint64_t forged = tables.counts_b.forged;
    EXPECT_FALSE(tables.opened(tables.b, tables.at_a, bad));
    EXPECT_EQ(tables.counts_b.forged, forged + 1);
    EXPECT_EQ(tables.opened(tables.b, tables.at_a, good), "three");
    tables.b.remove(1);
    EXPECT_FALSE(tables.opened(tables.b, tables.at_a, good));
    EXPECT_EQ(tables.counts_b.strangers, 1U);
  }
}

TEST(UdpPeers, limit_what_is_sent_to_one_node) {
  Tables tables(UdpCipher::None);
  tables.options.peer_bytes_per_second = 100'000;
  EXPECT_FALSE(tables.a.allows(2, 100));
  std::size_t sent = 0;
  for (std::uint64_t now = kSecond; now <= 2 * kSecond; now += 1'000'000) {
    tables.a.step(now);
    while (tables.a.allows(2, 100)) {
      ASSERT_NE(tables.sealed(tables.a, 2, std::string(100, 'x')).size(), 0U);
      sent += 100;
    }
  }
  EXPECT_GE(sent, 100'000U);
  EXPECT_LE(sent, 102'000U);
}

}  // namespace stopbit::nic::udp_parts_test
