#include "host/relay/message.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "host/relay/kafka/kafka.hpp"
#include "host/relay/kafka/record.hpp"
#include "host/relay/nats/answer.hpp"
#include "host/relay/nats/nats.hpp"
#include "host/relay/time_search.hpp"
#include "host/relay/unpacker.hpp"
#include "host/ring/layout.hpp"

namespace stopbit::relay::message_test {

Head some_head() {
  Head head;
  head.epoch = 7;
  head.first = 1000;
  head.end = 1002;
  head.records = 40;
  head.count = 2;
  head.layout = 99;
  head.channel = 310;
  return head;
}

std::vector<std::byte> message_of(const Head& head) {
  std::vector<std::byte> message(head.bytes());
  encode_head(head, message);
  return message;
}

TEST(RelayMessage, comes_back_as_it_was_written) {
  Head head = some_head();
  head.is_open = true;
  head.part = 5;
  const std::vector<std::byte> message = message_of(head);
  ASSERT_EQ(message.size(), kHeadBytes + 2 * record::kSlotBytes);
  const Result<Head> back = decode_message(message);
  ASSERT_TRUE(back) << back.message();
  EXPECT_EQ(id_of(back.value()), "r7.1000.1002");
  EXPECT_EQ(message_of(back.value()), message);
}

TEST(RelayMessage, refuses_every_changed_bit) {
  const std::vector<std::byte> good = message_of(some_head());
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::vector<std::byte> bad = good;
    bad[bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_FALSE(decode_message(bad)) << bit;
  }
}

TEST(RelayMessage, refuses_lengths_that_contradict_its_numbers) {
  const std::vector<std::byte> good = message_of(some_head());
  EXPECT_FALSE(decode_message({}));
  EXPECT_FALSE(decode_message(std::span(good).first(63)));
  EXPECT_FALSE(decode_message(std::span(good).first(64)));
  EXPECT_FALSE(decode_message(std::vector<std::byte>(kMessageBytes + record::kSlotBytes)));
  const auto refuses = [](auto change) {
    Head head = some_head();
    std::vector<std::byte> message(head.bytes());
    change(head);
    encode_head(head, message);
    return !decode_message(message);
  };
  EXPECT_FALSE(refuses([](Head&) {}));
  EXPECT_TRUE(refuses([](Head& head) { head.end = head.first - 1; }));
  EXPECT_TRUE(refuses([](Head& head) { head.end += 1; }));
  EXPECT_TRUE(refuses([](Head& head) { head.count = 3; }));
  EXPECT_TRUE(refuses([](Head& head) { head.count = 0; }));
  EXPECT_TRUE(refuses([](Head& head) { head.records = ~std::uint64_t{0}; }));
  EXPECT_TRUE(refuses([](Head& head) { head.kind = Kind::Begin; }));
  EXPECT_TRUE(refuses([](Head& head) { head.kind = static_cast<Kind>(9); }));
  EXPECT_TRUE(refuses([](Head& head) { head.ending = Ending::Died; }));
}

TEST(RelayMessage, counts_what_is_missing_between_messages) {
  struct : record::RecordSink {
    Place open() noexcept override { return {slots.data(), 0, false}; }
    void commit(const record::Slot& /*first*/, std::uint32_t /*slots*/) noexcept override { ++records; }
    std::array<record::Slot, 4> slots{};
    int records = 0;
  } sink;
  const auto with_slots = [](std::uint64_t first, std::uint64_t records, std::size_t count) {
    Head head = some_head();
    head.first = first;
    head.end = first + count;
    head.records = records;
    head.count = count;
    std::vector<record::Slot> slots(count);
    for (record::Slot& slot : slots) {
      slot.words[0] = std::uint64_t{1} << 16;
      slot.words[record::kTagWord] = ring::first_slot_tags(false);
    }
    std::vector<std::byte> bytes(count * sizeof(record::Slot));
    std::memcpy(bytes.data(), slots.data(), bytes.size());
    return std::pair(head, bytes);
  };
  Unpacker unpacker;
  const auto [first, first_slots] = with_slots(100, 10, 2);
  ASSERT_TRUE(unpacker.is_of_next_ring(first));
  EXPECT_EQ(unpacker.begin_ring(first, sink, 4), 0U);
  EXPECT_FALSE(unpacker.is_of_next_ring(first));
  EXPECT_EQ(unpacker.take(first, first_slots).records, 2U);
  EXPECT_TRUE(unpacker.take(first, first_slots).is_repeated);
  const auto [later, later_slots] = with_slots(110, 20, 1);
  const Taken taken = unpacker.take(later, later_slots);
  EXPECT_EQ(taken.lost, 8U);
  EXPECT_EQ(taken.records, 1U);
  auto [bad, bad_slots] = with_slots(111, 21, 2);
  bad_slots[record::kSlotBytes - 1] = std::byte{0x7F};  // not the first slot of a record
  const Taken damaged = unpacker.take(bad, bad_slots);
  EXPECT_TRUE(damaged.is_damaged);
  EXPECT_EQ(damaged.records, 1U);
  EXPECT_EQ(sink.records, 4);
}

TEST(RelayMessage, parts_of_a_layout_are_checked) {
  const std::vector<std::byte> image(kPartBytes + 10, std::byte{5});
  const std::span<const std::byte> bytes = image;
  const auto first = encode_part({1, 0, image.size(), bytes.first(kPartBytes)});
  const auto last = encode_part({1, kPartBytes, image.size(), bytes.subspan(kPartBytes)});
  ASSERT_TRUE(decode_part(first));
  ASSERT_TRUE(decode_part(last));
  EXPECT_EQ(decode_part(last).value().bytes.size(), 10U);
  EXPECT_FALSE(decode_part(std::span(last).first(20)));
  EXPECT_FALSE(decode_part(std::span(last).first(last.size() - 1)));
  EXPECT_FALSE(decode_part(encode_part({1, 5, image.size(), bytes.first(10)})));
  EXPECT_FALSE(decode_part(encode_part({1, 0, std::uint64_t{1} << 60, bytes.first(kPartBytes)})));
  EXPECT_FALSE(decode_part(encode_part({1, 0, 0, {}})));
}

TEST(NatsAddress, has_a_server_and_a_stream_and_no_password) {
  const auto address = parse_nats_address("nats://nats1.example:4222/CME_1");
  ASSERT_TRUE(address) << address.message();
  EXPECT_EQ(address.value().server, "nats://nats1.example:4222");
  EXPECT_EQ(address.value().stream, "CME_1");
  EXPECT_TRUE(parse_nats_address("nats://[::1]:4222/A"));
  for (const char* bad :
       {"nats://", "nats://host", "nats://host/", "nats:///A", "nats://host:0/A", "nats://host:65536/A",
        "nats://host:/A/B", "nats://host/A.B", "nats://host/A*", "nats://ho st/A", "nats://[::1/A",
        "nats://host,other/A", "shm://host/A", "nats://host:12x/A"}) {
    EXPECT_FALSE(parse_nats_address(bad)) << bad;
  }
  const auto with_password = parse_nats_address("nats://me:secret@host/A");
  ASSERT_FALSE(with_password);
  EXPECT_EQ(with_password.message().find("secret"), std::string::npos);
}

TEST(KafkaAddress, has_brokers_and_a_topic_and_no_password) {
  const auto address = parse_kafka_address("kafka://one:9092,[::1]:9093,three/cme.es_1");
  ASSERT_TRUE(address) << address.message();
  EXPECT_EQ(address.value().brokers, "one:9092,[::1]:9093,three");
  EXPECT_EQ(address.value().topic, "cme.es_1");
  for (const char* bad : {"kafka://", "kafka://host", "kafka://host/", "kafka:///T", "kafka://host:0/T", "kafka://a,/T",
                          "kafka://,a/T", "kafka://host/a/b", "kafka://host/a*", "kafka://host/..", "nats://host/T"}) {
    EXPECT_FALSE(parse_kafka_address(bad)) << bad;
  }
  EXPECT_FALSE(parse_kafka_address("kafka://host/" + std::string(241, 't')));
  std::string many = "kafka://h";
  for (int i = 0; i < 16; ++i) many += ",h";
  EXPECT_FALSE(parse_kafka_address(many + "/T"));
  const auto with_password = parse_kafka_address("kafka://me:secret@host/T");
  ASSERT_FALSE(with_password);
  EXPECT_EQ(with_password.message().find("secret"), std::string::npos);
}

TEST(KafkaSettings, are_those_of_access_only) {
  const auto settings = parse_kafka_settings("# of the relay\n\n sasl.password = a=b \r\nsecurity.protocol=sasl_ssl");
  ASSERT_TRUE(settings) << settings.message();
  EXPECT_EQ(settings.value(), (KafkaSettings{{"sasl.password", "a=b"}, {"security.protocol", "sasl_ssl"}}));
  for (const char* bad : {"transactional.id=x", "isolation.level=read_uncommitted", "enable.idempotence=false",
                          "auto.offset.reset=latest", "plugin.library.paths=x", "test.mock.num.brokers=1", "=x"}) {
    EXPECT_FALSE(parse_kafka_settings(bad)) << bad;
  }
  const auto secret = parse_kafka_settings("sasl.username=me\nsecret");
  ASSERT_FALSE(secret);
  EXPECT_EQ(secret.message(), "line 2 is not KEY=VALUE");
}

TEST(KafkaRecord, is_refused_if_key_header_and_message_differ) {
  const std::vector<std::byte> message = message_of(some_head());
  const Result<Head> head = decode_kafka_record({"r7.1000.1002", "310", message});
  ASSERT_TRUE(head) << head.message();
  EXPECT_EQ(head.value().end, 1002U);
  EXPECT_FALSE(decode_kafka_record({"r7.1000.1003", "310", message}));
  EXPECT_FALSE(decode_kafka_record({"", "310", message}));
  EXPECT_FALSE(decode_kafka_record({"r7.1000.1002", "311", message}));
  EXPECT_FALSE(decode_kafka_record({"r7.1000.1002", std::nullopt, message}));
  EXPECT_FALSE(decode_kafka_record({"r7.1000.1002", "310", std::span(message).first(64)}));
  EXPECT_FALSE(decode_kafka_record({"r7.1000.1002", "310", {}}));
}

TEST(TimeSearch, begins_at_the_last_message_that_may_have_a_record_before_the_time) {
  // Sequences 10 to 10 + size; 0: no record begins in the message.
  const std::vector<std::uint64_t> times = {0, 100, 0, 0, 200, 200, 0, 300, 300, 0, 0, 400, 0};
  constexpr std::uint64_t kFirst = 10;
  std::uint64_t looks = 0;
  const FindTimed find = [&](std::uint64_t first, std::uint64_t end) {
    for (; first < end; ++first) {
      ++looks;
      if (const std::uint64_t time = times[first - kFirst]) return std::optional(TimedMessage{first, time});
    }
    return std::optional<TimedMessage>();
  };
  for (std::uint64_t time = 50; time <= 450; time += 25) {
    std::uint64_t wanted = kFirst;
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (times[i] != 0 && times[i] < time) wanted = kFirst + i;
    }
    const auto found = find_time(kFirst, kFirst + times.size(), time, find);
    ASSERT_TRUE(found);
    EXPECT_EQ(found.value(), wanted) << time;
  }
  EXPECT_EQ(find_time(7, 7, 100, find).value(), 7U) << "an empty stream";
  // A million messages: as many looks as their number has bits.
  looks = 0;
  const auto far = find_time(1, 1'000'001, 777'777, [&](std::uint64_t first, std::uint64_t) {
    ++looks;
    return std::optional(TimedMessage{first, first});
  });
  EXPECT_EQ(far.value(), 777'776U);
  EXPECT_LE(looks, 20U);
  // A server that gives other messages than it was asked for, and one that fails.
  EXPECT_FALSE(find_time(1, 100, 50, [](std::uint64_t, std::uint64_t) { return std::optional(TimedMessage{1, 1}); }));
  EXPECT_FALSE(find_time(1, 100, 50, [](std::uint64_t, std::uint64_t) { return StoreFailure{}; }));
}

