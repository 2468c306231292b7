#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "atu_driver.hpp"
#include "bench.hpp"
#include "bits.hpp"
#include "host/nic/notify/notification.hpp"
#include "host/nic/queue/command.hpp"
#include "host/nic/rma/rma.hpp"
#include "start_cell.hpp"

/// The units of remote memory access in RTL, with memory, address translation, and a network that gives back what is
/// for this node.
namespace stopbit::sim::rma {

namespace protocol = nic::protocol;

inline constexpr std::size_t kUnits = 3;          ///< Requester, responder, completer.
inline constexpr std::size_t kRequestWords = 10;  ///< Start, source, header.
inline constexpr unsigned kPortBits = 16;
inline constexpr unsigned kReadBits = 57;
inline constexpr unsigned kAnswerBits = 70;

/// The words of a packet; the first is the start, the second says where it is from.
struct Packet {
  std::vector<std::uint64_t> words;
  bool is_bad = false;
  [[nodiscard]] bool is_answer() const { return Start::of(words[0]).traffic_class == 1; }
  [[nodiscard]] nic::RmaHeader header() const {
    nic::RmaHeader header;
    std::memcpy(static_cast<void*>(&header), words.data() + 2, sizeof(header));
    return header;
  }
};
[[nodiscard]] inline Packet to_packet(nic::NodeId from, const nic::RmaHeader& header,
                                      std::span<const std::uint64_t> data) {
  Packet packet;
  packet.words = {
      Start{.vpid = header.target_vpid, .unit = 1, .traffic_class = header.kind >= nic::kAnswerData ? 1U : 0U}.data(),
      from};
  packet.words.resize(kRequestWords);
  std::memcpy(packet.words.data() + 2, &header, sizeof(header));
  packet.words.insert(packet.words.end(), data.begin(), data.end());
  return packet;
}

struct PortEntry {
  bool open = false;
  nic::Pdid domain = 0;
  std::uint32_t life = 0;
};
struct WindowEntry {
  bool open = false;
  bool locked = false;
  nic::Vpid owner = 0;
  nic::Access access = nic::Access::Read;
  nic::NodeId holder_node = 0;
  nic::Vpid holder = 0;
  nic::Nla first = 0;
  std::uint64_t bytes = 0;
  nic::Capability capability = 0;
  std::optional<nic::Pdid> domain;
};

template <std::size_t Words>
void put_window(VlWide<Words>& out, const WindowEntry& entry) {
  BitWriter writer(out);
  writer.put(entry.domain.value_or(0), 16);
  writer.put(entry.domain.has_value(), 1);
  writer.put(entry.capability, 64);
  writer.put(entry.bytes, nic::kNlaBits + 1);
  writer.put(entry.first, nic::kNlaBits);
  writer.put(entry.holder, 16);
  writer.put(entry.holder_node, 16);
  writer.put(static_cast<std::uint64_t>(entry.access), 2);
  writer.put(entry.owner, 16);
  writer.put(entry.locked, 1);
  writer.put(entry.open, 1);
}

/// What leaves for a port: a notification, an event (0: none), or both.
struct Notice {
  nic::Vpid vpid = 0;
  bool tells = false;
  std::uint64_t event = 0;
  nic::Notification notification;
  std::uint64_t cycle = 0;
};

template <class Model>
class Driver {
 public:
  struct Read {
    std::uint64_t tag = 0;
    std::uint64_t address = 0;
    std::uint64_t left = 0;  ///< Words.
    std::uint64_t due = 0;
  };
  struct Events {
    std::uint64_t ended = 0;
    std::uint64_t failed = 0;  ///< Of these.
    std::uint64_t served = 0;
    std::uint64_t refused = 0;
    std::uint64_t stale = 0;
    std::uint64_t strange = 0;
    std::uint64_t damaged = 0;
    std::uint64_t malformed = 0;
    std::uint64_t late = 0;
    std::uint64_t expired = 0;
    bool operator==(const Events&) const = default;
  };

  explicit Driver(std::uint64_t seed) : random(seed), bench_(seed) {
    bench_->node_i = 0;
    bench_->last_node_i = 1;
    bench_->port_write_i = bench_->window_write_i = bench_->end_valid_i = bench_->command_valid_i = 0;
    bench_->send_ready_i = bench_->send_room_i = bench_->come_valid_i = bench_->come_bad_i = 0;
    bench_->ats_ready_i = bench_->ats_valid_i = bench_->read_ready_i = bench_->answer_valid_i = bench_->write_ready_i =
        0;
    reset();
    for (std::size_t i = 0; i < 256; ++i) set_port(i, {});
    for (std::size_t i = 0; i < 1024; ++i) set_window(i, {});
  }

