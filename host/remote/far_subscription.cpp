#include "host/remote/far_subscription.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "decoder/record/views.hpp"
#include "host/remote/events.hpp"

namespace stopbit::remote {
namespace {

constexpr std::uint8_t kCreditEvent = 1;
constexpr std::uint64_t kMaxLastLookNs = 3'000'000'000;  ///< At the tables of a ring that has ended.

}  // namespace

Result<std::unique_ptr<FarSubscription>> FarSubscription::make(nic::Node& node, nic::Pdid domain, From from,
                                                               const Subscribe& request, const Peer& peer,
                                                               std::uint64_t now_ns, Refusal& why) {
  Result<std::unique_ptr<RecordFilter>> filter = make_filter(*from.source, request, why);
  if (!filter) return Failure{filter.message()};
  why = Refusal::Resources;
  Result<std::unique_ptr<NodePort>> port = NodePort::open(node, domain);
  if (!port) return Failure{port.message()};
  Result<PortMemory> staging =
      PortMemory::make(*port.value(), "stopbit-staging", request.layout.bytes(), nic::Access::Read);
  if (!staging) return Failure{staging.message()};

  std::unique_ptr<FarSubscription> made(new FarSubscription(std::move(from.source), std::move(port).value(),
                                                            std::move(from.reader), request, peer, now_ns));
  made->silence_ns_ = from.silence_ns;
  made->filter_ = std::move(filter).value();
  made->staging_ = std::move(staging).value();
  const nic::ChannelPeer to{peer.node, peer.vpid, request.event, request.landing};
  made->sender_.emplace(made->port_->transfers(), made->port_->events(), kCreditEvent,
                        made->staging_.span().first(request.layout.bytes()), made->staging_.address(), request.layout,
                        to);
  made->accept_.owner = from.owner;
  if (const std::optional<nic::WindowName> window = made->source_->open_window()) {
    made->accept_.has_window = true;
    made->accept_.window = *window;
  }
  if (request.wants_tables && made->source_->tables() != nullptr) {
    made->accept_.tables = made->source_->open_tables();
    if (!made->accept_.tables) return Failure{"its tables of instruments and states cannot be shown"};
    made->accept_.tables_epoch = made->source_->fixed().tables_epoch();
  }
  why = Refusal::None;
  return made;
}

FarSubscription::FarSubscription(std::shared_ptr<Source> source, std::unique_ptr<NodePort> port, ring::Reader reader,
                                 const Subscribe& request, const Peer& peer, std::uint64_t now_ns)
    : source_(std::move(source)),
      port_(std::move(port)),
      reader_(std::move(reader)),
      peer_(peer),
      layout_(request.layout),
      landing_(request.landing),
      is_lossless_(request.is_lossless),
      tells_reached_(request.tells_reached) {
  const ring::Reader& fixed = source_->fixed();
  link_ = port_->node().links().session(peer.node);
  reached_ = {reader_.position(), reader_.next_record()};
  if (request.earlier && request.earlier->epoch == fixed.epoch() && request.earlier->reached.number > reached_.number &&
      request.earlier->reached.records <= fixed.published()) {
    reached_ = request.earlier->reached;
  }
  begin_ = kept_ = reached_;
  if (tells_reached_) reader_.keep_from(kept_.number);
  told_ = reached_.number;
  accept_.session = request.session;
  accept_.sender = port_->vpid();
  accept_.credit_event = kCreditEvent;
  accept_.slot_count = fixed.slot_count();
  accept_.slots_offset = source_->slots_offset();
  accept_.image_offset = source_->image_offset();
  accept_.image_bytes = fixed.image().size();
  accept_.layout_hash = fixed.layout_hash();
  accept_.epoch = fixed.epoch();
  accept_.max_record_slots = fixed.max_record_slots();
  accept_.image_generation = fixed.image_generation();
  accept_.begin = reached_;
  counted_.ring = request.ring;
  counted_.node = peer.node;
  counted_.vpid = peer.vpid;
  counted_.is_lossless = request.is_lossless;
  counted_.has_filter = !request.filter.is_empty();
  counted_.since_ns = now_ns;
}

FarSubscription::~FarSubscription() {
  if (accept_.has_window) source_->close_window(accept_.window);
  if (!accept_.tables) return;
  source_->close_window(accept_.tables->instruments);
  source_->close_window(accept_.tables->states);
}

std::size_t FarSubscription::step(std::uint64_t now_ns) {
  hear(now_ns);
  if (!end_.empty()) return 0;
  if (!lost_.empty()) {
    if (stuck_since_ns_ == 0 && source_->fixed().published() > reached_.records) stuck_since_ns_ = now_ns;
    return 0;
  }
  std::size_t work = 0;
  budget_ = kRecordsPerStep;
  bool has_credit = true;
  for (; work < kMessagesPerStep && !has_sent_end_; ++work) {
    if (staged_bytes_ == 0) {
      if (!may_send(now_ns)) break;
      const std::span<std::byte> message = sender_->place();
      has_credit = !message.empty();
      if (!has_credit || !fill(message)) break;
    }
    if (!send_staged()) break;
  }
  // Without a credit nothing is read any more: the ring is the buffer.
  // A writer waits for what is kept, too.
  const bool is_kept = tells_reached_ && reached_.number - kept_.number >= source_->fixed().slot_count() / 2;
  const bool is_waiting = is_kept || (!has_credit && source_->fixed().published() > reached_.records);
  if (!is_waiting || (work != 0 && !is_kept)) {
    stuck_since_ns_ = is_waiting ? now_ns : 0;
  } else if (stuck_since_ns_ == 0) {
    stuck_since_ns_ = now_ns;
  }
  return work;
}

void FarSubscription::hear(std::uint64_t now_ns) {
  nic::Notification notification;
  while (port_->notifications().take(notification)) {
    if (notification.error != nic::Error::None) {
      return lose(
          std::string("it cannot be reached: ") + to_name(notification.error) + ", " + to_meaning(notification.error),
          now_ns);
    }
    is_asked_ = false;
    // The request after the end was answered, so the end has arrived.
    if (has_asked_end_ && !has_end_) {
      has_end_ = true;
      ended_ns_ = now_ns;
    }
  }
  end_when_all_is_there(now_ns);
  if (port_->node().links().session(peer_.node) != link_) lose("its node is lost", now_ns);
}

/// A lossless subscriber may have lost sight of us while this process had no processor, and come back: what it has not
/// had is kept for a while.
void FarSubscription::lose(std::string why, std::uint64_t now_ns) {
  if (!lost_.empty() || !end_.empty()) return;
  if (!tells_reached_) {
    end_ = std::move(why);
    return;
  }
  lost_ = std::move(why);
  lost_since_ns_ = now_ns;
}

void FarSubscription::end_when_all_is_there(std::uint64_t now_ns) {
  if (!has_end_ || !end_.empty() || (tells_reached_ && kept_.number < reached_.number)) return;
  // It fetches the last states, and then leaves.
  if (accept_.tables && now_ns - ended_ns_ < kMaxLastLookNs) return;
  end_ = "the ring has ended";
}

void FarSubscription::hear(const Reached& reached, std::uint64_t now_ns) noexcept {
  if (!tells_reached_ || !lost_.empty() || reached.session != accept_.session) return;
  if (reached.place.number <= kept_.number || reached.place.number > reached_.number) return;
  kept_ = reached.place;
  reader_.keep_from(kept_.number);
  if (stuck_since_ns_ != 0) stuck_since_ns_ = now_ns;
  end_when_all_is_there(now_ns);
}

std::optional<ring::Reader> FarSubscription::take_reader(const RingPosition& place) {
  if (!tells_reached_ || reader_.is_detached() || !reader_.go_back(place.number, place.records)) return std::nullopt;
  return std::move(reader_);
}

void FarSubscription::forgive(std::uint64_t ns) noexcept {
  if (stuck_since_ns_ != 0) stuck_since_ns_ += ns;
  if (!lost_.empty()) lost_since_ns_ += ns;
}

void FarSubscription::beat(std::uint64_t now_ns) {
  if (is_lossless_ && reader_.is_detached() && source_->writer() == ring::WriterState::Running) {
    end_ = "the ring's writer stopped waiting for it";
  }
  if (!lost_.empty() && end_.empty() && now_ns - lost_since_ns_ >= silence_ns_) end_ = lost_;
  if (is_asked_ || !end_.empty() || !lost_.empty()) return;
  // Words after the landing memory: the writer's heartbeat, and a count of our own. The answer to the second shows that
  // the window still exists and that everything before was served.
  std::array<nic::Command, 2> words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i].operation = nic::Operation::ImmediatePut;
    words[i].target_node = peer_.node;
    words[i].target_vpid = peer_.vpid;
    words[i].window = landing_.id;
    words[i].capability = landing_.capability;
    words[i].offset = i == 0 ? heartbeat_at(layout_) : beat_at(layout_);
  }
  words[0].address = source_->fixed().heartbeat_ns();
  words[1].address = beats_ + 1;
  words[1].modifiers = nic::kAcknowledge;
  const bool is_behind_end = has_sent_end_ && staged_bytes_ == 0;
  if (port_->transfers().insert_whole(words).reply != nic::Reply::NoError) return;
  ++beats_;
  is_asked_ = true;
  has_asked_end_ = is_behind_end;
  // A subscriber to which no records go must still learn how far the ring is.
  if (staged_bytes_ == 0 && !has_sent_end_ && rest_.empty() && reached_.number != told_) {
    const std::span<std::byte> message = sender_->place();
    if (!message.empty()) {
      stage(message, BatchHead{.reached = reached_});
      (void)send_staged();
    }
  }
}

