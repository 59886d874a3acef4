//! `jig-session schema`: the JSON Schema of a format, made from the types this program was built with.

use std::path::{Path, PathBuf};

use jig_session_schema::formats::{FORMATS, Format};
use jig_session_schema::shape::Side;
use jig_session_view::sanitise::clean;

use crate::app::App;
use crate::failure::{Code, Exit, Failure, Outcome};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The format, such as status.v1, or status for its newest version; without one the names are listed
    format: Option<String>,
    /// Write every schema below this folder, with the program's version in the file VERSION
    #[arg(long, value_name = "DIR", conflicts_with_all = ["format", "writer"])]
    all: Option<PathBuf>,
    /// The writer's schema instead of the reader's
    #[arg(long)]
    writer: bool,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    if let Some(folder) = &args.all {
        write_all(folder)?;
        app.print(&format!("{} formats below {}\n", FORMATS.len(), clean(&folder.to_string_lossy())))?;
        return Ok(Exit::OK);
    }
    let Some(name) = &args.format else {
        let names: String = FORMATS.iter().map(|format| format!("{:20} {}\n", format.name, format.about)).collect();
        app.print(&names)?;
        return Ok(Exit::OK);
    };
    let side = if args.writer { Side::Writer } else { Side::Reader };
    app.print(&named(name)?.schema_text(side))?;
    Ok(Exit::OK)
}

/// The schemas of both sides, as `schemas/` holds them: a folder that readers of other programs keep a copy of.
fn write_all(folder: &Path) -> Result<(), Failure> {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).and_then(|()| std::fs::write(&path, text)).map_err(|error| {
            Failure::new(Code::Io, format!("cannot write a schema: {error}")).path(&path).errno(error.raw_os_error())
        })
    };
    for format in FORMATS {
        for side in [Side::Reader, Side::Writer] {
            write(&format.schema_file(side), &format.schema_text(side))?;
        }
    }
    write("VERSION", concat!(env!("CARGO_PKG_VERSION"), "\n"))
}

/// The format of a name, or an error that lists the names.
pub(super) fn named(name: &str) -> Result<&'static Format, Failure> {
    let newest =
        || FORMATS.iter().rev().find(|format| format.name.rsplit_once(".v").is_some_and(|(bare, _)| bare == name));
    Format::named(name).or_else(newest).ok_or_else(|| {
        Failure::new(Code::NotFound, format!("no format {name:?}"))
            .hint("jig-session schema lists the formats")
            .candidates(FORMATS.iter().map(|format| format.name.to_owned()).collect())
    })
}
