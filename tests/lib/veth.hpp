#pragma once

#include <functional>
#include <memory>
#include <string>

namespace stopbit::testing {

/// Two network namespaces without names, joined by a cable: "tx0" (10.9.0.1 and 10.9.0.3) in the one, "rx0" (10.9.0.2)
/// in the other. Nothing that is sent leaves them; they vanish with the object.
class Veth {
 public:
  /// Nothing, and `why` says what this machine or user lacks.
  [[nodiscard]] static std::unique_ptr<Veth> make(std::string& why);
  Veth(const Veth&) = delete;
  Veth& operator=(const Veth&) = delete;
  ~Veth();

  static constexpr const char* kSender = "tx0";
  static constexpr const char* kReceiver = "rx0";
  static constexpr std::uint32_t kSenderAddress = 0x0A090001;
  static constexpr std::uint32_t kOtherSenderAddress = 0x0A090003;
  static constexpr std::uint32_t kReceiverAddress = 0x0A090002;

  /// Moves the calling thread, and with it all sockets it makes from now on.
  void enter_sender() const { enter(sender_); }
  void enter_receiver() const { enter(receiver_); }

  /// Runs a shell command in the receiver's namespace. @returns whether it succeeded.
  [[nodiscard]] bool run_in_receiver(const std::string& command) const;

 private:
  Veth(int home, int sender, int receiver) : home_(home), sender_(sender), receiver_(receiver) {}
  static void enter(int space);

  int home_;  ///< The namespace of the thread that made it, to which it returns at the end.
  int sender_;
  int receiver_;
};

/// Calls the function on a thread of its own, in the namespace that `enter` brings it to.
void run_in(const std::function<void()>& enter, const std::function<void()>& body);

}  // namespace stopbit::testing
