//! Where a path's repository is, found without running git.
