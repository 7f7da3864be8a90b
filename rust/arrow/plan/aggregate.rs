//! An aggregate of a query, resolved against the schema of its input.

use arrow_schema::{Field, Schema};

use super::input_column::InputColumn;
use super::resolve::{Resolved, resolve};
use super::spec::{AggregateSpec, Function};
use crate::aggregate::Aggregate;
use crate::arrow::array::dictionary::unpacked;
use crate::arrow::array::named::find;
use crate::arrow::array::{canonical_float, convert};
use crate::error::Result;

/// An aggregate of a query.
pub struct AggregatePlan {
    /// Name of its result column.
    pub name: String,
    /// Which of the query's inputs it takes; none for a Python function, which is handed the batch.
    pub inputs: Vec<usize>,
    /// The input of a cogroup whose rows alone it sees.
    pub only: Option<u32>,
    output: Output,
}

/// What gives an aggregate's results.
enum Output {
    BuiltIn(Resolved),
    Python(Field),
}

impl AggregatePlan {
    /// Resolves an aggregate against the input's schema; the next field in `python` is that of a
    /// Python function's results.
    pub(crate) fn new<'t>(
        named: &AggregateSpec,
        input: &Schema,
        inputs: &mut Vec<InputColumn>,
        python: &mut impl Iterator<Item = &'t Field>,
    ) -> Result<Self> {
        let made = if named.function == Function::Python {
            python.next()
        } else {
            None
        };
        if let Some(made) = made {
            named.columns.iter().try_for_each(|name| {
                find(input, &format!("aggregate {:?}", named.name), name).map(drop)
            })?;
            let field = made.clone().with_name(&named.name).with_nullable(true);
            return Ok(Self {
                name: named.name.clone(),
                inputs: Vec::new(),
                only: named.input,
                output: Output::Python(field),
            });
        }
        let mut positions = Vec::with_capacity(named.columns.len());
        for (place, name) in named.columns.iter().enumerate() {
            let field = find(input, &format!("aggregate {:?}", named.name), name)?.clone();
            let data_type = unpacked(field.data_type());
            let compared = named.function.compared() == Some(place)
                && convert::kind(&data_type) == Some(convert::ColumnKind::Rows);
            let taken = InputColumn {
                canonical_floats: compared && canonical_float::within(&data_type),
                field,
            };
            positions.push(taken.place(inputs));
        }
        let taken = positions
            .iter()
            .filter_map(|&position| inputs.get(position));
        let columns: Vec<Field> = taken.map(|taken| taken.field.clone()).collect();
        let resolved = resolve(named, &columns)?;
        Ok(Self {
            name: named.name.clone(),
            output: Output::BuiltIn(resolved),
            inputs: positions,
            only: named.input,
        })
    }

    /// The field of its results.
    pub fn field(&self) -> &Field {
        match &self.output {
            Output::BuiltIn(resolved) => &resolved.field,
            Output::Python(field) => field,
        }
    }

    /// A vector of states without slots; none for a Python function.
    pub fn states(&self) -> Option<Box<dyn Aggregate>> {
        match &self.output {
            Output::BuiltIn(resolved) => Some(resolved.states.fresh()),
            Output::Python(_) => None,
        }
    }
}
