//! Two files describe networks, and both begin with `switches`. Each reader tells the other's file
//! from a bad one.
use crate::config::input_file_error::InputFileError;
use crate::config::inventory_file;
use crate::config::topology_file::TopologyFile;
use crate::config::yaml;

/// The form that a reader expects of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExpectedForm {
    Topology,
    Inventory,
}

impl ExpectedForm {
    /// True if the text is a whole file of the other form.
    pub(crate) fn is_other_form(self, text: &str) -> bool {
        match self {
            ExpectedForm::Topology => inventory_file::has_form(text),
            ExpectedForm::Inventory => yaml::read::<TopologyFile>("", text).is_ok(),
        }
    }

    /// The problem with a file of the other form, and the way out.
    pub(crate) fn instead_of_other(self) -> &'static str {
        match self {
            ExpectedForm::Topology => {
                "this is an inventory, which names switches to ask; expected a topology file, \
                 which states a network: heddle discover --format topology writes one"
            }
            ExpectedForm::Inventory => {
                "this is a topology file, which states a network; expected an inventory, which \
                 names switches with their addresses and credentials; docs/inventory.md has both"
            }
        }
    }
}

impl InputFileError {
    /// The error about a file that is no `expected` file, or that the file is of the other form.
    pub(crate) fn of_form(self, text: &str, expected: ExpectedForm) -> InputFileError {
        let (InputFileError::Syntax { file, .. } | InputFileError::Content { file, .. }) = &self;
        if !expected.is_other_form(text) {
            return self;
        }
        InputFileError::Content {
            file: file.clone(),
            line: None,
            problem: expected.instead_of_other().to_owned(),
        }
    }
}
