use super::*;
use inventory::TopologyFile;
use schedules::allgather;
use schedules::alltoall;
use schedules::bundled;
use schedules::message::Message;
use schedules::synchronization::SyncKind;
use schedules::transfers::{TransferSchedule, part};

const WINDOW: ExchangeWindow = ExchangeWindow {
    receives: usize::MAX,
    sends: 1,
};

/// Nothing comes and nothing goes.
struct StuckCarrier;

impl TransferCarrier for StuckCarrier {
    type Failure = ();
    const PASSES_ON_PARTS: bool = false;

    fn receive(&mut self, _piece: TransferPiece) -> Result<(), ()> {
        Ok(())
    }

    fn send(&mut self, _piece: TransferPiece) -> Result<(), ()> {
        Ok(())
    }

    fn expect(&mut self, _token: SyncToken) -> Result<(), ()> {
        Ok(())
    }

    fn give(&mut self, _token: SyncToken) -> Result<(), ()> {
        Ok(())
    }

    fn is_idle(&self) -> bool {
        false
    }

    fn wait(&mut self, _events: &mut Vec<CarrierEvent>) -> Result<(), ()> {
        Err(())
    }
}

/// The watchdog's message about a rank that has begun and to which nothing comes.
fn waits_for(part: &RankPart, call: &str) -> String {
    let mut carrier = StuckCarrier;
    let mut exchange = TransferExchange::new(part, &mut carrier, WINDOW);
    exchange.receive_on().expect("begun");
    exchange.send_on().expect("begun");
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
    let pair = |src, dst| vec![Message { src, dst }];
    let bundled = bundled::part(&[0, 0, 1, 1], &[pair(0, 1), pair(1, 0)], 0);
    assert_eq!(
        waits_for(&bundled, "alltoall"),
        "rank 0 in alltoall, blocks passed on: its blocks to rank 1 to go (step 1 of 3), \
         the blocks by way of rank 1 (step 1 of 3)"
    );
}
