//! Reads scalars and several columns at once by GETBULK (RFC 3416, 4.2.3), without I/O:
//! [`TableWalk::next`] gives the next request, [`TableWalk::take`] reads the answer.
//!
//! GETBULK past the end of a table makes the agent fetch the next objects in its tree, which can
//! cost it more than the table did. So each column is asked for as many rows as it had last time,
//! and one more. A column that was empty, or was never read, is asked for one value first. Columns
//! advance independently, so sparse rows and truncated answers do no harm. Answers that GETBULK
//! cannot give are refused: an object identifier that does not grow, an empty answer, an endless
//! table.
use snmp::{Oid, Value, VarBind};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// The values asked for in one message: about as many as fit into a datagram of 1500 octets, which
/// no network fragments.
const VALUES_A_MESSAGE: usize = 48;

/// The rows expected of a column that has some but was never read whole.
const ROWS_AT_FIRST: usize = 8;

/// The limit of values of one walk. The largest table of a switch, its FDB, has two columns of up
/// to 128 Ki rows.
const VALUES_LIMIT: usize = 300_000;

/// The length of object identifiers up to which a look-up takes no memory. Nearly all are shorter.
const USUAL_ARCS: usize = 32;

/// The device's values, by object identifier.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct WalkAnswers(BTreeMap<Vec<u32>, Value>);

/// The fault of an answer that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AnswerFault {
    #[error("object identifiers do not grow: {1} after {0}")]
    Order(String, String),
    #[error("an answer without any value")]
    Empty,
    #[error("more than {VALUES_LIMIT} values without end; given up, what was read before stays")]
    Endless,
}

/// One message to send.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WalkRequest {
    pub(crate) oids: Vec<Oid>,
    pub(crate) non_repeaters: u32,
    pub(crate) repetitions: u32,
}

/// A walk under way.
pub(crate) struct TableWalk {
    scalars: Vec<Oid>,
    columns: Vec<WalkColumn>,
    /// The rows of a column that suffice.
    most_rows: usize,
    /// The values as they came; they are sorted once, at the end.
    answers: Vec<(Vec<u32>, Value)>,
}

struct WalkColumn {
    base: Oid,
    last: Oid,
    open: bool,
    /// The number of rows it had last time; 0 if it had none or the number is unknown.
    expected: usize,
    rows: usize,
}

impl WalkAnswers {
    /// The instance `.0` of a scalar.
    pub(crate) fn scalar(&self, object: &[u32]) -> Option<&Value> {
        self.cell(object, &[0])
    }

    /// The cell of a column at an index.
    pub(crate) fn cell(&self, column: &[u32], index: &[u32]) -> Option<&Value> {
        let (at, end) = (column.len(), column.len() + index.len());
        let mut oid = [0; USUAL_ARCS];
        if end > USUAL_ARCS {
            return self.0.get(&[column, index].concat());
        }
        oid[..at].copy_from_slice(column);
        oid[at..end].copy_from_slice(index);
        self.0.get(&oid[..end])
    }

    /// Every cell of a column: its index and value, in order of the index.
    pub(crate) fn column<'a>(
        &'a self,
        column: &'a [u32],
    ) -> impl Iterator<Item = (&'a [u32], &'a Value)> {
        self.0
            .range(column.to_vec()..)
            .take_while(move |(oid, _)| oid.starts_with(column))
            .map(move |(oid, value)| (&oid[column.len()..], value))
            .filter(|(index, _)| !index.is_empty())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds other answers of the same device.
    pub(crate) fn append(&mut self, mut other: WalkAnswers) {
        self.0.append(&mut other.0);
    }

    /// Inserts a value unless there is one at this object identifier. Returns true if it was new.
    pub(crate) fn insert_first(&mut self, oid: Vec<u32>, value: Value) -> bool {
        match self.0.entry(oid) {
            Entry::Vacant(slot) => {
                slot.insert(value);
                true
            }
            Entry::Occupied(_) => false,
        }
    }
}

impl FromIterator<(Vec<u32>, Value)> for WalkAnswers {
    fn from_iter<I: IntoIterator<Item = (Vec<u32>, Value)>>(pairs: I) -> WalkAnswers {
        WalkAnswers(pairs.into_iter().collect())
    }
}

