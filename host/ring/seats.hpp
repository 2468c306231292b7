#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "host/os/shm/segment.hpp"
#include "host/ring/layout.hpp"
#include "host/ring/memory.hpp"
#include "host/ring/protocol.hpp"

namespace stopbit::ring {

/// A change of a reader that the writer waits for.
struct ReaderEvent {
  enum class Kind : std::uint8_t {
    Seated,  ///< It is attached: it loses nothing from `position` on.
    Left,    ///< It ended normally.
    Died,    ///< It was detached because its process died.
    Stuck,   ///< It was detached because it did not move while the writer waited for it.
    GivenUp  ///< It was detached because keep_waiting ended the wait.
  };
  Kind kind = Kind::Seated;
  std::uint32_t pid = 0;
  std::uint64_t position = 0;   ///< It has read all slots below this number.
  std::uint64_t delivered = 0;  ///< Records.
};

struct Patience {
  std::uint64_t stuck_ns =
      10'000'000'000;  ///< A reader is stuck if it does not move for this long while the writer waits for it.
  /// Called for each reader that joins or leaves, on the writer's thread. May be empty.
  std::function<void(const ReaderEvent&)> on_event;
  /// Called repeatedly while the writer waits; false detaches the readers it waits for. May be empty.
  std::function<bool()> keep_waiting;
};

/// The writer's side of a lossless ring: admits readers and waits for the slowest.
///
/// One thread. It reads a folder, makes system calls and allocates; therefore for replays and files only.
class Seats {
 public:
  /// `folder` must exist and contain no cursors in use.
  Seats(std::string folder, Header& header, Patience patience);
  Seats(const Seats&) = delete;
  Seats& operator=(const Seats&) = delete;
  ~Seats();

  /// Grants a claim of `want`, or less if a reader has fallen behind, but at least `need`. Waits until that is
  /// possible.
  [[nodiscard]] std::uint64_t grant(std::uint64_t need, std::uint64_t want);

  /// Admits new readers and removes those that have ended. `claim` is the writer's.
  void look(std::uint64_t claim);

  /// Whether the writer may continue to wait, according to patience.
  [[nodiscard]] bool keep_waiting() const { return !patience_.keep_waiting || patience_.keep_waiting(); }

  /// Number of attached readers.
  [[nodiscard]] std::size_t taken() const noexcept;

 private:
  struct Reader {
    std::string name;
    os::Descriptor file;
    os::Mapping mapping;
    std::uint64_t position = 0;  ///< At the last look; never goes back.
    std::uint64_t moved_ns = 0;  ///< Time of its last move, or of the beginning of the wait.
    std::size_t seat = 0;
    bool is_detached = false;

    [[nodiscard]] const Cursor& cursor() const noexcept { return *reinterpret_cast<const Cursor*>(mapping.data()); }
  };

  [[nodiscard]] bool has_changed() noexcept;
  void release_seats();
  void admit(const std::string& name, std::uint64_t claim);
  [[nodiscard]] Mark begin_mark(std::uint64_t claim) const noexcept;
  [[nodiscard]] std::uint64_t least_position() noexcept;
  void update(Reader& reader) noexcept;
  [[nodiscard]] ReaderEvent::Kind how_it_ended(const Reader& reader) const;
  void detach(Reader& reader, ReaderEvent::Kind why);
  void detach_those_behind(std::uint64_t least, std::uint64_t now_ns);
  void set_state(std::size_t seat, SeatState state) noexcept;
  void tell(const Reader& reader, ReaderEvent::Kind kind) const;

  std::string folder_;
  Header& header_;
  Patience patience_;
  std::vector<Reader> readers_;
  std::vector<std::string> names_;  ///< Files in the folder when it was last read.
  std::int64_t changed_ns_ = 0;     ///< Modification time of the folder at that time.
};

}  // namespace stopbit::ring
