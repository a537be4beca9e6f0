//! The texts of ranks as one rank keeps them: a text that several have is there once, for ranks of one host have the
//! same, and each of 16,384 ranks keeps those of all.
use crate::difference::Published;
use std::collections::HashSet;
use std::sync::Arc;

/// The texts of ranks of MPI_COMM_WORLD, as far as they were read. Nobody publishes twice.
#[derive(Debug, Default)]
pub struct KnownTexts {
    of_rank: Vec<Option<Arc<Published>>>,
}

impl KnownTexts {
    /// Those of these ranks; `None` if one was not read yet.
    pub fn of_all(&self, ranks: &[i32]) -> Option<Vec<Arc<Published>>> {
        (ranks.iter())
            .map(|&rank| {
                let text = self.of_rank.get(usize::try_from(rank).ok()?)?;
                text.clone()
            })
            .collect()
    }

    /// These ranks have these texts.
    pub fn keep(&mut self, ranks: &[i32], texts: &[Arc<Published>]) {
        for (&rank, text) in ranks.iter().zip(texts) {
            let Ok(rank) = usize::try_from(rank) else {
                continue;
            };
            if self.of_rank.len() <= rank {
                self.of_rank.resize(rank + 1, None);
            }
            self.of_rank[rank] = Some(Arc::clone(text));
        }
    }
}

/// These texts, of which equal ones are one; `None` if one is missing.
pub fn each_once(texts: impl Iterator<Item = Option<Published>>) -> Option<Vec<Arc<Published>>> {
    let mut known: HashSet<Arc<Published>> = HashSet::new();
    texts
        .map(|text| {
            let text = Arc::new(text?);
            if let Some(same) = known.get(&text) {
                return Some(Arc::clone(same));
            }
            known.insert(Arc::clone(&text));
            Some(text)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(host: &str) -> Published {
        Published::Text(host.to_owned())
    }

    #[test]
    fn ranks_with_one_text_share_it() {
        let read = ["a", "b", "a"].map(text);
        let texts = each_once(read.iter().cloned().map(Some)).unwrap();
        assert!(Arc::ptr_eq(&texts[0], &texts[2]) && *texts[1] == read[1]);
        assert_eq!(each_once([Some(text("a")), None].into_iter()), None);
    }

    #[test]
    fn what_was_read_of_some_ranks_is_known_of_them() {
        let mut known = KnownTexts::default();
        known.keep(&[4, 1], &[text("d"), text("b")].map(Arc::new));
        assert_eq!(
            known.of_all(&[1, 4]),
            Some(vec![Arc::new(text("b")), Arc::new(text("d"))])
        );
        for unread in [0, 5, -1] {
            assert_eq!(known.of_all(&[1, unread]), None);
        }
    }
}
