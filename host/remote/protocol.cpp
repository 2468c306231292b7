#include "host/remote/protocol.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "host/nic/link/services.hpp"
#include "host/nic/rma/rma.hpp"
#include "host/ring/layout.hpp"

namespace stopbit::remote {
namespace {

constexpr std::uint32_t kMagic = 0x5252'4253;  // "SBRR"

struct Head {
  std::uint32_t magic = kMagic;
  std::uint16_t version = kVersion;
  Call call = {};
  std::uint8_t flags = 0;
  std::uint64_t session = 0;
};
static_assert(sizeof(Head) == 16);

constexpr std::uint8_t kLossless = 1;      // of Subscribe
constexpr std::uint8_t kWantsHistory = 2;  // of SubscribeNear
constexpr std::uint8_t kHasEarlier = 4;    // of Subscribe and SubscribeNear, lossless
constexpr std::uint8_t kTellsReached = 8;  // of Subscribe, lossless
constexpr std::uint8_t kWantsTables = 16;  // of Subscribe
constexpr std::uint8_t kHasWindow = 1;     // of Accept
constexpr std::uint8_t kHasTables = 2;     // of Accept, to a subscriber that wants them
constexpr std::uint8_t kHasHistory = 1;    // of Beat

struct PatternBytes {
  std::uint32_t channel = 0;
  std::uint32_t channel_mask = 0;
  std::uint32_t template_id = 0;
  std::uint32_t template_mask = 0;
  std::uint64_t value = 0;
  std::uint64_t value_mask = 0;
};
static_assert(sizeof(PatternBytes) == 32);

struct SubscribeBytes {
  Head head;
  std::uint64_t layout_hash = 0;
  std::uint64_t capability = 0;
  std::uint16_t window = 0;
  std::uint8_t event = 0;
  std::uint8_t patterns = 0;
  std::uint8_t ring_bytes = 0;
  std::uint8_t token_bytes = 0;
  std::uint8_t field_bytes = 0;
  std::uint8_t reserved = 0;
  std::uint32_t slots = 0;
  std::uint32_t slot_bytes = 0;
  char ring[kMaxNameBytes] = {};
  char token[kMaxTokenBytes] = {};
  char field[kMaxNameBytes] = {};
  // Of SubscribeNear, NearBytes follow; then EarlierBytes, if the flag says so; then PatternBytes.
};
static_assert(sizeof(SubscribeBytes) == 240 && std::is_trivially_copyable_v<SubscribeBytes>);

struct NearBytes {
  std::uint64_t max_slots = 0;
  std::uint8_t name_bytes = 0;
  std::uint8_t reserved[7] = {};
  char name[kMaxNameBytes] = {};
};
static_assert(sizeof(NearBytes) == 80 && std::is_trivially_copyable_v<NearBytes>);

struct EarlierBytes {
  std::uint64_t session = 0;
  std::uint64_t epoch = 0;
  RingPosition reached;
};
static_assert(sizeof(EarlierBytes) == 32 && std::is_trivially_copyable_v<EarlierBytes>);

struct ReachedBytes {
  Head head;
  RingPosition place;
};
static_assert(sizeof(ReachedBytes) == 32 && std::is_trivially_copyable_v<ReachedBytes>);

struct AcceptNearBytes {
  Head head;
  std::uint64_t epoch = 0;
};
static_assert(sizeof(AcceptNearBytes) == 24 && std::is_trivially_copyable_v<AcceptNearBytes>);

struct BeatBytes {
  Head head;
  std::uint64_t number = 0;
  std::uint64_t records = 0;
  std::uint64_t slots = 0;
  std::uint64_t fetched = 0;
  std::uint64_t filtered = 0;
  std::uint64_t lost = 0;
  std::uint8_t how = 0;
  std::uint8_t reserved[7] = {};
};
static_assert(sizeof(BeatBytes) == 72 && std::is_trivially_copyable_v<BeatBytes>);

struct EchoBytes {
  Head head;
  std::uint64_t number = 0;
};
static_assert(sizeof(EchoBytes) == 24 && std::is_trivially_copyable_v<EchoBytes>);

struct AcceptBytes {
  Head head;
  std::uint16_t sender = 0;
  std::uint16_t owner = 0;
  std::uint16_t window = 0;
  std::uint8_t credit_event = 0;
  std::uint8_t reserved = 0;
  std::uint64_t capability = 0;
  std::uint64_t slot_count = 0;
  std::uint64_t slots_offset = 0;
  std::uint64_t image_offset = 0;
  std::uint64_t image_bytes = 0;
  std::uint64_t layout_hash = 0;
  std::uint64_t epoch = 0;
  std::uint32_t max_record_slots = 0;
  std::uint32_t image_generation = 0;
  RingPosition begin;
};
static_assert(sizeof(AcceptBytes) == 104 && std::is_trivially_copyable_v<AcceptBytes>);

/// After AcceptBytes, if the flag says so.
struct TablesBytes {
  std::uint16_t instruments = 0;
  std::uint16_t states = 0;
  std::uint32_t reserved = 0;
  std::uint64_t instruments_capability = 0;
  std::uint64_t states_capability = 0;
  std::uint64_t epoch = 0;
};
static_assert(sizeof(TablesBytes) == 32 && std::is_trivially_copyable_v<TablesBytes>);

struct RefuseBytes {
  Head head;
  Refusal why = {};
  std::uint8_t text_bytes = 0;
  std::uint8_t reserved[6] = {};
  char text[kMaxRefusalText] = {};
  // To a lossless subscriber, 64 bits of records may follow.
};
static_assert(sizeof(RefuseBytes) == 136 && std::is_trivially_copyable_v<RefuseBytes>);

template <class T>
std::vector<std::byte> bytes_of(const T& what) {
  std::vector<std::byte> bytes(sizeof(T));
  std::memcpy(bytes.data(), &what, sizeof(T));
  return bytes;
}

template <class T>
void append(std::vector<std::byte>& bytes, const T& what) {
  const std::vector<std::byte> more = bytes_of(what);
  bytes.insert(bytes.end(), more.begin(), more.end());
}

template <class T>
T from(std::span<const std::byte> bytes) noexcept {
  T what;
  std::memcpy(&what, bytes.data(), sizeof(T));
  return what;
}

template <std::size_t N>
std::uint8_t put_text(char (&to)[N], std::string_view text) noexcept {
  const std::size_t length = std::min(text.size(), N);
  if (length != 0) std::memcpy(to, text.data(), length);
  return static_cast<std::uint8_t>(length);
}

template <std::size_t N>
bool take_text(const char (&from)[N], std::uint8_t length, std::string& to) {
  if (length > N) return false;
  to.assign(from, length);
  return true;
}

std::string cannot(std::string_view what) {
  return "not a message of remote rings: " + std::string(what);
}

/// Whether records can be put where the request says.
Status check_landing(const Subscribe& message) {
  if (message.event == 0 || message.event >= nic::EventLayout::kEvents) return Failure{cannot("its event is unknown")};
  if (!message.layout.is_sound() || message.layout.bytes() > kMaxLandingBytes ||
      message.layout.max_message() < sizeof(BatchHead) + nic::kLineBytes) {
    return Failure{std::to_string(message.layout.slots) + " messages of " + std::to_string(message.layout.slot_bytes) +
                   " bytes are not a valid channel for records"};
  }
  return Done{};
}

}  // namespace

const char* to_name(Refusal refusal) noexcept {
  switch (refusal) {
    case Refusal::None: return "None";
#define STOPBIT_REMOTE_REFUSAL(enumerator, code, meaning) \
  case Refusal::enumerator:                               \
    return #enumerator;
#include "host/remote/refusal.def"
#undef STOPBIT_REMOTE_REFUSAL
  }
  return "?";
}

const char* to_meaning(Refusal refusal) noexcept {
  switch (refusal) {
    case Refusal::None: return "served";
#define STOPBIT_REMOTE_REFUSAL(enumerator, code, meaning) \
  case Refusal::enumerator:                               \
    return meaning;
#include "host/remote/refusal.def"
#undef STOPBIT_REMOTE_REFUSAL
  }
  return "?";
}

std::vector<std::byte> to_bytes(const Subscribe& message) {
  SubscribeBytes bytes;
  bytes.head.call = message.near ? Call::SubscribeNear : Call::Subscribe;
  bytes.head.flags = static_cast<std::uint8_t>(
      (message.is_lossless ? kLossless : 0) | (message.near && message.near->wants_history ? kWantsHistory : 0) |
      (message.earlier ? kHasEarlier : 0) | (message.tells_reached ? kTellsReached : 0) |
      (message.wants_tables && !message.near ? kWantsTables : 0));
  bytes.head.session = message.session;
  bytes.layout_hash = message.layout_hash;
  bytes.capability = message.landing.capability;
  bytes.window = message.landing.id;
  bytes.event = message.event;
  bytes.slots = message.layout.slots;
  bytes.slot_bytes = message.layout.slot_bytes;
  bytes.ring_bytes = put_text(bytes.ring, message.ring);
  bytes.token_bytes = put_text(bytes.token, message.token);
  bytes.field_bytes = put_text(bytes.field, message.filter.field);
  const std::size_t patterns = std::min(message.filter.patterns.size(), kMaxPatterns);
  bytes.patterns = static_cast<std::uint8_t>(patterns);
  std::vector<std::byte> whole = bytes_of(bytes);
  if (message.near) {
    NearBytes near;
    near.max_slots = message.near->max_slots;
    near.name_bytes = put_text(near.name, message.near->name);
    append(whole, near);
  }
  if (message.earlier) {
    append(whole, EarlierBytes{message.earlier->session, message.earlier->epoch, message.earlier->reached});
  }
  for (std::size_t i = 0; i < patterns; ++i) {
    const Filter::Pattern& pattern = message.filter.patterns[i];
    append(whole, PatternBytes{pattern.wanted.channel, pattern.mask.channel, pattern.wanted.template_id,
                               pattern.mask.template_id, pattern.wanted.value, pattern.mask.value});
  }
  return whole;
}

std::vector<std::byte> to_bytes(const Accept& message) {
  AcceptBytes bytes;
  bytes.head.call = Call::Accept;
  bytes.head.flags =
      static_cast<std::uint8_t>((message.has_window ? kHasWindow : 0) | (message.tables ? kHasTables : 0));
  bytes.head.session = message.session;
  bytes.sender = message.sender;
  bytes.owner = message.owner;
  bytes.window = message.window.id;
  bytes.credit_event = message.credit_event;
  bytes.capability = message.window.capability;
  bytes.slot_count = message.slot_count;
  bytes.slots_offset = message.slots_offset;
  bytes.image_offset = message.image_offset;
  bytes.image_bytes = message.image_bytes;
  bytes.layout_hash = message.layout_hash;
  bytes.epoch = message.epoch;
  bytes.max_record_slots = message.max_record_slots;
  bytes.image_generation = message.image_generation;
  bytes.begin = message.begin;
  std::vector<std::byte> whole = bytes_of(bytes);
  if (message.tables) {
    append(whole, TablesBytes{message.tables->instruments.id, message.tables->states.id, 0,
                              message.tables->instruments.capability, message.tables->states.capability,
                              message.tables_epoch});
  }
  return whole;
}

std::vector<std::byte> to_bytes(const Refuse& message) {
  RefuseBytes bytes;
  bytes.head.call = Call::Refuse;
  bytes.head.session = message.session;
  bytes.why = message.why;
  bytes.text_bytes = put_text(bytes.text, message.text);
  std::vector<std::byte> whole = bytes_of(bytes);
  if (message.records != 0) append(whole, message.records);
  return whole;
}

std::vector<std::byte> to_bytes(const AcceptNear& message) {
  AcceptNearBytes bytes;
  bytes.head.call = Call::AcceptNear;
  bytes.head.session = message.session;
  bytes.epoch = message.epoch;
  return bytes_of(bytes);
}

std::vector<std::byte> to_bytes(const Beat& message) {
  BeatBytes bytes;
  bytes.head.call = Call::Beat;
  bytes.head.flags = message.has_history ? kHasHistory : 0;
  bytes.head.session = message.session;
  bytes.number = message.number;
  bytes.records = message.records;
  bytes.slots = message.slots;
  bytes.fetched = message.fetched;
  bytes.filtered = message.filtered;
  bytes.lost = message.lost;
  bytes.how = message.how;
  return bytes_of(bytes);
}

std::vector<std::byte> to_bytes(const Echo& message) {
  EchoBytes bytes;
  bytes.head.call = Call::Echo;
  bytes.head.session = message.session;
  bytes.number = message.number;
  return bytes_of(bytes);
}

std::vector<std::byte> to_bytes(const Reached& message) {
  ReachedBytes bytes;
  bytes.head.call = Call::Reached;
  bytes.head.session = message.session;
  bytes.place = message.place;
  return bytes_of(bytes);
}

std::vector<std::byte> to_bytes(const Leave& message) {
  Head head;
  head.call = Call::Leave;
  head.session = message.session;
  return bytes_of(head);
}

Result<Greeting> read_greeting(std::span<const std::byte> bytes, std::uint16_t& version) {
  version = 0;
  if (bytes.size() < sizeof(Head)) return Failure{cannot(std::to_string(bytes.size()) + " bytes are too short")};
  const Head head = from<Head>(bytes);
  if (head.magic != kMagic) return Failure{cannot("it has another beginning")};
  version = head.version;
  if (head.version != kVersion) {
    return Failure{"the message has version " + std::to_string(head.version) + ", this program supports " +
                   std::to_string(kVersion)};
  }
  if (head.call < Call::Subscribe || head.call > Call::Reached) {
    return Failure{cannot("unknown call " + std::to_string(static_cast<unsigned>(head.call)))};
  }
  if (head.call == Call::Leave && bytes.size() != sizeof(Head)) return Failure{cannot("its length is invalid")};
  return Greeting{head.call, head.session};
}

Result<Subscribe> read_subscribe(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(SubscribeBytes)) return Failure{cannot("it is shorter than a request")};
  const auto raw = from<SubscribeBytes>(bytes);
  const bool is_near = raw.head.call == Call::SubscribeNear;
  const bool has_earlier = (raw.head.flags & kHasEarlier) != 0;
  const std::size_t before_earlier = sizeof(raw) + (is_near ? sizeof(NearBytes) : 0);
  const std::size_t before_patterns = before_earlier + (has_earlier ? sizeof(EarlierBytes) : 0);
  if (raw.patterns > kMaxPatterns || bytes.size() != before_patterns + raw.patterns * sizeof(PatternBytes)) {
    return Failure{cannot("its length does not match its patterns")};
  }
  Subscribe message;
  message.session = raw.head.session;
  message.is_lossless = (raw.head.flags & kLossless) != 0;
  message.tells_reached = message.is_lossless && !is_near && (raw.head.flags & kTellsReached) != 0;
  message.wants_tables = !is_near && (raw.head.flags & kWantsTables) != 0;
  message.layout_hash = raw.layout_hash;
  message.landing = {raw.window, raw.capability};
  message.event = raw.event;
  message.layout = {raw.slots, raw.slot_bytes};
  if (!take_text(raw.ring, raw.ring_bytes, message.ring) || !take_text(raw.token, raw.token_bytes, message.token) ||
      !take_text(raw.field, raw.field_bytes, message.filter.field)) {
    return Failure{cannot("a name exceeds its field")};
  }
  if (is_near) {
    const auto near = from<NearBytes>(bytes.subspan(sizeof(raw)));
    message.near.emplace();
    message.near->wants_history = (raw.head.flags & kWantsHistory) != 0;
    message.near->max_slots = near.max_slots;
    if (!take_text(near.name, near.name_bytes, message.near->name)) {
      return Failure{cannot("a name exceeds its field")};
    }
  } else if (const Status good = check_landing(message); !good) {
    return good.failure();
  }
  if (has_earlier) {
    const auto earlier = from<EarlierBytes>(bytes.subspan(before_earlier));
    if (!message.is_lossless) return Failure{cannot("only a lossless subscriber can resume")};
    message.earlier = Earlier{earlier.session, earlier.epoch, earlier.reached};
  }
  message.filter.patterns.reserve(raw.patterns);
  for (std::size_t i = 0; i < raw.patterns; ++i) {
    const auto pattern = from<PatternBytes>(bytes.subspan(before_patterns + i * sizeof(PatternBytes)));
    message.filter.patterns.push_back({{pattern.channel, pattern.template_id, pattern.value},
                                       {pattern.channel_mask, pattern.template_mask, pattern.value_mask}});
  }
  return message;
}

