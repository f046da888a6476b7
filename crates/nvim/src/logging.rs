//! The log file, shared with Lua: same file, same line format, same size limit (`lua/claude-ide/base/log.lua`).
//!
//! A line is `<UTC time> <LEVEL> <module>: <text>`. Nothing is written to the terminal that Neovim draws on, so panics
//! are logged too.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use once_cell::sync::OnceCell;
use serde::Deserialize;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Registry, reload};

/// Beyond this size the file is renamed to `<name>.1` and a new one begins, as in `log.lua`.
const MAX_LOG_BYTES: u64 = 4 * 1024 * 1024;

/// The log's path and level.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct LogOptions {
    path: PathBuf,
    level: Level,
}

/// The lowest level that is written.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
    Off,
}

impl From<Level> for LevelFilter {
    fn from(level: Level) -> Self {
        match level {
            Level::Trace => Self::TRACE,
            Level::Debug => Self::DEBUG,
            Level::Info => Self::INFO,
            Level::Warn => Self::WARN,
            Level::Error => Self::ERROR,
            Level::Off => Self::OFF,
        }
    }
}

static LOG: OnceCell<Log> = OnceCell::new();

/// The process's log. File and level can change.
struct Log {
    file: Mutex<LogFile>,
    level: reload::Handle<LevelFilter, Registry>,
}

/// Starts logging, or changes path and level.
pub(crate) fn configure(options: &LogOptions) {
    let log = LOG.get_or_init(|| {
        let (filter, level) = reload::Layer::new(LevelFilter::OFF);
        let lines = tracing_subscriber::fmt::layer().event_format(Line).with_ansi(false).with_writer(OpenLog);
        // The library has its own copy of tracing, so no other plugin can have set a default.
        let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(filter).with(lines));
        std::panic::set_hook(Box::new(|panic| tracing::error!(target: "claude_ide_nvim", "{panic}")));
        Log { file: Mutex::default(), level }
    });
    log.file.lock().unwrap_or_else(PoisonError::into_inner).set_path(&options.path);
    // Fails only without a subscriber, and the global one stays.
    let _ = log.level.modify(|level| *level = options.level.into());
}

/// The file, opened at the first line.
#[derive(Default)]
struct LogFile {
    path: PathBuf,
    file: Option<File>,
}

impl LogFile {
    fn set_path(&mut self, path: &Path) {
        if self.path != path {
            self.path = path.to_owned();
            self.file = None;
        }
    }

    /// Appends whole lines in one write, so that they never mix with those of Lua and other Neovims.
    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let mut file = match self.file.take() {
            Some(file) => file,
            None => open(&self.path)?,
        };
        if file.metadata()?.size() >= MAX_LOG_BYTES {
            // Another process may have begun the new file already.
            file = open(&self.path)?;
            if file.metadata()?.size() >= MAX_LOG_BYTES {
                let mut old = self.path.clone().into_os_string();
                old.push(".1");
                std::fs::rename(&self.path, old)?;
                file = open(&self.path)?;
            }
        }
        file.write_all(lines)?;
        self.file = Some(file);
        Ok(())
    }
}

/// Only readable by its owner: paths and names are private.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

struct OpenLog;

impl<'a> MakeWriter<'a> for OpenLog {
    type Writer = Self;

    fn make_writer(&'a self) -> Self::Writer {
        Self
    }
}

impl Write for OpenLog {
    fn write(&mut self, lines: &[u8]) -> io::Result<usize> {
        // There is nowhere to report a failing log.
        if let Some(log) = LOG.get() {
            let _ = log.file.lock().unwrap_or_else(PoisonError::into_inner).append(lines);
        }
        Ok(lines.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One event as one line.
struct Line;

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut line: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        SystemTime.format_time(&mut line)?;
        let metadata = event.metadata();
        write!(line, " {:<5} {}: ", metadata.level().as_str(), place(metadata))?;
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            write!(line, "{}", span.name())?;
            let extensions = span.extensions();
            match extensions.get::<FormattedFields<N>>() {
                Some(fields) if !fields.is_empty() => write!(line, "{{{fields}}}: ")?,
                Some(_) | None => write!(line, ": ")?,
            }
        }
        context.field_format().format_fields(line.by_ref(), event)?;
        writeln!(line)
    }
}

/// `claude_ide_server::lock_file` becomes `server::lock_file`.
fn place<'a>(metadata: &'a Metadata<'_>) -> &'a str {
    let target = metadata.target();
    target.strip_prefix("claude_ide_").unwrap_or(target)
}
