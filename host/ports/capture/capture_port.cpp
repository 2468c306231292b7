#include "host/ports/capture/capture_port.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "host/os/clock.hpp"
#include "host/ports/merger.hpp"

namespace stopbit::ingest {
namespace {

/// Room for the payloads of a poll; more than the longest UDP payload.
constexpr std::size_t kArenaBytes = 256U << 10;

/// What a port plays.
struct OtherGroups final : GroupChange {
  std::vector<Membership> memberships;
};

class CapturePort final : public Port {
 public:
  CapturePort(std::vector<std::unique_ptr<PacketSource>> sources, CapturePortOptions options)
      : sources_(std::move(sources)),
        merger_(sources_),
        name_("capture " + names()),
        speed_(options.speed),
        clock_(options.clock ? std::move(options.clock) : os::monotonic_clock_ns),
        arena_(std::make_unique_for_overwrite<std::byte[]>(kArenaBytes)) {}

  Status join(const Membership& membership) override {
    memberships_.push_back(membership);
    return Done{};
  }

  Result<std::unique_ptr<GroupChange>> prepare_groups(std::span<const Membership> join,
                                                      std::span<const Membership> leave,
                                                      std::vector<std::string>& /*notes*/) override {
    auto change = std::make_unique<OtherGroups>();
    change->memberships = memberships_;
    std::erase_if(change->memberships,
                  [&](const Membership& one) { return std::find(leave.begin(), leave.end(), one) != leave.end(); });
    change->memberships.insert(change->memberships.end(), join.begin(), join.end());
    // A port without groups plays everything.
    if (change->memberships.empty()) return Failure{name_ + ": none of its groups would be left"};
    return std::unique_ptr<GroupChange>(std::move(change));
  }
  void change_groups(GroupChange& change) noexcept override {
    memberships_.swap(static_cast<OtherGroups&>(change).memberships);
  }

  std::size_t poll(std::span<Arrival> batch) noexcept override {
    const std::uint64_t now = speed_ > 0 ? clock_() : 0;
    std::size_t count = 0;
    std::size_t used = 0;
    while (count < batch.size() && fetch() && is_due(now)) {
      net::Datagram datagram;
      const net::Verdict verdict = net::parse_frame(packet_.link, packet_.frame, packet_.original_bytes, datagram);
      if (verdict == net::Verdict::Accepted && is_wanted(datagram)) {
        if (datagram.payload.size() > kArenaBytes - used) break;  // the next poll takes it
        std::byte* const copy = arena_.get() + used;
        std::memcpy(copy, datagram.payload.data(), datagram.payload.size());
        batch[count++] = {.payload = {copy, datagram.payload.size()},
                          .source = datagram.source,
                          .destination = datagram.destination,
                          .arrival_ns = packet_.arrival_ns,
                          .t_ns = packet_.arrival_ns,
                          .time_quality = time_quality_};
        used += datagram.payload.size();
      }
      counters_.frames.add(1);
      counters_.bytes.add(packet_.frame.size());
      counters_.verdicts[static_cast<std::size_t>(verdict)].add(1);
      has_packet_ = false;
    }
    note_complete(now);
    return count;
  }

  std::uint64_t complete_until() const noexcept override { return complete_until_ns_; }
  bool in_order() const noexcept override { return true; }

  bool ended() const noexcept override { return ended_; }
  const PortCounters& counters() const noexcept override { return counters_; }
  std::string_view name() const noexcept override { return name_; }
  std::span<const std::string> notes() const noexcept override { return notes_; }

 private:
  [[nodiscard]] std::string names() const {
    std::string text;
    for (const auto& source : sources_) text += (text.empty() ? "" : " + ") + std::string(source->name());
    return text;
  }

  /// Makes packet_ the next one to be played. The source keeps its frame until the next one is requested.
  bool fetch() noexcept {
    if (has_packet_) return true;
    if (ended_) return false;
    for (;;) {
      switch (merger_.next(packet_)) {
        case Next::Packet: time_quality_ = sources_[merger_.source()]->time_quality(); return has_packet_ = true;
        case Next::Fault:  // the other sources go on
          counters_.failures.add(1);
          notes_.push_back(sources_[merger_.source()]->fault().message);
          break;
        case Next::End: ended_ = true; return false;
      }
    }
  }

  /// The first packet is due at once, the others as much later as in the capture.
  bool is_due(std::uint64_t now) noexcept {
    if (speed_ <= 0) return true;
    if (!started_) {
      started_ = true;
      first_arrival_ns_ = packet_.arrival_ns;
      start_ns_ = now;
    }
    if (packet_.arrival_ns <= first_arrival_ns_) return true;
    return static_cast<double>(packet_.arrival_ns - first_arrival_ns_) <= static_cast<double>(now - start_ns_) * speed_;
  }

  /// In the capture's time: up to the next packet, or, if that is not due, up to what is now.
  void note_complete(std::uint64_t now) noexcept {
    std::uint64_t until = complete_until_ns_;
    if (ended_) {
      until = ~std::uint64_t{0};
    } else if (speed_ > 0 && started_) {
      const auto passed = static_cast<std::uint64_t>(static_cast<double>(now - start_ns_) * speed_);
      until = first_arrival_ns_ + passed;
      if (has_packet_) until = std::min(until, packet_.arrival_ns);
    } else if (has_packet_) {
      until = packet_.arrival_ns;
    }
    complete_until_ns_ = std::max(complete_until_ns_, until);
  }

  [[nodiscard]] bool is_wanted(const net::Datagram& datagram) const noexcept {
    if (memberships_.empty()) return true;
    return std::any_of(memberships_.begin(), memberships_.end(), [&](const Membership& membership) {
      return membership.group == datagram.destination &&
             (!membership.source || *membership.source == datagram.source.address);
    });
  }

  std::vector<std::unique_ptr<PacketSource>> sources_;
  Merger merger_;
  std::string name_;
  double speed_;
  std::function<std::uint64_t()> clock_;
  record::TimeQuality time_quality_ = record::TimeQuality::Synthetic;  ///< Of packet_.
  std::unique_ptr<std::byte[]> arena_;                                 ///< The payloads that the last poll handed out.
  std::vector<Membership> memberships_;
  Packet packet_;  ///< Not yet played, if has_packet_.
  bool has_packet_ = false;
  bool ended_ = false;
  bool started_ = false;
  std::uint64_t first_arrival_ns_ = 0;
  std::uint64_t start_ns_ = 0;
  std::uint64_t complete_until_ns_ = 0;
  PortCounters counters_;
  std::vector<std::string> notes_;
};

}  // namespace

std::unique_ptr<Port> make_capture_port(std::unique_ptr<PacketSource> source, CapturePortOptions options) {
  std::vector<std::unique_ptr<PacketSource>> sources;
  sources.push_back(std::move(source));
  return make_capture_port(std::move(sources), std::move(options));
}

std::unique_ptr<Port> make_capture_port(std::vector<std::unique_ptr<PacketSource>> sources,
                                        CapturePortOptions options) {
  return std::make_unique<CapturePort>(std::move(sources), std::move(options));
}

}  // namespace stopbit::ingest
