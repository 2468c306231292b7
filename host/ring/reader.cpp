#include "host/ring/reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <limits>

#include "host/ring/name.hpp"

namespace stopbit::ring {
namespace {

constexpr std::uint64_t kMaxNumber = std::numeric_limits<std::uint64_t>::max() / 2;  // no ring gets there in 10^5 years

std::uint64_t load(const std::uint64_t& word) noexcept {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

bool read_at(const Descriptor& file, void* to, std::size_t bytes, std::uint64_t offset) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = ::pread(file.get(), at, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

/// What is wrong with the part of the header that does not change; empty if nothing is.
std::string problem_of(const Header& header, std::uint64_t file_bytes) {
  if (header.magic != kMagic) return "it is no ring";
  if (header.version != kVersion) {
    return "it has version " + std::to_string(header.version) + ", this program reads " + std::to_string(kVersion);
  }
  if (!std::has_single_bit(header.slot_count) || header.slot_count < kMinSlotCount ||
      header.slot_count > kMaxSlotCount) {
    return "its number of slots is impossible";
  }
  if (header.max_record_slots == 0 || header.max_record_slots > limits::kMaxRecordSlots ||
      header.max_record_slots > header.slot_count / kMaxRecordShare) {
    return "its longest record is impossible";
  }
  if (header.slots_offset % kPageBytes != 0 || header.slots_offset > file_bytes || header.segment_bytes > file_bytes ||
      header.segment_bytes < header.slots_offset ||
      header.segment_bytes - header.slots_offset != header.slot_count * record::kSlotBytes) {
    return "its lengths do not fit its size";
  }
  if (header.image_offset < kHeaderBytes || header.image_offset > header.slots_offset ||
      header.image_bytes > header.slots_offset - header.image_offset || header.image_bytes > limits::kMaxImageBytes) {
    return "its image does not lie between header and slots";
  }
  return {};
}

}  // namespace

Result<Reader> Reader::open(std::string_view name, Start start) {
  const Result<std::string> path = path_of(name);
  if (!path) return Failure{path.message()};
  Reader reader;
  reader.path_ = path.value();
  reader.file_ = Descriptor(::open(path.value().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!reader.file_.ok()) return Failure{system_error("open the ring", path.value())};
  struct stat status {};
  if (::fstat(reader.file_.get(), &status) != 0) return Failure{system_error("look at", path.value())};
  reader.device_ = status.st_dev;
  reader.inode_ = status.st_ino;

  const std::string cannot = "cannot read the ring '" + path.value() + "': ";
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  Header& fixed = reader.fixed_;
  if (!S_ISREG(status.st_mode) || file_bytes < kHeaderBytes || !read_at(reader.file_, &fixed, sizeof(fixed), 0)) {
    return Failure{cannot + "it is no ring"};
  }
  const std::string problem = problem_of(fixed, file_bytes);
  if (!problem.empty()) return Failure{cannot + problem};

  reader.image_.resize(fixed.image_bytes);
  if (!read_at(reader.file_, reader.image_.data(), reader.image_.size(), fixed.image_offset)) {
    return Failure{system_error("read", path.value())};
  }
  constexpr std::uint64_t kBlockBytes = 512;  // of st_blocks
  const bool is_sparse = static_cast<std::uint64_t>(status.st_blocks) * kBlockBytes < fixed.segment_bytes;
  if (!reader.mapping_.map(reader.file_, fixed.segment_bytes,
                           is_sparse ? Mapping::Use::ReadSparse : Mapping::Use::Read)) {
    return Failure{system_error("map", path.value())};
  }
  reader.slots_ = reinterpret_cast<const record::Slot*>(reader.mapping_.data() + fixed.slots_offset);
  reader.copy_.resize(fixed.max_record_slots);

  if (start == Start::Newest) {
    reader.position_ = load(reader.header().head);
  } else {
    const bool is_finished =
        __atomic_load_n(&reader.header().state, __ATOMIC_ACQUIRE) == static_cast<std::uint32_t>(State::Finished);
    reader.position_ = reader.find_start(0, is_finished ? 0 : claim_step(fixed.slot_count));
  }
  if (reader.position_ < fixed.slot_count || reader.position_ > kMaxNumber) {
    return Failure{cannot + "it says of no place that a record begins there"};
  }
  return reader;
}

Poll Reader::poll() noexcept {
  record_slots_ = 0;
  for (int records = 0; records < 2; ++records) {  // padding and what follows it
    const record::Slot& first = slot(position_);
    // In this order: the writer clears word 0 before it sets the tags, and sets it again when the record is complete.
    const std::uint64_t tags = load(first.words[record::kTagWord]);
    const std::uint64_t word0 = load(first.words[0]);
    const bool is_there = (tags & kFirstSlotMask) == first_slot_tags(phase_of(position_, fixed_.slot_count)) &&
                          word0 >> 32 == (position_ & 0xFFFF'FFFF);
    if (!is_there) return is_overtaken() ? resume() : Poll::Nothing;

    const std::uint64_t total = word0 >> 16 & 0xFFFF;
    const std::uint64_t rest = fixed_.slot_count - (position_ & (fixed_.slot_count - 1));
    const bool is_pad = (word0 & 0xFFFF) == record::kPadIndex;
    const bool is_possible = total != 0 && total <= fixed_.max_record_slots && (is_pad ? total == rest : total <= rest);
    if (is_possible && !is_pad) {
      for (std::uint64_t i = 0; i < total; ++i) {
        const record::Slot& from = slot(position_ + i);
        for (std::size_t word = 0; word < record::kSlotWords; ++word) {
          copy_[i].words[word] = __atomic_load_n(&from.words[word], __ATOMIC_RELAXED);
        }
      }
      copy_[0].words[0] = word0;
    }
    if (is_overtaken()) return resume();
    if (!is_possible) return Poll::Damaged;
    record_number_ = position_;
    position_ += total;
    if (!is_pad) {
      record_slots_ = total;
      return Poll::Record;
    }
  }
  return Poll::Damaged;  // the writer never pads twice
}

/// Whether the writer may have written to the slot at the position since the reader came to it. What was loaded before
/// is whole if not.
bool Reader::is_overtaken() const noexcept {
  acquire_fence();
  return __atomic_load_n(&header().claim, __ATOMIC_RELAXED) > position_ + fixed_.slot_count;
}

Poll Reader::resume() noexcept {
  // Half a ring ahead of the writer: it must not be overtaken again at once.
  const std::uint64_t next = find_start(position_, fixed_.slot_count / 2);
  if (next <= position_ || next > kMaxNumber) return Poll::Damaged;
  lost_ = next - position_;
  total_lost_ += lost_;
  position_ = next;
  return Poll::Lost;
}

/// The oldest marked record behind `after` that the writer cannot reach before it has claimed `margin` more slots. If
/// there is none, the next record to come.
std::uint64_t Reader::find_start(std::uint64_t after, std::uint64_t margin) const noexcept {
  const std::uint64_t claim = load(header().claim);
  const std::uint64_t head = load(header().head);
  std::uint64_t best = head;
  for (const std::uint64_t& word : header().marks) {
    const std::uint64_t mark = load(word);
    const bool is_safe = mark <= claim && claim - mark <= fixed_.slot_count - margin;
    if (mark > after && mark < best && is_safe) best = mark;
  }
  return best;
}

WriterState Reader::writer() const noexcept {
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

std::uint64_t Reader::heartbeat_ns() const noexcept {
  return load(header().heartbeat_ns);
}

}  // namespace stopbit::ring
