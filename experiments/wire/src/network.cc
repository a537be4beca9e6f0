// TCP, links and switches with finite port queues, by ns-3. For each ordered pair of ranks there is one
// connection, whose caller sends blocks and whose callee sends tokens against the stream, as in heddle's mesh.
#include "network.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"
#include <algorithm>
#include <deque>
#include <map>
#include <vector>
using namespace ns3;

static const uint32_t SEGMENT = 1448, SOCKET_BUFFER = 4 << 20, TOKEN = 8;
/* Octets that may wait in the kernel to be sent, while there are more to be written. */
static const uint32_t AHEAD = 128 << 10;
/* Marks begin at this queue, or at half a port's. */
static const uint32_t MARKING = 100000;

struct Connection {
  Ptr<Socket> caller, callee;
  std::deque<uint32_t> tokens;        // under way, oldest first
  uint32_t token_octets = 0;          // of the oldest one that have come
  uint32_t unsent_tokens = 0;         // octets that found no room
  uint32_t wake_at = 1, few = UINT32_MAX;
  bool awaits_few = false, awaits_room = false;
  uint32_t deferred = 0;              // octets that go when their rank is through with what it computes
  uint32_t in_memory = 0;             // between ranks of a host: octets that the receiver has not taken
};

struct Network {
  NetworkSetting setting;
  std::vector<NetworkLink> links;
  std::vector<uint32_t> host_of, routes, link_of;
  std::vector<uint16_t> caller_port;
  std::map<std::pair<uint32_t, uint16_t>, uint32_t> caller_at;  // by host and port: the rank
  std::vector<Ptr<NetDevice>> out;    // by link: the device that sends over it
  std::vector<std::vector<uint32_t>> ports;  // by switch: its links
  std::map<Ptr<NetDevice>, uint32_t> at_switch;
  std::vector<Connection> connections;
  std::vector<std::deque<NetworkEvent>> events;
  std::vector<char> is_woken;
  std::vector<Time> busy_until;       // by rank: with copying
  NetworkCounts counts{};
  bool is_stopped = false;

  Connection &between(uint32_t from, uint32_t to) { return connections[from * setting.ranks + to]; }
  bool share_host(uint32_t from, uint32_t to) { return host_of[from] == host_of[to]; }
  uint32_t queued(uint32_t link) { return DynamicCast<PointToPointNetDevice>(out[link])->GetQueue()->GetNBytes(); }

