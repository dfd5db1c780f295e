//! What a process prints becomes lines of this worker's log, with the fields of the run that the step works for.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader},
    sync::watch,
    time::timeout,
};
use tracing::Span;

use crate::mutex::unpoisoned;

/// How much of a line is kept, and how many lines of a block.
const LONGEST_LINE: u64 = 8 * 1024;
const MOST_LINES: u32 = 200;
/// How long the last lines of a block are waited for.
const LAST_LINES: Duration = Duration::from_secs(1);
const MARK: char = '\u{1e}';

#[derive(Debug)]
pub struct Output {
    block: Arc<Mutex<CurrentBlock>>,
    ended: watch::Receiver<u64>,
}

/// What the process is at work on.
#[derive(Debug)]
struct CurrentBlock {
    step: String,
    span: Span,
    lines: u32,
}

impl Output {
    /// Reads what a process prints until it is gone. `token` marks the lines of its own.
    pub fn follow(printed: impl AsyncRead + Unpin + Send + 'static, token: String) -> Self {
        let block = CurrentBlock { step: String::new(), span: Span::current(), lines: 0 };
        let block = Arc::new(Mutex::new(block));
        let (tell, ended) = watch::channel(0);
        let of = block.clone();
        tokio::spawn(async move {
            let mut printed = BufReader::new(printed);
            let mark = format!("{MARK}{token}");
            while let Some(line) = next_line(&mut printed).await {
                match parse(&line, &mark) {
                    Line::Ended(id) => drop(tell.send(id)),
                    Line::Said { level, text } => log(&of, level, &text),
                }
            }
        });
        Self { block, ended }
    }

    /// Says for which step lines are from now on, and for the run of the current span.
    pub fn begin(&self, step: &str) {
        *unpoisoned(&self.block) = CurrentBlock { step: step.to_owned(), span: Span::current(), lines: 0 };
    }

    /// Waits until the lines of a block that has ended were read.
    pub async fn wait_for(&mut self, block: u64) {
        let _late = timeout(LAST_LINES, self.ended.wait_for(|ended| *ended >= block)).await;
    }
}

async fn next_line(printed: &mut (impl AsyncBufReadExt + Unpin)) -> Option<String> {
    let mut line = Vec::new();
    let read = (&mut *printed).take(LONGEST_LINE).read_until(b'\n', &mut line).await.ok()?;
    (read > 0).then(|| String::from_utf8_lossy(&line).trim_end().to_owned())
}

#[derive(Debug, PartialEq)]
enum Line {
    Ended(u64),
    Said { level: Level, text: String },
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

/// What a step has printed without ending the line may stand before the mark.
fn parse(line: &str, mark: &str) -> Line {
    let printed = || Line::Said { level: Level::Info, text: line.to_owned() };
    let Some((_, marked)) = line.split_once(mark) else { return printed() };
    let Some((kind, text)) = marked.split_once('\u{1f}') else { return printed() };
    let level = match kind {
        "end" => return text.parse().map_or_else(|_| printed(), Line::Ended),
        "debug" => Level::Debug,
        "warning" => Level::Warn,
        "error" | "critical" => Level::Error,
        _ => Level::Info,
    };
    Line::Said { level, text: text.replace("\\n", "\n").replace("\\\\", "\\") }
}

fn log(block: &Mutex<CurrentBlock>, level: Level, text: &str) {
    let (span, step) = {
        let mut block = unpoisoned(block);
        block.lines += 1;
        if block.lines > MOST_LINES {
            if block.lines == MOST_LINES + 1 {
                let step = &block.step;
                block
                    .span
                    .in_scope(|| tracing::warn!(step, most = MOST_LINES, "further lines of the block are left out"));
            }
            return;
        }
        (block.span.clone(), block.step.clone())
    };
    if text.is_empty() {
        return;
    }
    span.in_scope(|| match level {
        Level::Debug => tracing::debug!(step, line = text, "python"),
        Level::Info => tracing::info!(step, line = text, "python"),
        Level::Warn => tracing::warn!(step, line = text, "python"),
        Level::Error => tracing::error!(step, line = text, "python"),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(level: Level, text: &str) -> Line {
        Line::Said { level, text: text.to_owned() }
    }

    #[test]
    fn lines_of_the_process_are_told_from_what_a_step_prints() {
        let mark = "\u{1e}token";
        assert_eq!(parse("\u{1e}tokenend\u{1f}7", mark), Line::Ended(7));
        assert_eq!(parse("no line end\u{1e}tokenend\u{1f}7", mark), Line::Ended(7));
        assert_eq!(parse("\u{1e}tokenwarning\u{1f}a\\nb", mark), said(Level::Warn, "a\nb"));
        for printed in ["plain", "\u{1e}otherend\u{1f}7", "\u{1e}tokenend\u{1f}x"] {
            assert_eq!(parse(printed, mark), said(Level::Info, printed));
        }
    }
}
