//! Documentation of a route, from which the OpenAPI document is generated: summary, parameters,
//! bodies and responses.

use serde_json::{Value, json};
use utoipa::ToSchema;

use super::schema::{Described, Variant};
use crate::serve::router::Route;

/// Documentation of one route.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "four independent facts")]
pub struct Doc {
    pub(super) id: &'static str,
    pub(super) summary: &'static str,
    pub(super) answers: Vec<Answer>,
    pub(super) bodies: Vec<Content>,
    pub(super) is_body_optional: bool,
    pub(super) query: Vec<Query>,
    /// True if the operation can respond with 409 (duplicate name or version mismatch).
    pub(super) conflicts: bool,
    /// True if the operation can exceed a limit of the team's plan.
    pub(super) exceeds_plan: bool,
    /// True if the operation can respond with 404 although the path has no parameter.
    pub(super) looks_up: bool,
}

/// Documentation of a successful response (2xx or 304).
#[derive(Debug, Clone)]
pub struct Answer {
    pub(super) status: u16,
    pub(super) contents: Vec<Content>,
}

/// Media type and schema of a request or response body.
#[derive(Debug, Clone)]
pub struct Content {
    pub(crate) media: &'static str,
    pub(crate) described: Described,
}

/// Documentation of a query parameter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Query {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) form: Form,
    pub(super) is_required: bool,
}

/// Format of a path or query parameter.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    /// Any string.
    Text,
    /// UUID.
    Id,
    /// Project ID or slug.
    Project,
    /// Environment ID or name.
    Environment,
    /// Key of a secret.
    Key,
    /// Name of a rotation.
    Rotation,
    /// IPv4 or IPv6 address.
    Address,
    /// Timestamp (RFC 3339).
    Time,
    /// `true` or `false`.
    Flag,
    /// Integer between the minimum and the maximum, inclusive.
    Number(u32, u32),
    /// One of these values.
    OneOf(&'static [&'static str]),
    /// String that matches this regular expression.
    Pattern(&'static str),
    /// Up to 20 values that each match this regular expression.
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
    /// Creates the documentation of a route with these responses.
    pub(crate) fn of(answers: Vec<Answer>) -> Self {
        Self { answers, ..Self::default() }
    }
}

impl Content {
    /// Creates the documentation of a JSON body with this schema.
    #[must_use]
    pub fn json(described: Described) -> Self {
        Self { media: "application/json", described }
    }

    /// Creates the documentation of a text body with this media type.
    #[must_use]
    pub fn text(media: &'static str) -> Self {
        Self { media, described: Described::inline(|| json!({ "type": "string" })) }
    }
}

impl Answer {
    /// Documents a response with this status, whose body is one of `contents`.
    #[must_use]
    pub fn new(status: u16, contents: Vec<Content>) -> Self {
        Self { status, contents }
    }
}

impl Route {
    /// Sets the operation ID: a verb and its object in camel case, at most 40 letters.
    #[must_use]
    pub(crate) fn id(mut self, id: &'static str) -> Self {
        self.doc.id = id;
        self
    }

    /// Sets the summary: an imperative phrase of at most 80 characters, without a full stop.
    #[must_use]
    pub(crate) fn summary(mut self, summary: &'static str) -> Self {
        self.doc.summary = summary;
        self
    }

    /// Adds a required JSON body of type `T`.
    #[must_use]
    pub(crate) fn json_body<T: ToSchema>(mut self) -> Self {
        self.doc.bodies.push(Content::json(Described::of::<T>()));
        self
    }

    /// Adds an optional JSON body of type `T`.
    #[must_use]
    pub(crate) fn optional_json_body<T: ToSchema>(mut self) -> Self {
        self.doc.is_body_optional = true;
        self.json_body::<T>()
    }

    /// Adds an alternative body: an object whose values are strings, in JSON or YAML.
    #[must_use]
    pub(crate) fn string_map_body(mut self) -> Self {
        for body in self.doc.bodies.iter_mut().filter(|body| body.media == "application/json") {
            body.described = body.described.clone().or(Described::texts());
        }
        self.doc.bodies.push(Content { media: "application/yaml", described: Described::texts() });
        self
    }

    /// Adds an alternative body: a form-encoded body of type `T`.
    #[must_use]
    pub(crate) fn form_body<T: ToSchema>(mut self) -> Self {
        let media = "application/x-www-form-urlencoded";
        self.doc.bodies.push(Content { media, described: Described::of::<T>() });
        self
    }

    /// Adds an alternative body: text of this media type.
    #[must_use]
    pub(crate) fn text_body(mut self, media: &'static str) -> Self {
        self.doc.bodies.push(Content::text(media));
        self
    }

    /// Sets the documented response for a status. Replaces the response derived from the route's
    /// [`Shape`](crate::serve::reply::Shape).
    #[must_use]
    pub(crate) fn response(mut self, status: u16, contents: Vec<Content>) -> Self {
        self.doc.answers.retain(|answer| answer.status != status);
        self.doc.answers.push(Answer::new(status, contents));
        self
    }

    /// Adds an optional query parameter.
    #[must_use]
    pub(crate) fn query(
        mut self,
        name: &'static str,
        form: Form,
        description: &'static str,
    ) -> Self {
        self.doc.query.push(Query { name, description, form, is_required: false });
        self
    }

    /// Adds a required query parameter.
    #[must_use]
    pub(crate) fn required_query(
        mut self,
        name: &'static str,
        form: Form,
        description: &'static str,
    ) -> Self {
        self.doc.query.push(Query { name, description, form, is_required: true });
        self
    }

    /// Documents that the items of the list in the responses are of the type `T`. The document then
    /// has a named schema (component) for this type.
    #[must_use]
    pub(crate) fn list_of<T: ToSchema>(self) -> Self {
        self.with_contents(Described::list_of::<T>)
    }

    /// Documents that responses contain this variant of a named schema (component), instead of the
    /// schema itself.
    #[must_use]
    pub(crate) fn variant(self, variant: Variant) -> Self {
        self.with_contents(|described| described.variant(variant))
    }

    fn with_contents(mut self, change: impl Fn(Described) -> Described) -> Self {
        for answer in &mut self.doc.answers {
            for content in &mut answer.contents {
                content.described = change(content.described.clone());
            }
        }
        self
    }

    /// Documents that the operation can exceed a limit of the team's plan, and then responds with
    /// an error.
    #[must_use]
    pub(crate) fn may_exceed_plan(mut self) -> Self {
        self.doc.exceeds_plan = true;
        self
    }

    /// Documents that the operation can respond with 409 (conflict).
    #[must_use]
    pub(crate) fn may_conflict(mut self) -> Self {
        self.doc.conflicts = true;
        self
    }

    /// Documents that the operation can respond with 404 although the path has no parameter.
    #[must_use]
    pub(crate) fn may_be_not_found(mut self) -> Self {
        self.doc.looks_up = true;
        self
    }
}
