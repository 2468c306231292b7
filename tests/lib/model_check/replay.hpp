#pragma once

#include <csetjmp>
#include <cstddef>

namespace stopbit::model_check {

/// Makes one access of a call, so that the state of its thread is the list of values that its accesses gave, and can be
/// copied: the call is run from its beginning, known accesses give what they gave before, the next one is made, and the
/// call is left before the one after that. Nothing on the call's stack may need to be destroyed.
class Replay {
 public:
  /// `known` accesses were made before. Returns true if the call came to its end.
  template <class Call>
  bool run(std::size_t known, const Call& call) {
    known_ = known;
    next_ = 0;
    has_acted_ = false;
    if (setjmp(back_) != 0) return false;  // NOLINT(cert-err52-cpp): nothing on the stack is destroyed
    call();
    return true;
  }

  // Each access asks first whether it is known, and then either takes its number or acts.
  [[nodiscard]] bool is_known() const { return next_ < known_; }
  std::size_t next() { return next_++; }
  /// Does not return if this call of run() has made its access.
  void act() {
    if (has_acted_) leave();
    has_acted_ = true;
  }
  [[noreturn]] void leave() { longjmp(back_, 1); }  // NOLINT(cert-err52-cpp): as above

 private:
  std::jmp_buf back_{};
  std::size_t known_ = 0;
  std::size_t next_ = 0;
  bool has_acted_ = false;
};

}  // namespace stopbit::model_check
