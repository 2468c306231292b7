#include "host/nic/error.hpp"

namespace stopbit::nic {

const char* to_name(Error error) noexcept {
  switch (error) {
#define STOPBIT_NIC_ERROR(enumerator, code, name, meaning) \
  case Error::enumerator:                                  \
    return name;
#include "host/nic/error.def"
#undef STOPBIT_NIC_ERROR
  }
  return "ERR_?";
}

const char* to_meaning(Error error) noexcept {
  switch (error) {
#define STOPBIT_NIC_ERROR(enumerator, code, name, meaning) \
  case Error::enumerator:                                  \
    return meaning;
#include "host/nic/error.def"
#undef STOPBIT_NIC_ERROR
  }
  return "not an error code";
}

}  // namespace stopbit::nic
