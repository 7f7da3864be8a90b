//! How often each code of a dictionary occurs in a window, with sums and maxima over ranges of codes.
//!
//! ```text
//!                  7·4                    sum · maximum of the two below
//!            5·4         2·1
//!          1     4     1     1            the counts of codes 0 to 3
//! ```

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A complete binary tree over the counts of codes; its root is node 1, the children of node `n`
/// are `2n` and `2n + 1`.
pub(super) struct CodeCounts {
    /// Where the counts themselves begin.
    leaves: usize,
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Default)]
struct Node {
    sum: u32,
    most: u32,
}

impl CodeCounts {
    /// Counts of 0 for a number of codes.
    pub(super) fn new(codes: usize) -> Self {
        let leaves = codes.next_power_of_two();
        Self {
            leaves,
            nodes: vec![Node::default(); 2 * leaves],
        }
    }

    fn node(&self, position: usize) -> Node {
        self.nodes.get(position).copied().unwrap_or_default()
    }

    /// The number of all rows.
    pub(super) fn total(&self) -> u32 {
        self.node(1).sum
    }

    /// Adds a row with a code.
    pub(super) fn insert(&mut self, code: u32) {
        self.change(code, |count| count + 1);
    }

    /// Removes a row with a code.
    pub(super) fn evict(&mut self, code: u32) {
        self.change(code, |count| count - 1);
    }

    fn change(&mut self, code: u32, change: impl Fn(u32) -> u32) {
        let mut position = self.leaves + code as usize;
        if let Some(leaf) = self.nodes.get_mut(position) {
            let count = change(leaf.sum);
            *leaf = Node {
                sum: count,
                most: count,
            };
        }
        while position > 1 {
            position /= 2;
            let (left, right) = (self.node(2 * position), self.node(2 * position + 1));
            if let Some(node) = self.nodes.get_mut(position) {
                *node = Node {
                    sum: left.sum + right.sum,
                    most: left.most.max(right.most),
                };
            }
        }
    }

    /// The code of the row at a place in the order of codes; the last code for a place beyond all rows.
    pub(super) fn nth(&self, place: u32) -> u32 {
        let mut rest = place;
        self.descend(|left, _| {
            let is_right = rest >= left.sum;
            rest -= if is_right { left.sum } else { 0 };
            is_right
        })
    }

    /// The least of the codes with the most rows.
    pub(super) fn most_frequent(&self) -> u32 {
        self.descend(|left, right| right.most > left.most)
    }

    /// The most frequent codes with their numbers of rows: the most frequent first, and the smaller
    /// code first where numbers are equal.
    pub(super) fn top(&self, k: usize) -> Vec<(u32, u32)> {
        let (mut top, mut open) = (Vec::new(), BinaryHeap::new());
        open.push((self.node(1).most, Reverse(0), 1));
        while let (true, Some((most, Reverse(first), position))) = (top.len() < k, open.pop()) {
            if most == 0 {
                break;
            }
            if position >= self.leaves {
                top.push((first, most));
                continue;
            }
            let codes = self.codes_below(position) / 2;
            let (left, right) = (2 * position, 2 * position + 1);
            open.push((self.node(left).most, Reverse(first), left));
            open.push((self.node(right).most, Reverse(first + codes), right));
        }
        top
    }

    /// The codes that have rows, ascending, and how many each has.
    pub(super) fn ascending(&self) -> Vec<(u32, u32)> {
        let (mut found, mut open) = (Vec::new(), vec![1]);
        while let Some(position) = open.pop() {
            let count = self.node(position).sum;
            if count == 0 {
                continue;
            }
            if position >= self.leaves {
                found.push(((position - self.leaves) as u32, count));
            } else {
                open.extend([2 * position + 1, 2 * position]);
            }
        }
        found
    }

    /// How many codes a node covers.
    fn codes_below(&self, position: usize) -> u32 {
        (self.leaves >> position.ilog2()) as u32
    }

    fn descend(&self, mut is_right: impl FnMut(Node, Node) -> bool) -> u32 {
        let mut position = 1;
        while position < self.leaves {
            let (left, right) = (self.node(2 * position), self.node(2 * position + 1));
            position = 2 * position + usize::from(is_right(left, right));
        }
        (position - self.leaves.min(position)) as u32
    }
}
