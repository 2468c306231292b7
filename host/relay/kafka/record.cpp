#include "host/relay/kafka/record.hpp"

namespace stopbit::relay {

Result<Head> decode_kafka_record(const KafkaRecord& record) {
  Result<Head> head = decode_message(record.value);
  if (!head) return head;
  if (record.key != id_of(head.value())) return Failure{"its key is of another message"};
  if (!record.channel || *record.channel != topic_of(head.value())) return Failure{"its channel is of another message"};
  return head;
}

}  // namespace stopbit::relay
