//! Folding: which nodes of the tree hide what hangs on them.
use super::App;
use crate::panel_view::PanelView;
use crate::rows::{self, RowItem, RowKey, TableRow};
use crate::tree;
use std::collections::HashSet;

/// With more nodes than this, the tree begins folded.
const LARGE: usize = 1_000;

/// The folded nodes of the tree.
#[derive(Debug, Clone, Default)]
pub(crate) struct TreeFolds {
    /// True if all nodes below the roots begin folded; `None` if the size of the network decides.
    all: Option<bool>,
    /// The nodes that are not as all others.
    others: HashSet<String>,
}

/// The name of the node of a row of the tree.
fn node_of<'v>(view: &PanelView<'v>, row: &TableRow) -> Option<&'v str> {
    match row.item {
        RowItem::Branch(branch) => Some(branch.place.name(&view.snapshot.topology)),
        _ => None,
    }
}

impl TreeFolds {
    /// Takes out the rows below folded nodes.
    pub(super) fn apply(&self, view: &PanelView<'_>, rows: &mut Vec<TableRow>) {
        if self.begins(view) || !self.others.is_empty() {
            rows::fold(
                rows,
                |row| {
                    node_of(view, row)
                        .is_some_and(|name| self.is_folded(view, name, row.hang.depth))
                },
                |row| node_of(view, row).is_some_and(|name| view.picture.has_alarm(name)),
            );
        }
    }

    fn begins(&self, view: &PanelView<'_>) -> bool {
        self.all
            .unwrap_or(view.snapshot.topology.nodes.len() > LARGE)
    }

    fn is_folded(&self, view: &PanelView<'_>, name: &str, depth: usize) -> bool {
        (self.begins(view) && depth > 0) != self.others.contains(name)
    }

    fn turn(&mut self, name: &str) {
        if !self.others.remove(name) {
            self.others.insert(name.to_owned());
        }
    }
}

impl App {
    /// Folds the selected node; goes to the node above if there is nothing to fold.
    pub(super) fn fold(&mut self) {
        let Some((at, depth, name, open)) = self.branch() else {
            return;
        };
        if open {
            self.folds.turn(&name);
            self.panels[0].lines = None;
            return;
        }
        let rows = &self.lines(0).rows;
        let above = rows[..at].iter().rposition(|r| r.hang.depth < depth);
        if let Some(above) = above {
            self.select(above);
        }
    }

    pub(super) fn unfold(&mut self) {
        let Some((at, _, name, _)) = self.branch() else {
            return;
        };
        if self.lines(0).rows[at].folded > 0 {
            self.folds.turn(&name);
            self.panels[0].lines = None;
        }
    }

    /// Folds or unfolds everything below the roots. The selection stays, or goes to the nearest node
    /// above that is left.
    pub(super) fn fold_all(&mut self, folded: bool) {
        let above = match &self.panels[0].selected {
            Some(RowKey::Node(name)) => self.path(name),
            _ => Vec::new(),
        };
        self.folds = TreeFolds {
            all: Some(folded),
            others: HashSet::new(),
        };
        self.panels[0].lines = None;
        if self.focus == 0
            && let Some(at) = above.iter().rev().find_map(|name| self.line_of(name))
        {
            self.select(at);
        }
    }

    /// Selects the node `name` in the tree, and unfolds what hides it. Gives false if there is none.
    pub(super) fn find_node(&mut self, name: &str) -> bool {
        let path = self.path(name);
        let Some((_, above)) = path.split_last() else {
            return false;
        };
        self.go(0);
        self.panels[0].filter = Default::default();
        for (depth, node) in above.iter().enumerate() {
            if self.folds.is_folded(&self.view(0, 0), node, depth) {
                self.folds.turn(node);
            }
        }
        self.panels[0].lines = None;
        if let Some(at) = self.line_of(name) {
            self.select(at);
        }
        true
    }

    /// The names from the root to a node.
    fn path(&self, name: &str) -> Vec<String> {
        let Some(snapshot) = self.picture() else {
            return Vec::new();
        };
        let path = tree::path(&snapshot.topology, name);
        let names = path.iter().map(|b| b.place.name(&snapshot.topology));
        names.map(str::to_owned).collect()
    }

    fn line_of(&mut self, name: &str) -> Option<usize> {
        self.lines(0);
        let rows = &self.panels[0].lines.as_ref()?.rows;
        let topology = &self.picture()?.topology;
        rows.iter().position(|row| match row.item {
            RowItem::Branch(b) => !b.outside && b.place.name(topology) == name,
            _ => false,
        })
    }

    /// The selected line of the tree: its place, its depth, its name, and whether something is open
    /// below it. `None` outside the tree, and while a filter shows only parts of it.
    fn branch(&mut self) -> Option<(usize, usize, String, bool)> {
        if self.focus != 0 || self.in_detail || !self.panels[0].filter.is_empty() {
            return None;
        }
        let at = self.panels[0].index;
        let rows = &self.lines(0).rows;
        let (row, next) = (rows.get(at)?, rows.get(at + 1));
        let depth = row.hang.depth;
        let open = next.is_some_and(|next| next.hang.depth > depth);
        let RowItem::Branch(branch) = row.item else {
            return None;
        };
        let topology = &self.picture()?.topology;
        Some((at, depth, branch.place.name(topology).to_owned(), open))
    }
}
