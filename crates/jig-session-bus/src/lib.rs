//! Membership, mail and path claims in plain files.
