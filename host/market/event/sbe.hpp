#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "host/market/event/columns.hpp"
#include "host/market/event/print.hpp"

/// Market events in FIX Simple Binary Encoding 1.0: a message of fixed length for each event, which needs nothing
/// before or after it. The schema is made of the table from which messages are written.
namespace stopbit::market {

inline constexpr std::uint16_t kSbeSchemaId = 0x4253;  ///< "SB"
inline constexpr std::uint16_t kSbeTemplateId = 1;
inline constexpr std::size_t kSbeHeaderBytes = 8;
inline constexpr std::size_t kSbeKeyBytes = 32;  ///< Of the instrument's key; shorter ones end with zeros.

/// The columns of the event, then what the tables beside a ring say: the unit of quantities and the key.
inline constexpr std::uint16_t kSbeBlockBytes = [] {
  std::size_t bytes = 1 + kSbeKeyBytes;
  for (const EventColumn& column : kEventColumns) bytes += column.bytes;
  return static_cast<std::uint16_t>(bytes);
}();

/// Appends a message. The instrument of `names` is its key as the feed has it.
void append_sbe(const Event& event, std::string& out, const EventNames& names = {});

/// A message as it was read. The key is in the message, without the zeros after it.
struct SbeEvent {
  Event event{};
  std::string_view key;
  std::uint8_t quantity_decimals = 0;
};
/// Reads what append_sbe wrote: the event's words are the same again, but for what the ring gives. Nothing if it is
/// another message, or cut. Numbers may be any.
[[nodiscard]] std::optional<SbeEvent> read_sbe(std::span<const std::byte> message) noexcept;

/// The schema of these messages, XML.
[[nodiscard]] std::string sbe_schema();

}  // namespace stopbit::market
