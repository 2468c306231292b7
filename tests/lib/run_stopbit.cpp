#include "tests/lib/run_stopbit.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <sstream>

namespace stopbit::tools::testing {
namespace {

std::string little(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> 8 * i & 0xFF);
  return out;
}

std::string big(std::uint64_t value, int bytes) {
  const std::string reversed = little(value, bytes);
  return {reversed.rbegin(), reversed.rend()};
}

}  // namespace

std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

Finished run_script(const std::string& script, std::string_view input) {
  const Scratch scratch;
  scratch.write("in", input);
  scratch.write("script", "stopbit=" + shell_quoted(STOPBIT_BINARY) + "\n" + script);
  const std::string command = "timeout 600 bash " + shell_quoted(scratch.path("script")) + " <" +
                              shell_quoted(scratch.path("in")) + " >" + shell_quoted(scratch.path("out")) + " 2>" +
                              shell_quoted(scratch.path("err"));
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), scratch.read("out"), scratch.read("err")};
}

std::string command_text(const std::vector<std::string>& arguments) {
  std::string text = "\"$stopbit\"";
  for (const std::string& argument : arguments) text += " " + shell_quoted(argument);
  return text;
}

Finished run_stopbit(const std::vector<std::string>& arguments, std::string_view input) {
  return run_script("exec " + command_text(arguments), input);
}

std::string capture_of(const std::vector<CapturedPacket>& packets) {
  constexpr std::uint64_t kNanoseconds = 0xA1B23C4D;
  constexpr std::uint64_t kRawIp = 101;
  std::string file =
      little(kNanoseconds, 4) + little(2, 2) + little(4, 2) + little(0, 8) + little(65'535, 4) + little(kRawIp, 4);
  for (const CapturedPacket& packet : packets) {
    const std::string udp =
        big(20'000, 2) + big(packet.port, 2) + big(8 + packet.payload.size(), 2) + big(0, 2) + packet.payload;
    const std::string ip = big(0x4500, 2) + big(20 + udp.size(), 2) + big(0, 4) + big(0x1011, 2) + big(0, 2) +
                           big(0x0A010203, 4) + big(0xE0001F01, 4) + udp;
    file += little(packet.arrival_ns / 1'000'000'000, 4) + little(packet.arrival_ns % 1'000'000'000, 4) +
            little(ip.size(), 4) + little(ip.size(), 4) + ip;
  }
  return file;
}

std::string from_hex(std::string_view text) {
  std::string out;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    for (std::size_t i = 0; i + 1 < word.size(); i += 2) {
      out += static_cast<char>(std::stoi(word.substr(i, 2), nullptr, 16));
    }
  }
  return out;
}

}  // namespace stopbit::tools::testing
