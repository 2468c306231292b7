#include "host/replay/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "host/os/clock.hpp"
#include "host/os/quiet_thread.hpp"
#include "host/ports/merger.hpp"
#include "host/ports/packet_queue.hpp"
#include "host/replay/record_merge.hpp"

namespace stopbit::replay {
namespace {

constexpr std::size_t kLeastBlockSlots = 4096;
/// How many packets go by until a part says how far it is.
constexpr std::uint64_t kPacketsPerWord = 512;

using Sources = std::span<const std::unique_ptr<ingest::PacketSource>>;

/// The block that the lanes of a part fill.
class BlockWriter {
 public:
  BlockWriter(RecordMerge& merge, std::size_t part, std::size_t record_slots)
      : merge_(merge), part_(part), record_slots_(record_slots), lost_(record_slots) {}

  /// Room for a record of any lane; of no use after cancel().
  [[nodiscard]] record::Slot* room(std::uint64_t packet) {
    if (block_ != nullptr && block_->slots.size() - block_->used < record_slots_) hand_over(packet - 1);
    if (block_ == nullptr) block_ = merge_.take_block(part_);
    return block_ != nullptr ? block_->slots.data() + block_->used : lost_.data();
  }
  void commit(const record::Slot& first, std::uint32_t slots, RecordMerge::Key key, std::size_t lane) {
    if (block_ == nullptr) return;
    block_->slots[block_->used] = first;
    block_->entries.push_back({key, static_cast<std::uint32_t>(block_->used), slots, lane});
    block_->used += slots;
  }
  /// All records of packets up to `packet` are written.
  void hand_over(std::uint64_t packet) {
    RecordMerge::Block* const block = block_ != nullptr && block_->used != 0 ? std::exchange(block_, nullptr) : nullptr;
    merge_.publish(part_, block, packet);
  }

 private:
  RecordMerge& merge_;
  std::size_t part_;
  std::size_t record_slots_;
  RecordMerge::Block* block_ = nullptr;
  std::vector<record::Slot> lost_;  ///< For an engine that goes on after cancel().
};

/// Where a lane of a part writes.
class LaneSink final : public record::RecordSink {
 public:
  LaneSink(BlockWriter& writer, std::size_t lane, const Options& options) : writer_(writer), lane_(lane) {
    for (std::size_t i = 0; i < options.feed.size(); ++i) {
      const std::size_t number = options.feed[i]->number;
      if (index_.size() <= number) index_.resize(number + 1);
      index_[number] = static_cast<std::uint16_t>(i);
    }
  }
  void follow(const Replay& replay) noexcept { replay_ = &replay; }

  [[nodiscard]] Place open() noexcept override { return {writer_.room(replay_->place().packet), 0, false}; }
  void commit(const record::Slot& first, std::uint32_t slots) noexcept override {
    constexpr unsigned kLaneShift = 17;
    constexpr std::uint32_t kTaken = 1U << 16;
    const Replay::Place& place = replay_->place();
    auto within = static_cast<std::uint32_t>(lane_) << kLaneShift;
    if (place.is_taken) {
      within |= kTaken;
    } else {
      const record::HeaderView header(first);
      within |= header.channel() < index_.size() ? index_[header.channel()] : 0U;
    }
    writer_.commit(first, slots, {place.packet, within}, lane_);
  }

 private:
  BlockWriter& writer_;
  std::size_t lane_;
  std::vector<std::uint16_t> index_;  ///< Of a channel in the feed, by its number.
  const Replay* replay_ = nullptr;
};

/// The lanes of one thread.
class Part {
 public:
  Part(std::span<const ParallelLane> lanes, std::uint16_t number, std::uint16_t parts, ingest::PacketQueue& packets,
       RecordMerge& merge, std::size_t record_slots)
      : number_(number), packets_(packets), merge_(merge), writer_(merge, number, record_slots) {
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      Options options = lanes[i].options;
      options.part = number;
      options.parts = parts;
      options.on_progress = nullptr;
      sinks_.push_back(std::make_unique<LaneSink>(writer_, i, options));
      engines_.push_back(lanes[i].engine());
      replays_.push_back(
          std::make_unique<Replay>(lanes[i].program, *engines_.back(), *sinks_.back(), std::move(options)));
      sinks_.back()->follow(*replays_.back());
    }
  }

