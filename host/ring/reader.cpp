#include "host/ring/reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "host/os/deadline.hpp"
#include "host/os/shm/folder.hpp"

namespace stopbit::ring {
namespace {

constexpr std::uint64_t kMaxNumber = ~std::uint64_t{0} / 2;  // no ring gets there in 10^5 years
constexpr auto kNap = std::chrono::milliseconds(1);
constexpr std::size_t kBatchSlots = 128;       // and one record: fit the first cache beside what the reader does
constexpr std::uint64_t kNewReaderShare = 16;  // of the ring that must lie between a new reader and the claim
constexpr int kLooks = 1000;                   // at marks that change; each time the writer has moved on

std::uint64_t load(const std::uint64_t& word) noexcept {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

bool read_at(const os::Descriptor& file, void* to, std::size_t bytes, std::uint64_t offset) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = ::pread(file.get(), at, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errno = ENODATA;  // shorter than it says
    if (got <= 0) return false;
    at += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

/// Looks at the part of the header that does not change.
Status check(const Header& header, std::uint64_t file_bytes) {
  if (header.magic != kMagic) return Failure{"it is not a ring"};
  if (header.version != kVersion) {
    return Failure{"it has version " + std::to_string(header.version) + ", this program supports " +
                   std::to_string(kVersion)};
  }
  if (!std::has_single_bit(header.slot_count) || header.slot_count < kMinSlotCount ||
      header.slot_count > kMaxSlotCount) {
    return Failure{"its number of slots is invalid"};
  }
  if (header.max_record_slots == 0 || header.max_record_slots > limits::kMaxRecordSlots ||
      header.max_record_slots > header.slot_count / kMaxRecordShare) {
    return Failure{"its longest record is invalid"};
  }
  if (header.slots_offset % kPageBytes != 0 || header.slots_offset > file_bytes || header.segment_bytes > file_bytes ||
      header.segment_bytes < header.slots_offset ||
      header.segment_bytes - header.slots_offset != header.slot_count * record::kSlotBytes) {
    return Failure{"its lengths do not match its size"};
  }
  if (header.image_offset < kHeaderBytes || header.image_offset > header.slots_offset ||
      header.image_bytes > header.slots_offset - header.image_offset || header.image_bytes > limits::kMaxImageBytes) {
    return Failure{"its image is not between header and slots"};
  }
  return Done{};
}

}  // namespace

Result<Reader> Reader::open(std::string_view name, Start start, const os::Accepted& accepted) {
  Result<os::FoundFile> found = os::open_accepted(name, "", "ring", accepted);
  if (!found) return Failure{found.message()};
  Reader reader;
  reader.path_ = std::move(found.value().path);
  reader.file_ = std::move(found.value().file);
  const std::string path = reader.path_;
  struct stat status {};
  if (::fstat(reader.file_.get(), &status) != 0) return Failure{os::system_error("look at", path)};
  reader.device_ = status.st_dev;
  reader.inode_ = status.st_ino;

  const std::string cannot = "cannot read the ring '" + path + "': ";
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  Header& fixed = reader.fixed_;
  if (!S_ISREG(status.st_mode) || file_bytes < kHeaderBytes || !read_at(reader.file_, &fixed, sizeof(fixed), 0)) {
    return Failure{cannot + "it is not a ring"};
  }
  if (const Status good = check(fixed, file_bytes); !good) return Failure{cannot + good.message()};

  reader.image_.resize(fixed.image_bytes);
  if (!read_at(reader.file_, reader.image_.data(), reader.image_.size(), fixed.image_offset)) {
    return Failure{os::system_error("read", path)};
  }
  if (!reader.mapping_.map(reader.file_, fixed.segment_bytes, os::Mapping::Use::Read)) {
    return Failure{os::system_error("map", path)};
  }
  const auto* slots = reinterpret_cast<const record::Slot*>(reader.mapping_.data() + fixed.slots_offset);
  reader.core_ = ReaderCore<SharedMemory>(reader.header(), slots,
                                          {.slot_count = fixed.slot_count,
                                           .max_record_slots = fixed.max_record_slots,
                                           .claim_step = claim_step(fixed.slot_count)});
  reader.copy_.resize(kBatchSlots + fixed.max_record_slots);
  const bool has_start = reader.find_start(start);
  if (reader.mapping_.is_broken()) return Failure{cannot + reader.damage()};
  if (!has_start) return Failure{cannot + "it gives no position where a record begins"};
  return reader;
}

Result<Reader> Reader::ask_for_seat(std::string_view name, const os::Accepted& accepted) {
  Result<Reader> opened = open(name, Start::Oldest, accepted);
  if (!opened) return opened;
  Reader& reader = opened.value();
  if (reader.mode() != Mode::Lossless) {
    return Failure{"cannot attach to the ring '" + reader.path_ + "': its writer does not wait for readers"};
  }
  const Result<bool> asked = reader.ask();
  if (!asked) return Failure{asked.message()};
  return opened;
}

Result<bool> Reader::take_seat() {
  if (seat_ != kSeats) return true;
  Result<bool> asked = ask();
  if (!asked || !asked.value()) return asked;
  return sit_down();
}

Result<Reader> Reader::attach(std::string_view name, std::uint64_t timeout_ns,
                              const std::function<bool()>& keep_waiting, const os::Accepted& accepted) {
  Result<Reader> opened = ask_for_seat(name, accepted);
  if (!opened) return opened;
  Reader& reader = opened.value();
  const std::string cannot = "cannot attach to the ring '" + reader.path_ + "': ";
  const auto end = os::deadline_after(std::chrono::nanoseconds(std::min<std::uint64_t>(timeout_ns, INT64_MAX)));
  for (;;) {
    const Result<bool> seated = reader.take_seat();
    if (!seated) return Failure{seated.message()};
    if (seated.value() || reader.writer() != WriterState::Running) break;
    if (keep_waiting && !keep_waiting()) return Failure{cannot + "the wait was interrupted"};
    if (std::chrono::steady_clock::now() >= end) return Failure{cannot + "the writer accepts no more readers"};
    std::this_thread::sleep_for(kNap);
  }
  // No writer, or no more: nothing is written over, and all that is left can be read.
  if (reader.seat_ == kSeats && !reader.sit_down()) {
    reader.cursor_ = CursorFile();
    const Mark begin = reader.core_.find_start(0, 0);
    if (begin.number <= kMarkChanges) return Failure{cannot + "it gives no position where a record begins"};
    reader.core_.begin_at(begin);
    reader.first_record_ = begin.records;
  }
  return opened;
}

/// Leaves a cursor for the writer. False if there is no writer, or none yet that looks.
Result<bool> Reader::ask() {
  if (cursor_.ok()) return true;
  if (writer() != WriterState::Running) return false;
  Result<CursorFile> made = CursorFile::create(path_, epoch());
  if (!made) return Failure{made.message()};
  cursor_ = std::move(made).value();
  return cursor_.ok();
}

/// Begins where the writer says, if it has said so.
bool Reader::sit_down() noexcept {
  if (!cursor_.ok()) return false;
  for (std::size_t i = 0; i < kSeats; ++i) {
    const Seat& seat = header().seats[i];
    const std::uint32_t state = __atomic_load_n(&seat.state, __ATOMIC_ACQUIRE);
    if (state == static_cast<std::uint32_t>(SeatState::Free) || load(seat.ticket) != cursor_.cursor().ticket) continue;
    const std::uint64_t number = load(seat.number);
    if (number < fixed_.slot_count || number > kMaxNumber) continue;
    seat_ = i;
    core_.begin_at({.number = number, .records = load(seat.records)});
    first_record_ = core_.next_record();
    move_cursor();
    return true;
  }
  return false;
}

bool Reader::is_detached() const noexcept {
  if (seat_ == kSeats) return false;
  const Seat& seat = header().seats[seat_];
  const std::uint32_t state = __atomic_load_n(&seat.state, __ATOMIC_ACQUIRE);
  return state != static_cast<std::uint32_t>(SeatState::Taken) || load(seat.ticket) != cursor_.cursor().ticket;
}

/// Tells the writer how far this reader is.
void Reader::move_cursor() noexcept {
  Cursor& cursor = cursor_.cursor();
  __atomic_store_n(&cursor.delivered, delivered_, __ATOMIC_RELAXED);
  __atomic_store_n(&cursor.lost, total_lost_.records, __ATOMIC_RELAXED);
  store_position<SharedMemory>(cursor, std::min(core_.position(), kept_));
}

void Reader::keep_from(std::uint64_t number) noexcept {
  kept_ = number;
  if (seat_ != kSeats) move_cursor();
}

bool Reader::go_back(std::uint64_t number, std::uint64_t records) noexcept {
  if (kept_ == ~std::uint64_t{0} || number < kept_ || number > core_.position() || records > core_.next_record()) {
    return false;
  }
  core_.begin_at({.number = number, .records = records});
  pending_ = Poll::Record;
  return true;
}

bool Reader::find_start(Start start) noexcept {
  const bool is_finished =
      __atomic_load_n(&header().state, __ATOMIC_ACQUIRE) == static_cast<std::uint32_t>(State::Finished);
  Mark mark{.number = kMarkChanges, .records = 0};
  for (int i = 0; i < kLooks && mark.number == kMarkChanges; ++i) {
    mark = start == Start::Newest ? core_.find_newest()
                                  : core_.find_start(0, is_finished ? 0 : fixed_.slot_count / kNewReaderShare);
  }
  if (mark.number <= kMarkChanges) return false;
  core_.begin_at(mark);
  // From the newest mark it is not far to the end.
  if (start == Start::Newest) {
    const std::uint64_t head = load(header().head);
    for (std::uint64_t i = 0; i < fixed_.slot_count && core_.position() < head; ++i) {
      std::uint64_t slots = 0;
      const Poll poll = core_.poll(nullptr, slots);
      if (poll == Poll::Nothing || poll == Poll::Damaged) break;
    }
  }
  first_record_ = core_.next_record();
  return true;
}

Poll Reader::poll_batch(std::size_t max_records) noexcept {
  copied_slots_ = 0;
  if (pending_ != Poll::Record) return std::exchange(pending_, Poll::Record);
  const std::uint64_t before = record_number_ = core_.position();
  record_index_ = core_.next_record();
  std::size_t records = 0;
  Poll poll = Poll::Record;
  while (poll == Poll::Record && records < max_records && copied_slots_ <= kBatchSlots) {
    std::uint64_t slots = 0;
    poll = core_.poll(&copy_[copied_slots_], slots);
    if (poll == Poll::Lost) {
      total_lost_.number += core_.lost().number;
      total_lost_.records += core_.lost().records;
    }
    if (poll != Poll::Record) break;
    if (records == 0) record_number_ = core_.position() - slots;
    ++records;
    copied_slots_ += slots;
  }
  if (mapping_.is_broken()) {  // what was copied may be the zeros of a hole
    copied_slots_ = 0;
    return Poll::Damaged;
  }
  delivered_ += records;
  if (seat_ != kSeats && core_.position() != before) move_cursor();
  if (records == 0) return poll;
  if (poll == Poll::Lost || poll == Poll::Damaged) pending_ = poll;  // reported next time
  return Poll::Record;
}

namespace {

/// Numbers slots as the sink's ring does. The first slot waits until all others have been written.
class Renumbered {
 public:
  explicit Renumbered(record::RecordSink& sink) noexcept : sink_(sink) {}  // the words are written before they are read

  [[nodiscard]] bool begin() noexcept {
    const record::RecordSink::Place place = sink_.open();
    slots_ = place.slots;
    stamp_ = place.stamp();
    phase_ = place.phase();
    return true;
  }
  void slot(std::uint64_t number, const std::array<std::uint64_t, record::kSlotWords>& words) noexcept {
    if (number == 0) {
      record::copy_words(first_.words, words.data());
      first_.words[0] = record::stamped(words[0], stamp_);
      first_.words[record::kTagWord] = record::with_phase(words[record::kTagWord], phase_);
      return;
    }
    record::Slot& to = slots_[number];
    [&]<std::size_t... word>(std::index_sequence<word...>) {
      (record::store_word(to.words[word], words[word]), ...);
    }
    (std::make_index_sequence<record::kTagWord>());
    record::store_word(to.words[record::kTagWord], record::with_phase(words[record::kTagWord], phase_));
  }
  void commit(std::uint32_t slots) noexcept { sink_.commit(first_, slots); }

 private:
  record::RecordSink& sink_;
  record::Slot* slots_ = nullptr;
  std::uint32_t stamp_ = 0;
  bool phase_ = false;
  record::Slot first_;
};

}  // namespace

Poll Reader::copy_to(record::RecordSink& sink, std::uint32_t& slots) noexcept {
  copied_slots_ = 0;
  slots = 0;
  if (pending_ != Poll::Record) return std::exchange(pending_, Poll::Record);
  const std::uint64_t before = core_.position();
  record_index_ = core_.next_record();
  Renumbered to(sink);
  std::uint64_t taken = 0;
  const Poll poll = core_.poll_to(to, taken);
  if (mapping_.is_broken()) return Poll::Damaged;  // before the copy counts
  record_number_ = core_.position() - taken;
  if (poll == Poll::Record) {
    slots = static_cast<std::uint32_t>(taken);
    to.commit(slots);
    ++delivered_;
  } else if (poll == Poll::Lost) {
    total_lost_.number += core_.lost().number;
    total_lost_.records += core_.lost().records;
  }
  if (seat_ != kSeats && core_.position() != before) move_cursor();
  return poll;
}

WriterState Reader::writer() const noexcept {
  if (mapping_.is_broken()) return WriterState::Dead;
  // A writer says that it has finished before it lets go of the lock.
  const bool is_alive = is_locked(file_);
  const std::uint32_t state = __atomic_load_n(&header().state, __ATOMIC_ACQUIRE);
  if (state == static_cast<std::uint32_t>(State::Finished)) return WriterState::Finished;
  return is_alive ? WriterState::Running : WriterState::Dead;
}

bool Reader::replaced() const noexcept {
  struct stat status {};
  return ::lstat(path_.c_str(), &status) == 0 && (status.st_ino != inode_ || status.st_dev != device_);
}

std::uint64_t Reader::published() const noexcept {
  return load(header().records);
}

std::uint64_t Reader::heartbeat_ns() const noexcept {
  return load(header().heartbeat_ns);
}

}  // namespace stopbit::ring
