#include "host/device/module.hpp"

#include <dlfcn.h>

namespace stopbit::device {
namespace {

std::string last_problem() {
  const char* const problem = ::dlerror();
  return problem != nullptr ? problem : "unknown reason";
}

}  // namespace

Result<void*> function_of(const std::string& library, const char* symbol) {
  void* const loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) return Failure{last_problem()};
  void* const found = ::dlsym(loaded, symbol);
  if (found == nullptr) return Failure{"'" + library + "' is of another version of stopbit: " + last_problem()};
  return found;
}

}  // namespace stopbit::device