  void wake(uint32_t rank) {
    is_woken[rank] = 0;
    setting.wake(setting.context, rank);
  }
  void happen(uint32_t rank, uint32_t kind, uint32_t peer, uint32_t id) {
    events[rank].push_back({kind, peer, id});
    if (is_woken[rank]) return;
    is_woken[rank] = 1;
    Time now = Simulator::Now(), step = NanoSeconds((uint64_t)(setting.step_cost_us * 1000));
    Simulator::Schedule(std::max(busy_until[rank], now) + step - now, &Network::wake, this, rank);
  }
  void compute(uint32_t rank, double seconds) { busy_until[rank] = std::max(busy_until[rank], Simulator::Now()) + Seconds(seconds); }
  void copied(uint32_t rank, uint32_t octets) {
    if (setting.copied_per_s > 0) compute(rank, octets / setting.copied_per_s);
  }
  static void write(Ptr<Socket> s, uint32_t octets) {
    for (uint32_t sent = 0; sent < octets;) {
      int n = s->Send(Create<Packet>(std::min(octets - sent, 65536u)));
      if (n <= 0) NS_FATAL_ERROR("a socket has no room for the octets that it took");
      sent += n;
    }
  }
  void write_deferred(uint32_t from, uint32_t to, uint32_t octets) {
    Connection &c = between(from, to);
    c.deferred -= octets;
    write(c.caller, octets);
  }
  static uint32_t under_way(Ptr<Socket> s) { return DynamicCast<TcpSocketBase>(s)->GetTxBuffer()->Size(); }
  static uint32_t unsent(Ptr<Socket> s) {
    auto buffer = DynamicCast<TcpSocketBase>(s)->GetTxBuffer();
    uint32_t flying = buffer->BytesInFlight();
    return buffer->Size() > flying ? buffer->Size() - flying : 0;
  }
  void read_tokens(uint32_t from, uint32_t to) {
    Connection &c = between(from, to);
    while (Ptr<Packet> p = c.caller->Recv()) c.token_octets += p->GetSize();
    for (; c.token_octets >= TOKEN; c.token_octets -= TOKEN, c.tokens.pop_front())
      happen(from, EVENT_TOKEN, to, c.tokens.front());
  }
  void readable(uint32_t from, uint32_t to) {
    Connection &c = between(from, to);
    if (c.callee->GetRxAvailable() >= c.wake_at) happen(to, EVENT_READABLE, from, 0);
  }
  void acknowledged(uint32_t from, uint32_t to) {
    Connection &c = between(from, to);
    bool few = c.awaits_few && under_way(c.caller) <= c.few, room = c.awaits_room && unsent(c.caller) <= AHEAD / 2;
    if (!few && !room) return;
    if (few) c.awaits_few = false;
    if (room) c.awaits_room = false;
    happen(from, EVENT_WRITABLE, to, 0);
  }
  void push_tokens(uint32_t from, uint32_t to) {  // of the connection from -> to, against the stream
    Connection &c = between(from, to);
    uint32_t n = std::min(c.unsent_tokens, c.callee->GetTxAvailable());
    if (n > 0) { int sent = c.callee->Send(Create<Packet>(n)); if (sent > 0) c.unsent_tokens -= sent; }
  }
};

uint32_t network_hash(uint32_t at, uint32_t from, uint32_t to, uint16_t from_port, uint16_t to_port) {
  // splitmix64
  uint64_t h = ((uint64_t)at << 32 | from) * 0x9e3779b97f4a7c15u + ((uint64_t)to << 32 | (uint32_t)from_port << 16 | to_port);
  h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
  h = (h ^ h >> 27) * 0x94d049bb133111ebu;
  return (uint32_t)((h ^ h >> 31) >> 32);
}

// A switch sends a packet on, or drops it.
static void Forward(Network *net, Ptr<NetDevice> device, Ptr<const Packet> packet, uint16_t, const Address &, const Address &, NetDevice::PacketType) {
  Ipv4Header header;
  packet->PeekHeader(header);
  uint32_t host = (header.GetDestination().Get() & 0xffffff) - 1, at = net->at_switch[device];
  const uint32_t *routes = &net->routes[at * net->setting.hosts + host], *links = &net->link_of[routes[0]];
  uint32_t link = links[0];
  if (routes[1] - routes[0] > 1) {
    Ptr<Packet> inner = packet->Copy();
    TcpHeader tcp;
    inner->RemoveHeader(header);
    inner->PeekHeader(tcp);
    uint32_t from = (header.GetSource().Get() & 0xffffff) - 1;
    link = links[network_hash(at, from, host, tcp.GetSourcePort(), tcp.GetDestinationPort()) % (routes[1] - routes[0])];
  }
  uint32_t queued = net->queued(link), limit = net->setting.queue;
  if (net->setting.shared_buffer > 0) {
    // Dynamic thresholds (Choudhury, Hahne 1998), alpha 1: a port may hold as much as is free.
    uint64_t used = 0;
    for (uint32_t port : net->ports[at]) used += net->queued(port);
    limit = used < net->setting.shared_buffer ? net->setting.shared_buffer - used : 0;
  }
  if (queued + packet->GetSize() > limit) { net->counts.drops++; return; }
  net->counts.longest_queue = std::max<uint64_t>(net->counts.longest_queue, queued + packet->GetSize());
  Ptr<Packet> copy = packet->Copy();
  if (net->setting.control == CONTROL_DCTCP && queued > std::min(MARKING, limit / 2) && header.GetEcn() != Ipv4Header::ECN_NotECT) {
    copy->RemoveHeader(header);
    header.SetEcn(Ipv4Header::ECN_CE);
    copy->AddHeader(header);
    net->counts.marks++;
  }
  net->out[link]->Send(copy, net->out[link]->GetBroadcast(), 0x0800);
}

