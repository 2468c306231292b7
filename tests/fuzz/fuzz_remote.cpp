// Whatever a subscriber says to a publisher of rings, and whatever a publisher says to a subscriber, shows it as its
// ring, shows it as the tables beside that ring, or puts into its landing memory: both go on, the ring here holds
// nothing that a reader takes for damaged, and an event of it names no instrument that the tables here have not.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "host/market/instrument/table.hpp"
#include "host/market/state/table.hpp"
#include "host/market/state/tables.hpp"
#include "host/nic/transport/model/network.hpp"
#include "host/os/shm/name.hpp"
#include "host/remote/publisher.hpp"
#include "host/remote/subscriber.hpp"
#include "host/ring/reader.hpp"
#include "host/ring/writer.hpp"
#include "tests/lib/file_text.hpp"

namespace {

using namespace stopbit::nic;
using namespace stopbit::remote;
namespace market = stopbit::market;
namespace os = stopbit::os;
namespace ring = stopbit::ring;
namespace record = stopbit::record;

constexpr std::uint32_t kMaxRecordSlots = 4;
constexpr std::uint64_t kSlots = 64;
constexpr std::size_t kNearNameAt = 256;  // in a request for a near ring: the rest is its name

void require(bool holds) {
  if (!holds) std::abort();
}

template <class T>
T required(stopbit::Result<T> result) {
  require(result.ok());
  return std::move(result).value();
}

stopbit::Program program() {
  stopbit::Program program;
  program.max_record_slots = kMaxRecordSlots;
  return program;
}

void write_record(record::RecordSink& sink, std::uint32_t slots) {
  const record::RecordSink::Place place = sink.open();
  record::Slot first{};
  for (std::uint32_t i = 0; i < slots; ++i) {
    record::Slot& slot = i == 0 ? first : place.slots[i];
    record::store_word(slot.words[record::kTagWord],
                       i == 0 ? ring::first_slot_tags(place.phase()) : record::tag_word_base(place.phase(), i));
  }
  first.words[0] = std::uint64_t{slots} << 16 | std::uint64_t{place.stamp()} << 32;
  sink.commit(first, slots);
}

/// Messages that were read well say the same when they are written and read again.
void check_messages(std::span<const std::byte> bytes) {
  std::uint16_t version = 0;
  const auto greeting = read_greeting(bytes, version);
  if (!greeting) return;
  if (greeting.value().call == Call::AcceptNear) {
    if (const auto message = read_accept_near(bytes)) require(read_accept_near(to_bytes(message.value())).ok());
  } else if (greeting.value().call == Call::Beat) {
    if (const auto message = read_beat(bytes)) require(read_beat(to_bytes(message.value())).ok());
  } else if (greeting.value().call == Call::Echo) {
    if (const auto message = read_echo(bytes)) require(read_echo(to_bytes(message.value())).ok());
  } else if (greeting.value().call == Call::Reached) {
    if (const auto message = read_reached(bytes)) require(read_reached(to_bytes(message.value())).ok());
  } else if (greeting.value().call == Call::Subscribe || greeting.value().call == Call::SubscribeNear) {
    const auto message = read_subscribe(bytes);
    if (!message) return;
    const bool is_near = greeting.value().call == Call::SubscribeNear;
    require(message.value().near.has_value() == is_near);
    require(is_near || (message.value().layout.is_sound() && message.value().layout.bytes() <= kMaxLandingBytes));
    const std::vector<std::byte> again = to_bytes(message.value());
    const auto second = read_subscribe(again);
    require(second.ok() && second.value().filter == message.value().filter &&
            second.value().ring == message.value().ring && second.value().token == message.value().token &&
            second.value().near == message.value().near && second.value().earlier == message.value().earlier);
  } else if (greeting.value().call == Call::Accept) {
    if (const auto message = read_accept(bytes)) {
      const auto second = read_accept(to_bytes(message.value()));
      require(second.ok() && second.value().tables.has_value() == message.value().tables.has_value());
      require(second.value().tables_epoch == message.value().tables_epoch);
    }
  } else if (greeting.value().call == Call::Refuse) {
    if (const auto message = read_refuse(bytes)) {
      require(message.value().text.size() <= kMaxRefusalText);
      require(!std::string_view(to_meaning(message.value().why)).empty());
    }
  }
}

void patch(std::span<std::byte> bytes, std::span<const std::byte> with) {
  if (with.size() < 2 || bytes.empty()) return;
  const std::size_t at =
      (std::to_integer<std::size_t>(with[0]) | std::to_integer<std::size_t>(with[1]) << 8U) % bytes.size();
  const std::span<const std::byte> values = with.subspan(2);
  std::copy_n(values.begin(), std::min(values.size(), bytes.size() - at),
              bytes.begin() + static_cast<std::ptrdiff_t>(at));
}

/// Node 0 has a port that sends anything, and an honest publisher; node 1 a subscriber of the first.
struct World {
  World()
      : name("fuzz-remote-" + std::to_string(::getpid())),
        network(one_host()),
        node(network.port(0), options()),
        other(network.port(1), options()),
        writer(required(ring::Writer::prepare(name, program(), {.slot_count = kSlots}))),
        instruments(required(market::InstrumentTable::create(name, {.capacity = 8, .ring_epoch = writer.epoch()}))),
        states(required(market::state::Table::create(name, {.rows = 8, .levels = 1, .ring_epoch = writer.epoch()}))),
        hostile(required(NodePort::open(node, 0))) {
    require(writer.take_name().ok());
    for (const char* key : {"a", "b", "c"}) {
      require(instruments.add(key, [](market::InstrumentRow& row) { row.tick = 5; }) != 0);
    }
    PublisherOptions how;
    how.rings = {{"ring", name, "token"}};
    how.subscribers = 2;
    publisher = required(Publisher::open(node, how));
    for (int i = 0; i < 10; ++i) write_record(writer, 2);  // accept() says so
    const std::string bytes = stopbit::testing::file_text(os::path_of(name).value());
    honest.resize(bytes.size());
    std::memcpy(honest.data(), bytes.data(), bytes.size());
    segment = required(PortMemory::make(*hostile, "segment", honest.size(), Access::ReadWrite));
    landing = required(PortMemory::make(*hostile, "landing", 1U << 18U, Access::ReadWrite));
    std::copy(honest.begin(), honest.end(), segment.span().begin());
    honest_instruments.assign(instruments.view().bytes().begin(), instruments.view().bytes().end());
    honest_states.assign(states.bytes().begin(), states.bytes().end());
    tables = required(PortMemory::make(*hostile, "tables", states_at() + honest_states.size(), Access::ReadWrite));
    table_windows = {open_tables(0, honest_instruments.size()), open_tables(states_at(), honest_states.size())};
    segment_window = node.rma().open_window(hostile->vpid(), segment.address(), honest.size(), Access::Read).value();
    landing_window = node.rma().open_window(hostile->vpid(), landing.address(), 1U << 18U, Access::Write).value();
  }
  ~World() {
    for (const char* which : {"", "-here", "-near"}) {
      for (const char* suffix : {"", ".instruments", ".state"}) {
        ::unlink((os::path_of(name + which).value() + suffix).c_str());
      }
    }
  }
  /// Where the states are in the memory that is shown as tables.
  [[nodiscard]] std::size_t states_at() const {
    return (honest_instruments.size() + kPageBytes - 1) / kPageBytes * kPageBytes;
  }
  [[nodiscard]] WindowName open_tables(std::size_t at, std::size_t bytes) {
    return node.rma().open_window(hostile->vpid(), tables.address() + at, bytes, Access::Read).value();
  }
  void show_honest_tables() {
    std::copy(honest_instruments.begin(), honest_instruments.end(), tables.span().begin());
    std::copy(honest_states.begin(), honest_states.end(),
              tables.span().begin() + static_cast<std::ptrdiff_t>(states_at()));
  }
  static ModelOptions one_host() {
    ModelOptions options;
    options.is_one_host = true;
    return options;
  }
  static NodeOptions options() {
    NodeOptions options;
    options.ports = 16;
    options.rma.windows = 32;
    options.atu.entries = 4096;
    return options;
  }
  /// Until nothing happens any more, at most so often.
  void step(int times) {
    for (int i = 0, quiet = 0; i < times && quiet < 4; ++i) {
      network.set_time(now += 100'000);
      std::size_t work = node.step(now) + other.step(now) + publisher->step(now);
      if (subscriber) work += subscriber->step(now);
      quiet = work == 0 ? quiet + 1 : 0;
    }
  }
  /// What the subscriber asked last, if it has.
  void hear() {
    std::array<std::byte, kMaxMessageBytes> bytes;
    while (const auto head = hostile->receive(bytes)) {
      if (head->node != other.id()) continue;
      const auto message = read_subscribe(std::span(bytes).first(head->length));
      if (!message) continue;
      asked = message.value();
      asked_by = head->vpid;
    }
    Notification notification;
    while (hostile->notifications().take(notification)) {
    }
  }
  [[nodiscard]] Accept accept_with_tables() const {
    Accept message = accept();
    message.tables = table_windows;
    message.tables_epoch = writer.epoch();
    return message;
  }
  [[nodiscard]] Accept accept() const {
    const ring::Header& header = *reinterpret_cast<const ring::Header*>(honest.data());
    Accept message;
    message.session = asked ? asked->session : 0;
    message.sender = hostile->vpid();
    message.credit_event = 1;
    message.has_window = true;
    message.owner = hostile->vpid();
    message.window = segment_window;
    message.slot_count = kSlots;
    message.slots_offset = header.slots_offset;
    message.image_offset = header.image_offset;
    message.image_bytes = header.image_bytes;
    message.layout_hash = header.layout_hash;
    message.epoch = 1;
    message.max_record_slots = kMaxRecordSlots;
    message.begin = {kSlots + 20, 10};
    return message;
  }
  void put(std::span<const std::byte> bytes) {
    if (!asked || bytes.empty()) return;
    const std::size_t length = std::min(bytes.size(), asked->layout.max_message());
    const std::uint64_t number = ++puts;
    const auto length32 = static_cast<std::uint32_t>(length);
    std::byte* const to = landing.span().data();
    std::memset(to, 0, ChannelLayout::kHeaderBytes);
    std::memcpy(to, &number, sizeof(number));
    std::memcpy(to + 8, &length32, sizeof(length32));
    std::memcpy(to + ChannelLayout::kHeaderBytes, bytes.data(), length);
    Command command;
    command.operation = Operation::Put;
    command.target_node = other.id();
    command.target_vpid = asked_by;
    command.window = asked->landing.id;
    command.capability = asked->landing.capability;
    command.address = landing.address();
    command.offset = (number - 1) % asked->layout.slots * asked->layout.slot_bytes;
    command.length = static_cast<std::uint32_t>(ChannelLayout::kHeaderBytes + length);
    command.more = asked->event;
    (void)hostile->transfers().insert({&command, 1});
  }

  std::string name;
  ModelNetwork network;
  Node node;
  Node other;
  ring::Writer writer;
  market::InstrumentTable instruments;
  market::state::Table states;
  std::unique_ptr<NodePort> hostile;
  std::unique_ptr<Publisher> publisher;
  std::vector<std::byte> honest;
  std::vector<std::byte> honest_instruments;
  std::vector<std::byte> honest_states;
  PortMemory tables;
  TableWindows table_windows;
  PortMemory segment;
  PortMemory landing;
  WindowName segment_window;
  WindowName landing_window;
  std::unique_ptr<Subscriber> subscriber;
  std::optional<Subscribe> asked;
  Vpid asked_by = 0;
  std::uint64_t puts = 0;
  std::uint64_t now = 0;
};

}  // namespace

/// What any reader does with the tables beside the ring.
void check_tables(const std::string& name, std::uint64_t tables_epoch, std::uint32_t named) {
  const auto tables = market::Tables::open(name, tables_epoch);
  if (!tables) return;
  market::InstrumentRow row;
  market::state::Top top;
  market::state::DayView day;
  for (std::uint32_t number = 1; number <= tables.value().count(); ++number) {
    require(tables.value().instruments().read(number, row));
    require(tables.value().row_of(key_of(row)) != 0);
    (void)tables.value().states().read(number, top, day);
  }
  require(named <= tables.value().instruments().count());
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static World world;
  check_messages(std::as_bytes(std::span(data, size)));
  SubscriberOptions how;
  how.publisher_port = world.hostile->vpid();
  how.ring = "ring";
  // Rings of our own making, and the one that the other publisher would say it has made.
  how.name = size != 0 && data[0] % 2 != 0 ? world.name : world.name + "-here";
  if (how.name == world.name) how.way = SubscriberOptions::Way::Near;
  how.landing_messages = ChannelLayout::kMinSlots;
  how.max_slots = 4096;
  how.max_table_bytes = 1U << 20U;
  how.ask_ns = 1'000'000;
  world.subscriber = required(Subscriber::open(world.other, how));
  std::copy(world.honest.begin(), world.honest.end(), world.segment.span().begin());
  world.show_honest_tables();
  world.asked.reset();
  world.step(4);
  world.hear();
  std::optional<ring::Reader> reader;
  // Chunks: a byte that says how long it is, a byte that says what it is for, and the chunk.
  for (std::size_t at = 0; at + 2 <= size;) {
    const std::size_t length = std::min<std::size_t>(data[at], size - at - 2);
    const std::uint8_t kind = data[at + 1];
    const std::span<const std::byte> chunk = std::as_bytes(std::span(data + at + 2, length));
    at += 2 + length;
    const Vpid publisher = world.publisher->vpid();
    switch (kind % 16) {
      case 0:  // a message of any bytes to the publisher
        if (!chunk.empty()) (void)world.hostile->send(0, publisher, chunk, world.now);
        break;
      case 1: {  // a request that was good, to it
        Subscribe request;
        request.session = kind;
        request.ring = "ring";
        request.token = "token";
        request.landing = world.landing_window;
        request.layout = {ChannelLayout::kMinSlots, 1024};
        request.event = 3;
        request.wants_tables = kind / 16 % 2 != 0;
        request.filter.patterns.resize(kind / 64);
        std::vector<std::byte> bytes = to_bytes(request);
        patch(bytes, chunk);
        check_messages(bytes);
        (void)world.hostile->send(0, publisher, bytes, world.now);
        break;
      }
      case 8: {  // one for a ring that the publisher writes; a name that is patched begins as ours do
        Subscribe request;
        request.session = kind;
        request.ring = "ring";
        request.token = "token";
        request.near = WantedRing{world.name + "-near", true, kSlots};
        std::vector<std::byte> bytes = to_bytes(request);
        patch(std::span(bytes).first(kNearNameAt), chunk);
        check_messages(bytes);
        (void)world.hostile->send(0, publisher, bytes, world.now);
        break;
      }
      case 9: {  // an echo of a beat
        std::vector<std::byte> bytes = to_bytes(Echo{kind, 1});
        patch(bytes, chunk);
        (void)world.hostile->send(0, publisher, bytes, world.now);
        break;
      }
      case 10: {  // the ring that the subscriber wants exists
        std::vector<std::byte> bytes =
            to_bytes(AcceptNear{world.asked ? world.asked->session : 0, world.writer.epoch()});
        patch(bytes, chunk);
        (void)world.hostile->send(1, world.asked_by, bytes, world.now);
        break;
      }
      case 11: {  // how it is
        Beat beat;
        beat.session = world.asked ? world.asked->session : 0;
        beat.has_history = true;
        std::vector<std::byte> bytes = to_bytes(beat);
        patch(bytes, chunk);
        (void)world.hostile->send(1, world.asked_by, bytes, world.now);
        break;
      }
      case 12: (void)world.hostile->send(1, world.asked_by, to_bytes(Refuse{0, Refusal::Near, ""}), world.now); break;
      case 2:  // a message of any bytes to the subscriber
        if (!chunk.empty()) (void)world.hostile->send(1, world.asked_by, chunk, world.now);
        break;
      case 3: {  // an answer that was good, to it
        std::vector<std::byte> bytes = to_bytes(world.accept());
        patch(bytes, chunk);
        check_messages(bytes);
        (void)world.hostile->send(1, world.asked_by, bytes, world.now);
        world.puts = 0;
        break;
      }
      case 4: patch(world.segment.span().first(world.honest.size()), chunk); break;
      case 5: world.put(chunk); break;  // a message of any bytes in the channel
      case 6: {                         // a good one
        std::vector<std::byte> bytes(sizeof(BatchHead) + 2 * record::kSlotBytes);
        BatchHead head;
        head.slots = 2;
        head.reached = {kSlots + 22, 11};
        std::memcpy(bytes.data(), &head, sizeof(head));
        std::array<record::Slot, 2> slots{};
        slots[0].words[0] = std::uint64_t{2} << 16;
        slots[0].words[record::kTagWord] = ring::first_slot_tags(false);
        slots[1].words[record::kTagWord] = record::tag_word_base(false, 1);
        std::memcpy(bytes.data() + sizeof(head), slots.data(), sizeof(slots));
        patch(bytes, chunk);
        world.put(bytes);
        break;
      }
      case 13: {  // an answer with tables that was good
        std::vector<std::byte> bytes = to_bytes(world.accept_with_tables());
        patch(bytes, chunk);
        check_messages(bytes);
        (void)world.hostile->send(1, world.asked_by, bytes, world.now);
        world.puts = 0;
        break;
      }
      case 14: patch(world.tables.span(), chunk); break;
      case 15: {  // an event of an instrument
        std::vector<std::byte> bytes(sizeof(BatchHead) + record::kSlotBytes);
        BatchHead head;
        head.slots = 1;
        head.reached = {kSlots + 21, 11};
        std::memcpy(bytes.data(), &head, sizeof(head));
        const market::Event event = market::Event::of(
            {.flags = market::kFlagLastOfEvent, .instrument = kind / 16U, .kind = market::Kind::Trade});
        const record::Slot slot = event.slot(0, false);
        std::memcpy(bytes.data() + sizeof(head), &slot, sizeof(slot));
        patch(bytes, chunk);
        world.put(bytes);
        break;
      }
      default: write_record(world.writer, 1 + kind / 8 % kMaxRecordSlots); break;
    }
    world.step(40);
    world.hear();
    if (!reader && world.subscriber->has_ring()) reader = required(ring::Reader::open(how.name));
    std::uint32_t named = 0;
    while (reader) {
      const ring::Poll poll = reader->poll();
      require(poll != ring::Poll::Damaged);
      if (poll != ring::Poll::Record && poll != ring::Poll::Lost) break;
      if (poll == ring::Poll::Record && market::is_event(reader->record().front())) {
        named = std::max(named, market::Event::from(reader->record().front()).instrument());
      }
    }
    const bool is_copied = reader && how.name != world.name && world.subscriber->tables_problem().empty();
    if (is_copied) check_tables(how.name, reader->tables_epoch(), named);
  }
  require(world.publisher->status().size() <= 2);
  world.subscriber.reset();
  world.step(4);
  return 0;
}
