//! Lists of objects that the service returns, written as tables or JSON.

use comfy_table::{ContentArrangement, Table, presets};
use serde_json::Value;

use super::{Output, printable, time};
use crate::arguments::OutputFormat;
use crate::failure::Failure;

/// Column of a table: a title, and the field of each object that is shown in the column. Dots
/// separate the names of nested fields.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    /// Title of the column, in capitals.
    pub(crate) title: &'static str,
    /// Field that the column shows, such as `name` or `owner.email`.
    pub(crate) field: &'static str,
    /// True if the field is a time.
    pub(crate) is_time: bool,
}

impl Column {
    /// Creates a column for strings, numbers, booleans and lists of them.
    pub(crate) const fn new(title: &'static str, field: &'static str) -> Self {
        Self { title, field, is_time: false }
    }

    /// Creates a column for times.
    pub(crate) const fn time(title: &'static str, field: &'static str) -> Self {
        Self { title, field, is_time: true }
    }

    /// Returns the text that this column shows for an object.
    pub(crate) fn text(&self, object: &Value) -> String {
        let text = cell(object, self.field);
        if self.is_time { time::short(&text) } else { text }
    }
}

impl Output {
    /// Writes the list in the field `field` of a response (or the response itself, if it has no
    /// such field) as a table; with the output format `name` only the first column, with `json` the
    /// whole response.
    pub(crate) fn list(
        &self,
        response: &Value,
        field: &str,
        columns: &[Column],
    ) -> Result<(), Failure> {
        let rows = response.get(field).or(Some(response)).and_then(Value::as_array);
        let rows = rows.map(Vec::as_slice).unwrap_or_default();
        match self.format {
            OutputFormat::Json => self.json(response),
            OutputFormat::Name => {
                let name = columns.first().map_or("", |column| column.field);
                rows.iter().try_for_each(|row| self.line(&cell(row, name)))
            }
            OutputFormat::Table => {
                let cells = rows.iter().map(|row| columns.iter().map(|c| c.text(row)).collect());
                self.table(&columns.iter().map(|column| column.title).collect::<Vec<_>>(), cells)
            }
        }
    }

    /// Writes a table with aligned columns. Writes nothing, not even the titles, if there are no
    /// rows.
    pub(crate) fn table(
        &self,
        titles: &[&str],
        rows: impl Iterator<Item = Vec<String>>,
    ) -> Result<(), Failure> {
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(titles);
        for row in rows {
            table.add_row(row);
        }
        if table.row_count() == 0 {
            return Ok(());
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        table.lines().try_for_each(|line| self.line(line.trim_end()))
    }
}

/// Returns a field of an object as text, without characters that control a terminal.
pub(crate) fn cell(object: &Value, field: &str) -> String {
    let value = field.split('.').try_fold(object, |value, name| value.get(name));
    printable(&text(value.unwrap_or(&Value::Null)))
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
