#include "host/ring/writer.hpp"

#include <unistd.h>

#include <chrono>
#include <thread>
#include <vector>

#include "host/os/clock.hpp"
#include "host/os/shm/name.hpp"
#include "host/os/shm/publish.hpp"
#include "host/ring/cursor.hpp"
#include "host/ring/header.hpp"
#include "microcode/image/image.hpp"

namespace stopbit::ring {
namespace {

constexpr std::uint64_t kPrefetchSlots = 32;
constexpr std::uint64_t kSoonSlots = 9;
constexpr std::uint64_t kSoonShort = 2;  // where records have one slot
constexpr auto kWaitForReaders = std::chrono::milliseconds(1);

/// Whether what a dead writer left can be made again.
bool is_copy(const os::Descriptor& file) {
  Header header{};
  return ::pread(file.get(), &header, sizeof(header), 0) == static_cast<ssize_t>(sizeof(header)) &&
         header.origin == static_cast<std::uint32_t>(Origin::Copy);
}

}  // namespace

Result<Writer> Writer::create(std::string_view name, const Program& program, const WriterOptions& options) {
  Result<Writer> writer = prepare(name, program, options);
  if (!writer) return writer;
  if (const Status named = writer.value().take_name(); !named) return Failure{named.message()};
  return writer;
}

Result<Writer> Writer::prepare(std::string_view name, const Program& program, const WriterOptions& options) {
  const Result<std::string> path = os::path_of(name);
  if (!path) return Failure{path.message()};
  if (const Status fits = check_slot_count(program, options.slot_count); !fits) return Failure{fits.message()};
  const std::vector<std::byte> image = image::write(program);
  const SegmentPlan plan = plan_segment(image.size(), options.slot_count);

  Writer writer;
  writer.path_ = path.value();
  writer.is_short_ = options.is_short;
  const os::SegmentKind kind = {.magic = kMagic,
                                .noun = "ring",
                                .own = options.replaces != nullptr ? &options.replaces->file_ : nullptr,
                                .may_replace = options.spares_originals ? is_copy : nullptr,
                                .writer_at = offsetof(Header, writer_pid)};
  writer.unnamed_.reset(new Unnamed{os::NewSegment(path.value(), kind), options.lossless});
  writer.file_ = writer.unnamed_->segment.create();
  if (!writer.file_.ok()) return Failure{writer.unnamed_->segment.problem()};
  if (!lock(writer.file_)) return Failure{os::system_error("lock", path.value())};
  if (!writer.mapping_.create(writer.file_, plan.segment_bytes)) {
    return Failure{os::no_memory(writer.file_, path.value(), plan.segment_bytes)};
  }

  const Mode mode = options.lossless ? Mode::Lossless : Mode::Lossy;
  Header& header = write_header(writer.mapping_.data(), program, image, options.slot_count, options.image_generation,
                                mode, options.origin);
  header.tables_epoch = options.tables_epoch;
  auto* slots = reinterpret_cast<record::Slot*>(writer.mapping_.data() + plan.slots_offset);
  writer.core_ = WriterCore<SharedMemory>(header, slots,
                                          {.slot_count = options.slot_count,
                                           .max_record_slots = program.max_record_slots,
                                           .claim_step = claim_step(options.slot_count)});

  return writer;
}

Status Writer::take_name() {
  if (const Status published = unnamed_->segment.publish(file_); !published) return published;
  const std::optional<Patience> lossless = unnamed_->lossless;
  unnamed_.reset();
  if (lossless) {
    // The name is ours by now, so the folder is too.
    const std::string folder = readers_folder(path_);
    if (const Status there = make_readers_folder(folder); !there) return there;
    seats_ = std::make_unique<Seats>(folder, header(), *lossless);
  }
  return Done{};
}

Writer::~Writer() {
  if (mapping_.data() != nullptr) finish();
}

std::uint64_t Writer::epoch() const noexcept {
  return header().epoch;
}

void Writer::make_room() noexcept {
  if (seats_) {
    core_.make_room([this](std::uint64_t need, std::uint64_t want) { return seats_->grant(need, want); });
  } else {
    core_.make_room(WriterCore<SharedMemory>::Ungated());
  }
}

record::RecordSink::Place Writer::open() noexcept {
  if (!core_.has_room()) make_room();
  const std::uint64_t number = core_.number();
  // A reader that polls holds the first slot, and its processor may have fetched the neighbours since the last commit.
  // They are back when the record is decoded; without this, the commit waits for one after the other.
  for (std::uint64_t i = is_short_ ? kSoonShort : kSoonSlots; i-- > 0;) prefetch_to_write(&core_.slot(number + i));
  return {&core_.slot(number), static_cast<std::uint32_t>(number), phase_of(number, core_.geometry().slot_count)};
}

inline void Writer::prefetch() noexcept {
  // After the commit, because nothing waits for this. Readers still hold the lines of the last lap.
  const std::uint64_t number = core_.number();
  if (prefetched_ < number) prefetched_ = number;
  for (; prefetched_ < number + kPrefetchSlots; ++prefetched_) prefetch_to_write(&core_.slot(prefetched_));
}

void Writer::commit(const record::Slot& first, std::uint32_t slots) noexcept {
  core_.commit(first, slots);
  prefetch();
}

void Writer::put(const std::uint64_t (&words)[record::kSlotWords]) noexcept {
  if (!core_.has_room()) [[unlikely]]
    make_room();
  core_.put(words);
  prefetch();
}

bool Writer::wait_for_readers(std::size_t readers, const std::function<void()>& each) {
  while (seats_ && seats_->taken() < readers) {
    seats_->look(core_.claim());
    if (seats_->taken() >= readers) break;
    if (!seats_->keep_waiting()) return false;
    record::store_word(header().heartbeat_ns, os::wall_clock_ns());
    if (each) each();
    std::this_thread::sleep_for(kWaitForReaders);
  }
  return true;
}

void Writer::beat(std::uint64_t now_ns) noexcept {
  record::store_word(header().heartbeat_ns, now_ns);
  if (seats_) seats_->look(core_.claim());
}

void Writer::finish() noexcept {
  __atomic_store_n(&header().state, static_cast<std::uint32_t>(State::Finished), __ATOMIC_RELEASE);
}

void Writer::unlink() const noexcept {
  if (is_at(file_, path_)) ::unlink(path_.c_str());
}

}  // namespace stopbit::ring
