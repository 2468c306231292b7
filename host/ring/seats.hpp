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

/// What has become of a reader that the writer waits for.
struct ReaderEvent {
  enum class Kind : std::uint8_t {
    Seated,  ///< It has a seat: it loses nothing from `position` on.
    Left,    ///< It has ended in good order.
    Died,    ///< It was detached: its process is gone.
    Stuck,   ///< It was detached: it did not move while the writer waited for it.
    GivenUp  ///< It was detached: somebody wants the writer to stop waiting.
  };
  Kind kind = Kind::Seated;
  std::uint32_t pid = 0;
  std::uint64_t position = 0;   ///< Of the slots, it has read all below.
  std::uint64_t delivered = 0;  ///< Records.
};

struct Patience {
  std::uint64_t stuck_ns =
      10'000'000'000;  ///< A reader that does not move for so long while it is waited for is stuck.
  /// Told of every reader that comes and goes; from the writer's thread, may be empty.
  std::function<void(const ReaderEvent&)> on_event;
  /// Asked about a hundred times a second while the writer waits: false gives up those it waits for. May be empty.
  std::function<bool()> keep_waiting;
};

/// The writer's side of a lossless ring: gives seats to readers, and waits for the slowest.
///
/// One thread. Looks into a folder, so it makes system calls and allocates; that is why it is for replays and files.
class Seats {
 public:
  /// `folder` is there and empty of what matters.
  Seats(std::string folder, Header& header, Patience patience);
  Seats(const Seats&) = delete;
  Seats& operator=(const Seats&) = delete;
  ~Seats();

  /// Grants a claim of `want`, or less if some reader is behind, but at least `need`: waits until that can be.
  [[nodiscard]] std::uint64_t grant(std::uint64_t need, std::uint64_t want);

  /// Lets new readers sit down, and those that are gone leave. `claim` is the writer's.
  void look(std::uint64_t claim);

  /// What patience says: whether the writer may go on waiting.
  [[nodiscard]] bool keep_waiting() const { return !patience_.keep_waiting || patience_.keep_waiting(); }

  /// Readers that have a seat.
  [[nodiscard]] std::size_t taken() const noexcept;

 private:
  struct Reader {
    std::string name;
    os::Descriptor file;
    os::Mapping mapping;
    std::uint64_t position = 0;  ///< At the last look; never goes back.
    std::uint64_t moved_ns = 0;  ///< When it last moved, or the writer began to wait.
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
  std::vector<std::string> names_;  ///< In the folder, at the last look.
  std::int64_t changed_ns_ = 0;     ///< The folder, then.
};

}  // namespace stopbit::ring
