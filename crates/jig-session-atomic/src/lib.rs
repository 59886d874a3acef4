//! A verified private folder whose files are written whole or not at all.
