//! A frame that comes to a switch has left its host.
//!
//! All nodes share a kernel, which counts a frame as its sender's until the last queue has passed it on. So
//! TCP would hold back what waits in a switch (its small queues: `tcp_small_queue_check` of
//! net/ipv4/tcp_output.c): one connection would have two segments in the queue of a trunk, beside a
//! neighbour a tenth of the share that it has between real machines. A program at each port of a switch
//! lets a copy of the frame go on that is nobody's. Source: bpf-helpers(7), `bpf_clone_redirect`;
//! `union bpf_attr` of linux/bpf.h; `TCA_BPF_*` of linux/pkt_cls.h.
#![allow(unsafe_code, reason = "bpf(2) has no safe wrapper here")]
use crate::error::LabError;
use rtnetlink::packet_core::{
    DefaultNla, NLM_F_ACK, NLM_F_CREATE, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage,
};
use rtnetlink::packet_route::RouteNetlinkMessage;
use rtnetlink::packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::{Once, OnceLock};

const BPF_PROG_LOAD: libc::c_long = 5;
const BPF_PROG_TYPE_SCHED_CLS: u32 = 3;
const TCA_BPF_FD: u16 = 6;
const TCA_BPF_FLAGS: u16 = 8;
const TCA_BPF_FLAG_ACT_DIRECT: u32 = 1;
/// The first filter, for every protocol.
const FIRST_OF_ALL: u32 = 1 << 16 | (libc::ETH_P_ALL as u16).to_be() as u32;
/// The place of filters before and behind an interface's queue (`TC_H_CLSACT`), and of those before it.
const FILTERS: TcHandle = TcHandle {
    major: 0xFFFF,
    minor: 0xFFF1,
};
const COMING_IN: TcHandle = TcHandle {
    major: 0xFFFF,
    minor: 0xFFF2,
};

/// An instruction: its code, the registers it writes (low) and reads (high), an offset, a number.
type Instruction = (u8, u8, i16, i32);

/// Fields of `struct __sk_buff`.
const PROTOCOL: i16 = 16;
const IFINDEX: i16 = 40;
const SK: i16 = 168;

const LOAD_WORD: u8 = 0x61;
const LOAD_LONG: u8 = 0x79;
const COPY: u8 = 0xbf;
const SET: u8 = 0xb7;
const IF_EQUAL: u8 = 0x15;
const IF_DIFFERENT: u8 = 0x55;
const CALL: u8 = 0x85;
const RETURN: u8 = 0x95;
const CLONE_REDIRECT: i32 = 13;
const BPF_F_INGRESS: i32 = 1;
const TC_ACT_OK: i32 = 0;
const TC_ACT_SHOT: i32 = 2;

/// A frame of IP that is still its sender's comes in once more as a copy that is nobody's, and goes no
/// further itself. LLDP and spanning trees go on as they come.
const PROGRAM: [Instruction; 14] = [
    // Register 6 keeps the frame: a call uses registers 1 to 5 up.
    (COPY, 0x16, 0, 0),
    (LOAD_WORD, 0x62, PROTOCOL, 0),
    (IF_EQUAL, 0x02, 1, ipv4()),
    (IF_DIFFERENT, 0x02, 8, ipv6()),
    (LOAD_LONG, 0x62, SK, 0),
    // The copy comes by here, too. It has no socket, and goes on.
    (IF_EQUAL, 0x02, 6, 0),
    (LOAD_WORD, 0x62, IFINDEX, 0),
    (COPY, 0x61, 0, 0),
    (SET, 0x03, 0, BPF_F_INGRESS),
    (CALL, 0, 0, CLONE_REDIRECT),
    (SET, 0x00, 0, TC_ACT_SHOT),
    (RETURN, 0, 0, 0),
    (SET, 0x00, 0, TC_ACT_OK),
    (RETURN, 0, 0, 0),
];

const fn ipv4() -> i32 {
    (libc::ETH_P_IP as u16).to_be() as i32
}

const fn ipv6() -> i32 {
    (libc::ETH_P_IPV6 as u16).to_be() as i32
}

/// `union bpf_attr` for loading, as far as it is used.
#[repr(C)]
struct LoadAttributes {
    kind: u32,
    count: u32,
    instructions: u64,
    licence: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel: u32,
    flags: u32,
}

/// The program, loaded by the first call.
///
/// # Errors
/// The kernel's refusal.
pub(crate) fn program() -> io::Result<&'static OwnedFd> {
    static LOADED: OnceLock<OwnedFd> = OnceLock::new();
    if let Some(program) = LOADED.get() {
        return Ok(program);
    }
    let program = load()?;
    Ok(LOADED.get_or_init(|| program))
}

/// Says once what it means that a port has no program.
pub(crate) fn warn_without(error: &LabError) {
    static WARNED: Once = Once::new();
    WARNED.call_once(|| {
        // A closed standard error takes no warning.
        let _ = writeln!(
            io::stderr(),
            "heddle: {error}; beside other traffic a connection gets less than between real machines"
        );
    });
}

fn load() -> io::Result<OwnedFd> {
    let mut octets = Vec::with_capacity(8 * PROGRAM.len());
    for (code, registers, offset, number) in PROGRAM {
        octets.extend([code, registers]);
        octets.extend(offset.to_ne_bytes());
        octets.extend(number.to_ne_bytes());
    }
    let attributes = LoadAttributes {
        kind: BPF_PROG_TYPE_SCHED_CLS,
        count: PROGRAM.len() as u32,
        instructions: octets.as_ptr() as u64,
        licence: c"Dual MIT/GPL".as_ptr() as u64,
        log_level: 0,
        log_size: 0,
        log: 0,
        kernel: 0,
        flags: 0,
    };
    // SAFETY: the kernel reads as many octets of the attributes as are stated, and the memory that they
    // name, which lives as long as the call.
    let loaded = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            BPF_PROG_LOAD,
            &raw const attributes,
            size_of::<LoadAttributes>(),
        )
    };
    let fd = i32::try_from(loaded).ok().filter(|&fd| fd >= 0);
    // SAFETY: the kernel gave it, and nobody else has it.
    fd.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
        .ok_or_else(io::Error::last_os_error)
}

/// The requests that give interface `index` the program.
pub(crate) fn requests(index: u32, program: &OwnedFd) -> [NetlinkMessage<RouteNetlinkMessage>; 2] {
    let mut place = TcMessage::with_index(index as i32);
    place.header.parent = FILTERS;
    place.header.handle = TcHandle {
        major: 0xFFFF,
        minor: 0,
    };
    place.attributes = vec![TcAttribute::Kind("clsact".into())];
    let mut filter = TcMessage::with_index(index as i32);
    filter.header.parent = COMING_IN;
    filter.header.info = FIRST_OF_ALL;
    filter.attributes = vec![
        TcAttribute::Kind("bpf".into()),
        TcAttribute::Options(vec![
            option(TCA_BPF_FD, program.as_raw_fd().to_ne_bytes()),
            option(TCA_BPF_FLAGS, TCA_BPF_FLAG_ACT_DIRECT.to_ne_bytes()),
        ]),
    ];
    [
        RouteNetlinkMessage::NewQueueDiscipline(place),
        RouteNetlinkMessage::NewTrafficFilter(filter),
    ]
    .map(|message| {
        let mut request = NetlinkMessage::from(message);
        request.header.flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
        request
    })
}

fn option(kind: u16, value: [u8; 4]) -> TcOption {
    TcOption::Other(DefaultNla::new(kind, value.to_vec()))
}