Result<AcceptNear> read_accept_near(std::span<const std::byte> bytes) {
  if (bytes.size() != sizeof(AcceptNearBytes)) return Failure{cannot("its length is invalid")};
  const auto raw = from<AcceptNearBytes>(bytes);
  return AcceptNear{raw.head.session, raw.epoch};
}

Result<Beat> read_beat(std::span<const std::byte> bytes) {
  if (bytes.size() != sizeof(BeatBytes)) return Failure{cannot("its length is invalid")};
  const auto raw = from<BeatBytes>(bytes);
  Beat message;
  message.session = raw.head.session;
  message.number = raw.number;
  message.has_history = (raw.head.flags & kHasHistory) != 0;
  message.how = raw.how;
  message.records = raw.records;
  message.slots = raw.slots;
  message.fetched = raw.fetched;
  message.filtered = raw.filtered;
  message.lost = raw.lost;
  return message;
}

Result<Echo> read_echo(std::span<const std::byte> bytes) {
  if (bytes.size() != sizeof(EchoBytes)) return Failure{cannot("its length is invalid")};
  const auto raw = from<EchoBytes>(bytes);
  return Echo{raw.head.session, raw.number};
}

Result<Reached> read_reached(std::span<const std::byte> bytes) {
  if (bytes.size() != sizeof(ReachedBytes)) return Failure{cannot("its length is invalid")};
  const auto raw = from<ReachedBytes>(bytes);
  return Reached{raw.head.session, raw.place};
}

