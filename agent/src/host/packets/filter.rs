//! Programs of classic BPF. A socket runs one on each frame before it takes the frame (the kernel's
//! Documentation/networking/filter.rst).
use inventory::Mac;

/// One instruction.
pub(crate) type BpfInstruction = libc::sock_filter;

/// A condition on a frame: the number at an offset has a value.
enum FilterTest {
    Octet(u32, u8),
    Word(u32, u16),
    Double(u32, u32),
}

const LOAD: u16 = (libc::BPF_LD | libc::BPF_ABS) as u16;
const UNLESS_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

/// Longer than any frame, so that the frame is taken whole.
const WHOLE: u32 = 0x10000;

/// The offset of a frame's direction, which is not part of the frame.
const DIRECTION: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_PKTTYPE) as u32;

/// Lets frames to these addresses through.
pub(crate) fn to_groups(groups: &[Mac]) -> Vec<BpfInstruction> {
    any_of(groups.iter().map(|Mac([a, b, c, d, e, f])| {
        let (first, last) = (
            u32::from_be_bytes([*a, *b, *c, *d]),
            u16::from_be_bytes([*e, *f]),
        );
        all_of(&[FilterTest::Double(0, first), FilterTest::Word(4, last)])
    }))
}

/// Lets frames through that leave the host and have this EtherType.
pub(crate) fn leaving(ethertype: u16) -> Vec<BpfInstruction> {
    any_of(
        [all_of(&[
            FilterTest::Octet(DIRECTION, libc::PACKET_OUTGOING),
            // Behind the two addresses.
            FilterTest::Word(12, ethertype),
        ])]
        .into_iter(),
    )
}

fn any_of(clauses: impl Iterator<Item = Vec<BpfInstruction>>) -> Vec<BpfInstruction> {
    clauses.flatten().chain([instruction(RETURN, 0)]).collect()
}

/// Takes the frame if all tests hold; otherwise the program goes on behind this clause.
fn all_of(tests: &[FilterTest]) -> Vec<BpfInstruction> {
    let steps = tests.iter().enumerate().flat_map(|(n, test)| {
        let (size, at, value) = match *test {
            FilterTest::Octet(at, value) => (libc::BPF_B, at, value.into()),
            FilterTest::Word(at, value) => (libc::BPF_H, at, value.into()),
            FilterTest::Double(at, value) => (libc::BPF_W, at, value),
        };
        // The jump passes the remaining tests, of two instructions each, and the return.
        let past = 2 * (tests.len() - 1 - n) as u8 + 1;
        [
            instruction(LOAD | size as u16, at),
            BpfInstruction {
                jf: past,
                ..instruction(UNLESS_EQUAL, value)
            },
        ]
    });
    steps.chain([instruction(RETURN, WHOLE)]).collect()
}

const fn instruction(code: u16, k: u32) -> BpfInstruction {
    BpfInstruction {
        code,
        jt: 0,
        jf: 0,
        k,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, recv, send, socketpair};
    use std::os::fd::AsRawFd;

    const GROUPS: [Mac; 2] = [
        Mac([1, 0x80, 0xc2, 0, 0, 0x0e]),
        Mac([1, 0, 0x0c, 0xcc, 0xcc, 0xcc]),
    ];

    /// True if the kernel lets a frame through. The kernel's filters work on sockets of any family.
    fn passes(program: &[BpfInstruction], frame: &[u8]) -> bool {
        let (here, there) = socketpair(
            AddressFamily::Unix,
            SockType::Datagram,
            None,
            SockFlag::SOCK_NONBLOCK,
        )
        .unwrap();
        super::super::attach(&there, program).unwrap();
        let _ = send(here.as_raw_fd(), frame, MsgFlags::empty());
        recv(there.as_raw_fd(), &mut [0; 2048], MsgFlags::empty())
            .is_ok_and(|length| length == frame.len())
    }

    #[test]
    fn the_kernel_passes_these_groups_and_no_others() {
        let program = to_groups(&GROUPS);
        for (destination, right) in [
            ([1, 0x80, 0xc2, 0, 0, 0x0e], true),
            ([1, 0, 0x0c, 0xcc, 0xcc, 0xcc], true),
            ([1, 0x80, 0xc2, 0, 0, 0x02], false),
            ([1, 0x80, 0xc2, 0, 0xcc, 0xcc], false),
            ([1, 0, 0x0c, 0xcc, 0, 0x0e], false),
            ([0xff; 6], false),
        ] {
            let frame = [&destination[..], &[0; 1494]].concat();
            assert_eq!(passes(&program, &frame), right, "{destination:02x?}");
        }
        assert!(!passes(&program, &[1, 0x80, 0xc2]), "cut short");
    }

    #[test]
    fn what_comes_in_does_not_leave() {
        let lldp = [
            &[1, 0x80, 0xc2, 0, 0, 0x0e, 2, 0, 0, 0, 0, 7, 0x88, 0xcc][..],
            &[0; 46],
        ]
        .concat();
        assert!(!passes(&leaving(0x88cc), &lldp));
    }
}
