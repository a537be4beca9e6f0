//! Interfaces inside the lab's namespaces, by netlink. The error of every function names the
//! object.
#![allow(
    unsafe_code,
    reason = "the offloads of an interface have no netlink request in rtnetlink: an ioctl \
              switches them"
)]
use crate::error::{KernelErrorContext, LabError, LabResult};
use crate::plan::{LabOptions, SegmentRoute};
use crate::port_shape::PortShape;
use crate::{departure, netns, tbf};
use futures_util::{StreamExt, TryStreamExt};
use inventory::Mac;
use rtnetlink::packet_core::{NetlinkMessage, NetlinkPayload};
use rtnetlink::packet_route::RouteNetlinkMessage;
use rtnetlink::packet_route::address::{AddressAttribute, AddressFlags};
use rtnetlink::packet_route::link::{
    BridgeStpState, InfoBridgePort, InfoData, InfoPortData, InfoVeth, LinkAttribute, LinkFlags,
    LinkInfo, LinkMessage,
};
use rtnetlink::packet_route::neighbour::{NeighbourFlags, NeighbourState};
use rtnetlink::packet_route::route::{RouteAttribute, RouteMessage, RouteMetric};
use rtnetlink::{
    LinkBridge, LinkBridgePort, LinkMessageBuilder, LinkUnspec, LinkVeth, RouteMessageBuilder,
    RouteNextHopBuilder,
};
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsRawFd;
use std::path::Path;

/// One of the relay's interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RelayPort {
    /// It is set up.
    pub(crate) up: bool,
    /// It has carrier; never while it is set down itself.
    pub(crate) carrier: bool,
}

/// A network namespace with a netlink connection in it.
pub(crate) struct NetlinkNamespace {
    /// For error messages.
    node: String,
    handle: rtnetlink::Handle,
    /// A socket of the namespace, for ioctls.
    socket: UdpSocket,
    /// The namespace itself, to put interfaces into.
    namespace: File,
}

/// One end of a cable to make: the name, the address and the namespace of an interface.
pub(crate) struct VethEnd<'a> {
    pub(crate) wire: &'a NetlinkNamespace,
    pub(crate) port: &'a str,
    pub(crate) mac: Mac,
}

impl NetlinkNamespace {
    /// Opens the namespace of `node`, mounted or linked at `path`. Call this inside a tokio
    /// runtime.
    pub(crate) fn open(node: &str, path: &Path) -> LabResult<NetlinkNamespace> {
        let runtime = tokio::runtime::Handle::current();
        let (connection, handle, socket) = netns::within(path, || {
            let _guard = runtime.enter();
            let (connection, handle, _) = rtnetlink::new_connection()?;
            Ok((connection, handle, UdpSocket::bind("0.0.0.0:0")?))
        })?;
        tokio::spawn(connection);
        let namespace = File::open(path).during(|| path.display().to_string())?;
        Ok(NetlinkNamespace {
            node: node.to_owned(),
            handle,
            socket,
            namespace,
        })
    }

    /// An interface by name, if there is one. An error names `doing`, the purpose of the question.
    async fn interface(&self, port: &str, doing: &str) -> LabResult<Option<LinkMessage>> {
        let mut links = self
            .handle
            .link()
            .get()
            .match_name(port.to_owned())
            .execute();
        links.try_next().await.during(|| self.place(port, doing))
    }

    /// The kernel's number of an interface.
    pub(crate) async fn index(&self, port: &str) -> LabResult<u32> {
        let link = self.interface(port, "looking it up").await?;
        link.map(|l| l.header.index).ok_or_else(|| {
            LabError::Refused(format!(
                "{}: no such interface",
                self.place(port, "looking it up")
            ))
        })
    }

    /// Sets an interface up or down.
    pub(crate) async fn set_up(&self, port: &str, up: bool) -> LabResult<()> {
        let link = LinkUnspec::new_with_index(self.index(port).await?);
        let message = if up { link.up() } else { link.down() }.build();
        self.handle
            .link()
            .change(message)
            .execute()
            .await
            .during(|| {
                self.place(
                    port,
                    if up {
                        "setting it up"
                    } else {
                        "setting it down"
                    },
                )
            })
    }

    /// Gives an interface an address and the route to its subnet.
    pub(crate) async fn add_address(
        &self,
        port: &str,
        address: Ipv4Addr,
        prefix: u8,
    ) -> LabResult<()> {
        let index = self.index(port).await?;
        let request = self
            .handle
            .address()
            .add(index, address.into(), prefix)
            .replace();
        request
            .execute()
            .await
            .during(|| self.place(port, "adding its address"))
    }

