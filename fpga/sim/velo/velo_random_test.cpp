#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <memory>

#include "host/nic/atu/atu.hpp"
#include "host/nic/msg/segments.hpp"
#include "host/nic/rma/memory.hpp"
#include "tests/lib/form.hpp"
#include "tests/lib/nic/fixture.hpp"
#include "velo_fixture.hpp"

// The completer beside the classes of mailboxes and segments: the same messages, reports and memory, whatever ports do.

namespace stopbit::sim::velo {
namespace {

using nic::Access;
using nic::kPageBytes;
using nic::Nla;
using nic::PageLayout;
using nic::Priority;
using nic::Vpid;

constexpr std::size_t kRandomPorts = 4;

struct alignas(kPageBytes) Storage {
  std::byte bytes[kPageBytes] = {};
};

/// Pages twice: one that the class writes and a port reads, one that the unit writes.
struct Pages {
  explicit Pages(std::size_t count) : of_class(count), of_unit(count) {}
  std::vector<Storage> of_class;
  std::vector<Storage> of_unit;
  Vpid owner = 0;
  Nla nla = 0;
  bool is_list = false;
};

class Beside {
 public:
  Beside(std::uint64_t seed, std::uint64_t messages) : unit_(seed), messages_(messages) {
    unit_.wrote = [this](std::uint64_t address, std::uint64_t word) {
      std::byte* const at = unit_memory(address);
      if (at == nullptr) {
        ADD_FAILURE() << "the unit writes to " << std::hex << address;
        return;
      }
      std::memcpy(at, &word, sizeof(word));
    };
    unit_.read = [](std::uint64_t address) -> std::optional<std::array<std::uint64_t, 2>> {
      std::array<std::uint64_t, 2> words;
      std::memcpy(words.data(), reinterpret_cast<const void*>(address), sizeof(words));
      return words;
    };
    unit_.translate = [this](std::uint64_t vpid, std::uint64_t page,
                             std::uint64_t access) -> std::optional<std::uint64_t> {
      const nic::Translation result =
          atu_.translate(static_cast<Vpid>(vpid), page * kPageBytes, static_cast<Access>(access));
      if (!result.ok) return std::nullopt;
      return result.page;
    };
    for (std::size_t port = 0; port < kRandomPorts; ++port) open(port);
  }

  void run() {
    while (done_ < messages_ && !::testing::Test::HasFailure()) {
      if (unit_.random.chance(5)) change_traffic();
      for (std::uint64_t i = unit_.random.below(4); i > 0; --i) act();
      batch();
    }
    EXPECT_GT(delivered_, messages_ / 8);
    EXPECT_GT(full_, messages_ / 200);
    EXPECT_GT(refused_, messages_ / 200);
    EXPECT_GT(ended_, messages_ / 1000);
    EXPECT_GT(unit_.events.fetched, messages_ / 100);
  }

 private:
  struct Ring {
    std::unique_ptr<nic::SegmentWriter> writer;  ///< Null: the ring is in the port's page.
    std::unique_ptr<nic::SegmentReader> reader;
    Pages* list = nullptr;
    std::uint32_t places = 0;
    std::uint32_t slot_bytes = 64;
    std::vector<Pages*> segments;
    bool is_foul = false;  ///< The port has posted what its reader does not know.
  };
  struct PortState {
    nic::PageMemory of_class;
    nic::PageMemory of_unit;
    std::size_t slot_bytes = 64;
    bool is_open = true;
    bool is_enabled = true;
    std::uint64_t domain = kDomain;
    std::optional<std::pair<std::uint64_t, std::uint64_t>> only;
    std::array<std::unique_ptr<nic::MailboxWriter>, 2> boxes;
    std::array<std::unique_ptr<nic::MailboxReader>, 2> readers;
    std::array<Ring, 2> rings;
  };
  struct Expected {
    Error error = {};
    std::uint64_t target = 0;
    std::uint64_t status = 0;
    bool is_erroneous = false;
  };

