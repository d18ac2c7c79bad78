//! Submitting scores.

use serde_json::value::RawValue;
use standings_core::{limits::BATCH_ROWS, rule::Submission};

use crate::{
    call::{Call, Media},
    json::{Object, parse_item, parse_json, without_mark},
    problem::{Code, Problem},
    reply::{Answer, json_sized},
    wire::{BatchReply, ItemReply, ReceiptReply, SubmissionBody},
};

/// Submit one score.
///
/// When the receipt is sent the score is durable.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/scores",
    operation_id = "submit",
    tag = "Scores",
    params(("board" = String, Path)),
    request_body = SubmissionBody,
    responses((status = 200, description = "The receipt.", body = ReceiptReply)),
    security(("key" = ["game"])),
)]
pub(crate) async fn one(call: Call<'_>) -> Answer {
    let (board, engine) = (call.board()?, call.engine()?);
    call.no_query()?;
    let body: SubmissionBody = call.json().await?;
    match engine.submit(&board, vec![body.into()]).await?.pop() {
        Some(Ok(receipt)) => json_sized(RECEIPT_BYTES, &ReceiptReply::new(&board, &receipt)),
        Some(Err(refused)) => Err(refused.into()),
        None => Err(lost_result()),
    }
}

/// Submit up to 10,000 scores.
///
/// Each stands alone: one that is malformed or rejected does not fail the others. A JSON array, or NDJSON.
#[utoipa::path(
    post,
    path = "/v1/boards/{board}/scores/batch",
    operation_id = "submit_batch",
    tag = "Scores",
    params(("board" = String, Path)),
    request_body(content(
        (Vec<SubmissionBody> = "application/json"),
        (SubmissionBody = "application/x-ndjson"),
    )),
    responses((status = 200, description = "A receipt or a problem for each, in order.", body = BatchReply)),
    security(("key" = ["game"])),
)]
pub(crate) async fn batch(call: Call<'_>) -> Answer {
    let (app, board) = (call.app, call.board()?);
    call.no_query()?;
    let media = Media::of(call.headers, Media::Json, &[Media::Json, Media::Ndjson])?;
    let bytes = call.bytes().await?;
    let items = match media {
        Media::Json => array(&bytes)?,
        Media::Ndjson => lines(&bytes),
    };
    if items.len() > BATCH_ROWS {
        let detail = format!("a batch may have up to {BATCH_ROWS} submissions; send several");
        return Err(Problem::new(Code::BatchTooLarge, detail));
    }
    // What cannot be parsed keeps its place; the engine gets the rest in order, and its results fill the gaps.
    let total = items.len();
    let mut submissions = Vec::with_capacity(total);
    let malformed: Vec<Option<Problem>> =
        items.into_iter().map(|item| item.map(|item| submissions.push(item)).err()).collect();
    let results = app.engine()?.submit(&board, submissions).await?;
    let results: Vec<Result<_, Problem>> =
        results.into_iter().map(|result| result.map_err(Problem::from)).collect();
    let mut decided = results.iter();
    let mut reply = BatchReply { results: Vec::with_capacity(total), accepted: 0, rejected: 0 };
    for problem in malformed {
        let item = match problem {
            Some(problem) => ItemReply::Problem(problem),
            None => match decided.next().ok_or_else(lost_result)? {
                Ok(receipt) => ItemReply::Receipt(ReceiptReply::new(&board, receipt)),
                Err(problem) => ItemReply::Problem(problem.clone()),
            },
        };
        match &item {
            ItemReply::Receipt(_) => reply.accepted += 1,
            ItemReply::Problem(problem) => {
                app.metrics.refused(problem.code());
                reply.rejected += 1;
            }
        }
        reply.results.push(item);
    }
    json_sized(64 + total * RECEIPT_BYTES, &reply)
}

/// About what one receipt takes.
const RECEIPT_BYTES: usize = 224;

type Item = Result<Submission, Problem>;

/// The items of an array. Only where one does not parse are they taken apart and parsed one by one.
fn array(bytes: &[u8]) -> Result<Vec<Item>, Problem> {
    if let Ok(all) = serde_json::from_slice::<Vec<Object<SubmissionBody>>>(bytes) {
        return Ok(all.into_iter().map(|Object(item)| Ok(item.into())).collect());
    }
    let raw: Vec<&RawValue> = parse_json(bytes)?;
    Ok(raw.into_iter().map(|item| submission(item.get().as_bytes())).collect())
}

/// The items of NDJSON; blank lines are none.
fn lines(bytes: &[u8]) -> Vec<Item> {
    let lines = without_mark(bytes).split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    lines.filter(|line| !line.is_empty()).map(submission).collect()
}

fn submission(bytes: &[u8]) -> Item {
    parse_item::<Object<SubmissionBody>>(bytes).map(|Object(item)| item.into())
}

fn lost_result() -> Problem {
    Problem::new(
        Code::OutcomeUnknown,
        "the write may have been applied; send it again with the same event_id",
    )
    .caused_by("the engine gave fewer results than it took submissions")
    .retry_after(std::time::Duration::from_secs(1))
}
