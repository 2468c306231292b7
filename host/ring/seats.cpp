#include "host/ring/seats.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "host/os/clock.hpp"
#include "host/ring/cursor.hpp"
#include "host/ring/spin.hpp"

namespace stopbit::ring {
namespace {

constexpr std::size_t kNameDigits = 16;
constexpr std::uint64_t kLookIntervalNs = 10'000'000;
constexpr int kSpins = 1000;
constexpr long kNapNs = 50'000;
constexpr std::int64_t kTickNs = 100'000'000;

void nap() noexcept {
  const timespec time{.tv_sec = 0, .tv_nsec = kNapNs};
  ::nanosleep(&time, nullptr);
}

bool is_cursor_name(const std::string& name) {
  return name.size() == kNameDigits && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// Nothing if the system does not say: then no reader counts as dead.
std::optional<std::vector<std::string>> names_in(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(folder.c_str()), ::closedir);
  if (!entries) return std::nullopt;
  while (const dirent* entry = ::readdir(entries.get())) {
    if (is_cursor_name(entry->d_name)) names.emplace_back(entry->d_name);
  }
  return names;
}

}  // namespace

Seats::Seats(std::string folder, Header& header, Patience patience)
    : folder_(std::move(folder)), header_(header), patience_(std::move(patience)) {
  readers_.reserve(kSeats);
}

Seats::~Seats() {
  patience_.on_event = {};  // no more news
  names_ = names_in(folder_).value_or(std::move(names_));
  release_seats();
  ::rmdir(folder_.c_str());  // unless readers are still there
}

std::size_t Seats::taken() const noexcept {
  return static_cast<std::size_t>(
      std::count_if(readers_.begin(), readers_.end(), [](const Reader& reader) { return !reader.is_detached; }));
}

std::uint64_t Seats::grant(std::uint64_t need, std::uint64_t want) {
  const std::uint64_t claim = header_.claim;  // ours: no other process stores it
  look(claim);
  std::uint64_t next_look_ns = 0;
  for (int spins = 0;; ++spins) {
    const std::uint64_t granted = claimable(want, least_position(), header_.slot_count);
    if (granted >= need) return granted;
    if (spins < kSpins) {
      Spin::pause();
      continue;
    }
    const std::uint64_t now = os::monotonic_clock_ns();
    if (next_look_ns == 0) {
      for (Reader& reader : readers_) reader.moved_ns = now;
    }
    if (now >= next_look_ns) {
      next_look_ns = now + kLookIntervalNs;
      detach_those_behind(need - header_.slot_count, now);
      look(claim);
    }
    nap();
  }
}

void Seats::look(std::uint64_t claim) {
  const bool is_new = has_changed();
  if (is_new) names_ = names_in(folder_).value_or(std::move(names_));
  release_seats();  // first: the folder that says who has left does not change again for those who wait for a seat
  if (!is_new) return;
  for (const std::string& name : names_) {
    const bool is_known =
        std::any_of(readers_.begin(), readers_.end(), [&](const Reader& reader) { return reader.name == name; });
    if (!is_known) admit(name, claim);
  }
}

/// Releases the seats of dead readers. A detached reader that lives keeps its seat, to learn that it is detached.
void Seats::release_seats() {
  for (std::size_t i = 0; i < readers_.size();) {
    Reader& reader = readers_[i];
    const bool is_named = std::find(names_.begin(), names_.end(), reader.name) != names_.end();
    if (is_named && is_locked(reader.file) && !reader.mapping.is_broken()) {
      ++i;
      continue;
    }
    update(reader);
    if (!reader.is_detached) tell(reader, how_it_ended(reader));
    ::unlink((folder_ + '/' + reader.name).c_str());
    set_state(reader.seat, SeatState::Free);
    readers_.erase(readers_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

/// Whether the folder may hold other files than at the last look. Its time has the grain of the kernel's tick.
bool Seats::has_changed() noexcept {
  struct stat status {};
  if (::stat(folder_.c_str(), &status) != 0) {
    // The last reader of the ring before this one has taken it away.
    if (errno == ENOENT) (void)make_readers_folder(folder_);  // seen at the next look; without it no reader gets a seat
    return false;
  }
  const auto now_ns = static_cast<std::int64_t>(os::wall_clock_ns());
  const std::int64_t changed_ns = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
  const bool is_old = changed_ns == changed_ns_ && now_ns - changed_ns > kTickNs;
  changed_ns_ = changed_ns;
  return !is_old;
}

/// Gives a free seat to a reader that has made its cursor. A file that is no cursor of this ring is left alone.
void Seats::admit(const std::string& name, std::uint64_t claim) {
  const auto* const free_seat = std::find_if(std::begin(header_.seats), std::end(header_.seats), [](const Seat& seat) {
    return seat.state == static_cast<std::uint32_t>(SeatState::Free);
  });
  if (free_seat == std::end(header_.seats)) return;

  const std::string path = folder_ + '/' + name;
  Reader reader;
  reader.name = name;
  reader.file = os::Descriptor(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!reader.file.ok() || ::fstat(reader.file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size < static_cast<off_t>(kCursorBytes) || !is_locked(reader.file) ||
      !reader.mapping.map(reader.file, kCursorBytes, os::Mapping::Use::Read)) {
    return;
  }
  const Cursor& cursor = reader.cursor();  // zeros, hence none, if the file is shorter by now
  if (cursor.magic != kCursorMagic || cursor.version != kVersion || cursor.epoch != header_.epoch ||
      cursor.ticket != std::strtoull(name.c_str(), nullptr, 16)) {
    return;
  }
  const Mark begin = begin_mark(claim);
  reader.position = begin.number;
  reader.moved_ns = os::monotonic_clock_ns();
  reader.seat = static_cast<std::size_t>(free_seat - header_.seats);
  Seat& seat = header_.seats[reader.seat];
  seat.ticket = cursor.ticket;
  seat.number = begin.number;
  seat.records = begin.records;
  set_state(reader.seat, SeatState::Taken);
  tell(reader, ReaderEvent::Kind::Seated);
  readers_.push_back(std::move(reader));
}

/// The oldest mark that is not claimed. There is one: the last lies right after the claim before this one.
Mark Seats::begin_mark(std::uint64_t claim) const noexcept {
  Mark oldest{.number = std::numeric_limits<std::uint64_t>::max(), .records = 0};
  for (const Mark& mark : header_.marks) {
    if (mark.number >= header_.slot_count && claim - mark.number <= header_.slot_count && mark.number < oldest.number) {
      oldest = mark;
    }
  }
  return oldest;
}

/// Of all seats; if there are none, a position that holds nothing back.
std::uint64_t Seats::least_position() noexcept {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (Reader& reader : readers_) {
    if (reader.is_detached) continue;
    update(reader);
    least = std::min(least, reader.position);
  }
  return least;
}

void Seats::update(Reader& reader) noexcept {
  const std::uint64_t position = load_position<SharedMemory>(reader.cursor());
  if (position <= reader.position) return;
  reader.position = position;
  reader.moved_ns = 0;  // looked up when it matters
}

void Seats::detach_those_behind(std::uint64_t least, std::uint64_t now_ns) {
  const bool gives_up = !keep_waiting();
  for (Reader& reader : readers_) {
    if (reader.is_detached || reader.position >= least) continue;
    if (reader.moved_ns == 0) reader.moved_ns = now_ns;
    if (!is_locked(reader.file) || reader.mapping.is_broken()) {
      detach(reader, how_it_ended(reader));
    } else if (gives_up) {
      detach(reader, ReaderEvent::Kind::GivenUp);
    } else if (now_ns - reader.moved_ns >= patience_.stuck_ns) {
      detach(reader, ReaderEvent::Kind::Stuck);
    }
  }
}

/// How a reader without a lock ended. A reader that leaves removes its cursor before it releases the lock.
ReaderEvent::Kind Seats::how_it_ended(const Reader& reader) const {
  const bool has_cursor = ::access((folder_ + '/' + reader.name).c_str(), F_OK) == 0;
  return has_cursor ? ReaderEvent::Kind::Died : ReaderEvent::Kind::Left;
}

void Seats::detach(Reader& reader, ReaderEvent::Kind why) {
  reader.is_detached = true;
  set_state(reader.seat, SeatState::Detached);
  tell(reader, why);
}

void Seats::set_state(std::size_t seat, SeatState state) noexcept {
  __atomic_store_n(&header_.seats[seat].state, static_cast<std::uint32_t>(state), __ATOMIC_RELEASE);
}

void Seats::tell(const Reader& reader, ReaderEvent::Kind kind) const {
  if (!patience_.on_event) return;
  patience_.on_event({.kind = kind,
                      .pid = reader.cursor().reader_pid,
                      .position = reader.position,
                      .delivered = __atomic_load_n(&reader.cursor().delivered, __ATOMIC_RELAXED)});
}

}  // namespace stopbit::ring
