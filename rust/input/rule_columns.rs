//! The columns of a batch that say where sessions begin and end, and how records of one time are
//! ordered (rules 2.7).

use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_buffer::{BooleanBuffer, ScalarBuffer};

use crate::core::aggregate::SeqNo;
use crate::core::error::Result;
use crate::core::operator::record::RecordRule;
use crate::keys::shard_hash::ShardHash;
use crate::plan::query::Query;

/// The mark of values that are all null.
const NULL: u64 = 0;

/// These columns of a batch.
pub(crate) struct RuleColumns {
    /// The tie of each row.
    ties: Option<Int64Array>,
    /// The mark of each row, if records have marks.
    marks: Option<ScalarBuffer<u64>>,
    /// Which rows end their session, if rows can.
    ends: Option<BooleanBuffer>,
}

impl RuleColumns {
    /// Reads them. `begins` and `ends` say which rows begin and end a session, and `values` are the
    /// columns whose change ends one.
    pub(crate) fn read(
        query: &Query,
        ties: Option<Int64Array>,
        (begins, ends): (Option<BooleanBuffer>, Option<BooleanBuffer>),
        values: &[ArrayRef],
        rows: usize,
    ) -> Result<Self> {
        let marks = (query.columns.rules.have_marks())
            .then(|| marks(query, begins.as_ref(), values, rows))
            .transpose()?;
        Ok(Self { ties, marks, ends })
    }

    /// Which rows have a tie, if rows have ties and some lack one.
    pub(crate) fn tied(&self) -> Option<&BooleanBuffer> {
        Some(self.ties.as_ref()?.nulls()?.inner())
    }

    /// The numbers of the `kept` rows that order rows of one time; none if rows have no ties.
    pub(crate) fn seq_nos(&self, kept: &BooleanBuffer) -> Option<Vec<SeqNo>> {
        let ties = self.ties.as_ref()?.values();
        let kept = kept.set_indices().filter_map(|row| ties.get(row));
        Some(kept.map(|&tie| seq_no(tie)).collect())
    }

    /// The marks of the `kept` rows; empty if records have no marks.
    pub(crate) fn marks(&self, kept: &BooleanBuffer) -> ScalarBuffer<u64> {
        let Some(marks) = &self.marks else {
            return ScalarBuffer::default();
        };
        if kept.count_set_bits() == marks.len() {
            return marks.clone();
        }
        let kept = kept.set_indices().filter_map(|row| marks.get(row));
        kept.copied().collect()
    }

    /// Which of the `kept` rows end their session; empty if rows cannot.
    pub(crate) fn ends(&self, kept: &BooleanBuffer) -> Vec<bool> {
        let Some(ends) = &self.ends else {
            return Vec::new();
        };
        kept.set_indices().map(|row| ends.value(row)).collect()
    }

    /// What a row says about sessions.
    pub(crate) fn rule(&self, row: usize) -> RecordRule {
        let ties = self.ties.as_ref().and_then(|ties| ties.values().get(row));
        let tie = ties.map_or(0, |&tie| seq_no(tie));
        let marks = self.marks.as_deref().unwrap_or_default();
        let mark = marks.get(row).copied().unwrap_or_default();
        let ends = self.ends.as_ref();
        let ends = ends.is_some_and(|ends| row < ends.len() && ends.value(row));
        RecordRule { tie, mark, ends }
    }

    /// The number of each row that orders rows of one time; none if rows have no ties.
    pub(crate) fn all_seq_nos(&self) -> Option<Vec<SeqNo>> {
        let ties = self.ties.as_ref()?.values();
        Some(ties.iter().map(|&tie| seq_no(tie)).collect())
    }
}

/// A number that sorts like the tie.
fn seq_no(tie: i64) -> SeqNo {
    tie.abs_diff(i64::MIN)
}

fn marks(
    query: &Query,
    begins: Option<&BooleanBuffer>,
    values: &[ArrayRef],
    rows: usize,
) -> Result<ScalarBuffer<u64>> {
    let does_begin = |row: usize| begins.is_some_and(|begins| begins.value(row));
    if values.is_empty() {
        let marks = (0..rows).map(|row| RecordRule::mark(does_begin(row), NULL));
        return Ok(marks.collect());
    }
    let fields = query
        .columns
        .rules
        .cut_on
        .iter()
        .map(|(_, field)| field.clone());
    let hashes = ShardHash::new(&fields.collect::<Vec<_>>())?.hashes(values)?;
    let marks = hashes.into_iter().enumerate();
    let marks = marks.map(|(row, hash)| RecordRule::mark(does_begin(row), hash.unwrap_or(NULL)));
    Ok(marks.collect())
}
