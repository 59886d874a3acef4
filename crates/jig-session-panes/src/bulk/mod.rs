//! Bulk actions: a plan as a pure function, and the queue that runs it.

mod decide;
mod delay;
mod guard;
mod plan;
mod queue;
mod step;

pub use decide::{DecisionInput, decide};
pub use delay::delay;
pub use guard::{Limits, Load, reasons};
pub use plan::{Options, Plan, preview};
pub use queue::{Clock, Executor, Outcome, run};
pub use step::{Report, Step};
