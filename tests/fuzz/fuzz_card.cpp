// What a card that is broken, or in the wrong hands, can bring to the host: records and events of any content, any
// bytes in the ring that it shares with the host, counters, errors, and a clock. LiveCard and CardChannel end their
// work, publish only whole records, and keep an account in which every number is delivered or lost.
//
// Input: a byte of options, then operations: a byte that says which, and what it takes.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "decoder/record/buffer_sink.hpp"
#include "decoder/record/builder.hpp"
#include "host/appliance/card_channel.hpp"
#include "host/device/live_card.hpp"
#include "templates/compiler.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/lib/hollow_card.hpp"

namespace {

using namespace stopbit;
namespace reg = device::registers;

constexpr std::uint64_t kSecond = 1'000'000'000;

constexpr const char* kTemplates = R"(<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">
  <template name="Tick" id="1"><uInt32 name="Number" id="1"/></template>
  <template name="Text" id="2"><string name="Text" id="2"/>
    <sequence name="Rows"><length name="Count" id="3"/><uInt64 name="Row" id="4"/></sequence></template>
</templates>
)";

const Program& program() {
  static const Program made = [] {
    Diagnostics diagnostics;
    templates::CompileOptions options;
    options.max_record_slots = 6;
    auto compiled = templates::compile({std::make_shared<SourceBuffer>("card.xml", kTemplates)}, options, diagnostics);
    fuzz::require(compiled.has_value(), "our templates are good", diagnostics.format());
    return std::move(*compiled);
  }();
  return made;
}

/// The numbers that the channel reports, beside its account.
struct Heard final : feed::Watcher {
  void gap(const arbitrate::Gap& gap) noexcept override {
    fuzz::require(gap.count != 0 && gap.count < std::uint64_t{1} << 32, "a gap has numbers of 32 bits");
    fuzz::require(gap.first < std::uint64_t{1} << 32, "so is its first one");
    lost += gap.count;
  }
  void run_begins(const arbitrate::NewRun&, bool) noexcept override { ++runs; }
  std::uint64_t lost = 0;
  std::uint64_t runs = 0;
};

/// What is published.
struct Published {
  void operator()(std::span<const record::Slot> record) {
    fuzz::require(!record.empty() && record.size() <= program().max_record_slots, "what is published has room");
    ++records;
  }
  std::uint64_t records = 0;
};

