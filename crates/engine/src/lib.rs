//! The engine contract.
