//! Encodes pages as text and changes as blocks, and decodes them.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use pyo3_arrow::PyRecordBatch;

use super::detached;
use crate::format::change_block;
use crate::state::page_text;

/// Encodes a page as text.
#[pyfunction]
pub(super) fn encode_page(page: &[u8]) -> PyResult<String> {
    Ok(page_text::encode(page)?)
}

/// Decodes a page from text.
#[pyfunction]
pub(super) fn decode_page<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(py, &page_text::decode(text)?))
}

/// Encodes changes as blocks.
#[pyfunction]
pub(super) fn encode_changes(
    py: Python<'_>,
    changes: PyRecordBatch,
) -> PyResult<Vec<Bound<'_, PyBytes>>> {
    let changes = changes.into_inner();
    let blocks = detached(py, || change_block::encode(&changes))?;
    Ok(blocks.iter().map(|block| PyBytes::new(py, block)).collect())
}

/// Decodes the changes of a block.
#[pyfunction]
pub(super) fn decode_changes<'py>(py: Python<'py>, block: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let changes = detached(py, || change_block::decode(block))?;
    PyRecordBatch::new(changes).into_pyarrow(py)
}