Result<Accept> read_accept(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(AcceptBytes)) return Failure{cannot("it is shorter than an answer")};
  const auto raw = from<AcceptBytes>(bytes);
  const bool has_tables = (raw.head.flags & kHasTables) != 0;
  if (bytes.size() != sizeof(AcceptBytes) + (has_tables ? sizeof(TablesBytes) : 0)) {
    return Failure{cannot("its length does not match its flags")};
  }
  if (raw.credit_event == 0 || raw.credit_event >= nic::EventLayout::kEvents)
    return Failure{cannot("its event is unknown")};
  if (!std::has_single_bit(raw.slot_count) || raw.slot_count < ring::kMinSlotCount ||
      raw.slot_count > ring::kMaxSlotCount || raw.max_record_slots == 0 ||
      raw.max_record_slots > limits::kMaxRecordSlots || raw.max_record_slots > raw.slot_count / ring::kMaxRecordShare) {
    return Failure{"a ring of " + std::to_string(raw.slot_count) + " slots with records of " +
                   std::to_string(raw.max_record_slots) + " is invalid"};
  }
  constexpr std::uint64_t kMaxNumber = ~std::uint64_t{0} / 2;  // as readers of rings have it
  if (raw.image_bytes == 0 || raw.image_bytes > limits::kMaxImageBytes || raw.image_offset < ring::kHeaderBytes ||
      raw.slots_offset > kMaxNumber || raw.image_offset > raw.slots_offset ||
      raw.image_bytes > raw.slots_offset - raw.image_offset) {
    return Failure{"its image is not between header and slots"};
  }
  if (raw.begin.number < raw.slot_count || raw.begin.number > kMaxNumber) {
    return Failure{"no record begins at slot " + std::to_string(raw.begin.number)};
  }
  Accept message;
  message.session = raw.head.session;
  message.sender = raw.sender;
  message.credit_event = raw.credit_event;
  message.has_window = (raw.head.flags & kHasWindow) != 0;
  message.owner = raw.owner;
  message.window = {raw.window, raw.capability};
  message.slot_count = raw.slot_count;
  message.slots_offset = raw.slots_offset;
  message.image_offset = raw.image_offset;
  message.image_bytes = raw.image_bytes;
  message.layout_hash = raw.layout_hash;
  message.epoch = raw.epoch;
  message.max_record_slots = raw.max_record_slots;
  message.image_generation = raw.image_generation;
  message.begin = raw.begin;
  if (has_tables) {
    const auto tables = from<TablesBytes>(bytes.subspan(sizeof(raw)));
    message.tables =
        TableWindows{{tables.instruments, tables.instruments_capability}, {tables.states, tables.states_capability}};
    message.tables_epoch = tables.epoch;
  }
  return message;
}

