#include "host/remote/source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "microcode/image/image.hpp"

namespace stopbit::remote {

Result<std::shared_ptr<Source>> Source::open(const std::string& ring, NodePort& owner) {
  Result<ring::Reader> look = ring::Reader::open(ring);
  if (!look) return Failure{look.message()};
  std::shared_ptr<Source> source(new Source(ring, owner, std::move(look).value()));
  const std::string& path = source->look_.path();
  Result<Program> program = image::read(source->look_.image());
  if (!program) return Failure{"the image of the ring '" + path + "' cannot be used: " + program.message()};
  source->program_ = std::move(program).value();
  const Result<record::Schema> schema = record::Schema::make(source->program_);
  if (!schema) return Failure{"the image of the ring '" + path + "' cannot be used: " + schema.message()};
  source->schema_ = schema.value();

  const os::Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  ring::Header header{};
  struct stat status {};
  const bool is_open = file.ok() && ::fstat(file.get(), &status) == 0;
  if (is_open) errno = ENODATA;  // of a read that is short
  if (!is_open || ::pread(file.get(), &header, sizeof(header), 0) != static_cast<ssize_t>(sizeof(header))) {
    return Failure{os::system_error("read", path)};
  }
  // The reader has checked this header; another epoch is another one.
  if (!source->look_.has_file(status.st_dev, status.st_ino) || header.epoch != source->look_.epoch() ||
      static_cast<std::uint64_t>(status.st_size) < header.segment_bytes) {
    return Failure{"the ring '" + path + "' has just been replaced"};
  }
  if (!source->segment_.map(file, header.segment_bytes, os::Mapping::Use::Read)) {
    return Failure{os::system_error("map", path)};
  }
  source->slots_offset_ = header.slots_offset;
  source->image_offset_ = header.image_offset;
  source->address_ = owner.add_memory({source->segment_.data(), source->segment_.bytes()}, nic::Access::Read);
  // A ring gets its name after its tables, so these are there by now if it has some.
  if (Result<market::Tables> tables = market::Tables::open(ring, source->look_.tables_epoch())) {
    source->tables_.emplace(std::move(tables).value());
    source->instruments_address_ = owner.add_memory(source->tables_->instruments().bytes(), nic::Access::Read);
    source->states_address_ = owner.add_memory(source->tables_->states().bytes(), nic::Access::Read);
  }
  (void)source->look();
  return source;
}

Source::~Source() {
  if (address_) owner_.take_memory({segment_.data(), segment_.bytes()}, *address_);
  if (instruments_address_) owner_.take_memory(tables_->instruments().bytes(), *instruments_address_);
  if (states_address_) owner_.take_memory(tables_->states().bytes(), *states_address_);
}

std::optional<ring::Reader> Source::reader(ring::Start start) const {
  Result<ring::Reader> opened = ring::Reader::open(ring_, start);
  if (!opened || opened.value().epoch() != look_.epoch()) return std::nullopt;
  return std::move(opened).value();
}

Result<ring::Reader> Source::lossless_reader() const {
  Result<ring::Reader> opened = ring::Reader::ask_for_seat(ring_);
  if (opened && opened.value().epoch() != look_.epoch()) return Failure{"the ring is being replaced"};
  return opened;
}

std::optional<nic::WindowName> Source::open_window() {
  if (!address_) return std::nullopt;
  return owner_.node().rma().open_window(owner_.vpid(), *address_, segment_.bytes(), nic::Access::Read);
}

std::optional<TableWindows> Source::open_tables() {
  if (!instruments_address_ || !states_address_) return std::nullopt;
  nic::Rma& rma = owner_.node().rma();
  const auto instruments =
      rma.open_window(owner_.vpid(), *instruments_address_, tables_->instruments().bytes().size(), nic::Access::Read);
  const auto states =
      rma.open_window(owner_.vpid(), *states_address_, tables_->states().bytes().size(), nic::Access::Read);
  if (instruments && states) return TableWindows{*instruments, *states};
  if (instruments) close_window(*instruments);
  if (states) close_window(*states);
  return std::nullopt;
}

void Source::close_window(const nic::WindowName& window) noexcept {
  (void)owner_.node().rma().close_window(owner_.vpid(), window.id);
}

nic::WindowUse Source::use_of(const nic::WindowName& window) const noexcept {
  return owner_.node().rma().use(owner_.vpid(), window.id);
}

ring::WriterState Source::look() {
  if (segment_.is_broken()) writer_ = ring::WriterState::Dead;
  if (writer_ == ring::WriterState::Running) writer_ = look_.writer();
  return writer_;
}

}  // namespace stopbit::remote
