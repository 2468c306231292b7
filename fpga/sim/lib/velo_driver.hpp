#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bench.hpp"
#include "bits.hpp"
#include "host/nic/error.hpp"
#include "host/nic/names.hpp"
#include "host/nic/protocol/protocol.hpp"
#include "start_cell.hpp"

/// The message unit in RTL, with what is at its ports: messages of ports, the network, memory, translation.
namespace stopbit::sim::velo {

namespace protocol = nic::protocol;

/// As `velo_table_t`.
enum class Table : std::uint8_t { Port = 0, Ring = 1, Limit = 2, Group = 3, Member = 4 };

struct Port {
  bool is_open = true;
  bool is_enabled = true;
  std::uint64_t domain = 0;
  bool listens_to_one = false;
  std::uint64_t only_node = 0;
  std::uint64_t only_vpid = 0;
};
struct Ring {
  bool is_used = true;
  bool is_virtual = false;
  std::uint64_t slot_size = 2;  ///< 16 << slot_size bytes.
  std::uint64_t places = 64;
  std::uint64_t address = 0;
  std::uint64_t hold = 0;
};
struct Group {
  bool is_used = true;
  std::uint64_t domain = 0;
  std::uint64_t first = 0;
  std::uint64_t members = 0;
};

/// A row of a table, as its fields from the lowest one on.
struct Row {
  Table table = Table::Port;
  std::uint64_t index = 0;
  std::vector<std::pair<std::uint64_t, unsigned>> fields;

  template <class Wide>
  void put_into(Wide& wide) const {
    BitWriter writer(wide);
    for (const auto& [value, bits] : fields) writer.put(value, bits);
  }
};
[[nodiscard]] inline Row row_of(std::uint64_t vpid, const Port& port) {
  return {Table::Port,
          vpid,
          {{port.only_vpid, 10},
           {port.only_node, 16},
           {port.listens_to_one, 1},
           {port.domain, 16},
           {port.is_enabled, 1},
           {port.is_open, 1}}};
}
/// Of a ring in a unit of `ports` ports; `ring`: port and priority.
[[nodiscard]] constexpr std::uint64_t index_of(std::uint64_t ring, bool has_segments, std::uint64_t ports) {
  return ring | (has_segments ? ports * 2 : 0);
}
[[nodiscard]] inline Row row_of(std::uint64_t index, const Ring& setup) {
  return {Table::Ring,
          index,
          {{setup.hold, 16},
           {setup.address >> 6, 42},
           {setup.places, 17},
           {setup.slot_size, 2},
           {setup.is_virtual, 1},
           {setup.is_used, 1}}};
}
[[nodiscard]] inline Row row_of(std::uint64_t group, const Group& setup) {
  return {Table::Group, group, {{setup.members, 8}, {setup.first, 10}, {setup.domain, 16}, {setup.is_used, 1}}};
}
[[nodiscard]] inline Row row_of_member(std::uint64_t at, std::uint64_t vpid) {
  return {Table::Member, at, {{vpid, 10}}};
}

/// A word between the unit and its network port.
struct Word {
  bool is_first = false;
  bool is_last = false;
  bool is_bad = false;
  std::uint64_t data = 0;
  bool operator==(const Word&) const = default;
};
using Packet = std::vector<Word>;

/// A message as its port writes it: a command, then its words.
struct Message {
  std::uint64_t vpid = 0;
  std::uint64_t traffic_class = 0;
  std::vector<std::uint64_t> words;
};

/// What became of a copy of a message.
struct Report {
  nic::Error error = {};
  bool is_erroneous = false;
  std::uint64_t target = 0;
  std::uint64_t status = 0;  ///< VeloWire
  bool is_high = false;
  std::uint64_t cycle = 0;
};
template <class Wide>
[[nodiscard]] Report report_of(const Wide& bits, std::uint64_t cycle) {
  return {static_cast<nic::Error>(bits_at(bits, 76, 5)),
          bits_at(bits, 75, 1) != 0,
          bits_at(bits, 65, 10),
          bits_at(bits, 1, 64),
          bits_at(bits, 0, 1) != 0,
          cycle};
}
struct Refusal {
  nic::Error error = {};
  std::uint64_t origin = 0;
  std::uint64_t command = 0;
};
template <class Wide>
[[nodiscard]] Refusal refusal_of(const Wide& bits) {
  return {static_cast<nic::Error>(bits_at(bits, 74, 5)), bits_at(bits, 64, 10), bits_at(bits, 0, 64)};
}
struct End {
  std::uint64_t ring = 0;  ///< Port and priority.
  nic::Error error = {};
  std::uint64_t culprit = 0;
};

struct Events {
  std::uint64_t sent = 0;
  std::uint64_t misshapen = 0;
  std::uint64_t foreign = 0;
  std::uint64_t malformed = 0;
  std::uint64_t crowded = 0;
  std::uint64_t unfinished = 0;
  std::uint64_t fetched = 0;
  std::uint64_t revoked = 0;
  std::uint64_t timed_out = 0;
  std::uint64_t failed = 0;
  std::uint64_t late_answers = 0;
  bool operator==(const Events&) const = default;
};

inline constexpr std::uint64_t kStartBits = (std::uint64_t{1} << 48U) - 1;  ///< Without the CRC, which is the port's.

/// The words of a message; bytes of the last one beyond it are 0.
[[nodiscard]] inline std::vector<std::uint64_t> to_words(std::span<const std::byte> bytes) {
  std::vector<std::uint64_t> words((bytes.size() + 7) / 8, 0);
  for (std::size_t i = 0; i < bytes.size(); ++i) words[i / 8] |= std::to_integer<std::uint64_t>(bytes[i]) << i % 8 * 8;
  return words;
}

/// The packets of a message, as the requester has to send them.
[[nodiscard]] inline std::vector<Packet> packets_of(const Start& start, std::uint64_t status,
                                                    std::span<const std::uint64_t> words, bool is_erroneous = false) {
  const bool is_split = words.size() > protocol::kVeloPacketWords;
  const std::size_t most = is_split ? protocol::kVeloPartWords : protocol::kVeloPacketWords;
  std::vector<Packet> packets;
  for (std::size_t at = 0; at < words.size(); at += most) {
    Packet& packet = packets.emplace_back();
    packet.push_back({true, false, false, start.data() & kStartBits});
    packet.push_back({false, false, false, status});
    if (is_split) packet.push_back({false, false, false, protocol::kVeloPartOffset.put(at)});
    for (std::size_t i = at; i < std::min(at + most, words.size()); ++i)
      packet.push_back({false, false, false, words[i]});
    packet.back().is_last = true;
    if (at + most >= words.size()) packet.back().is_bad = is_erroneous;
  }
  return packets;
}

/// A model of `stopbit_velo` and what is at its ports. A cycle offers the next of what is queued.
template <class Model>
class Driver {
 public:
  explicit Driver(std::uint64_t seed) : random(seed), bench_(seed) {
    bench_->node_i = 1;
    bench_->last_node_i = 15;
    bench_->tick_i = 0;
    bench_->pause_i = 0;
    bench_->patience_i = 1000;
    idle_inputs();
    reset();
  }

