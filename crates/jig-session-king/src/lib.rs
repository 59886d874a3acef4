//! pi-king session-status v1: read, write, layout and call-log metrics.
