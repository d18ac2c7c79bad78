//! The `OpenAPI` document, generated from the handlers and wire types.

use std::sync::OnceLock;

use serde::Serialize;
use utoipa::{
    Modify, OpenApi, PartialSchema, ToSchema,
    openapi::{
        Content, OpenApi as Document, Ref, RefOr, Response,
        path::{Operation, PathItem},
        schema::Schema,
        security::{Http, HttpAuthScheme, SecurityScheme},
    },
};

use standings_core::Board;

use crate::{
    problem::{Code, PROBLEM_JSON, Problem},
    routes::{
        boards, friends, history, import, keys, operations, players, read, seasons, snapshots,
        submit,
    },
    wire::{ExactnessReply, KeyReply, NamedReply, SpanReply},
};

/// A board: its id, its definition, and, where it is read, the current season.
#[derive(Serialize, ToSchema)]
#[schema(as = Board)]
pub(crate) struct BoardSchema<'a> {
    /// Matches `[a-z0-9][a-z0-9_-]{0,63}`.
    id: String,
    #[serde(flatten)]
    definition: Board,
    /// The season that contains the present.
    #[schema(nullable = false)]
    current_season: Option<SpanReply<'a>>,
    /// Players in the current season, of a board that is read alone.
    #[schema(nullable = false)]
    players: Option<u64>,
    #[serde(flatten)]
    exactness: ExactnessReply,
}

/// Boards by id.
#[derive(Serialize, ToSchema)]
pub(crate) struct BoardList<'a> {
    data: Vec<BoardSchema<'a>>,
    /// What `after` takes for the next page.
    #[schema(required)]
    next: Option<String>,
}

/// Players found by name.
#[derive(Serialize, ToSchema)]
pub(crate) struct NamedList<'a> {
    data: Vec<NamedReply<'a>>,
}

/// All keys by name.
#[derive(Serialize, ToSchema)]
pub(crate) struct KeyList<'a> {
    data: Vec<KeyReply<'a>>,
}

/// A refusal or failure.
#[derive(Serialize, ToSchema)]
struct ProblemSchema {
    /// Where the code is described, on this server.
    #[schema(example = "/docs#too_soon")]
    r#type: String,
    /// What the code means.
    title: String,
    status: u16,
    /// Tells a person what to do.
    detail: String,
    /// Stable, one per rule that was broken.
    code: String,
}

impl PartialSchema for Problem {
    fn schema() -> RefOr<Schema> {
        ProblemSchema::schema()
    }
}

impl ToSchema for Problem {}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Standings",
        description = "A real-time leaderboard server. Times are RFC 3339 in UTC; unknown fields and parameters are errors, except that the probes `/healthz` and `/readyz` take any parameter.",
    ),
    paths(
        submit::one, submit::batch, import::scores,
        read::page, read::entry, read::place, read::distribution, boards::remove_entry,
        boards::list, boards::get, boards::put, boards::delete,
        seasons::list, seasons::close, import::season,
        snapshots::list, snapshots::take, import::snapshot,
        players::find, players::get, players::put, players::erase, friends::get, friends::put,
        history::scores, history::seasons, history::snapshots,
        keys::list, keys::create, keys::delete,
        operations::backup, operations::healthz, operations::readyz, operations::metrics,
        operations::openapi, operations::docs,
    ),
    components(schemas(Problem)),
    modifiers(&Finish),
)]
struct Api;

/// What is the same everywhere: the key, the default board's routes, and problems.
struct Finish;

impl Modify for Finish {
    fn modify(&self, document: &mut Document) {
        add_default_board(document);
        for item in document.paths.paths.values_mut() {
            for operation in operations(item) {
                operation.responses.responses.insert("default".to_owned(), problem().into());
            }
        }
        let components = document.components.get_or_insert_default();
        let key = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        components.add_security_scheme("key", key);
        let codes = Code::ALL.iter().map(|code| {
            serde_json::json!({
                "code": code.name(), "status": code.status().as_u16(), "title": code.title(),
            })
        });
        let codes = serde_json::Value::Array(codes.collect());
        document.extensions.get_or_insert_default().insert("x-problem-codes".to_owned(), codes);
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [&mut item.get, &mut item.put, &mut item.post, &mut item.delete].into_iter().flatten()
}

fn problem() -> Response {
    let mut response = Response::new("A problem; `code` says which.");
    let content = Content::new(Some(Ref::from_schema_name("Problem")));
    response.content.insert(PROBLEM_JSON.to_owned(), content.into());
    response
}

/// `/v1/scores…` and `/v1/distribution` are the same calls on the default board.
fn add_default_board(document: &mut Document) {
    for path in ["/scores", "/scores/{user_id}", "/scores/at/{score}", "/distribution"] {
        let Some(item) = document.paths.paths.get(&format!("/v1/boards/{{board}}{path}")) else {
            continue;
        };
        let mut item = item.clone();
        (item.put, item.delete) = (None, None);
        for operation in operations(&mut item) {
            if let Some(parameters) = &mut operation.parameters {
                parameters
                    .retain(|parameter| !matches!(parameter, RefOr::T(p) if p.name == "board"));
            }
            if let Some(id) = &mut operation.operation_id {
                id.push_str("_default");
            }
            if let Some(summary) = &mut operation.summary {
                summary.push_str(" (default board)");
            }
        }
        document.paths.paths.insert(format!("/v1{path}"), item);
    }
}

/// The document as JSON. It never changes while the process runs.
pub fn document() -> &'static str {
    static DOCUMENT: OnceLock<String> = OnceLock::new();
    DOCUMENT.get_or_init(|| {
        let mut document = serde_json::to_value(Api::openapi()).unwrap_or_default();
        join_choices(&mut document);
        serde_json::to_string_pretty(&document).unwrap_or_default()
    })
}

/// A field that is one of several words, with a description or a default, is written by the generator as all of "a word of
/// these" and "an object with this description", which nothing can be. Here it becomes one schema.
fn join_choices(value: &mut serde_json::Value) {
    if let Some(parts) = value.get("allOf").and_then(serde_json::Value::as_array)
        && let [serde_json::Value::Object(choice), serde_json::Value::Object(rest)] = &parts[..]
        && choice.contains_key("enum")
    {
        let rest = rest.iter().filter(|(key, _)| *key != "type");
        let joined = choice.iter().chain(rest).map(|(key, part)| (key.clone(), part.clone()));
        *value = serde_json::Value::Object(joined.collect());
    }
    match value {
        serde_json::Value::Object(members) => members.values_mut().for_each(join_choices),
        serde_json::Value::Array(items) => items.iter_mut().for_each(join_choices),
        _ => {}
    }
}
