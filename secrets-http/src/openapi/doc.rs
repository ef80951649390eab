//! What the document tells of a route beyond its row in the table.

use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::router::Route;

/// What the document tells of a route.
#[derive(Debug, Clone, Default)]
pub struct Doc {
    pub(super) summary: &'static str,
    pub(super) answers: Vec<Answer>,
    pub(super) bodies: Vec<Content>,
    pub(super) is_body_optional: bool,
    pub(super) query: Vec<Query>,
    /// Whether a second record of the same name, or another version, can refuse it.
    pub(super) conflicts: bool,
    /// Whether it looks for something that its path does not name.
    pub(super) looks_up: bool,
}

/// An answer that is no error.
#[derive(Debug, Clone)]
pub struct Answer {
    pub(super) status: u16,
    pub(super) contents: Vec<Content>,
}

/// A body and its media type.
#[derive(Debug, Clone)]
pub struct Content {
    pub(crate) media: &'static str,
    pub(crate) described: Described,
}

/// A type, and those it is made of.
#[derive(Debug, Clone)]
pub struct Described {
    pub(super) schema: Value,
    pub(super) named: Vec<(String, Value)>,
}

/// A parameter of the query.
#[derive(Debug, Clone, Copy)]
pub(super) struct Query {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) form: Form,
    pub(super) is_required: bool,
}

