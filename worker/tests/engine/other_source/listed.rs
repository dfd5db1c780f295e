//! A source whose rows are a list in memory.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use futures_util::{StreamExt, stream};
use sqlx::PgConnection;
use vitrina_shared::{
    domain::{ErrorClass, PipelineDraft, Position, RunId},
    guard::{Describing, SourceSchemas},
    validation::{self, Described},
};
use vitrina_worker::{
    BatchError,
    row_id::id_of_row,
    source::{
        Bound, Item, PageEnd, PageQuery, PageStream, Reading, RowStream, RowsQuery, Scope, Source, SourceRow, Walk,
        Wanted, WorkHandle,
    },
};

/// What its rows look like, for the home server to describe.
pub const COLUMNS: &str = "select 1::bigint as id, ''::text as name, 1::bigint as version";
/// Rows in a block.
const BLOCK: usize = 3;

/// The rows by id: name and version.
type Rows = BTreeMap<i64, (String, i64)>;

/// The source of pipelines whose names begin with `listed`.
#[derive(Debug, Clone)]
pub struct Listed {
    describing: Describing,
    rows: Arc<Mutex<Rows>>,
    /// Pages that fail before one succeeds.
    failures: Arc<Mutex<u32>>,
    /// Whether it reads pages and nothing else.
    pub pages_only: bool,
}

impl Listed {
    pub fn new(describing: Describing) -> Self {
        Self { describing, rows: Arc::default(), failures: Arc::default(), pages_only: false }
    }

    pub fn put(&self, id: i64, name: &str, version: i64) {
        self.rows.lock().unwrap().insert(id, (name.to_owned(), version));
    }

    pub fn remove(&self, id: i64) {
        self.rows.lock().unwrap().remove(&id);
    }

    pub fn fail(&self, pages: u32) {
        *self.failures.lock().unwrap() = pages;
    }

    /// All rows as a query of the home server.
    pub fn as_query(&self) -> String {
        let rows = self.rows.lock().unwrap();
        let rows: Vec<_> = rows.iter().map(|(id, (name, version))| format!("({id}, '{name}', {version})")).collect();
        format!("select * from (values {}) as listed (id, name, version)", rows.join(", "))
    }
}

#[async_trait]
impl Source for Listed {
    fn kind(&self) -> &'static str {
        "listed"
    }

    fn reads(&self, draft: &PipelineDraft) -> bool {
        draft.name.starts_with("listed")
    }

    async fn describe(&self, draft: &PipelineDraft) -> Result<Described, BatchError> {
        Ok(validation::describe(&self.describing, draft, &SourceSchemas::new(["content"])).await?)
    }

    fn open(&self, walk: Walk) -> Arc<dyn Reading> {
        let reading = ListedReading { source: self.clone(), walk };
        if self.pages_only { Arc::new(PagesOnly(reading)) } else { Arc::new(reading) }
    }
}

/// The least that a source must do.
#[derive(Debug)]
struct PagesOnly(ListedReading);

#[async_trait]
impl Reading for PagesOnly {
    fn walk(&self) -> &Walk {
        self.0.walk()
    }

    fn page(&self, work: WorkHandle, page: PageQuery) -> PageStream {
        self.0.page(work, page)
    }

    async fn greatest_key(&self, home: &mut PgConnection, run: RunId) -> Result<Option<String>, BatchError> {
        self.0.greatest_key(home, run).await
    }
}

#[derive(Debug)]
struct ListedReading {
    source: Listed,
    walk: Walk,
}

#[async_trait]
impl Reading for ListedReading {
    fn walk(&self) -> &Walk {
        &self.walk
    }

    fn page(&self, _: WorkHandle, page: PageQuery) -> PageStream {
        let mut failures = self.source.failures.lock().unwrap();
        if *failures > 0 {
            *failures -= 1;
            let error = BatchError::Failed { class: ErrorClass::Transient, message: "the list is away".to_owned() };
            return stream::iter([Err(error)]).boxed();
        }
        let items = self.items(&page);
        let mut blocks: Vec<Vec<Item>> = Vec::new();
        for item in items {
            match blocks.last_mut().filter(|block| block.len() < BLOCK) {
                Some(block) => block.push(item),
                None => blocks.push(vec![item]),
            }
        }
        stream::iter(blocks.into_iter().map(Ok)).boxed()
    }

