#include "host/remote/near_subscription.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "host/os/shm/name.hpp"
#include "host/remote/events.hpp"

namespace stopbit::remote {

Result<std::unique_ptr<NearSubscription>> NearSubscription::make(From from, const Subscribe& request, const Peer& peer,
                                                                 const NearSubscription* replaces, std::uint64_t now_ns,
                                                                 Refusal& why) {
  Result<std::unique_ptr<RecordFilter>> filter = make_filter(*from.source, request, why);
  if (!filter) return Failure{filter.message()};
  why = Refusal::Near;
  const ring::Reader& fixed = from.source->fixed();
  if (fixed.slot_count() > request.near->max_slots) {
    return Failure{"the ring has " + std::to_string(fixed.slot_count()) + " slots"};
  }
  if (from.source->program().max_record_slots != fixed.max_record_slots()) {
    return Failure{"the ring's image has records of another length"};
  }
  ring::WriterOptions how;
  how.slot_count = fixed.slot_count();
  how.image_generation = fixed.image_generation();
  how.origin = ring::Origin::Copy;
  how.spares_originals = true;
  how.replaces = replaces == nullptr ? nullptr : &replaces->ring_;
  const market::Tables* const tables = from.source->tables();
  how.tables_epoch = tables != nullptr ? fixed.tables_epoch() : 0;
  Result<ring::Writer> writer = ring::Writer::prepare(request.near->name, from.source->program(), how);
  if (!writer) return Failure{writer.message()};
  if (const Status named = take_names(writer.value(), *from.source, request.near->name, replaces); !named) {
    return named.failure();
  }
  std::unique_ptr<NearSubscription> made(
      new NearSubscription(std::move(from), request, peer, std::move(writer).value(), now_ns));
  made->filter_ = std::move(filter).value();
  why = Refusal::None;
  return made;
}

/// The ring and its tables; the tables first, so that the ring of a name is never without them.
Status NearSubscription::take_names(ring::Writer& writer, const Source& source, const std::string& name,
                                    const NearSubscription* replaces) {
  const market::Tables* const tables = source.tables();
  if (tables == nullptr) return writer.take_name();
  if (const Status free = writer.check_name(); !free) return free;
  const market::Tables* const before = replaces != nullptr ? replaces->source_->tables() : nullptr;
  Status taken = tables->share(name, before);
  if (taken) taken = writer.take_name();
  if (!taken && before != tables) tables->unshare(name);
  return taken;
}

NearSubscription::NearSubscription(From from, const Subscribe& request, const Peer& peer, ring::Writer writer,
                                   std::uint64_t now_ns)
    : source_(std::move(from.source)),
      port_(from.port),
      reader_(std::move(from.reader)),
      request_(request),
      peer_(peer),
      ring_(std::move(writer)),
      applier_(ring_, source_->fixed().max_record_slots()),
      begin_(from.begin),
      history_end_(source_->fixed().published()),
      silence_ns_(from.silence_ns),
      heard_ns_(now_ns),
      seen_(ring_.head()) {
  told_[0].head = seen_;
  counted_.ring = request.ring;
  counted_.node = peer.node;
  counted_.vpid = peer.vpid;
  counted_.is_near = true;
  counted_.is_lossless = request.is_lossless;
  counted_.has_filter = !request.filter.is_empty();
  counted_.since_ns = now_ns;
}

NearSubscription::~NearSubscription() {
  ring_.finish();
  ring_.unlink();
  // A successor that has the name of the ring may have the same tables.
  struct stat named {};
  const bool is_free = ::lstat(ring_.path().c_str(), &named) != 0;
  if (is_free && source_->tables() != nullptr) source_->tables()->unshare(name());
}

std::vector<std::byte> NearSubscription::answer() const {
  return to_bytes(AcceptNear{request_.session, ring_.epoch()});
}

bool NearSubscription::resume(const Subscribe& request, const Source& source, std::uint64_t now_ns) {
  const bool is_same = request.near && request.near->name == request_.near->name && request.ring == request_.ring &&
                       request.filter == request_.filter && request.is_lossless == request_.is_lossless &&
                       request.layout_hash == request_.layout_hash &&
                       source.fixed().epoch() == source_->fixed().epoch();
  if (!is_same || how_ != 0 || !end_.empty()) return false;
  request_.session = request.session;
  heard_ns_ = now_ns;
  has_news_ = has_history_;
  return true;
}

void NearSubscription::hear(const Echo& echo, std::uint64_t now_ns) noexcept {
  if (echo.session != request_.session || echo.number > beats_) return;
  heard_ = echo.number;
  heard_ns_ = now_ns;
  const Told& told = told_[echo.number % kTold];
  if (told.number == echo.number) seen_ = std::max(seen_, told.head);
}

/// Whether the longest record may be written now. The subscriber's reader may lag by half a ring.
bool NearSubscription::has_credit() const noexcept {
  return !is_lossless() || ring_.head() + source_->fixed().max_record_slots() - seen_ <= ring_.slot_count() / 2;
}

/// Asks for credit before there is none, and notes since when there is none.
void NearSubscription::look_at_credit(std::uint64_t now_ns, bool has_moved) noexcept {
  const bool is_told = heard_ != beats_;  // its answer is on its way
  if (!is_told && ring_.head() - told_[beats_ % kTold].head >= ring_.slot_count() / 8) has_news_ = true;
  if (has_credit() || source_->fixed().published() == reader_.next_record()) {
    stuck_since_ns_ = 0;
  } else if (stuck_since_ns_ == 0 || has_moved) {
    stuck_since_ns_ = now_ns;
  }
}

std::size_t NearSubscription::step(std::uint64_t now_ns) {
  if (!end_.empty() || how_ != 0) {
    if (has_news_) tell(now_ns);
    return 0;
  }
  std::size_t work = 0;
  ring::Poll poll = ring::Poll::Record;
  std::uint64_t slots = counted_.slots;
  while (work < kRecordsPerStep && may_send(now_ns) && has_credit() && (poll = copy_next()) != ring::Poll::Nothing) {
    ++work;
    has_sent((counted_.slots - slots) * record::kSlotBytes);
    slots = counted_.slots;
    if (poll == ring::Poll::Lost) write_lost(reader_.lost_records());
    if (poll == ring::Poll::Damaged) {
      end_ = "the ring is damaged";
      return work;
    }
    if (!has_history_ && poll == ring::Poll::Record && reader_.next_record() <= history_end_) {
      fetched_ = counted_.records;
    }
  }
  if (is_lossless()) look_at_credit(now_ns, work != 0);
  if (!has_history_ && (reader_.next_record() >= history_end_)) has_history_ = has_news_ = true;
  // The writer's end counts once everything before it was read.
  if (poll == ring::Poll::Nothing && source_->writer() != ring::WriterState::Running) {
    how_ = static_cast<std::uint8_t>(source_->writer());
    ring_.finish();
    has_history_ = has_news_ = true;
  }
  if (has_news_) tell(now_ns);
  return work;
}

/// A lossless subscriber whose ring before has ended: that one has what comes before.
ring::Poll NearSubscription::skip_to_begin() {
  ring::Poll poll = ring::Poll::Record;
  std::size_t looks = kRecordsPerStep;
  while (reader_.position() < begin_.number && looks-- != 0 && (poll = reader_.poll()) == ring::Poll::Record) {
  }
  return poll;
}

ring::Poll NearSubscription::copy_next() {
  if (reader_.position() < begin_.number) {
    const ring::Poll poll = skip_to_begin();
    if (poll == ring::Poll::Lost && reader_.position() > begin_.number)
      write_lost(reader_.next_record() - begin_.records);
    if (poll == ring::Poll::Damaged || poll == ring::Poll::Nothing || reader_.position() < begin_.number) {
      return poll == ring::Poll::Lost ? ring::Poll::Record : poll;
    }
  }
  if (filter_ != nullptr) return copy_if_it_passes();
  std::uint32_t slots = 0;
  const ring::Poll poll = reader_.copy_to(ring_, slots);
  if (poll == ring::Poll::Record) {
    ++counted_.records;
    counted_.slots += slots;
  }
  return poll;
}

ring::Poll NearSubscription::copy_if_it_passes() {
  const ring::Poll poll = reader_.poll();
  if (poll != ring::Poll::Record) return poll;
  if (!filter_->passes(reader_.record())) {
    ++counted_.filtered;
    return poll;
  }
  for (const record::Slot& slot : reader_.record()) {
    if (applier_.take(slot) == SlotWriter::Outcome::Bad) return ring::Poll::Damaged;
  }
  ++counted_.records;
  counted_.slots += reader_.record().size();
  return poll;
}

void NearSubscription::write_lost(std::uint64_t records) {
  counted_.lost += records;
  (void)applier_.take(lost_event(records, source_->fixed().image_generation()));
  ++counted_.records;
  ++counted_.slots;
}

void NearSubscription::beat(std::uint64_t now_ns) {
  if (!end_.empty()) return;
  if (is_lossless() && reader_.is_detached() && source_->writer() == ring::WriterState::Running) {
    end_ = "the ring's writer stopped waiting for it";
    return;
  }
  if (now_ns - heard_ns_ >= silence_ns_) {
    end_ = "it does not respond";
    return;
  }
  ring_.beat(source_->fixed().heartbeat_ns());
  // A subscriber that does not read gets few beats, so that its mailbox does not fill.
  if (heard_ == beats_ || now_ns - told_ns_ >= kTellAgainNs) tell(now_ns);
}

void NearSubscription::forgive(std::uint64_t ns) noexcept {
  heard_ns_ += ns;
  if (stuck_since_ns_ != 0) stuck_since_ns_ += ns;
}

RingPosition NearSubscription::reached() const noexcept {
  const RingPosition now{reader_.position(), reader_.next_record()};
  return now.number < begin_.number ? begin_ : now;
}

std::uint64_t NearSubscription::refused_records() const noexcept {
  const std::uint64_t published = source_->fixed().published();
  const std::uint64_t reached = this->reached().records;
  return published > reached ? published - reached : 0;
}

void NearSubscription::tell(std::uint64_t now_ns) {
  Beat beat;
  beat.session = request_.session;
  beat.number = beats_ + 1;
  beat.has_history = has_history_;
  beat.how = how_;
  beat.records = counted_.records;
  beat.slots = counted_.slots;
  beat.fetched = fetched_;
  beat.filtered = counted_.filtered;
  beat.lost = counted_.lost;
  if (!port_->send(peer_.node, peer_.vpid, to_bytes(beat), now_ns)) return;
  ++beats_;
  if (how_ != 0 && end_beat_ == 0) end_beat_ = beats_;
  told_[beats_ % kTold] = {beats_, ring_.head()};
  told_ns_ = now_ns;
  has_news_ = false;
}

SubscriptionStatus NearSubscription::status() const {
  SubscriptionStatus status = counted_;
  const std::uint64_t published = source_->fixed().published();
  status.behind = published > reader_.next_record() ? published - reader_.next_record() : 0;
  status.kept = is_lossless() ? heard_ : 0;
  status.has_all = how_ != 0 && (!is_lossless() || (end_beat_ != 0 && heard_ >= end_beat_));
  status.state = how_ != 0              ? SubscriptionState::Ending
                 : stuck_since_ns_ != 0 ? SubscriptionState::Waiting
                 : is_slowed()          ? SubscriptionState::Slowed
                                        : SubscriptionState::Running;
  return status;
}

}  // namespace stopbit::remote
