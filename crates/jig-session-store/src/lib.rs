//! The reader: folders of status files joined with verdicts into one view.
