//! How fast the blocks of an all-to-all came, by pair of ranks: a character a pair, so that a job
//! record can hold them.
use super::MOST_RANKS;

/// The levels as written, from the lowest; each is a fortieth of the rate that the plan expects.
const LEVELS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// A pair of which nothing is known.
const UNKNOWN: u8 = b'.';
/// Levels in the expected rate.
const WHOLE: f64 = 40.0;

/// By receiver and sender: the median rate of blocks in one window, as a share of the rate that the
/// slowest link on their way has on the published tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockArrivals {
    ranks: usize,
    /// By receiver, then sender: as written.
    levels: Vec<u8>,
}

impl BlockArrivals {
    /// The character for a share.
    pub fn level(share: Option<f64>) -> u8 {
        share.map_or(UNKNOWN, |share| {
            let level = (share * WHOLE).round() as usize; // Saturates; 0 for no number.
            LEVELS[level.clamp(1, LEVELS.len()) - 1]
        })
    }

    /// The rows of all ranks, one behind the other: each has a character for each rank.
    pub fn gathered(ranks: usize, levels: Vec<u8>) -> Option<BlockArrivals> {
        (ranks <= MOST_RANKS
            && levels.len() == ranks * ranks
            && levels
                .iter()
                .all(|level| *level == UNKNOWN || LEVELS.contains(level)))
        .then_some(BlockArrivals { ranks, levels })
    }

    /// Reads the rows of a record, which anybody may have written.
    pub fn from_rows(rows: &[String]) -> Option<BlockArrivals> {
        let ranks = rows.len();
        let whole = ranks <= MOST_RANKS && rows.iter().all(|row| row.len() == ranks);
        whole.then(|| {
            BlockArrivals::gathered(ranks, rows.iter().flat_map(|row| row.bytes()).collect())
        })?
    }

    /// A row for each receiver.
    pub fn rows(&self) -> Vec<String> {
        let rows = self.levels.chunks(self.ranks.max(1));
        rows.map(|row| String::from_utf8_lossy(row).into_owned())
            .collect()
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// The share for a pair.
    pub fn share(&self, from: usize, to: usize) -> Option<f64> {
        let level = self.levels[to * self.ranks + from];
        let at = LEVELS.iter().position(|known| *known == level)?;
        Some((at + 1) as f64 / WHOLE)
    }

    /// True if nothing is known of any pair.
    pub fn is_empty(&self) -> bool {
        self.levels.iter().all(|level| *level == UNKNOWN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_written_and_read() {
        let shares = [
            None,
            Some(0.5),
            Some(1.0),
            Some(0.0),
            Some(f64::NAN),
            Some(9.0),
        ];
        let levels = shares.map(BlockArrivals::level);
        assert_eq!(levels, *b".Jd00z");
        let all = BlockArrivals::gathered(2, b".Jd.".to_vec()).unwrap();
        assert_eq!(all.rows(), [".J", "d."]);
        assert_eq!(BlockArrivals::from_rows(&all.rows()), Some(all.clone()));
        assert_eq!(
            [all.share(1, 0), all.share(0, 1), all.share(0, 0)],
            [Some(0.5), Some(1.0), None]
        );
    }

    #[test]
    fn rows_of_others_are_refused() {
        let rows = |rows: &[&str]| {
            let rows: Vec<String> = rows.iter().map(|row| (*row).to_owned()).collect();
            BlockArrivals::from_rows(&rows)
        };
        assert_eq!(rows(&[".J", "d"]), None);
        assert_eq!(rows(&[".J", "d!"]), None);
        assert_eq!(rows(&[".J", "é"]), None);
        assert_eq!(rows(&vec!["."; MOST_RANKS + 1]), None);
        assert!(rows(&[]).unwrap().is_empty());
    }
}