struct World {
  explicit World(std::uint8_t options) {
    channel.number = 7;
    channel.mode = feed::Mode::Fast;
    channel.framing = net::parse_framing((options & 1) != 0 ? "none" : "cme").value();
    if ((options & 2) != 0) channel.role = feed::Role::Carousel;
    channel.lines[0] = feed::Line{.group = {0xEF010101, 30'000}, .source = {}};
    auto made = device::LiveCard::make(
        device, program(), {.channels = 8}, {&channel, 1},
        {.ring_slots = 64,
         .mac_clock = true,
         .station = device::StationOptions{.own = {.mac = {2, 0, 0, 0, 0, 9}, .address = 0x0A090002}, .seed = 1}});
    fuzz::require(made.ok(), "an honest card starts", made.ok() ? "" : made.message());
    live = std::move(made).value();
    fuzz::require(live->begin().ok(), "and receives");
    taken.emplace(channel, target, counts, heard, options >> 4, program().templates.size());
    if ((options & 4) != 0) taken->resume_after(10);
    device.answer = [this](std::uint32_t offset, std::uint32_t value) {
      return offset == lie_at ? static_cast<std::uint32_t>(lie) : value;
    };
  }
  /// The memory of a card that does not come to rest is never given back: it may still write there.
  ~World() { device.answer = {}; }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  test::HollowCard device;
  feed::Channel channel;
  Published published;
  record::BufferSink<std::reference_wrapper<Published>> sink{program().max_record_slots, std::ref(published)};
  record::Builder builder{program()};
  feed::Target target{.engine = nullptr, .sink = &sink, .builder = &builder, .image_generation = 0, .session = nullptr};
  feed::Counts counts;
  Heard heard;
  std::unique_ptr<device::LiveCard> live;
  std::optional<appliance::CardChannel> taken;
  std::uint32_t lie_at = 0;
  std::uint64_t lie = 0;
  std::uint64_t now = kSecond;
  bool is_left = false;

  void take(std::span<const record::Slot> record) {
    const arbitrate::Account before = taken->account();
    const auto last = taken->last();
    const std::uint64_t had = published.records;
    const std::uint64_t runs = heard.runs;
    const appliance::CardFault fault = taken->take(record, now);
    const arbitrate::Account& after = taken->account();
    fuzz::require(after.balanced(), "the account balances");
    fuzz::require(after.numbers.lost == heard.lost, "what is lost was reported");
    if (fault != appliance::CardFault::None) {
      fuzz::require(!appliance::describe(fault).empty(), "a fault has a sentence");
      fuzz::require(after == before && taken->last() == last && published.records == had && heard.runs == runs,
                    "what no card sends changes nothing");
      return;
    }
    fuzz::require(published.records > had, "what is taken is published");
    fuzz::require(after.packets.delivered - before.packets.delivered <= appliance::CardChannel::kMostUnseen,
                  "numbers that left no record are few");
    fuzz::require(after.numbers.lost - before.numbers.lost <= std::uint64_t{1} << 32,
                  "a gap is no longer than it says");
    if (heard.runs == runs && last && taken->last()) {
      fuzz::require(static_cast<std::int32_t>(*taken->last() - *last) >= 0 || after.numbers.lost != before.numbers.lost,
                    "in a run numbers do not go back");
    }
  }

  void poll() {
    for (std::uint64_t records = 0;; ++records) {
      fuzz::require(records <= 2 * live->room(), "memory that does not change has no more records than it has room");
      const ring::Poll poll = live->poll();
      if (poll == ring::Poll::Nothing) return;
      if (poll != ring::Poll::Record) {
        fuzz::require(!live->problem().empty(), "a ring that is damaged has a reason");
        is_left = true;
        return;
      }
      const std::span<const record::Slot> record = live->record();
      fuzz::require(!record.empty() && record.size() <= program().max_record_slots, "a record has its length");
      if (record::HeaderView(record[0]).channel() == channel.number) take(record);
    }
  }

  /// What the card says that it has kept, and a step after the other until there is none.
  void serve(std::uint32_t state) {
    namespace station = reg::station;
    device.set(station::base(0) + station::kState, state);
    now += device::CardStation::kPollNs;
    std::size_t steps = 0;
    Result<bool> more = live->serve(now);
    for (; more && more.value(); ++steps) more = live->serve(now);
    fuzz::require(more.ok() && steps <= 5'000, "a frame ends");
    const device::StationCounters counters = live->station();
    fuzz::require(counters.frames.reports + counters.frames.replies <= 1'000, "no flood leaves");
  }

  void look() {
    Result<bool> done = live->look(now);
    std::size_t steps = 1;
    for (; done && !done.value(); ++steps) done = live->look(now);
    fuzz::require(steps <= device::LiveCard::kLookSteps, "a look ends");
    (void)live->errors();
    if (!done) {
      fuzz::require(!done.message().empty(), "a card is left for a reason");
      is_left = true;
      return;
    }
    const device::Counters& counters = live->counters();
    for (const std::uint64_t value : {counters.datagrams, counters.datagram_bytes, counters.instructions, counters.gaps,
                                      counters.numbers_missing, counters.verdicts[0]}) {
      fuzz::require(value >> 63 == 0, "no counter goes below where it began");
    }
  }
};

/// A record's first slot, likely to be possible: numbers are counted from the last one.
record::Slot likely(fuzz::Input& input, const World& world) {
  record::Slot slot{};
  const std::uint8_t shape = input.byte();
  const std::uint32_t ahead = (shape & 0x10) != 0 ? static_cast<std::uint32_t>(input.word()) : input.byte();
  const std::uint32_t sequence = world.taken->last().value_or(0) + ahead;
  const std::uint8_t epoch = (shape & 0x20) != 0 ? input.byte() : 0;
  const std::uint8_t kind = shape & 0x0F;  // 0 and 1: a template; else an event
  slot.words[0] = kind < 2 ? kind : record::kEventIndex;
  slot.words[1] = input.word();
  slot.words[2] =
      sequence | std::uint64_t{7} << 32 | std::uint64_t{(shape & 0x40U) != 0 ? record::kFlagLastOfPacket : 0U} << 56;
  slot.words[3] = std::uint64_t{epoch} << 32 | std::uint64_t{input.byte()} << 16 | std::uint64_t{1} << 48;
  if (kind < 2) return slot;
  const bool is_wide = (shape & 0x80) != 0;
  slot.words[4] = (kind - 1U) | (is_wide ? input.word() & 0xFFFF'FF00 : std::uint64_t{input.byte()} << 8);
  slot.words[5] = is_wide ? input.word() : sequence;
  slot.words[6] = is_wide ? input.word() : input.byte();
  return slot;
}

/// Any slots, as records that the ring says are whole.
std::vector<record::Slot> any(fuzz::Input& input) {
  std::vector<record::Slot> slots(1 + input.byte() % program().max_record_slots);
  for (record::Slot& slot : slots) {
    const std::span<const std::byte> bytes = input.take(record::kSlotBytes);
    std::memcpy(slot.words, bytes.data(), bytes.size());
  }
  // Else it is padding, which the card makes by itself.
  if (record::HeaderView(slots[0]).is_pad()) slots[0].words[0] = 0;
  return slots;
}

/// Any clock, looked at by any wall clock: the rate that is written is one that the kernel has.
void run_clock(fuzz::Input& input) {
  test::HollowCard device;
  std::uint64_t shown = 0;
  device.answer = [&](std::uint32_t offset, std::uint32_t value) {
    if (offset == reg::kClockNow) return static_cast<std::uint32_t>(shown);
    return offset == reg::kClockNow + 4 ? static_cast<std::uint32_t>(shown >> 32) : value;
  };
  device::Kernel kernel = device::Kernel::open(device).value();
  device::CardClock clock(kernel);
  for (int i = 0; i < 64 && !input.empty(); ++i) {
    shown = (i & 1) != 0 ? shown + input.half() : input.word();
    fuzz::require(clock.step(input.word()).ok(), "a clock that shows anything can be set");
    (void)clock.error_ns();
  }
}

/// Any answers while the card is set up: it starts, or there is a reason. After the input they are honest, so that what
/// waits for the card ends.
void run_start(fuzz::Input& input) {
  test::HollowCard device;
  device.answer = [&](std::uint32_t, std::uint32_t value) {
    const std::uint8_t choice = input.byte();
    if (choice < 0xF0) return value;
    return choice == 0xFF ? ~std::uint32_t{0} : static_cast<std::uint32_t>(input.word());
  };
  feed::Channel channel;
  channel.framing = net::parse_framing("cme").value();
  const auto made =
      device::LiveCard::make(device, program(), {.channels = 1}, {&channel, 1}, {.ring_slots = 64, .mac_clock = true});
  if (!made) return fuzz::require(!made.message().empty(), "a card that does not start has a reason");
  (void)made.value()->begin();
  (void)made.value()->look(kSecond);
  fuzz::require(made.value()->poll() == ring::Poll::Nothing, "a card that has received nothing has no record");
  device.answer = {};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input({data, size});
  const std::uint8_t options = input.byte();
  if ((options & 8) != 0) {
    (options & 16) != 0 ? run_start(input) : run_clock(input);
    return 0;
  }
  World world(options);
  for (int i = 0; i < 256 && !input.empty(); ++i) {
    const std::uint8_t operation = input.byte();
    switch (operation % 8) {
      case 0:
      case 1: {
        const record::Slot slot = likely(input, world);
        world.device.publish({&slot, 1});
        break;
      }
      case 2: world.device.publish(any(input)); break;
      case 3: {  // bytes in the ring's memory, wherever they are
        const std::span<std::byte> memory = world.device.ring_memory();
        const std::size_t at = static_cast<std::size_t>(input.word()) % memory.size();
        const std::span<const std::byte> bytes = input.take(input.byte());
        std::memcpy(memory.data() + at, bytes.data(), std::min(bytes.size(), memory.size() - at));
        break;
      }
      case 4: {  // a counter, or another register that a look reads
        const std::uint32_t which = input.byte() % 40;
        const std::uint64_t value = (operation & 8) != 0 ? input.word() : input.byte();
        world.device.set(which < 18 ? reg::verdict::base(which) : reg::kDatagrams + (which - 18) * 8, value);
        break;
      }
      case 5: {  // half a register that lies
        static constexpr std::uint32_t kPlaces[] = {
            0, reg::kId, reg::kStatus, reg::kErrors, reg::kInstructions, reg::kDatagramsDecoded + 4, reg::kGaps + 4};
        world.lie_at = kPlaces[input.byte() % std::size(kPlaces)];
        world.lie = input.word();
        break;
      }
      case 6: {
        if ((operation & 8) != 0) {
          if (!world.is_left) world.serve(input.half());
          break;
        }
        world.now += std::uint64_t{input.half()} << 16;
        if (!world.is_left) world.look();
        break;
      }
      default: {
        const auto last = world.taken->last();
        if ((operation & 8) != 0 && world.taken->has_numbers()) {  // it comes back after software
          world.taken->go_on_after(last.value_or(0) + input.byte(), 0, input.byte() & 1, (operation & 16) != 0);
          break;
        }
        const std::uint32_t messages = world.taken->take_back();
        fuzz::require(world.taken->account().balanced(), "what is taken back is counted back");
        fuzz::require(messages == 0 || *world.taken->last() == *last - 1, "and its number is that of before");
      }
    }
    if (!world.is_left) world.poll();
  }
  return 0;
}