  Model* operator->() { return bench_.operator->(); }

  /// Everything under way is forgotten, but not the tables.
  void reset() {
    commands.clear();
    to_come.clear();
    sent.clear();
    notices.clear();
    lookups_.clear();
    ats_ = {};
    reads_ = {};
    coming_ = sending_ = {};
    words_ = {};
    write_is_open_ = write_waits_ = word_waits_ = false;
    ended.clear();
    bench_->command_valid_i = bench_->come_valid_i = bench_->ats_valid_i = bench_->answer_valid_i =
        bench_->end_valid_i = 0;
    bench_.reset();
    events = {};
  }

  void set_port(std::size_t index, const PortEntry& entry) {
    bench_->port_write_i = 1;
    bench_->port_index_i = static_cast<std::uint8_t>(index);
    bench_->port_i = std::uint64_t{entry.open} << 48U | std::uint64_t{entry.domain} << 32U | entry.life;
    write_table();
    bench_->port_write_i = 0;
  }
  void set_window(std::size_t index, const WindowEntry& entry) {
    bench_->window_write_i = 1;
    bench_->window_index_i = static_cast<std::uint16_t>(index);
    put_window(bench_->window_i, entry);
    write_table();
    bench_->window_write_i = 0;
  }
  /// A node is lost, or a port is closed. Takes cycles.
  void end_all(bool is_port, std::uint16_t index) {
    bench_->end_valid_i = 1;
    bench_->end_is_port_i = is_port;
    bench_->end_index_i = index;
    for (const std::uint64_t limit = now() + 100'000; bench_->end_valid_i != 0; cycle()) {
      if (now() > limit) throw std::runtime_error("the end of a node or port is not carried out");
    }
  }
  /// The translation unit says this to a unit, whatever it means.
  void say(std::size_t unit, const atu::Message& message) { ats_[unit].push_back(atu::to_phit(message)); }
  /// The translation unit asks for a flush, of each unit; true when all have answered.
  void flush() {
    for (std::size_t unit = 0; unit < kUnits; ++unit) {
      ats_[unit].push_back(atu::to_phit({atu::kPort, 5, protocol::kAtsFlushRequest, protocol::kFlushPage.put(77)}));
    }
    flushed = 0;
  }

