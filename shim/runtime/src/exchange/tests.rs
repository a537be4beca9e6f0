use super::*;
use inventory::TopologyFile;
use schedules::alltoall;
use schedules::synchronization::SyncKind;
use schedules::transfers::{TransferSchedule, part};

const WINDOW: ExchangeWindow = ExchangeWindow {
    receives: usize::MAX,
    sends: 1,
};

/// Turns never come. Blocks go and come in any order.
#[derive(Default)]
struct CrowdedCarrier {
    sent: Vec<TransferPiece>,
    events: Vec<CarrierEvent>,
    is_without_turns: bool,
}

impl TransferCarrier for CrowdedCarrier {
    type Failure = ();
    const PASSES_ON_PARTS: bool = false;

    fn receive(&mut self, piece: TransferPiece) -> Result<(), ()> {
        self.events.push(CarrierEvent::Arrived(piece));
        Ok(())
    }

    fn send(&mut self, piece: TransferPiece) -> Result<(), ()> {
        self.sent.push(piece);
        if self.is_without_turns {
            self.events.push(CarrierEvent::Gone(piece));
        }
        Ok(())
    }

    fn expect(&mut self, _token: SyncToken) -> Result<(), ()> {
        assert!(!self.is_without_turns);
        Ok(())
    }

    fn give(&mut self, _token: SyncToken) -> Result<(), ()> {
        Ok(())
    }

    fn abandon_turns(&mut self) {
        self.is_without_turns = true;
        let under_way = self.sent.iter().copied();
        self.events.extend(under_way.map(CarrierEvent::Gone));
    }

    fn is_idle(&self) -> bool {
        self.events.is_empty()
    }

    fn wait(&mut self, events: &mut Vec<CarrierEvent>) -> Result<(), ()> {
        if self.events.is_empty() {
            self.events.push(CarrierEvent::Crowded);
        }
        events.append(&mut self.events);
        Ok(())
    }
}

#[test]
fn on_crowded_links_all_that_is_left_goes_at_once() {
    let text = "switches: [s0, s1]
hosts: {n0: {switch: s0}, n1: {switch: s0}, n2: {switch: s1}, n3: {switch: s1}, n4: {switch: s1}}
links: [{a: s0, b: s1}]";
    let tree = TopologyFile::parse("test", text).unwrap().tree().unwrap();
    let plan = alltoall::plan(&tree, SyncKind::Receiver);
    let schedule = TransferSchedule::try_from(&plan).unwrap();
    for rank in 0..5 {
        let part = part::of(&schedule, rank);
        let mut carrier = CrowdedCarrier::default();
        carry_out(&part, &mut carrier, WINDOW, &"alltoall").unwrap();
        let mut sent: Vec<usize> = carrier.sent.iter().map(|piece| piece.transfer).collect();
        sent.sort_unstable();
        let all: Vec<usize> = (0..part.sends.len()).collect();
        assert_eq!(sent, all, "rank {rank}: each block once");
    }
}
