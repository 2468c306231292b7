#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/appliance/gap_log.hpp"
#include "host/appliance/settings.hpp"
#include "host/cli/common/files.hpp"
#include "host/feed/packet/packet.hpp"
#include "host/ports/packet_source.hpp"
#include "host/ports/recorder/pcapng_writer.hpp"

/// Cuts gaps out of what an appliance has recorded: for each a capture and a text that explains it.
namespace stopbit::tools {

struct CutOptions {
  std::string folder;
  std::uint64_t around = 10;  ///< Numbers before and after the gap that are cut out with it.
};

/// One gap: takes the packets around it, and knows which line had which number.
class GapCut {
 public:
  /// `base_name`: of its files, in the folder of the options.
  GapCut(const appliance::GapEntry& gap, const CutOptions& options, const std::string& base_name);
  GapCut(const GapCut&) = delete;  // its writer points to it
  GapCut& operator=(const GapCut&) = delete;
  ~GapCut() = default;

  /// Whether a packet of that number and arrival time belongs to this gap; numbers recur after a reset.
  [[nodiscard]] bool wants(std::uint64_t sequence, std::uint64_t time_ns) const noexcept;
  void add(std::uint32_t line, std::uint64_t sequence, const ingest::Packet& packet, const net::Datagram& datagram);
  /// From here on packets belong to the gap by their numbers alone: an appliance that plays a capture has recorded
  /// the times of the capture.
  void ignore_times() noexcept { ignores_times_ = true; }
  /// Closes the capture.
  void close();

  [[nodiscard]] const appliance::GapEntry& gap() const noexcept { return gap_; }
  [[nodiscard]] const std::string& capture() const noexcept { return capture_; }
  [[nodiscard]] const std::string& text_file() const noexcept { return text_file_; }
  [[nodiscard]] std::uint64_t packets(std::size_t line) const noexcept { return packets_[line]; }
  /// Which line had which numbers and when, and what that says.
  [[nodiscard]] std::string account() const;
  /// Positions in the capture, from 1, of the packets to look at: those of the gap's own numbers, the last one before
  /// and the first one after it.
  [[nodiscard]] std::vector<std::uint64_t> remarkable() const;

 private:
  struct Seen {
    std::uint64_t time_ns = 0;  ///< 0: not seen.
    std::uint64_t place = 0;    ///< In the capture.
  };
  struct Row {
    std::uint64_t sequence = 0;
    std::array<Seen, 2> lines;
  };
  [[nodiscard]] Row* row_of(std::uint64_t sequence) noexcept;
  [[nodiscard]] bool is_missing(std::uint64_t sequence) const noexcept {
    return sequence >= gap_.first && sequence - gap_.first < gap_.count;
  }
  [[nodiscard]] std::string comment_on(std::uint32_t line, std::uint64_t sequence, std::uint64_t time_ns) const;
  [[nodiscard]] std::string conclusion() const;
  [[nodiscard]] std::string table() const;
  void open();

  appliance::GapEntry gap_;
  std::uint64_t first_ = 0;  ///< Numbers that are cut out.
  std::uint64_t last_ = 0;
  std::string capture_;
  std::string text_file_;
  std::optional<Output> out_;
  std::unique_ptr<recorder::PcapngWriter> writer_;
  std::array<std::uint64_t, 2> packets_{};
  bool ignores_times_ = false;
  std::vector<Row> rows_;  ///< By number from first_ on; of a very long gap the first ones.
};

/// Cuts all gaps, which are sorted by time, out of the recordings of the settings. Returns a line on each for people,
/// and how many of them have no packet.
struct CutReport {
  std::string text;
  std::uint64_t empty = 0;
};
[[nodiscard]] CutReport cut_gaps(const std::vector<appliance::GapEntry>& gaps, const appliance::Settings& settings,
                                 const CutOptions& options);

}  // namespace stopbit::tools
