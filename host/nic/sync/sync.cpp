#include "host/nic/sync/sync.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "host/os/deadline.hpp"

namespace stopbit::nic {

const char* to_text(SyncStep step) noexcept {
  switch (step) {
    case SyncStep::Look: return "look";
    case SyncStep::Acquire: return "acquire";
    case SyncStep::Release: return "release";
    case SyncStep::BreakLock: return "break-lock";
    case SyncStep::Enqueue: return "enqueue";
    case SyncStep::Dequeue: return "dequeue";
    case SyncStep::NewHead: return "new-head";
    case SyncStep::SemaphoreP: return "semaphore-p";
    case SyncStep::SemaphoreV: return "semaphore-v";
    case SyncStep::BreakQueue: return "break-queue";
    case SyncStep::Disband: return "disband";
  }
  return "?";
}

void SyncPort::pump() noexcept {
  Notification notification;
  while (notifications_.take(notification)) {
    if (!take(notification)) ++foreign_;
  }
}

bool SyncPort::take(const Notification& notification) noexcept {
  return std::any_of(users_.begin(), users_.end(), [&](SyncUser* user) {
    SyncAnswer answer;
    const bool is_its = user->wire_.take(notification, answer);
    if (is_its) user->answer(answer);
    return is_its;
  });
}

Command SyncWire::command_for(Operation operation, const SyncPlace& place) noexcept {
  Command command;
  command.operation = operation;
  command.target_node = place.node;
  command.target_vpid = place.vpid;
  command.window = place.window.id;
  command.capability = place.window.capability;
  command.offset = place.offset;
  return command;
}

Command SyncWire::command_for_word(MemberId member, MemberWord word, std::uint64_t value) const noexcept {
  // The home may say anything: a member that does not exist is refused by our own node, which knows no such node.
  if (member == 0 || member > object_.members.size()) {
    Command nobody = command_for(Operation::ImmediatePut, {});
    nobody.target_node = 0xFFFF;
    return nobody;
  }
  const SyncMember& target = object_.members[member - 1U];
  Command command = command_for(Operation::ImmediatePut, target.words);
  command.offset += static_cast<std::uint64_t>(word) * sizeof(std::uint64_t);
  command.address = value;
  command.more = word == MemberWord::Next ? 0 : target.event;
  return command;
}

void SyncWire::change(const SyncRequest& request) noexcept {
  Command command = command_for(Operation::Synchronize, object_.home);
  command.address = std::bit_cast<std::uint64_t>(request);
  command.modifiers = kNotifyCompleter;
  ask(command);
}

void SyncWire::tell(MemberId member, MemberWord word, std::uint64_t value) noexcept {
  post(command_for_word(member, word, value));
}

void SyncWire::tell_surely(MemberId member, MemberWord word, std::uint64_t value) noexcept {
  Command command = command_for_word(member, word, value);
  command.modifiers = kAcknowledge;
  ask(command);
}

void SyncWire::probe(MemberId member) noexcept {
  Command command = command_for_word(member, MemberWord::Next, 0);
  command.operation = Operation::FetchAdd;  // of nothing
  command.modifiers = kNotifyCompleter;
  ask(command);
}

bool SyncWire::take_event() noexcept {
  return port_.events_.poll(object_.members[self_ - 1U].event);
}

void SyncWire::ask(Command& command) noexcept {
  ++number_;
  is_asked_ = true;
  dropped_ = port_.notifications_.dropped();
  command.tag = tag();
  post(command);
}

void SyncWire::post(const Command& command) noexcept {
  // A core has one command with an answer under way and the words it sent before that: there is always room.
  waiting_[waiting_count_++] = command;
}

bool SyncWire::flush(SyncAnswer& answer) noexcept {
  if (waiting_count_ == 0) return false;
  const Issue issue = port_.queue_.insert(std::span(waiting_).first(waiting_count_));
  std::move(waiting_.begin() + static_cast<std::ptrdiff_t>(issue.accepted),
            waiting_.begin() + static_cast<std::ptrdiff_t>(waiting_count_), waiting_.begin());
  waiting_count_ -= issue.accepted;
  if (issue.reply != Reply::Forbidden && issue.reply != Reply::Disabled) return false;
  waiting_count_ = 0;
  answer = {Error::OriginVpid, 0};
  return std::exchange(is_asked_, false);
}

bool SyncWire::take(const Notification& notification, SyncAnswer& answer) noexcept {
  // A member's ring has words of others, too, under tags of their choice: of ports that may touch nothing else here.
  if (!is_asked_ || notification.tag != tag() || !is_of_own_command(notification)) return false;
  is_asked_ = false;
  answer = {notification.error, notification.value};
  return true;
}

bool SyncWire::give_up_answer() noexcept {
  // What the port has not inserted yet may still be answered.
  if (!is_asked_ || waiting_count_ != 0 || port_.notifications_.dropped() == dropped_) return false;
  is_asked_ = false;
  return true;
}

SyncUser::SyncUser(SyncPort& port, const SyncObject& object, MemberId self,
                   std::span<std::uint64_t, kMemberWords> words, const SyncPatience& patience)
    : wire_(port, object, self, words, port.users_.size()),
      port_(port),
      event_(object.members.at(self - 1U).event),
      patience_(patience) {
  port.users_.push_back(this);
}

void SyncUser::step() noexcept {
  port_.pump();
  poll();
  SyncAnswer refusal;
  if (wire_.flush(refusal)) answer(refusal);
}

void SyncUser::grow_impatient() noexcept {
  if (wire_.give_up_answer()) {
    lose_answer();
  } else {
    look();
  }
  step();
}

template <class IsDone>
bool SyncUser::run(Clock::time_point deadline, const IsDone& is_done) noexcept {
  Clock::time_point now = Clock::now();
  const Clock::time_point sleeps_at = now + patience_.spin;
  Clock::time_point looks_at = now + patience_.look;
  for (;;) {
    step();
    if (is_done()) return true;
    now = Clock::now();
    if (now >= deadline) return false;
    if (now >= looks_at) {
      grow_impatient();
      looks_at = now + patience_.look;
    } else if (now < sleeps_at) {
      continue;
    } else if (is_waiting()) {
      (void)port_.events_.await(event_, std::min(looks_at, deadline) - now);
    } else {
      std::this_thread::yield();  // an answer is under way
    }
  }
}

bool SyncLock::acquire(std::chrono::nanoseconds timeout) noexcept {
  if (core_.state() == LockCore::State::Idle) start_acquire();
  const auto is_done = [this] { return core_.is_held() || core_.state() == LockCore::State::Idle; };
  return run(os::deadline_after(timeout), is_done) && core_.is_held();
}

bool SyncLock::release(std::chrono::nanoseconds timeout) noexcept {
  if (core_.is_held()) start_release();
  const auto is_done = [this] { return core_.state() == LockCore::State::Idle; };
  return run(os::deadline_after(timeout), is_done) && core_.error() == Error::None && !core_.was_broken();
}

bool SyncLock::leave(std::chrono::nanoseconds timeout) noexcept {
  using State = LockCore::State;
  const Clock::time_point deadline = os::deadline_after(timeout);
  const auto state_is = [this](auto... states) { return ((core_.state() == states) || ...); };
  if (!run(deadline, [&] { return state_is(State::Waiting, State::Held, State::Idle, State::Leaving); })) return false;
  if (core_.state() == State::Waiting) core_.leave(wire_);
  if (core_.is_held()) start_release();
  return run(deadline, [&] { return state_is(State::Idle); }) && core_.error() == Error::None;
}

bool SyncQueue::insert(std::chrono::nanoseconds timeout) noexcept {
  if (!is_inserted_ && core_.is_idle()) {
    is_inserted_ = true;
    start_wait();
  }
  return run(os::deadline_after(timeout), [this] { return core_.state() != QueueCore::State::Inserting; }) &&
         core_.error() == Error::None;
}

bool SyncQueue::wait(std::chrono::nanoseconds timeout) noexcept {
  if (!is_inserted_ && core_.is_idle()) start_wait();
  is_inserted_ = true;
  const bool is_done = run(os::deadline_after(timeout), [this] { return core_.is_idle(); });
  is_inserted_ = !is_done;
  return is_done && core_.error() == Error::None;
}

bool SyncQueue::leave(std::chrono::nanoseconds timeout) noexcept {
  using State = QueueCore::State;
  if (kind_ == Kind::Semaphore) return false;
  const Clock::time_point deadline = os::deadline_after(timeout);
  const auto state_is = [this](auto... states) { return ((core_.state() == states) || ...); };
  if (!run(deadline, [&] { return state_is(State::Waiting, State::Idle, State::Leaving); })) return false;
  if (core_.is_waiting()) core_.leave(wire_);
  if (!run(deadline, [&] { return state_is(State::Idle); })) return false;
  is_inserted_ = false;
  return core_.error() == Error::None;
}

bool SyncQueue::signal(std::chrono::nanoseconds timeout) noexcept {
  const Clock::time_point deadline = os::deadline_after(timeout);
  const auto is_done = [this] { return core_.is_idle(); };
  if (!run(deadline, is_done)) return false;
  start_signal();
  return run(deadline, is_done) && core_.error() == Error::None;
}

bool SyncMonitor::wait(SyncQueue& condition, std::chrono::nanoseconds timeout) noexcept {
  const auto deadline = os::deadline_after(timeout);
  const auto left = [&] { return deadline - std::chrono::steady_clock::now(); };
  // In the queue before the lock is free: so no signal is lost in between.
  if (stage_ == Stage::Inside || stage_ == Stage::Inserting) {
    stage_ = Stage::Inserting;
    if (!condition.insert(left())) return false;
    stage_ = Stage::Leaving;
  }
  if (stage_ == Stage::Leaving) {
    if (!lock_.release(left())) return false;
    stage_ = Stage::Waiting;
  }
  if (stage_ == Stage::Waiting) {
    if (!condition.wait(left())) return false;
    stage_ = Stage::Entering;
  }
  if (!lock_.acquire(left())) return false;
  stage_ = Stage::Inside;
  return true;
}

}  // namespace stopbit::nic
