#include "host/feed/framing/framing.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "host/feed/packet/byte_order.hpp"
#include "microcode/base/nearest.hpp"

namespace stopbit::net {
namespace {

using Bytes = std::span<const std::byte>;

constexpr FramingPreset kPresets[] = {
#define STOPBIT_FRAMING(name, kind, settings, before) {name, FramingKind::kind, settings, before},
#include "host/feed/framing/framings.def"
#undef STOPBIT_FRAMING
};

constexpr std::uint32_t kMaxPreambleBytes = 1024;
constexpr std::uint32_t kB3PreambleBytes = 10;
constexpr Preamble kRefused{.error = ErrorCode::X9};

// ---------------------------------------------------------------------------------------------------- text -> Framing

struct FieldType {
  std::string_view name;
  std::uint8_t bytes;
  bool big_endian;
};
constexpr std::array<FieldType, 6> kFieldTypes = {{
    {"u16be", 2, true},
    {"u16le", 2, false},
    {"u32be", 4, true},
    {"u32le", 4, false},
    {"u64be", 8, true},
    {"u64le", 8, false},
}};

/// Reads `custom:...`; remembers where it is for messages.
class CustomParser {
 public:
  explicit CustomParser(std::string text) : text_(std::move(text)), at_(text_.find(':') + 1) {}

  Result<Framing> parse() {
    Framing framing;
    framing.name = text_;
    std::optional<std::uint32_t> skip;
    std::uint32_t fields_end = 0;
    std::uint32_t seen = 0;  // a bit per key
    do {
      const std::size_t key_at = at_;
      const std::string_view key = word("=,");
      if (!take('='))
        return fail(key_at, key.empty() ? "a KEY=VALUE is missing" : "'" + std::string(key) + "' has no value");
      const std::size_t value_at = at_;
      const std::string_view value = word(",");
      const auto known = std::find(kKeys.begin(), kKeys.end(), key);
      if (known == kKeys.end()) {
        return fail(key_at, "unknown key '" + std::string(key) + "' (expected skip, seq, len, blocks or reset)");
      }
      const std::uint32_t bit = 1U << (known - kKeys.begin());
      if ((seen & bit) != 0) return fail(key_at, "'" + std::string(key) + "' is given twice");
      seen |= bit;

      if (key == "skip") {
        skip = number(value);
        if (!skip) return fail(value_at, "skip must be a number from 0 to " + std::to_string(kMaxPreambleBytes));
      } else if (key == "seq" || key == "len") {
        const auto field = preamble_field(value);
        if (!field) {
          return fail(value_at,
                      std::string(key) +
                          " must be TYPE@OFFSET; TYPE is u16be, u16le, u32be, u32le, u64be or u64le, OFFSET 0 to " +
                          std::to_string(kMaxPreambleBytes));
        }
        (key == "seq" ? framing.sequence : framing.length) = *field;
        fields_end = std::max(fields_end, field->offset + field->bytes);
      } else if (key == "blocks") {
        if (value != "yes" && value != "no") return fail(value_at, "blocks must be yes or no");
        framing.blocks = value == "yes";
      } else {
        const auto rule = parse_reset_rule(value);
        if (!rule) return fail(value_at, "reset must be packet, template or never");
        framing.reset = *rule;
      }
    } while (take(','));

    framing.skip = skip.value_or(fields_end);
    return framing;
  }

 private:
  static constexpr std::array<std::string_view, 5> kKeys = {"skip", "seq", "len", "blocks", "reset"};

  std::string_view word(std::string_view ends) {
    const std::string_view rest = std::string_view(text_).substr(at_);
    const std::string_view found = rest.substr(0, rest.find_first_of(ends));
    at_ += found.size();
    return found;
  }

  bool take(char wanted) {
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  static std::optional<std::uint32_t> number(std::string_view text) {
    std::uint32_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || rest != end || value > kMaxPreambleBytes) return std::nullopt;
    return value;
  }

  static std::optional<PreambleField> preamble_field(std::string_view text) {
    const std::size_t split = text.find('@');
    if (split == std::string_view::npos) return std::nullopt;
    const auto offset = number(text.substr(split + 1));
    for (const FieldType& type : kFieldTypes) {
      if (offset && type.name == text.substr(0, split)) return PreambleField{*offset, type.bytes, type.big_endian};
    }
    return std::nullopt;
  }

  [[nodiscard]] Failure fail(std::size_t at, const std::string& what) const {
    return {text_ + ": column " + std::to_string(at + 1) + ": " + what};
  }

