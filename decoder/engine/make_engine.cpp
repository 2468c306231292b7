#include "decoder/engine/make_engine.hpp"

#include <utility>

#ifdef STOPBIT_HAS_NATIVE
#include "decoder/jit/native.hpp"
#endif

namespace stopbit {

std::string_view engine_name(EngineKind kind) noexcept {
  return kind == EngineKind::Native ? "native" : "interp";
}

MadeEngine make_engine(const Program& program, const EngineOptions& options, EngineKind wanted) {
  MadeEngine made;
  if (wanted == EngineKind::Native) {
#ifdef STOPBIT_HAS_NATIVE
    Result<std::unique_ptr<Engine>> native = make_native(program, options);
    if (native) return {std::move(native).value(), EngineKind::Native, {}};
    made.why_not_native = native.message();
#else
    made.why_not_native = "this program was built without it";
#endif
  }
  made.engine = make_interpreter(program, options);
  return made;
}

}  // namespace stopbit
