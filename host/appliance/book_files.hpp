#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "host/appliance/clocks.hpp"
#include "host/appliance/opener/grants.hpp"
#include "host/appliance/record_output.hpp"
#include "host/market/saved/saved_books.hpp"
#include "host/os/disk/disk.hpp"
#include "host/os/shm/segment.hpp"
#include "microcode/base/result.hpp"

/// Files of instruments and books in the state folder, by which a process goes on where the one before it has ended.
/// Each save is a new file with the next number; the last two stay, so that there is a whole one at any time.
namespace stopbit::appliance {

/// How the files of a ring of events are called.
[[nodiscard]] opener::FileSet book_files(const std::string& folder, const std::string& ring);

/// The newest file of a ring that is good.
class FoundBooks {
 public:
  /// Books that were saved longer ago are of no use: nothing tells what the exchange did meanwhile.
  static constexpr std::uint64_t kMostAgeNs = 3'600'000'000'000;
  /// Nor are definitions that were received longer ago: over a week-end with holidays, and not of last month.
  static constexpr std::uint64_t kMostDefinitionAgeNs = 7 * 24 * kMostAgeNs;

  /// `expected` says of which image, map and ring it must be. Failure: there is none, and why the newest is not good.
  [[nodiscard]] static Result<FoundBooks> find(const std::string& folder, const std::string& ring,
                                               const market::SavedHead& expected, std::uint64_t now_ns);

  [[nodiscard]] const market::SavedBooks& books() const noexcept { return *books_; }
  /// Why only the definitions in it are of use; empty: the books are, too.
  [[nodiscard]] const std::string& why_no_books() const noexcept { return why_no_books_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Whether the file was cut meanwhile: what was read is not what was checked.
  [[nodiscard]] bool is_broken() const noexcept { return mapping_.is_broken(); }

 private:
  [[nodiscard]] Status open(const std::string& path, const market::SavedHead& expected, std::uint64_t now_ns);

  std::string path_;
  std::string why_no_books_;
  os::Mapping mapping_;
  std::optional<market::SavedBooks> books_;
};

/// Saves the books of one ring. One thread, which may wait for a disk.
class BookWriter {
 public:
  /// What there is to say about a save: nothing, or why it has failed.
  struct News {
    bool fails = false;
    bool goes_on = false;  ///< It does again.
    std::string why;
  };
  BookWriter(RecordOutput& output, const std::string& folder, std::uint64_t every_ns);
  BookWriter(const BookWriter&) = delete;
  BookWriter& operator=(const BookWriter&) = delete;

  [[nodiscard]] const std::string& ring() const noexcept { return output_->plan().events.ring; }
  /// Writes what has come, and asks for more when it is time.
  [[nodiscard]] News step(std::uint64_t now_ns);
  /// The thread that decodes has ended: saves everything, large books too.
  [[nodiscard]] News finish(std::uint64_t now_ns);
  /// The ring has ended: what was written of a save that is under way goes.
  void abandon();
  [[nodiscard]] const RecordOutput& output() const noexcept { return *output_; }

  // Where BookSaver puts what finish() saves.
  [[nodiscard]] static constexpr std::size_t room() noexcept { return SIZE_MAX; }
  [[nodiscard]] static constexpr std::size_t capacity() noexcept { return SIZE_MAX; }
  void put(const record::Slot& slot);

 private:
  void begin();
  void end(const record::Slot& slot);
  void flush();
  void close();
  void drop();
  void fail(const char* what, int error);
  [[nodiscard]] std::string path_of(std::uint64_t number) const { return set_.folder + "/" + set_.name(number); }

  RecordOutput* output_;
  opener::FileSet set_;
  std::uint64_t every_ns_;
  std::uint64_t next_ns_ = 0;
  std::vector<std::uint64_t> files_;  ///< Numbers of those that exist, rising.
  std::uint64_t next_number_ = 1;

  // Of the save that is under way.
  disk::File file_;
  std::uint64_t number_ = 0;
  std::vector<record::Slot> buffer_;
  std::uint64_t slots_ = 0;  ///< That have come; 0: none.
  std::uint64_t left_ = 0;   ///< Slots of the row until the next one begins.
  std::string problem_;      ///< Of this save.
  bool is_failing_ = false;  ///< The last save failed, and the log says so.
  bool has_ended_ = false;
  bool was_good_ = false;
};

}  // namespace stopbit::appliance