/* ns-3's own may close a window for good; Linux keeps two segments (tcp_dctcp.c). */
class OpenDctcp : public TcpDctcp {
 public:
  static TypeId GetTypeId() {
    static TypeId id = TypeId("OpenDctcp").SetParent<TcpDctcp>().AddConstructor<OpenDctcp>();
    return id;
  }
  uint32_t GetSsThresh(Ptr<const TcpSocketState> state, uint32_t in_flight) override {
    return std::max(TcpDctcp::GetSsThresh(state, in_flight), 2 * state->m_segmentSize);
  }
  Ptr<TcpCongestionOps> Fork() override { return CopyObject<OpenDctcp>(this); }
};
NS_OBJECT_ENSURE_REGISTERED(OpenDctcp);

static void Configure(const NetworkSetting &setting) {
  const char *controls[] = {"ns3::TcpCubic", "OpenDctcp"}, *control = controls[setting.control];
  Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName(control)));
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT));
  Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
  Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(SOCKET_BUFFER));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(SOCKET_BUFFER));
  Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
  Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(1)));
  Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MicroSeconds(setting.least_rto_ms * 1000)));
  Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MicroSeconds(std::min(1000.0, setting.least_rto_ms * 100))));
  Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue(setting.control == CONTROL_DCTCP ? "On" : "Off"));
  // A host's own queue is its memory: it delays no flow but the one that fills it, and drops nothing.
  Config::SetDefault("ns3::FqCoDelQueueDisc::MaxSize", QueueSizeValue(QueueSize("200000p")));
  Config::SetDefault("ns3::FqCoDelQueueDisc::UseEcn", BooleanValue(false));
  Config::SetDefault("ns3::FqCoDelQueueDisc::Target", StringValue("10s"));
  Config::SetDefault("ns3::FqCoDelQueueDisc::Interval", StringValue("100s"));
}

static void Cable(Network *net, NodeContainer &nodes, TrafficControlHelper &control, uint32_t link) {
  const NetworkLink &there = net->links[link];
  PointToPointHelper helper;
  helper.SetDeviceAttribute("DataRate", DataRateValue(DataRate((uint64_t)there.bits_per_s)));
  helper.SetDeviceAttribute("Mtu", UintegerValue(SEGMENT + 52));
  helper.SetChannelAttribute("Delay", TimeValue(Seconds(there.delay_s)));
  helper.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000000000B"));
  NetDeviceContainer pair = helper.Install(nodes.Get(there.from), nodes.Get(there.to));
  uint32_t hosts = net->setting.hosts;
  for (uint32_t end = 0; end < 2; end++) {
    Ptr<NetDevice> device = pair.Get(end);
    uint32_t node = end ? there.to : there.from;
    net->out[link + end] = device;
    if (node < hosts) {
      DynamicCast<PointToPointNetDevice>(device)->GetQueue()->SetMaxSize(QueueSize("4p"));
      control.Install(device);
      Ptr<Ipv4> ip = nodes.Get(node)->GetObject<Ipv4>();
      uint32_t interface = ip->AddInterface(device);
      ip->AddAddress(interface, Ipv4InterfaceAddress(Ipv4Address(0x0a000001 + node), Ipv4Mask("255.0.0.0")));
      ip->SetUp(interface);
    } else {
      net->ports[node - hosts].push_back(link + end);
      net->at_switch[device] = node - hosts;
      nodes.Get(node)->RegisterProtocolHandler(MakeBoundCallback(&Forward, net), 0x0800, device);
    }
  }
}