    /// Like [`NetlinkNamespace::add_address`], with a route that names TCP's congestion control. A
    /// namespace can choose it only by its routes.
    pub(crate) async fn add_data_address(
        &self,
        port: &str,
        address: Ipv4Addr,
        subnet: (Ipv4Addr, u8),
    ) -> LabResult<()> {
        let index = self.index(port).await?;
        let mut request = self
            .handle
            .address()
            .add(index, address.into(), subnet.1)
            .replace();
        request
            .message_mut()
            .attributes
            .push(AddressAttribute::Flags(AddressFlags::Noprefixroute));
        request
            .execute()
            .await
            .during(|| self.place(port, "adding its address"))?;
        let route = RouteMessageBuilder::<Ipv4Addr>::new()
            .scope(rtnetlink::packet_route::route::RouteScope::Link);
        self.route(
            port,
            route
                .destination_prefix(subnet.0, subnet.1)
                .output_interface(index)
                .pref_source(address)
                .build(),
        )
        .await
    }

    /// Routes packets for another subnet to a router, or each flow to one of several.
    pub(crate) async fn add_route(&self, route: &SegmentRoute) -> LabResult<()> {
        let Some(first) = route.hops.first() else {
            return Ok(());
        };
        let to =
            RouteMessageBuilder::<Ipv4Addr>::new().destination_prefix(route.network, route.prefix);
        if route.hops.len() == 1 {
            let index = self.index(&first.port).await?;
            let to = to.gateway(first.via).output_interface(index);
            return self
                .route(&first.port, to.pref_source(first.source).build())
                .await;
        }
        let mut hops = Vec::new();
        for hop in &route.hops {
            let to_port = RouteNextHopBuilder::new_ipv4().interface(self.index(&hop.port).await?);
            // An IPv4 route has an IPv4 router.
            let next = to_port
                .via(hop.via.into())
                .map_err(|_| LabError::Refused(format!("{}: no IPv4 address", hop.via)))?;
            hops.push(next.build());
        }
        self.route(&first.port, to.multipath(hops).build()).await
    }

    async fn route(&self, port: &str, mut route: RouteMessage) -> LabResult<()> {
        route
            .attributes
            .push(RouteAttribute::Metrics(vec![RouteMetric::CcAlgo(
                "cubic".into(),
            )]));
        let request = self.handle.route().add(route).replace();
        request
            .execute()
            .await
            .during(|| self.place(port, "adding its route (TCP congestion control cubic)"))
    }

    /// Pins the MAC address of a neighbour, so that no schedule waits for ARP.
    pub(crate) async fn add_neighbour(
        &self,
        port_index: u32,
        address: Ipv4Addr,
        mac: Mac,
    ) -> LabResult<()> {
        let request = self
            .handle
            .neighbours()
            .add(port_index, address.into())
            .link_layer_address(&mac.0)
            .replace();
        request
            .execute()
            .await
            .during(|| self.place("eth0", "adding a neighbour"))
    }

    /// Has a bridge learn nobody behind a port.
    pub(crate) async fn end_learning(&self, port: &str) -> LabResult<()> {
        let message = LinkBridgePort::new(self.index(port).await?).learning(false);
        let change = self.handle.link().set_port(message.build()).execute();
        change
            .await
            .during(|| self.place(port, "ending its learning"))
    }

    /// Places a station at a port of a bridge, and nowhere else.
    pub(crate) async fn place_station(&self, port: &str, mac: Mac) -> LabResult<()> {
        let index = self.index(port).await?;
        let entry = self
            .handle
            .neighbours()
            .add_bridge(index, &mac.0)
            .state(NeighbourState::Noarp)
            .replace();
        entry
            .flags(NeighbourFlags::Controller)
            .execute()
            .await
            .during(|| self.place(port, "placing a station"))
    }

    /// Makes a learning bridge without STP, for the management network.
    pub(crate) async fn add_plain_bridge(&self, name: &str) -> LabResult<()> {
        self.handle
            .link()
            .add(LinkBridge::new(name).build())
            .execute()
            .await
            .during(|| self.place(name, "making the bridge"))
    }

    /// Makes the bridge of a switch.
    pub(crate) async fn add_stp_bridge(
        &self,
        name: &str,
        mac: Mac,
        priority: u16,
        options: &LabOptions,
    ) -> LabResult<()> {
        let message = LinkBridge::new(name)
            .address(mac.0.to_vec())
            .forward_delay(centiseconds(options.forward_delay))
            .hello_time(centiseconds(options.hello))
            .max_age(centiseconds(options.max_age))
            .ageing_time(centiseconds(options.ageing))
            .stp_state(BridgeStpState::KernelStp)
            .priority(priority)
            .mcast_snooping(false)
            .build();
        self.handle
            .link()
            .add(message)
            .execute()
            .await
            .during(|| self.place(name, "making the bridge"))
    }

