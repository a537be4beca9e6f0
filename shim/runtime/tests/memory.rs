//! The memory of a rank in a job of as many ranks as heddle plans for: the heap is counted, so this has a process of
//! its own.
#[path = "../src/plan/tests/epoch_of_text.rs"]
mod epoch_of_text;

use directory::epoch::LeanEpoch;
use epoch_of_text::epoch_of_text;
use inventory::{Mpi, MpiRoutines};
use peak_alloc::PeakAlloc;
use policy::call_policy::CallPolicy;
use policy::forced::ForcedWays;
use policy::learning::LearningBudget;
use policy::ways::Way;
use presence::difference::Published;
use presence::known::{KnownTexts, each_once};
use presence::text::encode;
use presence::{Ability, Presence};
use runtime::plan::FollowedEpoch;
use runtime::rank_host::RankHost;
use std::net::Ipv4Addr;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const HOSTS: usize = 1024;
const RANKS_A_HOST: usize = 16;
/// 4 MiB, and 64 octets for each other host.
const MOST: usize = (4 << 20) + 64 * (HOSTS - 1);

/// Leaves of 32 hosts around a core, in the octets of a broadcast.
fn epoch() -> Vec<u8> {
    let hosts = (0..HOSTS).map(|host| {
        let (leaf, a, b) = (host / 32, host / 256, host % 256);
        format!("node{host:04}: {{switch: leaf{leaf}, rate: 10G, address: 10.0.{a}.{b}}}")
    });
    let trunks = (0..HOSTS / 32).map(|leaf| format!("{{a: core, b: leaf{leaf}, rate: 100G}}"));
    let text = format!(
        "switches: [core, 'leaf[0-{}]']\nhosts: {{{}}}\nlinks: [{}]",
        HOSTS / 32 - 1,
        hosts.collect::<Vec<_>>().join(", "),
        trunks.collect::<Vec<_>>().join(", ")
    );
    epoch_of_text(&text).to_bytes()
}

/// The hosts of all ranks in octets, as [`RankHost::to_bytes`] writes them, and the octets of each.
fn hosts_of_ranks() -> (Vec<u8>, usize) {
    let hosts = (0..HOSTS as u32).map(|host| {
        let name = format!("node{host:04}");
        let address = Ipv4Addr::from(0x0a00_0000 + host).to_ipv6_mapped();
        let ends = [&[1, name.len() as u8], name.as_bytes(), &[1]].concat();
        [ends, address.octets().to_vec()].concat()
    });
    let hosts: Vec<Vec<u8>> = hosts.collect();
    let all = hosts.iter().flat_map(|host| host.repeat(RANKS_A_HOST));
    (all.collect(), hosts[0].len())
}

/// The texts that all ranks published, as one of them keeps them.
fn texts_of_ranks() -> KnownTexts {
    let ranks: Vec<i32> = (0..(HOSTS * RANKS_A_HOST) as i32).collect();
    let texts = ranks.iter().map(|rank| {
        let host = format!("node{:04}", *rank as usize / RANKS_A_HOST);
        let presence = Presence::here(Ability::Serves, &host, |_| None);
        Some(Published::Text(encode(&presence)))
    });
    let mut known = KnownTexts::default();
    known.keep(&ranks, &each_once(texts).unwrap());
    known
}

#[test]
fn a_rank_of_16384_keeps_four_megabytes() {
    let (epoch, (hosts, octets)) = (epoch(), hosts_of_ranks());
    let before = HEAP.current_usage();
    let _texts = texts_of_ranks();
    let hosts = RankHost::of_ranks(&hosts, octets);
    let lean = LeanEpoch::from_bytes(&epoch).unwrap();
    let mpi = MpiRoutines::from(Mpi::Mpich);
    let force = ForcedWays::default();
    let (mut followed, grounds) = FollowedEpoch::new(lean, &hosts, mpi, force, true).unwrap();
    let mut policy = CallPolicy::default();
    let budget = LearningBudget::new(followed.setup(&grounds), 1);
    policy.follow(grounds, followed.view.place(mpi), budget);
    for way in [Way::Bundled, Way::Relay] {
        assert!(policy.lacks_plan(way));
        followed.plan(17, &mut policy, way, None).unwrap();
    }
    let kept = HEAP.current_usage() - before;
    println!("{kept} octets");
    assert!(kept <= MOST, "{kept} octets, at most {MOST}");
}
