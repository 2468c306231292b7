// stopbit.h is C++, too.
#include "host/bindings/c/stopbit.h"

int main() {
  stopbit_options options = STOPBIT_OPTIONS_INIT;
  const stopbit_packet packet = STOPBIT_PACKET_INIT;
  options.framing = "none";
  stopbit_engine* engine = stopbit_engine_new();
  const stopbit_status status = stopbit_engine_open(engine, nullptr, &options);
  stopbit_engine_free(engine);
  return status == STOPBIT_ERROR_ARGUMENT && packet.size == sizeof(packet) ? 0 : 1;
}
