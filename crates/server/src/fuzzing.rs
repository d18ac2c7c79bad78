//! Arbitrary bytes into what reads requests: for fuzzers, and for tests that do the same in short.

use httparse::{EMPTY_HEADER, Status};
use standings_core::{BoardId, rule::Submission};

use crate::{
    app::DEFAULT_BOARD,
    extract::{Params, parse_json},
    hot::head::{Head, What},
    routes::read::page_query,
    wire::{Object, SubmissionBody},
};

/// Reads bytes as the head of a request, as a submission and as a query. Nothing of it may panic; a request that is
/// answered without the router must mean to it what it means to HTTP.
pub fn request(bytes: &[u8]) {
    if let Some(head) = Head::read(bytes) {
        is_what_http_says(bytes, &head);
        query(head.query);
    }
    if let Ok(Object(body)) = parse_json::<Object<SubmissionBody>>(bytes) {
        let submission = Submission::from(body);
        assert!(!submission.player.is_empty() && submission.player.len() <= 128);
    }
    query(std::str::from_utf8(bytes).ok());
}

fn query(text: Option<&str>) {
    let board = BoardId::new(DEFAULT_BOARD).expect("the default board has a valid id");
    if let Ok(mut params) = Params::parse(text) {
        let _ = page_query(&board, &mut params);
        let _ = params.finish("anything");
    }
}

/// Compares a head with what a reader of HTTP that knows nothing of scores makes of the same bytes.
fn is_what_http_says(bytes: &[u8], head: &Head<'_>) {
    let mut headers = [EMPTY_HEADER; 100];
    let mut request = httparse::Request::new(&mut headers);
    let Ok(Status::Complete(length)) = request.parse(bytes) else {
        panic!("answered without being a request")
    };
    assert_eq!((length, request.version), (head.bytes, Some(1)));
    let method = if head.what == What::Submit { "POST" } else { "GET" };
    assert_eq!(request.method, Some(method));
    let board = head.board.map_or(String::new(), |board| format!("boards/{board}/"));
    let player = match head.what {
        What::Entry(player) => format!("/{player}"),
        What::Page | What::Submit => String::new(),
    };
    let query = head.query.map_or(String::new(), |query| format!("?{query}"));
    assert_eq!(request.path, Some(format!("/v1/{board}scores{player}{query}").as_str()));
    let all = |name: &str| {
        let headers = request.headers.iter().filter(move |h| h.name.eq_ignore_ascii_case(name));
        headers.map(|header| header.value).collect::<Vec<_>>()
    };
    // Where two readers disagree on where a request ends, the next one is smuggled.
    assert!(all("transfer-encoding").is_empty() && all("upgrade").is_empty());
    match all("content-length")[..] {
        [] => assert_eq!(head.body_bytes, 0),
        [length] => {
            let length = std::str::from_utf8(length).ok().and_then(|text| text.parse().ok());
            assert_eq!(length, Some(head.body_bytes));
        }
        _ => panic!("two lengths"),
    }
    assert_eq!(all("authorization").first().copied(), head.authorization);
    assert_eq!(all("content-type").first().copied(), head.content_type);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Changes of each byte, and each length.
    #[test]
    fn no_bytes_make_the_request_reader_panic_or_differ_from_http() {
        let mut tried = 0;
        let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/request");
        for seed in std::fs::read_dir(corpus).unwrap() {
            let seed = std::fs::read(seed.unwrap().path()).unwrap();
            request(&seed);
            for at in 0..seed.len() {
                request(&seed[..at]);
                for byte in 0..=255 {
                    let mut changed = seed.clone();
                    changed[at] = byte;
                    request(&changed);
                }
                tried += 257;
            }
        }
        assert!(tried > 100_000, "the corpus is too small: {tried}");
    }
}
