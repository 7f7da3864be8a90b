//! The columns that say where sessions begin and end.

use arrow_schema::{Field, Schema};

use super::source_column::SourceColumn;
use super::window_spec::WindowSpec;
use crate::array::type_name;
use crate::core::error::{Error, Result};
use crate::keys::groupable;

/// The columns of rules for sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RuleSources {
    /// The column that is true in the records that end their session.
    pub ends: Option<SourceColumn>,
    /// The column that is true in the records that begin a session.
    pub begins: Option<SourceColumn>,
    /// The columns whose change ends a session.
    pub cut_on: Vec<(SourceColumn, Field)>,
}

impl RuleSources {
    /// Finds the columns that windows name.
    pub(crate) fn new(windows: &WindowSpec, input: &Schema) -> Result<Self> {
        let Some(own) = windows.session() else {
            return Ok(Self::default());
        };
        let booleans = |argument, name: &Option<String>| {
            let name = name.as_ref();
            name.map(|name| SourceColumn::of_booleans(input, argument, name))
                .transpose()
        };
        let values = own.cut_on.iter().map(|name| {
            let (column, field) = SourceColumn::find(input, "cut_on", name)?;
            if !groupable(field.data_type()) {
                return Err(Error::ColumnType {
                    argument: "cut_on".into(),
                    column: name.clone(),
                    got: type_name::of(field),
                    allowed: "a type that can be a key".into(),
                });
            }
            Ok((column, field.clone()))
        });
        Ok(Self {
            ends: booleans("end_when", &own.ends)?,
            begins: booleans("start_when", &own.begins)?,
            cut_on: values.collect::<Result<_>>()?,
        })
    }

    /// Whether records have marks: they begin sessions, or have values whose change ends a session.
    pub(crate) fn have_marks(&self) -> bool {
        self.begins.is_some() || !self.cut_on.is_empty()
    }
}
