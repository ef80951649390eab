//! `api`: sends a request to any endpoint, with the stored credential.

use std::io::Read as _;
use std::path::PathBuf;

use clap::Args;
use percent_encoding::percent_decode_str;
use reqwest::Method;
use serde_json::{Map, Value};
use zeroize::Zeroizing;

use crate::arguments::HiddenArgument;
use crate::failure::{Exit, Failure, Outcome};
use crate::invocation::Invocation;
use crate::service::Request;

/// Options of the command `secrets api`.
#[derive(Debug, Args)]
pub(crate) struct Api {
    /// HTTP method, such as GET.
    #[arg(value_parser = method)]
    method: Method,
    /// Path, such as /projects; /api/v1 is added unless the path begins with it.
    path: String,
    /// Field of the JSON body; a value that is valid JSON is sent as such, others as text.
    #[arg(short, long = "field", value_name = "KEY=VALUE", conflicts_with = "input")]
    fields: Vec<HiddenArgument>,
    /// File with the request body; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Media type of the body in --input.
    #[arg(long, value_name = "TYPE", default_value = "application/json")]
    content_type: String,
}

impl Api {
    /// Sends the request and prints the response.
    pub(crate) async fn run(self, cx: &Invocation) -> Result<Outcome, Failure> {
        let fields = self.fields.iter().map(|argument| field(argument.reveal()));
        let fields = fields.collect::<Result<Map<_, _>, _>>()?;
        let (path, query) = self.path.split_once('?').unwrap_or((&self.path, ""));
        let (segments, query) = (segments(path)?, parameters(query)?);
        let segments: Vec<_> = segments.iter().map(String::as_str).collect();
        let rest = segments.strip_prefix(&["api", "v1"]).unwrap_or(&segments);
        let service = cx.service()?;
        let mut request = Request::new(self.method, rest);
        for (name, value) in &query {
            request = request.query(name, value);
        }
        request = request.header("accept", "*/*");
        if let Some(path) = &self.input {
            request = request.text(read(path)?, self.content_type);
        } else if !fields.is_empty() {
            request = request.json(&fields)?;
        }
        let response = service.send(request).await?;
        cx.output.raw(response.body())?;
        Ok(Outcome::Done)
    }
}

fn method(text: &str) -> Result<Method, String> {
    match text.to_ascii_uppercase().as_str() {
        "GET" => Ok(Method::GET),
        "POST" => Ok(Method::POST),
        "PUT" => Ok(Method::PUT),
        "PATCH" => Ok(Method::PATCH),
        "DELETE" => Ok(Method::DELETE),
        _ => Err("must be GET, POST, PUT, PATCH or DELETE".to_owned()),
    }
}

fn field(text: &str) -> Result<(String, Value), Failure> {
    let form = || Failure::usage("--field: must have the form KEY=VALUE");
    let (name, value) = text.split_once('=').ok_or_else(form)?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
    Ok((name.to_owned(), value))
}

/// Returns the segments of a path, percent-decoded.
fn segments(path: &str) -> Result<Vec<String>, Failure> {
    let segment = |text| {
        let segment = decoded(text)?;
        // They would be removed from the URL, so that the request would change another resource.
        if matches!(&*segment, "." | "..") || segment.contains(char::is_control) {
            return Err(Failure::usage(
                "the path must not contain `.`, `..` or control characters",
            ));
        }
        Ok(segment)
    };
    path.split('/').filter(|segment| !segment.is_empty()).map(segment).collect()
}

/// Returns the names and values of the query parameters, percent-decoded.
fn parameters(query: &str) -> Result<Vec<(String, String)>, Failure> {
    let parameter = |pair: &str| -> Result<_, Failure> {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Ok((decoded(name)?, decoded(value)?))
    };
    query.split('&').filter(|pair| !pair.is_empty()).map(parameter).collect()
}

/// Percent-decodes a text. The request encodes it again, so it must not be encoded twice.
fn decoded(text: &str) -> Result<String, Failure> {
    let is_complete = |rest: &str| {
        let digits = rest.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    let bytes = percent_decode_str(text);
    let decoded = Some(bytes).filter(|_| text.split('%').skip(1).all(is_complete));
    let decoded = decoded.and_then(|bytes| bytes.decode_utf8().ok());
    decoded.map(std::borrow::Cow::into_owned).ok_or_else(|| {
        Failure::usage("the path is not percent-encoded correctly; %25 is a percent sign")
    })
}

/// Reads the body of the request from a file, or from standard input for the path `-`.
fn read(path: &std::path::Path) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let mut bytes = Zeroizing::new(Vec::new());
    let read = if path == std::path::Path::new("-") {
        std::io::stdin().read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|mut file| file.read_to_end(&mut bytes))
    };
    read.map_err(|error| Failure::new(Exit::NoInput, format!("{}: {error}", path.display())))?;
    Ok(bytes)
}
