#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "decoder/engine/engine.hpp"
#include "decoder/engine/trace.hpp"
#include "host/feed/packet/packet.hpp"
#include "microcode/program.hpp"

/// The meaning of every byte of a packet.
namespace stopbit::explain {

enum class RowKind : std::uint8_t {
  Preamble,     ///< A field of the framing, or bytes that it skips.
  BlockSize,    ///< In front of a block of messages.
  Message,      ///< A message begins. No bytes.
  PresenceMap,  ///< With its bits.
  TemplateId,
  Field,      ///< A value, or half of a decimal.
  Length,     ///< Of a sequence.
  Constant,   ///< A mandatory constant: not in the stream, not in the record.
  Group,      ///< A group begins, or is absent.
  BitGroup,   ///< The entity of a bit group; its fields follow.
  Element,    ///< An element of a sequence begins.
  Reference,  ///< The template of a dynamic reference begins.
  Reset,      ///< The template resets the dictionary.
  Ignored,    ///< Bytes after the data.
  Undecoded,  ///< Bytes after an error, or of a datagram that is not decoded.
};

/// A bit of a presence map.
struct Bit {
  bool is_set = false;
  bool is_implied = false;  ///< After the end of the map, where bits are clear.
  std::string owner;        ///< User of the bit: a field, a group, the template identifier. Empty: unused.
};

/// Where the value went in the record. `slot` and `slot_word` count from the record's first slot.
struct RecordPlace {
  std::uint16_t block = kNoBlock;  ///< kNoBlock: nowhere.
  std::uint8_t word = 0;
  std::uint32_t slot = 0;
  std::uint8_t slot_word = 0;
};

/// A line of the explanation. Texts are for people, and plain: nothing in them disturbs a terminal.
struct Row {
  RowKind kind = RowKind::Field;
  bool is_faulty = false;  ///< The row has the error.
  bool is_optional = false;
  bool is_absent = false;  ///< The field or group is not in the message.
  std::uint8_t depth = 0;  ///< Groups, sequences and references around it.
  trace::Extent bytes;     ///< Of the datagram; empty if it took none.
  std::string name;
  std::string type;      ///< "uInt32", "decimal exponent", "u32 big-endian"
  std::string op;        ///< "copy", "delta", ...; empty: no operator.
  std::string raw;       ///< As in the stream: before NULL, before the operator.
  std::string slot;      ///< Name of the dictionary's entry.
  std::string previous;  ///< Previous state of the entry: "undefined", "empty", or a value.
  std::string source;    ///< "stream", "previous", "previous + 1", "initial value", "constant", "absent"
  std::string result;
  RecordPlace place;
  std::vector<Bit> bits;  ///< PresenceMap only.
};

/// Bytes of the frame before or after the datagram.
struct FramePart {
  trace::Extent bytes;  ///< Of the frame.
  std::string name;
  std::string text;
};

struct Cause {
  std::string text;      ///< A sentence.
  std::string evidence;  ///< The attempt and its result.
};

struct Explanation {
  std::string source;  ///< Name of the capture.
  std::uint64_t packet = 0;
  std::string framing;
  ResetRule reset = ResetRule::Packet;

  std::vector<std::byte> frame;
  bool has_headers = true;  ///< False for datagrams written in hex: their headers are unknown.
  std::vector<FramePart> parts;
  net::Verdict verdict = net::Verdict::Accepted;
  net::Endpoint sender;
  net::Endpoint group;

  std::vector<std::byte> datagram;  ///< The decoded bytes; of chunks: the whole message.
  std::uint32_t frame_offset = 0;   ///< Of the datagram in the frame.
  bool is_joined = false;           ///< Put together from chunks.
  std::uint64_t sequence = 0;
  std::uint16_t channel = 0;
  std::vector<Row> rows;          ///< In the order of the datagram's bytes; they cover it.
  std::uint64_t rows_hidden = 0;  ///< Rows without bytes that were too many to keep.

  bool was_decoded = false;           ///< It was given to the engine.
  std::uint64_t earlier_packets = 0;  ///< Of its group, decoded before.
  std::uint64_t error_packet = 0;     ///< Dropped datagram: where the error was that it waits after; 0 = unknown.
  Outcome outcome;
  std::string fault;          ///< As replay prints it, with the bytes; empty: no error.
  std::vector<Cause> causes;  ///< The most likely first.

  [[nodiscard]] bool has_fault() const noexcept { return !fault.empty(); }
};

/// How many bytes of the datagram the rows account for: from the first byte on, without a gap.
[[nodiscard]] std::size_t accounted_bytes(const Explanation& explanation) noexcept;

}  // namespace stopbit::explain
