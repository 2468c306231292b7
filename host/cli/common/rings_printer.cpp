#include "host/cli/common/rings_printer.hpp"

#include <algorithm>

#include "host/cli/common/program_source.hpp"

namespace stopbit::tools {

std::size_t RingsPrinter::begin(const ring::Reader& reader) {
  (void)begin(reader.image(), reader.path());
  printer_->show_events(reader.path(), reader.tables_epoch(), content_);
  return schema_;
}

std::size_t RingsPrinter::begin(std::span<const std::byte> image, const std::string& name) {
  if (!printer_ || !std::equal(image.begin(), image.end(), image_.begin(), image_.end())) add(image, name);
  return schema_;
}

void RingsPrinter::add(std::span<const std::byte> image, const std::string& name) {
  image_.assign(image.begin(), image.end());
  const Program& program =
      programs_.emplace_back(image_from({reinterpret_cast<const char*>(image_.data()), image_.size()}, name));
  const record::Schema schema = schema_of(program);
  check_table(style_, {&schema, 1});
  std::string title = FormatPrinter(schema, style_).title();
  if (printer_) {
    if (title != title_) {
      throw ToolError(kExitRejected, "the table has other columns in the new image; start again for these");
    }
    printer_->flush();
    schema_ = printer_->add(schema);
    return;
  }
  title_ = std::move(title);
  printer_.emplace(schema, style_, Output::open("-"));
}

}  // namespace stopbit::tools
