// A machine with a simulated card on its PCI bus, for programs that open cards by VFIO: host/device/vfio/module.hpp
// says how it is loaded. All that the process opens is one card, as on a bus, which lives as long as it is open.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "host/device/sim/sim_vfio.hpp"
#include "host/device/vfio/module.hpp"
#include "running_model.hpp"

namespace stopbit::sim {
namespace {

class Slot final : public Function {
 public:
  [[nodiscard]] std::uint32_t read(std::uint32_t offset) override { return model_.read(offset); }
  void write(std::uint32_t offset, std::uint32_t value) override { model_.write(offset, value); }
  void map(std::uint64_t address, std::byte* data, std::size_t bytes) override { model_.map(address, data, bytes); }
  void unmap(std::uint64_t address) override { model_.unmap(address); }
  void reset() override { model_.reset(); }

 private:
  RunningModel model_;
};

}  // namespace
}  // namespace stopbit::sim

extern "C" [[gnu::visibility("default")]] void STOPBIT_SIM_VFIO_SYMBOL(
    std::shared_ptr<stopbit::device::vfio::Calls>& calls) {
  static std::mutex mutex;
  static std::weak_ptr<stopbit::sim::SimulatedVfio> the_machine;
  const std::scoped_lock lock(mutex);
  auto machine = the_machine.lock();
  if (!machine) {
    stopbit::sim::VfioMachine described;
    described.address = stopbit::device::kSimulatedFunction;
    machine = std::make_shared<stopbit::sim::SimulatedVfio>(std::make_unique<stopbit::sim::Slot>(), described);
    the_machine = machine;
  }
  calls = machine;
}