  void reset() {
    to_send.clear();
    to_come.clear();
    reads_.clear();
    look_ups_.clear();
    waiting_read_.reset();
    waiting_look_up_.reset();
    packet_.clear();
    is_in_write_ = false;
    idle_inputs();
    bench_.reset();
    events = {};
    holds = 0;
  }
  Model* operator->() { return bench_.operator->(); }

  // ---- tables; written before anything else goes on
  void write(const Row& row) {
    row.put_into(bench_->table_data_i);
    bench_->table_i = static_cast<std::uint8_t>(row.table);
    bench_->index_i = static_cast<std::uint16_t>(row.index);
    bench_->write_i = 1;
    for (std::uint64_t end = now() + kPatience;;) {
      bench_.settle();
      const bool is_taken = bench_->write_ready_o != 0;
      cycle();
      if (is_taken) break;
      if (now() > end) throw std::runtime_error("the unit takes no setting");
    }
    bench_->write_i = 0;
    // What is not written is anything.
    bench_->table_i = static_cast<std::uint8_t>(random.below(5));
    bench_->index_i = static_cast<std::uint16_t>(random.below(4096));
    for (unsigned i = 0; i < 3; ++i)
      bench_->table_data_i[i] = static_cast<std::uint32_t>(random.bits() & (i == 2 ? 0x7FFF : ~0U));
  }
  void set_port(std::uint64_t vpid, const Port& port) { write(row_of(vpid, port)); }
  /// `ring`: port and priority.
  void set_ring(std::uint64_t ring, bool has_segments, const Ring& setup) {
    write(row_of(index_of(ring, has_segments, kPorts), setup));
  }
  void set_limit(std::uint64_t ring, bool has_segments, std::uint64_t limit) {
    write({Table::Limit, index_of(ring, has_segments, kPorts), {{limit & 0xFFFF'FFFF, 32}}});
  }
  void set_group(std::uint64_t group, const Group& setup) { write(row_of(group, setup)); }
  void set_member(std::uint64_t at, std::uint64_t vpid) { write(row_of_member(at, vpid)); }

  void cycle() {
    const std::uint64_t cycle = now();
    // Messages of ports.
    const bool offers = !to_send.empty() && !stalls(stall_percent) && to_send.front().words.size() > send_at_;
    bench_->send_valid_i = offers;
    if (offers) {
      const Message& message = to_send.front();
      bench_->send_first_i = send_at_ == 0;
      bench_->send_last_i = send_at_ + 1 == message.words.size();
      bench_->send_data_i = message.words[send_at_];
      bench_->send_vpid_i = static_cast<std::uint16_t>(message.vpid);
      bench_->send_class_i = static_cast<std::uint8_t>(message.traffic_class);
    } else {
      const std::uint64_t bits = random.bits();
      bench_->send_first_i = bits & 1U;
      bench_->send_last_i = bits >> 1U & 1U;
      bench_->send_data_i = bits;
    }
    bench_->packet_ready_i = !stalls(network_stall_percent);
    // What comes; a packet begins only if the unit accepts its class.
    bool comes = !to_come.empty() && !stalls(stall_percent);
    if (comes && to_come.front().is_first && !ignores_accepts) {
      const std::uint64_t traffic_class = Start::of(to_come.front().data).traffic_class;
      comes = traffic_class > 1 || (bench_->accepts_o >> traffic_class & 1U) != 0;
    }
    bench_->come_valid_i = comes;
    if (comes) {
      const Word& word = to_come.front();
      bench_->come_first_i = word.is_first;
      bench_->come_last_i = word.is_last;
      bench_->come_bad_i = word.is_bad;
      bench_->come_data_i = word.data;
    } else {
      const std::uint64_t bits = random.bits();
      bench_->come_first_i = bits & 1U;
      bench_->come_last_i = bits >> 1U & 1U;
      bench_->come_bad_i = bits >> 2U & 1U;
      bench_->come_data_i = bits;
    }
    // Memory.
    bench_->phit_ready_i = !stalls(memory_stall_percent);
    bench_->read_ready_i = !memory_is_shut && !stalls(stall_percent);
    bench_->answer_valid_i = 0;
    bench_->answer_tag_i = (bench_->answer_tag_i + 1U) % 4;
    if (forged_answer) {
      bench_->answer_valid_i = 1;
      bench_->answer_tag_i = *forged_answer & 3U;
      bench_->answer_error_i = 0;
      forged_answer.reset();
    } else if (!reads_.empty() && reads_.front().due <= cycle) {
      const Read oldest = reads_.front();
      reads_.pop_front();
      bench_->answer_valid_i = 1;
      bench_->answer_tag_i = oldest.tag;
      bench_->answer_error_i = !oldest.words;
      for (unsigned i = 0; i < 4; ++i) {
        const std::uint64_t word = oldest.words ? (*oldest.words)[i / 2] : random.bits();
        bench_->answer_i[i] = static_cast<std::uint32_t>(word >> i % 2 * 32);
      }
    }
    bench_->look_up_ready_i = !translation_is_shut && !stalls(stall_percent);
    bench_->page_valid_i = 0;
    // What is not valid may be anything.
    bench_->page_tag_i = (bench_->page_tag_i + 1U) % 4;
    bench_->page_i = protocol::kTranslateResponseNumber.put(cycle);
    if (!look_ups_.empty() && look_ups_.front().due <= cycle) {
      const LookUp look_up = look_ups_.front();
      look_ups_.pop_front();
      bench_->page_valid_i = 1;
      bench_->page_tag_i = look_up.tag;
      bench_->page_i =
          look_up.page
              ? protocol::kTranslateResponseNumber.put(*look_up.page)
              : protocol::kTranslateResponseError.put(static_cast<std::uint64_t>(nic::Error::TargetTranslation));
    }
    bench_.settle();

    if (offers && bench_->send_ready_o != 0 && ++send_at_ == to_send.front().words.size()) {
      to_send.pop_front();
      send_at_ = 0;
    }
    if (bench_->packet_valid_o != 0 && bench_->packet_ready_i != 0) {
      packet_.push_back({bench_->packet_first_o != 0, bench_->packet_last_o != 0, bench_->packet_bad_o != 0,
                         static_cast<std::uint64_t>(bench_->packet_data_o)});
      if (packet_.back().is_last) {
        packets.push_back(std::move(packet_));
        packet_.clear();
        packet_cycle = cycle;
      }
    }
    if (comes && bench_->come_ready_o != 0) {
      to_come.pop_front();
      came_cycle = cycle;
    }
    if (bench_->phit_valid_o != 0 && bench_->phit_ready_i != 0) take_phit(bench_->phit_o, bench_->phit_last_o != 0);
    const auto stays = [](std::optional<std::uint64_t>& waiting, bool valid, bool ready, std::uint64_t what) {
      if (waiting && (!valid || what != *waiting)) throw std::runtime_error("a request changes before it is taken");
      waiting.reset();
      if (valid && !ready) waiting = what;
    };
    stays(waiting_read_, bench_->read_valid_o != 0, bench_->read_ready_i != 0,
          bench_->read_address_o | std::uint64_t{bench_->read_tag_o} << 60U);
    stays(waiting_look_up_, bench_->look_up_valid_o != 0, bench_->look_up_ready_i != 0,
          bench_->look_up_o | std::uint64_t{bench_->look_up_tag_o} << 60U);
    if (bench_->read_valid_o != 0 && bench_->read_ready_i != 0) {
      reads_.push_back({static_cast<std::uint8_t>(bench_->read_tag_o),
                        read ? read(std::uint64_t{bench_->read_address_o} << 4U) : std::nullopt, cycle + latency()});
    }
    if (bench_->look_up_valid_o != 0 && bench_->look_up_ready_i != 0) {
      const std::uint64_t body = bench_->look_up_o;
      look_ups_.push_back(
          {static_cast<std::uint8_t>(bench_->look_up_tag_o),
           translate ? translate(protocol::kTranslateRequestVpid.of(body), protocol::kTranslateRequestPage.of(body),
                                 protocol::kTranslateRequestAccess.of(body))
                     : std::nullopt,
           cycle + latency()});
    }
    if ((comes && bench_->come_ready_o != 0) || bench_->phit_valid_o != 0 || bench_->read_valid_o != 0 ||
        bench_->look_up_valid_o != 0 || bench_->answer_valid_i != 0 || bench_->page_valid_i != 0 ||
        bench_->packet_valid_o != 0 || bench_->report_o != 0 || offers) {
      active_cycle_ = cycle;
    }
    count_events(cycle);
    bench_.step();
  }
  void cycles(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) cycle();
  }
  /// A unit of the time in which messages wait.
  void tick() {
    bench_->tick_i = 1;
    cycle();
    bench_->tick_i = 0;
  }
  template <class Done>
  [[nodiscard]] bool until(Done done) {
    for (const std::uint64_t end = now() + kPatience; now() < end;) {
      if (done()) return true;
      cycle();
    }
    return done();
  }
  void come(const std::vector<Packet>& of) {
    for (const Packet& packet : of) to_come.insert(to_come.end(), packet.begin(), packet.end());
  }
  [[nodiscard]] std::uint64_t now() const { return bench_.cycles(); }
  /// For `cycles` cycles nothing has come in or gone out, and memory owes no answer.
  [[nodiscard]] bool is_quiet(std::uint64_t cycles) const {
    return reads_.empty() && look_ups_.empty() && now() - active_cycle_ > cycles;
  }

  Random random;
  std::deque<Message> to_send;
  std::deque<Word> to_come;
  std::vector<Packet> packets;     ///< That the requester has sent.
  std::uint64_t packet_cycle = 0;  ///< In which the last of them was.
  std::uint64_t came_cycle = 0;    ///< In which the last word of the network was taken.
  std::uint64_t wrote_cycle = 0;   ///< In which the last word was written.
  std::vector<Report> reports;
  std::vector<Refusal> refusals;
  std::vector<End> ends;
  Events events;
  unsigned holds = 0;  ///< Priorities that wait, by bit.

  std::uint32_t stall_percent = 0;
  std::uint32_t network_stall_percent = 0;
  std::uint32_t memory_stall_percent = 0;
  bool memory_is_shut = false;       ///< It takes no read.
  bool translation_is_shut = false;  ///< It takes no look-up.
  bool ignores_accepts = false;
  std::optional<unsigned> forged_answer;  ///< An answer to nothing, with this number.
  std::function<std::uint64_t()> latency = [] { return std::uint64_t{1}; };
  /// A word of memory is written; the unit writes whole words only.
  std::function<void(std::uint64_t address, std::uint64_t word)> wrote;
  std::function<std::optional<std::array<std::uint64_t, 2>>(std::uint64_t address)> read;
  std::function<std::optional<std::uint64_t>(std::uint64_t vpid, std::uint64_t page, std::uint64_t access)> translate;

 private:
  static constexpr std::uint64_t kPatience = 200'000;

  struct Read {
    std::uint8_t tag = 0;
    std::optional<std::array<std::uint64_t, 2>> words;
    std::uint64_t due = 0;
  };
  struct LookUp {
    std::uint8_t tag = 0;
    std::optional<std::uint64_t> page;
    std::uint64_t due = 0;
  };

  void idle_inputs() {
    bench_->write_i = bench_->send_valid_i = bench_->packet_ready_i = bench_->come_valid_i = bench_->phit_ready_i = 0;
    bench_->read_ready_i = bench_->answer_valid_i = bench_->look_up_ready_i = bench_->page_valid_i = 0;
    send_at_ = 0;
  }
  [[nodiscard]] bool stalls(std::uint32_t percent) { return percent != 0 && random.chance(percent); }

  /// A header says address and length; its words follow.
  void take_phit(std::uint64_t phit, bool is_last) {
    if (!is_in_write_) {
      write_at_ = phit & ((std::uint64_t{1} << 48U) - 1);
      left_ = phit >> 57U & 15U;
      const bool is_posted = (phit >> 61U) == 0;
      const bool has_mask = left_ != 1 || (phit >> 48U & 0xFFU) == 0xFF;
      if (!is_posted || left_ == 0 || left_ > 8 || is_last || !has_mask || write_at_ % 8 != 0 ||
          write_at_ / 64 != (write_at_ + left_ * 8 - 1) / 64) {
        throw std::runtime_error("the unit writes what is no packet of a line");
      }
      is_in_write_ = true;
      return;
    }
    --left_;
    if (is_last != (left_ == 0)) throw std::runtime_error("a packet of the unit has another length than it says");
    if (wrote) wrote(write_at_, phit);
    write_at_ += 8;
    is_in_write_ = left_ != 0;
    wrote_cycle = now();
  }
  void count_events(std::uint64_t cycle) {
    events.sent += bench_->sent_o;
    events.misshapen += bench_->misshapen_o;
    events.foreign += bench_->foreign_o;
    events.malformed += bench_->malformed_o;
    events.crowded += bench_->crowded_o;
    events.unfinished += bench_->unfinished_o;
    events.fetched += bench_->fetched_o;
    events.revoked += bench_->revoked_o;
    events.timed_out += bench_->timed_out_o;
    events.failed += bench_->failed_o;
    events.late_answers += bench_->late_answer_o;
    holds = bench_->holds_o;
    if (bench_->refused_o != 0) {
      refusals.push_back(refusal_of(bench_->refusal_o));
    }
    if (bench_->report_o != 0) {
      reports.push_back(report_of(bench_->report_data_o, cycle));
    }
    if (bench_->ends_o != 0) {
      ends.push_back({std::uint64_t{bench_->ends_ring_o}, static_cast<nic::Error>(bench_->ends_error_o),
                      std::uint64_t{bench_->ends_culprit_o}});
    }
  }

 public:
  static constexpr std::size_t kPorts = 64;

 private:
  Bench<Model> bench_;
  std::deque<Read> reads_;
  std::deque<LookUp> look_ups_;
  std::optional<std::uint64_t> waiting_read_;  ///< Offered and not taken yet.
  std::optional<std::uint64_t> waiting_look_up_;
  Packet packet_;
  std::size_t send_at_ = 0;
  std::uint64_t active_cycle_ = 0;  ///< In which something last went in or out.
  bool is_in_write_ = false;
  std::uint64_t write_at_ = 0;
  std::uint64_t left_ = 0;
};

}  // namespace stopbit::sim::velo
