//! tmux panes: discovery, classification, bulk plans and their queue.
