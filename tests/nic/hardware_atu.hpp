#pragma once

#include <memory>

#include "tests/nic/units.hpp"

namespace stopbit::nic {

/// The unit of fpga/rtl/atu, simulated, with requester, responder and completer as the steps of a case say. The class
/// `Atu` takes the place of the software that gives out entries of tables; it translates nothing.
[[nodiscard]] std::unique_ptr<TranslationUnit> hardware_translation(const AtuOptions& options,
                                                                    Transactions& transactions);

}  // namespace stopbit::nic
