//! Schemas of request and response bodies in the OpenAPI document.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::optional::forbid_null;
use crate::serve::reply::{DATA, Envelope};

/// JSON schema of a request or response body. It is computed when the document is generated, so
/// that it does not delay the start.
#[derive(Clone)]
pub struct Described(Arc<dyn Fn() -> Schema + Send + Sync>);

/// Computed JSON schema, with the schemas of the types it references.
pub(super) struct Schema {
    root: Value,
    /// Named schemas (components), by name.
    pub(super) named: Vec<(String, Value)>,
    data: Data,
}

/// Content of the field `data` that [`Envelope::Both`] adds to a response.
#[derive(Debug, Clone, Copy)]
enum Data {
    /// The field `data` repeats the response object. A response that is a list has no field `data`.
    Object,
    /// The field `data` repeats the value of the field with this name.
    Field(&'static str),
    /// The response has no field `data`.
    Absent,
}

/// Schema derived from the schema of a Rust type, for responses in which fields are always present
/// or always absent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Variant {
    /// Name of the schema.
    pub(crate) name: &'static str,
    /// Optional fields that are always present.
    pub(crate) present: &'static [&'static str],
    /// Fields that are always absent.
    pub(crate) absent: &'static [&'static str],
}

const COMPONENTS: &str = "#/components/schemas/";

/// Returns a reference (`$ref`) to the component (named schema) with this name.
pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("{COMPONENTS}{name}") })
}

/// Returns the name of the component (named schema) that a schema refers to.
pub(super) fn referenced(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix(COMPONENTS)
}

impl Described {
    /// Creates the schema of a Rust type.
    #[must_use]
    pub fn of<T: ToSchema>() -> Self {
        let compute: fn() -> Schema = Schema::of::<T>;
        Self::new(compute)
    }

    /// Creates a schema that refers to no named schemas (components).
    pub(super) fn inline(schema: fn() -> Value) -> Self {
        Self::new(move || Schema::inline(schema()))
    }

    fn new(compute: impl Fn() -> Schema + Send + Sync + 'static) -> Self {
        Self(Arc::new(compute))
    }

    /// Computes the schema.
    pub(super) fn compute(&self) -> Schema {
        (self.0)()
    }

    fn map(self, change: impl Fn(Schema) -> Schema + Send + Sync + 'static) -> Self {
        Self::new(move || change(self.compute()))
    }

    /// Creates the schema of an arbitrary JSON object.
    #[must_use]
    pub fn anything() -> Self {
        Self::inline(|| json!({ "type": "object", "additionalProperties": true }))
    }

    /// Creates the schema of an object whose values are strings.
    #[must_use]
    pub fn texts() -> Self {
        Self::inline(|| {
            json!({
                "type": "object", "additionalProperties": { "type": "string" },
                "example": { "DATABASE_URL": "postgres://app@db.internal/app" },
            })
        })
    }

    /// Combines two schemas into a schema that matches values of either schema.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        self.map(move |schema| schema.or(other.compute()))
    }

    /// Returns the schema of an object with one field, `name`, that has this schema.
    #[must_use]
    pub fn under(self, name: &'static str) -> Self {
        self.map(move |schema| schema.under(name))
    }

    /// Returns the schema of a response that never has the field `data`.
    #[must_use]
    pub fn unwrapped(self) -> Self {
        self.map(|schema| Schema { data: Data::Absent, ..schema })
    }

    /// Returns the schema of a response whose field `data`, if the envelope adds it, repeats the
    /// value of the field `field`.
    #[must_use]
    pub(crate) fn with_list(self, field: &'static str) -> Self {
        self.map(move |schema| Schema { data: Data::Field(field), ..schema })
    }

    /// Replaces the inlined schema of a list's items with a reference to the named schema
    /// (component) of their type `T`.
    #[must_use]
    pub(crate) fn list_of<T: ToSchema>(self) -> Self {
        let change: fn(Schema) -> Schema = Schema::list_of::<T>;
        self.map(change)
    }

    /// Replaces the named schema (component) that this schema refers to with a variant of it.
    #[must_use]
    pub(crate) fn variant(self, variant: Variant) -> Self {
        self.map(move |schema| schema.variant(variant))
    }
}

impl fmt::Debug for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Described").finish_non_exhaustive()
    }
}

