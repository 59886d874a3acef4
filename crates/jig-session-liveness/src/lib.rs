//! Who wrote this, and is that process still running?
