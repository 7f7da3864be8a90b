//! How many rows and bytes wait before they move on. No limit changes an answer.

/// The sizes at which rows, blocks and windows move on.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Rows that an in-process run groups at once.
    pub run_rows: usize,
    /// Rows that go through all steps of an in-process run together, about: few enough to stay in
    /// the caches.
    pub step_rows: usize,
    /// Bytes of short batches that are joined to a step.
    pub step_bytes: usize,
    /// Rows that a packer gathers before it packs them.
    pub pack_rows: usize,
    /// Bytes of rows that a packer gathers before it packs them, where rows are wide.
    pub pack_bytes: usize,
    /// Bytes of rows that a packer buffers before it groups those that come in order.
    pub buffer_bytes: usize,
    /// Rows that a packer looks at, whether it pays to group them.
    pub pack_loose: usize,
    /// Keys that a packer remembers from one block to the next.
    pub pack_keys: usize,
    /// Bytes in a block, about: a worker holds an Arrow batch of 10,000 of them at once.
    pub block_bytes: usize,
    /// Bytes of blocks that a merger takes in before it lets windows leave.
    pub merge_bytes: usize,
    /// Bytes in a page of a state before they are compressed, about.
    pub page_bytes: usize,
    /// Sessions of a run that has an index; of a shorter one all is read.
    pub index_rows: usize,
    /// Runs of a segment, above which they are compacted.
    pub segment_runs: usize,
    /// Bytes that results may take where they grow with the rows of their windows; none for any.
    pub result_bytes: Option<usize>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            run_rows: 1 << 24,
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
