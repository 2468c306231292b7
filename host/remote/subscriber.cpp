#include "host/remote/subscriber.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "decoder/record/views.hpp"
#include "host/market/state/tables.hpp"
#include "host/os/shm/name.hpp"
#include "host/remote/events.hpp"
#include "host/ring/header.hpp"
#include "host/ring/reader.hpp"
#include "microcode/image/image.hpp"

namespace stopbit::remote {
namespace {

constexpr std::size_t kPieceBytes = 64 * nic::kPageBytes;
constexpr std::uint64_t kLookNs = 10'000'000;
constexpr std::uint64_t kTellNs = 50'000'000;         ///< How often a lossless publisher gets our position, and
constexpr std::uint64_t kTellShare = 16;              ///< after which part of its ring at the latest.
constexpr std::uint64_t kLastLookNs = 2'000'000'000;  ///< At the tables of a ring that has ended.
constexpr std::uint64_t kCalmAsks = 10;               ///< An image that cannot be used is not fetched again at once.

/// Whether asking again may help.
bool is_for_now(Refusal why) noexcept {
  switch (why) {
    case Refusal::NotRunning:
    case Refusal::Full:
    case Refusal::Resources:
    case Refusal::Stuck:
    case Refusal::Near:
    case Refusal::Crowded:
    case Refusal::Hasty:
    case Refusal::Closing: return true;
    default: return false;
  }
}

}  // namespace

const char* to_text(SubscriberState state) noexcept {
  switch (state) {
    case SubscriberState::Asking: return "asking";
    case SubscriberState::Image: return "image";
    case SubscriberState::Tables: return "tables";
    case SubscriberState::History: return "history";
    case SubscriberState::Live: return "live";
    case SubscriberState::Refused: return "refused";
    case SubscriberState::Ended: return "ended";
  }
  return "?";
}

namespace {

Status check(const SubscriberOptions& options) {
  const Result<std::string> path = os::path_of(options.name);
  if (!path) return Failure{path.message()};
  if (options.ring.empty() || options.ring.size() > kMaxNameBytes || options.filter.field.size() > kMaxNameBytes) {
    return Failure{"names of remote rings and of fields must have 1 to " + std::to_string(kMaxNameBytes) + " bytes"};
  }
  if (options.token.size() > kMaxTokenBytes) {
    return Failure{"a token can have at most " + std::to_string(kMaxTokenBytes) + " bytes"};
  }
  if (options.records_read != nullptr && (options.follows || !options.is_lossless)) {
    return Failure{"only the reader of a lossless ring can make the writer wait"};
  }
  if (options.filter.patterns.size() > kMaxPatterns) {
    return Failure{"a filter can have at most " + std::to_string(kMaxPatterns) + " patterns"};
  }
  return Done{};
}

}  // namespace

Result<std::unique_ptr<Subscriber>> Subscriber::open(nic::Node& node, const SubscriberOptions& options) {
  if (const Status good = check(options); !good) return good.failure();
  const std::optional<nic::ChannelLayout> layout =
      landing_layout(node.links().packet_bytes(), options.landing_messages);
  if (!layout) {
    return Failure{std::to_string(options.landing_messages) + " messages of " +
                   std::to_string(node.links().packet_bytes()) + " bytes are too small for records"};
  }
  Result<std::unique_ptr<NodePort>> opened = open_port(node, options);
  if (!opened) return Failure{opened.message()};
  NodePort* const port = opened.value().get();
  return std::unique_ptr<Subscriber>(new Subscriber(std::move(opened).value(), port, *layout, options));
}

Result<std::unique_ptr<Subscriber>> Subscriber::open(nic::Client& client, const SubscriberOptions& options) {
  if (const Status good = check(options); !good) return good.failure();
  if (options.way == SubscriberOptions::Way::Far || options.publisher != client.node()) {
    return Failure{"a broker serves only the rings of its own host"};
  }
  return std::unique_ptr<Subscriber>(new Subscriber(std::make_unique<ClientMessenger>(client), nullptr, {}, options));
}

Subscriber::Subscriber(std::unique_ptr<Messenger> post, NodePort* port, const nic::ChannelLayout& layout,
                       const SubscriberOptions& options)
    : post_(std::move(post)), port_(port), options_(options), layout_(layout) {}

Result<std::unique_ptr<NodePort>> Subscriber::open_port(nic::Node& node, const SubscriberOptions& options) {
  nic::MessagePort how;
  how.only_from = nic::MessagePort::Origin{options.publisher, options.publisher_port};
  return NodePort::open(node, options.domain, how);
}

Status Subscriber::move_to(nic::Node& node) {
  if (port_ == nullptr) return Failure{"a client's ring must be at the node of its broker"};
  const std::optional<nic::ChannelLayout> layout =
      landing_layout(node.links().packet_bytes(), options_.landing_messages);
  if (!layout) return Failure{"its packets are too small for records"};
  Result<std::unique_ptr<NodePort>> opened = open_port(node, options_);
  if (!opened) return Failure{opened.message()};
  if (near_) {
    leave(near_->session);
    forget_near();
  }
  if (how_it_ended_) end_ring(*how_it_ended_);
  if (state_ != SubscriberState::Refused && state_ != SubscriberState::Ended) end_session("its node has changed", 0);
  // What the port so far knows goes before it.
  window_.reset();
  landing_ = PortMemory();
  port_ = opened.value().get();
  post_ = std::move(opened).value();
  layout_ = *layout;
  return Done{};
}

Subscriber::~Subscriber() {
  if (near_) leave(near_->session);
  if (session_ != 0 && !(near_ && near_->session == session_)) leave(session_);
  // Nothing is to be kept for us any more.
  if (session_ == 0 && !near_ && accepted_ != 0) leave(accepted_);
  if (near_) forget_near();
}

std::size_t Subscriber::step(std::uint64_t now_ns) {
  now_ns_ = now_ns;
  hear();
  std::size_t work = look_at_tables();
  switch (state_) {
    case SubscriberState::Asking:
      if (now_ns >= next_ask_ns_) ask(now_ns);
      break;
    case SubscriberState::Image: work += fetch_image(); break;
    case SubscriberState::Tables: work += fetch_tables(); break;
    // A near ring has nothing to be done here.
    case SubscriberState::History: work += asks_near_ || !has_room() ? 0 : fetch_history(); break;
    case SubscriberState::Live: work += asks_near_ ? 0 : receive(); break;
    case SubscriberState::Ended:
      // The publisher stays until our reader has read all.
      if (near_ && options_.records_read != nullptr) echo(false);
      return 0;
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
  request.earlier = earlier();
  request.tells_reached = options_.is_lossless && !asks_near_;
  request.wants_tables = options_.max_table_bytes != 0;
  if (asks_near_) {
    request.near = WantedRing{options_.name, options_.wants_history, options_.max_slots};
  } else {
    request.landing = *window_;
    request.layout = layout_;
    request.event = kMessageEvent;
  }
  const std::vector<std::byte> bytes = to_bytes(request);
  if (bytes.size() > post_->max_bytes()) {
    refusal_ = Refusal::Filter;
    set_state(SubscriberState::Refused, "the request exceeds the carrier's messages: use fewer patterns");
    return;
  }
  (void)send(bytes);
}

bool Subscriber::begin_session() {
  using Way = SubscriberOptions::Way;
  const bool may_near = options_.way != Way::Far && options_.name.size() <= kMaxNameBytes &&
                        options_.name.find('/') == std::string::npos && post_->shares_memory(options_.publisher);
  asks_near_ = port_ == nullptr || options_.way == Way::Near || (may_near && !is_far_once_);
  is_far_once_ = false;
  // A ring that was written here and has ended makes room for one that the publisher writes.
  if (asks_near_ && ring_ != nullptr && epoch_ == 0) {
    applier_.reset();
    ring_.reset();
    tables_.reset();
  }
  if (!asks_near_ && !begin_far()) return false;
  while (session_ == 0) {
    if (::getrandom(&session_, sizeof(session_), 0) != sizeof(session_)) session_ = 0;
  }
  return true;
}

/// A window of its own for each session: what an earlier one still sends meets a closed one.
bool Subscriber::begin_far() {
  if (!landing_.ok()) {
    Result<PortMemory> landing =
        PortMemory::make(*port_, "stopbit-landing", landing_bytes(layout_), nic::Access::ReadWrite);
    if (!landing) {
      problem_ = landing.message();
      return false;
    }
    landing_ = std::move(landing).value();
  }
  nic::Rma& rma = port_->node().rma();
  if (window_) (void)rma.close_window(port_->vpid(), window_->id);
  window_ = rma.open_window(port_->vpid(), landing_.address(), landing_bytes(layout_), nic::Access::Write);
  if (!window_) {
    problem_ = "the node has no free window";
    return false;
  }
  while (port_->events().poll(kMessageEvent)) {
  }
  std::memset(landing_.span().data() + heartbeat_at(layout_), 0, landing_bytes(layout_) - layout_.bytes());
  return true;
}

bool Subscriber::send(std::span<const std::byte> message) {
  return post_->send(options_.publisher, options_.publisher_port, message, now_ns_);
}

void Subscriber::leave(std::uint64_t session) {
  (void)send(to_bytes(Leave{session}));
}

/// The publisher of a near ring gets no message: it goes on with the ring, until there is another session for it. Nor
/// is that of a lossless one: it keeps what comes next.
void Subscriber::end_session(const std::string& why, std::uint64_t pause_ns) {
  if (!asks_near_ && !earlier()) leave(session_);
  session_ = 0;
  receiver_.reset();
  held_.reset();
  earlier_.reset();
  far_tables_.reset();
  next_tables_.reset();
  next_ring_.reset();
  fetch_.reset();
  piece_ = PortMemory();
  image_.clear();
  if (applier_) applier_->give_up();
  next_ask_ns_ = now_ns_ + pause_ns;
  set_state(SubscriberState::Asking, why);
}

/// The publisher writes no ring for us, or none that can be used.
void Subscriber::go_far(const std::string& why) {
  leave(session_);
  if (near_) {
    if (near_->session != session_) leave(near_->session);
    forget_near();
  }
  const bool can = port_ != nullptr && options_.way != SubscriberOptions::Way::Near;
  is_far_once_ = can;
  end_session(why, can ? 0 : options_.ask_ns);
}

void Subscriber::hear() {
  while (const std::optional<nic::MessageHead> head = post_->receive(message_)) {
    if (head->is_erroneous || head->node != options_.publisher || head->vpid != options_.publisher_port) continue;
    const std::span<const std::byte> bytes = std::span(message_).first(head->length);
    std::uint16_t version = 0;
    const Result<Greeting> greeting = read_greeting(bytes, version);
    if (!greeting) continue;
    const bool is_ours = session_ != 0 && greeting.value().session == session_;
    const bool is_answer = is_ours && state_ == SubscriberState::Asking;
    if (greeting.value().call == Call::Accept && is_answer && !asks_near_) hear_accept(bytes);
    if (greeting.value().call == Call::AcceptNear && is_answer && asks_near_) hear_near(bytes);
    if (greeting.value().call == Call::Beat) hear_beat(bytes);
    // A publisher of another version, or one that could not read the request, does not know the session.
    const bool was_ours = accepted_ != 0 && greeting.value().session == accepted_;
    if (greeting.value().call == Call::Refuse &&
        (is_ours || was_ours || (greeting.value().session == 0 && state_ == SubscriberState::Asking))) {
      hear_refusal(bytes);
    }
  }
  if (port_ == nullptr) return;
  nic::Notification notification;
  while (port_->notifications().take(notification)) {
    if (earlier_ != nullptr && earlier_->hear(notification)) continue;
    if (far_tables_ != nullptr && far_tables_->hear(notification)) continue;
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
  const std::string hash = "the ring has another layout than requested";
  if (options_.layout_hash != 0 && accept_.layout_hash != options_.layout_hash) {
    ++counters_.damaged;
    end_session(hash, options_.ask_ns);
    return;
  }
  if (accept_.slot_count > options_.max_slots) {
    end_session("", options_.ask_ns);
    set_state(SubscriberState::Refused, "the ring has " + std::to_string(accept_.slot_count) + " slots, at most " +
                                            std::to_string(options_.max_slots) + " are allowed");
    return;
  }
  const bool is_same_ring = ring_ != nullptr && accept_.epoch == epoch_ && accept_.layout_hash == layout_hash_;
  if (is_same_ring && reached_ && accept_.begin.number < reached_->number) {
    // No record comes twice.
    leave(session_);
    return refuse_the_rest("the publisher does not resume at the position of the local ring");
  }
  if (!is_same_ring && ring_ != nullptr && epoch_ != 0 && options_.is_lossless && !options_.follows) {
    leave(session_);
    return refuse_the_rest("the publisher has another ring");
  }
  ++counters_.sessions;
  accepted_ = session_;
  lacking_ = is_same_ring ? 0 : lacking_;
  link_ = post_->link(options_.publisher);
  beat_ = 0;
  beat_ns_ = now_ns_;
  receiver_.emplace(port_->transfers(), port_->events(), kMessageEvent, landing_.span().first(layout_.bytes()), layout_,
                    nic::ChannelPeer{options_.publisher, accept_.sender, accept_.credit_event, {}});
  if (is_same_ring) return begin_tables();
  if (!accept_.has_window) {
    end_session("the publisher does not share its ring, so its image cannot be read", options_.ask_ns);
    return;
  }
  Result<PortMemory> piece = PortMemory::make(*port_, "stopbit-image", kPieceBytes, nic::Access::ReadWrite);
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
  if (!read || how_it_ended_) return;  // a ring that has ended is whole
  refusal_ = read.value().why;
  const std::string why = std::string("the publisher says: ") + to_meaning(refusal_) +
                          (read.value().text.empty() ? "" : " (" + read.value().text + ")");
  // A publisher without near rings answers so, too.
  if (asks_near_ && state_ == SubscriberState::Asking &&
      (refusal_ == Refusal::Near || refusal_ == Refusal::Version || refusal_ == Refusal::Malformed)) {
    return go_far(why);
  }
  const bool is_over = is_cut_off(read.value().records);
  end_session(why, options_.ask_ns);
  if (is_over) return refuse_the_rest(why);
  if (!is_for_now(refusal_)) set_state(SubscriberState::Refused, why);
}

/// Where a lossless subscriber goes on in the next session.
std::optional<Earlier> Subscriber::earlier() const noexcept {
  if (!options_.is_lossless || accepted_ == 0) return std::nullopt;
  if (asks_near_) return near_ ? std::optional(Earlier{accepted_, 0, {}}) : std::nullopt;
  if (ring_ == nullptr || epoch_ == 0 || !reached_) return std::nullopt;
  return Earlier{accepted_, epoch_, *reached_};
}

/// After a refusal of an accepted lossless session: whether the ring here gets no more. `records`: Refuse::records.
bool Subscriber::is_cut_off(std::uint64_t records) {
  const bool has_begun = near_ || (ring_ != nullptr && epoch_ != 0);
  if (!options_.is_lossless || !has_begun || !is_for_now(refusal_)) return false;
  const bool was_served = state_ != SubscriberState::Asking;
  // A far subscriber may come again for what it lacks, as long as the publisher lives.
  const bool is_last =
      refusal_ == Refusal::Closing || refusal_ == Refusal::NotRunning || (near_ && refusal_ == Refusal::Stuck);
  if (is_last && was_served && records != 0) {
    const std::uint64_t reached = reached_ ? reached_->records : 0;
    lacking_ = near_ ? records : records - std::min(records, reached);
  }
  return is_last && !options_.follows;
}

/// For a lossless ring that nothing follows: records that have arrived stay, but they are not all.
void Subscriber::refuse_the_rest(const std::string& why) {
  const bool ends = session_ != 0;
  if (ends) end_session(why, options_.ask_ns);
  if (tables_ != nullptr) tables_->finish();
  if (ring_ != nullptr) ring_->finish();
  set_state(SubscriberState::Refused,
            why + (lacking_ != 0 ? "; " + std::to_string(lacking_) + " records are missing" : "") +
                ": the local ring is incomplete");
}

void Subscriber::tell_reached(std::uint64_t now_ns) {
  if (!options_.is_lossless || !reached_) return;
  const bool is_far_on = reached_->number - told_.number >= accept_.slot_count / kTellShare;
  if (!is_far_on && now_ns - told_ns_ < kTellNs) return;
  // Said again and again: nothing else says that it was heard.
  told_ns_ = now_ns;
  if (send(to_bytes(Reached{session_, *reached_}))) told_ = *reached_;
}

/// Whether the publisher is well; then so is the ring.
void Subscriber::watch(std::uint64_t now_ns) {
  if (state_ == SubscriberState::Asking) return;
  if (asks_near_) return watch_near(now_ns);
  if (!receiver_) return;
  // All records are here. Nothing is left to be said of the publisher.
  if (how_it_ended_) return;
  if (state_ == SubscriberState::Live) tell_reached(now_ns);
  // Messages that have arrived come first: the last ones of the publisher may wait for our reader.
  if (state_ == SubscriberState::Live && port_->events().pending(kMessageEvent) != 0) {
    beat_ns_ = now_ns;
    return;
  }
  if (port_->node().links().session(options_.publisher) != link_) return end_session("the publisher's node is lost", 0);
  std::byte* const landing = landing_.span().data();
  const std::uint64_t beat =
      __atomic_load_n(reinterpret_cast<std::uint64_t*>(landing + beat_at(layout_)), __ATOMIC_ACQUIRE);
  if (beat != beat_) {
    beat_ = beat;
    beat_ns_ = now_ns;
    const auto* const heartbeat = reinterpret_cast<std::uint64_t*>(landing + heartbeat_at(layout_));
    const std::uint64_t heartbeat_ns = __atomic_load_n(heartbeat, __ATOMIC_RELAXED);
    if (ring_ != nullptr && epoch_ == accept_.epoch) ring_->beat(heartbeat_ns);
    if (far_tables_ != nullptr) far_tables_->heartbeat(heartbeat_ns);
  } else if (now_ns - beat_ns_ >= options_.silence_ns) {
    end_session("the publisher does not respond", 0);
  }
}

// The image, and the ring.

std::size_t Subscriber::fetch_image() {
  if (!fetch_->is_done()) return 0;
  if (fetch_->error() != nic::Error::None) {
    end_session(std::string("the image cannot be fetched: ") + to_meaning(fetch_->error()), options_.ask_ns);
    return 0;
  }
  // The last piece requested is in `piece_`.
  const std::size_t length = std::min<std::size_t>(kPieceBytes, accept_.image_bytes - image_.size());
  if (fetch_->started() != 0) {
    const std::span<const std::byte> piece = piece_.span().first(length);
    image_.insert(image_.end(), piece.begin(), piece.end());
  }
  const std::size_t left = std::min<std::size_t>(kPieceBytes, accept_.image_bytes - image_.size());
  if (left != 0) {
    if (!fetch_->start(accept_.image_offset + image_.size(), piece_.address(), static_cast<std::uint32_t>(left))) {
      // There is room for one command: nothing is under way.
      end_session("the node accepts no commands", options_.ask_ns);
    }
    return 1;
  }
  fetch_.reset();
  piece_ = PortMemory();
  const Status used = use_image();
  image_.clear();
  if (used) {
    begin_tables();
  } else {
    end_session_calmly(used.message());
  }
  return 1;
}

/// What the publisher has cannot be used. It is not asked for again at once.
void Subscriber::end_session_calmly(const std::string& why) {
  ++counters_.damaged;
  end_session(why, kCalmAsks * options_.ask_ns);
}

Status Subscriber::use_image() {
  Result<Program> program = image::read(image_);
  if (!program) return Failure{"the ring's image cannot be used: " + program.message()};
  if (layout_hash(program.value()) != accept_.layout_hash)
    return Failure{"the ring's image has another layout than announced"};
  if (program.value().max_record_slots != accept_.max_record_slots) {
    return Failure{"the ring's image has records of " + std::to_string(program.value().max_record_slots) +
                   " slots, the ring of " + std::to_string(accept_.max_record_slots)};
  }
  filter_.reset();
  program_ = std::move(program).value();
  const Result<record::Schema> schema = record::Schema::make(program_);
  if (!schema) return Failure{"the ring's image cannot be used: " + schema.message()};
  schema_ = schema.value();
  if (options_.filter.is_empty()) return Done{};
  Result<std::unique_ptr<RecordFilter>> filter = RecordFilter::make(options_.filter, *schema_);
  if (!filter) return Failure{filter.message()};
  filter_ = std::move(filter).value();
  return Done{};
}

/// Without its name.
Result<std::unique_ptr<ring::Writer>> Subscriber::prepare_ring() const {
  ring::WriterOptions how;
  how.slot_count = accept_.slot_count;
  how.image_generation = accept_.image_generation;
  how.replaces = ring_.get();
  how.origin = ring::Origin::Copy;
  Result<ring::Writer> made = ring::Writer::prepare(options_.name, program_, how);
  if (!made) return Failure{made.message()};
  return std::make_unique<ring::Writer>(std::move(made).value());
}

/// The old one ends as the publisher's has. Tables get their names first: the ring of a name is never without them.
Status Subscriber::make_ring() {
  if (ring_ != nullptr) ring_->finish();
  if (tables_ != nullptr) tables_->finish();
  if (next_tables_ != nullptr) {
    Status free = next_ring_->check_name();
    if (free) free = next_tables_->take_names();
    if (!free) return free;
  }
  if (const Status named = next_ring_->take_name(); !named) return named;
  applier_.reset();
  ring_ = std::move(next_ring_);
  tables_ = std::move(next_tables_);
  applier_.emplace(*ring_, accept_.max_record_slots);
  mark_records_ = ring_->records();
  mark_head_ = read_head_ = ring_->head();
  epoch_ = accept_.epoch;
  layout_hash_ = accept_.layout_hash;
  reached_.reset();
  return Done{};
}

// Instruments and states.

/// The ring that we have, if it is the same, or the next one. Before the first event that names an instrument.
void Subscriber::begin_tables() {
  const bool is_same_ring = ring_ != nullptr && epoch_ == accept_.epoch;
  if (!is_same_ring) {
    Result<std::unique_ptr<ring::Writer>> made = prepare_ring();
    if (!made) return end_session_calmly(made.message());
    next_ring_ = std::move(made).value();
    tables_problem_.clear();
  }
  // Tables that could not be copied in the first session, or no longer, would come too late for readers of this ring.
  const bool has_copy = is_same_ring && tables_ != nullptr && tables_problem_.empty();
  if (!accept_.tables) return go_without_tables(has_copy ? "the publisher shows its tables no longer" : "");
  if (is_same_ring && !has_copy) return go_without_tables("");
  auto made = FarTables::make(*port_, {options_.publisher, accept_.owner, *accept_.tables, accept_.tables_epoch});
  if (!made) return end_session(made.message(), options_.ask_ns);
  far_tables_ = std::move(made).value();
  set_state(SubscriberState::Tables, "fetching instruments and states");
}

std::size_t Subscriber::fetch_tables() {
  switch (far_tables_->state()) {
    case FarTables::State::Shaped:
      if (const Status begun = begin_copy(); !begun) end_session_calmly(begun.message());
      return 1;
    case FarTables::State::Unusable: go_without_tables(far_tables_->problem()); return 1;
    case FarTables::State::Failed: {
      const std::string why = far_tables_->problem();
      end_session(why, options_.ask_ns);
      return 1;
    }
    case FarTables::State::Ready:
      if (next_ring_ != nullptr) {
        if (const Status made = make_ring(); !made) {
          end_session_calmly(made.message());
          return 1;
        }
      }
      begin_history();
      return 1;
    default: return 0;
  }
}

/// How large the tables are is known.
Status Subscriber::begin_copy() {
  const market::TableShape& shape = far_tables_->shape();
  if (next_ring_ == nullptr) {
    if (shape.is_same(tables_->shape())) {
      far_tables_->begin(*tables_);
    } else {
      go_without_tables("the publisher's tables of instruments and states have been replaced");
    }
    return Done{};
  }
  if (shape.bytes() > options_.max_table_bytes) {
    go_without_tables("the tables of instruments and states need " + std::to_string(shape.bytes()) +
                      " bytes, at most " + std::to_string(options_.max_table_bytes) + " are allowed");
    return Done{};
  }
  Result<market::TableCopy> made = market::TableCopy::prepare(options_.name, shape, next_ring_->epoch(), tables_.get());
  if (!made) return Failure{made.message()};
  next_tables_ = std::make_unique<market::TableCopy>(std::move(made).value());
  far_tables_->begin(*next_tables_);
  return Done{};
}

/// `why`: the ring has some; tables that are there get nothing new.
void Subscriber::go_without_tables(std::string why) {
  far_tables_.reset();
  if (!why.empty()) {
    tables_problem_ = std::move(why);
    if (options_.log) options_.log("ring '" + options_.name + "': without its tables: " + tables_problem_);
  }
  next_tables_.reset();
  if (next_ring_ == nullptr) {
    if (tables_ != nullptr) tables_->finish();
  } else if (const Status made = make_ring(); !made) {
    return end_session_calmly(made.message());
  }
  if (state_ == SubscriberState::Image || state_ == SubscriberState::Tables || state_ == SubscriberState::Asking) {
    begin_history();
  }
}

/// Of a session that has them, whatever else it does.
std::size_t Subscriber::look_at_tables() {
  if (far_tables_ == nullptr) return 0;
  const std::size_t work = far_tables_->step(now_ns_);
  const bool is_filled = state_ == SubscriberState::History || state_ == SubscriberState::Live;
  if (!is_filled || how_it_ended_) return work;
  if (far_tables_->state() == FarTables::State::Unusable) {
    go_without_tables(far_tables_->problem());
  } else if (far_tables_->state() == FarTables::State::Failed) {
    const std::string why = far_tables_->problem();
    end_session(why, options_.ask_ns);
  }
  return work;
}

// Records published before we joined.

void Subscriber::begin_history() {
  const bool wants = reached_ || options_.wants_history;
  if (!wants || (reached_ && reached_->number >= accept_.begin.number)) return go_live();
  if (!accept_.has_window) {
    if (reached_ && accept_.begin.records > reached_->records) {
      earlier_lost(accept_.begin.records - reached_->records);
    }
    return go_live();
  }
  Result<std::unique_ptr<EarlierRecords>> made =
      EarlierRecords::make(*port_, Fetch::From{options_.publisher, accept_.owner, accept_.window}, accept_, reached_);
  if (!made) return end_session(made.message(), options_.ask_ns);
  earlier_ = std::move(made).value();
  set_state(SubscriberState::History, reached_ ? "fetching missed records" : "fetching existing records");
}

std::size_t Subscriber::fetch_history() {
  const std::uint64_t before = counters_.records;
  const EarlierRecords::State state = earlier_->step(*this);
  if (state == EarlierRecords::State::Working) return counters_.records != before ? 1 : 0;
  if (state == EarlierRecords::State::Failed) {
    ++counters_.damaged;
    end_session(std::string("older records cannot be fetched: ") + earlier_->problem(), options_.ask_ns);
    return 1;
  }
  earlier_.reset();
  go_live();
  return 1;
}

bool Subscriber::earlier_record(std::span<const record::Slot> record) {
  // Its instrument was there before it, and the table was fetched later.
  if (far_tables_ != nullptr && !far_tables_->may_show(record.front())) return false;
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
  reached_ = earlier_->reached();
  return true;
}

void Subscriber::earlier_lost(std::uint64_t records) {
  (void)write(lost_event(records, accept_.image_generation));
  if (earlier_ != nullptr) reached_ = earlier_->reached();
}

void Subscriber::go_live() {
  reached_ = told_ = accept_.begin;
  set_state(SubscriberState::Live, "receiving records as they are published");
}

// Records published from now on.

std::uint64_t Subscriber::records_read() const noexcept {
  return options_.records_read->load(std::memory_order_acquire);
}

/// Whether what comes next may be written: what our reader has not read fills no more than half of the ring. Else
/// messages stay where they are, the publisher gets no credit for them, and waits.
bool Subscriber::has_room() noexcept {
  if (options_.records_read == nullptr) return true;
  if (records_read() >= mark_records_) {
    read_head_ = mark_head_;
    mark_records_ = ring_->records();
    mark_head_ = ring_->head();
  }
  return ring_->head() + accept_.max_record_slots - read_head_ <= ring_->slot_count() / 2;
}

std::size_t Subscriber::receive() {
  if (how_it_ended_) return end_when_current();
  std::size_t work = 0;
  for (; work < kMessagesPerStep && state_ == SubscriberState::Live && has_room() && !how_it_ended_; ++work) {
    bool is_good = true;
    if (held_) {
      is_good = go_on();
      if (is_good && held_) break;
    } else {
      const std::span<const std::byte> message = receiver_->receive();
      const bool is_damaged = receiver_->damaged() != 0;
      if (message.empty() && !is_damaged) break;
      ++counters_.messages;
      is_good = !is_damaged && apply(message);
    }
    if (!is_good) {
      ++counters_.damaged;
      end_session("the publisher sent data that is not a record", options_.ask_ns);
      return work + 1;
    }
  }
  return work;
}

/// The message lies in memory that its sender can write to: every byte is read once.
bool Subscriber::apply(std::span<const std::byte> message) {
  Held held;
  if (message.size() < sizeof(held.head)) return false;
  std::memcpy(&held.head, message.data(), sizeof(held.head));
  held.slots = message.subspan(sizeof(held.head));
  if (held.slots.size() != held.head.slots * record::kSlotBytes) return false;
  held_ = held;
  return go_on();
}

/// Writes the records of the message, up to one whose instrument is not here yet. False: they are none.
bool Subscriber::go_on() {
  for (; held_->next < held_->head.slots; ++held_->next) {
    if (!held_->slot) {
      held_->slot.emplace();
      std::memcpy(&*held_->slot, held_->slots.data() + held_->next * record::kSlotBytes, record::kSlotBytes);
    }
    if (far_tables_ != nullptr && applier_->is_between() && !far_tables_->may_show(*held_->slot)) {
      return !far_tables_->is_wrong();
    }
    if (!write(*held_->slot)) return false;
    held_->slot.reset();
  }
  const BatchHead head = held_->head;
  held_.reset();
  reached_ = head.reached;
  if (head.kind == Batch::Records) return true;
  if (head.kind != Batch::Ended) return false;
  if (far_tables_ == nullptr) {
    end_ring(head.how);
    return true;
  }
  // A reader finds the last states when it finds the end.
  how_it_ended_ = head.how;
  last_look_ns_ = now_ns_;
  far_tables_->last_look();
  return true;
}

std::size_t Subscriber::end_when_current() {
  if (!far_tables_->is_current() && now_ns_ - last_look_ns_ < kLastLookNs) return 0;
  end_ring(*how_it_ended_);
  return 1;
}

/// The next slot of the stream. False: it cannot be one.
bool Subscriber::write(const record::Slot& slot) {
  const bool is_first = applier_->is_between();
  switch (applier_->take(slot)) {
    case SlotWriter::Outcome::Bad: return false;
    case SlotWriter::Outcome::Part: break;
    case SlotWriter::Outcome::Whole: ++counters_.records; break;
  }
  ++counters_.slots;
  if (is_first && far_tables_ != nullptr) far_tables_->saw(slot, state_ == SubscriberState::History);
  const record::EventView event(slot);
  if (is_first && record::HeaderView(slot).is_event() && event.kind() == record::EventKind::Lost) {
    counters_.lost += event.missing();
  }
  return true;
}

void Subscriber::end_ring(std::uint8_t how) {
  if (options_.is_lossless) (void)send(to_bytes(Reached{session_, *reached_}));
  how_it_ended_.reset();
  if (tables_ != nullptr) tables_->finish();
  ring_->finish();
  epoch_ = 0;
  end_as(how);
}

void Subscriber::end_as(std::uint8_t how) {
  accepted_ = 0;  // it is complete: what the publisher says of the session from now on, as when it ends, is no news
  const bool is_finished = how == static_cast<std::uint8_t>(ring::WriterState::Finished);
  const char* const why = is_finished ? "the ring has ended" : "the ring's writer died";
  end_session(why, options_.ask_ns);
  if (!options_.follows) set_state(SubscriberState::Ended, why);
}

// A ring that the publisher writes.

void Subscriber::hear_near(std::span<const std::byte> bytes) {
  const Result<AcceptNear> read = read_accept_near(bytes);
  if (!read) {
    ++counters_.damaged;
    return go_far(read.message());
  }
  // The ring that we have goes on, even if its name was removed.
  if (near_ && near_->look.epoch() == read.value().epoch) {
    near_->session = session_;
  } else if (near_ && options_.is_lossless && !options_.follows && near_->beat.how == 0) {
    leave(session_);
    return refuse_the_rest("the publisher stopped waiting for this subscriber");
  } else {
    Result<ring::Reader> look =
        ring::Reader::open(options_.name, ring::Start::Newest, os::Accepted(options_.publisher_user));
    if (!look) return go_far(look.message());
    const ring::Reader& ring = look.value();
    if (ring.epoch() != read.value().epoch || ring.slot_count() > options_.max_slots ||
        (options_.layout_hash != 0 && ring.layout_hash() != options_.layout_hash)) {
      ++counters_.damaged;
      return go_far("the ring '" + ring.path() + "' is not the requested one");
    }
    counters_ = counters();
    counters_.lost -= lacking_;
    near_.emplace(NearRing{std::move(look).value(), session_, {}, 0});
  }
  ++counters_.sessions;
  accepted_ = session_;
  lacking_ = 0;
  link_ = post_->link(options_.publisher);
  beat_ns_ = now_ns_;
  set_state(options_.wants_history ? SubscriberState::History : SubscriberState::Live,
            "the publisher writes the ring directly");
}

void Subscriber::hear_beat(std::span<const std::byte> bytes) {
  const Result<Beat> read = read_beat(bytes);
  if (!read || !near_ || read.value().session != near_->session) return;
  near_->beat = read.value();
  echo(true);
  beat_ns_ = now_ns_;
  if (session_ != near_->session) return;
  if (state_ == SubscriberState::History && near_->beat.has_history) {
    set_state(SubscriberState::Live, "receiving records as they are published");
  }
  if (near_->beat.how != 0) end_as(near_->beat.how);
}

/// Sends the publisher a sign of life, and the last beat before which our reader has read everything: that is its
/// credit. A beat that waits for the reader is repeated, so nothing is lost with an answer.
void Subscriber::echo(bool is_asked) {
  const bool is_read = options_.records_read == nullptr || records_read() >= near_->beat.records;
  const bool is_news = is_read && near_->echoed != near_->beat.number;
  if (is_news) near_->echoed = near_->beat.number;
  if (is_asked || is_news) (void)send(to_bytes(Echo{near_->session, near_->echoed}));
}

void Subscriber::watch_near(std::uint64_t now_ns) {
  if (near_ && options_.records_read != nullptr) echo(false);
  if (post_->link(options_.publisher) != link_) return end_session("the publisher's node is lost", 0);
  if (now_ns - beat_ns_ >= options_.silence_ns) return end_session("the publisher does not respond", 0);
  if (now_ns < next_look_ns_) return;
  next_look_ns_ = now_ns + kLookNs;
  // Its process holds the ring's lock as long as it lives.
  if (near_->look.writer() == ring::WriterState::Dead) end_session("the publisher has exited", 0);
}

/// No other process removes the ring of a publisher that has died.
void Subscriber::forget_near() {
  counters_ = counters();
  counters_.lost -= lacking_;
  if (near_->look.writer() == ring::WriterState::Dead && !near_->look.replaced()) {
    const std::string& path = near_->look.path();
    ::unlink(path.c_str());
    const Result<market::Tables> tables =
        market::Tables::open(path, near_->look.tables_epoch(), os::Accepted(options_.publisher_user));
    if (tables) tables.value().unshare(path);
  }
  near_.reset();
}

SubscriberCounters Subscriber::counters() const noexcept {
  SubscriberCounters sum = counters_;
  sum.lost += lacking_;
  if (!near_) return sum;
  sum.records += near_->look.published();
  sum.slots += near_->beat.slots;
  sum.fetched += near_->beat.fetched;
  sum.filtered += near_->beat.filtered;
  sum.lost += near_->beat.lost;
  return sum;
}

void Subscriber::set_state(SubscriberState state, const std::string& why) {
  if (!why.empty()) problem_ = why;
  if (state == state_) return;
  state_ = state;
  // A failure that repeats before any record has come is logged once.
  const bool is_known =
      !failure_.empty() && (state == SubscriberState::Asking ? problem_ == failure_ : state == SubscriberState::Image);
  if (state == SubscriberState::Asking) failure_ = problem_;
  if (state == SubscriberState::Live) failure_.clear();
  if (options_.log && !is_known) options_.log("ring '" + options_.name + "': " + to_text(state) + ": " + problem_);
}

}  // namespace stopbit::remote
