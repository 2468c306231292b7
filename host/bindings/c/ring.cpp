#include "host/bindings/c/handles.hpp"
#include "host/os/shm/folder.hpp"
#include "host/os/shm/name.hpp"
#include "host/ring/reader.hpp"

using namespace stopbit;  // NOLINT(google-build-using-namespace): the functions themselves are global

struct stopbit_ring {
  stopbit_ring() noexcept {
    record.owner = this;
    record.settle = [](void* ring) noexcept { static_cast<stopbit_ring*>(ring)->settle(); };
  }
  stopbit_ring(const stopbit_ring&) = delete;
  stopbit_ring& operator=(const stopbit_ring&) = delete;
  ~stopbit_ring() = default;

  /// Whether a callback is running: a batch's, or that of a walk through the record of a poll.
  [[nodiscard]] bool is_busy() const noexcept { return busy || record.walks != 0; }
  /// For those who ask; a ring that is about to be closed is closed.
  [[nodiscard]] const ring::Reader* open_reader() const noexcept { return reader && !closed ? &*reader : nullptr; }
  void close() noexcept {
    record.detach();
    taken = {};
    reader.reset();
    closed = false;
  }
  /// Does what callbacks have asked for. The handle may not exist afterwards.
  void settle() noexcept {
    if (is_busy()) return;
    if (freed) {
      delete this;
    } else if (closed) {
      close();
    }
  }

  std::optional<ring::Reader> reader;
  std::optional<uid_t> user;            ///< Whose rings are accepted, too.
  std::span<const record::Slot> taken;  ///< Copied out of the ring by a batch, not yet handed out.
  capi::SharedPtr shared;
  stopbit_record record;
  bool busy = false;
  bool closed = false;  ///< By a callback,
  bool freed = false;   ///< and freed.
  capi::ErrorText error;
};

namespace {

constexpr char kNotOpen[] = "the ring is not open";

/// Takes the next record into `ring.record`, of which up to `most` are copied at once. As stopbit_ring_poll.
int take(stopbit_ring& ring, std::size_t most) noexcept {
  ring.record.detach();
  if (ring.taken.empty()) {
    switch (ring.reader->poll_batch(most)) {
      case ring::Poll::Record: break;
      case ring::Poll::Nothing: return STOPBIT_POLL_NOTHING;
      case ring::Poll::Lost: return STOPBIT_POLL_LOST;
      case ring::Poll::Damaged: return ring.error.set(STOPBIT_ERROR_INPUT, ring.reader->damage());
    }
    ring.taken = ring.reader->slots();
  }
  const std::span<const record::Slot> first = *ring::Records(ring.taken).begin();
  ring.taken = ring.taken.subspan(first.size());
  ring.record.attach(ring.shared, first);
  return STOPBIT_POLL_RECORD;
}

/// Replaces what the handle holds if `open` gives a reader.
template <class Open>
stopbit_status open_with(stopbit_ring* ring, const char* name, Open open) noexcept {
  if (ring == nullptr || ring->is_busy()) return STOPBIT_ERROR_ARGUMENT;
  return capi::guarded(ring->error, [&] {
    if (name == nullptr) return ring->error.set(STOPBIT_ERROR_ARGUMENT, "name is NULL");
    if (const auto path = os::path_of(name); !path) {
      return ring->error.set_copy(STOPBIT_ERROR_ARGUMENT, path.message());
    }
    Result<ring::Reader> opened = open();
    if (!opened) return ring->error.set_copy(STOPBIT_ERROR_SYSTEM, opened.message());
    auto shared =
        std::make_shared<const capi::Shared>(consumer::load_image(opened.value().image(), opened.value().path()));
    ring->record.detach();
    ring->taken = {};
    ring->reader.emplace(std::move(opened).value());
    ring->shared = std::move(shared);
    return STOPBIT_OK;
  });
}

}  // namespace

std::optional<uid_t> capi::accepted_user(const char* user) {
  if (user == nullptr) return std::nullopt;
  const std::optional<uid_t> number = os::user_number(user);
  if (!number) throw consumer::Failed(consumer::Fault::Usage, "this machine has no such user");
  return number;
}

const ring::Reader* capi::reader_of(const stopbit_ring* ring) noexcept {
  return ring != nullptr ? ring->open_reader() : nullptr;
}

stopbit_ring* stopbit_ring_new() {
  return new (std::nothrow) stopbit_ring;
}

void stopbit_ring_free(stopbit_ring* ring) {
  if (ring != nullptr && ring->is_busy()) {
    ring->freed = ring->closed = true;
    return;
  }
  delete ring;
}

const char* stopbit_ring_error(const stopbit_ring* ring) {
  return ring != nullptr ? ring->error.c_str() : "the ring is NULL";
}