/// What a parameter's text must be.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    /// Anything.
    Text,
    /// A UUID.
    Id,
    /// A project's id or slug.
    Project,
    /// An environment's id or name.
    Environment,
    /// A secret's key.
    Key,
    /// A rotation's name.
    Rotation,
    /// An address of the internet.
    Address,
    /// A time (RFC 3339).
    Time,
    /// `true` or `false`.
    Flag,
    /// A whole number within these bounds.
    Number(u32, u32),
    /// One of these.
    OneOf(&'static [&'static str]),
    /// What this regular expression matches.
    Pattern(&'static str),
    /// Any number of these.
    Many(&'static str),
}

impl Form {
    pub(super) fn schema(self) -> Value {
        match self {
            Self::Text => json!({ "type": "string" }),
            Self::Id => json!({ "type": "string", "format": "uuid" }),
            Self::Project => json!({
                "type": "string", "pattern": "^[A-Za-z0-9-]{1,64}$", "example": "web-api",
            }),
            Self::Environment => json!({
                "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$",
                "example": "production",
            }),
            Self::Key => json!({
                "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_.-]{0,254}$",
                "example": "DATABASE_URL",
            }),
            Self::Rotation => json!({
                "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$",
                "example": "main-db",
            }),
            Self::Address => json!({
                "type": "string", "anyOf": [{ "format": "ipv4" }, { "format": "ipv6" }],
            }),
            Self::Time => json!({ "type": "string", "format": "date-time" }),
            Self::Flag => json!({ "type": "boolean" }),
            Self::Number(least, most) => {
                json!({ "type": "integer", "minimum": least, "maximum": most })
            }
            Self::OneOf(known) => json!({ "type": "string", "enum": known }),
            Self::Pattern(pattern) => json!({ "type": "string", "pattern": pattern }),
            Self::Many(pattern) => {
                json!({ "type": "array", "maxItems": 20, "items": Self::Pattern(pattern).schema() })
            }
        }
    }
}

impl Doc {
    /// Of a route that gives these answers.
    pub(crate) fn of(answers: Vec<Answer>) -> Self {
        Self { answers, ..Self::default() }
    }
}

impl Described {
    /// A type of ours.
    #[must_use]
    pub fn of<T: ToSchema>() -> Self {
        let mut parts = Vec::new();
        T::schemas(&mut parts);
        let mut named: Vec<_> =
            parts.into_iter().map(|(name, schema)| (name, value(&schema))).collect();
        let schema = value(&T::schema());
        let name = T::name().into_owned();
        // Lists and options have no name of their own.
        if ["Vec", "Option", "TupleUnit", "String"].contains(&name.as_str()) {
            return Self { schema, named };
        }
        named.push((name.clone(), schema));
        Self { schema: json!({ "$ref": format!("#/components/schemas/{name}") }), named }
    }

    /// Whatever JSON holds.
    #[must_use]
    pub fn anything() -> Self {
        Self { schema: json!({ "type": "object" }), named: Vec::new() }
    }

    /// An object of texts.
    #[must_use]
    pub fn texts() -> Self {
        let schema = json!({
            "type": "object", "additionalProperties": { "type": "string" },
            "example": { "DATABASE_URL": "postgres://app@db.internal/app" },
        });
        Self { schema, named: Vec::new() }
    }

    /// Either.
    #[must_use]
    pub fn or(mut self, other: Self) -> Self {
        self.named.extend(other.named);
        Self { schema: json!({ "anyOf": [self.schema, other.schema] }), named: self.named }
    }

    /// It, as the one field of an object.
    #[must_use]
    pub fn under(self, name: &str) -> Self {
        let schema = json!({
            "type": "object", "required": [name], "properties": { name: self.schema },
        });
        Self { schema, named: self.named }
    }
}

impl Content {
    /// A type of ours as JSON.
    #[must_use]
    pub fn json(described: Described) -> Self {
        Self { media: "application/json", described }
    }

    /// Text of this media type.
    #[must_use]
    pub fn text(media: &'static str) -> Self {
        let schema = json!({ "type": "string" });
        Self { media, described: Described { schema, named: Vec::new() } }
    }
}

impl Answer {
    /// An answer with any of these bodies.
    #[must_use]
    pub fn new(status: u16, contents: Vec<Content>) -> Self {
        Self { status, contents }
    }
}

impl Route {
    /// What it does, in a few words.
    #[must_use]
    pub(crate) fn says(mut self, summary: &'static str) -> Self {
        self.doc.summary = summary;
        self
    }

    /// The JSON it takes.
    #[must_use]
    pub(crate) fn takes<T: ToSchema>(mut self) -> Self {
        self.doc.bodies.push(Content::json(Described::of::<T>()));
        self
    }

    /// The JSON it takes where there is any.
    #[must_use]
    pub(crate) fn may_take<T: ToSchema>(mut self) -> Self {
        self.doc.is_body_optional = true;
        self.takes::<T>()
    }

    /// An object of texts in JSON that it takes instead, and the same in YAML.
    #[must_use]
    pub(crate) fn takes_texts(mut self) -> Self {
        for body in self.doc.bodies.iter_mut().filter(|body| body.media == "application/json") {
            body.described = body.described.clone().or(Described::texts());
        }
        self.doc.bodies.push(Content { media: "application/yaml", described: Described::texts() });
        self
    }

    /// The same as a form.
    #[must_use]
    pub(crate) fn takes_form<T: ToSchema>(mut self) -> Self {
        let media = "application/x-www-form-urlencoded";
        self.doc.bodies.push(Content { media, described: Described::of::<T>() });
        self
    }

    /// Text that it takes instead.
    #[must_use]
    pub(crate) fn takes_text(mut self, media: &'static str) -> Self {
        self.doc.bodies.push(Content::text(media));
        self
    }

    /// What it gives, where its shape does not tell.
    #[must_use]
    pub(crate) fn gives(mut self, status: u16, contents: Vec<Content>) -> Self {
        self.doc.answers.retain(|answer| answer.status != status);
        self.doc.answers.push(Answer::new(status, contents));
        self
    }

    /// A parameter of the query that may be there.
    #[must_use]
    pub(crate) fn query(mut self, name: &'static str, form: Form, about: &'static str) -> Self {
        self.doc.query.push(Query { name, about, form, is_required: false });
        self
    }

    /// A parameter of the query that must be there.
    #[must_use]
    pub(crate) fn needs(mut self, name: &'static str, form: Form, about: &'static str) -> Self {
        self.doc.query.push(Query { name, about, form, is_required: true });
        self
    }

    /// It can be refused with 409.
    #[must_use]
    pub(crate) fn conflicts(mut self) -> Self {
        self.doc.conflicts = true;
        self
    }

    /// It can be refused with 404, though its path names nothing.
    #[must_use]
    pub(crate) fn looks_up(mut self) -> Self {
        self.doc.looks_up = true;
        self
    }
}

fn value(schema: &impl serde::Serialize) -> Value {
    // A schema is made of what JSON holds.
    serde_json::to_value(schema).unwrap_or_default()
}
