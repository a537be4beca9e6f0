//! Two files describe networks, and both begin with `switches`. Each reader tells the other's file
//! from a bad one.
use crate::config::input_file_error::InputFileError;
use crate::config::yaml;
use serde::Deserialize;
use serde_yaml::Value;

/// The form that a reader expects of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExpectedForm {
    Topology,
    Inventory,
}

/// The difference between the forms: hosts of a topology state their switches, and switches of an inventory have
/// credentials.
#[derive(Deserialize)]
struct FileOutline {
    switches: Value,
    #[serde(default)]
    hosts: Value,
}

impl FileOutline {
    fn form(&self) -> Option<ExpectedForm> {
        let mut hosts = self.hosts.as_mapping().into_iter().flatten();
        if hosts.any(|(_, host)| host.get("switch").is_some() || host.get("cards").is_some()) {
            Some(ExpectedForm::Topology).filter(|_| self.switches.is_sequence())
        } else {
            Some(ExpectedForm::Inventory).filter(|_| self.switches.is_mapping())
        }
    }
}

impl ExpectedForm {
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
    /// The error about a file that is no `expected` file, or that the file has the other form.
    pub(crate) fn of_form(self, text: &str, expected: ExpectedForm) -> InputFileError {
        let (InputFileError::Syntax { file, .. } | InputFileError::Content { file, .. }) = &self;
        let form = yaml::read::<FileOutline>("", text)
            .ok()
            .and_then(|file| file.form());
        if form.is_none_or(|form| form == expected) {
            return self;
        }
        InputFileError::Content {
            file: file.clone(),
            line: None,
            problem: expected.instead_of_other().to_owned(),
        }
    }
}
