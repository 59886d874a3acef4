//! Every shape that leaves a jig-session process: types, lenient readers, limits, names and places.
