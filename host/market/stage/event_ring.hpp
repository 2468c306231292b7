#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "host/market/stage/event_maker.hpp"
#include "host/ring/writer.hpp"

namespace stopbit::market {

/// Market events of records: their ring, and the tables of instruments and states beside it. One thread.
class EventRing {
 public:
  struct Options {
    std::string name;          ///< Of the ring and of the tables.
    ring::WriterOptions ring;  ///< But for `replaces`.
    MarketRoom room = {};
    RecoveryOptions recovery = {};
    /// A live output of this process with the same name, whose names take_names will take. Its readers keep it.
    const EventRing* replaces = nullptr;
  };
  /// `map` is compiled for the program, which must outlive the result. Until take_names the ring and the tables of the
  /// name are others, or none.
  [[nodiscard]] static Result<std::unique_ptr<EventRing>> prepare(const Options& options, Map map,
                                                                  const Program& program);

  /// Where events go on their way to the ring: a sink that hands on what it gets. It must outlive the result.
  using Through = std::function<record::RecordSink&(ring::Writer& ring)>;
  /// The same with a ring that was prepared under that name; `options.ring` says only its generation.
  [[nodiscard]] static Result<std::unique_ptr<EventRing>> around(ring::Writer ring, const Options& options, Map map,
                                                                 const Program& program, const Through& through = {});

  /// Whether take_names would succeed now.
  [[nodiscard]] Status check_names() const;
  /// Of the tables and then of the ring, so that the ring of a name is never without its tables. Another process of
  /// this user can still take a name between check and end; nothing else makes it fail half-way. `replaces` must still
  /// live.
  [[nodiscard]] Status take_names();

  [[nodiscard]] Translator& translator() noexcept { return maker_->translator(); }
  [[nodiscard]] const EventMaker& maker() const noexcept { return *maker_; }
  [[nodiscard]] ring::Writer& ring() noexcept { return ring_; }
  void beat(std::uint64_t now_ns) noexcept {
    ring_.beat(now_ns);
    maker_->beat(now_ns);
  }
  /// Time passes, on the clock of arrivals: also while the feed is silent.
  void tick(std::uint64_t now_ns) noexcept { maker_->translator().tick(now_ns); }
  /// No event follows.
  void finish() noexcept {
    maker_->finish();
    ring_.finish();
  }

 private:
  EventRing(Map map, ring::Writer ring) : map_(std::move(map)), ring_(std::move(ring)) {}

  Map map_;
  ring::Writer ring_;
  std::unique_ptr<EventMaker> maker_;
};

/// All names of a ring of records and of the events beside it, or none if one is not free; either may be null. Their
/// segments are complete and their memory is reserved. Another process of this user can still take a name between check
/// and end; nothing else makes the second half fail.
[[nodiscard]] Status take_names(ring::Writer* records, EventRing* events);

}  // namespace stopbit::market
