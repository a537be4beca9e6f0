//! Calls that take turns: the order of the ways, and the calls that go one of them in a row.
use inventory::Bytes;

/// The next of `of` candidates to take its turn, after so many rows of calls. Each second round
/// goes backwards, so that no candidate always follows the same one. The runtime takes turns by
/// this function, too. `None` without candidates.
pub fn turn(rows: u64, of: usize) -> Option<usize> {
    let (round, place) = (rows.checked_div(of as u64)?, (rows % of as u64) as usize);
    Some(if round % 2 == 0 {
        place
    } else {
        of - 1 - place
    })
}

/// The number of calls with blocks of this size that are measured as one row. They follow one
/// another as in a program, so the ranks' uneven start counts once, and the traces of the way
/// before (idle connections, cold caches) hardly count. Large blocks hide both by themselves.
pub fn row(block: Bytes) -> u64 {
    const BYTES: u64 = 1 << 16;
    const MOST: u64 = 16;
    (BYTES / block.0.max(1)).clamp(1, MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_blocks_are_called_in_rows() {
        assert_eq!(
            [0, 1, 1 << 10, 1 << 14, 1 << 16, 1 << 20].map(|block| row(Bytes(block))),
            [16, 16, 16, 4, 1, 1]
        );
    }

    #[test]
    fn each_second_round_goes_backwards() {
        let turns: Vec<usize> = (0..7).filter_map(|calls| turn(calls, 3)).collect();
        assert_eq!((turns, turn(5, 0)), (vec![0, 1, 2, 2, 1, 0, 0], None));
    }
}
