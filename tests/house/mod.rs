//! The rules of the house that no compiler knows: the imports between packages, decisions on types
//! instead of text, and names.
mod imports;
mod language;
mod repository;
mod text;
