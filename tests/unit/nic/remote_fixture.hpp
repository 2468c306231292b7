#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "decoder/record/builder.hpp"
#include "decoder/record/views.hpp"
#include "host/nic/node/node.hpp"
#include "host/nic/transport/model/network.hpp"
#include "host/os/shm/name.hpp"
#include "host/remote/publisher.hpp"
#include "host/remote/subscriber.hpp"
#include "host/ring/reader.hpp"
#include "host/ring/writer.hpp"
#include "tests/unit/record/fixture.hpp"

namespace stopbit::remote {

inline constexpr std::uint32_t kMaxRecordSlots = 4;
inline constexpr std::uint64_t kRingSlots = 256;
inline constexpr std::uint32_t kTick = 36;  ///< Identifiers of templates: one with a field SecurityID,
inline constexpr std::uint32_t kBook = 40;  ///< one with a sequence that has it.

/// Another name of a template is another layout.
inline Program market(const std::string& name = "Tick") {
  record::test::ProgramMaker maker;
  const std::uint16_t tick = maker.block(BlockKind::Root, 2);
  maker.make_template(name, kTick, tick, [&] {
    maker.field("SecurityID", FieldType::UInt32, tick, 0);
    maker.field("Symbol", FieldType::Ascii, tick, 1, true);
  });
  const std::uint16_t book = maker.block(BlockKind::Root, 1);
  const std::uint16_t entry = maker.block(BlockKind::Element, 1, 1);
  maker.make_template("Book", kBook, book, [&] {
    maker.sequence("Entries", book, 0, entry, [&] { maker.field("SecurityID", FieldType::UInt32, entry, 0); });
  });
  maker.program().max_record_slots = kMaxRecordSlots;
  return maker.program();
}

/// A record, but for what numbers slots: the stamp and the phase.
using Record = std::vector<std::uint64_t>;
inline Record without_numbers(std::span<const record::Slot> record) {
  Record words;
  for (const record::Slot& slot : record) {
    words.insert(words.end(), slot.words, slot.words + record::kSlotWords);
    words.back() &= ~(std::uint64_t{1} << 63);
  }
  words[0] &= 0xFFFF'FFFF;
  return words;
}

/// All that a reader of the ring gets from where it is, without waiting.
inline std::vector<Record> read_all(ring::Reader& reader) {
  std::vector<Record> records;
  for (;;) {
    const ring::Poll poll = reader.poll();
    EXPECT_NE(poll, ring::Poll::Damaged);
    if (poll == ring::Poll::Nothing || poll == ring::Poll::Damaged) return records;
    if (poll == ring::Poll::Record) records.push_back(without_numbers(reader.record()));
  }
}

/// A ring name of its own, cleaned up.
class RingName {
 public:
  RingName() {
    static std::atomic<int> count = 0;
    name_ = "test-remote-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
    remove();  // of a process that had our number, and was killed
  }
  ~RingName() { remove(); }
  RingName(const RingName&) = delete;
  RingName& operator=(const RingName&) = delete;
  [[nodiscard]] const std::string& get() const { return name_; }

 private:
  void remove() const {
    for (const char* suffix : {"", ".instruments", ".state"}) {
      ::unlink((os::path_of(name_).value() + suffix).c_str());
    }
  }

  std::string name_;
};

/// The writer of a ring that is published: what an engine would be.
class Feed {
 public:
  explicit Feed(const std::string& name, Program program = market(), std::uint64_t slots = kRingSlots)
      : program_(std::move(program)), builder_(program_) {
    Result<ring::Writer> made = ring::Writer::create(name, program_, {.slot_count = slots});
    if (!made) throw std::runtime_error(made.message());
    writer.emplace(std::move(made).value());
  }
  void tick(std::uint32_t security, std::string_view symbol = "ABC", std::uint16_t channel = 7) {
    begin(channel);
    const Block& root = program_.blocks[program_.templates[0].root_block];
    EXPECT_TRUE(builder_.open_block(root, record::kHeaderWords));
    builder_.store(record::WordPlace::of(root, record::kHeaderWords, 0), security);
    EXPECT_TRUE(builder_.store(record::WordPlace::of(root, record::kHeaderWords, 1), symbol));
    EXPECT_TRUE(builder_.commit(0, 0, 0));
  }
  void book(const std::vector<std::uint32_t>& securities, std::uint16_t channel = 7) {
    begin(channel);
    const Block& root = program_.blocks[program_.templates[1].root_block];
    EXPECT_TRUE(builder_.open_block(root, record::kHeaderWords));
    builder_.store(record::WordPlace::of(root, record::kHeaderWords, 0), securities.size());
    const Block& entry = program_.blocks[2];
    for (const std::uint32_t security : securities) {
      EXPECT_TRUE(builder_.open_block(entry, 0));
      builder_.store(record::WordPlace::of(entry, 0, 0), security);
    }
    EXPECT_TRUE(builder_.commit(1, 0, 0));
  }
  void event(record::EventKind kind) {
    begin(7);
    record::Event event;
    event.kind = kind;
    builder_.write_event(*writer, header_, event, 0);
  }

