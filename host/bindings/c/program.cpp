#include <algorithm>
#include <cstring>

#include "host/bindings/c/handles.hpp"
#include "microcode/image/image.hpp"

using namespace stopbit;  // NOLINT(google-build-using-namespace): the functions themselves are global

namespace stopbit::capi {

Shared::Shared(consumer::FirmwarePtr loaded) : firmware(std::move(loaded)), nodes(record::json_keys(schema())) {
  const Program& program = firmware->program();
  templates.reserve(program.templates.size());
  for (const Template& item : program.templates) templates.emplace_back(program.name(item.name));
  elements.reserve(program.elements.size());
  for (const Element& element : program.elements) elements.emplace_back(program.name(element.name));
  layout_hash = stopbit::layout_hash(program);
}

std::optional<stopbit_options> complete(const stopbit_options* options) noexcept {
  stopbit_options whole = STOPBIT_OPTIONS_INIT;
  if (options == nullptr) return whole;
  if (options->size < sizeof(whole)) return std::nullopt;  // 1.0 is the first version
  std::memcpy(&whole, options, sizeof(whole));
  return whole;
}

namespace {

/// Replaces what the program holds if `make` gives something.
template <class Make>
stopbit_status replace(stopbit_program* program, Make make) noexcept {
  if (program == nullptr) return STOPBIT_ERROR_ARGUMENT;
  return guarded(program->error, [&] {
    program->shared = std::make_shared<const Shared>(make());
    program->error.set_copy(STOPBIT_OK, program->shared->firmware->warnings());
    return STOPBIT_OK;
  });
}

void require(bool given, const char* what) {
  if (!given) throw consumer::Failed(consumer::Fault::Usage, std::string(what) + " is NULL");
}

}  // namespace
}  // namespace stopbit::capi

const char* stopbit_version() {
  return STOPBIT_VERSION;
}

const char* stopbit_status_text(int status) {
  switch (status) {
    case STOPBIT_OK: return "done";
    case STOPBIT_STOPPED: return "stopped by the caller";
    case STOPBIT_ERROR_ARGUMENT: return "invalid argument";
    case STOPBIT_ERROR_INPUT: return "the input was rejected";
    case STOPBIT_ERROR_SYSTEM: return "a file or shared memory cannot be opened or used";
    case STOPBIT_ERROR_MEMORY: return "not enough memory";
    case STOPBIT_ERROR_INTERNAL: return "internal error; please report it";
  }
  return "unknown status";
}

stopbit_program* stopbit_program_new() {
  return new (std::nothrow) stopbit_program;
}

void stopbit_program_free(stopbit_program* program) {
  delete program;
}

const char* stopbit_program_error(const stopbit_program* program) {
  return program != nullptr ? program->error.c_str() : "the program is NULL";
}

stopbit_status stopbit_program_compile(stopbit_program* program, const char* const* paths, size_t count) {
  return capi::replace(program, [&] {
    capi::require(paths != nullptr || count == 0, "paths");
    std::vector<std::string> files;
    for (size_t i = 0; i < count; ++i) {
      capi::require(paths[i] != nullptr, "a path");
      files.emplace_back(paths[i]);
    }
    return consumer::compile(files);
  });
}

stopbit_status stopbit_program_compile_text(stopbit_program* program, const char* name, const char* text, size_t size) {
  return capi::replace(program, [&] {
    capi::require(name != nullptr, "name");
    capi::require(text != nullptr, "text");
    return consumer::compile_text(name, {text, size});
  });
}

stopbit_status stopbit_program_load(stopbit_program* program, const char* path) {
  return capi::replace(program, [&] {
    capi::require(path != nullptr, "path");
    return consumer::load(path);
  });
}

stopbit_status stopbit_program_load_image(stopbit_program* program, const void* image, size_t size) {
  return capi::replace(program, [&] {
    capi::require(image != nullptr, "image");
    return consumer::load_image({static_cast<const std::byte*>(image), size}, "image");
  });
}

uint32_t stopbit_program_templates(const stopbit_program* program) {
  if (program == nullptr || program->shared == nullptr) return 0;
  return static_cast<uint32_t>(program->shared->templates.size());
}

const char* stopbit_program_template_name(const stopbit_program* program, uint32_t index) {
  return index < stopbit_program_templates(program) ? program->shared->templates[index].c_str() : nullptr;
}

uint32_t stopbit_program_template_id(const stopbit_program* program, uint32_t index) {
  return index < stopbit_program_templates(program) ? program->shared->firmware->program().templates[index].id : 0;
}

uint64_t stopbit_program_layout_hash(const stopbit_program* program) {
  if (program == nullptr || program->shared == nullptr) return 0;
  return program->shared->layout_hash;
}

int stopbit_program_is_projected(const stopbit_program* program) {
  return program != nullptr && program->shared != nullptr && is_projected(program->shared->firmware->program()) ? 1 : 0;
}

stopbit_status stopbit_program_read_slots(stopbit_program* program, const void* slots, size_t bytes,
                                          stopbit_record_callback callback, void* user) {
  if (program == nullptr) return STOPBIT_ERROR_ARGUMENT;
  return capi::guarded(program->error, [&] {
    capi::require(program->shared != nullptr, "what the program holds");
    capi::require(slots != nullptr, "slots");
    capi::require(callback != nullptr, "callback");
    // A copy: aligned, and not written by others.
    const size_t most = limits::kMaxRecordSlots;
    std::vector<record::Slot> copy(std::min(bytes / sizeof(record::Slot), most));
    if (!copy.empty()) std::memcpy(copy.data(), slots, copy.size() * sizeof(record::Slot));
    record::Reader reader(program->shared->schema());
    if (const record::ReadError error = reader.open(copy); error != record::ReadError::None) {
      return program->error.set_copy(STOPBIT_ERROR_INPUT, record::error_text(error));
    }
    stopbit_record record;
    record.attach(program->shared, reader.record());
    return callback(user, &record) != 0 ? STOPBIT_STOPPED : STOPBIT_OK;
  });
}
