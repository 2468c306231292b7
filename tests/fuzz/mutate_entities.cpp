// What a fuzzer does to datagrams, besides changing bytes: changes of whole entities. For targets whose input ends in
// datagrams as take_datagrams reads them; `datagrams_begin` says where.

#include <algorithm>
#include <cstring>

#include "tests/attack/change_entities.hpp"
#include "tests/fuzz/checks.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using namespace stopbit;

constexpr std::uint8_t kStopBit = 0x80;
constexpr std::size_t kWhole = 255;  ///< A length that means the rest.

/// One message, cut after each stop bit.
cases::RandomCase::Packet entities_of(const std::vector<std::byte>& datagram) {
  cases::RandomCase::Message entities(1);
  for (const std::byte byte : datagram) {
    entities.back().push_back(static_cast<std::uint8_t>(byte));
    if ((entities.back().back() & kStopBit) != 0) entities.emplace_back();
  }
  if (entities.back().empty()) entities.pop_back();
  return {entities};
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  cases::Random random(seed);
  const std::size_t begin = std::min(fuzz::datagrams_begin({data, size}), size);
  fuzz::Input input({data + begin, size - begin});
  const std::vector<std::vector<std::byte>> datagrams = fuzz::take_datagrams(input);
  if (datagrams.empty() || random.chance(40)) return LLVMFuzzerMutate(data, size, max_size);

  std::vector<cases::RandomCase::Packet> packets;
  for (const auto& datagram : datagrams) packets.push_back(entities_of(datagram));
  const auto which = static_cast<std::size_t>(random.below(packets.size()));
  std::size_t at = begin;
  for (std::size_t i = 0; i < datagrams.size(); ++i) {
    const std::vector<std::byte> bytes = i == which ? attack::change_entities(packets, which, random) : datagrams[i];
    const bool is_last = i + 1 == datagrams.size();
    if (at == max_size) break;
    const std::size_t room = max_size - at - 1;
    const std::size_t count = std::min({bytes.size(), room, is_last ? room : kWhole - 1});
    data[at++] = static_cast<std::uint8_t>(is_last ? kWhole : count);
    if (count != 0) std::memcpy(data + at, bytes.data(), count);
    at += count;
  }
  return at;
}