    /// Makes an interface a port of a bridge; `cost` is its STP path cost.
    pub(crate) async fn enslave(
        &self,
        port: &str,
        bridge: &str,
        cost: Option<u32>,
    ) -> LabResult<()> {
        let (port_index, bridge_index) = (self.index(port).await?, self.index(bridge).await?);
        let master = LinkUnspec::new_with_index(port_index)
            .controller(bridge_index)
            .up()
            .build();
        self.handle
            .link()
            .change(master)
            .execute()
            .await
            .during(|| self.place(port, "adding it to the bridge"))?;
        if let Some(cost) = cost {
            let message = LinkBridgePort::new(port_index).cost(cost).build();
            self.handle
                .link()
                .set_port(message)
                .execute()
                .await
                .during(|| self.place(port, "setting its path cost"))?;
        }
        Ok(())
    }

    /// Runs `work` on a thread inside the namespace.
    pub(crate) fn within<T: Send>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send,
    ) -> LabResult<T> {
        let namespace = format!("/proc/self/fd/{}", self.namespace.as_raw_fd());
        netns::within(Path::new(&namespace), work)
    }

    /// Shapes an interface, and makes it send frame by frame, unless its shape has segments: a
    /// shallow queue would take or drop a segment of 64 kB as a whole.
    pub(crate) async fn shape(&self, port: &str, shape: &PortShape) -> LabResult<()> {
        let index = self.index(port).await?;
        let has_segments = shape.segment.is_some();
        self.switch(port, &[ETHTOOL_STSO, ETHTOOL_SGSO], has_segments)?;
        self.switch(port, &[ETHTOOL_SGRO], false)?;
        if let Some(longest) = shape.segment {
            let mut message = LinkUnspec::new_with_index(index).build();
            message.attributes.push(LinkAttribute::GsoMaxSize(longest));
            let change = self.handle.link().change(message).execute();
            change
                .await
                .during(|| self.place(port, "limiting its segments"))?;
        }
        self.queue(
            port,
            tbf::request(index, shape),
            &format!("shaping it to {}bit/s (tbf)", shape.rate),
        )
        .await
    }

    /// Gives a shaped interface three bands, like those of a host's card.
    pub(crate) async fn prioritise(&self, port: &str) -> LabResult<()> {
        let index = self.index(port).await?;
        self.queue(port, tbf::bands(index), "giving it bands (pfifo_fast)")
            .await
    }

    /// Lets frames that come in leave their hosts, if the kernel takes the program for that.
    pub(crate) async fn end_ownership(&self, port: &str) -> LabResult<()> {
        let index = self.index(port).await?;
        if let Err(error) = self.give_program(port, index).await {
            departure::warn_without(&error);
        }
        Ok(())
    }

    async fn give_program(&self, port: &str, index: u32) -> LabResult<()> {
        let doing = "giving it a program (bpf)";
        let program = departure::program().during(|| self.place(port, doing))?;
        for request in departure::requests(index, program) {
            self.queue(port, request, doing).await?;
        }
        Ok(())
    }

    async fn queue(
        &self,
        port: &str,
        request: NetlinkMessage<RouteNetlinkMessage>,
        doing: &str,
    ) -> LabResult<()> {
        let mut handle = self.handle.clone();
        let mut answers = handle.request(request).during(|| self.place(port, doing))?;
        while let Some(answer) = answers.next().await {
            if let NetlinkPayload::Error(error) = answer.payload {
                return Err(rtnetlink::Error::NetlinkError(error))
                    .during(|| self.place(port, doing));
            }
        }
        Ok(())
    }

    /// Makes an interface send frames with their checksums filled in, because frames leave the
    /// kernel on their way through the relay.
    pub(crate) fn complete_checksums(&self, port: &str) -> LabResult<()> {
        self.switch(port, &[ETHTOOL_STXCSUM], false)
    }

    fn switch(&self, port: &str, offloads: &[u32], on: bool) -> LabResult<()> {
        let mut all = offloads
            .iter()
            .map(|command| switch(&self.socket, port, *command, on));
        all.try_for_each(|done| done)
            .during(|| self.place(port, "switching its offloads"))
    }

    /// Moves an interface into another namespace under another name and address. It loses its
    /// bridge and its queue.
    pub(crate) async fn move_interface(&self, port: &str, to: &VethEnd<'_>) -> LabResult<()> {
        let index = self.index(port).await?;
        let change = |message| self.handle.link().change(message).execute();
        change(
            LinkUnspec::new_with_index(index)
                .nocontroller()
                .down()
                .build(),
        )
        .await
        .during(|| self.place(port, "unplugging it"))?;
        // In one request: an agent of the target would keep a name that the port has on the way.
        let plugged = LinkUnspec::new_with_index(index)
            .setns_by_fd(to.wire.namespace.as_raw_fd())
            .name(to.port.to_owned())
            .address(to.mac.0.to_vec())
            .build();
        change(plugged)
            .await
            .during(|| to.wire.place(to.port, "moving it"))
    }

    /// The state of an interface: set up or down, with or without carrier.
    pub(crate) async fn port(&self, port: &str) -> LabResult<RelayPort> {
        let link = self.interface(port, "looking at it").await?;
        let flags = link.map(|l| l.header.flags).unwrap_or_default();
        Ok(RelayPort {
            up: flags.contains(LinkFlags::Up),
            carrier: flags.contains(LinkFlags::Up | LinkFlags::LowerUp),
        })
    }

    /// Every bridge port with its STP state (kernel numbering: 0 disabled, 1 listening, 2 learning,
    /// 3 forwarding, 4 blocking) and its root bridge.
    pub(crate) async fn ports(&self) -> LabResult<Vec<StpPortState>> {
        let mut links = self.handle.link().get().execute();
        let mut ports = Vec::new();
        while let Some(link) = links
            .try_next()
            .await
            .during(|| self.place("br0", "listing its ports"))?
        {
            ports.extend(port_state(&link));
        }
        Ok(ports)
    }

    fn place(&self, port: &str, what: &str) -> String {
        format!("{}: interface {port}: {what}", self.node)
    }
}

