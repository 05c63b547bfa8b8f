//! Ways, in tests of their own further down.