  void cycle() {
    const auto goes = [&] { return !random.chance(stall_percent); };
    // Commands.
    bench_->command_valid_i = !commands.empty() && (bench_->command_valid_i != 0 || goes());
    if (bench_->command_valid_i != 0) {
      bench_->command_vpid_i = commands.front().first;
      std::array<std::uint32_t, 16> words{};
      std::memcpy(words.data(), &commands.front().second, sizeof(words));
      for (std::size_t i = 0; i < 14; ++i) bench_->command_i[i] = words[i];
    }
    // Packets that come: one goes on until it is whole; then one whose class is accepted.
    if (coming_.words.empty()) {
      for (auto packet = to_come.begin(); packet != to_come.end(); ++packet) {
        if ((bench_->accepts_o >> (packet->is_answer() ? 1U : 0U) & 1U) == 0) continue;
        coming_ = *packet;
        coming_answer_ = packet->is_answer();
        to_come.erase(packet);
        coming_at_ = 0;
        break;
      }
    }
    bench_->come_valid_i = !coming_.words.empty() && (bench_->come_valid_i != 0 || goes());
    if (bench_->come_valid_i != 0) {
      const bool is_last = coming_at_ + 1 == coming_.words.size();
      bench_->come_is_answer_i = coming_answer_;
      bench_->come_bad_i = is_last && coming_.is_bad;
      BitWriter writer(bench_->come_word_i);
      writer.put(coming_.words[coming_at_], 64);
      writer.put(is_last, 1);
      writer.put(coming_at_ == 0, 1);
    }
    bench_->send_room_i = static_cast<std::uint8_t>((goes() && !is_shut[0] ? 1 : 0) | (goes() && !is_shut[1] ? 2 : 0));
    bench_->send_ready_i = goes();
    bench_->write_ready_i = goes() && !memory_is_shut;
    // Address translation.
    unsigned ats_ready = 0;
    unsigned ats_valid = bench_->ats_valid_i;
    for (std::size_t unit = 0; unit < kUnits; ++unit) {
      if (goes()) ats_ready |= 1U << unit;
      if (!ats_[unit].empty() && goes()) ats_valid |= 1U << unit;
      if (ats_[unit].empty()) ats_valid &= ~(1U << unit);
      const std::uint64_t phit = ats_[unit].empty() ? 0 : ats_[unit].front();
      bench_->ats_phit_i[2 * unit] = static_cast<std::uint32_t>(phit);
      bench_->ats_phit_i[2 * unit + 1] = static_cast<std::uint32_t>(phit >> 32U);
    }
    bench_->ats_ready_i = static_cast<std::uint8_t>(ats_ready);
    bench_->ats_valid_i = static_cast<std::uint8_t>(ats_valid);
    // Memory.
    bench_->read_ready_i =
        static_cast<std::uint8_t>((goes() && !reads_are_shut ? 1 : 0) | (goes() && !reads_are_shut ? 2 : 0));
    bench_->answer_valid_i = 0;
    BitWriter answers(bench_->answer_i);
    unsigned answer_valid = 0;
    for (std::size_t unit = 0; unit < 2; ++unit) {
      std::vector<std::size_t> due;
      for (std::size_t i = 0; i < reads_[unit].size(); ++i) {
        if (reads_[unit][i].due <= now()) due.push_back(i);
      }
      std::uint64_t data = 0;
      std::uint64_t tag = 0;
      bool is_error = false;
      if (!due.empty() && goes() && !is_mute) {
        const std::size_t at = due[answers_in_any_order ? random.below(due.size()) : 0];
        Read& one = reads_[unit][at];
        tag = one.tag;
        is_error = random.chance(error_percent);
        data = read_word(one.address);
        one.address += 8;
        answer_valid |= 1U << unit;
        if (--one.left == 0) reads_[unit].erase(reads_[unit].begin() + static_cast<std::ptrdiff_t>(at));
      }
      answers.put(data, 64);
      answers.put(is_error, 1);
      answers.put(tag, 5);
    }
    bench_->answer_valid_i = static_cast<std::uint8_t>(answer_valid);
    bench_.settle();

    check_streams();
    // What was taken.
    const bool command_taken = bench_->command_valid_i != 0 && bench_->command_ready_o != 0;
    const bool word_taken = bench_->come_valid_i != 0 && bench_->come_ready_o != 0;
    if (command_taken) {
      command_cycle = now();
      commands.pop_front();
    }
    if (word_taken) {
      come_cycle = now();
      if (++coming_at_ == coming_.words.size()) coming_ = {};
    }
    if (bench_->send_valid_o != 0 && bench_->send_ready_i != 0) take_word();
    if (bench_->write_valid_o != 0 && bench_->write_ready_i != 0) take_write();
    for (std::size_t unit = 0; unit < kUnits; ++unit) {
      if ((bench_->ats_valid_o & ats_ready) >> unit & 1U) {
        take_ats(unit, bench_->ats_phit_o[2 * unit] | std::uint64_t{bench_->ats_phit_o[2 * unit + 1]} << 32U);
      }
      if ((ats_valid & bench_->ats_ready_o) >> unit & 1U) {
        ats_[unit].pop_front();
        ats_valid &= ~(1U << unit);
      }
    }
    for (auto lookup = lookups_.begin(); lookup != lookups_.end();) {
      if (lookup->due > now()) {
        ++lookup;
        continue;
      }
      ats_[lookup->unit].push_back(lookup->phit);
      lookup = lookups_.erase(lookup);
    }
    for (std::size_t unit = 0; unit < 2; ++unit) {
      if ((bench_->read_valid_o & bench_->read_ready_i) >> unit & 1U) {
        const unsigned base = static_cast<unsigned>(unit) * kReadBits;
        reads_[unit].push_back({bits_at(bench_->read_o, base + 52, 5), bits_at(bench_->read_o, base + 3, 49) << 3U,
                                bits_at(bench_->read_o, base, 3) + 1, now() + latency()});
        read_cycle = now();
      }
    }
    if (bench_->ended_o != 0) {
      ++events.ended;
      ended.push_back(bench_->error_o);
      events.failed += bench_->error_o != 0 ? 1 : 0;
    }
    const auto count = [](std::uint64_t bits) { return static_cast<std::uint64_t>(__builtin_popcountll(bits)); };
    events.served += count(bench_->served_o);
    events.refused += count(bench_->refused_o);
    events.stale += bench_->stale_o;
    events.strange += count(bench_->strange_o);
    events.damaged += count(bench_->damaged_o);
    events.malformed += count(bench_->malformed_o);
    events.late += count(bench_->late_o);
    events.expired += count(bench_->expired_o);
    const bool end_taken = bench_->end_valid_i != 0 && bench_->end_ready_o != 0;
    bench_.step();
    if (command_taken) bench_->command_valid_i = 0;
    if (word_taken) bench_->come_valid_i = 0;
    if (end_taken) bench_->end_valid_i = 0;
    bench_->ats_valid_i = static_cast<std::uint8_t>(ats_valid);
    bench_.settle();
  }
  /// Until nothing has moved for a while; false: it does not come to its end.
  [[nodiscard]] bool settle(std::uint64_t limit = 200'000) {
    constexpr std::uint64_t kQuiet = 60;
    for (std::uint64_t quiet = 0, end = now() + limit; now() < end;) {
      const std::uint64_t before = moved_;
      cycle();
      const bool reads = !is_mute && !(reads_[0].empty() && reads_[1].empty());
      quiet =
          moved_ == before && !reads && commands.empty() && coming_.words.empty() && to_come.empty() && lookups_.empty()
              ? quiet + 1
              : 0;
      if (quiet == kQuiet + 10 * stall_percent) return true;
    }
    return false;
  }
  [[nodiscard]] std::uint64_t now() const { return bench_.cycles(); }
  [[nodiscard]] bool waits() { return bench_->waits_o != 0; }

