#pragma once

#include <array>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "host/counters/writer.hpp"
#include "host/net/packet.hpp"
#include "host/nic/remote/protocol.hpp"

/// The counters of an appliance: which there are, and their handles. Names and help stand in tally.cpp, in one list.
namespace stopbit::appliance {

/// What a channel is doing.
enum class ChannelState : std::uint8_t {
  Waiting = 0,  ///< Nothing has come yet.
  Live = 1,
  Stale = 2,   ///< Its datagrams do not decode.
  Silent = 3,  ///< Nothing comes on any line. Told by readers, from the ages of the lines.
};
[[nodiscard]] std::string_view to_text(ChannelState state) noexcept;

struct LineTally {
  counters::Counter packets, missing, saved, first, last_sequence, last_arrival;
  counters::Histogram skew;
};

struct ChannelTally {
  std::array<LineTally, 2> lines;
  counters::Counter delivered, duplicate, late, held, malformed, incomplete;
  counters::Counter numbers, numbers_delivered, numbers_recovered, numbers_lost, numbers_held;
  counters::Counter gaps, epoch, next_sequence, state, last_delivery;
  counters::Counter datagrams, messages, decode_errors, unknown_template, waiting_for_reset, stale_events;
};

struct PortTally {
  counters::Counter frames, bytes, nic, kernel, failures, foreign;
  std::array<counters::Counter, net::kVerdicts> verdicts;
};

struct OutletTally {
  counters::Counter records, slots, generation, layout_hash, events;
  counters::Text image;
  counters::Counter other;  ///< Messages of templates that came with a later image.
};

struct AgentTally {
  counters::Counter turns, busy_turns, last_turn, notices_lost;
  counters::Histogram batch, latency;
  counters::Errors errors;
};

/// One line on disk.
struct RecordTally {
  counters::Counter recorded, not_recorded, frozen_files, refused_freezes;
};

/// The recorder as a whole.
struct RecorderTally {
  counters::Counter failing_lines;
  counters::Text problem;
};

/// The node and its broker.
struct NicTally {
  counters::Counter commands, clients, ports_opened, ports_gone, turned_away, malformed, refused, shared_bytes;
  counters::Counter unpinned, unpinned_bytes, resident_bytes, pages_fetched, pages_evicted, pages_written, pages_failed;
  counters::Counter lines_kept;
};

/// What the units of the node on one carrier did.
struct UnitsTally {
  counters::Counter sent, resent, delivered, bad_frames, lost, rejoined;                    // links
  counters::Counter messages_sent, messages_delivered, messages_dropped, messages_refused;  // messages
  counters::Counter transfers, served, transfers_refused, failed, bounced, held_up;         // remote memory
  counters::Counter hits, misses, faults;                                                   // translation
};

/// The carrier to other hosts.
struct FabricTally {
  counters::Counter bad_frames, joined, refused, expired, renewed, deaths, cut_off;
};

/// A ring that clients of the broker attach.
struct OfferTally {
  counters::Counter attached, refused, attachments, gets, bytes;
};

/// A place that a subscriber of a published ring may have. `who` is empty as long as nobody has it.
struct SubscriberTally {
  counters::Text who, ring;
  counters::Counter state, since, records, slots, filtered, lost, behind;
};

/// A carrier that rings are published by.
struct PublisherTally {
  counters::Counter subscribers, admitted, refused, ended, detached, malformed;
  std::array<counters::Counter, nic::remote::kRefusals - 1> refusals;  ///< Of `refused`, by nic::remote::Refusal.
  std::vector<SubscriberTally> places;                                 ///< As many as there may be.
};

/// Collects what there is, then makes the segment and fills the handles, which must stay where they are until then.
class TallyBuilder {
 public:
  using Labels = std::initializer_list<counters::Label>;

  void agent(AgentTally& tally, std::string_view name);
  void port(PortTally& tally, std::string_view name);
  void outlet(OutletTally& tally, std::string_view name);
  /// Messages of one template.
  void templates(counters::Counter& counter, std::string_view outlet, std::string_view name);
  void channel(ChannelTally& tally, std::string_view name, bool has_b);
  void record(RecordTally& tally, std::string_view channel, bool is_b);
  void recorder(RecorderTally& tally);
  /// Packets of an agent that found no room on their way to the disk.
  void record_queue(counters::Counter& counter, std::string_view agent);
  void nic(NicTally& tally);
  void units(UnitsTally& tally, std::string_view carrier);
  void fabric(FabricTally& tally);
  void offer(OfferTally& tally, std::string_view name);
  void publisher(PublisherTally& tally, std::string_view carrier);
  /// A gauge that is always 1: its labels are what there is to say.
  void info(counters::Counter& counter, std::string_view family, Labels labels, std::string_view help);
  void writer() noexcept { schema_.writer(); }

  /// In shared memory under the name; in private memory if it is empty.
  [[nodiscard]] Result<counters::Segment> build(std::string_view name);

 private:
  void add(counters::Counter& handle, std::string_view family, Labels labels, std::string_view help,
           counters::Kind kind = counters::Kind::Counter, counters::Unit unit = counters::Unit::Number);
  void gauge(counters::Counter& handle, std::string_view family, Labels labels, std::string_view help,
             counters::Unit unit = counters::Unit::Number) {
    add(handle, family, labels, help, counters::Kind::Gauge, unit);
  }
  void histogram(counters::Histogram& handle, std::string_view family, Labels labels, std::string_view help,
                 counters::Unit unit);

  counters::Schema schema_;
  std::vector<std::function<void(const counters::Segment&)>> binders_;
};

}  // namespace stopbit::appliance