  /// Where the unit's write to an address of the class's memory goes.
  std::byte* unit_memory(std::uint64_t address) {
    for (PortState& port : ports_) {
      const auto base = reinterpret_cast<std::uintptr_t>(port.of_class.span().data());
      if (address >= base && address < base + PageLayout::kBytes) return port.of_unit.span().data() + (address - base);
    }
    const auto found = by_page_.upper_bound(address / kPageBytes);
    if (found == by_page_.begin()) return nullptr;
    const auto& [first, pages] = *std::prev(found);
    const std::uint64_t at = address - first * kPageBytes;
    if (at >= pages->of_unit.size() * kPageBytes) return nullptr;
    return pages->of_unit[at / kPageBytes].bytes + at % kPageBytes;
  }
  Pages* add_pages(std::size_t count, Vpid owner, Access access) {
    auto pages = std::make_unique<Pages>(count);
    std::vector<nic::PageNumber> numbers(count);
    for (std::size_t i = 0; i < count; ++i) numbers[i] = nic::to_page_number(pages->of_class[i].bytes);
    const auto nla = atu_.register_pages(owner, numbers, access);
    if (!nla) return nullptr;
    pages->owner = owner;
    pages->nla = *nla;
    by_page_[numbers[0]] = pages.get();
    memory_.push_back(std::move(pages));
    return memory_.back().get();
  }
  void revoke(Pages* pages) {
    if (!atu_.revoke(pages->owner, pages->nla, pages->of_class.size())) return;
    for (const nic::Unit unit : {nic::Unit::Requester, nic::Unit::Responder, nic::Unit::Completer}) {
      atu_.acknowledge(unit, atu_.flush_number());
    }
  }

  void set_port(std::size_t number) {
    const PortState& port = ports_[number];
    unit_.set_port(number, {port.is_open, port.is_enabled, port.domain, port.only.has_value(),
                            port.only ? port.only->first : 0, port.only ? port.only->second : 0});
  }
  void open(std::size_t number) {
    PortState& port = ports_[number];
    port.slot_bytes = number % 2 == 0 ? 64 : 128;
    port.of_class.page().word(nic::PageWord::SlotBytes).store(port.slot_bytes);
    set_port(number);
    for (const Priority priority : {Priority::Low, Priority::High}) {
      const auto index = static_cast<std::size_t>(priority);
      port.boxes[index] = std::make_unique<nic::MailboxWriter>(port.of_class.page(), priority, port.slot_bytes);
      port.readers[index] = std::make_unique<nic::MailboxReader>(port.of_class.page(), priority);
      const std::size_t at = priority == Priority::High ? PageLayout::kHighAt : PageLayout::kLowAt;
      unit_.set_ring(ring_of(number, index == 1), false,
                     {true, false, port.slot_bytes == 64 ? 2U : 3U, PageLayout::kMailboxSlots,
                      reinterpret_cast<std::uintptr_t>(port.of_class.span().data()) + at, 0});
      set_limits(number, index);
    }
  }
  void set_limits(std::size_t number, std::size_t priority) {
    const nic::Page page = ports_[number].of_class.page();
    const bool is_high = priority == 1;
    unit_.set_limit(ring_of(number, is_high), false,
                    page.word(is_high ? nic::PageWord::HighRead : nic::PageWord::LowRead).load());
    unit_.set_limit(ring_of(number, is_high), true,
                    page.word(nic::posted_word(static_cast<Priority>(priority))).load());
  }

