//! The SQL of a page: read, upsert and report in one statement, so that no row leaves the server.
//!
//! It is chosen where the source's pages are SQL of the home database and no step changes the rows (`plan`). A page's statement
//! returns `(rows_read, rows_written, last, more)`. It executes with the rights to write marts, and the user's query
//! within it with the rights to read sources (`source::home`). Both get the parameters of `source::home::PageSql`.

use super::PostgresSink;
use crate::source::home::{PageSql, TOTAL};

pub fn statement(source: PageSql<'_>, sink: &PostgresSink) -> String {
    // Rows that are gathered count as written when they change the mart.
    let counted = if sink.gathers() { "select 0::bigint" } else { "select count(*) from written" };
    // Where every row was written, `on conflict` has seen to it that no key came twice.
    let written = match source.fail_on_repeated_key() {
        Some(fail) => {
            format!("tally.rows + case when tally.rows < total.rows then coalesce(({fail}), 0) else 0 end")
        }
        None => "tally.rows".to_owned(),
    };
    format!(
        "with page as materialized ({rows}), {TOTAL},
        written as ({write}),
        tally (rows) as ({counted})
        select total.rows, {written}, ({last}), ({more})
        from total, tally",
        rows = source.read_confined(&source.rows(), source.walk().reader.columns.iter()),
        write = sink.insert(&source.newest(&sink.mart.names())),
        last = source.last(),
        more = source.more(),
    )
}