  std::string text_;
  std::size_t at_;
};

// ------------------------------------------------------------------------------------------------- datagram ->
// Preamble

std::uint64_t load(PreambleField field, const std::byte* datagram) noexcept {
  const std::byte* const from = datagram + field.offset;
  switch (field.bytes) {
    case 2: return field.big_endian ? load_be<std::uint16_t>(from) : load_le<std::uint16_t>(from);
    case 4: return field.big_endian ? load_be<std::uint32_t>(from) : load_le<std::uint32_t>(from);
    default: return field.big_endian ? load_be<std::uint64_t>(from) : load_le<std::uint64_t>(from);
  }
}

bool holds(Bytes datagram, PreambleField field) noexcept {
  return field.bytes == 0 || datagram.size() >= std::size_t{field.offset} + field.bytes;
}

Preamble read_fixed(const Framing& framing, Bytes datagram) noexcept {
  if (datagram.size() < framing.skip || !holds(datagram, framing.sequence) || !holds(datagram, framing.length)) {
    return kRefused;
  }
  Preamble preamble;
  preamble.data_begin = framing.skip;
  preamble.data_end = static_cast<std::uint32_t>(datagram.size());
  if (framing.sequence.bytes != 0) preamble.sequence = load(framing.sequence, datagram.data());
  if (framing.length.bytes != 0) {
    const std::uint64_t data_bytes = load(framing.length, datagram.data());
    if (data_bytes > datagram.size() - framing.skip) return kRefused;
    preamble.data_end = framing.skip + static_cast<std::uint32_t>(data_bytes);
  }
  return preamble;
}

Preamble read_b3(Bytes datagram) noexcept {
  if (datagram.size() < kB3PreambleBytes) return kRefused;
  Preamble preamble;
  preamble.sequence = load_be<std::uint32_t>(&datagram[0]);
  preamble.chunks = load_be<std::uint16_t>(&datagram[4]);
  preamble.chunk = load_be<std::uint16_t>(&datagram[6]);
  const std::size_t length = load_be<std::uint16_t>(&datagram[8]);
  // Whether the length counts the preamble is not in any source we have; both readings are unmistakable.
  const bool counts_preamble = length == datagram.size();
  if (preamble.chunk == 0 || preamble.chunk > preamble.chunks) return kRefused;
  if (!counts_preamble && length > datagram.size() - kB3PreambleBytes) return kRefused;
  preamble.data_begin = kB3PreambleBytes;
  preamble.data_end = static_cast<std::uint32_t>(counts_preamble ? length : kB3PreambleBytes + length);
  return preamble;
}

/// Walks the packet header of T7. An entity longer than any uInt32 needs is not one of that header.
class HeaderWalk {
 public:
  explicit HeaderWalk(Bytes datagram) : datagram_(datagram) {}

  /// A stop-bit entity as an unsigned integer.
  std::optional<std::uint64_t> entity() noexcept {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < kMaxEntityBytes && at_ < datagram_.size(); ++i) {
      const auto byte = static_cast<std::uint8_t>(datagram_[at_++]);
      value = value << 7 | (byte & 0x7F);
      if ((byte & 0x80) != 0) return value;
    }
    return std::nullopt;
  }

  /// The start of a byte vector of exactly `length` bytes.
  const std::byte* byte_vector(std::uint8_t length) noexcept {
    const std::size_t begin = at_ + 1;
    if (datagram_.size() < begin + length || static_cast<std::uint8_t>(datagram_[at_]) != (0x80U | length))
      return nullptr;
    at_ = begin + length;
    return &datagram_[begin];
  }

 private:
  static constexpr std::size_t kMaxEntityBytes = 5;
  Bytes datagram_;
  std::size_t at_ = 0;
};

/// Presence map, template id, [PartitionID,] SenderCompID, PacketSeqNum (4 bytes), SendingTime (8 bytes).
std::optional<Preamble> read_t7_header(Bytes datagram, bool has_partition) noexcept {
  HeaderWalk walk(datagram);
  const auto presence_map = walk.entity();
  if (!presence_map || (static_cast<std::uint8_t>(datagram[0]) & 0x40) == 0) return std::nullopt;  // no template id
  if (!walk.entity()) return std::nullopt;
  if (has_partition && !walk.entity()) return std::nullopt;
  const auto sender = walk.entity();
  if (!sender) return std::nullopt;
  const std::byte* const sequence = walk.byte_vector(4);
  if (sequence == nullptr) return std::nullopt;
  const std::byte* const time = walk.byte_vector(8);
  if (time == nullptr) return std::nullopt;
  Preamble preamble;
  preamble.data_end = static_cast<std::uint32_t>(datagram.size());
  preamble.sequence = load_be<std::uint32_t>(sequence);
  preamble.sender = *sender;
  preamble.sending_time_ns = load_be<std::uint64_t>(time);
  return preamble;
}

Preamble read_t7(Bytes datagram) noexcept {
  // With PartitionID first: then a datagram without it would need a SendingTime that begins with 0x88, which is the
  // year 2281. The other way round, a SenderCompID of 4 looks like the length of PacketSeqNum.
  if (const auto preamble = read_t7_header(datagram, true)) return *preamble;
  if (const auto preamble = read_t7_header(datagram, false)) return *preamble;
  return kRefused;
}

}  // namespace

