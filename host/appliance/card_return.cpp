#include "host/appliance/card_return.hpp"

#include "decoder/engine/engine.hpp"
#include "host/feed/description/arbiter_options.hpp"

namespace stopbit::appliance {

std::string why_no_return(std::span<const feed::Channel> channels) {
  for (const feed::Channel& channel : channels) {
    std::string why;
    if (feed::arbiter_options(channel).sequence_bits == 0) why = "its packets have no numbers";
    if (channel.role == feed::Role::Carousel) why = "the numbers of a carousel come again";
    if (channel.framing.reset != ResetRule::Packet) why = "its dictionary outlives a datagram";
    if (!why.empty()) return "channel '" + channel.name + "': " + why;
  }
  return {};
}

}  // namespace stopbit::appliance