/// Makes the next message, if there is anything to say.
bool FarSubscription::fill(std::span<std::byte> message) {
  const std::size_t capacity = slots_per_message(layout_);
  BatchHead head;
  while (head.slots < capacity) {
    if (rest_.empty() && !next_record()) break;
    const std::size_t count = std::min(rest_.size(), capacity - head.slots);
    std::memcpy(message.data() + sizeof(head) + head.slots * record::kSlotBytes, rest_.data(),
                count * record::kSlotBytes);
    head.slots = static_cast<std::uint16_t>(head.slots + count);
    rest_ = rest_.subspan(count);
    if (!rest_.empty()) break;
    reached_ = after_;
    ++counted_.records;
  }
  if (head.slots == 0) {
    // The writer's end counts once everything before it was read; budget left means that nothing was.
    if (source_->writer() == ring::WriterState::Running || budget_ == 0 || !end_.empty()) return false;
    head.kind = Batch::Ended;
    head.how = static_cast<std::uint8_t>(source_->writer());
    has_sent_end_ = true;
  }
  head.reached = reached_;
  stage(message, head);
  return true;
}

void FarSubscription::stage(std::span<std::byte> message, const BatchHead& head) {
  std::memcpy(message.data(), &head, sizeof(head));
  staged_bytes_ = sizeof(head) + head.slots * record::kSlotBytes;
  told_ = head.reached.number;
  has_sent(staged_bytes_);
  ++counted_.messages;
  counted_.slots += head.slots;
}

