#include "kernel_model.hpp"

#include <Vstopbit_decoder.h>
#include <verilated.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <utility>

#include "axi_memory.hpp"
#include "bench.hpp"

namespace stopbit::sim {
namespace {

constexpr std::size_t kBeat = AxiMemory::kBeatBytes;
constexpr std::size_t kMaxWords = 33;           // of a packet between nodes
constexpr std::uint64_t kPatience = 1'000'000;  // cycles for an answer of the control port

}  // namespace

struct KernelModel::State {
  State(std::uint64_t seed, std::uint32_t stall_percent)
      : random(seed),
        memory(random, stall_percent),
        control(random, stall_percent),
        input(random, stall_percent),
        net(random, stall_percent),
        mac(mac_random, stall_percent) {
    context.randReset(2);
    context.randSeed(static_cast<int>(seed % 0x7FFF'FFFF) + 1);
    model = std::make_unique<Vstopbit_decoder>(&context);
    model->ap_clk = 0;
    model->s_axi_control_awvalid = 0;
    model->s_axi_control_wvalid = 0;
    model->s_axi_control_wstrb = 0xF;
    model->s_axi_control_bready = 0;
    model->s_axi_control_arvalid = 0;
    model->s_axi_control_rready = 0;
    model->s_axis_rx_tvalid = 0;
    model->m_axis_net_tready = 0;
    model->m_axis_tx_tready = 0;
    model->s_axis_net_tvalid = 0;
  }

  void cycle() {
    const AxiMemory::Slave& slave = memory.prepare();
    model->m_axi_ring_awready = slave.awready;
    model->m_axi_ring_wready = slave.wready;
    model->m_axi_ring_bvalid = slave.bvalid;
    model->m_axi_ring_bresp = slave.bresp;
    model->m_axi_ring_bid = 0;
    model->m_axi_ring_arready = slave.arready;
    model->m_axi_ring_rvalid = slave.rvalid;
    model->m_axi_ring_rresp = slave.rresp;
    model->m_axi_ring_rid = 0;
    model->m_axi_ring_rlast = slave.rvalid;
    std::memcpy(model->m_axi_ring_rdata.data(), slave.rdata.data(), sizeof(slave.rdata));
    offer_beat();
    offer_word();
    model->m_axis_net_tready = net.open() && !net_is_shut;
    model->m_axis_tx_tready = !mac_is_shut && mac.open();
    model->eval();

    AxiMemory::Master master;
    master.awvalid = model->m_axi_ring_awvalid;
    master.awaddr = model->m_axi_ring_awaddr;
    master.awlen = model->m_axi_ring_awlen;
    master.wvalid = model->m_axi_ring_wvalid;
    std::memcpy(master.wdata.data(), model->m_axi_ring_wdata.data(), sizeof(master.wdata));
    master.wstrb = model->m_axi_ring_wstrb;
    master.wlast = model->m_axi_ring_wlast;
    master.bready = model->m_axi_ring_bready;
    master.arvalid = model->m_axi_ring_arvalid;
    master.araddr = model->m_axi_ring_araddr;
    master.rready = model->m_axi_ring_rready;
    if (model->ap_rst_n) memory.clock(master);

    const bool takes = model->s_axis_rx_tvalid && model->s_axis_rx_tready;
    const bool sends = model->ap_rst_n && model->m_axis_net_tvalid && model->m_axis_net_tready;
    const bool comes = model->s_axis_net_tvalid && model->s_axis_net_tready;
    const Word word{model->m_axis_net_tdata, model->m_axis_net_tlast != 0};
    check_word(word);
    const bool says = model->ap_rst_n && model->m_axis_tx_tvalid && model->m_axis_tx_tready;
    if (says) say_beat();
    const bool moves = takes || sends || model->m_axis_tx_tvalid || comes || master.awvalid || master.wvalid ||
                       master.arvalid || !memory.idle();
    quiet = moves ? 0 : quiet + 1;

    model->ap_clk = 1;
    model->eval();
    model->ap_clk = 0;
    model->eval();
    context.timeInc(1);
    ++cycles;
    if (takes) take_beat();
    if (comes) take_word();
    if (sends) send_word(word);
  }

  struct Word {
    std::uint64_t data = 0;
    bool last = false;
    bool operator==(const Word&) const = default;
  };

  void offer_word() {
    if (model->s_axis_net_tvalid || to_come.empty() || !model->ap_rst_n || !net.open()) return;
    const NodePacket& packet = to_come.front();
    model->s_axis_net_tdata = packet.words[come];
    model->s_axis_net_tlast = come + 1 == packet.words.size();
    model->s_axis_net_tuser = packet.bad && model->s_axis_net_tlast;
    model->s_axis_net_tvalid = 1;
  }

  void take_word() {
    model->s_axis_net_tvalid = 0;
    if (++come != to_come.front().words.size()) return;
    to_come.pop_front();
    come = 0;
  }

  void check_word(const Word& word) {
    if (waiting_word && model->ap_rst_n && !(model->m_axis_net_tvalid && word == *waiting_word)) {
      note("a word of m_axis_net changes before it is taken");
    }
    waiting_word.reset();
    if (model->ap_rst_n && model->m_axis_net_tvalid && !model->m_axis_net_tready) waiting_word = word;
  }

  void send_word(const Word& word) {
    sending.words.push_back(word.data);
    if (sending.words.size() > kMaxWords) note("a packet of m_axis_net is too long");
    if (!word.last) return;
    if (on_packet) on_packet(std::move(sending));
    sending = {};
  }

  void say_beat() {
    std::size_t count = 0;
    while (count < kBeat && (model->m_axis_tx_tkeep >> count & 1) != 0) ++count;
    const auto* const beat = reinterpret_cast<const std::byte*>(model->m_axis_tx_tdata.data());
    saying.insert(saying.end(), beat, beat + count);
    if (!model->m_axis_tx_tlast) {
      if (count != kBeat) note("a beat of m_axis_tx that is not the last one has holes");
      return;
    }
    if (on_frame) on_frame(std::move(saying));
    saying = {};
  }

  void offer_beat() {
    if (model->s_axis_rx_tvalid || packets.empty() || !model->ap_rst_n || !input.open()) return;
    const Packet& packet = packets.front();
    const std::size_t bytes = std::min(kBeat, packet.bytes.size() - sent);
    std::memset(model->s_axis_rx_tdata.data(), 0, kBeat);
    if (bytes > 0) std::memcpy(model->s_axis_rx_tdata.data(), packet.bytes.data() + sent, bytes);
    model->s_axis_rx_tkeep = bytes == kBeat ? ~std::uint64_t{0} : (std::uint64_t{1} << bytes) - 1;
    model->s_axis_rx_tlast = sent + bytes == packet.bytes.size();
    model->s_axis_rx_tdest = packet.socket;
    model->s_axis_rx_tuser[0] = static_cast<std::uint32_t>(packet.arrival_ns);
    model->s_axis_rx_tuser[1] = static_cast<std::uint32_t>(packet.arrival_ns >> 32);
    model->s_axis_rx_tuser[2] = packet.bad && model->s_axis_rx_tlast;
    model->s_axis_rx_tvalid = 1;
  }

  void take_beat() {
    model->s_axis_rx_tvalid = 0;
    sent += kBeat;
    if (!model->s_axis_rx_tlast) return;
    packets.pop_front();
    sent = 0;
  }

  void note(const char* what) {
    if (problem.empty()) problem = what;
  }

  VerilatedContext context;
  Random random;
  Random mac_random{7};
  AxiMemory memory;
  Gate control;
  Gate input;
  std::unique_ptr<Vstopbit_decoder> model;
  std::deque<Packet> packets;
  std::size_t sent = 0;  // of the first packet
  Gate net;
  std::deque<NodePacket> to_come;
  std::size_t come = 0;  // words of the first one that are taken
  NodePacket sending;
  std::optional<Word> waiting_word;
  std::function<void(NodePacket)> on_packet;
  bool net_is_shut = false;
  Gate mac;
  std::vector<std::byte> saying;
  std::function<void(std::vector<std::byte>)> on_frame;
  bool mac_is_shut = false;
  std::uint64_t quiet = 0;
  std::uint64_t cycles = 0;
  std::string problem;
};

KernelModel::KernelModel(std::uint64_t seed, std::uint32_t stall_percent)
    : state_(std::make_unique<State>(seed, stall_percent)) {
  reset();
}

KernelModel::~KernelModel() {
  // A model removes itself from the thread's current context, which may belong to a model that was destroyed before.
  Verilated::threadContextp(&state_->context);
  state_->model->final();
}

void KernelModel::map(std::uint64_t address, std::byte* data, std::size_t bytes) {
  state_->memory.map(address, data, bytes);
}

void KernelModel::unmap(std::uint64_t address) {
  (void)state_->memory.unmap(address);
}

std::uint32_t KernelModel::read(std::uint32_t offset) {
  Vstopbit_decoder& model = *state_->model;
  state_->quiet = 0;
  bool asked = false;
  for (std::uint64_t i = 0; i < kPatience; ++i) {
    model.s_axi_control_araddr = static_cast<std::uint16_t>(offset);
    if (!asked && !model.s_axi_control_arvalid) model.s_axi_control_arvalid = state_->control.open();
    model.s_axi_control_rready = state_->control.open();
    model.eval();
    const bool taken = model.s_axi_control_arvalid && model.s_axi_control_arready;
    const bool done = model.s_axi_control_rvalid && model.s_axi_control_rready;
    const std::uint32_t value = model.s_axi_control_rdata;
    state_->cycle();
    if (taken) {
      asked = true;
      model.s_axi_control_arvalid = 0;
    }
    if (done) {
      model.s_axi_control_rready = 0;
      return value;
    }
  }
  state_->note("the kernel does not answer a read of a register");
  return ~std::uint32_t{0};
}

void KernelModel::write(std::uint32_t offset, std::uint32_t value) {
  Vstopbit_decoder& model = *state_->model;
  state_->quiet = 0;
  bool address_taken = false;
  bool data_taken = false;
  for (std::uint64_t i = 0; i < kPatience; ++i) {
    model.s_axi_control_awaddr = static_cast<std::uint16_t>(offset);
    model.s_axi_control_wdata = value;
    model.s_axi_control_wstrb = 0xF;
    if (!address_taken && !model.s_axi_control_awvalid) model.s_axi_control_awvalid = state_->control.open();
    if (!data_taken && !model.s_axi_control_wvalid) model.s_axi_control_wvalid = state_->control.open();
    model.s_axi_control_bready = state_->control.open();
    model.eval();
    const bool takes_address = model.s_axi_control_awvalid && model.s_axi_control_awready;
    const bool takes_data = model.s_axi_control_wvalid && model.s_axi_control_wready;
    const bool done = model.s_axi_control_bvalid && model.s_axi_control_bready;
    state_->cycle();
    if (takes_address) {
      address_taken = true;
      model.s_axi_control_awvalid = 0;
    }
    if (takes_data) {
      data_taken = true;
      model.s_axi_control_wvalid = 0;
    }
    if (done) {
      model.s_axi_control_bready = 0;
      return;
    }
  }
  state_->note("the kernel does not answer a write of a register");
}

void KernelModel::send(Packet packet) {
  state_->quiet = 0;
  state_->packets.push_back(std::move(packet));
}

std::size_t KernelModel::waiting() const {
  return state_->packets.size();
}

void KernelModel::come(NodePacket packet) {
  if (packet.words.empty()) return;
  state_->quiet = 0;
  state_->to_come.push_back(std::move(packet));
}

std::size_t KernelModel::coming() const {
  return state_->to_come.size();
}

void KernelModel::on_node_packet(std::function<void(NodePacket)> take) {
  state_->on_packet = std::move(take);
}

void KernelModel::shut_node_network(bool shut) {
  state_->net_is_shut = shut;
}

void KernelModel::on_frame(std::function<void(std::vector<std::byte>)> take) {
  state_->on_frame = std::move(take);
}

void KernelModel::shut_mac(bool shut) {
  state_->mac_is_shut = shut;
}

void KernelModel::reset() {
  constexpr int kCycles = 4;
  Vstopbit_decoder& model = *state_->model;
  model.ap_rst_n = 0;
  model.s_axis_rx_tvalid = 0;
  model.s_axis_net_tvalid = 0;
  state_->packets.clear();
  state_->sent = 0;
  state_->to_come.clear();
  state_->come = 0;
  state_->sending = {};
  state_->waiting_word.reset();
  state_->saying = {};
  state_->memory.reset();
  // The kernel's own register of its reset holds anything at first; nothing is asserted of what that does.
  state_->context.assertOn(false);
  for (int i = 0; i < kCycles; ++i) state_->cycle();
  state_->context.assertOn(true);
  state_->memory.reset();
  model.ap_rst_n = 1;
  for (int i = 0; i < kCycles; ++i) state_->cycle();
}

void KernelModel::run(std::uint64_t cycles) {
  for (std::uint64_t i = 0; i < cycles; ++i) state_->cycle();
}

std::uint64_t KernelModel::quiet_cycles() const {
  return state_->quiet;
}

std::uint64_t KernelModel::cycles() const {
  return state_->cycles;
}

std::uint64_t KernelModel::write_beats() const {
  return state_->memory.beats();
}

std::string KernelModel::problem() const {
  return state_->problem.empty() ? state_->memory.problem() : state_->problem;
}

}  // namespace stopbit::sim