  std::optional<ring::Writer> writer;

 private:
  void begin(std::uint16_t channel) {
    header_.channel = channel;
    header_.sequence = ++sequence_;
    builder_.begin(*writer, header_);
  }
  Program program_;
  record::Header header_;
  record::Builder builder_;
  std::uint32_t sequence_ = 0;
};

/// Nodes on a network; their publishers and subscribers are stepped in `each`.
class Net {
 public:
  explicit Net(std::size_t nodes, nic::ModelOptions options = {}) : network_(with(options, nodes)), nodes_(nodes) {
    for (std::size_t i = 0; i < nodes; ++i) restart(static_cast<nic::NodeId>(i));
  }
  /// A node that knows nothing of the one before it. Its publishers and subscribers must have been destroyed.
  void restart(nic::NodeId id) {
    nic::NodeOptions how;
    how.ports = 32;
    how.link.silence_ns = 50'000'000;
    nodes_[id] = nullptr;
    nodes_[id] = std::make_unique<nic::Node>(network_.port(id), how);
  }
  [[nodiscard]] nic::Node& node(nic::NodeId id) { return *nodes_[id]; }
  [[nodiscard]] nic::ModelNetwork& network() { return network_; }
  [[nodiscard]] std::uint64_t now() const { return now_; }
  void cut(nic::NodeId id) {
    network_.cut(id);
    is_cut_.push_back(id);
  }
  void mend(nic::NodeId id) {
    network_.mend(id);
    std::erase(is_cut_, id);
  }
  void step(std::uint64_t by_ns = 10'000) {
    network_.set_time(now_ += by_ns);
    for (const std::unique_ptr<nic::Node>& node : nodes_) {
      if (std::find(is_cut_.begin(), is_cut_.end(), node->id()) == is_cut_.end()) (void)node->step(now_);
    }
  }

 private:
  static nic::ModelOptions with(nic::ModelOptions options, std::size_t nodes) {
    options.nodes = nodes;
    return options;
  }
  nic::ModelNetwork network_;
  std::vector<std::unique_ptr<nic::Node>> nodes_;
  std::vector<nic::NodeId> is_cut_;
  std::uint64_t now_ = 0;
};

/// A publisher on node 0, subscribers on the others.
class RemoteNodes : public ::testing::Test {
 protected:
  Subscriber& subscribe(nic::NodeId node, const SubscriberOptions& how) {
    Result<std::unique_ptr<Subscriber>> opened = Subscriber::open(net->node(node), how);
    if (!opened) throw std::runtime_error(opened.message());
    subscribers.push_back(std::move(opened).value());
    return *subscribers.back();
  }
  void step(std::uint64_t by_ns = 10'000) {
    net->step(by_ns);
    if (publisher) (void)publisher->step(net->now());
    for (const std::unique_ptr<Subscriber>& one : subscribers) {
      if (one) (void)one->step(net->now());
    }
  }
  /// Fails if it does not happen.
  void until(const std::function<bool()>& happens, const char* what, std::uint64_t by_ns = 10'000) {
    for (int i = 0; i < 200'000; ++i) {
      if (happens()) return;
      step(by_ns);
    }
    std::string why;
    for (const auto& one : subscribers)
      why += one ? std::string(to_text(one->state())) + ": " + one->problem() + "; " : "";
    for (const std::string& line : lines) why += "\n" + line;
    FAIL() << "never: " << what << " " << why;
  }
  void until_live(const Subscriber& one) {
    until([&] { return one.state() == SubscriberState::Live; }, "live");
  }
  void run(int steps) {
    for (int i = 0; i < steps; ++i) step();
  }

  bool is_one_host = false;
  RingName source;  ///< Of the ring that is published.
  std::optional<Net> net;
  std::vector<std::string> lines;  ///< Of logs.
  std::unique_ptr<Publisher> publisher;
  std::vector<std::unique_ptr<Subscriber>> subscribers;
};

}  // namespace stopbit::remote
