"""Checks the examples of the OpenAPI document against their schemas."""

from jsonschema import Draft202012Validator, FormatChecker


def check(document):
    """Returns the number of valid examples, and a line for each invalid example."""
    valid, invalid = 0, []
    for place, schema, example in examples(document):
        # References are resolved in the document.
        whole = {"components": document["components"], **schema}
        errors = Draft202012Validator(whole, format_checker=FormatChecker()).iter_errors(example)
        found = [f"{place}: {error.json_path}: {error.message}" for error in errors]
        invalid += found
        valid += not found
    return valid, invalid


def examples(document):
    """Yields place, schema and value of each example: of bodies, of parameters and of schemas."""
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            place = f"{method.upper()} {path}"
            messages = {"request": operation.get("requestBody", {}), **operation["responses"]}
            for name, message in messages.items():
                for media, content in message.get("content", {}).items():
                    if "example" in content:
                        yield f"{place}: {name} {media}", content["schema"], content["example"]
            for parameter in operation["parameters"]:
                yield from in_schema(f"{place}: {parameter['name']}", parameter["schema"])
    for name, schema in document["components"]["schemas"].items():
        yield from in_schema(name, schema)


def in_schema(place, schema):
    """Yields the examples in a schema and in its parts."""
    if isinstance(schema, dict):
        if "example" in schema:
            yield place, schema, schema["example"]
        for name, part in schema.items():
            if name != "example":
                yield from in_schema(f"{place}.{name}", part)
    elif isinstance(schema, list):
        for part in schema:
            yield from in_schema(place, part)
