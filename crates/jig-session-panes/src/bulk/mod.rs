//! Bulk actions: a plan as a pure function, and the queue that runs it.

mod decide;
mod delay;
mod guard;
mod plan;
mod queue;

pub use decide::{Given, decide};
pub use delay::delay;
pub use guard::{Limits, Load, reasons};
pub use plan::{Options, Plan, Step, preview};
pub use queue::{Clock, Hands, Outcome, Report, run};
