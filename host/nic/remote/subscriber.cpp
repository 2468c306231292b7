#include "host/nic/remote/subscriber.hpp"

#include <sys/random.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "decoder/record/views.hpp"
#include "host/nic/remote/events.hpp"
#include "host/ring/header.hpp"
#include "host/ring/name.hpp"
#include "host/ring/reader.hpp"
#include "microcode/image/image.hpp"

namespace stopbit::nic::remote {
namespace {

constexpr std::size_t kPieceBytes = 64 * kPageBytes;

/// Whether asking again may help.
bool is_for_now(Refusal why) noexcept {
  switch (why) {
    case Refusal::NotRunning:
    case Refusal::Full:
    case Refusal::Resources:
    case Refusal::Stuck:
    case Refusal::Closing: return true;
    default: return false;
  }
}

}  // namespace

const char* to_text(SubscriberState state) noexcept {
  switch (state) {
    case SubscriberState::Asking: return "asking";
    case SubscriberState::Image: return "image";
    case SubscriberState::History: return "history";
    case SubscriberState::Live: return "live";
    case SubscriberState::Refused: return "refused";
    case SubscriberState::Ended: return "ended";
  }
  return "?";
}

Result<std::unique_ptr<Subscriber>> Subscriber::open(Node& node, const SubscriberOptions& options) {
  const Result<std::string> path = ring::path_of(options.name);
  if (!path) return Failure{path.message()};
  if (options.ring.empty() || options.ring.size() > kMaxNameBytes || options.filter.field.size() > kMaxNameBytes) {
    return Failure{"names of remote rings and of fields have 1 to " + std::to_string(kMaxNameBytes) + " bytes"};
  }
  if (options.token.size() > kMaxTokenBytes) {
    return Failure{"a token has at most " + std::to_string(kMaxTokenBytes) + " bytes"};
  }
  if (options.filter.patterns.size() > kMaxPatterns) {
    return Failure{"a filter has at most " + std::to_string(kMaxPatterns) + " patterns"};
  }
  const std::optional<ChannelLayout> layout = landing_layout(node.links().packet_bytes(), options.landing_messages);
  if (!layout) {
    return Failure{std::to_string(options.landing_messages) + " messages of " +
                   std::to_string(node.links().packet_bytes()) + " bytes are no landing memory for records"};
  }
  MessagePort how;
  how.only_from = MessagePort::Origin{options.publisher, options.publisher_port};
  Result<std::unique_ptr<Port>> port = Port::open(node, options.domain, how);
  if (!port) return Failure{port.message()};
  Result<PortMemory> landing =
      PortMemory::make(*port.value(), "stopbit-landing", landing_bytes(*layout), Access::ReadWrite);
  if (!landing) return Failure{landing.message()};
  return std::unique_ptr<Subscriber>(
      new Subscriber(node, options, *layout, std::move(port).value(), std::move(landing).value()));
}

Subscriber::Subscriber(Node& node, const SubscriberOptions& options, const ChannelLayout& layout,
                       std::unique_ptr<Port> port, PortMemory landing)
    : node_(node), options_(options), layout_(layout), port_(std::move(port)), landing_(std::move(landing)) {}

Subscriber::~Subscriber() {
  if (session_ != 0) {
    (void)port_->send(options_.publisher, options_.publisher_port, to_bytes(Leave{session_}), now_ns_);
  }
}

std::size_t Subscriber::step(std::uint64_t now_ns) {
  now_ns_ = now_ns;
  hear();
  std::size_t work = 0;
  switch (state_) {
    case SubscriberState::Asking:
      if (now_ns >= next_ask_ns_) ask(now_ns);
      break;
    case SubscriberState::Image: work = fetch_image(); break;
    case SubscriberState::History: work = fetch_history(); break;
    case SubscriberState::Live: work = receive(); break;
    default: return 0;
  }
  watch(now_ns);
  return work;
}

// The handshake.

void Subscriber::ask(std::uint64_t now_ns) {
  next_ask_ns_ = now_ns + options_.ask_ns;
  if (session_ == 0 && !begin_session()) return;
  Subscribe request;
  request.session = session_;
  request.ring = options_.ring;
  request.token = options_.token;
  request.filter = options_.filter;
  request.is_lossless = options_.is_lossless;
  request.layout_hash = options_.layout_hash;
  request.landing = *window_;
  request.layout = layout_;
  request.event = kMessageEvent;
  const std::vector<std::byte> bytes = to_bytes(request);
  if (bytes.size() > node_.messages().max_bytes()) {
    refusal_ = Refusal::Filter;
    set_state(SubscriberState::Refused, "the request is longer than the carrier's messages: fewer patterns");
    return;
  }
  (void)port_->send(options_.publisher, options_.publisher_port, bytes, now_ns);
}

/// A window of its own for each session: what an earlier one still sends meets a closed one.
bool Subscriber::begin_session() {
  if (window_) (void)node_.rma().close_window(port_->vpid(), window_->id);
  window_ = node_.rma().open_window(port_->vpid(), landing_.address(), landing_bytes(layout_), Access::Write);
  while (session_ == 0) {
    if (::getrandom(&session_, sizeof(session_), 0) != sizeof(session_)) session_ = 0;
  }
  if (!window_) {
    session_ = 0;
    problem_ = "the node has no window left";
    return false;
  }
  while (port_->events().poll(kMessageEvent)) {
  }
  std::memset(landing_.span().data() + heartbeat_at(layout_), 0, landing_bytes(layout_) - layout_.bytes());
  return true;
}

void Subscriber::end_session(const std::string& why, std::uint64_t pause_ns) {
  (void)port_->send(options_.publisher, options_.publisher_port, to_bytes(Leave{session_}), now_ns_);
  session_ = 0;
  receiver_.reset();
  history_.reset();
  fetch_.reset();
  piece_ = PortMemory();
  image_.clear();
  if (applier_) applier_->give_up();
  next_ask_ns_ = now_ns_ + pause_ns;
  set_state(SubscriberState::Asking, why);
}

void Subscriber::hear() {
  while (const std::optional<MessageHead> head = port_->receive(message_)) {
    const std::span<const std::byte> bytes = std::span(message_).first(head->length);
    std::uint16_t version = 0;
    const Result<Greeting> greeting = read_greeting(bytes, version);
    if (!greeting) continue;
    const bool is_ours = session_ != 0 && greeting.value().session == session_;
    if (greeting.value().call == Call::Accept && is_ours && state_ == SubscriberState::Asking) hear_accept(bytes);
    // Who does not speak our version, or could not read the request, does not know the session.
    if (greeting.value().call == Call::Refuse &&
        (is_ours || (greeting.value().session == 0 && state_ == SubscriberState::Asking))) {
      hear_refusal(bytes);
    }
  }
  Notification notification;
  while (port_->notifications().take(notification)) {
    if (history_ != nullptr && history_->hear(notification)) continue;
    if (fetch_) (void)fetch_->hear(notification);
  }
}

void Subscriber::hear_accept(std::span<const std::byte> bytes) {
  const Result<Accept> read = read_accept(bytes);
  if (!read) {
    ++counters_.damaged;
    end_session(read.message(), options_.ask_ns);
    return;
  }
  accept_ = read.value();
  const std::string hash = "the ring has another layout than was asked for";
  if (options_.layout_hash != 0 && accept_.layout_hash != options_.layout_hash) {
    ++counters_.damaged;
    end_session(hash, options_.ask_ns);
    return;
  }
  if (accept_.slot_count > options_.max_slots) {
    end_session("", options_.ask_ns);
    set_state(SubscriberState::Refused, "the ring has " + std::to_string(accept_.slot_count) + " slots, at most " +
                                            std::to_string(options_.max_slots) + " are allowed here");
    return;
  }
  ++counters_.sessions;
  link_ = node_.links().session(options_.publisher);
  beat_ = 0;
  beat_ns_ = now_ns_;
  receiver_.emplace(port_->transfers(), port_->events(), kMessageEvent, landing_.span().first(layout_.bytes()), layout_,
                    ChannelPeer{options_.publisher, accept_.sender, accept_.credit_event, {}});
  const bool is_same_ring = ring_ != nullptr && accept_.epoch == epoch_ && accept_.layout_hash == layout_hash_;
  if (is_same_ring) return begin_history();
  if (!accept_.has_window) {
    end_session("the publisher does not show its ring, so there is no image", options_.ask_ns);
    return;
  }
  Result<PortMemory> piece = PortMemory::make(*port_, "stopbit-image", kPieceBytes, Access::ReadWrite);
  if (!piece) {
    end_session(piece.message(), options_.ask_ns);
    return;
  }
  piece_ = std::move(piece).value();
  fetch_.emplace(*port_, Fetch::From{options_.publisher, accept_.owner, accept_.window});
  set_state(SubscriberState::Image, "accepted");
}

void Subscriber::hear_refusal(std::span<const std::byte> bytes) {
  const Result<Refuse> read = read_refuse(bytes);
  if (!read) return;
  refusal_ = read.value().why;
  const std::string why = std::string("the publisher says: ") + to_meaning(refusal_) +
                          (read.value().text.empty() ? "" : " (" + read.value().text + ")");
  end_session(why, options_.ask_ns);
  if (!is_for_now(refusal_)) set_state(SubscriberState::Refused, why);
}

/// Whether the publisher is well; then so is the ring.
void Subscriber::watch(std::uint64_t now_ns) {
  if (state_ == SubscriberState::Asking || !receiver_) return;
  if (node_.links().session(options_.publisher) != link_) return end_session("the publisher's node is lost", 0);
  std::byte* const landing = landing_.span().data();
  const std::uint64_t beat =
      __atomic_load_n(reinterpret_cast<std::uint64_t*>(landing + beat_at(layout_)), __ATOMIC_ACQUIRE);
  if (beat != beat_) {
    beat_ = beat;
    beat_ns_ = now_ns;
    const auto* const heartbeat = reinterpret_cast<std::uint64_t*>(landing + heartbeat_at(layout_));
    if (ring_ != nullptr && epoch_ == accept_.epoch) ring_->beat(__atomic_load_n(heartbeat, __ATOMIC_RELAXED));
  } else if (now_ns - beat_ns_ >= options_.silence_ns) {
    end_session("the publisher gives no sign", 0);
  }
}

// The image, and the ring.

std::size_t Subscriber::fetch_image() {
  if (!fetch_->is_done()) return 0;
  if (fetch_->error() != Error::None) {
    end_session(std::string("the image cannot be fetched: ") + to_meaning(fetch_->error()), options_.ask_ns);
    return 0;
  }
  // What was asked for last is in `piece_`.
  const std::size_t length = std::min<std::size_t>(kPieceBytes, accept_.image_bytes - image_.size());
  if (fetch_->started() != 0) {
    const std::span<const std::byte> piece = piece_.span().first(length);
    image_.insert(image_.end(), piece.begin(), piece.end());
  }
  const std::size_t left = std::min<std::size_t>(kPieceBytes, accept_.image_bytes - image_.size());
  if (left != 0) {
    if (!fetch_->start(accept_.image_offset + image_.size(), piece_.address(), static_cast<std::uint32_t>(left))) {
      // There is room for one command: nothing is under way.
      end_session("the node does not take commands", options_.ask_ns);
    }
    return 1;
  }
  fetch_.reset();
  piece_ = PortMemory();
  std::string problem = use_image();
  if (problem.empty()) problem = make_ring();
  image_.clear();
  if (!problem.empty()) {
    ++counters_.damaged;
    end_session(problem, options_.ask_ns);
    return 1;
  }
  begin_history();
  return 1;
}

std::string Subscriber::use_image() {
  Result<Program> program = image::read(image_);
  if (!program) return "the ring's image cannot be used: " + program.message();
  if (layout_hash(program.value()) != accept_.layout_hash) return "the ring's image has another layout than was said";
  if (program.value().max_record_slots != accept_.max_record_slots) {
    return "the ring's image has records of " + std::to_string(program.value().max_record_slots) +
           " slots, the ring of " + std::to_string(accept_.max_record_slots);
  }
  filter_.reset();
  program_ = std::move(program).value();
  const Result<record::Schema> schema = record::Schema::make(program_);
  if (!schema) return "the ring's image cannot be used: " + schema.message();
  schema_ = schema.value();
  if (options_.filter.is_empty()) return {};
  Result<std::unique_ptr<RecordFilter>> filter = RecordFilter::make(options_.filter, *schema_);
  if (!filter) return filter.message();
  filter_ = std::move(filter).value();
  return {};
}

/// The old one ends as the publisher's has.
std::string Subscriber::make_ring() {
  applier_.reset();
  if (ring_ != nullptr) ring_->finish();
  ring::WriterOptions how;
  how.slot_count = accept_.slot_count;
  how.image_generation = accept_.image_generation;
  how.replaces = ring_.get();
  Result<ring::Writer> made = ring::Writer::create(options_.name, program_, how);
  if (!made) return made.message();
  ring_ = std::make_unique<ring::Writer>(std::move(made).value());
  applier_.emplace(*ring_, accept_.max_record_slots);
  epoch_ = accept_.epoch;
  layout_hash_ = accept_.layout_hash;
  reached_.reset();
  return {};
}

// What was published before.

void Subscriber::begin_history() {
  const bool wants = reached_ || options_.wants_history;
  if (!wants || (reached_ && reached_->number >= accept_.begin.number)) return go_live();
  if (!accept_.has_window) {
    if (reached_ && accept_.begin.records > reached_->records) {
      history_lost(accept_.begin.records - reached_->records);
    }
    return go_live();
  }
  Result<std::unique_ptr<History>> made =
      History::make(*port_, Fetch::From{options_.publisher, accept_.owner, accept_.window}, accept_, reached_);
  if (!made) return end_session(made.message(), options_.ask_ns);
  history_ = std::move(made).value();
  set_state(SubscriberState::History, reached_ ? "what was missed is fetched" : "what is there is fetched");
}

std::size_t Subscriber::fetch_history() {
  const std::uint64_t before = counters_.records;
  const History::State state = history_->step(*this);
  if (state == History::State::Working) return counters_.records != before ? 1 : 0;
  if (state == History::State::Failed) {
    ++counters_.damaged;
    end_session(std::string("older records cannot be fetched: ") + history_->problem(), options_.ask_ns);
    return 1;
  }
  history_.reset();
  go_live();
  return 1;
}

bool Subscriber::history_record(std::span<const record::Slot> record) {
  if (filter_ != nullptr && !filter_->passes(record)) {
    ++counters_.filtered;
  } else {
    const std::uint64_t before = counters_.records;
    for (const record::Slot& slot : record) {
      if (!write(slot)) return false;
    }
    if (counters_.records != before + 1) return false;
    ++counters_.fetched;
  }
  reached_ = history_->reached();
  return true;
}

void Subscriber::history_lost(std::uint64_t records) {
  (void)write(lost_event(records, accept_.image_generation));
  if (history_ != nullptr) reached_ = history_->reached();
}

void Subscriber::go_live() {
  reached_ = accept_.begin;
  set_state(SubscriberState::Live, "records come as they are published");
}

// What is published now.

std::size_t Subscriber::receive() {
  std::size_t work = 0;
  for (; work < kMessagesPerStep && state_ == SubscriberState::Live; ++work) {
    const std::span<const std::byte> message = receiver_->receive();
    const bool is_damaged = receiver_->damaged() != 0;
    if (message.empty() && !is_damaged) break;
    ++counters_.messages;
    if (is_damaged || !apply(message)) {
      ++counters_.damaged;
      end_session("the publisher sent what is no record", options_.ask_ns);
      return work + 1;
    }
  }
  return work;
}

/// The message lies in memory that its sender can write to: every byte is read once.
bool Subscriber::apply(std::span<const std::byte> message) {
  BatchHead head;
  if (message.size() < sizeof(head)) return false;
  std::memcpy(&head, message.data(), sizeof(head));
  if (message.size() != sizeof(head) + head.slots * record::kSlotBytes) return false;
  for (std::size_t i = 0; i < head.slots; ++i) {
    record::Slot slot;
    std::memcpy(&slot, message.data() + sizeof(head) + i * record::kSlotBytes, sizeof(slot));
    if (!write(slot)) return false;
  }
  reached_ = head.reached;
  if (head.kind == Batch::Records) return true;
  if (head.kind != Batch::Ended) return false;
  end_ring(head.how);
  return true;
}

/// The next slot of the stream. False: it cannot be one.
bool Subscriber::write(const record::Slot& slot) {
  const bool is_first = applier_->is_between();
  switch (applier_->take(slot)) {
    case Applier::Outcome::Bad: return false;
    case Applier::Outcome::Part: break;
    case Applier::Outcome::Whole: ++counters_.records; break;
  }
  ++counters_.slots;
  const record::EventView event(slot);
  if (is_first && record::HeaderView(slot).is_event() && event.kind() == record::EventKind::Lost) {
    counters_.lost += event.missing();
  }
  return true;
}

void Subscriber::end_ring(std::uint8_t how) {
  ring_->finish();
  epoch_ = 0;
  const bool is_finished = how == static_cast<std::uint8_t>(ring::WriterState::Finished);
  const char* const why = is_finished ? "the ring has ended" : "the ring's writer is gone";
  end_session(why, options_.ask_ns);
  if (!options_.follows) set_state(SubscriberState::Ended, why);
}

void Subscriber::set_state(SubscriberState state, const std::string& why) {
  if (!why.empty()) problem_ = why;
  if (state == state_) return;
  state_ = state;
  if (options_.log) options_.log("ring '" + options_.name + "': " + to_text(state) + ": " + problem_);
}

}  // namespace stopbit::nic::remote
