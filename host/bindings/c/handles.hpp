#pragma once

#include <sys/types.h>

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decoder/record/json.hpp"
#include "decoder/record/reader.hpp"
#include "host/bindings/c/stopbit.h"
#include "host/bindings/common/firmware.hpp"

namespace stopbit::ring {
class Reader;
}

/// Shared by the functions of stopbit.h: how a C++ failure becomes a status and a text, and what a record is.
namespace stopbit::capi {

/// The last error of a handle, in words.
class ErrorText {
 public:
  [[nodiscard]] const char* c_str() const noexcept { return fixed_ != nullptr ? fixed_ : text_.c_str(); }
  void clear() noexcept {
    fixed_ = nullptr;
    text_.clear();
  }
  /// A text that lives as long as the library.
  stopbit_status set(stopbit_status status, const char* fixed) noexcept {
    fixed_ = fixed;
    return status;
  }
  /// Says less if there is no memory for it.
  stopbit_status set_copy(stopbit_status status, std::string_view text) noexcept {
    try {
      text_ = text;
      fixed_ = nullptr;
    } catch (...) {
      fixed_ = stopbit_status_text(status);
    }
    return status;
  }

 private:
  const char* fixed_ = nullptr;
  std::string text_;
};

inline stopbit_status status_of(consumer::Fault fault) noexcept {
  switch (fault) {
    case consumer::Fault::Usage: return STOPBIT_ERROR_ARGUMENT;
    case consumer::Fault::Input: return STOPBIT_ERROR_INPUT;
    case consumer::Fault::System: return STOPBIT_ERROR_SYSTEM;
  }
  return STOPBIT_ERROR_INTERNAL;
}

/// Runs `body`, which returns a status; no exception gets out.
template <class Body>
stopbit_status guarded(ErrorText& error, Body&& body) noexcept {
  error.clear();
  try {
    return body();
  } catch (const consumer::Failed& failed) {
    return error.set_copy(status_of(failed.fault()), failed.what());
  } catch (const std::bad_alloc&) {
    return error.set(STOPBIT_ERROR_MEMORY, stopbit_status_text(STOPBIT_ERROR_MEMORY));
  } catch (const std::exception& exception) {
    return error.set_copy(STOPBIT_ERROR_INTERNAL, exception.what());
  } catch (...) {
    return error.set(STOPBIT_ERROR_INTERNAL, stopbit_status_text(STOPBIT_ERROR_INTERNAL));
  }
}

/// A handle is in use. Its callbacks cannot make another call of it; a callback that frees or closes the handle only
/// requests that, and the call in progress does it before it returns.
class Busy {
 public:
  explicit Busy(bool& busy) noexcept : busy_(busy) { busy_ = true; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  ~Busy() { busy_ = false; }

 private:
  bool& busy_;
};

/// A firmware with names that end in a zero.
struct Shared {
  explicit Shared(consumer::FirmwarePtr loaded);

  consumer::FirmwarePtr firmware;
  std::vector<std::string> nodes;
  std::vector<std::string> templates;
  std::vector<std::string> elements;  ///< Of all enumerations and sets, as Program::elements.

  std::uint64_t layout_hash = 0;

  [[nodiscard]] const record::Schema& schema() const noexcept { return firmware->schema(); }
};

using SharedPtr = std::shared_ptr<const Shared>;

/// Options with defaults in place of what the caller's structure does not have yet. Nothing if it claims to be smaller
/// than the first version of it.
[[nodiscard]] std::optional<stopbit_options> complete(const stopbit_options* options) noexcept;

/// Number of the user that an accept function names. Failed if there is none.
[[nodiscard]] std::optional<uid_t> accepted_user(const char* user);

/// Of an open ring; null for others.
[[nodiscard]] const ring::Reader* reader_of(const stopbit_ring* ring) noexcept;

}  // namespace stopbit::capi

struct stopbit_program {
  stopbit::capi::SharedPtr shared;  ///< Null: not loaded.
  stopbit::capi::ErrorText error;
};

struct stopbit_record {
  /// The record at the front of `slots`, which is a good one as far as its header goes.
  void attach(const stopbit::capi::SharedPtr& of, std::span<const stopbit::record::Slot> slots_of) noexcept {
    if (shared != of) {
      shared = of;
      printer.reset();
    }
    slots = slots_of;
  }
  void detach() noexcept { slots = {}; }
  [[nodiscard]] bool is_attached() const noexcept { return !slots.empty(); }

  stopbit::capi::SharedPtr shared;
  std::span<const stopbit::record::Slot> slots;  ///< Empty: the record is over.
  mutable stopbit_header header{};
  stopbit_event event{};
  stopbit_market_event market_event{};
  std::string event_texts[5];  ///< What the pointers of `event` point to.
  std::optional<stopbit::record::JsonPrinter> printer;
  std::string json;
  stopbit::capi::ErrorText error;

  /// Walks in progress: whose record it is must leave the slots alone.
  unsigned walks = 0;
  /// Called after the last of them, if set: frees or closes handles whose end was requested during the walk.
  void (*settle)(void* owner) noexcept = nullptr;
  void* owner = nullptr;
};
