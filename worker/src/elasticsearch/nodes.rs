//! The nodes of a cluster, which take turns. One that did not answer rests for a while, as long as others do.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use crate::mutex::unpoisoned;

/// How long a node that did not answer is left alone.
const REST: Duration = Duration::from_secs(30);

/// Things that are in turn, for instance a transport to each node.
#[derive(Debug)]
pub struct Nodes<T> {
    nodes: Vec<Node<T>>,
    turn: AtomicUsize,
}

#[derive(Debug)]
pub struct Node<T> {
    pub transport: T,
    rests_until: Mutex<Option<Instant>>,
}

impl<T> Nodes<T> {
    /// These take turns; none where there are none.
    pub fn new(transports: Vec<T>) -> Option<Self> {
        let node = |transport| Node { transport, rests_until: Mutex::new(None) };
        let nodes: Vec<_> = transports.into_iter().map(node).collect();
        (!nodes.is_empty()).then(|| Self { nodes, turn: AtomicUsize::new(0) })
    }

    /// Whose turn it is: the next one that does not rest, or the next one where all do.
    pub fn next(&self) -> &Node<T> {
        let nodes = &self.nodes;
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % nodes.len();
        let in_turn = nodes[turn..].iter().chain(&nodes[..turn]);
        in_turn.clone().find(|node| !node.rests()).unwrap_or(&nodes[turn])
    }
}

impl<T> Node<T> {
    pub fn lost(&self) {
        self.set(Some(Instant::now() + REST));
    }

    pub fn answered(&self) {
        self.set(None);
    }

    fn set(&self, until: Option<Instant>) {
        *unpoisoned(&self.rests_until) = until;
    }

    fn rests(&self) -> bool {
        unpoisoned(&self.rests_until).is_some_and(|until| Instant::now() < until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(nodes: &Nodes<char>) -> String {
        (0..4).map(|_| nodes.next().transport).collect()
    }

    #[test]
    fn nodes_take_turns_and_those_that_were_lost_rest() {
        let nodes = Nodes::new(vec!['a', 'b']).expect("two nodes");
        assert_eq!(turns(&nodes), "abab");
        nodes.next().lost();
        assert_eq!(turns(&nodes), "bbbb");
        nodes.next().lost();
        assert_eq!(turns(&nodes).matches('a').count(), 2, "where all rest, all are tried");
        nodes.nodes[0].answered();
        assert_eq!(turns(&nodes), "aaaa");
    }

    #[test]
    fn nobody_takes_no_turns() {
        assert!(Nodes::<char>::new(Vec::new()).is_none());
    }
}
