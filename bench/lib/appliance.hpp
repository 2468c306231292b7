#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "host/ring/reader.hpp"
#include "tests/lib/scratch.hpp"
#include "tests/lib/veth.hpp"

namespace stopbit::bench {

struct ApplianceOptions {
  std::string name = "bench";   ///< Different for each that runs at a time.
  std::string port = "socket";  ///< Or "af_packet": DPDK's.
  std::string group;            ///< Of its only line, at port 20001.
  int processor = 0;            ///< Of its agent.
  std::string idle = "spin";    ///< What its agent does when there is nothing to do.
  int http = 0;                 ///< Port of HTTP on 127.0.0.1 in the receiver's namespace; 0: no sockets at all.
};

/// `stopbit run` with the sample's templates, as it is installed beside this program, in the receiver's namespace; its
/// other threads are where the calling one may be. Ends with the object, and leaves nothing.
class Appliance {
 public:
  /// How long it may take to start, and a record to come.
  static constexpr std::chrono::seconds kPatience{30};

  /// Throws std::runtime_error.
  Appliance(const testing::Veth& veth, const ApplianceOptions& options);
  Appliance(const Appliance&) = delete;
  Appliance& operator=(const Appliance&) = delete;
  ~Appliance();

  [[nodiscard]] bool runs();
  /// Of its ring. Throws std::runtime_error if it does not start.
  [[nodiscard]] ring::Reader reader();

  [[nodiscard]] pid_t process() const noexcept { return child_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }  ///< Of its counters.
  [[nodiscard]] std::string socket() const { return scratch_.path("control.sock"); }

 private:
  [[nodiscard]] std::string ring() const { return scratch_.path("ring"); }

  const testing::Scratch scratch_;
  std::string name_;
  pid_t child_ = -1;
};

}  // namespace stopbit::bench