/// The STP state of a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StpPortState {
    pub(crate) name: String,
    /// True if it is up and has carrier.
    pub(crate) carrier: bool,
    pub(crate) state: u8,
    /// Designated root: priority and address.
    pub(crate) root: (u16, Mac),
}

/// Makes a cable: a pair of interfaces, one in each namespace, both down.
pub(crate) async fn cable(a: &VethEnd<'_>, b: &VethEnd<'_>) -> LabResult<()> {
    let peer = LinkMessageBuilder::<LinkUnspec>::new()
        .name(b.port.to_owned())
        .address(b.mac.0.to_vec())
        .setns_by_fd(b.wire.namespace.as_raw_fd())
        .build();
    let pair = LinkVeth::new(a.port, b.port)
        .address(a.mac.0.to_vec())
        .set_info_data(InfoData::Veth(InfoVeth::Peer(peer)))
        .build();
    let request = a.wire.handle.link().add(pair);
    request.execute().await.during(|| {
        format!(
            "cable {}:{} - {}:{}: making it",
            a.wire.node, a.port, b.wire.node, b.port
        )
    })
}

fn port_state(link: &LinkMessage) -> Option<StpPortState> {
    let mut name = None;
    let mut found = None;
    for attribute in &link.attributes {
        match attribute {
            LinkAttribute::IfName(n) => name = Some(n.clone()),
            LinkAttribute::LinkInfo(infos) => {
                found = infos.iter().find_map(|i| match i {
                    LinkInfo::PortData(InfoPortData::BridgePort(p)) => Some(p),
                    _ => None,
                });
            }
            _ => {}
        }
    }
    let port = found?;
    let state = port.iter().find_map(|i| {
        if let InfoBridgePort::State(s) = i {
            Some(u8::from(*s))
        } else {
            None
        }
    })?;
    let root = port.iter().find_map(|i| {
        if let InfoBridgePort::RootId(r) = i {
            Some((r.priority, Mac(r.address)))
        } else {
            None
        }
    })?;
    let carrier = link
        .header
        .flags
        .contains(LinkFlags::Up | LinkFlags::LowerUp);
    Some(StpPortState {
        name: name?,
        carrier,
        state,
        root,
    })
}

/// Bridge timers are in hundredths of a second (USER_HZ).
fn centiseconds(duration: std::time::Duration) -> u32 {
    u32::try_from(duration.as_millis() / 10).unwrap_or(u32::MAX)
}

/// Commands of linux/ethtool.h.
const ETHTOOL_STXCSUM: u32 = 0x17;
const ETHTOOL_STSO: u32 = 0x1f;
const ETHTOOL_SGSO: u32 = 0x24;
const ETHTOOL_SGRO: u32 = 0x2c;

fn switch(socket: &UdpSocket, port: &str, command: u32, on: bool) -> io::Result<()> {
    /// `struct ethtool_value`.
    #[repr(C)]
    struct EthtoolValue {
        command: u32,
        data: u32,
    }
    const SIOCETHTOOL: libc::Ioctl = 0x8946;
    let mut value = EthtoolValue {
        command,
        data: u32::from(on),
    };
    // SAFETY: all-zero is a valid ifreq: integers, a pointer and character arrays.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request
        .ifr_name
        .iter_mut()
        .zip(port.bytes().take(libc::IFNAMSIZ - 1))
    {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the kernel reads and writes `request` and the `value` it points to; both outlive the
    // call.
    match unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
