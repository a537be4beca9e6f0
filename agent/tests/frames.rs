//! Cards on real cables: a kernel bridge with STP and an lldpd at the other end. Needs root.
mod namespaces;

use agent::host::nics::NicMonitor;
use agent::host::{FrameListener, LldpAnnouncement, LldpAnnouncer, NetworkCard, SeedSender};
use inventory::Mac;
use inventory::host_report::{DiscoveryProtocol, HeardContent, HeardFrame};
use inventory::observation::{BridgeId, NeighbourId, SystemCapabilities};
use namespaces::{LldpdProcess, plug, run, until};
use std::time::{Duration, Instant};

fn mac(text: &str) -> Mac {
    text.parse().unwrap()
}

/// The host's card under either name, if it exists now.
fn cards() -> Vec<NetworkCard> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let found = runtime.block_on(async {
        NicMonitor::open(&["eth0".into(), "data0".into()])
            .unwrap()
            .read()
            .await
            .unwrap()
    });
    found.into_iter().map(|found| found.card).collect()
}

fn frames(ear: &mut FrameListener) -> Vec<HeardFrame> {
    ear.frames(agent::now(), &cards())
}

fn neighbours(frames: &[HeardFrame]) -> Vec<&HeardContent> {
    frames
        .iter()
        .map(|h| &h.content)
        .filter(|output| matches!(output, HeardContent::Neighbour { .. }))
        .collect()
}

fn bpdus(frames: &[HeardFrame]) -> Vec<&HeardContent> {
    frames
        .iter()
        .map(|h| &h.content)
        .filter(|output| matches!(output, HeardContent::Bpdu { .. }))
        .collect()
}

/// An announcer that first listens for other programs for this time.
fn announcer(listen: Duration) -> LldpAnnouncer {
    let every = Duration::from_secs(30);
    let output = LldpAnnouncement {
        host: "n3".into(),
        description: "a host of the test".into(),
        every,
        listen,
    };
    LldpAnnouncer::open(output).expect("root may open packet sockets")
}

/// Runs a function without any privilege: as user "nobody", in this thread only.
fn unprivileged<T: Send>(what: impl FnOnce() -> T + Send) -> T {
    let run = || {
        #[allow(
            unsafe_code,
            reason = "the C library would change the user of all threads"
        )]
        // SAFETY: the system call takes three numbers.
        let changed = unsafe { libc::syscall(libc::SYS_setresuid, 65534, 65534, 65534) };
        assert_eq!(changed, 0, "{}", std::io::Error::last_os_error());
        what()
    };
    std::thread::scope(|scope| scope.spawn(run).join().expect("the test says why"))
}

#[test]
fn the_bridge_and_its_port_are_received_and_age_out() {
    let switch = plug();
    let lldpd = switch.lldpd(2);
    let mut ear = FrameListener::open().unwrap();
    let output = until("LLDP and a BPDU are received", || {
        let frames = frames(&mut ear);
        (frames.len() == 2 && frames.iter().all(|h| h.nic == "eth0")).then_some(frames)
    });
    assert_names_the_switch(&output);

    drop(lldpd);
    until(
        "killed without farewell, lldpd ages out after its 2 s, and the bridge speaks on",
        || {
            let frames = frames(&mut ear);
            (neighbours(&frames).is_empty() && bpdus(&frames).len() == 1).then_some(())
        },
    );
    switch.run("ip link set br0 type bridge stp_state 0");
    until("without BPDUs the bridge ages out after its 6 s", || {
        frames(&mut ear).is_empty().then_some(())
    });
}

/// Checks that LLDP names the switch and its port, and that the BPDU names its bridge.
fn assert_names_the_switch(output: &[HeardFrame]) {
    let bridge = BridgeId {
        priority: 0x1000,
        address: mac("02:00:00:00:0a:00"),
    };
    assert_eq!(
        bpdus(output),
        [&HeardContent::Bpdu {
            root_bridge: bridge,
            root_path_cost: 0,
            bridge,
            port: 0x8001
        }]
    );
    let [
        HeardContent::Neighbour {
            protocol,
            chassis,
            port,
            name,
            capabilities,
            ..
        },
    ] = neighbours(output)[..]
    else {
        panic!("{output:?}")
    };
    assert_eq!(
        (protocol, name.as_str(), port),
        (
            &DiscoveryProtocol::Lldp,
            "s1",
            &NeighbourId::Text("swp3".into())
        )
    );
    assert!(
        matches!(chassis, NeighbourId::Mac(_))
            && *capabilities
                == Some(SystemCapabilities {
                    bridge: true,
                    router: false
                }),
        "{output:?}"
    );
}

