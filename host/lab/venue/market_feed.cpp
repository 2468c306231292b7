#include "host/lab/venue/market_feed.hpp"

#include <algorithm>
#include <utility>

#include "host/lab/impair/random.hpp"
#include "host/lab/simulate/lines.hpp"

namespace stopbit::venue {
namespace {

constexpr std::uint64_t kChunkGap = 1'000;

class FeedOfVenue final : public MarketFeed {
 public:
  FeedOfVenue(const simulate::Settings& settings, std::unique_ptr<Venue> venue)
      : settings_(settings), venue_(std::move(venue)), lines_(settings) {
    impair::Random seeds(settings.seed + 1);
    for (const StreamPlan& plan : venue_->voice().streams()) {
      simulate::StreamReport& report = reports_.emplace_back();
      report.channel = 1;
      report.role = plan.role;
      report.framing = plan.framing;
      report.templates = venue_->voice().templates_name();
      report.groups = simulate::Lines::groups(settings, reports_.size() - 1);
      last_ns_.push_back(0);
      const bool goes_round = plan.role == simulate::Role::Carousel;
      (void)lines_.add(report.groups, goes_round ? settings.carousel_skew_ns : settings.skew_ns, seeds.next());
    }
  }

  bool next(simulate::Sent& sent) override {
    while (!is_over_ && (!lines_.next_time() || packet_.time_ns <= *lines_.next_time())) advance();
    if (!venue_->fault().empty() || !lines_.next_time()) return false;
    sent = lines_.take();
    return true;
  }
  const std::string& fault() const noexcept override { return venue_->fault(); }
  std::vector<simulate::StreamReport> report() const override {
    std::vector<simulate::StreamReport> reports = reports_;
    for (std::size_t i = 0; i < reports.size(); ++i) reports[i].impaired = lines_.impaired(i);
    return reports;
  }
  void tell_truth(Truth truth) override { truth_ = std::move(truth); }
  const Venue& venue() const noexcept override { return *venue_; }

 private:
  /// The packet that waits goes on the lines, and the next one waits.
  void advance() {
    for (std::vector<std::byte>& datagram : packet_.datagrams) {
      std::uint64_t& last_ns = last_ns_[packet_.stream];
      last_ns = std::max(packet_.time_ns, last_ns + kChunkGap);
      lines_.send(packet_.stream, std::move(datagram), last_ns, packet_.from_backup);
    }
    if (!venue_->next(packet_)) {
      is_over_ = true;
      return lines_.flush(settings_.start_ns + settings_.duration_ns);
    }
    count();
    if (truth_) truth_(*venue_, packet_);
  }
  void count() {
    simulate::StreamReport& report = reports_[packet_.stream];
    ++report.packets;
    report.messages += packet_.messages;
    report.datagrams += packet_.datagrams.size();
    for (const auto& datagram : packet_.datagrams) report.bytes += datagram.size();
    if (packet_.sequence == 1 && report.packets > 1) {
      ++(report.role == simulate::Role::Carousel ? report.cycles
         : packet_.from_backup != was_backup_    ? report.failovers
                                                 : report.resets);
    }
    if (packet_.stream == kIncrements) was_backup_ = packet_.from_backup;
    report.last_sequence = packet_.sequence;
  }

  const simulate::Settings settings_;
  std::unique_ptr<Venue> venue_;
  simulate::Lines lines_;
  std::vector<simulate::StreamReport> reports_;
  std::vector<std::uint64_t> last_ns_;  ///< Of a datagram, by stream.
  Packet packet_;                       ///< That is sent next.
  Truth truth_;
  bool is_over_ = false;
  bool was_backup_ = false;
};

}  // namespace

std::unique_ptr<MarketFeed> MarketFeed::make(const simulate::Settings& settings, Diagnostics& diagnostics) {
  std::unique_ptr<Venue> venue = Venue::make(settings, diagnostics);
  if (venue == nullptr) return nullptr;
  return std::make_unique<FeedOfVenue>(settings, std::move(venue));
}

}  // namespace stopbit::venue
