#include "decoder/select/make_engine.hpp"

#include <utility>

#include "decoder/jit/native.hpp"
#include "decoder/quick/quick.hpp"

namespace stopbit {

std::string_view engine_name(EngineKind kind) noexcept {
  switch (kind) {
    case EngineKind::Native: return "native";
    case EngineKind::Quick: return "quick";
    case EngineKind::Interp: return "interp";
  }
  return "";
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
    made.why_not_native = "it needs an x86-64 processor";
#endif
  }
  made.kind = wanted == EngineKind::Interp ? EngineKind::Interp : EngineKind::Quick;
  if (made.kind == EngineKind::Quick) made.engine = interp::make_quick(program, options);
  if (made.engine == nullptr) made.engine = make_interpreter(program, options);
  return made;
}

}  // namespace stopbit
