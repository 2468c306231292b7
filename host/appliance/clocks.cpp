#include "host/appliance/clocks.hpp"

#include <sys/timex.h>

namespace stopbit::appliance {

ClockStatus clock_status() {
  timex asked{};  // modes 0: only reads
  const int state = ::adjtimex(&asked);
  if (state < 0 || state == TIME_ERROR || (asked.status & STA_UNSYNC) != 0) return ClockStatus::Unsynchronised;
  return state == TIME_INS || state == TIME_DEL || state == TIME_OOP ? ClockStatus::LeapSecond
                                                                     : ClockStatus::Synchronised;
}

}  // namespace stopbit::appliance
