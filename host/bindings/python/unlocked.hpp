#pragma once

#include <pybind11/pybind11.h>
#include <unistd.h>

#include <utility>

/// The GIL, given up and taken again, where the interpreter may end meanwhile.
///
/// A thread that asks for the GIL while the interpreter ends is unwound by pthread_exit (before Python 3.14), which
/// pybind11's own guards turn into std::terminate. Such a thread waits here for the process to exit instead.
namespace stopbit::python {

template <class Ask>
auto ask_for_gil(Ask ask) noexcept {
  try {
    return ask();
  } catch (...) {  // nothing else leaves a call of Python's; abi::__forced_unwind would be bound to a null reference
    for (;;) ::pause();
  }
}

/// Without the GIL, from its construction to its end.
class Unlocked {
 public:
  Unlocked() noexcept : thread_(PyEval_SaveThread()) {}
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked() {
    ask_for_gil([this] { PyEval_RestoreThread(thread_); });
  }

 private:
  PyThreadState* thread_;
};

/// With the GIL, within Unlocked.
class Locked {
 public:
  Locked() noexcept : state_(ask_for_gil([] { return PyGILState_Ensure(); })) {}
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  ~Locked() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_;
};

/// One call at a time. Python code runs within a call of ours: signal handlers where we look for them, finalizers
/// wherever an object is made, other threads wherever the GIL is given up.
class Use {
 public:
  /// `busy` belongs to the object. ValueError if it is in use.
  Use(bool& busy, const char* object) : busy_(busy) {
    if (busy) {
      throw pybind11::value_error(std::string("this ") + object +
                                  " is in use: by another thread, or by the call that this one interrupts");
    }
    busy_ = true;
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() { busy_ = false; }

 private:
  bool& busy_;
};

}  // namespace stopbit::python
