//! How many rows and bytes wait before they move on. No limit changes a result.

/// The sizes at which rows, blocks and windows move on.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Rows that an in-process run groups at once.
    pub run_rows: usize,
    /// Bytes of rows that wait in a partition of an in-process run if its keys hardly repeat.
    pub waiting_bytes: usize,
    /// Rows of such keys that an in-process run groups at once. Their sessions should
    /// fit into a core's caches.
    pub part_rows: usize,
    /// The approximate number of rows that go through all steps of an in-process run together. They
    /// should fit into the caches.
    pub step_rows: usize,
    /// Bytes of short batches that are joined to a step.
    pub step_bytes: usize,
    /// Rows that a packer gathers before it packs them.
    pub pack_rows: usize,
    /// Bytes of wide rows that a packer gathers before it packs them.
    pub pack_bytes: usize,
    /// Bytes of rows that a packer buffers before it groups those that come in order.
    pub buffer_bytes: usize,
    /// Rows whose keys are numbered at once, and at which a packer looks to decide whether to group
    /// them. A core's caches keep the key table for a while and still fit so many rows.
    pub pack_loose: usize,
    /// Keys that a packer remembers from one block to the next.
    pub pack_keys: usize,
    /// The approximate number of bytes in a block. A worker holds an Arrow batch of 10,000 blocks at
    /// once.
    pub block_bytes: usize,
    /// Bytes of blocks that a merger reads before it emits windows.
    pub merge_bytes: usize,
    /// The approximate number of bytes in a page of a state before compression.
    pub page_bytes: usize,
    /// A run of at least this many sessions has an index. A shorter one is read as a whole.
    pub index_rows: usize,
    /// A segment with more runs is compacted.
    pub segment_runs: usize,
    /// The largest size in bytes of results that grow with the rows of their windows; none: any size.
    pub result_bytes: Option<usize>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            run_rows: 1 << 24,
            waiting_bytes: 32 << 20,
            part_rows: 1 << 13,
            step_rows: 1 << 16,
            step_bytes: 64 << 20,
            pack_rows: 1 << 20,
            pack_bytes: 256 << 20,
            buffer_bytes: 64 << 20,
            pack_loose: 1 << 14,
            pack_keys: 1 << 20,
            block_bytes: 24 << 10,
            merge_bytes: 16 << 20,
            page_bytes: 256 << 10,
            index_rows: 1 << 10,
            segment_runs: 8,
            result_bytes: None,
        }
    }
}