Result<Refuse> read_refuse(std::span<const std::byte> bytes) {
  const bool has_records = bytes.size() == sizeof(RefuseBytes) + sizeof(std::uint64_t);
  if (bytes.size() != sizeof(RefuseBytes) && !has_records) return Failure{cannot("its length is invalid")};
  const auto raw = from<RefuseBytes>(bytes);
  Refuse message;
  message.session = raw.head.session;
  message.why = raw.why;
  if (has_records) message.records = from<std::uint64_t>(bytes.subspan(sizeof(RefuseBytes)));
  if (!take_text(raw.text, raw.text_bytes, message.text)) return Failure{cannot("a text exceeds its field")};
  // For a terminal: nothing but printable characters.
  for (char& c : message.text) c = c < ' ' || c > '~' ? '?' : c;
  return message;
}

bool is_same_token(std::string_view given, std::string_view right) noexcept {
  unsigned difference = given.size() == right.size() ? 0 : 1;
  for (std::size_t i = 0; i < kMaxTokenBytes; ++i) {
    const unsigned char a = i < given.size() ? static_cast<unsigned char>(given[i]) : 0;
    const unsigned char b = i < right.size() ? static_cast<unsigned char>(right[i]) : 0;
    difference |= static_cast<unsigned>(a ^ b);
  }
  return difference == 0;
}

std::optional<nic::ChannelLayout> landing_layout(std::size_t packet_bytes, std::uint32_t messages) noexcept {
  constexpr std::size_t kAround = sizeof(nic::RmaHeader) + nic::ChannelLayout::kHeaderBytes + sizeof(BatchHead);
  if (packet_bytes < kAround + nic::kLineBytes) return std::nullopt;
  const std::size_t slots = (packet_bytes - kAround) / nic::kLineBytes;
  const nic::ChannelLayout layout{messages, static_cast<std::uint32_t>(nic::ChannelLayout::kHeaderBytes +
                                                                       sizeof(BatchHead) + slots * nic::kLineBytes)};
  if (!layout.is_sound() || layout.bytes() > kMaxLandingBytes) return std::nullopt;
  return layout;
}

}  // namespace stopbit::remote
