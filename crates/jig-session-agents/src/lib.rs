//! Each agent's own records and lines turned into events.
