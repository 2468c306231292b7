#include <cstdlib>

/// The active fault of the faulty modules: the environment variable STOPBIT_FAULT, 0 without it.
extern "C" int stopbit_fault_number() {
  const char* text = std::getenv("STOPBIT_FAULT");
  return text == nullptr ? 0 : std::atoi(text);
}
