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
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};
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
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

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
        let (link, doing) = match up {
            true => (link.up(), "setting it up"),
            false => (link.down(), "setting it down"),
        };
        self.change(port, link.build(), doing).await
    }

    async fn change(&self, port: &str, link: LinkMessage, doing: &str) -> LabResult<()> {
        let request = self.handle.link().change(link).execute();
        request.await.during(|| self.place(port, doing))
    }

    async fn change_port(&self, port: &str, link: LinkMessage, doing: &str) -> LabResult<()> {
        let request = self.handle.link().set_port(link).execute();
        request.await.during(|| self.place(port, doing))
    }

    async fn add_bridge(&self, name: &str, bridge: LinkMessage) -> LabResult<()> {
        let request = self.handle.link().add(bridge).execute();
        request
            .await
            .during(|| self.place(name, "making the bridge"))
    }

    /// Gives an interface an address and the route to its subnet.
    pub(crate) async fn add_address(
        &self,
        port: &str,
        address: Ipv4Addr,
        prefix: u8,
    ) -> LabResult<()> {
        let index = self.index(port).await?;
        let request = self.handle.address().add(index, address.into(), prefix);
        let added = request.replace().execute().await;
        added.during(|| self.place(port, "adding its address"))
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
        let addresses = self.handle.address();
        let mut request = addresses.add(index, address.into(), subnet.1).replace();
        let flags = AddressAttribute::Flags(AddressFlags::Noprefixroute);
        request.message_mut().attributes.push(flags);
        let added = request.execute().await;
        added.during(|| self.place(port, "adding its address"))?;
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
        let added = self.handle.route().add(route).replace().execute().await;
        added.during(|| self.place(port, "adding its route (TCP congestion control cubic)"))
    }

    /// Pins the MAC address of a neighbour, so that no schedule waits for ARP.
    pub(crate) async fn add_neighbour(
        &self,
        port_index: u32,
        address: Ipv4Addr,
        mac: Mac,
    ) -> LabResult<()> {
        let request = self.handle.neighbours().add(port_index, address.into());
        let added = request.link_layer_address(&mac.0).replace().execute();
        added
            .await
            .during(|| self.place("eth0", "adding a neighbour"))
    }

    /// Has a bridge learn nobody behind a port.
    pub(crate) async fn end_learning(&self, port: &str) -> LabResult<()> {
        let message = LinkBridgePort::new(self.index(port).await?).learning(false);
        self.change_port(port, message.build(), "ending its learning")
            .await
    }

    /// Places a station at a port of a bridge, and nowhere else.
    pub(crate) async fn place_station(&self, port: &str, mac: Mac) -> LabResult<()> {
        let index = self.index(port).await?;
        let entry = self.handle.neighbours().add_bridge(index, &mac.0);
        let static_entry = entry.state(NeighbourState::Noarp).replace();
        let placed = static_entry.flags(NeighbourFlags::Controller).execute();
        placed
            .await
            .during(|| self.place(port, "placing a station"))
    }

    /// Makes a learning bridge without STP, for the management network.
    pub(crate) async fn add_plain_bridge(&self, name: &str) -> LabResult<()> {
        self.add_bridge(name, LinkBridge::new(name).build()).await
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
        self.add_bridge(name, message).await
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
        self.change(port, master, "adding it to the bridge").await?;
        if let Some(cost) = cost {
            let message = LinkBridgePort::new(port_index).cost(cost).build();
            self.change_port(port, message, "setting its path cost")
                .await?;
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
            self.change(port, message, "limiting its segments").await?;
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
        let unplugged = LinkUnspec::new_with_index(index).nocontroller().down();
        self.change(port, unplugged.build(), "unplugging it")
            .await?;
        // In one request: an agent of the target would keep a name that the port has on the way.
        let plugged = LinkUnspec::new_with_index(index)
            .setns_by_fd(to.wire.namespace.as_raw_fd())
            .name(to.port.to_owned())
            .address(to.mac.0.to_vec());
        self.change(port, plugged.build(), "moving it").await
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
    let name = link
        .attributes
        .iter()
        .find_map(|attribute| match attribute {
            LinkAttribute::IfName(name) => Some(name.clone()),
            _ => None,
        });
    let infos = link
        .attributes
        .iter()
        .filter_map(|attribute| match attribute {
            LinkAttribute::LinkInfo(infos) => Some(infos),
            _ => None,
        });
    let port = infos.flatten().find_map(|info| match info {
        LinkInfo::PortData(InfoPortData::BridgePort(port)) => Some(port),
        _ => None,
    })?;
    let state = port.iter().find_map(|info| match info {
        InfoBridgePort::State(state) => Some(u8::from(*state)),
        _ => None,
    })?;
    let root = port.iter().find_map(|info| match info {
        InfoBridgePort::RootId(root) => Some((root.priority, Mac(root.address))),
        _ => None,
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
fn centiseconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis() / 10).unwrap_or(u32::MAX)
}

/// The messages in which the kernel reports each change of an interface.
pub(crate) struct LinkChanges(OwnedFd);

impl LinkChanges {
    pub(crate) fn open() -> io::Result<LinkChanges> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let route = SockProtocol::NetlinkRoute;
        let links = socket(AddressFamily::Netlink, SockType::Raw, flags, route)?;
        let groups = NetlinkAddr::new(0, libc::RTMGRP_LINK as u32);
        bind(links.as_raw_fd(), &groups)?;
        Ok(LinkChanges(links))
    }

    /// Waits for a change, at most so long; true if there was one.
    pub(crate) fn wait(&self, at_most: Duration) -> bool {
        let timeout = PollTimeout::try_from(at_most).unwrap_or(PollTimeout::MAX);
        let mut watched = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
        let has_changed = poll(&mut watched, timeout).is_ok_and(|n| n > 0);
        if has_changed {
            let mut message = [0; 8192];
            while recv(self.0.as_raw_fd(), &mut message, MsgFlags::empty()).is_ok() {}
        }
        has_changed
    }
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
