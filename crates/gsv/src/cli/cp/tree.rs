//! Tree walk of `gsv cp`: where a file goes, and the files of a directory one by one.

use std::path::Path;

use base::limits;
use terminal::failure::{Failure, Result};

use super::local::cannot;
use super::location::{Location, Remote};
use super::remote::{create_directory, list, safe_name};
use super::transfer::Copier;

/// Copies a file, or with `recursive` a directory. Into an existing directory the source keeps its name.
pub async fn copy(
    copier: &mut Copier<'_>,
    source: &Location,
    destination: &Location,
    recursive: bool,
) -> Result<()> {
    let directory = is_directory(copier, source).await?;
    if directory && !recursive {
        return Err(Failure::new(format!("{} is a directory", show(source))).with_hint("copy it with -r"));
    }
    if !directory {
        let destination = match keeps_name(copier, destination).await? {
            true => inside(source, destination),
            false => destination.clone(),
        };
        return copy_file(copier, source, &destination).await;
    }
    let unfinished = copier.unfinished(source, destination).await;
    let keeps_name = match unfinished.inside {
        Some(inside) => {
            copier.go_on();
            inside
        }
        None => keeps_name(copier, destination).await?,
    };
    unfinished.begin(keeps_name);
    let destination = if keeps_name { inside(source, destination) } else { destination.clone() };
    copy_directory(copier, source, &destination).await?;
    if !copier.has_failed() {
        unfinished.end();
    }
    Ok(())
}

/// Copies everything below a directory; what cannot be copied is told and left out. When the gateway or a
/// device stays away, the rest is not tried.
async fn copy_directory(copier: &mut Copier<'_>, source: &Location, destination: &Location) -> Result<()> {
    let mut waiting = vec![(source.clone(), destination.clone(), 0usize)];
    while let Some((source, destination, depth)) = waiting.pop() {
        let names = match names(copier, &source).await {
            Ok(names) if depth < limits::cli::COPY_DEPTH_MAX => names,
            Ok(_) => {
                copier.skip(&Failure::new(format!("{} is nested too deeply", show(&source))));
                continue;
            }
            Err(failure) => {
                report_and_skip(copier, failure)?;
                continue;
            }
        };
        if names.files.is_empty()
            && names.directories.is_empty()
            && let Err(failure) = make_directory(copier, &destination).await
        {
            report_and_skip(copier, failure)?;
        }
        for name in &names.files {
            if let Err(failure) = copy_file(copier, &source.join(name), &destination.join(name)).await {
                report_and_skip(copier, failure)?;
            }
        }
        for name in names.directories.iter().rev() {
            waiting.push((source.join(name), destination.join(name), depth + 1));
        }
    }
    Ok(())
}

/// Tells about something that could not be copied; fails when there is no use in going on.
fn report_and_skip(copier: &mut Copier<'_>, failure: Failure) -> Result<()> {
    if copier.gave_up {
        return Err(failure.with_hint("the rest was not copied; the same command goes on"));
    }
    copier.skip(&failure);
    Ok(())
}

async fn copy_file(copier: &mut Copier<'_>, source: &Location, destination: &Location) -> Result<()> {
    match (source, destination) {
        (Location::Remote(from), Location::Local(to)) => copier.pull(from, to).await,
        (Location::Local(from), Location::Remote(to)) => copier.push(from, to).await,
        (Location::Remote(from), Location::Remote(to)) => copier.relay(from, to).await,
        (Location::Local(_), Location::Local(_)) => {
            Err(Failure::usage("source and destination are both on this machine"))
        }
    }
}

struct Names {
    files: Vec<String>,
    directories: Vec<String>,
}

async fn names(copier: &mut Copier<'_>, location: &Location) -> Result<Names> {
    match location {
        Location::Local(path) => local_names(copier, path),
        Location::Remote(remote) => {
            copier.ensure_connected().await?;
            let listing = list(&copier.session, remote).await?;
            let listing =
                listing.ok_or_else(|| Failure::new(format!("{remote} is no longer a directory")))?;
            for name in listing.files.iter().chain(&listing.directories) {
                safe_name(name)?;
            }
            Ok(Names { files: listing.files, directories: listing.directories })
        }
    }
}

/// Links to files are copied as files; links to directories are left out, for they may lead in circles.
fn local_names(copier: &mut Copier<'_>, path: &Path) -> Result<Names> {
    let mut names = Names { files: Vec::new(), directories: Vec::new() };
    for entry in std::fs::read_dir(path).map_err(|error| cannot("read", path, error))? {
        let entry = entry.map_err(|error| cannot("read", path, error))?;
        let at = entry.path();
        let kind = entry.file_type().map_err(|error| cannot("read", &at, error))?;
        let Ok(name) = entry.file_name().into_string() else {
            copier.skip(&Failure::new(format!("the name of {} is not text", at.display())));
            continue;
        };
        if kind.is_dir() {
            names.directories.push(name);
        } else if at.is_file() {
            names.files.push(name);
        } else {
            copier.skip(&Failure::new(format!("{} is neither a file nor a directory", at.display())));
        }
    }
    names.files.sort();
    names.directories.sort();
    Ok(names)
}

async fn make_directory(copier: &mut Copier<'_>, location: &Location) -> Result<()> {
    match location {
        Location::Local(path) => std::fs::create_dir_all(path).map_err(|error| cannot("create", path, error)),
        Location::Remote(remote) => {
            copier.ensure_connected().await?;
            create_directory(&copier.session, remote).await
        }
    }
}

async fn is_directory(copier: &Copier<'_>, location: &Location) -> Result<bool> {
    match location {
        Location::Local(path) => Ok(path.is_dir()),
        Location::Remote(remote) => Ok(list(&copier.session, remote).await?.is_some()),
    }
}

/// Whether the destination is a directory, or written as one, in which the source keeps its name.
async fn keeps_name(copier: &Copier<'_>, destination: &Location) -> Result<bool> {
    let written_as_directory = match destination {
        Location::Local(path) => path.to_string_lossy().ends_with(std::path::MAIN_SEPARATOR),
        Location::Remote(remote) => remote.path.ends_with('/'),
    };
    Ok(written_as_directory || is_directory(copier, destination).await?)
}

/// The source's name inside a directory.
fn inside(source: &Location, destination: &Location) -> Location {
    match source.name() {
        Some(name) => destination.join(&name),
        // `dev:.` and `/` have no name of their own: their content goes into the destination.
        None => destination.clone(),
    }
}

impl Location {
    fn join(&self, name: &str) -> Location {
        match self {
            Location::Local(path) => Location::Local(path.join(name)),
            Location::Remote(remote) => Location::Remote(Remote::join(remote, name)),
        }
    }

    fn name(&self) -> Option<String> {
        match self {
            Location::Local(path) => path.file_name().map(|name| name.to_string_lossy().into_owned()),
            Location::Remote(remote) => remote.name().map(str::to_string),
        }
    }
}

/// A location as it is written on the command line.
pub fn show(location: &Location) -> String {
    match location {
        Location::Local(path) => path.display().to_string(),
        Location::Remote(remote) => remote.to_string(),
    }
}
