#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "host/appliance/gap_log.hpp"
#include "host/appliance/settings.hpp"
#include "host/cli/common/files.hpp"
#include "host/cli/common/gap_account.hpp"
#include "host/cli/common/gap_scan.hpp"
#include "host/ports/recorder/pcapng_writer.hpp"

/// Cuts gaps out of what an appliance has recorded: for each a capture and a text that explains it.
namespace stopbit::tools {

struct CutOptions {
  std::string folder;
  std::uint64_t around = 10;  ///< Numbers before and after the gap that are cut out with it.
};

/// One gap: keeps the packets around it in a capture.
class GapCut {
 public:
  /// `base_name`: of its files, in the folder of the options.
  GapCut(const appliance::GapEntry& gap, const CutOptions& options, const std::string& base_name);
  GapCut(const GapCut&) = delete;  // its writer points to it
  GapCut& operator=(const GapCut&) = delete;
  ~GapCut() = default;

  void add(const GapPacket& found);
  /// Closes the capture.
  void close();

  [[nodiscard]] GapAccount& account() noexcept { return account_; }
  [[nodiscard]] const GapAccount& account() const noexcept { return account_; }
  [[nodiscard]] const std::string& capture() const noexcept { return capture_; }
  [[nodiscard]] const std::string& text_file() const noexcept { return text_file_; }
  /// For people: the gap, what its packets say, and which line had which numbers.
  [[nodiscard]] std::string text() const;

 private:
  void open();

  GapAccount account_;
  std::string capture_;
  std::string text_file_;
  std::optional<Output> out_;
  std::unique_ptr<recorder::PcapngWriter> writer_;
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
