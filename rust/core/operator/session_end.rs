//! How a session ended.

/// Why a session ended: the first of these that holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EndedBy {
    /// A record of it is true in `end_when`.
    EndWhen,
    /// It has as many records as a session may have.
    MaxRecords,
    /// No record reaches the next one.
    Gap,
    /// The next record begins a session.
    StartWhen,
    /// The next record has another value.
    CutOn,
    /// A border of a day is before the next record.
    CutAt,
    /// The next record is too far from its start.
    MaxDuration,
    /// It has not ended: there is no next record.
    Open,
}

impl EndedBy {
    /// The word that users see.
    pub fn name(self) -> &'static str {
        match self {
            Self::EndWhen => "end_when",
            Self::MaxRecords => "max_records",
            Self::Gap => "gap",
            Self::StartWhen => "start_when",
            Self::CutOn => "cut_on",
            Self::CutAt => "cut_at",
            Self::MaxDuration => "max_duration",
            Self::Open => "open",
        }
    }
}

/// What users see of the end of a session, and what distinguishes it from others with the same
/// start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionEnd {
    /// How many sessions of the key with the same start come before it.
    pub ordinal: u32,
    /// Why it ended; none for a late record, which is in no session.
    pub ended_by: Option<EndedBy>,
}
