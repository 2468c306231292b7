#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host/nic/sync/sync.hpp"
#include "tests/nic/host.hpp"

namespace stopbit::nic {

/// Locks, queues and semaphores between ports of the hosts of a script.
class Syncs {
 public:
  using Place = std::pair<NodeId, Vpid>;
  enum class Kind : std::uint8_t { Lock, Queue, Semaphore };

  /// False: a node has no room for it.
  [[nodiscard]] bool make(const std::string& name, Kind kind, std::uint16_t count, Place home, Access access,
                          const std::vector<Place>& members, const std::vector<std::unique_ptr<Host>>& hosts);
  /// Begins to acquire, release, wait or signal. False: there is no such member, or it is not its turn.
  [[nodiscard]] bool begin(const std::string& name, Place member, const std::string& what);
  /// The port dies without closing.
  void kill(Place port);
  /// The home's window is closed.
  [[nodiscard]] bool close_home(const std::string& name, const std::vector<std::unique_ptr<Host>>& hosts);
  /// Steps all members; true if the state of one has changed.
  [[nodiscard]] bool step();
  /// Waiting members look for dead ones.
  void grow_impatient();
  /// Changes of members since the last call: "L: 1.2 holds", and the words of homes that changed.
  [[nodiscard]] std::vector<std::string> news();

 private:
  struct Member {
    Place place;
    std::unique_ptr<Registered> words;
    std::unique_ptr<SyncLock> lock;
    std::unique_ptr<SyncQueue> queue;
    bool is_dead = false;
    int last_state = 0;
    std::string said = "is idle";
  };
  struct Object {
    Kind kind = Kind::Lock;
    Place home_place;
    std::unique_ptr<Registered> home;
    std::unique_ptr<SyncObject> what;
    std::vector<Member> members;
  };
  [[nodiscard]] static std::string state_of(const Member& member);

  std::map<Place, std::unique_ptr<SyncPort>> ports_;  // destroyed after its users
  std::map<std::string, Object> objects_;
};

}  // namespace stopbit::nic
