#pragma once

#include <string>
#include <utility>
#include <variant>

namespace stopbit {

/// Reason of a failure; one sentence without a full stop.
struct Failure {
  std::string message;
};

/// A value, or the reason why there is none. `Why` has a `message`; a custom type can add more, such as the kind of
/// failure.
template <class T, class Why = Failure>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}        // NOLINT(google-explicit-constructor): reads as `return value`
  Result(Why failure) : state_(std::move(failure)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  [[nodiscard]] T& value() & { return std::get<0>(state_); }
  [[nodiscard]] const T& value() const& { return std::get<0>(state_); }
  [[nodiscard]] T&& value() && { return std::get<0>(std::move(state_)); }
  [[nodiscard]] const Why& failure() const { return std::get<1>(state_); }
  [[nodiscard]] const std::string& message() const { return failure().message; }

 private:
  std::variant<T, Why> state_;
};

/// Success of a call without a result.
struct Done {};
/// Success, or the reason of the failure.
using Status = Result<Done>;

}  // namespace stopbit
