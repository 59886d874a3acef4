//! `jig-session schema`: the JSON Schema of a format, made from the types this program was built with.

use jig_session_schema::formats::{FORMATS, Format};
use jig_session_schema::shape::Side;

use crate::app::App;
use crate::failure::{Code, Exit, Failure, Outcome};

/// Print the JSON Schema of a format, or the names of all formats
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The format, such as status.v1; without one the names are listed
    format: Option<String>,
    /// What this version writes, instead of what a reader must take
    #[arg(long)]
    writer: bool,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    let Some(name) = &args.format else {
        let names: String = FORMATS.iter().map(|format| format!("{:20} {}\n", format.name, format.about)).collect();
        app.print(&names)?;
        return Ok(Exit::OK);
    };
    let side = if args.writer { Side::Writer } else { Side::Reader };
    app.print(&named(name)?.schema_text(side))?;
    Ok(Exit::OK)
}

/// The format of a name, or an error that lists the names.
pub(super) fn named(name: &str) -> Result<&'static Format, Failure> {
    Format::named(name).ok_or_else(|| {
        Failure::new(Code::NotFound, format!("no format {name:?}"))
            .hint("jig-session schema lists the formats")
            .candidates(FORMATS.iter().map(|format| format.name.to_owned()).collect())
    })
}