stopbit_status stopbit_ring_accept(stopbit_ring* ring, const char* user) {
  if (ring == nullptr || ring->busy) return STOPBIT_ERROR_ARGUMENT;
  return capi::guarded(ring->error, [&] {
    ring->user = capi::accepted_user(user);
    return STOPBIT_OK;
  });
}

stopbit_status stopbit_ring_open(stopbit_ring* ring, const char* name, int start) {
  return open_with(ring, name, [&] {
    if (start != STOPBIT_START_OLDEST && start != STOPBIT_START_NEWEST) {
      throw consumer::Failed(consumer::Fault::Usage, "start is neither oldest nor newest");
    }
    return ring::Reader::open(name, start == STOPBIT_START_NEWEST ? ring::Start::Newest : ring::Start::Oldest,
                              os::Accepted(ring->user));
  });
}

stopbit_status stopbit_ring_attach(stopbit_ring* ring, const char* name, uint64_t timeout_ns) {
  return open_with(ring, name, [&] { return ring::Reader::attach(name, timeout_ns, {}, os::Accepted(ring->user)); });
}

int stopbit_ring_is_detached(const stopbit_ring* ring) {
  return ring != nullptr && ring->open_reader() != nullptr && ring->reader->is_detached() ? 1 : 0;
}

void stopbit_ring_close(stopbit_ring* ring) {
  if (ring == nullptr) return;
  ring->closed = true;
  ring->settle();
}

int stopbit_ring_poll(stopbit_ring* ring, stopbit_record** record) {
  if (record != nullptr) *record = nullptr;
  if (ring == nullptr || ring->is_busy()) return STOPBIT_ERROR_ARGUMENT;
  ring->error.clear();
  if (record == nullptr) return ring->error.set(STOPBIT_ERROR_ARGUMENT, "record is NULL");
  if (!ring->reader) return ring->error.set(STOPBIT_ERROR_ARGUMENT, kNotOpen);
  const int found = take(*ring, 1);
  if (found == STOPBIT_POLL_RECORD) *record = &ring->record;
  return found;
}

int stopbit_ring_batch(stopbit_ring* ring, size_t most, stopbit_record_callback callback, void* user, size_t* taken) {
  if (taken != nullptr) *taken = 0;
  if (ring == nullptr || ring->is_busy()) return STOPBIT_ERROR_ARGUMENT;
  ring->error.clear();
  if (callback == nullptr) return ring->error.set(STOPBIT_ERROR_ARGUMENT, "callback is NULL");
  if (!ring->reader) return ring->error.set(STOPBIT_ERROR_ARGUMENT, kNotOpen);
  int found = STOPBIT_POLL_RECORD;
  size_t count = 0;
  {
    const capi::Busy busy(ring->busy);
    for (bool stopped = false; count < most && !stopped && !ring->closed;) {
      found = take(*ring, most - count);
      if (found != STOPBIT_POLL_RECORD) break;
      ++count;
      stopped = callback(user, &ring->record) != 0;
    }
    ring->record.detach();
  }
  ring->settle();
  if (taken != nullptr) *taken = count;
  return found;
}

uint64_t stopbit_ring_lost(const stopbit_ring* ring) {
  return ring != nullptr && ring->open_reader() != nullptr ? ring->reader->lost_records() : 0;
}

uint64_t stopbit_ring_total_lost(const stopbit_ring* ring) {
  return ring != nullptr && ring->open_reader() != nullptr ? ring->reader->total_lost_records() : 0;
}

int stopbit_ring_writer(const stopbit_ring* ring) {
  if (ring == nullptr || ring->open_reader() == nullptr) return STOPBIT_ERROR_ARGUMENT;
  switch (ring->reader->writer()) {
    case ring::WriterState::Running: return STOPBIT_WRITER_RUNNING;
    case ring::WriterState::Finished: return STOPBIT_WRITER_FINISHED;
    case ring::WriterState::Dead: break;
  }
  return STOPBIT_WRITER_DEAD;
}

uint64_t stopbit_ring_heartbeat_ns(const stopbit_ring* ring) {
  return ring != nullptr && ring->open_reader() != nullptr ? ring->reader->heartbeat_ns() : 0;
}

int stopbit_ring_replaced(const stopbit_ring* ring) {
  return ring != nullptr && ring->open_reader() != nullptr && ring->reader->replaced() ? 1 : 0;
}

uint64_t stopbit_ring_layout_hash(const stopbit_ring* ring) {
  return ring != nullptr && ring->open_reader() != nullptr ? ring->reader->layout_hash() : 0;
}

int stopbit_ring_is_projected(const stopbit_ring* ring) {
  return ring != nullptr && ring->open_reader() != nullptr && is_projected(ring->shared->firmware->program()) ? 1 : 0;
}
