//! `jig-session schema`.

use crate::app::App;
use crate::failure::{Code, Failure, Outcome};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, _app: &App) -> Outcome {
    Err(Failure::new(Code::Unsupported, "schema is not built yet"))
}