impl Schema {
    fn of<T: ToSchema>() -> Self {
        let mut parts = Vec::new();
        T::schemas(&mut parts);
        let mut named: Vec<_> =
            parts.into_iter().map(|(name, schema)| (name, value(&schema))).collect();
        let schema = value(&T::schema());
        let name = T::name().into_owned();
        // Lists and options have no component name: their schema is inlined.
        if ["Vec", "Option", "TupleUnit", "String"].contains(&name.as_str()) {
            return Self { root: schema, named, data: Data::Object };
        }
        let reference = reference(&name);
        named.push((name, schema));
        Self { root: reference, named, data: Data::Object }
    }

    fn inline(root: Value) -> Self {
        Self { root, named: Vec::new(), data: Data::Object }
    }

    fn or(mut self, other: Self) -> Self {
        self.named.extend(other.named);
        Self { root: json!({ "anyOf": [self.root, other.root] }), ..self }
    }

    fn under(self, name: &'static str) -> Self {
        let root = json!({
            "type": "object", "required": [name], "properties": { name: self.root },
        });
        Self { root, data: Data::Field(name), ..self }
    }

    fn list_of<T: ToSchema>(mut self) -> Self {
        let items = Self::of::<T>();
        if let Some(list) = find(&mut self.root, &|schema| schema["type"] == "array") {
            list["items"] = items.root;
        }
        self.named.extend(items.named);
        self
    }

    fn variant(mut self, variant: Variant) -> Self {
        let Some(place) = find(&mut self.root, &|schema| referenced(schema).is_some()) else {
            return self;
        };
        let original = referenced(place).unwrap_or_default().to_owned();
        *place = reference(variant.name);
        for (name, schema) in &mut self.named {
            if *name == original {
                variant.name.clone_into(name);
                variant.apply(schema);
            }
        }
        self
    }

    /// Returns the schema of a response, with the additional field `data` if this envelope setting
    /// adds it.
    pub(super) fn in_envelope(&self, envelope: Envelope) -> Value {
        let mut schema = self.root.clone();
        if envelope == Envelope::Named {
            return schema;
        }
        let alternatives = schema.get_mut("anyOf").and_then(Value::as_array_mut);
        match alternatives.and_then(|alternatives| alternatives.first_mut()) {
            Some(first) => *first = self.with_data(first.clone()),
            None => schema = self.with_data(schema),
        }
        schema
    }

    fn with_data(&self, mut schema: Value) -> Value {
        let data = match self.data {
            Data::Field(field) => self.target(&schema)["properties"][field].clone(),
            Data::Object if referenced(&schema).is_some() => {
                // Generators of clients cannot read alternatives inside `allOf`.
                if let Some(kinds) = self.target(&schema)["oneOf"].as_array() {
                    let kinds = kinds.iter().map(|kind| self.with_data(kind.clone()));
                    return json!({ "oneOf": kinds.collect::<Vec<_>>() });
                }
                schema.clone()
            }
            Data::Object | Data::Absent => return schema,
        };
        if let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            fields.insert(DATA.to_owned(), data);
            if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
                required.push(DATA.into());
            }
            return schema;
        }
        let twin = json!({ "type": "object", "required": [DATA], "properties": { DATA: data } });
        json!({ "allOf": [schema, twin] })
    }

    /// Returns the named schema (component) that a schema refers to, or the schema itself.
    fn target<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let name = referenced(schema).unwrap_or_default();
        let component = self.named.iter().find(|(known, _)| known == name);
        component.map_or(schema, |(_, schema)| schema)
    }
}

impl Variant {
    fn apply(&self, schema: &mut Value) {
        if let Some(fields) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            fields.retain(|name, _| !self.absent.contains(&name.as_str()));
            for name in self.present {
                if let Some(field) = fields.get_mut(*name) {
                    forbid_null(field);
                }
            }
        }
        if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
            required.extend(self.present.iter().map(|name| (*name).into()));
        }
    }
}

/// Returns the first subschema for which `is_it` returns true. The search begins with the schema
/// itself and continues inwards.
fn find<'a>(schema: &'a mut Value, is_it: &dyn Fn(&Value) -> bool) -> Option<&'a mut Value> {
    if is_it(schema) {
        return Some(schema);
    }
    match schema {
        Value::Object(fields) => fields.values_mut().find_map(|part| find(part, is_it)),
        Value::Array(items) => items.iter_mut().find_map(|part| find(part, is_it)),
        _ => None,
    }
}

/// Components of the OpenAPI document, by name.
pub(super) type Components = Map<String, Value>;

fn value(schema: &impl serde::Serialize) -> Value {
    // A schema contains only types that JSON can represent, so this does not fail.
    serde_json::to_value(schema).unwrap_or_default()
}
