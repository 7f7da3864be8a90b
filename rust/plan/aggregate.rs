//! An aggregate of a query, resolved against the schema of its input.

use arrow_schema::{DataType, Field, Schema, TimeUnit};

use super::input_column::InputColumn;
use super::resolve::resolve;
use super::source_column::SourceColumn;
use super::spec::{AggregateSpec, Function};
use crate::array::dictionary::unpacked;
use crate::array::{canonical_float, convert, dictionary, type_name, zero_width};
use crate::core::aggregate::Aggregate;
use crate::core::aggregate::functions::count::COUNT;
use crate::core::aggregate::value_type::ValueType;
use crate::core::aggregate::window_results::Overflow;
use crate::core::error::{Error, Result};

/// An aggregate of a query.
pub struct AggregatePlan {
    /// Name of its result column.
    pub name: String,
    /// Which of the query's inputs it takes; none for a Python function, which takes the batch.
    pub inputs: Vec<usize>,
    /// The boolean input that selects its rows; none if it sees all rows.
    pub filter: Option<usize>,
    /// It sees only the rows of this input of a cogroup.
    pub only: Option<u32>,
    /// Whether its result is a number of the row. Its state counts the rows of the window.
    pub is_position: bool,
    /// The number of its frame among those of the query; none if it covers the window of a record.
    pub(crate) frame: Option<usize>,
    /// The place of its states among those that a stream stores. Aggregates that differ in their
    /// frames have the same.
    pub(crate) stored: usize,
    /// Whether an earlier aggregate has the same states.
    pub(crate) shares_states: bool,
    output: Output,
}

/// The source of an aggregate's results.
enum Output {
    BuiltIn(Box<dyn Aggregate>, Field),
    Python(Field),
    /// The key and the start of the window.
    WindowId(Field),
    /// The other sessions of the key, once all of them are there.
    SessionNumber(Field),
    /// The rules of sessions, which say why a session ended.
    EndedBy(Field),
    /// The operator, which knows the rows of each window.
    Rows(Field),
}