  void run() {
    const auto never = [] { return false; };
    std::uint64_t packet = 0;
    for (;;) {
      const ingest::PacketQueue::Item* item = packets_.try_next(number_);
      if (item == nullptr) {
        writer_.hand_over(packet);
        item = packets_.next(number_, never);
        if (item == nullptr) break;
      }
      ++packet;
      for (const auto& replay : replays_) replay->take_packet(item->packet, item->source, item->time_quality);
      if (packet % kPacketsPerWord == 0) writer_.hand_over(packet);
    }
    for (const auto& replay : replays_) replay->finish();
    writer_.hand_over(packet + 1);
    merge_.close(number_);
  }

  [[nodiscard]] Replay& replay(std::size_t lane) { return *replays_[lane]; }

 private:
  std::size_t number_;
  ingest::PacketQueue& packets_;
  RecordMerge& merge_;
  BlockWriter writer_;
  std::vector<std::unique_ptr<LaneSink>> sinks_;
  std::vector<std::unique_ptr<Engine>> engines_;
  std::vector<std::unique_ptr<Replay>> replays_;
};

/// Reads the sources, one after the other or merged, and shows the way to all parts.
class Feeder {
 public:
  Feeder(Sources sources, bool merge, ingest::PacketQueue& packets)
      : sources_(sources), is_merged_(merge), packets_(packets) {
    for (const auto& source : sources) {
      const std::uint64_t bytes = source->progress().bytes_total;
      if (bytes == 0) has_pipe_ = true;
      total_ += bytes;
    }
  }

  void run() {
    if (is_merged_) {
      run_merged();
    } else {
      for (std::size_t i = 0; i < sources_.size() && !stop_.load(std::memory_order_relaxed); ++i) run_source(i);
    }
    packets_.close();
  }
  void stop() noexcept {
    stop_.store(true, std::memory_order_relaxed);
    for (const auto& source : sources_) source->cancel();
  }

  void fill(Progress& progress) const noexcept {
    progress.bytes_done = bytes_.load(std::memory_order_relaxed);
    progress.bytes_total = has_pipe_ ? 0 : total_;
    progress.packets = count_.load(std::memory_order_relaxed);
  }
  /// After the thread has ended.
  [[nodiscard]] Replay::LoopCounts take_counts() { return std::move(counts_); }

 private:
  static constexpr std::uint64_t kPacketsPerLook = 64;

  /// False: nothing more is wanted.
  bool pass(const ingest::Packet& packet, std::size_t source) {
    const std::uint64_t count = count_.load(std::memory_order_relaxed) + 1;
    count_.store(count, std::memory_order_relaxed);
    if (count % kPacketsPerLook == 0) note_bytes(source);
    return packets_.push({.packet = packet, .source = source, .time_quality = sources_[source]->time_quality()}) &&
           !stop_.load(std::memory_order_relaxed);
  }
  void note_bytes(std::size_t source) noexcept {
    std::uint64_t bytes = is_merged_ ? 0 : earlier_ + sources_[source]->progress().bytes_done;
    if (is_merged_) {
      for (const auto& one : sources_) bytes += one->progress().bytes_done;
    }
    bytes_.store(bytes, std::memory_order_relaxed);
  }

  void run_source(std::size_t index) {
    ingest::PacketSource& source = *sources_[index];
    ingest::Packet packet;
    std::optional<std::uint64_t> last_ns;
    for (bool go_on = true; go_on;) {
      const ingest::Next next = source.next(packet);
      if (next == ingest::Next::Fault && !stop_.load(std::memory_order_relaxed))
        counts_.faults.push_back(source.fault().message);
      const std::uint64_t arrival_ns = packet.arrival_ns;
      if (next == ingest::Next::Packet && !last_ns) counts_.order.begin(source.name(), arrival_ns);
      if (next == ingest::Next::Packet) last_ns = arrival_ns;
      go_on = next == ingest::Next::Packet && pass(packet, index);
    }
    if (last_ns) counts_.order.end(source.name(), *last_ns);
    ++counts_.captures;
    earlier_ += source.progress().bytes_total;
  }
  void run_merged() {
    ingest::Merger merger(sources_);
    ingest::Packet packet;
    for (bool go_on = true; go_on;) {
      const ingest::Next next = merger.next(packet);
      if (next == ingest::Next::End) break;
      if (next == ingest::Next::Packet) {
        go_on = pass(packet, merger.source());
      } else if (!stop_.load(std::memory_order_relaxed)) {
        counts_.faults.push_back(sources_[merger.source()]->fault().message);
      }
    }
    counts_.captures += sources_.size();
  }

