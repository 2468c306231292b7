#pragma once

#include <cstdint>

namespace stopbit::fix {

/// Tags of FIX, by the names that the standard gives them.
enum FixTag : std::uint32_t {
  kBeginString = 8,
  kBodyLength = 9,
  kCheckSum = 10,
  kMsgSeqNum = 34,
  kMsgType = 35,
  kRefSeqNum = 45,
  kSenderCompId = 49,
  kSendingTime = 52,
  kTargetCompId = 56,
  kRawDataLength = 95,
  kRawData = 96,
  kEncryptMethod = 98,
  kHeartBtInt = 108,
  kTestReqId = 112,
  kResetSeqNumFlag = 141,
  kMdReqId = 262,
  kUsername = 553,
  kPassword = 554,
  kDefaultApplVerId = 1137,
  kApplId = 1180,
  kApplSeqNum = 1181,
  kApplBegSeqNum = 1182,
  kApplEndSeqNum = 1183,
  kApplReqId = 1346,
  kApplReqType = 1347,
  kApplResponseType = 1348,
  kApplLastSeqNum = 1350,
  kNoApplIds = 1351,
  kRefApplId = 1355,
  kApplReportType = 1426,
};

}  // namespace stopbit::fix