TEST(TimeSearch, finds_a_place_at_which_the_time_is_reached_if_the_clock_was_set_back) {
  // 20 messages, of which those from `step` on are of a clock that was set back by 7.
  for (std::size_t step = 0; step <= 20; ++step) {
    std::vector<std::uint64_t> times;
    for (std::uint64_t i = 0; i < 20; ++i) times.push_back(100 + i - (i >= step ? 7 : 0));
    const auto find = [&](std::uint64_t first, std::uint64_t end) {
      return first < end ? std::optional(TimedMessage{first, times[first]}) : std::nullopt;
    };
    for (std::uint64_t time = 80; time < 130; ++time) {
      const auto found = find_time(0, times.size(), time, find);
      ASSERT_TRUE(found);
      const std::uint64_t at = found.value();
      ASSERT_LT(at, times.size());
      // Records of that time or later follow at once, or none does in what follows; nothing before is skipped unless
      // an earlier record came first.
      EXPECT_TRUE(at == 0 || times[at] < time) << step << ' ' << time;
      EXPECT_TRUE(at + 1 == times.size() || times[at + 1] >= time || times[at] >= time) << step << ' ' << time;
    }
  }
}

TEST(TimeSearch, takes_the_time_of_the_first_record_that_begins_in_a_message) {
  std::array<record::Slot, 2> slots{};
  slots[0].words[1] = 1'000;  // goes on with a record
  slots[1].words[0] = std::uint64_t{1} << 16;
  slots[1].words[1] = 2'000;
  slots[1].words[record::kTagWord] = ring::first_slot_tags(0);
  Head head = some_head();
  const auto bytes = std::as_bytes(std::span(slots));
  EXPECT_EQ(time_of(head, bytes), 2'000U);
  EXPECT_EQ(time_of(head, bytes.first(record::kSlotBytes)), std::nullopt);
  head.kind = Kind::Lost;
  EXPECT_EQ(time_of(head, bytes), std::nullopt);
}

TEST(KafkaStatistics, say_how_far_a_reader_has_fetched) {
  EXPECT_EQ(next_offset_in(R"({"topics":{"S":{"partitions":{"0":{"partition":0,"next_offset":1234,"app_offset":7},)"
                           R"("-1":{"partition":-1,"next_offset":-1001}}}}})"),
            1234);
  EXPECT_EQ(next_offset_in(R"("next_offset": 5)"), 5);
  for (const char* none : {"", "{}", "\"next_offset\":", "\"next_offset\":-1001", "\"next_offset\":x",
                           "\"next_offset\":99999999999999999999"}) {
    EXPECT_EQ(next_offset_in(none), -1) << none;
  }
}

TEST(NatsAnswer, is_a_sequence_or_an_error) {
  EXPECT_EQ(parse_answer(R"({"stream":"S", "seq":7})").value(), 7U);
  EXPECT_EQ(parse_answer(R"({"stream":"S","domain":"d","seq":18446744073709551615})").value(), ~std::uint64_t{0});
  const auto error = parse_answer(
      R"({"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 5"},"stream":"S","seq":0})");
  ASSERT_FALSE(error);
  EXPECT_NE(error.message().find("wrong last sequence: 5"), std::string::npos);
  for (const char* bad : {"", "{}", R"({"seq":})", R"({"seq":7)", R"({"seq":0})", R"({"seq":-1})", R"({"seq":7x})",
                          R"({"stream":"S","seq":7,"duplicate":true})", R"({"error":{}})", R"({"error":)",
                          R"({"seq":99999999999999999999})"}) {
    EXPECT_FALSE(parse_answer(bad)) << bad;
  }
}

}  // namespace stopbit::relay::message_test