  Sources sources_;
  bool is_merged_;
  ingest::PacketQueue& packets_;
  bool has_pipe_ = false;
  std::uint64_t total_ = 0;
  std::uint64_t earlier_ = 0;
  Replay::LoopCounts counts_;
  std::atomic<bool> stop_ = false;
  std::atomic<std::uint64_t> bytes_ = 0;
  std::atomic<std::uint64_t> count_ = 0;
};

/// Threads that have ended when it is destroyed, whatever happens.
class Threads {
 public:
  Threads(ingest::PacketQueue& packets, RecordMerge& merge, Feeder& feeder)
      : packets_(packets), merge_(merge), feeder_(feeder) {}
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() {
    if (threads_.empty()) return;
    feeder_.stop();
    packets_.cancel();
    merge_.cancel();
    join();
  }
  template <class Function>
  void start(Function function) {
    threads_.push_back(os::quiet_thread(std::move(function)));
  }
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  ingest::PacketQueue& packets_;
  RecordMerge& merge_;
  Feeder& feeder_;
  std::vector<std::thread> threads_;
};

}  // namespace

std::vector<Summary> run_parallel(std::span<const ParallelLane> lanes, std::uint16_t parts, Sources sources,
                                  Consumer& consumer) {
  std::size_t record_slots = 0;
  for (const ParallelLane& lane : lanes) {
    record_slots = std::max<std::size_t>(record_slots, lane.program.max_record_slots);
  }
  ingest::PacketQueue packets(parts);
  RecordMerge merge(parts, std::max(kLeastBlockSlots, 2 * record_slots));
  std::vector<std::unique_ptr<Part>> all;
  for (std::uint16_t i = 0; i < parts; ++i) {
    all.push_back(std::make_unique<Part>(lanes, i, parts, packets, merge, record_slots));
  }
  Feeder feeder(sources, lanes.front().options.merge, packets);
  const std::uint64_t start_ns = os::monotonic_clock_ns();
  Progress progress;
  bool is_stopped = false;
  {
    Threads threads(packets, merge, feeder);
    for (const auto& part : all) threads.start([&part = *part] { part.run(); });
    threads.start([&feeder] { feeder.run(); });

    constexpr std::uint64_t kRecordsPerLook = 256;
    std::uint64_t next_look_ns = start_ns;
    RecordMerge::Record record;
    for (std::uint64_t records = 0;; ++records) {
      const RecordMerge::Next next = merge.next(record);
      if (next == RecordMerge::Next::End) break;
      if (next == RecordMerge::Next::Record) {
        if (!record::HeaderView(record.slots[0]).is_event()) ++progress.messages;
        consumer.take(record.lane, record.slots);
        if (records % kRecordsPerLook != 0) continue;
      } else {
        consumer.idle();
        merge.wait();
      }
      const std::uint64_t now = os::monotonic_clock_ns();
      if (now < next_look_ns) continue;
      next_look_ns = now + lanes.front().options.progress_interval_ns;
      progress.seconds = static_cast<double>(now - start_ns) / 1e9;
      feeder.fill(progress);
      const Consumer::Wish wish = consumer.look(progress);
      if (wish == Consumer::Wish::GoOn) continue;
      is_stopped = true;
      feeder.stop();
      if (wish == Consumer::Wish::Abort) merge.cancel();
    }
    if (merge.is_cancelled()) packets.cancel();
    threads.join();
  }
  progress.seconds = static_cast<double>(os::monotonic_clock_ns() - start_ns) / 1e9;
  progress.finished = true;
  feeder.fill(progress);
  // A source that a request has cancelled may end before the loop above has asked.
  if (consumer.look(progress) != Consumer::Wish::GoOn) is_stopped = true;

  Replay::LoopCounts loop = feeder.take_counts();
  loop.stopped = is_stopped;
  loop.seconds = progress.seconds;
  std::vector<Summary> summaries;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    std::vector<Replay*> replays;
    replays.reserve(all.size());
    for (const auto& part : all) replays.push_back(&part->replay(lane));
    summaries.push_back(Replay::account(replays, loop, sources));
    loop.faults.clear();  // the first lane's account has them
    loop.order = {};
  }
  return summaries;
}

}  // namespace stopbit::replay