bool FarSubscription::send_staged() {
  if (sender_->send_placed(staged_bytes_) != nic::ChannelResult::Done) return false;
  staged_bytes_ = 0;
  return true;
}

/// Finds the next record that is to be sent.
bool FarSubscription::next_record() {
  for (; budget_ > 0; --budget_) {
    if (record_ == records_end_) {
      switch (reader_.poll_batch()) {
        case ring::Poll::Nothing: return false;
        case ring::Poll::Damaged: end_ = "the ring is damaged"; return false;
        case ring::Poll::Lost:
          // Those before the first one that is wanted are no loss.
          if (reader_.position() <= begin_.number) continue;
          counted_.lost += reader_.next_record() - reached_.records;
          event_ = lost_event(reader_.next_record() - reached_.records, source_->fixed().image_generation());
          rest_ = {&event_, 1};
          after_ = {reader_.position(), reader_.next_record()};
          return true;
        case ring::Poll::Record: {
          const ring::Records records = reader_.records();
          record_ = records.begin();
          records_end_ = records.end();
          next_ = {reader_.record_number(), reader_.record_index()};
          break;
        }
      }
    }
    const std::span<const record::Slot> record = *record_++;
    // Padding may lie between two records of a batch: the stamp has the low half of the number.
    const std::uint32_t ahead = record::HeaderView(record.front()).stamp() - static_cast<std::uint32_t>(next_.number);
    next_ = {next_.number + ahead + record.size(), next_.records + 1};
    if (next_.number <= begin_.number) continue;
    if (filter_ != nullptr && !filter_->passes(record)) {
      ++counted_.filtered;
      reached_ = next_;
      continue;
    }
    rest_ = record;
    after_ = next_;
    return true;
  }
  return false;
}

SubscriptionStatus FarSubscription::status() const {
  SubscriptionStatus status = counted_;
  const std::uint64_t published = source_->fixed().published();
  status.behind = published > reached_.records ? published - reached_.records : 0;
  status.kept = tells_reached_ ? kept_.number - begin_.number : 0;
  if (accept_.has_window) {
    const nic::WindowUse use = source_->use_of(accept_.window);
    status.gets = use.gets;
    status.fetched_bytes = use.bytes;
  }
  if (accept_.tables) {
    for (const nic::WindowName& window : {accept_.tables->instruments, accept_.tables->states}) {
      const nic::WindowUse use = source_->use_of(window);
      status.gets += use.gets;
      status.fetched_bytes += use.bytes;
    }
  }
  status.state = has_sent_end_          ? SubscriptionState::Ending
                 : stuck_since_ns_ != 0 ? SubscriptionState::Waiting
                 : is_slowed()          ? SubscriptionState::Slowed
                                        : SubscriptionState::Running;
  return status;
}

}  // namespace stopbit::remote
