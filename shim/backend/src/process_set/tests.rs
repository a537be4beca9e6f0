use super::*;
use runtime::rank_host::RankHost;

#[test]
fn a_set_at_rest_keeps_no_room() {
    let within = CallComm {
        // SAFETY: a number or an address that nobody looks at.
        comm: unsafe { std::mem::zeroed() },
        rank: 1,
        size: 2,
    };
    let hosts = ["n0", "n1"].map(RankHost::named).to_vec();
    let mut set = ProcessSet::new(&within, hosts, None);
    set.room.reserve(1 << 20).expect("memory");
    set.room.done();
    set.release_resources();
    assert_eq!(format!("{:?}", set.room), "KeptRoom(None)");
}