impl TableWalk {
    /// A walk over scalars (without their `.0`) and columns. `rows` is the result of the last
    /// [`TableWalk::rows`], or empty.
    pub(crate) fn new(scalars: &[&[u32]], columns: &[&[u32]], rows: &[usize]) -> TableWalk {
        TableWalk {
            scalars: scalars.iter().map(|s| Oid::from_slice(s)).collect(),
            columns: columns
                .iter()
                .enumerate()
                .map(|(i, c)| WalkColumn {
                    base: Oid::from_slice(c),
                    last: Oid::from_slice(c),
                    open: true,
                    expected: rows.get(i).copied().unwrap_or_default(),
                    rows: 0,
                })
                .collect(),
            most_rows: usize::MAX,
            answers: Vec::new(),
        }
    }

    /// The same walk, which leaves a column after so many rows.
    #[must_use]
    pub(crate) fn with_most_rows(self, most_rows: usize) -> TableWalk {
        TableWalk { most_rows, ..self }
    }

    /// The next request; `None` when everything is read.
    pub(crate) fn next(&self) -> Option<WalkRequest> {
        let (single, repeated) = self.open();
        let cursors = single
            .iter()
            .chain(&repeated)
            .map(|&i| self.columns[i].last.clone());
        let oids: Vec<Oid> = self.scalars.iter().cloned().chain(cursors).collect();
        let non_repeaters = self.scalars.len() + single.len();
        let fit = VALUES_A_MESSAGE.saturating_sub(non_repeaters) / repeated.len().max(1);
        let wanted = repeated
            .iter()
            .map(|&i| self.columns[i].wanted())
            .max()
            .unwrap_or_default();
        let repetitions = if repeated.is_empty() {
            0
        } else {
            wanted.min(fit).max(1)
        };
        (!oids.is_empty()).then_some(WalkRequest {
            oids,
            non_repeaters: non_repeaters as u32,
            repetitions: repetitions as u32,
        })
    }

    /// The open columns: first those asked for one value, then those asked for rows.
    fn open(&self) -> (Vec<usize>, Vec<usize>) {
        (0..self.columns.len())
            .filter(|&i| self.columns[i].open)
            .partition(|&i| self.columns[i].expected == 0)
    }

    /// Takes the answer to [`TableWalk::next`].
    pub(crate) fn take(&mut self, varbinds: Vec<VarBind>) -> Result<(), AnswerFault> {
        let (single, repeated) = self.open();
        if varbinds.is_empty() {
            return Err(AnswerFault::Empty);
        }
        // An answer that does not fit is cut anywhere (RFC 3416, 4.2.3). The missing part is asked
        // for again.
        let scalars: Vec<Oid> = self
            .scalars
            .drain(..varbinds.len().min(self.scalars.len()))
            .collect();
        let mut rest = varbinds.into_iter();
        for (asked, found) in scalars.iter().zip(rest.by_ref()) {
            // GETBULK gives the next object: another one if the agent lacks the scalar.
            if !found.value.is_exception() && found.oid == asked.child(0) {
                self.answers.push((found.oid.arcs().to_vec(), found.value));
            }
        }
        for (i, found) in single.into_iter().zip(rest.by_ref()) {
            // Asked for rows from now on, unless this value shows that it has none.
            self.columns[i].expected = ROWS_AT_FIRST;
            self.columns[i].take(found, &mut self.answers)?;
        }
        // A repetition has a value of each column, so values come row by row (RFC 3416, 4.2.3).
        for (&i, found) in repeated.iter().cycle().zip(rest) {
            self.columns[i].take(found, &mut self.answers)?;
        }
        for column in &mut self.columns {
            column.open &= column.rows < self.most_rows;
        }
        if self.answers.len() > VALUES_LIMIT {
            Err(AnswerFault::Endless)
        } else {
            Ok(())
        }
    }

    /// The number of rows of each column.
    pub(crate) fn rows(&self) -> Vec<usize> {
        self.columns.iter().map(|c| c.rows).collect()
    }

