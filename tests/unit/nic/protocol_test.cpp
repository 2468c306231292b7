#include "host/nic/protocol/protocol.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <fstream>
#include <sstream>

#include "host/nic/atu/atu.hpp"
#include "host/nic/notify/notification.hpp"
#include "host/nic/protocol/package.hpp"
#include "host/nic/queue/command.hpp"
#include "host/nic/rma/rma.hpp"

namespace stopbit::nic::protocol::protocol_test {

TEST(Protocol, the_package_of_the_hardware_is_the_one_made_from_the_lists) {
  std::ifstream file(STOPBIT_SOURCE_DIR "/fpga/rtl/pkg/generated/stopbit_nic_pkg.sv");
  ASSERT_TRUE(file) << "fpga/rtl/pkg/generated/stopbit_nic_pkg.sv is missing";
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), package()) << "run: stopbit_nic_package > fpga/rtl/pkg/generated/stopbit_nic_pkg.sv";
}

TEST(Protocol, fields_neither_overlap_nor_leave_their_layout_and_no_code_comes_twice) {
  EXPECT_EQ(problem(), std::nullopt);
}

TEST(Protocol, fields_hold_their_bits_and_no_others) {
  EXPECT_EQ(kGatEntryOwner.put(0xFFFF), 0xFFFF'0000'0000'0000U);
  EXPECT_EQ(kGatEntryNumber.put(~std::uint64_t{0}), 0x0000'07FF'FFFF'FFF8U);
  EXPECT_EQ(kGatEntryPresent.put(3), 1U);
  EXPECT_EQ(kGatEntryNumber.of(kGatEntryNumber.put(12345) | ~kGatEntryNumber.put(~std::uint64_t{0})), 12345U);
  EXPECT_EQ((BitField{63, 0}.of(~std::uint64_t{0})), ~std::uint64_t{0});
}

TEST(Protocol, sizes_are_those_of_an_address) {
  EXPECT_EQ(kTableBits + kEntryBits, kNlaPageBits);
  EXPECT_EQ(kNlaPageBits + kPageBits, kNlaBits);
  EXPECT_EQ(kPageBytes, std::size_t{1} << kPageBits);
  EXPECT_EQ(kTranslateRequestPage.mask() + 1, std::uint64_t{1} << kNlaPageBits);
  EXPECT_EQ(kGatEntryNumber.mask() + 1, std::uint64_t{1} << kNumberBits);
  EXPECT_EQ(nic::kUnits, std::size_t{kUnits});
}

TEST(Protocol, codes_of_remote_memory_access_are_those_of_the_software) {
  const auto code = [](auto value) { return static_cast<std::uint8_t>(value); };
  EXPECT_EQ(kRmaPut, code(Operation::Put));
  EXPECT_EQ(kRmaImmediatePut, code(Operation::ImmediatePut));
  EXPECT_EQ(kRmaNotificationPut, code(Operation::NotificationPut));
  EXPECT_EQ(kRmaGet, code(Operation::Get));
  EXPECT_EQ(kRmaFetchAdd, code(Operation::FetchAdd));
  EXPECT_EQ(kRmaCompareSwap, code(Operation::CompareSwap));
  EXPECT_EQ(kRmaFetchCompareAdd, code(Operation::FetchCompareAdd));
  EXPECT_EQ(kRmaLockWindow, code(Operation::LockWindow));
  EXPECT_EQ(kRmaUnlockWindow, code(Operation::UnlockWindow));
  EXPECT_EQ(kRmaSignal, code(Operation::Signal));
  EXPECT_EQ(kRmaSwap, code(Operation::Swap));
  EXPECT_EQ(kRmaSynchronize, code(Operation::Synchronize));
  EXPECT_EQ(kRmaPutWords, code(Operation::PutWords));
  EXPECT_EQ(kRmaGetWords, code(Operation::GetWords));
  EXPECT_EQ(kRmaAbandoned, kPutAbandoned);
  EXPECT_EQ(kRmaData, kAnswerData);
  EXPECT_EQ(kRmaResult, kAnswerResult);
  EXPECT_EQ(kRmaRefusal, kAnswerRefusal);
  EXPECT_EQ(kTellerRequester, code(Teller::Requester));
  EXPECT_EQ(kTellerCompleter, code(Teller::Completer));
  EXPECT_EQ(kTellerResponder, code(Teller::Responder));
  EXPECT_EQ(kTellerAcknowledge, code(Teller::Acknowledge));
  EXPECT_EQ(kRmaModifiersRequester.put(1), kNotifyRequester);
  EXPECT_EQ(kRmaModifiersCompleter.put(1), kNotifyCompleter);
  EXPECT_EQ(kRmaModifiersResponder.put(1), kNotifyResponder);
  EXPECT_EQ(kRmaModifiersAcknowledge.put(1), kAcknowledge);
  EXPECT_EQ(kRmaModifiersRefusal.put(1), kNotifyRefusal);
}

TEST(Protocol, words_of_a_header_a_command_and_a_notification_are_those_of_the_software) {
  RmaHeader header;
  header.kind = 2;
  header.modifiers = 3;
  header.error = static_cast<Error>(4);
  header.source_vpid = 5;
  header.target_vpid = 6;
  header.window = 7;
  header.domain = 8;
  header.request = 9;
  header.length = 10;
  header.at = 11;
  const auto of_header = std::bit_cast<std::array<std::uint64_t, 8>>(header);
  EXPECT_EQ(of_header[0], kRmaKindService.put(1) | kRmaKindKind.put(2) | kRmaKindModifiers.put(3) |
                              kRmaKindError.put(4) | kRmaKindSourceVpid.put(5) | kRmaKindTargetVpid.put(6));
  EXPECT_EQ(of_header[1], kRmaPlaceWindow.put(7) | kRmaPlaceDomain.put(8) | kRmaPlaceRequest.put(9));
  EXPECT_EQ(of_header[5], kRmaExtentLength.put(10) | kRmaExtentAt.put(11));
  Command command;
  command.operation = static_cast<Operation>(1);
  command.modifiers = 2;
  command.target_vpid = 3;
  command.target_node = 4;
  command.window = 5;
  EXPECT_EQ((std::bit_cast<std::array<std::uint64_t, 8>>(command)[0]),
            kRmaCommandOperation.put(1) | kRmaCommandModifiers.put(2) | kRmaCommandVpid.put(3) |
                kRmaCommandNode.put(4) | kRmaCommandWindow.put(5));
  Notification told;
  told.teller = static_cast<Teller>(1);
  told.operation = static_cast<Operation>(2);
  told.error = static_cast<Error>(3);
  told.success = 4;
  told.node = 5;
  told.vpid = 6;
  EXPECT_EQ((std::bit_cast<std::array<std::uint64_t, 8>>(told)[0]),
            kRmaNoticeTeller.put(1) | kRmaNoticeOperation.put(2) | kRmaNoticeError.put(3) | kRmaNoticeSuccess.put(4) |
                kRmaNoticeNode.put(5) | kRmaNoticeVpid.put(6));
}

}  // namespace stopbit::nic::protocol::protocol_test
