#pragma once

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tests/system/dissector/dissection.hpp"

namespace stopbit::dissector {

/// Whether there is a tshark to run.
[[nodiscard]] bool has_tshark();

struct TsharkRun {
  std::filesystem::path folder;  ///< Scratch: configuration, and what tshark complains about.
  std::filesystem::path capture;
  std::uint64_t packets = 0;  ///< Number of packets read from the start of the capture; 0: all.
  std::vector<std::filesystem::path> scripts;
  std::vector<std::string> preferences;  ///< "feed.strict:TRUE"
  std::string read_filter;               ///< With two passes: what the second one sees.
  bool two_passes = false;               ///< Packets are dissected twice, and shown from the second visit.
};

/// The command, with a configuration of its own; `arguments` follow as they are.
[[nodiscard]] std::string tshark_command(const TsharkRun& run, const std::string& arguments);

/// Runs tshark and reads the packet trees it prints, one event after the other.
class Dissection {
 public:
  explicit Dissection(const TsharkRun& run);
  ~Dissection();
  Dissection(const Dissection&) = delete;
  Dissection& operator=(const Dissection&) = delete;

  /// Messages, errors and drops of all protocols that the scripts made, in the order of the capture; nothing at the
  /// end. Messages that were given up half-way are left out: their error follows.
  [[nodiscard]] std::optional<Event> next();
  /// Of the event given last.
  [[nodiscard]] std::uint64_t packet() const noexcept { return packet_; }
  [[nodiscard]] std::uint64_t packets() const noexcept { return packets_; }

  /// What went wrong with the run itself: exit status, complaints. Empty if all is well. Call it at the end.
  [[nodiscard]] std::string problems();

 private:
  bool read_packet();

  std::filesystem::path complaints_;
  std::vector<std::string> protocols_;
  std::FILE* pipe_ = nullptr;
  char* line_ = nullptr;
  std::size_t line_bytes_ = 0;
  std::uint64_t packets_ = 0;
  std::uint64_t packet_ = 0;
  std::vector<std::pair<std::uint64_t, Event>> events_;  ///< Of the packet read last, first one last.
};

}  // namespace stopbit::dissector