    /// The values read.
    pub(crate) fn finish(self) -> WalkAnswers {
        self.answers.into_iter().collect()
    }

    /// The number of values read so far.
    pub(crate) fn len(&self) -> usize {
        self.answers.len()
    }
}

impl WalkColumn {
    /// The number of rows to ask for: the rest of the expected ones and one more, so that the same
    /// message shows the end. A column with more rows than expected may have any number.
    fn wanted(&self) -> usize {
        if self.rows > self.expected {
            usize::MAX
        } else {
            self.expected + 1 - self.rows
        }
    }

    fn take(
        &mut self,
        found: VarBind,
        answers: &mut Vec<(Vec<u32>, Value)>,
    ) -> Result<(), AnswerFault> {
        if !self.open {
            return Ok(());
        }
        // endOfMibView, the only exception in an answer to GETBULK (RFC 3416, 4.2.3).
        if found.value.is_exception() {
            self.open = false;
            return Ok(());
        }
        if found.oid <= self.last {
            return Err(AnswerFault::Order(
                self.last.to_string(),
                found.oid.to_string(),
            ));
        }
        if !found.oid.starts_with(&self.base) {
            self.open = false;
            return Ok(());
        }
        answers.push((found.oid.arcs().to_vec(), found.value));
        self.last = found.oid;
        self.rows += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A device that answers GETBULK by the standard from a sorted table, with at most `most`
    /// values a message.
    fn answer(
        device: &BTreeMap<Vec<u32>, i32>,
        request: &WalkRequest,
        most: usize,
    ) -> Vec<VarBind> {
        let next = |oid: &Oid| {
            let after = device
                .range::<Vec<u32>, _>((
                    std::ops::Bound::Excluded(oid.arcs().to_vec()),
                    std::ops::Bound::Unbounded,
                ))
                .next();
            match after {
                Some((oid, &n)) => VarBind::new(Oid::from_slice(oid), Value::Integer(n)),
                None => VarBind::new(oid.clone(), Value::EndOfMibView),
            }
        };
        let (scalars, columns) = request.oids.split_at(request.non_repeaters as usize);
        let mut out: Vec<VarBind> = scalars.iter().map(next).collect();
        let mut at: Vec<Oid> = columns.to_vec();
        for _ in 0..request.repetitions {
            for oid in &mut at {
                let found = next(oid);
                *oid = found.oid.clone();
                out.push(found);
            }
        }
        out.truncate(most);
        out
    }

    fn read(
        device: &BTreeMap<Vec<u32>, i32>,
        scalars: &[&[u32]],
        columns: &[&[u32]],
        rows: &[usize],
        most: usize,
    ) -> WalkAnswers {
        let mut walk = TableWalk::new(scalars, columns, rows);
        while let Some(request) = walk.next() {
            walk.take(answer(device, &request, most)).unwrap();
        }
        walk.finish()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn reads_exactly_what_is_there(
            rows in prop::collection::btree_map((1u32..5, 1u32..40), any::<i32>(), 0..80),
            hint in prop::collection::vec(0usize..50, 0..3),
            most in 1usize..60,
        ) {
            let scalar = (vec![1, 2, 7, 0], 7);
            let device: BTreeMap<Vec<u32>, i32> = rows
                .iter()
                .map(|((column, row), value)| (vec![1, 3, *column, *row], *value))
                .chain([scalar.clone()])
                .collect();
            let (scalars, columns) = ([&[1, 2, 7][..], &[1, 2, 8]], [&[1, 3, 2][..], &[1, 3, 4]]);
            let answers = read(&device, &scalars, &columns, &hint, most);
            let asked = |oid: &[u32]| {
                oid == scalar.0 || columns.iter().any(|column| oid.starts_with(column))
            };
            let expected: WalkAnswers = device
                .iter()
                .filter(|(oid, _)| asked(oid))
                .map(|(oid, value)| (oid.clone(), Value::Integer(*value)))
                .collect();
            prop_assert_eq!(answers, expected);
        }
    }

    #[test]
    fn a_small_table_takes_two_messages_at_first_and_then_one() {
        let device = (1..=8)
            .flat_map(|i| [(vec![1, 3, 2, i], 0), (vec![1, 3, 3, i], 0)])
            .collect();
        let columns: [&[u32]; 3] = [&[1, 3, 2], &[1, 3, 3], &[1, 3, 9]];
        let mut rows = vec![];
        for shapes in [&[(4, 0), (0, 8)][..], &[(2, 9)]] {
            let mut walk = TableWalk::new(&[&[1, 2]], &columns, &rows);
            let mut asked = vec![];
            while let Some(request) = walk.next() {
                asked.push((request.non_repeaters, request.repetitions));
                walk.take(answer(&device, &request, 99)).unwrap();
            }
            rows = walk.rows();
            assert_eq!(
                (asked.as_slice(), rows.as_slice()),
                (shapes, &[8, 8, 0][..])
            );
        }
    }

    #[test]
    fn a_column_is_left_after_the_rows_that_suffice() {
        let device = (1..=500).map(|i| (vec![1, 3, 2, i], 0)).collect();
        let mut walk = TableWalk::new(&[], &[&[1, 3, 2]], &[]).with_most_rows(100);
        while let Some(request) = walk.next() {
            walk.take(answer(&device, &request, 99)).unwrap();
        }
        assert!((100..150).contains(&walk.len()), "{}", walk.len());
    }

    #[test]
    fn refuses_nonsense() {
        let integer = |oid: &[u32]| VarBind::new(Oid::from_slice(oid), Value::Integer(1));
        let mut walk = TableWalk::new(&[], &[&[1, 3, 2]], &[4]);
        assert_eq!(walk.take(vec![]), Err(AnswerFault::Empty));
        assert!(matches!(
            walk.take(vec![integer(&[1, 3, 2, 5]), integer(&[1, 3, 2, 5])]),
            Err(AnswerFault::Order(..))
        ));
        let mut back = TableWalk::new(&[], &[&[1, 3, 2]], &[4]);
        assert!(
            matches!(
                back.take(vec![integer(&[1, 3, 1, 9])]),
                Err(AnswerFault::Order(..))
            ),
            "before the column"
        );
        let mut endless = TableWalk::new(&[], &[&[1, 3]], &[4]);
        let ended = (0..)
            .map(|n| endless.take(vec![integer(&[1, 3, n / 1000, n % 1000])]))
            .find(Result::is_err);
        assert_eq!(ended, Some(Err(AnswerFault::Endless)));
    }

    /// A device with a million stations in dot1qTpFdbTable. The values kept during the reading stay
    /// bounded, and so does the time.
    #[test]
    fn a_million_rows_end_at_a_bound_that_is_reported() {
        let columns: [&[u32]; 2] = [&[1, 3, 1], &[1, 3, 2]];
        let next = |oid: &Oid| {
            let (column, row) = (oid.arcs()[2], oid.arcs().get(3).map_or(0, |n| n + 1));
            let [a, b] = if row < 1_000_000 {
                [column, row]
            } else {
                [column + 1, 0]
            };
            VarBind::new(Oid::from_slice(&[1, 3, a, b]), Value::Integer(3))
        };
        let mut walk = TableWalk::new(&[], &columns, &[]);
        let mut messages = 0;
        let end = loop {
            let request = walk.next().expect("a million rows were read");
            let mut at = request.oids.clone();
            let (single, repeated) = at.split_at_mut(request.non_repeaters as usize);
            let mut answer: Vec<VarBind> = single.iter().map(next).collect();
            for _ in 0..request.repetitions {
                for oid in repeated.iter_mut() {
                    let found = next(oid);
                    *oid = found.oid.clone();
                    answer.push(found);
                }
            }
            messages += 1;
            if let Err(nonsense) = walk.take(answer) {
                break nonsense;
            }
        };
        assert_eq!(
            end.to_string(),
            "more than 300000 values without end; given up, what was read before stays"
        );
        assert!(
            messages <= VALUES_LIMIT / VALUES_A_MESSAGE + 3
                && walk.len() <= VALUES_LIMIT + VALUES_A_MESSAGE,
            "{messages}, {}",
            walk.len()
        );
    }
}
