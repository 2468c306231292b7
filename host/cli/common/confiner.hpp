#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/appliance/confinement.hpp"
#include "host/appliance/opener/disk_calls.hpp"
#include "host/appliance/settings.hpp"
#include "host/cli/common/log.hpp"
#include "host/os/disk/disk.hpp"

namespace stopbit::tools {

/// Keeps a running appliance confined: its opener process, and the filters of its threads.
class Confiner {
 public:
  /// Forks the opener, if the settings want the appliance confined. Before there are threads.
  explicit Confiner(const appliance::Settings& settings);
  Confiner(const Confiner&) = delete;
  Confiner& operator=(const Confiner&) = delete;

  /// Null: the appliance opens everything itself.
  [[nodiscard]] opener::Client* opener() const noexcept { return opener_.get(); }
  /// They do nothing until `confine`.
  [[nodiscard]] appliance::ThreadFilters& filters() noexcept { return filters_; }

  /// Confines this thread and those that it makes from now on. From now on the opener changes files on disk, too.
  void confine(const appliance::Confinement& confinement, Log& log);
  /// Says once what has become of it; now and then.
  void step(Log& log);

 private:
  std::unique_ptr<opener::Client> opener_;
  std::vector<std::string> notes_;  ///< Privileges that the opener could not give up.
  std::optional<opener::DiskCalls> calls_;
  std::optional<disk::ReplacedCalls> replaced_;
  appliance::ThreadFilters filters_;
  bool told_end_ = false;
  bool told_error_ = false;
};

}  // namespace stopbit::tools
