#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "host/ring/reader_registration.hpp"

namespace stopbit::appliance {

/// Looks at the signs of readers, and at the files of the rings, on a thread of its own: folders in which any user may
/// leave files take their time, and the housekeeper answers commands meanwhile.
class ReaderWatch {
 public:
  /// `rings`: places of rings, as ring::find_readers takes them.
  explicit ReaderWatch(std::vector<std::string> rings);
  ReaderWatch(const ReaderWatch&) = delete;
  ReaderWatch& operator=(const ReaderWatch&) = delete;
  ~ReaderWatch();

  /// Begins to look, twice a second, on a thread that calls `begin` first.
  void start(const std::function<void()>& begin = {});
  /// Looks once, on the caller's thread.
  void look();

  /// Other rings from the next look on. From any thread.
  void watch(std::vector<std::string> rings);

  /// As they were at the last look. From any thread.
  [[nodiscard]] std::vector<ring::SeenReader> seen() const;
  /// Those of these rings: SeenReader::ring is an index of `rings`.
  [[nodiscard]] std::vector<ring::SeenReader> seen(std::span<const std::string> rings) const;
  /// Files of rings, and of tables beside them, that have become shorter: no reader sees what is written to them.
  [[nodiscard]] std::vector<std::string> truncated() const;

 private:
  void run();

  std::vector<std::string> rings_;                                         ///< To look at.
  std::map<std::pair<std::string, std::uint64_t>, std::int64_t> longest_;  ///< Bytes, by place and file.
  mutable std::mutex mutex_;
  std::condition_variable wakes_;
  bool stops_ = false;
  std::vector<std::string> seen_rings_;  ///< At the last look.
  std::vector<ring::SeenReader> seen_;
  std::vector<std::string> truncated_;
  std::thread thread_;  ///< The last: the others are its.
};

}  // namespace stopbit::appliance