    async fn greatest_key(&self, _: &mut PgConnection, _: RunId) -> Result<Option<String>, BatchError> {
        let greatest = self.source.rows.lock().unwrap().values().map(|(_, version)| *version).max();
        Ok(greatest.map(|version| version.to_string()))
    }

    fn rows<'a>(&'a self, _: &'a mut PgConnection, query: RowsQuery) -> RowStream<'a> {
        let rows = self.source.rows.lock().unwrap();
        let mut found: Vec<_> = rows
            .iter()
            .filter_map(|(id, (name, version))| {
                Some((place_of(*id, &query.wanted)?, self.place(*id, *version), *id, name, *version))
            })
            .collect();
        found.sort();
        if let Wanted::First(most) = query.wanted {
            found.truncate(most as usize);
        }
        let row = |(place, _, id, name, version): (usize, _, i64, &String, i64)| {
            let doc = document(id, name, version);
            let (key, bytes) = (vec![Some(id.to_string())], doc.len() as i64);
            let settled = is_settled((version, id), &query.scope);
            Ok(SourceRow { place, key, settled, doc: query.bodies.then_some(doc), bytes })
        };
        stream::iter(found.into_iter().map(row).collect::<Vec<_>>()).boxed()
    }
}

/// Which of the wanted rows the one with this id is.
fn place_of(id: i64, wanted: &Wanted) -> Option<usize> {
    match wanted {
        Wanted::All { .. } | Wanted::First(_) => Some(0),
        Wanted::Ids(ids) => ids.iter().position(|wanted| *wanted == id_of_row(&[Some(id.to_string())])),
        Wanted::Keys(keys) => {
            keys.iter().position(|key| key["id"].as_ref().is_some_and(|sought| sought.get() == id.to_string()))
        }
    }
}

fn is_settled(place: (i64, i64), scope: &Scope) -> bool {
    let number = |text: &String| text.parse::<i64>().unwrap();
    match scope {
        Scope::Everything => true,
        Scope::Nothing => false,
        Scope::UpTo { checkpoint, .. } => {
            place <= (number(&checkpoint.key), checkpoint.id.as_ref().map_or(i64::MAX, number))
        }
    }
}

fn document(id: i64, name: &str, version: i64) -> String {
    format!(r#"{{"id":{id},"name":"{name}","version":{version}}}"#)
}

impl ListedReading {
    /// The rows of the page and its end.
    fn items(&self, page: &PageQuery) -> Vec<Item> {
        let rows = self.source.rows.lock().unwrap();
        let mut found: Vec<_> = rows
            .iter()
            .map(|(id, (name, version))| (self.place(*id, *version), *id, name, *version))
            .filter(|(place, ..)| is_after(place, page.after.as_ref()))
            .filter(|(_, _, _, version)| self.is_below(*version, page.upper.as_deref()))
            .collect();
        found.sort();
        found.truncate(self.walk.page_size as usize);
        let rows_read = found.len() as i64;
        let last =
            found.last().map(|(place, ..)| Position(place.iter().map(|value| Some(value.to_string())).collect()));
        let end = PageEnd { rows_read, last, more: Some(rows_read >= self.walk.page_size) };
        let rows = found.into_iter().map(|(_, id, name, version)| Item::Row {
            key: vec![Some(id.to_string())],
            doc: document(id, name, version),
            too_long: None,
        });
        rows.chain([Item::End(end)]).collect()
    }

    /// The values of the columns that the run walks by.
    fn place(&self, id: i64, version: i64) -> Vec<i64> {
        let value = |name: &str| if name == "id" { id } else { version };
        self.walk.columns.iter().map(|column| value(&column.name)).collect()
    }

    fn is_below(&self, version: i64, upper: Option<&str>) -> bool {
        self.walk.bound == Bound::None || upper.is_some_and(|upper| version <= upper.parse().unwrap())
    }
}

/// Without an id a page begins with the key.
fn is_after(place: &[i64], after: Option<&Position>) -> bool {
    let Some(Position(after)) = after else { return true };
    match after.iter().map(|value| value.as_deref().map(|value| value.parse().unwrap())).collect::<Vec<Option<i64>>>()[..]
    {
        [Some(key), None] => place[0] >= key,
        [Some(key), Some(id)] => place > [key, id].as_slice(),
        [Some(key)] => place > [key].as_slice(),
        _ => panic!("no place of a walk: {after:?}"),
    }
}
