//! The rules of the house that no compiler knows: the imports between packages, decisions on types
//! instead of text, names, sizes, and the documents.
mod circles;
mod dialect;
mod documentation;
mod imports;
mod language;
mod links;
mod repository;
mod sizes;
mod text;
mod ways;