static void Connect(Network *net, NodeContainer &nodes) {
  uint32_t ranks = net->setting.ranks, number = 0;
  TypeId tcp = TypeId::LookupByName("ns3::TcpSocketFactory");
  for (uint32_t to = 0; to < ranks; to++) {
    Ptr<Socket> door = Socket::CreateSocket(nodes.Get(net->host_of[to]), tcp);
    door->Bind(InetSocketAddress(Ipv4Address::GetAny(), NETWORK_PORT + to));
    door->Listen();
    door->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address &>(), Callback<void, Ptr<Socket>, const Address &>([net, to](Ptr<Socket> s, const Address &caller) {
      InetSocketAddress address = InetSocketAddress::ConvertFrom(caller);
      uint32_t from = net->caller_at[{(address.GetIpv4().Get() & 0xffffff) - 1, address.GetPort()}];
      net->between(from, to).callee = s;
      s->SetRecvCallback(Callback<void, Ptr<Socket>>([net, from, to](Ptr<Socket>) { net->readable(from, to); }));
      s->SetSendCallback(Callback<void, Ptr<Socket>, uint32_t>([net, from, to](Ptr<Socket>, uint32_t) { net->push_tokens(from, to); }));
    }));
  }
  for (uint32_t from = 0; from < ranks; from++) for (uint32_t to = 0; to < ranks; to++) {
    uint32_t host = net->host_of[from], there = net->host_of[to];
    if (host == there) continue;
    Ptr<Socket> s = Socket::CreateSocket(nodes.Get(host), tcp);
    uint16_t port = net->caller_port[from * ranks + to];
    net->caller_at[{host, port}] = from;
    s->Bind(InetSocketAddress(Ipv4Address(0x0a000001 + host), port));
    net->between(from, to).caller = s;
    s->SetRecvCallback(Callback<void, Ptr<Socket>>([net, from, to](Ptr<Socket>) { net->read_tokens(from, to); }));
    s->SetSendCallback(Callback<void, Ptr<Socket>, uint32_t>([net, from, to](Ptr<Socket>, uint32_t) { net->acknowledged(from, to); }));
    s->TraceConnectWithoutContext("CongState", Callback<void, TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t>([net](TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t now) { if (now == TcpSocketState::CA_LOSS) net->counts.timers++; }));
    Simulator::Schedule(MicroSeconds(20 * ++number), [s, there, to]() { s->Connect(InetSocketAddress(Ipv4Address(0x0a000001 + there), NETWORK_PORT + to)); });
  }
  Simulator::Stop(MicroSeconds(20 * number) + Seconds(0.5));
  Simulator::Run();
}

Network *network_new(const NetworkSetting *setting) {
  Network *net = new Network;
  net->setting = *setting;
  net->links.assign(setting->link, setting->link + setting->links);
  net->routes.assign(setting->route, setting->route + setting->switches * setting->hosts + 1);
  net->link_of.assign(setting->link_of, setting->link_of + net->routes.back());
  net->host_of.assign(setting->host_of, setting->host_of + setting->ranks);
  net->caller_port.assign(setting->port, setting->port + setting->ranks * setting->ranks);
  net->out.resize(setting->links);
  net->ports.resize(setting->switches);
  net->connections.resize(setting->ranks * setting->ranks);
  net->events.resize(setting->ranks);
  net->is_woken.assign(setting->ranks, 0);
  net->busy_until.assign(setting->ranks, Seconds(0));
  Configure(*setting);
  NodeContainer nodes, hosts;
  nodes.Create(setting->hosts + setting->switches);
  for (uint32_t host = 0; host < setting->hosts; host++) hosts.Add(nodes.Get(host));
  InternetStackHelper().Install(hosts);
  TrafficControlHelper control;
  control.SetRootQueueDisc("ns3::FqCoDelQueueDisc");
  for (uint32_t link = 0; link < setting->links; link += 2) Cable(net, nodes, control, link);
  Connect(net, nodes);
  net->counts = {};
  return net;
}

