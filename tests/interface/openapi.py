"""Checks the OpenAPI document, its examples, and responses of the server against its schemas."""

import re

from jsonschema import Draft202012Validator, FormatChecker
from openapi_spec_validator import OpenAPIV31SpecValidator


def check(document, envelope):
    """Checks an OpenAPI document. Returns the number of examples that match their
    schema, and an error message for each mistake."""
    errors = [f"reference without a target: {reference}" for reference in dangling(document)]
    if errors:
        return 0, errors
    errors += [f"not OpenAPI 3.1: {error}" for error in OpenAPIV31SpecValidator(document).iter_errors()]
    if f"`SECRETS_ENVELOPE={envelope}`" not in document["info"]["description"]:
        errors.append(f"the document does not describe the envelope {envelope}")
    valid = 0
    for place, schema, example in examples(document):
        found = [f"{place}: {error}" for error in differences(document, schema, example)]
        errors += found
        valid += not found
    return valid, errors


def dangling(document):
    """Yields each reference (`$ref`) whose target does not exist in the document."""
    for reference in references(document):
        target = {"#": document}
        for name in reference.split("/"):
            target = target.get(name, {})
        if not target:
            yield reference


def references(part):
    """Yields all references (`$ref`) in a part of the document."""
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            yield from references(inner)


def differences(document, schema, value):
    """Yields an error message for each rule of a schema that a value breaks."""
    # References are resolved in the document.
    whole = {"components": document["components"], **schema}
    for error in Draft202012Validator(whole, format_checker=FormatChecker()).iter_errors(value):
        yield f"{error.json_path}: {error.message}"


def check_response(document, method, path, status, body):
    """Compares a response of the server with the OpenAPI document. Returns the method
    and path template of the operation, and an error message for each difference. `body`
    is `None` if the response has no body.
    """
    template = find_path(document, path)
    operation = f"{method} {template}"
    response = document["paths"][template][method.lower()]["responses"][str(status)]
    content = response.get("content", {}).get("application/json")
    if content is None or body is None:
        is_missing = content is not None or body is not None
        return operation, [f"{operation}: {status}: body or schema is missing"] * is_missing
    found = differences(document, content["schema"], body)
    return operation, [f"{operation}: {status}: {line}" for line in found]


def find_path(document, path):
    """Returns the path template in the document that matches a path. If several match, returns the
    template with the fewest parameters."""
    templates = sorted(document["paths"], key=lambda template: template.count("{"))
    for template in templates:
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), path):
            return template
    raise KeyError(path)


def examples(document):
    """Yields each example in the document: its position as a string, its schema, and
    its value."""
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            place = f"{method.upper()} {path}"
            messages = {"request": operation.get("requestBody", {}), **operation["responses"]}
            for name, message in messages.items():
                for media, content in message.get("content", {}).items():
                    if "example" in content:
                        yield f"{place}: {name} {media}", content["schema"], content["example"]
                    yield from in_schema(f"{place}: {name} {media}", content["schema"])
            for parameter in operation["parameters"]:
                yield from in_schema(f"{place}: {parameter['name']}", parameter["schema"])
    for name, schema in document["components"]["schemas"].items():
        yield from in_schema(name, schema)


def in_schema(place, schema):
    """Yields each example in a schema and its parts: its position (which begins with
    `place`), its schema, and its value."""
    if isinstance(schema, dict):
        if "example" in schema:
            yield place, schema, schema["example"]
        for name, part in schema.items():
            if name != "example":
                yield from in_schema(f"{place}.{name}", part)
    elif isinstance(schema, list):
        for part in schema:
            yield from in_schema(place, part)
