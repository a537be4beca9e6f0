use super::*;
use inventory::TopologyFile;
use schedules::synchronization::SyncKind;
use schedules::transfers::{TransferSchedule, part};
use schedules::{allgather, alltoall, bundled};

const WINDOW: ExchangeWindow = ExchangeWindow {
    receives: usize::MAX,
    sends: 1,
};

/// The watchdog's message about a rank that has begun and to which nothing comes.
fn waits_for(part: &RankPart, call: &str) -> String {
    let mut exchange = PartExchange::new(part, WINDOW, false);
    exchange.handle([], &mut Vec::new());
    exchange.waits_for(&call)
}

#[test]
fn the_watchdog_reads_well_for_each_shape_of_schedule() {
    let text = "switches: [s0]\nhosts: {n0: {switch: s0}, n1: {switch: s0}, n2: {switch: s0}}";
    let tree = TopologyFile::parse("test", text).unwrap().tree().unwrap();
    let direct = alltoall::plan(&tree, SyncKind::Receiver);
    let direct = part::of(&TransferSchedule::try_from(&direct).unwrap(), 0);
    assert_eq!(
        waits_for(&direct, "alltoall"),
        "rank 0 in alltoall: its block to rank 1 to go (phase 1 of 2), \
         the block of rank 2 (phase 1 of 2)"
    );
    let ring = part::of(&TransferSchedule::from(&allgather::plan(&tree)), 0);
    assert_eq!(
        waits_for(&ring, "allgather"),
        "rank 0 in allgather: the block of rank 2 from rank 2 (block 1 of 3)"
    );
    let bundled = bundled::part(&[0, 0, 1, 1], &[0, 1], 0);
    assert_eq!(
        waits_for(&bundled, "alltoall"),
        "rank 0 in alltoall, blocks passed on: its blocks to rank 1 to go (step 1 of 3), \
         the blocks by way of rank 1 (step 1 of 3)"
    );
}