  void start_ring(std::size_t number, std::size_t priority) {
    PortState& port = ports_[number];
    Ring& ring = port.rings[priority];
    ring = {};
    const auto vpid = static_cast<Vpid>(number);
    ring.list = add_pages(1, vpid, unit_.random.chance(95) ? Access::Read : Access::Write);
    if (ring.list == nullptr) return;
    ring.places = static_cast<std::uint32_t>(2 + unit_.random.below(unit_.random.chance(20) ? 127 : 8));
    ring.slot_bytes = 16U << unit_.random.below(4);
    const nic::SegmentRing asked{ring.list->nla, ring.places, ring.slot_bytes, 0};
    const nic::Page page = port.of_class.page();
    const auto side = static_cast<Priority>(priority);
    ring.reader = std::make_unique<nic::SegmentReader>(
        page, side, std::span(reinterpret_cast<nic::SegmentDescriptor*>(ring.list->of_class[0].bytes), ring.places),
        ring.slot_bytes);
    ring.writer = std::make_unique<nic::SegmentWriter>(atu_, vpid, page, side, asked);
    const std::uint64_t slot_size = ring.slot_bytes == 16   ? 0
                                    : ring.slot_bytes == 32 ? 1
                                    : ring.slot_bytes == 64 ? 2
                                                            : 3;
    unit_.set_ring(ring_of(number, priority == 1), true, {true, true, slot_size, ring.places, ring.list->nla, 0});
  }
  void add_segment(std::size_t number, std::size_t priority) {
    Ring& ring = ports_[number].rings[priority];
    if (!ring.writer || ring.is_foul) return;
    const std::uint64_t slots = 1 + unit_.random.below(unit_.random.chance(30) ? 200 : 12);
    const std::size_t bytes = slots * ring.slot_bytes;
    Pages* const pages = add_pages((bytes + kPageBytes - 1) / kPageBytes, static_cast<Vpid>(number),
                                   unit_.random.chance(97) ? Access::ReadWrite : Access::Read);
    if (pages == nullptr) return;
    if (ring.reader->add(pages->nla, std::span(pages->of_class[0].bytes, bytes))) ring.segments.push_back(pages);
  }
  /// A descriptor of a port that writes what it likes.
  void add_nonsense(std::size_t number, std::size_t priority) {
    Ring& ring = ports_[number].rings[priority];
    if (!ring.writer || memory_.empty()) return;
    const auto word = ports_[number].of_class.page().word(nic::posted_word(static_cast<Priority>(priority)));
    const Pages& pages = *memory_[unit_.random.below(memory_.size())];
    std::array<std::uint64_t, 2> descriptor = {pages.nla, 1 + unit_.random.below(80)};
    switch (unit_.random.below(8)) {
      case 0: descriptor[0] += std::uint64_t{1} << unit_.random.below(8); break;
      case 1: descriptor[1] |= std::uint64_t{1} << (32 + unit_.random.below(32)); break;
      case 2: descriptor[1] = 0; break;
      case 3: descriptor[1] = 65'537 + unit_.random.below(3); break;
      case 4: descriptor[0] |= std::uint64_t{1} << (39 + unit_.random.below(25)); break;
      case 5: descriptor = {unit_.random.bits(), unit_.random.bits()}; break;
      case 6: descriptor = {(std::uint64_t{1} << 39U) - 4096, 100}; break;
      default: break;  // memory of any port
    }
    std::memcpy(ring.list->of_class[0].bytes + word.load() % ring.places * 16, descriptor.data(), 16);
    word.store(word.load() + 1);
    ring.is_foul = true;
  }

  void act() {
    const std::size_t number = unit_.random.below(kRandomPorts);
    const std::size_t priority = unit_.random.below(2);
    PortState& port = ports_[number];
    Ring& ring = port.rings[priority];
    const std::uint64_t what = unit_.random.below(100);
    if (what < 45) {
      read(number, priority);
    } else if (what < 75) {
      if (!ring.writer || ring.writer->queue().has_ended() || (ring.is_foul && unit_.random.chance(30)))
        start_ring(number, priority);
      add_segment(number, priority);
    } else if (what < 79) {
      add_nonsense(number, priority);
    } else if (what < 81 && ring.writer) {
      // The class remembers that its ring was late until the port posts something; the unit looks again. So one is
      // posted.
      const std::size_t before = ring.segments.size();
      add_segment(number, priority);
      if (before != 0 && ring.segments.size() > before) revoke(ring.segments[unit_.random.below(before)]);
    } else if (what < 82 && ring.writer) {
      const std::size_t before = ring.segments.size();
      add_segment(number, priority);
      if (ring.segments.size() > before) revoke(ring.list);
    } else if (what < 85 && ring.writer) {
      ring = {};
      unit_.set_ring(ring_of(number, priority == 1), true, {false, true, 0, 2, 0, 0});
    } else if (what < 88) {
      port.is_enabled = unit_.random.chance(90);
      port.is_open = unit_.random.chance(90);
      port.domain = kDomain + (unit_.random.chance(15) ? 1 : 0);
      port.only.reset();
      if (unit_.random.chance(30)) port.only = {3 + unit_.random.below(2), unit_.random.below(2)};
      set_port(number);
    } else if (what < 90) {
      members_.clear();
      for (std::uint64_t i = unit_.random.below(6); i > 0; --i)
        members_.push_back(unit_.random.below(kRandomPorts + 1));
      const std::uint64_t first = unit_.random.below(200);
      for (std::size_t i = 0; i < members_.size(); ++i) unit_.set_member(first + i, members_[i]);
      has_group_ = unit_.random.chance(90);
      unit_.set_group(kGroup, {has_group_, kDomain, first, members_.size()});
    }
    set_limits(number, priority);
  }
  void read(std::size_t number, std::size_t priority) {
    PortState& port = ports_[number];
    Ring& ring = port.rings[priority];
    std::array<std::byte, nic::kMaxMessageBytes> into;
    for (std::uint64_t i = unit_.random.below(40); i > 0; --i) (void)port.readers[priority]->poll(into);
    if (ring.reader && !ring.is_foul) {
      for (std::uint64_t i = unit_.random.below(40); i > 0; --i) (void)ring.reader->poll(into);
    }
  }

