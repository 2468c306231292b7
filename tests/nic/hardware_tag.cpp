#include "tests/nic/hardware_tag.hpp"

#include <Vstopbit_tag_unit.h>

#include <stdexcept>
#include <utility>

#include "tag_driver.hpp"

namespace stopbit::nic {
namespace {

using Driver = sim::tag::Driver<Vstopbit_tag_unit>;

class CountedUnit final : public sim::tag::HardwareUnit<Vstopbit_tag_unit> {
 public:
  CountedUnit(std::shared_ptr<Driver> driver, Transactions& transactions)
      : HardwareUnit(driver), driver_(std::move(driver)), transactions_(transactions) {}
  CountedUnit(const CountedUnit&) = delete;
  CountedUnit& operator=(const CountedUnit&) = delete;
  ~CountedUnit() override { transactions_.messages += driver_->commands; }

 private:
  std::shared_ptr<Driver> driver_;
  Transactions& transactions_;
};

}  // namespace

std::unique_ptr<TagUnit> hardware_tag(const MatcherOptions& options, Transactions& transactions) {
  if (options.receives > sim::tag::kEntries || options.unexpected > sim::tag::kEntries) {
    throw std::runtime_error("the unit in hardware has room for 1024 receives and as many records");
  }
  auto driver = std::make_shared<Driver>(1);
  driver->limit(options.receives, options.unexpected);
  return std::make_unique<CountedUnit>(std::move(driver), transactions);
}

}  // namespace stopbit::nic
