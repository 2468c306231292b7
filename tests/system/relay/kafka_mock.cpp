#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

// Brokers of Kafka in memory, by librdkafka, in a process of their own: they outlive the relays of a test. Their log
// ends with this process, and keeps about 5 MB.
//
//     kafka_mock TOPIC...      makes the topics, prints the brokers' addresses, and obeys the lines of stdin:
//         down, up             the brokers close their connections and take none; take them again
//         fail REQUEST CODE N  the next N requests with this API key fail with the code
//         topic TOPIC CODE     looks at the topic fail with the code; 0: no more
//         publish TOPIC KEY CHANNEL HEX   as any producer may; KEY and CHANNEL are texts, "-" none
//         end TOPIC            the offset after the last message
//     It answers each line with one, "ok" or a number, and ends with the end of stdin.

namespace {

void fail(const char* what) {
  std::fprintf(stderr, "kafka_mock: %s\n", what);
  std::exit(1);
}

rd_kafka_t* handle_of(rd_kafka_type_t type, const std::string& brokers) {
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  std::array<char, 512> why{};
  if (!brokers.empty() &&
      rd_kafka_conf_set(conf, "bootstrap.servers", brokers.c_str(), why.data(), why.size()) != RD_KAFKA_CONF_OK) {
    fail(why.data());
  }
  rd_kafka_t* handle = rd_kafka_new(type, conf, why.data(), why.size());
  if (handle == nullptr) fail(why.data());
  return handle;
}

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::string bytes_of(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::strtoul(hex.substr(i, 2).c_str(), nullptr, 16)));
  }
  return bytes;
}

void publish(rd_kafka_t* producer, const std::vector<std::string>& words) {
  std::string bytes = bytes_of(words[4]);
  const bool has_key = words[2] != "-";
  const bool has_channel = words[3] != "-";
  rd_kafka_headers_t* headers = rd_kafka_headers_new(1);
  if (has_channel)
    (void)rd_kafka_header_add(headers, "channel", -1, words[3].data(), static_cast<ssize_t>(words[3].size()));
  const rd_kafka_resp_err_t code = rd_kafka_producev(
      producer, RD_KAFKA_V_TOPIC(words[1].c_str()), RD_KAFKA_V_PARTITION(0), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
      RD_KAFKA_V_KEY(has_key ? words[2].data() : nullptr, has_key ? words[2].size() : 0),
      RD_KAFKA_V_VALUE(bytes.data(), bytes.size()), RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END);
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) fail(rd_kafka_err2str(code));
  constexpr int kPatienceMs = 60'000;
  if (rd_kafka_flush(producer, kPatienceMs) != RD_KAFKA_RESP_ERR_NO_ERROR) fail("a message was not published");
}

}  // namespace

int main(int count, char** arguments) {
  rd_kafka_t* owner = handle_of(RD_KAFKA_PRODUCER, "");
  rd_kafka_mock_cluster_t* cluster = rd_kafka_mock_cluster_new(owner, 1);
  for (int i = 1; i < count; ++i) {
    if (rd_kafka_mock_topic_create(cluster, arguments[i], 1, 1) != RD_KAFKA_RESP_ERR_NO_ERROR) fail("no topic");
  }
  rd_kafka_t* producer = handle_of(RD_KAFKA_PRODUCER, rd_kafka_mock_cluster_bootstraps(cluster));
  std::printf("%s\n", rd_kafka_mock_cluster_bootstraps(cluster));
  std::fflush(stdout);
  std::array<char, 65'536> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), stdin) != nullptr) {
    buffer[std::strcspn(buffer.data(), "\n")] = '\0';
    const std::vector<std::string> words = words_of(buffer.data());
    if (words.empty()) continue;
    if (words[0] == "down") {
      rd_kafka_mock_broker_set_down(cluster, -1);
    } else if (words[0] == "up") {
      rd_kafka_mock_broker_set_up(cluster, -1);
    } else if (words[0] == "fail" && words.size() == 4) {
      const std::vector<rd_kafka_resp_err_t> errors(std::strtoul(words[3].c_str(), nullptr, 10),
                                                    static_cast<rd_kafka_resp_err_t>(std::atoi(words[2].c_str())));
      rd_kafka_mock_push_request_errors_array(cluster, static_cast<std::int16_t>(std::atoi(words[1].c_str())),
                                              errors.size(), errors.data());
    } else if (words[0] == "topic" && words.size() == 3) {
      rd_kafka_mock_topic_set_error(cluster, words[1].c_str(),
                                    static_cast<rd_kafka_resp_err_t>(std::atoi(words[2].c_str())));
    } else if (words[0] == "publish" && words.size() == 5) {
      publish(producer, words);
    } else if (words[0] == "end" && words.size() == 2) {
      std::int64_t first = 0;
      std::int64_t end = 0;
      constexpr int kWaitMs = 5'000;
      if (rd_kafka_query_watermark_offsets(producer, words[1].c_str(), 0, &first, &end, kWaitMs) !=
          RD_KAFKA_RESP_ERR_NO_ERROR) {
        end = 0;
      }
      std::printf("%lld\n", static_cast<long long>(end));
      std::fflush(stdout);
      continue;
    } else {
      fail(buffer.data());
    }
    std::printf("ok\n");
    std::fflush(stdout);
  }
  rd_kafka_destroy(producer);
  rd_kafka_mock_cluster_destroy(cluster);
  rd_kafka_destroy(owner);
  return 0;
}
