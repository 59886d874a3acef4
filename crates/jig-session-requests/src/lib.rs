//! The request file: publish one, take one, judge it, answer it.
