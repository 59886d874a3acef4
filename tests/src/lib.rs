//! Workspace-level tests; see the `tests` folder beside this one.
