// Inputs of a synchroniser, a line each, from stdin; the same lines with its outputs after them, marked =, to stdout.
// sync_schedules.py writes the inputs and compares the outputs with those of the reference.

#include <cstdio>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>

#include "tests/sync/view.hpp"

namespace {

using namespace stopbit::market;

class Program {
 public:
  void line(const std::string& text) {
    std::istringstream in(text);
    std::string name;
    in >> name;
    if (name == "options") return begin(in);
    if (machine_ == nullptr) return;
    if (name == "attach") return attach(in);
    if (name == "message") message(in);
    if (name == "part") part(in);
    if (name == "loss") loss(in);
    if (name == "reset") reset(in);
    if (name == "refuse_before") machine_->refuse_before(static_cast<std::int64_t>(number(in)));
    if (name == "cycle") machine_->cycle(number(in));
    if (name == "tick") machine_->tick(number(in));
    if (name == "spoil") view_->spoil(row(in));
    if (name == "distrust") machine_->distrust(row(in), Cause::Contradiction);
  }
  std::string outputs() { return machine_ == nullptr ? std::string() : view_->lines(*machine_); }

 private:
  static std::uint64_t number(std::istream& in) {
    std::uint64_t value = 0;
    in >> value;
    return value;
  }
  static std::uint32_t row(std::istream& in) { return static_cast<std::uint32_t>(number(in)); }

  void begin(std::istream& in) {
    std::string style;
    in >> style;
    SyncOptions options;
    options.scope = style == "instrument" ? ScopeOf::Instrument
                    : style == "product"  ? ScopeOf::Product
                                          : ScopeOf::Channel;
    options.instruments = row(in);
    options.products = row(in);
    options.queued_each = row(in);
    options.queued = row(in);
    options.holes_each = row(in);
    options.holes = 1'024;
    options.policy = number(in) != 0 ? Policy::Pessimistic : Policy::Optimistic;
    options.refresh = number(in) != 0;
    options.patience_ns = number(in);
    options.wait_ns = number(in);
    options.repeat_ns = number(in);
    options.give_up_ns = number(in);
    style_ = options.scope;
    view_ = std::make_unique<testing::View>(options.scope, options.instruments);
    machine_ = std::make_unique<Synchroniser>(options, *view_);
  }
  void attach(std::istream& in) {
    const std::uint32_t instrument = row(in);
    const std::uint32_t product = row(in);
    if (style_ != ScopeOf::Product) return;
    machine_->attach(instrument, product);
    view_->set_product(instrument, product);
  }
  void message(std::istream& in) {
    machine_->begin(number(in));
    const std::uint32_t product = row(in);
    const std::uint64_t of_product = number(in);
    if (style_ == ScopeOf::Product) (void)machine_->product(product, of_product);
    std::uint64_t instrument = 0;
    while (in >> instrument) {
      const std::uint64_t of_instrument = number(in);
      const Event event = Event::of({.instrument = static_cast<std::uint32_t>(instrument),
                                     .kind = Kind::New,
                                     .price = static_cast<std::int64_t>(number(in))});
      if (machine_->entry(event.instrument(), of_instrument, event)) view_->apply(event);
    }
    machine_->end();
  }
  void part(std::istream& in) {
    Synchroniser::Part part;
    part.sent_ns = static_cast<std::int64_t>(number(in));
    part.row = row(in);
    part.place = number(in);
    part.number = number(in);
    part.message = number(in);
    part.is_first = number(in) != 0;
    part.is_last = number(in) != 0;
    testing::PicturePart content;
    content.index = number(in);
    content.count = number(in);
    content.book = number(in);
    if (!machine_->part(part)) return;
    if (part.is_first) view_->picture.clear();
    view_->picture.push_back(content);
    machine_->part_end();
  }
  void loss(std::istream& in) {
    const std::uint64_t first = number(in);
    const std::uint64_t last = number(in);
    machine_->loss(first, last, number(in));
  }
  void reset(std::istream& in) {
    const std::uint64_t time = number(in);
    machine_->reset(static_cast<std::int64_t>(time), number(in));
  }

  ScopeOf style_ = ScopeOf::Instrument;
  std::unique_ptr<testing::View> view_;
  std::unique_ptr<Synchroniser> machine_;
};

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  Program program;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::cout << line << '\n';
    program.line(line);
    std::cout << program.outputs();
  }
  return 0;
}
