#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/os/shm/segment.hpp"
#include "microcode/base/result.hpp"

namespace stopbit::appliance {

/// What replay services have been asked for today: FOLDER/replay-quota. It outlives the process, so that one that
/// crashes again and again does not use up what the exchange allows. Stored, and on disk, before each connection.
///
/// A service is known by what the exchange counts: address and user, not the name in the settings. Entries of services
/// that the settings do not name stay.
class QuotaFile {
 public:
  struct Used {
    std::int64_t day = 0;  ///< Of the exchange, since 1970.
    std::uint32_t connections = 0;
    bool is_damaged = false;  ///< Nothing is known: as much as there may be.
    bool operator==(const Used&) const = default;
  };

  /// Reads what there is. Fails if the file cannot be used: nothing may be asked for then.
  [[nodiscard]] Status open(const std::string& folder, std::span<const std::string> services);
  /// By index in open.
  [[nodiscard]] const Used& used(std::size_t service) const { return places_.at(service).used; }
  /// On disk when it returns. False: the system refused.
  [[nodiscard]] bool store(std::size_t service, const Used& used) noexcept;

 private:
  static constexpr std::size_t kMostPlaces = 1'024;
  struct Place {
    std::size_t at = 0;  ///< In the file, counted in entries.
    std::uint64_t key = 0;
    Used used;
  };

  os::Descriptor file_;
  std::vector<Place> places_;
};

}  // namespace stopbit::appliance
