//! What the states of a saved query depend on, read from its specification.

use serde_json::{Value, json};

use super::spec::Specification;

/// The types of the columns whose values are in windows: keys, and those whose change ends a session.
pub(super) fn fixed_types(specification: &Specification) -> Specification {
    let types = specification.get("types").and_then(Value::as_object);
    let windows = specification.get("windows");
    let lists = [
        specification.get("keys"),
        windows.and_then(|windows| windows.get("cut_on")),
    ];
    let names = lists.into_iter().filter_map(|list| list?.as_array());
    let names = names.flatten().filter_map(Value::as_str);
    names
        .filter_map(|name| Some((name.to_owned(), types?.get(name)?.clone())))
        .collect()
}

/// An aggregate, with all that its states depend on.
#[derive(Clone, PartialEq)]
pub(super) struct Definition {
    pub(super) name: Value,
    pub(super) is_function: bool,
    /// The aggregate without its name, the type of its result, and those of its columns.
    pub(super) states: (Value, Value, Specification),
}

pub(super) fn aggregates(specification: &Specification) -> Vec<Definition> {
    let list = |name: &str| {
        let list = specification.get(name).and_then(Value::as_array);
        list.cloned().unwrap_or_default()
    };
    let types = specification.get("types").and_then(Value::as_object);
    let with_result = list("aggregates").into_iter().zip(list("results"));
    let definitions = with_result.map(|(mut aggregate, result)| {
        let columns = aggregate.get("columns").and_then(Value::as_array);
        let columns = columns.into_iter().flatten();
        let read = columns.chain(aggregate.get("where"));
        let read = read.filter_map(Value::as_str);
        let columns = read.filter_map(|name| Some((name.to_owned(), types?.get(name)?.clone())));
        let columns = columns.collect();
        let fields = aggregate.as_object_mut();
        let name = fields.and_then(|fields| fields.remove("name"));
        Definition {
            name: name.unwrap_or_default(),
            is_function: aggregate.get("function") == Some(&json!("python")),
            states: (aggregate, result, columns),
        }
    });
    definitions.collect()
}