std::span<const FramingPreset> framing_presets() noexcept {
  return kPresets;
}

Result<Framing> parse_framing(std::string_view text) {
  if (text.starts_with("custom:")) return CustomParser(std::string(text)).parse();
  std::string known;
  std::vector<std::string> names;
  for (const FramingPreset& preset : kPresets) {
    known += std::string(preset.name) + ", ";
    names.emplace_back(preset.name);
    if (preset.name != text) continue;
    Framing framing;
    if (!preset.settings.empty()) {
      Result<Framing> settings = CustomParser("custom:" + std::string(preset.settings)).parse();
      if (!settings) return settings;
      framing = std::move(settings).value();
    }
    framing.name = text;
    framing.kind = preset.kind;
    return framing;
  }
  const std::string near = did_you_mean(text, names);
  return Failure{"unknown framing '" + std::string(text) + "'" +
                 (near.empty() ? " (" + known + "or custom:skip=N,seq=u32be@OFFSET,reset=packet)" : near)};
}

Preamble read_preamble(const Framing& framing, Bytes datagram) noexcept {
  switch (framing.kind) {
    case FramingKind::Fixed: return read_fixed(framing, datagram);
    case FramingKind::B3: return read_b3(datagram);
    case FramingKind::T7: return read_t7(datagram);
  }
  return kRefused;
}

std::optional<BlockReader::Block> BlockReader::next() noexcept {
  if (at_ == datagram_.size()) return std::nullopt;
  Block block;
  block.begin = static_cast<std::uint32_t>(at_);
  std::uint64_t size = 0;
  bool stopped = false;
  while (!stopped && at_ < datagram_.size()) {
    const auto byte = static_cast<std::uint8_t>(datagram_[at_++]);
    // Overlong sizes are legal. The bound keeps a size that exceeds the datagram too large: it is refused below.
    size = std::min<std::uint64_t>(size << 7 | (byte & 0x7F), std::uint64_t{1} << 32);
    stopped = (byte & 0x80) != 0;
  }
  if (!stopped || size > datagram_.size() - at_) {
    block.error = ErrorCode::X1;
  } else if (size == 0) {
    block.error = ErrorCode::D12;
  } else {
    block.begin = static_cast<std::uint32_t>(at_);
    at_ += static_cast<std::size_t>(size);
    block.end = static_cast<std::uint32_t>(at_);
    return block;
  }
  at_ = datagram_.size();
  return block;
}

ChunkAssembler::ChunkAssembler(std::uint16_t channels)
    : pending_(std::make_unique<Pending[]>(channels)),
      buffers_(std::make_unique_for_overwrite<std::byte[]>(std::size_t{channels} * limits::kMaxDatagramBytes)),
      channels_(channels) {}

ChunkAssembler::Answer ChunkAssembler::add(std::uint16_t channel, Bytes datagram, const Preamble& preamble) noexcept {
  Pending& pending = pending_[channel];
  Answer answer;
  const bool continues = pending.next_chunk != 0 && preamble.sequence == pending.sequence &&
                         preamble.chunks == pending.chunks && preamble.chunk == pending.next_chunk;
  if (!continues && pending.next_chunk != 0) {
    answer.gave_up = true;
    pending.next_chunk = 0;
  }
  if (preamble.chunks == 1) {
    answer.whole = datagram.first(preamble.data_end);
    return answer;
  }
  if (!continues) {
    if (preamble.chunk != 1) {
      answer.state = State::Orphan;
      return answer;
    }
    pending = {preamble.sequence, 0, 1, preamble.chunks};
  }

  // The first chunk brings its preamble, so that offsets in errors count as in a datagram that was never split.
  const Bytes piece = datagram.first(preamble.data_end).subspan(preamble.chunk == 1 ? 0 : preamble.data_begin);
  if (piece.size() > limits::kMaxDatagramBytes - pending.bytes) {
    pending.next_chunk = 0;
    answer.state = State::TooLong;
    return answer;
  }
  std::byte* const buffer = &buffers_[std::size_t{channel} * limits::kMaxDatagramBytes];
  if (!piece.empty()) std::memcpy(buffer + pending.bytes, piece.data(), piece.size());
  pending.bytes += static_cast<std::uint32_t>(piece.size());
  if (preamble.chunk != preamble.chunks) {
    pending.next_chunk = static_cast<std::uint16_t>(preamble.chunk + 1);
    answer.state = State::Waiting;
    return answer;
  }
  pending.next_chunk = 0;
  answer.whole = {buffer, pending.bytes};
  return answer;
}

std::uint64_t ChunkAssembler::open_messages() const noexcept {
  return static_cast<std::uint64_t>(std::count_if(pending_.get(), pending_.get() + channels_,
                                                  [](const Pending& pending) { return pending.next_chunk != 0; }));
}

}  // namespace stopbit::net
