//! Rows of a standing as a table.

use serde_json::Value;

use super::output::{Column, table, text, yes_no};

/// Columns that only some standings have, with the member that fills them.
const OPTIONAL: [(&str, &str); 2] = [("ON BOARD", "board_rank"), ("OFFICIAL", "official_rank")];

/// Rows of an answer as a table. Among friends, RANK is the rank among them.
pub(crate) fn standing(answer: &Value, rows: &[Value]) -> String {
    let optional: Vec<_> = OPTIONAL
        .into_iter()
        .filter(|(_, member)| rows.iter().any(|row| !row[*member].is_null()))
        .collect();
    let mut columns = vec![Column::Right("RANK")];
    columns.extend(optional.iter().map(|(heading, _)| Column::Right(heading)));
    columns.extend([
        Column::Left("USER"),
        Column::Left("NAME"),
        Column::Right("SCORE"),
        Column::Left("AT"),
        Column::Left("SUCCESS"),
    ]);
    let row = |row: &Value| {
        let mut cells = vec![rank(answer, row)];
        cells.extend(optional.iter().map(|(_, member)| text(row, member)));
        cells.extend(["user_id", "user_name", "score", "at"].map(|member| text(row, member)));
        cells.push(yes_no(row, "success"));
        cells
    };
    table(&columns, &rows.iter().map(row).collect::<Vec<_>>())
}

/// The rank of a row of an answer. An estimated one is never to be mistaken for an exact one.
pub(crate) fn rank(answer: &Value, row: &Value) -> String {
    let rank = text(row, "rank");
    if answer["estimated"] == true { format!("~{rank}") } else { rank }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ranks_of_an_answer_that_is_estimated_say_so() {
        let row = json!({"rank": 17});
        assert_eq!(rank(&json!({"estimated": true, "error_bound": 9}), &row), "~17");
        assert_eq!(rank(&json!({}), &row), "17");
    }
}