void network_free(Network *net) {
  Simulator::Destroy();
  delete net;
}

uint64_t network_now_ns(Network *) { return Simulator::Now().GetNanoSeconds(); }

int network_run(Network *net, double seconds) {
  net->is_stopped = false;
  EventId limit = Simulator::Schedule(Seconds(seconds), []() { Simulator::Stop(); });
  Simulator::Run();
  Simulator::Cancel(limit);
  return net->is_stopped;
}

void network_stop(Network *net) {
  net->is_stopped = true;
  Simulator::Stop();
}

void network_later(Network *net, uint32_t rank, uint32_t kind, double us) {
  Simulator::Schedule(NanoSeconds((uint64_t)(us * 1000)), &Network::happen, net, rank, kind, 0u, 0u);
}

int network_event(Network *net, uint32_t rank, NetworkEvent *event) {
  std::deque<NetworkEvent> &events = net->events[rank];
  if (events.empty()) return 0;
  *event = events.front();
  events.pop_front();
  return 1;
}

uint32_t network_send(Network *net, uint32_t from, uint32_t to, uint32_t octets) {
  Connection &c = net->between(from, to);
  if (net->share_host(from, to)) {
    c.in_memory += octets;
    net->copied(from, octets);
    if (c.in_memory >= c.wake_at) net->happen(to, EVENT_READABLE, from, 0);
    return octets;
  }
  uint32_t waiting = Network::unsent(c.caller) + c.deferred, room = c.caller->GetTxAvailable();
  uint32_t sent = std::min(std::min(octets, waiting < AHEAD ? AHEAD - waiting : 0), room > c.deferred ? room - c.deferred : 0);
  Time busy = net->busy_until[from] - Simulator::Now();
  if (busy.IsStrictlyPositive()) {
    c.deferred += sent;
    Simulator::Schedule(busy, &Network::write_deferred, net, from, to, sent);
  } else {
    Network::write(c.caller, sent);
  }
  c.awaits_room |= sent < octets;
  net->copied(from, sent);
  return sent;
}

uint32_t network_receive(Network *net, uint32_t from, uint32_t to, uint32_t octets) {
  Connection &c = net->between(from, to);
  Ptr<Socket> s = c.callee;
  uint32_t taken = net->share_host(from, to) ? std::min(octets, c.in_memory) : 0;
  c.in_memory -= taken;
  while (s && taken < octets && s->GetRxAvailable() > 0) {
    Ptr<Packet> p = s->Recv(octets - taken, 0);
    if (!p || p->GetSize() == 0) break;
    taken += p->GetSize();
  }
  net->copied(to, taken);
  return taken;
}

void network_compute(Network *net, uint32_t rank, double seconds) { net->compute(rank, seconds); }

uint64_t network_free_at_ns(Network *net, uint32_t rank) { return std::max(net->busy_until[rank], Simulator::Now()).GetNanoSeconds(); }

uint32_t network_under_way(Network *net, uint32_t from, uint32_t to) {
  Connection &c = net->between(from, to);
  return net->share_host(from, to) ? 0 : Network::under_way(c.caller) + c.deferred;
}

void network_await_few(Network *net, uint32_t from, uint32_t to, uint32_t octets) {
  Connection &c = net->between(from, to);
  c.awaits_few = true;
  c.few = octets;
}

void network_wake_at(Network *net, uint32_t from, uint32_t to, uint32_t octets) { net->between(from, to).wake_at = octets; }

void network_give(Network *net, uint32_t from, uint32_t to, uint32_t id) {
  if (net->share_host(from, to)) return net->happen(to, EVENT_TOKEN, from, id);
  // The giver is the callee of the connection on which the taker sends blocks to it.
  Connection &c = net->between(to, from);
  c.tokens.push_back(id);
  c.unsent_tokens += TOKEN;
  net->push_tokens(to, from);
}

NetworkCounts network_counts(Network *net) {
  NetworkCounts counts = net->counts;
  net->counts = {};
  return counts;
}
