#include "host/nic/channel/channel.hpp"

#include "host/nic/channel/endpoints.hpp"

namespace stopbit::nic {

template class BasicChannelSender<ChannelLayout::kReplenish, CommandQueue, EventCounters>;
template class BasicChannelReceiver<ChannelLayout::kReplenish, CommandQueue, EventCounters>;

}  // namespace stopbit::nic
