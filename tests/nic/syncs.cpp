#include "tests/nic/syncs.hpp"

namespace stopbit::nic {
namespace {

constexpr std::uint8_t kFirstEvent = 40;  // those before are for channels

}  // namespace

bool Syncs::make(const std::string& name, Kind kind, std::uint16_t count, Place home, Access access,
                 const std::vector<Place>& members, const std::vector<std::unique_ptr<Host>>& hosts) {
  const auto event = static_cast<std::uint8_t>(kFirstEvent + objects_.size());
  Object& object = objects_[name];
  object.kind = kind;
  object.home_place = home;
  object.what = std::make_unique<SyncObject>();
  Host& at_home = *hosts[home.first];
  object.home = at_home.add_memory(home.second, 1, Access::ReadWrite);
  if (!object.home) return false;
  const auto window = at_home.rma.open_window(home.second, object.home->nla, sizeof(std::uint64_t), access);
  if (!window) return false;
  object.what->home = {home.first, home.second, *window, 0};
  SyncState word;
  word.count = count;
  *reinterpret_cast<std::uint64_t*>(object.home->bytes().data()) = to_word(word);
  object.members.resize(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    Member& member = object.members[i];
    member.place = members[i];
    Host& host = *hosts[member.place.first];
    member.words = host.add_memory(member.place.second, 1, Access::ReadWrite);
    if (!member.words) return false;
    const auto own = host.rma.open_window(member.place.second, member.words->nla, kMemberWords * sizeof(std::uint64_t),
                                          Access::ReadWrite);
    if (!own) return false;
    object.what->members.push_back({{member.place.first, member.place.second, *own, 0}, event});
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    Member& member = object.members[i];
    HostPort& port = *hosts[member.place.first]->of_port.at(member.place.second);
    auto& seat = ports_[member.place];
    if (!seat) seat = std::make_unique<SyncPort>(member.place.first, port.queue, port.notifications, port.events);
    const auto self = static_cast<MemberId>(i + 1);
    const std::span<std::uint64_t, kMemberWords> words(reinterpret_cast<std::uint64_t*>(member.words->bytes().data()),
                                                       kMemberWords);
    if (kind == Kind::Lock) {
      member.lock = std::make_unique<SyncLock>(*seat, *object.what, self, words);
    } else {
      member.queue =
          std::make_unique<SyncQueue>(*seat, *object.what, self, words,
                                      kind == Kind::Semaphore ? SyncQueue::Kind::Semaphore : SyncQueue::Kind::Queue);
    }
  }
  return true;
}

bool Syncs::begin(const std::string& name, Place place, const std::string& what) {
  const auto object = objects_.find(name);
  if (object == objects_.end()) return false;
  for (Member& member : object->second.members) {
    if (member.place != place || member.is_dead) continue;
    if (member.lock && what == "acquire" && member.lock->core().state() == LockCore::State::Idle) {
      member.lock->start_acquire();
    } else if (member.lock && what == "release" && member.lock->core().is_held()) {
      member.lock->start_release();
    } else if (member.queue && member.queue->core().is_idle() && (what == "wait" || what == "wake")) {
      what == "wait" ? member.queue->start_wait() : member.queue->start_signal();
    } else {
      return false;
    }
    member.said.clear();  // whatever comes of it is news
    return true;
  }
  return false;
}

void Syncs::kill(Place port) {
  for (auto& [name, object] : objects_) {
    for (Member& member : object.members) {
      if (member.place == port) member.is_dead = true;
    }
  }
}

bool Syncs::close_home(const std::string& name, const std::vector<std::unique_ptr<Host>>& hosts) {
  const auto object = objects_.find(name);
  if (object == objects_.end()) return false;
  const SyncPlace& home = object->second.what->home;
  return hosts[home.node]->rma.close_window(home.vpid, home.window.id);
}

bool Syncs::step() {
  bool has_changed = false;
  for (auto& [name, object] : objects_) {
    for (Member& member : object.members) {
      if (member.is_dead) continue;
      member.lock ? member.lock->step() : member.queue->step();
      const int state =
          member.lock ? static_cast<int>(member.lock->core().state()) : static_cast<int>(member.queue->core().state());
      has_changed |= state != std::exchange(member.last_state, state);
    }
  }
  return has_changed;
}

void Syncs::grow_impatient() {
  for (auto& [name, object] : objects_) {
    for (Member& member : object.members) {
      if (!member.is_dead) member.lock ? member.lock->grow_impatient() : member.queue->grow_impatient();
    }
  }
}

std::string Syncs::state_of(const Member& member) {
  if (member.is_dead) return "is dead";
  const Error error = member.lock ? member.lock->core().error() : member.queue->core().error();
  if (error != Error::None) return std::string("gave up: ") + to_name(error);
  if (member.lock) {
    switch (member.lock->core().state()) {
      case LockCore::State::Idle: return member.lock->core().was_broken() ? "is idle, it was broken" : "is idle";
      case LockCore::State::Waiting: return "waits";
      case LockCore::State::Held: return "holds";
      default: return "waits for an answer";
    }
  }
  switch (member.queue->core().state()) {
    case QueueCore::State::Idle: return member.queue->core().was_broken() ? "is idle, it was broken" : "is idle";
    case QueueCore::State::Waiting: return "waits";
    default: return "waits for an answer";
  }
}

std::vector<std::string> Syncs::news() {
  std::vector<std::string> result;
  for (auto& [name, object] : objects_) {
    for (Member& member : object.members) {
      const std::string state = state_of(member);
      if (state == member.said) continue;
      member.said = state;
      result.push_back(name + ": " + std::to_string(member.place.first) + "." + std::to_string(member.place.second) +
                       " " + state);
    }
  }
  return result;
}

}  // namespace stopbit::nic
