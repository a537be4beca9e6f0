//! Datagrams of every version on the port for traps. None of them may end the receiver. A valid
//! trap follows each of them.
#![no_main]
use agent::TrapReceiver;
use std::cell::RefCell;
use std::net::UdpSocket;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

struct TrapHarness {
    runtime: Runtime,
    traps: TrapReceiver,
    sender: UdpSocket,
}

thread_local! {
    static EAR: RefCell<TrapHarness> = RefCell::new(ear());
}

/// linkDown by SNMPv2c: community `c`, sysUpTime.0 = 0, snmpTrapOID.0 = 1.3.6.1.6.3.1.1.5.3.
const LINK_DOWN: &[u8] = b"\x30\x3b\x02\x01\x01\x04\x01c\xa7\x33\x02\x01\x01\x02\x01\x00\x02\x01\
    \x00\x30\x28\x30\x0d\x06\x08\x2b\x06\x01\x02\x01\x01\x03\x00\x43\x01\x00\x30\x17\x06\x0a\x2b\
    \x06\x01\x06\x03\x01\x01\x04\x01\x00\x06\x09\x2b\x06\x01\x06\x03\x01\x01\x05\x03";

fn ear() -> TrapHarness {
    let inventory =
        inventory::inventory_file::Inventory::parse("fuzz", USERS).expect("a good inventory");
    let users = agent::snmp_access::users(&inventory).expect("good keys");
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let traps = runtime
        .block_on(agent::traps(
            "127.0.0.1:0".parse().expect("an address"),
            &users,
        ))
        .expect("a free port");
    let sender = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    sender.connect(traps.address).expect("on this machine");
    TrapHarness {
        runtime,
        traps,
        sender,
    }
}

const USERS: &str = "switches: {s0: {address: 127.0.0.1}}\n\
    snmp: {default: {version: 3, user: u, auth: {protocol: sha, key: authpass12}, \
    priv: {protocol: aes, key: privpass12}}, open: {version: 3, user: o}}";

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    EAR.with_borrow_mut(
        |TrapHarness {
             runtime,
             traps,
             sender,
         }| {
            let _ = sender.send(bytes); // Longer than a datagram: not sent.
            sender.send(LINK_DOWN).expect("sent");
            runtime.block_on(async {
                loop {
                    let trap = tokio::time::timeout(Duration::from_secs(5), traps.next())
                        .await
                        .expect("nothing is received any more");
                    if trap.expect("the hearing ended").kind == agent::TrapKind::LinkDown {
                        break;
                    }
                }
            });
        },
    );
});
