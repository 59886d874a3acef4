//! `jig-session run` in real terminals: the program is as it would be without it, and what it reports is published.

mod ends;
mod jobs;
mod programs;
mod published;
mod screen;
mod streams;