impl AggregatePlan {
    /// Resolves an aggregate against the input's schema, with lengths in ticks of `lengths` and times of
    /// the type `time`; the next field in `python` is that of a Python function's results. A list may be
    /// too long for its type: `overflow` decides whether it may be null.
    pub(crate) fn new<'t>(
        spec: &AggregateSpec,
        input: &Schema,
        (lengths, time): (TimeUnit, &DataType),
        inputs: &mut Vec<InputColumn>,
        python: &mut impl Iterator<Item = &'t Field>,
        overflow: Overflow,
    ) -> Result<Self> {
        let argument = format!("aggregate {:?}", spec.name);
        let sources = spec
            .columns
            .iter()
            .map(|name| SourceColumn::find(input, &argument, name))
            .collect::<Result<Vec<_>>>()?;
        sources
            .iter()
            .try_for_each(|(_, field)| is_readable(field, &argument))?;
        let filter = spec
            .filter
            .as_ref()
            .map(|name| filter_column(&argument, name, input))
            .transpose()?;
        let plan = |output, only| Self {
            name: spec.name.clone(),
            inputs: Vec::new(),
            filter: None,
            only,
            is_position: spec.function == Function::Position,
            frame: None,
            stored: 0,
            shares_states: false,
            output,
        };
        let function = match spec.function {
            Function::BuiltIn(function) => function,
            Function::WindowId => {
                let field = Field::new(&spec.name, DataType::Int64, false);
                return Ok(plan(Output::WindowId(field), None));
            }
            Function::SessionNumber => {
                let field = Field::new(&spec.name, DataType::Int64, false);
                return Ok(plan(Output::SessionNumber(field), None));
            }
            Function::EndedBy => {
                let field = Field::new(&spec.name, DataType::Utf8, true);
                return Ok(plan(Output::EndedBy(field), None));
            }
            Function::Position => {
                let (states, field) = resolve(&COUNT, spec, &[], lengths, time)?;
                return Ok(plan(Output::BuiltIn(states, field), None));
            }
            Function::Python => {
                let result = python.next().ok_or_else(|| Error::Argument {
                    argument,
                    got: "a Python function".into(),
                    allowed: "built-in aggregates: Python functions are called record by record"
                        .into(),
                })?;
                let field = result.clone().with_name(&spec.name).with_nullable(true);
                return Ok(plan(Output::Python(field), spec.input));
            }
        };
        let fields: Vec<Field> = sources.iter().map(|(_, field)| (*field).clone()).collect();
        let (states, field) = resolve(function, spec, &fields, lengths, time)?;
        let may_be_null = overflow == Overflow::Null && states.longest_list().is_some();
        let field = if may_be_null {
            field.with_nullable(true)
        } else {
            field
        };
        let columns = sources.into_iter().enumerate();
        let taken = columns.map(|(position, (source, field))| {
            let data_type = unpacked(field.data_type());
            let compared = function.compares.contains(&position)
                && convert::value_type(&data_type) == Some(ValueType::Row);
            let column = InputColumn {
                source,
                field: field.clone(),
                canonical_floats: compared && canonical_float::within(&data_type),
            };
            column.position_in(inputs)
        });
        Ok(Self {
            inputs: taken.collect(),
            filter: filter.map(|column| column.position_in(inputs)),
            ..plan(Output::BuiltIn(states, field), spec.input)
        })
    }

    /// The field of its results.
    pub fn field(&self) -> &Field {
        match &self.output {
            Output::BuiltIn(_, field)
            | Output::Python(field)
            | Output::WindowId(field)
            | Output::SessionNumber(field)
            | Output::EndedBy(field)
            | Output::Rows(field) => field,
        }
    }

    /// Whether its result is a list of values of the window.
    pub fn is_list(&self) -> bool {
        match &self.output {
            Output::BuiltIn(states, _) => states.longest_list().is_some(),
            Output::Python(_)
            | Output::WindowId(_)
            | Output::SessionNumber(_)
            | Output::EndedBy(_)
            | Output::Rows(_) => false,
        }
    }

    /// Whether it has states.
    pub(crate) fn is_built_in(&self) -> bool {
        matches!(self.output, Output::BuiltIn(..))
    }

    /// The number of rows of a window up to which its state may have a value of each.
    pub(crate) fn kept_rows(&self) -> usize {
        let sees_all = self.filter.is_none() && self.only.is_none();
        let states = self.states().filter(|_| sees_all);
        states.map_or(0, |states| states.kept_rows())
    }

    /// Whether the key and the start of a window give its result.
    pub fn is_window_id(&self) -> bool {
        matches!(self.output, Output::WindowId(_))
    }

    /// Whether the order of the key's sessions gives its result.
    pub fn is_session_number(&self) -> bool {
        matches!(self.output, Output::SessionNumber(_))
    }

    /// Whether the end of a session gives its result.
    pub fn is_ended_by(&self) -> bool {
        matches!(self.output, Output::EndedBy(_))
    }

    /// Whether a function of the user gives its result.
    pub fn is_function(&self) -> bool {
        matches!(self.output, Output::Python(_))
    }

    /// Whether the operator gives its results.
    pub fn is_of_operator(&self) -> bool {
        matches!(self.output, Output::Rows(_))
    }

    /// The same aggregate without states: the operator gives its results.
    pub(crate) fn of_operator(self) -> Self {
        let field = self.field().clone();
        Self {
            output: Output::Rows(field),
            ..self
        }
    }

    /// A vector of states without slots; none if something else gives the results.
    pub fn states(&self) -> Option<Box<dyn Aggregate>> {
        match &self.output {
            Output::BuiltIn(states, _) => Some(states.fresh()),
            Output::Python(_)
            | Output::WindowId(_)
            | Output::SessionNumber(_)
            | Output::EndedBy(_)
            | Output::Rows(_) => None,
        }
    }
}

/// The boolean column that selects the rows of an aggregate.
fn filter_column(argument: &str, name: &str, input: &Schema) -> Result<InputColumn> {
    Ok(InputColumn {
        source: SourceColumn::of_booleans(input, &format!("{argument}: where"), name)?,
        field: Field::new(name, DataType::Boolean, true),
        canonical_floats: false,
    })
}

/// Refuses values that take no bytes, as an Arrow array does not know how many of them it holds, and
/// dictionaries that Arrow does not unpack.
fn is_readable(field: &Field, argument: &str) -> Result<()> {
    let allowed = if zero_width::within(field.data_type()) {
        "types whose values have a width: no fixed_size_binary[0], no fixed-size lists of 0, \
         no structs without fields"
    } else if dictionary::beside_union(field.data_type()) {
        "types without a dictionary in a union, and without a union in a dictionary"
    } else {
        return Ok(());
    };
    Err(Error::ColumnType {
        argument: argument.into(),
        column: field.name().clone(),
        got: type_name::of(field),
        allowed: allowed.into(),
    })
}
