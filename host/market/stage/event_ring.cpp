#include "host/market/stage/event_ring.hpp"

#include <utility>

namespace stopbit::market {

Result<std::unique_ptr<EventRing>> EventRing::prepare(const Options& options, Map map, const Program& program) {
  ring::WriterOptions of_ring = options.ring;
  of_ring.is_short = true;
  of_ring.replaces = options.replaces != nullptr ? &options.replaces->ring_ : nullptr;
  Result<ring::Writer> ring = ring::Writer::prepare(options.name, program, of_ring);
  if (!ring) return Failure{ring.message()};
  return around(std::move(ring).value(), options, std::move(map), program);
}

Result<std::unique_ptr<EventRing>> EventRing::around(ring::Writer ring, const Options& options, Map map,
                                                     const Program& program, const Through& through) {
  std::unique_ptr<EventRing> made(new EventRing(std::move(map), std::move(ring)));
  record::RecordSink& events = through ? through(made->ring_) : made->ring_;
  // Generations of tables begin at 1, those of images at 0.
  Result<std::unique_ptr<EventMaker>> maker =
      EventMaker::prepare(made->map_, program,
                          {.name = options.name,
                           .room = options.room,
                           .recovery = options.recovery,
                           .generation = options.ring.image_generation + 1,
                           .ring_epoch = made->ring_.epoch(),
                           .replaces = options.replaces != nullptr ? options.replaces->maker_.get() : nullptr},
                          events);
  if (!maker) return Failure{maker.message()};
  made->maker_ = std::move(maker).value();
  return made;
}

Status EventRing::check_names() const {
  Status free = ring_.check_name();
  return free ? maker_->check_names() : free;
}

Status EventRing::take_names() {
  Status taken = maker_->take_names();
  return taken ? ring_.take_name() : taken;
}

Status take_names(ring::Writer* records, EventRing* events) {
  Status done = Done{};
  if (events != nullptr) done = events->check_names();
  if (done && records != nullptr) done = records->check_name();
  if (done && events != nullptr) done = events->take_names();
  if (done && records != nullptr) done = records->take_name();
  return done;
}

}  // namespace stopbit::market
