#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/feed/packet/packet.hpp"
#include "host/ports/out/frame.hpp"
#include "host/ports/recorder/pcapng_writer.hpp"

namespace stopbit::recorder {

struct ArchiveOptions {
  std::string folder;                       ///< Must exist. Files of an earlier run stay, and count.
  std::string name;                         ///< Of the line: letters, digits, '.', '_', '-'; the files begin so.
  std::uint64_t file_bytes = 64U << 20;     ///< Maximum size of a file.
  std::uint64_t total_bytes = 1ULL << 30;   ///< Of files that are not frozen: the oldest goes first.
  std::uint64_t frozen_bytes = 1ULL << 30;  ///< Of frozen files: beyond them, no more are frozen.
  std::uint64_t freeze_before_ns = 30'000'000'000;  ///< Time kept before a gap,
  std::uint64_t freeze_after_ns = 30'000'000'000;   ///< and after it.
};

/// The packets of one line on disk, within a size: files NAME-000001.pcapng, NAME-000002.pcapng, ... of which the
/// oldest is deleted when there are too many bytes. What lies around a gap is frozen: its files are renamed to
/// frozen-NAME-000007.pcapng and stay.
///
/// Does I/O, so it belongs to a thread of its own, never to the one that decodes. A file that cannot be written (a full
/// disk) is given up: its packets are counted as not recorded, and the next attempt comes after a sixteenth of a file.
class Archive {
 public:
  explicit Archive(ArchiveOptions options);
  Archive(Archive&&) noexcept;
  Archive& operator=(Archive&&) = delete;
  ~Archive();

  /// A datagram as it came. Written as an Ethernet frame, whose headers are made from the addresses.
  void add(net::Endpoint source, net::Endpoint group, std::span<const std::byte> payload, std::uint64_t time_ns);

  /// Something was lost at this time: the files around it are kept, those to come included.
  void freeze(std::uint64_t time_ns);

  /// Frozen files belong to the operator, who may have deleted or compressed some: another thread has counted them.
  void set_frozen_bytes(std::uint64_t bytes) noexcept { frozen_bytes_ = bytes; }

  /// Hands what was added to the system.
  void flush();

  struct Counts {
    std::uint64_t recorded = 0;      ///< The system has taken them.
    std::uint64_t not_recorded = 0;  ///< Could not be written.
    std::uint64_t deleted_files = 0;
    std::uint64_t frozen_files = 0;
    std::uint64_t refused_freezes =
        0;                   ///< Files that were not frozen because frozen_bytes were full, or the disk failed.
    std::string last_error;  ///< Error text of the system; empty if there was none.
  };
  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }
  /// Writing has failed, and no bytes have reached the disk since.
  [[nodiscard]] bool is_failing() const noexcept { return is_failing_; }

 private:
  class File;
  struct Closed {
    std::string path;
    std::uint64_t bytes = 0;
    std::uint64_t first_ns = 0;
    std::uint64_t last_ns = 0;
  };

  void find_files();
  void open();
  void close();
  [[nodiscard]] bool make_room();
  [[nodiscard]] bool is_wanted(std::uint64_t first_ns, std::uint64_t last_ns) const noexcept;
  bool freeze(const Closed& file);
  void give_up(int error);
  void fail(const std::string& what);
  void note_success() noexcept;
  void note_recorded() noexcept;

  ArchiveOptions options_;
  egress::FrameBuilder frames_{{}, {}};
  std::unique_ptr<File> file_;
  Closed open_;
  std::deque<Closed> closed_;  ///< Not frozen, oldest first.
  std::uint64_t closed_bytes_ = 0;
  std::uint64_t frozen_bytes_ = 0;
  std::uint64_t next_number_ = 1;
  std::uint64_t failed_bytes_ = 0;  ///< Not written since the last attempt to open a file.
  std::uint64_t pending_ = 0;       ///< Packets added since the last flush.
  bool is_failing_ = false;
  std::uint64_t freeze_from_ns_ = 0;  ///< The latest stretch that is to be kept.
  std::uint64_t freeze_to_ns_ = 0;
  Counts counts_;
};

}  // namespace stopbit::recorder