#[test]
fn a_pulled_cable_is_forgotten_and_a_new_card_is_received_without_privileges() {
    let switch = plug();
    let mut ear = FrameListener::open().unwrap();
    let on = |ear: &mut FrameListener, nic: &str| {
        let frames = unprivileged(|| frames(ear));
        frames
            .iter()
            .any(|h| h.nic == nic && matches!(h.content, HeardContent::Bpdu { .. }))
            .then_some(())
    };
    until("a BPDU is received", || on(&mut ear, "eth0"));
    run("ip link set eth0 down");
    run("ip link set eth0 name data0");
    run("ip link set data0 up");
    until("a renamed card is listed under its new name", || {
        on(&mut ear, "data0")
    });
    switch.run("ip link set swp3 down");
    until("without a carrier nothing holds", || {
        frames(&mut ear).is_empty().then_some(())
    });
    run("ip link del data0");
    assert_eq!(unprivileged(|| frames(&mut ear)), []);
    switch.cable();
    until(
        "a card that came after the sockets were open receives",
        || on(&mut ear, "eth0"),
    );
}

#[test]
fn the_switch_knows_the_host_until_it_says_farewell() {
    let switch = plug();
    let lldpd = switch.lldpd(4);
    let mut announcer = announcer(Duration::ZERO);
    let known = until("lldpd names the host", || {
        unprivileged(|| announcer.step(&cards()));
        Some(lldpd.neighbours()).filter(|known| known.contains("chassis.name=n3\n"))
    });
    for line in [
        "port.ifname=eth0",
        "chassis.mac=02:00:00:00:0b:01",
        "chassis.descr=a host of the test",
        "port.ttl=90",
        "chassis.Station.enabled=on",
    ] {
        assert!(known.contains(line), "{line} in:\n{known}");
    }
    assert!(
        !known.contains("Bridge.enabled=on") && !known.contains("Router.enabled=on"),
        "{known}"
    );
    unprivileged(|| drop(announcer));
    until("its farewell counts, long before 90 s are over", || {
        lldpd.neighbours().is_empty().then_some(())
    });
}

/// Returns two flags: the switch knows the host by heddle's announcements; it knows the host by
/// another program's.
fn names(lldpd: &LldpdProcess) -> (bool, bool) {
    let known = lldpd.neighbours();
    (
        known.contains("chassis.name=n3\n"),
        known.contains("chassis.name=n3-by-lldpd\n"),
    )
}

#[test]
fn another_program_has_the_word_while_it_speaks() {
    let switch = plug();
    let there = switch.lldpd(4);
    let here = LldpdProcess::on_host("n3-by-lldpd");
    let known = || names(&there);
    until("the other program announces the host", || {
        (known() == (false, true)).then_some(())
    });
    // lldpd announces every second; on a busy machine it may be silent a little longer.
    let listen = Duration::from_secs(10);
    let mut announcer = announcer(listen);
    let began = Instant::now();
    while began.elapsed() < listen + Duration::from_secs(2) {
        announcer.step(&cards());
        assert_eq!(
            known(),
            (false, true),
            "heddle stands aside and the row stays"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    here.end();
    until("heddle has the word again", || {
        announcer.step(&cards());
        (known() == (true, false)).then_some(())
    });
}

#[test]
fn a_program_that_starts_later_takes_the_row_over() {
    let switch = plug();
    let there = switch.lldpd(4);
    let mut announcer = announcer(Duration::ZERO);
    let mut step = || {
        announcer.step(&cards());
        names(&there)
    };
    until("the switch knows the host by heddle", || {
        step().0.then_some(())
    });
    let _here = LldpdProcess::on_host("n3-by-lldpd");
    until("the other program has the word", || {
        let (heddle, other) = step();
        assert!(heddle || other, "the switch forgot the host");
        other.then_some(())
    });
    for _ in 0..30 {
        assert_eq!(
            step(),
            (false, true),
            "the row under the same chassis and port stays"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_seed_is_learned_by_the_bridge() {
    let switch = plug();
    let seeder = SeedSender::open().unwrap();
    until("the port learns", || {
        switch
            .run("bridge -d link show dev swp3")
            .contains("state forwarding")
            .then_some(())
    });
    let learned = || {
        switch
            .run("bridge fdb show br br0")
            .lines()
            .any(|line| line.starts_with("02:5e:ed:00:00:01 dev swp3"))
    };
    assert!(!learned());
    let card = cards()
        .into_iter()
        .find(|card| card.name == "eth0")
        .unwrap();
    unprivileged(|| {
        seeder.seed(&[NetworkCard {
            mac: mac("02:5e:ed:00:00:01"),
            ..card
        }])
    });
    until("the bridge knows where the host is", || {
        learned().then_some(())
    });
}
