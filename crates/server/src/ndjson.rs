//! A body of one JSON text a line, read as it comes, with bounded memory.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use serde::de::DeserializeOwned;
use standings_engine::ScoreRow;

use crate::{
    call::{Call, Incoming, Media, in_time, next_data},
    json::{Object, parse_item, without_mark},
    problem::{Code, Problem},
};

/// The longest line. A row has an id, two numbers and a name: less than 1 KiB even with every character escaped.
const LINE_BYTES: usize = 64 * 1024;

/// Rows that go to the engine at a time: large enough to share a flush, small enough to hold two of in memory.
const CHUNK_ROWS: usize = 4096;

/// The rows of an import, as they arrive.
pub(crate) struct Rows<'a> {
    body: Incoming<'a>,
    /// How long the body may stand still.
    patience: Duration,
    /// What has arrived and not been read.
    buffer: BytesMut,
    ended: bool,
    /// The number of the line read last.
    line: u64,
}

impl<'a> Rows<'a> {
    pub(crate) fn of(call: Call<'a>) -> Result<Self, Problem> {
        Media::of(call.headers, Media::Ndjson, &[Media::Ndjson])?;
        let (body, patience) = (call.body, call.app.options.body_timeout);
        Ok(Self { body, patience, buffer: BytesMut::new(), ended: false, line: 0 })
    }

    /// The next rows, each written as a `T`; none at the end. An error comes after the rows before it were given out.
    pub(crate) async fn chunk<T>(&mut self) -> (Vec<ScoreRow>, Option<Problem>)
    where
        T: DeserializeOwned + Into<ScoreRow>,
    {
        let mut rows = Vec::new();
        while rows.len() < CHUNK_ROWS {
            let line = match self.next_line().await {
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(problem) => return (rows, Some(self.at_line(problem))),
            };
            let text = if self.line == 1 { without_mark(&line) } else { &line };
            if text.trim_ascii().is_empty() {
                continue;
            }
            match parse_item::<Object<T>>(text) {
                Ok(Object(row)) => rows.push(row.into()),
                Err(problem) => return (rows, Some(self.at_line(problem))),
            }
        }
        (rows, None)
    }

    fn at_line(&self, problem: Problem) -> Problem {
        problem.within(format_args!("line {}", self.line))
    }

    async fn next_line(&mut self) -> Result<Option<Bytes>, Problem> {
        let mut searched = 0;
        loop {
            if let Some(end) = self.buffer[searched..].iter().position(|&b| b == b'\n') {
                self.line += 1;
                return Ok(Some(self.buffer.split_to(searched + end + 1).freeze()));
            }
            searched = self.buffer.len();
            if self.ended {
                self.line += u64::from(searched > 0);
                return Ok((searched > 0).then(|| self.buffer.split().freeze()));
            }
            if searched > LINE_BYTES {
                self.line += 1;
                let detail = format!("a line may have up to {LINE_BYTES} bytes");
                return Err(Problem::new(Code::BodyTooLarge, detail));
            }
            match in_time(self.patience, next_data(&mut self.body)).await? {
                Some(data) => self.buffer.extend_from_slice(&data),
                None => self.ended = true,
            }
        }
    }
}
