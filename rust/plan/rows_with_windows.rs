//! Queries that give back each row with its window, as SQL's `OVER` does. The window of a row is the
//! session that holds it, or the sliding window that ends at it.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::aggregate::AggregatePlan;
use super::query::{Query, QueryOutput};
use super::source_column::SourceColumn;
use super::spec::{AggregateSpec, Spec};
use super::window_lengths::WindowLengths;
use crate::core::aggregate::functions::collect_list::COLLECT_LIST;
use crate::core::error::{Error, Result};

/// The column that numbers the rows of the input.
const ROW: &str = "windrow.row";

/// The column of a window's rows, by their numbers. It is the hidden aggregate of queries that return
/// their records.
pub(super) const ROWS: &str = "windrow.rows";

impl Query {
    /// Resolves a spec as a query for windows whose last column lists the numbers of their rows. The
    /// numbers come from an extra last column of the input, which `input` does not have. Only the
    /// sliding windows that end at a record are emitted.
    pub fn with_rows(spec: &Spec, input: &Schema) -> Result<Self> {
        let mut spec = spec.clone();
        spec.op = false;
        let rows = AggregateSpec::new(ROWS, &COLLECT_LIST, &[ROW]);
        spec.aggregates.push(rows);
        let mut query = Self::new(&spec, &numbered(input))?;
        let is_session = matches!(query.windows, WindowLengths::Session(_));
        if is_session
            && query
                .aggregates
                .iter()
                .any(|aggregate| aggregate.is_position)
        {
            return Ok(query); // the operator lists the rows of a session as they arrive, not by time
        }
        if let Some(rows) = query.aggregates.pop() {
            // The rows are not written to a block, and the list of their numbers is not an aggregate of the user.
            let mut own = spec.aggregates.iter().rev().skip(1);
            query.needs_seq_no = own.any(|aggregate| aggregate.function.is_ordered());
            query.row_number = rows.inputs.first().copied();
            query.aggregates.push(rows.of_operator());
        }
        Ok(query)
    }

    /// Resolves a spec as a query for the rows, each with its window and the window's aggregates. Both
    /// are null for a row that is left out.
    pub fn rows_with_windows(spec: &Spec, input: &Schema) -> Result<Self> {
        let windows = Self::with_rows(spec, input)?;
        let mut of_rows = Self::of_rows(spec, input)?;
        let rows = of_rows.output;
        let QueryOutput::Rows { columns } = of_rows.output_kind else {
            return Err(Error::Internal("a query for rows does not give rows"));
        };
        let window_columns = windows.window_columns().map(|field| {
            let nullable = field.as_ref().clone().with_nullable(true);
            Arc::new(nullable)
        });
        let fields = rows.fields().iter().cloned().chain(window_columns);
        let output = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        of_rows.output = output;
        of_rows.overflows = Arc::clone(&windows.overflows);
        of_rows.output_kind = QueryOutput::RowsWithWindows {
            columns,
            rows,
            windows: Arc::new(windows),
        };
        Ok(of_rows)
    }

    /// Where the columns of positions and of session numbers are among those of the windows.
    pub(crate) fn number_columns(&self, is: impl Fn(&AggregatePlan) -> bool) -> Vec<usize> {
        let first = self.keys.len() + 1;
        let aggregates = (first..).zip(&self.aggregates);
        let chosen = aggregates.filter(|(_, aggregate)| is(aggregate));
        chosen.map(|(column, _)| column).collect()
    }

    /// The fields of `window` and the aggregates in a query [with rows](Self::with_rows).
    pub(crate) fn window_columns(&self) -> impl Iterator<Item = &Arc<Field>> {
        let fields = self.output.fields().iter();
        let last = fields.len().saturating_sub(1);
        fields.take(last).skip(self.keys.len())
    }
}

/// The schema of an input whose rows have numbers.
pub(crate) fn numbered(input: &Schema) -> Schema {
    let fields = input.fields().iter().cloned();
    let row = Arc::new(Field::new(ROW, DataType::Int64, false));
    Schema::new(fields.chain([row]).collect::<Vec<_>>())
}

/// The columns of a query's input, in which its rows move.
pub(crate) fn rows_schema(query: &Query) -> &SchemaRef {
    match &query.output_kind {
        QueryOutput::RowsWithWindows { rows, .. } => rows,
        QueryOutput::Rows { .. } | QueryOutput::Windows { .. } => &query.output,
    }
}

/// All columns of the input of a query whose rows move; none of others.
pub(crate) fn row_columns(query: &Query) -> &[SourceColumn] {
    match &query.output_kind {
        QueryOutput::RowsWithWindows { columns, .. } | QueryOutput::Rows { columns } => columns,
        QueryOutput::Windows { .. } => &[],
    }
}