  /// What a message comes to, by the classes.
  Error put(std::uint64_t target, std::size_t priority, const Header& header, std::span<const std::byte> bytes,
            bool is_erroneous) {
    if (target >= kRandomPorts || !ports_[target].is_open) return Error::TargetVpid;
    PortState& port = ports_[target];
    if (port.domain != header.domain) return Error::Domain;
    if (port.only && (port.only->first != header.node || port.only->second != header.vpid)) return Error::Domain;
    if (!port.is_enabled) return Error::TargetVpid;
    nic::MessageHead head;
    head.node = static_cast<nic::NodeId>(header.node);
    head.vpid = static_cast<Vpid>(header.vpid);
    head.tag = static_cast<std::uint8_t>(header.tag);
    head.type = static_cast<std::uint8_t>(header.kind);
    head.length = static_cast<std::uint16_t>(bytes.size());
    head.is_erroneous = is_erroneous;
    Ring& ring = port.rings[priority];
    if (!ring.writer) return port.boxes[priority]->put(head, bytes) ? Error::None : Error::Full;
    const bool had_ended = ring.writer->queue().has_ended();
    const nic::SegmentWriter::Put result = ring.writer->put(head, bytes);
    if (!had_ended && ring.writer->queue().has_ended()) {
      expected_ends_.push_back(
          {ring_of(target, priority == 1), ring.writer->error(), ring.writer->queue().culprit() & 0xFFFF'FFFF});
    }
    return result == nic::SegmentWriter::Put::Done   ? Error::None
           : result == nic::SegmentWriter::Put::Late ? Error::Full
                                                     : ring.writer->error();
  }

  void batch() {
    std::array<std::vector<Expected>, 2> expected;
    expected_ends_.clear();
    unit_.ends.clear();
    unit_.reports.clear();
    std::size_t count = 0;
    for (std::uint64_t i = 1 + unit_.random.below(6); i > 0; --i) {
      const std::size_t priority = unit_.random.below(2);
      const Header header{3 + unit_.random.below(2) - (unit_.random.chance(10) ? 2U : 0U),
                          unit_.random.below(2),
                          unit_.random.below(256),
                          unit_.random.below(4),
                          kDomain + (unit_.random.chance(10) ? 1U : 0U),
                          unit_.random.chance(20)};
      const std::size_t most = std::array{8U, 64U, 300U, 2048U}[unit_.random.below(4)];
      std::vector<std::byte> bytes(1 + unit_.random.below(most));
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(unit_.random.below(256));
      const bool is_erroneous = unit_.random.chance(5);
      const bool is_group = unit_.random.chance(10);
      const std::uint64_t target =
          is_group ? kGroup : unit_.random.below(kRandomPorts + 1) + (unit_.random.chance(2) ? 64U : 0U);
      const Start start{is_group ? 0 : target, is_group ? target : kNode, 0, priority, 0, is_group, 0};
      const std::uint64_t status = wire(header, bytes.size());
      // The last word is padded with anything.
      std::vector<std::uint64_t> words = to_words(bytes);
      if (bytes.size() % 8 != 0) words.back() |= unit_.random.bits() << bytes.size() % 8 * 8;
      unit_.come(packets_of(start, status, words, is_erroneous));
      const auto expect = [&](std::uint64_t to, Error error) {
        expected[priority].push_back({error, to, status, is_erroneous});
        ++count;
      };
      if (!is_group) {
        expect(target, put(target, priority, header, bytes, is_erroneous));
      } else if (!has_group_) {
        expect(target, Error::TargetVpid);
      } else {
        for (const std::uint64_t member : members_) {
          if (header.node == kNode && header.vpid == member) continue;
          expect(member, put(member, priority, header, bytes, is_erroneous));
        }
      }
      ++done_;
    }
    ASSERT_TRUE(unit_.until([&] { return unit_.reports.size() >= count && unit_.to_come.empty(); }));
    // Until all is written, and descriptors are fetched ahead.
    while (!unit_.is_quiet(80)) unit_.cycle();
    ASSERT_EQ(unit_.reports.size(), count);
    std::array<std::size_t, 2> at{};
    for (const Report& report : unit_.reports) {
      const std::size_t priority = report.is_high ? 1 : 0;
      ASSERT_LT(at[priority], expected[priority].size());
      const Expected& wanted = expected[priority][at[priority]++];
      ASSERT_EQ(report.error, wanted.error)
          << nic::to_name(report.error) << " for " << nic::to_name(wanted.error) << " at " << wanted.target;
      ASSERT_EQ(report.target, wanted.target);
      ASSERT_EQ(report.status, wanted.status);
      ASSERT_EQ(report.is_erroneous, wanted.is_erroneous);
      delivered_ += wanted.error == Error::None;
      full_ += wanted.error == Error::Full;
      refused_ += wanted.error == Error::Domain || wanted.error == Error::TargetVpid;
    }
    const auto by_ring = [](const End& a, const End& b) { return a.ring < b.ring; };
    std::sort(expected_ends_.begin(), expected_ends_.end(), by_ring);
    std::sort(unit_.ends.begin(), unit_.ends.end(), by_ring);
    ASSERT_EQ(unit_.ends.size(), expected_ends_.size());
    for (std::size_t i = 0; i < expected_ends_.size(); ++i) {
      ASSERT_EQ(unit_.ends[i].ring, expected_ends_[i].ring);
      ASSERT_EQ(unit_.ends[i].error, expected_ends_[i].error);
      ASSERT_EQ(unit_.ends[i].culprit, expected_ends_[i].culprit);
    }
    ended_ += expected_ends_.size();
    compare();
  }
  /// All memory that messages are written to.
  void compare() {
    for (PortState& port : ports_) {
      constexpr std::size_t kFrom = PageLayout::kHighAt;
      ASSERT_EQ(std::memcmp(port.of_class.span().data() + kFrom, port.of_unit.span().data() + kFrom,
                            PageLayout::kHighCommandsAt - kFrom),
                0);
      for (Ring& ring : port.rings) {
        for (const Pages* pages : ring.segments) {
          // Ports clear the status of slots, of which the unit sees nothing.
          for (std::size_t page = 0; page < pages->of_class.size(); ++page) {
            for (std::size_t word = 0; word < kPageBytes; word += 8) {
              std::uint64_t ours = 0;
              std::uint64_t theirs = 0;
              std::memcpy(&ours, pages->of_class[page].bytes + word, 8);
              std::memcpy(&theirs, pages->of_unit[page].bytes + word, 8);
              ASSERT_EQ(ours, theirs) << "word " << word;
            }
          }
        }
      }
    }
  }
  void change_traffic() {
    unit_.stall_percent = std::array{0U, 10U, 60U}[unit_.random.below(3)];
    unit_.memory_stall_percent = std::array{0U, 10U, 70U}[unit_.random.below(3)];
    const std::uint64_t most = std::array{1U, 5U, 60U}[unit_.random.below(3)];
    unit_.latency = [this, most] { return 1 + unit_.random.below(most); };
  }

  static constexpr std::uint64_t kGroup = 9;

  Unit unit_;
  nic::Atu atu_{nic::AtuOptions{1, 16384, 64, 55}};
  std::uint64_t messages_;
  std::array<PortState, kRandomPorts> ports_;
  std::vector<std::unique_ptr<Pages>> memory_;
  std::map<std::uint64_t, Pages*> by_page_;
  std::vector<End> expected_ends_;
  std::vector<std::uint64_t> members_;
  bool has_group_ = false;
  std::uint64_t done_ = 0;
  std::uint64_t delivered_ = 0;
  std::uint64_t full_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t ended_ = 0;
};

TEST(VeloRandom, agrees_with_the_classes_of_mailboxes_and_segments) {
  const std::uint64_t messages = by_form<std::uint64_t>(1'000, 4'000, 1'000'000);
  // Memory that was registered stays for the whole run: several runs, each with its own.
  for (std::uint64_t done = 0; done < messages && !HasFailure(); done += 4'000) {
    Beside(seed() + done, std::min<std::uint64_t>(messages - done, 4'000)).run();
  }
}

}  // namespace
}  // namespace stopbit::sim::velo
