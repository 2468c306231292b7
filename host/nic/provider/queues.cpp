#include "host/nic/provider/queues.hpp"

#include <sched.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "host/nic/provider/domain.hpp"
#include "host/nic/provider/not_offered.hpp"
#include "host/os/clock.hpp"

namespace stopbit::nic::provider {
namespace {

constexpr std::size_t kLeastEntries = 32'768;
constexpr std::size_t kMostEntries = std::size_t{1} << 20U;

CompletionQueue& queue_of(fid_cq* cq) {
  return *static_cast<CompletionQueue*>(cq);
}
Counter& counter_of(fid_cntr* counter) {
  return *static_cast<Counter*>(counter);
}
EventQueue& events_of(fid_eq* eq) {
  return *static_cast<EventQueue*>(eq);
}

/// Makes progress until `look` returns true, or the time is over. Lets other processes run meanwhile: on a machine with
/// more ranks than processors they have what this one waits for.
template <class Look>
bool wait_for(Domain& domain, int timeout_ms, const Look& look) {
  const std::uint64_t begin = os::monotonic_clock_ns();
  for (;;) {
    {
      const Domain::Guard guard(domain);
      domain.progress();
      if (look()) return true;
    }
    if (timeout_ms >= 0 && os::monotonic_clock_ns() - begin >= std::uint64_t(timeout_ms) * 1'000'000) return false;
    ::sched_yield();
  }
}

std::size_t entry_bytes(fi_cq_format format) {
  switch (format) {
    case FI_CQ_FORMAT_CONTEXT: return sizeof(fi_cq_entry);
    case FI_CQ_FORMAT_MSG: return sizeof(fi_cq_msg_entry);
    case FI_CQ_FORMAT_DATA: return sizeof(fi_cq_data_entry);
    default: return sizeof(fi_cq_tagged_entry);
  }
}

ssize_t cq_readfrom(fid_cq* cq, void* buffer, std::size_t count, fi_addr_t* sources) {
  CompletionQueue& queue = queue_of(cq);
  const Domain::Guard guard(queue.domain);
  if (queue.count == 0) queue.domain.progress();
  return queue.read(buffer, count, sources);
}
ssize_t cq_read(fid_cq* cq, void* buffer, std::size_t count) {
  return cq_readfrom(cq, buffer, count, nullptr);
}
ssize_t cq_readerr(fid_cq* cq, fi_cq_err_entry* into, std::uint64_t /*flags*/) {
  CompletionQueue& queue = queue_of(cq);
  const Domain::Guard guard(queue.domain);
  return queue.read_error(into);
}
ssize_t cq_sreadfrom(fid_cq* cq, void* buffer, std::size_t count, fi_addr_t* sources, const void* /*cond*/,
                     int timeout) {
  CompletionQueue& queue = queue_of(cq);
  ssize_t result = -FI_EAGAIN;
  (void)wait_for(queue.domain, timeout, [&] {
    result = queue.read(buffer, count, sources);
    return result != -FI_EAGAIN || std::exchange(queue.is_woken, false);
  });
  return result;
}
ssize_t cq_sread(fid_cq* cq, void* buffer, std::size_t count, const void* cond, int timeout) {
  return cq_sreadfrom(cq, buffer, count, nullptr, cond, timeout);
}
int cq_signal(fid_cq* cq) {
  CompletionQueue& queue = queue_of(cq);
  const Domain::Guard guard(queue.domain);
  queue.is_woken = true;
  return 0;
}
const char* text_of(int error, char* buffer, std::size_t length) {
  const char* const text = fi_strerror(error);
  if (buffer == nullptr || length == 0) return text;
  buffer[std::min(length - 1, std::strlen(text))] = '\0';
  std::memcpy(buffer, text, std::min(length - 1, std::strlen(text)));
  return buffer;
}
const char* cq_strerror(fid_cq* /*cq*/, int error, const void* /*data*/, char* buffer, std::size_t length) {
  return text_of(error, buffer, length);
}
int cq_close(fid* fid) {
  CompletionQueue& queue = queue_of(reinterpret_cast<fid_cq*>(fid));
  if (queue.users != 0) return -FI_EBUSY;
  queue.domain.release();
  delete &queue;
  return 0;
}

std::uint64_t counter_read(fid_cntr* fid) {
  Counter& counter = counter_of(fid);
  const Domain::Guard guard(counter.domain);
  counter.domain.progress();
  return counter.value;
}
std::uint64_t counter_readerr(fid_cntr* fid) {
  Counter& counter = counter_of(fid);
  const Domain::Guard guard(counter.domain);
  return counter.errors;
}
int counter_add(fid_cntr* fid, std::uint64_t value) {
  Counter& counter = counter_of(fid);
  const Domain::Guard guard(counter.domain);
  counter.value += value;
  return 0;
}
int counter_set(fid_cntr* fid, std::uint64_t value) {
  Counter& counter = counter_of(fid);
  const Domain::Guard guard(counter.domain);
  counter.value = value;
  return 0;
}
int counter_adderr(fid_cntr* fid, std::uint64_t value) {
  Counter& counter = counter_of(fid);
  const Domain::Guard guard(counter.domain);
  counter.errors += value;
  return 0;
}
int counter_seterr(fid_cntr* fid, std::uint64_t value) {
  Counter& counter = counter_of(fid);
  const Domain::Guard guard(counter.domain);
  counter.errors = value;
  return 0;
}
int counter_wait(fid_cntr* fid, std::uint64_t threshold, int timeout) {
  Counter& counter = counter_of(fid);
  std::uint64_t errors = 0;
  {
    const Domain::Guard guard(counter.domain);
    errors = counter.errors;
  }
  bool has_failed = false;
  const bool is_done = wait_for(counter.domain, timeout, [&] {
    has_failed = counter.errors != errors;
    return has_failed || counter.value >= threshold;
  });
  if (!is_done) return -FI_ETIMEDOUT;
  return has_failed ? -FI_EAVAIL : 0;
}
int counter_close(fid* fid) {
  Counter& counter = counter_of(reinterpret_cast<fid_cntr*>(fid));
  if (counter.users != 0) return -FI_EBUSY;
  counter.domain.release();
  delete &counter;
  return 0;
}

ssize_t eq_read(fid_eq* eq, std::uint32_t* event, void* buffer, std::size_t length, std::uint64_t flags) {
  EventQueue& queue = events_of(eq);
  const std::lock_guard guard(queue.mutex);
  if (queue.events.empty()) return -FI_EAGAIN;
  const EventQueue::Event& first = queue.events.front();
  if (length < first.bytes.size()) return -FI_ETOOSMALL;
  *event = first.event;
  std::copy(first.bytes.begin(), first.bytes.end(), static_cast<std::byte*>(buffer));
  const auto size = static_cast<ssize_t>(first.bytes.size());
  if ((flags & FI_PEEK) == 0) queue.events.erase(queue.events.begin());
  return size;
}
ssize_t eq_readerr(fid_eq* /*eq*/, fi_eq_err_entry* /*into*/, std::uint64_t /*flags*/) {
  return -FI_EAGAIN;
}
ssize_t eq_write(fid_eq* eq, std::uint32_t event, const void* buffer, std::size_t length, std::uint64_t /*flags*/) {
  EventQueue& queue = events_of(eq);
  const std::lock_guard guard(queue.mutex);
  if (queue.events.size() == EventQueue::kMost) return -FI_EAGAIN;
  const auto* const bytes = static_cast<const std::byte*>(buffer);
  queue.events.push_back({event, {bytes, bytes + length}});
  return static_cast<ssize_t>(length);
}
ssize_t eq_sread(fid_eq* eq, std::uint32_t* event, void* buffer, std::size_t length, int timeout, std::uint64_t flags) {
  const std::uint64_t begin = os::monotonic_clock_ns();
  for (;;) {
    const ssize_t result = eq_read(eq, event, buffer, length, flags);
    if (result != -FI_EAGAIN) return result;
    if (timeout >= 0 && os::monotonic_clock_ns() - begin >= std::uint64_t(timeout) * 1'000'000) return -FI_EAGAIN;
    ::sched_yield();
  }
}
const char* eq_strerror(fid_eq* /*eq*/, int error, const void* /*data*/, char* buffer, std::size_t length) {
  return text_of(error, buffer, length);
}
int eq_close(fid* fid) {
  delete &events_of(reinterpret_cast<fid_eq*>(fid));
  return 0;
}

fi_ops cq_fid_ops{.size = sizeof(fi_ops),
                  .close = cq_close,
                  .bind = not_offered,
                  .control = not_offered,
                  .ops_open = not_offered,
                  .tostr = not_offered,
                  .ops_set = not_offered};
fi_ops_cq cq_ops{.size = sizeof(fi_ops_cq),
                 .read = cq_read,
                 .readfrom = cq_readfrom,
                 .readerr = cq_readerr,
                 .sread = cq_sread,
                 .sreadfrom = cq_sreadfrom,
                 .signal = cq_signal,
                 .strerror = cq_strerror};
fi_ops counter_fid_ops{.size = sizeof(fi_ops),
                       .close = counter_close,
                       .bind = not_offered,
                       .control = not_offered,
                       .ops_open = not_offered,
                       .tostr = not_offered,
                       .ops_set = not_offered};
fi_ops_cntr counter_ops{.size = sizeof(fi_ops_cntr),
                        .read = counter_read,
                        .readerr = counter_readerr,
                        .add = counter_add,
                        .set = counter_set,
                        .wait = counter_wait,
                        .adderr = counter_adderr,
                        .seterr = counter_seterr};
fi_ops eq_fid_ops{.size = sizeof(fi_ops),
                  .close = eq_close,
                  .bind = not_offered,
                  .control = not_offered,
                  .ops_open = not_offered,
                  .tostr = not_offered,
                  .ops_set = not_offered};
fi_ops_eq eq_ops{.size = sizeof(fi_ops_eq),
                 .read = eq_read,
                 .readerr = eq_readerr,
                 .write = eq_write,
                 .sread = eq_sread,
                 .strerror = eq_strerror};

/// The calls that wait do so by looking; there is no descriptor to sleep on.
bool can_wait_with(fi_wait_obj object) {
  return object == FI_WAIT_NONE || object == FI_WAIT_UNSPEC || object == FI_WAIT_YIELD;
}

}  // namespace

CompletionQueue::CompletionQueue(Domain& owner, const fi_cq_attr& attr, void* user)
    : fid_cq{{FI_CLASS_CQ, user, &cq_fid_ops}, &cq_ops},
      domain(owner),
      format(attr.format == FI_CQ_FORMAT_UNSPEC ? FI_CQ_FORMAT_CONTEXT : attr.format),
      entries(std::clamp(attr.size, kLeastEntries, kMostEntries)) {}

ssize_t CompletionQueue::read(void* buffer, std::size_t most, fi_addr_t* sources) {
  if (count == 0) return -FI_EAGAIN;
  if (entries[first].entry.err != 0) return -FI_EAVAIL;
  const std::size_t bytes = entry_bytes(format);
  std::size_t taken = 0;
  for (; taken < most && count != 0 && entries[first].entry.err == 0; ++taken) {
    // All formats are beginnings of this one.
    const fi_cq_err_entry& from = entries[first].entry;
    const fi_cq_tagged_entry entry{from.op_context, from.flags, from.len, from.buf, from.data, from.tag};
    std::memcpy(static_cast<std::byte*>(buffer) + taken * bytes, &entry, bytes);
    if (sources != nullptr) sources[taken] = entries[first].source;
    first = (first + 1) % entries.size();
    --count;
    --held;
  }
  return static_cast<ssize_t>(taken);
}

ssize_t CompletionQueue::read_error(fi_cq_err_entry* into) {
  if (count == 0 || entries[first].entry.err == 0) return -FI_EAGAIN;
  void* const data = into->err_data;
  const std::size_t data_size = into->err_data_size;
  *into = entries[first].entry;
  into->err_data = data_size == 0 ? nullptr : data;
  into->err_data_size = 0;
  first = (first + 1) % entries.size();
  --count;
  --held;
  return 1;
}

Counter::Counter(Domain& owner, void* user)
    : fid_cntr{{FI_CLASS_CNTR, user, &counter_fid_ops}, &counter_ops}, domain(owner) {}

EventQueue::EventQueue(void* user) : fid_eq{{FI_CLASS_EQ, user, &eq_fid_ops}, &eq_ops} {
  events.reserve(kMost);
}

int open_completion_queue(fid_domain* fid, fi_cq_attr* attr, fid_cq** cq, void* context) {
  const fi_cq_attr wanted = attr != nullptr ? *attr : fi_cq_attr{};
  if (!can_wait_with(wanted.wait_obj)) return -FI_ENOSYS;
  if (wanted.wait_cond != FI_CQ_COND_NONE || wanted.format > FI_CQ_FORMAT_TAGGED) return -FI_ENOSYS;
  if (wanted.size > kMostEntries) return -FI_EINVAL;
  Domain& domain = Domain::of(fid);
  try {
    auto queue = std::make_unique<CompletionQueue>(domain, wanted, context);
    domain.retain();
    if (attr != nullptr) attr->size = queue->entries.size();
    *cq = queue.release();
    return 0;
  } catch (const std::bad_alloc&) {
    return -FI_ENOMEM;
  }
}

int open_counter(fid_domain* fid, fi_cntr_attr* attr, fid_cntr** counter, void* context) {
  if (attr != nullptr && (attr->events != FI_CNTR_EVENTS_COMP || !can_wait_with(attr->wait_obj))) return -FI_ENOSYS;
  Domain& domain = Domain::of(fid);
  *counter = std::make_unique<Counter>(domain, context).release();
  domain.retain();
  return 0;
}

int open_event_queue(fid_fabric* /*fabric*/, fi_eq_attr* attr, fid_eq** eq, void* context) {
  if (attr != nullptr && !can_wait_with(attr->wait_obj)) return -FI_ENOSYS;
  *eq = std::make_unique<EventQueue>(context).release();
  return 0;
}

}  // namespace stopbit::nic::provider
