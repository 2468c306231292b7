#pragma once

#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/lib/scratch.hpp"
#include "tests/nic/arguments.hpp"
#include "tests/nic/barriers.hpp"
#include "tests/nic/carrier.hpp"
#include "tests/nic/channels.hpp"
#include "tests/nic/host.hpp"
#include "tests/nic/syncs.hpp"
#include "tests/nic/units.hpp"
#include "tests/nic/unpinned.hpp"

namespace stopbit::nic {

/// The steps about nodes with all their units.
class HostsScript {
 public:
  HostsScript(const Carrier& carrier, const Units& units, std::vector<std::string>& said);
  HostsScript(const HostsScript&) = delete;
  HostsScript& operator=(const HostsScript&) = delete;
  ~HostsScript();

  /// False: it is none of these steps, or written wrongly.
  [[nodiscard]] bool run(const std::string& step, Arguments& arguments);
  /// Why the rest cannot be run here; empty if it can.
  [[nodiscard]] const std::string& skipped() const noexcept { return skipped_; }

 private:
  struct Place {
    NodeId node = 0;
    Vpid vpid = 0;
  };
  struct Memory {
    Place place;
    Nla nla = 0;
    std::uint64_t bytes = 0;
    std::unique_ptr<Registered> registered;  ///< One of the two.
    std::unique_ptr<Unpinned> unpinned;
  };
  struct WindowOf {
    Place place;
    WindowName name;
  };
  /// "A+12"
  struct At {
    std::string name;
    std::uint64_t offset = 0;
  };

  template <class... Parts>
  void say(const Parts&... parts) {
    std::ostringstream out;
    (out << ... << parts);
    said_.push_back(out.str());
  }
  [[nodiscard]] bool run_port(const std::string& step, Arguments& arguments);
  [[nodiscard]] bool run_memory(const std::string& step, Arguments& arguments);
  [[nodiscard]] bool run_window(const std::string& step, Arguments& arguments);
  [[nodiscard]] bool run_channel(const std::string& step, Arguments& arguments);
  [[nodiscard]] bool run_sync(const std::string& step, Arguments& arguments);
  [[nodiscard]] bool run_barrier(const std::string& step, Arguments& arguments);
  [[nodiscard]] std::optional<std::vector<Syncs::Place>> members_of(Arguments& arguments);
  [[nodiscard]] bool run_command(Arguments& arguments);
  void step_hosts();
  void restart(NodeId node);
  [[nodiscard]] std::unique_ptr<Host> make_host(NodeId node, std::size_t nodes) const;
  [[nodiscard]] bool run_message(const std::string& step, Arguments& arguments);
  [[nodiscard]] bool run_segments(const std::string& step, Arguments& arguments);
  void forget_segments();
  /// Null: the mailbox lies in the port's page.
  [[nodiscard]] SegmentReader* segments_at(const Place& place, Priority priority);
  [[nodiscard]] bool send_message(const Place& from, Arguments& arguments);
  void say_mail(const std::string& name, const Place& place, HostPort& port, Priority priority);
  [[nodiscard]] bool settle();
  void take_notifications();
  void await_notifications(std::uint64_t count);
  void say_notifications();

  [[nodiscard]] bool parse(const std::string& text, Place& place, Arguments& arguments) const;
  [[nodiscard]] At parse_at(const std::string& text, Arguments& arguments) const;
  [[nodiscard]] bool add_memory(const std::string& step, Arguments& arguments);
  /// Null: no such memory, or it ends before.
  [[nodiscard]] Memory* memory_at(const At& at, std::uint64_t bytes);
  /// False: no such bytes.
  [[nodiscard]] bool read_bytes(const At& at, std::vector<std::byte>& into);
  [[nodiscard]] bool write_bytes(const At& at, std::span<const std::byte> bytes);
  [[nodiscard]] HostPort* port_at(const Place& place);

  /// A mailbox of segments, by node, port and priority.
  struct Segments;

  testing::Scratch scratch_;  ///< The sockets of brokers.
  const Carrier& carrier_;
  const Units& units_;
  std::vector<std::string>& said_;
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::string>> arrived_;  ///< By node and port.
  std::unique_ptr<Network> network_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::map<std::string, Memory> memories_;
  std::map<std::string, WindowOf> windows_;
  std::map<std::string, std::unique_ptr<NumberedChannel>> channels_;
  std::unique_ptr<Syncs> syncs_;
  Barriers barriers_;
  std::map<std::tuple<NodeId, Vpid, Priority>, std::unique_ptr<Segments>> segments_;
  RmaOptions options_;
  std::uint64_t now_ = 0;
  std::string skipped_;
};

}  // namespace stopbit::nic