  Random random;
  std::uint32_t stall_percent = 0;
  std::uint32_t error_percent = 0;  ///< Of answers of memory.
  bool answers_in_any_order = false;
  bool memory_is_shut = false;    ///< It takes no write,
  bool reads_are_shut = false;    ///< or no read,
  bool is_mute = false;           ///< or answers none.
  std::array<bool, 2> is_shut{};  ///< The network has no room for requests, or answers.
  bool gives_back = true;         ///< What is sent to this node comes to it.
  std::function<std::uint64_t()> latency = [] { return std::uint64_t{1}; };
  std::function<std::optional<std::uint64_t>(nic::Vpid, std::uint64_t, nic::Access)>
      translate;  ///< To a page's number.
  std::function<std::uint64_t(std::uint64_t)> read_word;
  std::function<void(std::uint64_t, std::uint64_t, std::uint64_t)> write_word;  ///< Address, word, mask of bytes.
  std::function<void(const Notice&)> on_told;
  std::function<void(const Packet&)> on_sent;
  std::deque<std::pair<nic::Vpid, nic::Command>> commands;
  std::deque<Packet> to_come;
  std::vector<Packet> sent;
  std::vector<Notice> notices;
  std::vector<std::uint64_t> ended;  ///< The error of each command that has.
  std::uint64_t writes = 0;          ///< Words.
  std::uint64_t command_cycle = 0;   ///< When the last command was taken,
  std::uint64_t come_cycle = 0;      ///< the last word of a packet,
  std::uint64_t send_cycle = 0;      ///< when the first word of the last packet left,
  std::uint64_t write_cycle = 0;     ///< the first word of the last write,
  std::uint64_t read_cycle = 0;      ///< and a read.
  unsigned flushed = 0;              ///< Units that have answered.
  Events events;

