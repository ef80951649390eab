//! Empty library: the examples are the programs in the parent folder.
