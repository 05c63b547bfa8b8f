//! Tests of workspaces.
