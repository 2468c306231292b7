#include "host/nic/transport/fabric/library.hpp"

#include <dlfcn.h>

#include <cstdlib>

namespace stopbit::nic {
namespace {

template <class Function>
void find(void* library, const char* name, Function& function, Status& loaded) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr) loaded = Failure{std::string("libfabric.so.1 has no function ") + name};
}

FabricLibrary load() {
  // Two libraries that libfabric loads install handlers for crash signals unless this is set.
  ::setenv("IPATH_NO_BACKTRACE", "1", 0);
  ::setenv("HFI_NO_BACKTRACE", "1", 0);
  // Closes the connection of a removed address, so that no other process speaks for its successor.
  ::setenv("FI_AV_REMOVE_CLEANUP", "1", 0);
  FabricLibrary result;
  void* const library = ::dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = ::dlerror();
    result.loaded = Failure{std::string("libfabric cannot be loaded: ") + (why != nullptr ? why : "?") +
                            "; install the package libfabric1"};
    return result;
  }
  find(library, "fi_getinfo", result.getinfo, result.loaded);
  find(library, "fi_freeinfo", result.freeinfo, result.loaded);
  find(library, "fi_dupinfo", result.dupinfo, result.loaded);
  find(library, "fi_fabric", result.fabric, result.loaded);
  find(library, "fi_strerror", result.strerror, result.loaded);
  return result;
}

}  // namespace

const FabricLibrary& fabric_library() {
  static const FabricLibrary library = load();
  return library;
}

}  // namespace stopbit::nic
