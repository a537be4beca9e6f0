//! The rules of the house that no compiler knows: the imports between packages, decisions on types
//! instead of text, names, and sizes.
mod imports;
mod language;
mod repository;
mod sizes;
mod text;
