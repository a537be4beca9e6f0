//! The queue disciplines of a port, as netlink requests. A token bucket filter holds the port at
//! its rate. Below a host's filter are the three bands of the kernel's default, so that urgent data
//! of an application overtakes other data as on a real card. Switches have one queue.
//!
//! Source: `struct tc_tbf_qopt` and `TCA_TBF_*` of linux/pkt_sched.h; semantics of
//! net/sched/sch_tbf.c, sch_generic.c (pfifo_fast).
use crate::port_shape::PortShape;
use rtnetlink::packet_core::{
    DefaultNla, NLM_F_ACK, NLM_F_CREATE, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage,
};
use rtnetlink::packet_route::RouteNetlinkMessage;
use rtnetlink::packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption};

const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;
const TC_LINKLAYER_ETHERNET: u8 = 1;

/// The handles of tbf and of its only class.
const TBF: TcHandle = TcHandle { major: 1, minor: 0 };
const CLASS: TcHandle = TcHandle { major: 1, minor: 1 };

/// The request that makes tbf the root discipline of interface `index`.
pub(crate) fn request(index: u32, shape: &PortShape) -> NetlinkMessage<RouteNetlinkMessage> {
    let mut message = TcMessage::with_index(index as i32);
    message.header.parent = TcHandle::ROOT;
    message.header.handle = TBF;
    message.attributes = vec![
        TcAttribute::Kind("tbf".into()),
        TcAttribute::Options(options(shape)),
    ];
    new(message)
}

/// The request that replaces tbf's queue by three bands, each as many frames long as the
/// interface's own queue.
pub(crate) fn bands(index: u32) -> NetlinkMessage<RouteNetlinkMessage> {
    let mut message = TcMessage::with_index(index as i32);
    message.header.parent = CLASS;
    message.attributes = vec![TcAttribute::Kind("pfifo_fast".into())];
    new(message)
}

fn new(message: TcMessage) -> NetlinkMessage<RouteNetlinkMessage> {
    let mut request = NetlinkMessage::from(RouteNetlinkMessage::NewQueueDiscipline(message));
    request.header.flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
    request
}

fn options(shape: &PortShape) -> Vec<TcOption> {
    let bytes_per_second = shape.rate.0 / 8;
    let mut options = vec![
        other(
            TCA_TBF_PARMS,
            parameters(u32::try_from(bytes_per_second).unwrap_or(u32::MAX), shape),
        ),
        other(TCA_TBF_BURST, shape.burst.to_ne_bytes().to_vec()),
    ];
    // The rate of tc_tbf_qopt has 32 bits.
    if bytes_per_second > u64::from(u32::MAX) {
        options.push(other(
            TCA_TBF_RATE64,
            bytes_per_second.to_ne_bytes().to_vec(),
        ));
    }
    options
}

fn other(kind: u16, value: Vec<u8>) -> TcOption {
    TcOption::Other(DefaultNla::new(kind, value))
}

/// `struct tc_tbf_qopt`: the rate, no peak rate, the limit; the bucket itself comes as
/// `TCA_TBF_BURST`.
fn parameters(bytes_per_second: u32, shape: &PortShape) -> Vec<u8> {
    let mut qopt = Vec::with_capacity(36);
    // struct tc_ratespec: cell_log, linklayer, overhead, cell_align, mpu, rate
    qopt.extend([0, TC_LINKLAYER_ETHERNET]);
    qopt.extend(shape.overhead.to_ne_bytes());
    qopt.extend([0; 4]);
    qopt.extend(bytes_per_second.to_ne_bytes());
    qopt.extend([0; 12]);
    qopt.extend(shape.queue.to_ne_bytes());
    qopt.extend([0; 8]);
    qopt
}

#[cfg(test)]
mod tests {
    use super::*;
    use inventory::BitsPerSec;
    use rtnetlink::packet_core::Nla;

    #[test]
    fn parameters_have_the_layout_of_the_kernel() {
        let p = parameters(
            2_500_000,
            &PortShape::of_frames(BitsPerSec::mega(20), 131_072),
        );
        assert_eq!(p.len(), 36);
        assert_eq!(u32::from_ne_bytes(p[8..12].try_into().unwrap()), 2_500_000);
        assert_eq!(u32::from_ne_bytes(p[24..28].try_into().unwrap()), 131_072);
        assert_eq!(u16::from_ne_bytes(p[2..4].try_into().unwrap()), 24);
    }

    #[test]
    fn rates_above_34_gigabit_use_the_wide_field() {
        assert!(
            options(&PortShape::of_frames(BitsPerSec::GIGABIT, 1))
                .iter()
                .all(|o| o.kind() != TCA_TBF_RATE64)
        );
        assert!(
            options(&PortShape::of_frames(BitsPerSec::mega(100_000), 1))
                .iter()
                .any(|o| o.kind() == TCA_TBF_RATE64)
        );
    }
}
