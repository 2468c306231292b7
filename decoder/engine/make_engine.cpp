#include "decoder/engine/make_engine.hpp"

#include <utility>

namespace stopbit {

std::string_view engine_name(EngineKind kind) noexcept {
  return kind == EngineKind::Native ? "native" : "interp";
}

MadeEngine make_engine(const Program& program, const EngineOptions& options, EngineKind wanted) {
  MadeEngine made;
  if (wanted == EngineKind::Native) {
#ifdef STOPBIT_HAS_NATIVE
    Result<std::unique_ptr<Engine>> native = make_native(program, options, &made.figures);
    if (native) {
      made.engine = std::move(native).value();
      made.kind = EngineKind::Native;
      return made;
    }
    made.why_not_native = native.message();
#else
    made.why_not_native = "it is for x86-64 processors";
#endif
  }
  made.engine = make_interpreter(program, options);
  return made;
}

}  // namespace stopbit
