//! Rows of a standing as a table.

use serde_json::Value;

use super::output::{Column, table, text};

/// Rows of a standing as a table.
pub(crate) fn standing(rows: &[Value]) -> String {
    let columns = [
        Column::Right("RANK"),
        Column::Left("USER"),
        Column::Left("NAME"),
        Column::Right("SCORE"),
        Column::Left("AT"),
        Column::Left("SUCCESS"),
    ];
    let row = |row: &Value| {
        let [rank, user, name, score, at] =
            ["rank", "user_id", "user_name", "score", "at"].map(|member| text(row, member));
        // An estimated rank is never to be mistaken for an exact one.
        let rank = if row["estimated"] == true { format!("~{rank}") } else { rank };
        let success = match row["success"].as_bool() {
            None => "",
            Some(true) => "yes",
            Some(false) => "no",
        };
        vec![rank, user, name, score, at, success.to_owned()]
    };
    table(&columns, &rows.iter().map(row).collect::<Vec<_>>())
}
