//! The rows of a panel: the filter and folding.
use crate::tree::TreeBranch;
use api::AlarmSubject;
use inventory::Millis;

/// The subject of a row; a selection follows it when rows come, go or are sorted anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RowKey {
    Node(String),
    Link {
        a: String,
        a_port: String,
        b: String,
        b_port: String,
    },
    Job(String),
    Epoch(u64),
    Event(Millis, String),
    Alarm(AlarmSubject, String),
    Pending(String),
}

/// The object of a row, by its place in the snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowItem {
    Branch(TreeBranch),
    Link(usize),
    Job(usize),
    /// The jobs that the controller only counts.
    MoreJobs,
    Epoch(usize),
    Event(usize),
    Alarm(usize),
    Pending(usize),
}

/// One line of a table; its cells are made when it is drawn.
#[derive(Debug, Clone)]
pub(crate) struct TableRow {
    pub(crate) item: RowItem,
    /// The place of the row below an earlier one; a filter keeps the earlier rows of each match.
    pub(crate) hang: RowIndent,
    /// True if the filter found the row itself, not only a row below it.
    pub(crate) found: bool,
    /// The number of rows below that are folded away.
    pub(crate) folded: usize,
    /// True if one of the rows that are folded away has an alarm.
    pub(crate) hides_alarm: bool,
}

impl From<RowItem> for TableRow {
    /// A row at the top level.
    fn from(item: RowItem) -> TableRow {
        TableRow {
            item,
            hang: RowIndent::default(),
            found: true,
            folded: 0,
            hides_alarm: false,
        }
    }
}

/// The place of a row below the last row before it that is a level higher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RowIndent {
    /// Levels below the root; 0 draws no lines.
    pub(crate) depth: usize,
    /// True if the line to the higher row is dotted.
    pub(crate) dotted: bool,
}

/// Keeps the rows that `matches` accepts, and the rows above those in the tree.
pub(crate) fn filter(rows: &mut Vec<TableRow>, matches: impl Fn(&TableRow) -> bool) {
    let mut wanted = 0;
    let mut kept: Vec<bool> = vec![false; rows.len()];
    // From the end on: a row stands above those after it that are deeper, up to the next one that is not.
    for (row, keep) in rows.iter_mut().zip(&mut kept).rev() {
        row.found = matches(row);
        *keep = row.found || row.hang.depth < wanted;
        wanted = if *keep {
            row.hang.depth
        } else {
            wanted.min(row.hang.depth)
        };
    }
    let mut keep = kept.into_iter();
    rows.retain(|_| keep.next().unwrap_or(false));
}

/// Hides the rows below each row that `is_folded` names. `has_alarm` is asked about those.
pub(crate) fn fold(
    rows: &mut Vec<TableRow>,
    is_folded: impl Fn(&TableRow) -> bool,
    has_alarm: impl Fn(&TableRow) -> bool,
) {
    let mut shown: Vec<TableRow> = Vec::with_capacity(rows.len());
    // The depth of the folded row whose rows are being hidden.
    let mut hiding: Option<usize> = None;
    for row in rows.drain(..) {
        if let Some(last) = shown.last_mut()
            && hiding.is_some_and(|depth| row.hang.depth > depth)
        {
            last.folded += 1;
            last.hides_alarm |= has_alarm(&row);
            continue;
        }
        hiding = is_folded(&row).then_some(row.hang.depth);
        shown.push(row);
    }
    *rows = shown;
}

/// For each of `rows` from the place `from` on, `count` of them, the lines that join it to the row
/// above it in the tree, like `│  ├─ ` with three cells a level, or `│├` with one.
pub(crate) fn rails(rows: &[TableRow], from: usize, count: usize, step: usize) -> Vec<String> {
    // One flag for each level: the level goes on below the present row. The loop begins at the last
    // row; a row at the top level ends all others.
    let end = (from + count).min(rows.len());
    let (below, shown) = (&rows[end..], &rows[from.min(end)..end]);
    let mut on: Vec<bool> = Vec::new();
    let mut least = usize::MAX;
    for row in below {
        // Only the first row after the shown ones at each smaller depth matters.
        let depth = row.hang.depth;
        if depth < least {
            on.resize(on.len().max(depth + 1), false);
            on[depth] = true;
            least = depth;
        }
        if depth == 0 {
            break;
        }
    }
    let mut rails = Vec::with_capacity(shown.len());
    for row in shown.iter().rev() {
        let RowIndent { depth, dotted } = row.hang;
        on.resize(on.len().max(depth + 1), false);
        let mut rail: String = (1..depth)
            .map(|level| rail_sign(if on[level] { '│' } else { ' ' }, ' ', step))
            .collect();
        if depth > 0 {
            let corner = if on[depth] { '├' } else { '└' };
            rail += &rail_sign(corner, if dotted { '╌' } else { '─' }, step);
        }
        on.truncate(depth + 1);
        on[depth] = true;
        rails.push(rail);
    }
    rails.reverse();
    rails
}

fn rail_sign(c: char, fill: char, step: usize) -> String {
    let mut text = c.to_string();
    if step > 1 {
        text.extend(std::iter::repeat_n(fill, step - 2));
        text.push(' ');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: usize, depth: usize) -> TableRow {
        TableRow {
            hang: RowIndent {
                depth,
                dotted: name == 5,
            },
            ..RowItem::Link(name).into()
        }
    }

    fn rows() -> Vec<TableRow> {
        let depths = [0, 1, 1, 2, 1, 2].into_iter().enumerate();
        depths.map(|(i, depth)| row(i, depth)).collect()
    }

    fn kept(rows: &[TableRow]) -> Vec<RowItem> {
        rows.iter().map(|r| r.item).collect()
    }

    #[test]
    fn a_filter_keeps_what_a_match_hangs_on() {
        let mut rows = rows();
        let whole = ["", "├─ ", "├─ ", "│  └─ ", "└─ ", "   └╌ "];
        assert_eq!(rails(&rows, 0, 9, 3), whole);
        assert_eq!(
            rails(&rows, 2, 2, 3),
            whole[2..4],
            "a part, as in the whole"
        );
        assert_eq!(rails(&rows, 0, 9, 1), ["", "├", "├", "│└", "└", " └"]);
        filter(&mut rows, |r| r.item == RowItem::Link(3));
        assert_eq!(rails(&rows, 0, 9, 3), ["", "└─ ", "   └─ "]);
        assert_eq!(rows.iter().position(|r| r.found), Some(2));
        assert_eq!(kept(&rows), [0, 2, 3].map(RowItem::Link));
    }

    #[test]
    fn folding_hides_and_counts() {
        let mut shown = rows();
        fold(&mut shown, |r| r.item == RowItem::Link(2), is_link_3);
        assert_eq!(kept(&shown), [0, 1, 2, 4, 5].map(RowItem::Link));
        assert_eq!((shown[2].folded, shown[2].hides_alarm), (1, true));
        let mut shown = rows();
        fold(&mut shown, |r| r.hang.depth == 0, is_link_3);
        assert_eq!((shown.len(), shown[0].folded), (1, 5));
    }

    fn is_link_3(r: &TableRow) -> bool {
        r.item == RowItem::Link(3)
    }
}
