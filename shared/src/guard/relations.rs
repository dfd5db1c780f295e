//! The tables that a query names, found in its syntax tree: each is of a source schema, or a CTE that is in scope there.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Cte, ObjectName, ObjectNamePart, Query, Statement, TableFactor, Value, ValueWithSpan, Visit, Visitor,
};

use super::lexeme::fold;
use super::{Refusal, SourceSchemas};

/// Refuses a query that reads other tables, and statements hidden inside it.
pub(super) fn check_relations(query: &Query, schemas: &SourceSchemas) -> Result<(), Refusal> {
    match query.visit(&mut RelationVisitor { schemas, scopes: Vec::new(), calls: false }) {
        ControlFlow::Break(refusal) => Err(*refusal),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// The CTEs of one query: those that may be named already, and those that still wait for their own text to be passed.
struct Scope {
    visible: Vec<String>,
    waiting: VecDeque<String>,
}

impl Scope {
    fn of(query: &Query) -> Self {
        let Some(with) = &query.with else { return Self { visible: Vec::new(), waiting: VecDeque::new() } };
        let names = || with.cte_tables.iter().map(|Cte { alias, .. }| fold(&alias.name.value, alias.name.quote_style));
        if with.recursive {
            Self { visible: names().collect(), waiting: VecDeque::new() }
        } else {
            Self { visible: Vec::new(), waiting: names().collect() }
        }
    }
}

/// Walks the tree in the order of writing. A query's first children are its CTEs, each visible once it has ended.
struct RelationVisitor<'a> {
    schemas: &'a SourceSchemas,
    scopes: Vec<Scope>,
    /// The relation that is visited next is the name of a called function.
    calls: bool,
}

impl RelationVisitor<'_> {
    fn read(&self, relation: &ObjectName) -> Result<(), Refusal> {
        let foreign = |schema| self.schemas.refuse(relation.to_string(), schema);
        let names: Vec<String> = relation.0.iter().map(folded).collect::<Option<_>>().ok_or_else(|| foreign(None))?;
        match names.as_slice() {
            [name] if self.scopes.iter().any(|scope| scope.visible.contains(name)) => Ok(()),
            [name] => Err(Refusal::UnqualifiedRelation {
                name: name.clone(),
                example: self.schemas.example().to_owned(),
                schemas: self.schemas.clone(),
            }),
            [schema, _] if self.schemas.allows(schema) => Ok(()),
            [schema, _] => Err(foreign(Some(schema))),
            [..] => Err(foreign(None)),
        }
    }
}

fn folded(part: &ObjectNamePart) -> Option<String> {
    let ident = part.as_ident()?;
    Some(fold(&ident.value, ident.quote_style))
}

fn flow(result: Result<(), Refusal>) -> ControlFlow<Box<Refusal>> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(refusal) => ControlFlow::Break(Box::new(refusal)),
    }
}

impl Visitor for RelationVisitor<'_> {
    type Break = Box<Refusal>;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Self::Break> {
        self.scopes.push(Scope::of(query));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<Self::Break> {
        self.scopes.pop();
        if let Some(parent) = self.scopes.last_mut() {
            parent.visible.extend(parent.waiting.pop_front());
        }
        ControlFlow::Continue(())
    }

    /// A statement inside the query can only be a data-modifying CTE.
    fn pre_visit_statement(&mut self, _: &Statement) -> ControlFlow<Self::Break> {
        flow(Err(Refusal::DataModification))
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Self::Break> {
        self.calls = matches!(factor, TableFactor::Table { args: Some(_), .. });
        let postgres = matches!(
            factor,
            TableFactor::Table { .. }
                | TableFactor::Derived { .. }
                | TableFactor::Function { .. }
                | TableFactor::UNNEST { .. }
                | TableFactor::JsonTable { .. }
                | TableFactor::XmlTable { .. }
                | TableFactor::NestedJoin { .. }
        );
        let strange = || Refusal::StrangeRelation { written: factor.to_string() };
        flow(if postgres { Ok(()) } else { Err(strange()) })
    }

    /// `:name` was found between the tokens; a colon that is left over has its name in quotes or apart.
    fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<Self::Break> {
        let colon = matches!(&value.value, Value::Placeholder(written) if written.starts_with(':'));
        let message = "a placeholder is written as :name, without spaces and quotes".to_owned();
        flow(if colon { Err(Refusal::Syntax { message }) } else { Ok(()) })
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<Self::Break> {
        let called = std::mem::take(&mut self.calls);
        flow(if called { Ok(()) } else { self.read(relation) })
    }
}