 private:
  struct Lookup {
    std::size_t unit = 0;
    std::uint64_t phit = 0;
    std::uint64_t due = 0;
  };
  void write_table() {
    bench_.settle();
    bench_.step();
  }
  /// What is offered stays until it is taken.
  void check_streams() {
    for (std::size_t i = 0; i < 4; ++i) {
      const std::uint32_t write = bench_->write_valid_o != 0 ? bench_->write_o[i] : 0;
      const std::uint32_t word = i < 3 && bench_->send_valid_o != 0 ? bench_->send_word_o[i] : 0;
      if (write_waits_ && (bench_->write_valid_o == 0 || write != last_write_[i]))
        throw std::runtime_error("a write changes");
      if (word_waits_ && (bench_->send_valid_o == 0 || word != last_word_[i]))
        throw std::runtime_error("a word changes");
      last_write_[i] = write;
      last_word_[i] = word;
    }
    write_waits_ = bench_->write_valid_o != 0 && bench_->write_ready_i == 0;
    word_waits_ = bench_->send_valid_o != 0 && bench_->send_ready_i == 0;
  }
  void take_word() {
    ++moved_;
    if (bits_at(bench_->send_word_o, 65, 1) != 0) {
      if (!sending_.words.empty()) throw std::runtime_error("a packet begins in another");
      send_cycle = now();
    } else if (sending_.words.empty()) {
      throw std::runtime_error("a packet without a start");
    }
    sending_.words.push_back(bits_at(bench_->send_word_o, 0, 64));
    if (sending_.words.size() > kMaxPayload + 1) throw std::runtime_error("a packet is too long");
    if (bits_at(bench_->send_word_o, 64, 1) == 0) return;
    sent.push_back(sending_);
    if (gives_back && Start::of(sending_.words[0]).node == 0) to_come.push_back(sending_);
    sending_ = {};
    if (on_sent) on_sent(sent.back());
  }
  void take_write() {
    ++moved_;
    const std::uint64_t data = bits_at(bench_->write_o, 0, 64);
    const std::uint64_t strobe = bits_at(bench_->write_o, 64, 8);
    const std::uint64_t address = bits_at(bench_->write_o, 72, 52);
    const bool is_last = bits_at(bench_->write_o, 124, 1) != 0;
    if (bits_at(bench_->write_o, 125, 1) == 0) {
      if (!write_is_open_) write_cycle = now();
      ++writes;
      write_word(address, data, strobe);
      write_is_open_ = !is_last;
      return;
    }
    if (write_is_open_) throw std::runtime_error("a notification in a write");
    words_.push_back(data);
    if (!is_last) return;
    if (words_.size() != 5) throw std::runtime_error("a notification of another size");
    Notice one;
    std::memcpy(static_cast<void*>(&one.notification), words_.data(), 5 * sizeof(std::uint64_t));
    one.vpid = static_cast<nic::Vpid>(address & 0xFFFF);
    one.event = address >> 16U & 0x3F;
    one.tells = (address >> 22U & 1) != 0;
    one.cycle = now();
    words_.clear();
    notices.push_back(one);
    if (on_told) on_told(one);
  }
  void take_ats(std::size_t unit, std::uint64_t phit) {
    ++moved_;
    const atu::Message message = atu::from_phit(phit);
    if (message.origin != unit) throw std::runtime_error("a unit says that it is another one");
    if (message.operation == protocol::kAtsFlushResponse) {
      if (message.tag != 5 || protocol::kFlushPage.of(message.body) != 77) throw std::runtime_error("another flush");
      ++flushed;
      return;
    }
    if (message.operation != protocol::kAtsTranslateRequest) throw std::runtime_error("no message");
    const auto page = translate(static_cast<nic::Vpid>(protocol::kTranslateRequestVpid.of(message.body)),
                                protocol::kTranslateRequestPage.of(message.body) * nic::kPageBytes,
                                static_cast<nic::Access>(protocol::kTranslateRequestAccess.of(message.body)));
    const std::uint64_t body =
        page ? protocol::kTranslateResponseNumber.put(*page)
             : protocol::kTranslateResponseError.put(static_cast<std::uint64_t>(nic::Error::TargetTranslation));
    // A hit takes 9 cycles: it is offered in the 9th after this one.
    lookups_.push_back(
        {unit, atu::to_phit({atu::kPort, message.tag, protocol::kAtsTranslateResponse, body}), now() + 8});
  }

  Bench<Model> bench_;
  std::array<std::deque<std::uint64_t>, kUnits> ats_;
  std::vector<Lookup> lookups_;
  std::array<std::vector<Read>, 2> reads_;
  Packet coming_;
  bool coming_answer_ = false;
  std::size_t coming_at_ = 0;
  Packet sending_;
  std::vector<std::uint64_t> words_;
  bool write_is_open_ = false;
  std::array<std::uint32_t, 4> last_write_{};
  std::array<std::uint32_t, 4> last_word_{};
  bool write_waits_ = false;
  bool word_waits_ = false;
  std::uint64_t moved_ = 0;
};

}  // namespace stopbit::sim::rma
