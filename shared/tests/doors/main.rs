//! What a query may do, tried with a corpus of queries: all layers of the guard together, and each one switched off in turn.

mod corpus;
mod differential;
mod functions;
mod layers;
mod scene;
