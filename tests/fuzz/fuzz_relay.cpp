#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/relay/books/books.hpp"
#include "host/relay/kafka/kafka.hpp"
#include "host/relay/kafka/record.hpp"
#include "host/relay/message.hpp"
#include "host/relay/nats/answer.hpp"
#include "host/relay/nats/nats.hpp"
#include "host/relay/unpacker.hpp"

// Bytes of a stream that anyone may have written: messages, parts of layouts, a server's answers, addresses. The first
// two bytes give a message's length; what follows it is the next. Checksums are made right, so that what comes after
// them is reached.

namespace {

using namespace stopbit;

struct Sink final : record::RecordSink {
  static constexpr std::uint32_t kMostSlots = 200;
  Place open() noexcept override { return {slots.data(), 0, false}; }
  void commit(const record::Slot& /*first*/, std::uint32_t count) noexcept override {
    if (count == 0 || count > kMostSlots) __builtin_trap();
    ++records;
  }
  std::vector<record::Slot> slots = std::vector<record::Slot>(kMostSlots);
  std::uint64_t records = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> all{reinterpret_cast<const std::byte*>(data), size};
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  if (const auto sequence = relay::parse_answer(text); sequence && sequence.value() == 0) __builtin_trap();
  if (const auto part = relay::decode_part(all); part && part.value().bytes.size() > relay::kPartBytes)
    __builtin_trap();
  if (const auto address = relay::parse_nats_address(std::string(text))) {
    if (address.value().server + "/" + address.value().stream != text) __builtin_trap();
  }
  if (const auto address = relay::parse_kafka_address(std::string(text))) {
    if ("kafka://" + address.value().brokers + "/" + address.value().topic != text) __builtin_trap();
  }
  if (const auto settings = relay::parse_kafka_settings(text)) {
    for (const auto& [key, value] : settings.value()) {
      if (key.empty() || text.find(key) == text.npos || text.find(value) == text.npos) __builtin_trap();
    }
  }
  if (relay::next_offset_in(text) < -1) __builtin_trap();
  const std::string book = relay::key_of_book(text);
  if (book.find_first_of(". *>\n", 5) != std::string::npos || book.size() > 6 + 3 * size) __builtin_trap();
  (void)relay::decode_message(all);

  Sink sink;
  relay::Unpacker unpacker;
  std::uint64_t taken_records = 0;
  for (std::span<const std::byte> rest = all; rest.size() > 2;) {
    const std::size_t length = std::min<std::size_t>(
        std::size_t{std::to_integer<std::size_t>(rest[0])} | std::to_integer<std::size_t>(rest[1]) << 8,
        rest.size() - 2);
    std::vector<std::byte> message(rest.begin() + 2, rest.begin() + 2 + static_cast<std::ptrdiff_t>(length));
    rest = rest.subspan(2 + length);
    relay::repair_sum(message);
    const Result<relay::Head> head = relay::decode_message(message);
    if (!head) continue;
    if (head.value().bytes() != message.size()) __builtin_trap();
    const std::string key = relay::id_of(head.value());
    const std::string channel = relay::topic_of(head.value());
    if (!relay::decode_kafka_record({key, channel, message})) __builtin_trap();
    if (relay::decode_kafka_record({text, channel, message}) && key != text) __builtin_trap();
    if (unpacker.is_of_next_ring(head.value())) (void)unpacker.begin_ring(head.value(), sink, Sink::kMostSlots);
    taken_records += unpacker.take(head.value(), std::span(message).subspan(relay::kHeadBytes)).records;
  }
  if (taken_records != sink.records) __builtin_trap();
  return 0;
}
