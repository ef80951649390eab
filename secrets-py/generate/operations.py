"""Generates the typed methods of all operations for Python and TypeScript.

    secrets-http openapi | operations.py [--python FOLDER] [--typescript FILE]

The OpenAPI document is the only input, so that the methods match the routes. An operation such as
`secret.get` becomes the method `get` of the namespace `secret`. A method returns the output of the
operation, without the named field (envelope) of the HTTP response that contains it.
"""

import argparse
import json
import re
import sys
import textwrap
from dataclasses import dataclass, replace
from keyword import iskeyword
from pathlib import Path

# Endpoints that only HTTP has: they are not operations of the service.
OF_THE_HOST = {
    "health": "health check of the process, for load balancers",
    "liveness": "liveness check of the process, for orchestrators",
    "greeting": "greeting",
    "sign_in.config": "ways in which browsers sign in",
    "openapi.document": "the OpenAPI document itself",
    "environment.watch": "a stream that never ends",
    "project.watch": "a stream that never ends",
}

# Parameters for the encoding of HTTP bodies. Method calls use objects instead.
OF_HTTP = {("audit.list", "format"), ("secret.import", "format")}

# Paths of operations that another path also offers: the log of one team is a filter on the audit log.
NARROWER = {"/api/v1/teams/{teamId}/audit"}

# Fields with secret values, which must not appear in a log.
HIDDEN = {"value", "token", "secret", "access_token", "device_code", "accept_url"}

# Examples for the documentation, run by the tests with a signed-in `session` that has the project
# `shop` and its environment `staging`.
EXAMPLES = {
    "project.create": """
        >>> project = session.project.create(name="Web API")
        >>> project["slug"]
        'web-api'
    """,
    "secret.create": """
        >>> secret = session.secret.create(
        ...     project="shop", environment="staging", key="API_KEY", value="kvc_1")
        >>> secret["version"]
        1
    """,
    "secret.get": """
        >>> secret = session.secret.get(project="shop", environment="staging", key="URL")
        >>> secret["value"]
        <hidden>
        >>> print(secret["value"])
        https://shop.example.com
    """,
    "secret.update": """
        >>> secret = session.secret.update(
        ...     project="shop", environment="staging", key="URL", value="https://example.com")
        >>> secret["version"]
        2
    """,
    "secret.export": """
        >>> for secret in session.secret.export(project="shop", environment="staging"):
        ...     print(secret["key"], secret["value"])
        URL https://shop.example.com
        >>> text = session.secret.export(
        ...     project="shop", environment="staging", format="json")
        >>> print(text, end="")
        {
          "URL": "https://shop.example.com"
        }
    """,
    "token.create": """
        >>> token = session.token.create(
        ...     name="deploy", all_projects=True, permissions=["read"], expires_in_days=90)
        >>> token["token"].startswith("env_")
        True
    """,
}

# Descriptions of namespaces, for nouns without a regular plural.
ABOUT = {
    "account": "Operations on the caller's account.",
    "audit": "Operations on the audit log.",
    "billing": "Operations on the billing of a team.",
    "cli_session": "Operations on command-line sessions.",
    "eso": "Operations with which the External Secrets Operator for Kubernetes reads secrets.",
    "device_login": "Operations on device logins, with which a user signs in a command-line client (RFC 8628).",
    "finding": "Operations on the findings of scans.",
    "member": "Operations on the members of a team.",
    "permission": "Operations on the permissions of team members in environments.",
    "permission_defaults": "Operations on the default permissions of team members.",
    "token": "Operations on service tokens.",
    "usage": "Operations on the usage of a team, compared with the limits of its plan.",
}

# Methods of the Python package that read all pages of a list: their name, summary, item type and
# parameters that they set themselves, and the end of their loop.
ITERATORS = {
    "audit.list": (
        "iterate", "Iterate over the entries of the audit log, page by page", "types.AuditEntry",
        ("cursor",), ['cursor = page.get("next_cursor")', "if cursor is None:", "    return"],
    ),
    "secret.history": (
        "iterate_history", "Iterate over the previous versions of a secret, newest first",
        "types.SecretVersion", (), ["if not page:", "    return", 'before = page[-1]["version"]'],
    ),
}

# Method of the Python package that returns secrets as a mapping.
VALUES_ASYNC = (("def", ""), ("async def", "await "))
VALUES = '''\
{0} values(self, *, project: str, environment: str) -> dict[str, Hidden]:
    """Export all secrets of an environment as a dict of values by key.

    Requires a user credential or a service token.

    ``project``: project ID or slug.
    ``environment``: environment ID or name.
    """
    exported = {1}self.export(project=project, environment=environment)
    return {{secret["key"]: secret["value"] for secret in exported}}'''

FORMATS = ["dotenv", "docker", "shell", "json", "yaml", "csv", "k8s"]


@dataclass
class Parameter:
    name: str
    schema: dict
    about: str
    place: str
    is_required: bool
    # True if null and a missing parameter have different meanings.
    is_null_said: bool = False


@dataclass
class Operation:
    name: str
    method: str
    template: str
    parameters: list
    has_body: bool
    envelope: str
    result: dict
    is_file: bool
    summary: str
    callers: str
    # Content types of the output.
    media: list

    noun = property(lambda self: self.name.partition(".")[0])
    verb = property(lambda self: self.name.partition(".")[2])


class Document:
    """OpenAPI document: its operations, and the schemas in `components`."""

    def __init__(self, document):
        self.named = document["components"]["schemas"]
        self.operations = {}
        for template, methods in document["paths"].items():
            for method, row in methods.items():
                if row["x-operation"] not in OF_THE_HOST and template not in NARROWER:
                    self.add(method.upper(), template, row)

    def add(self, method, template, row):
        name = row["x-operation"]
        assert name not in self.operations, f"{name}: duplicate operation"
        template, places = named_path(template)
        bodies = row.get("requestBody", {}).get("content", {})
        body = bodies.get("application/json", {}).get("schema")
        optional = not row.get("requestBody", {}).get("required", False)
        parameters = [
            *(self.of_path(row, original, given) for original, given in places),
            *self.of_body(name, body, optional),
        ]
        taken = {parameter.name for parameter in parameters}
        for one in row["parameters"]:
            if one["in"] == "query" and one["name"] not in taken and (name, one["name"]) not in OF_HTTP:
                parameters.append(Parameter(
                    one["name"], one["schema"], one["description"], "query", one["required"]))
        assert len({p.name for p in parameters}) == len(parameters), f"{name}: duplicate parameter"
        parameters.sort(key=lambda parameter: not parameter.is_required)
        envelope, result, is_file = self.answer(row["responses"])
        self.operations[name] = Operation(
            name, method, template, parameters, body is not None, envelope, result, is_file,
            row["summary"], row.get("description", ""), self.media(row["responses"]))

    @staticmethod
    def media(responses):
        """Returns the content types of the successful response."""
        return list(next(one for status, one in responses.items() if status < "300").get("content", {}))

    def of_path(self, row, original, given):
        one = next(p for p in row["parameters"] if p["in"] == "path" and p["name"] == original)
        return Parameter(given, one["schema"], one["description"], "path", True)

    def of_body(self, name, body, optional):
        if body is None:
            return
        # The first alternative is the request object; the others are shorthands for HTTP only.
        body = self.resolved(body.get("anyOf", [body])[0])
        for field, schema in body["properties"].items():
            required = field in body.get("required", []) and not optional
            about = self.about(schema)
            yield Parameter(field, schema, about, "body", required, "`null`" in about)

    def answer(self, responses):
        status = next(status for status in responses if status < "300")
        contents = responses[status].get("content", {})
        if "application/octet-stream" in contents:
            return None, {"type": "string"}, True
        if not contents:
            return None, None, False
        schema = contents["application/json"]["schema"]
        schema = schema.get("anyOf", [schema])[0]
        names = list(schema.get("properties", {}))
        if len(names) == 1 and schema.get("required") == names and "description" not in schema:
            return names[0], schema["properties"][names[0]], False
        return None, schema, False

    def resolved(self, schema):
        if "$ref" in schema:
            return self.resolved(self.named[schema["$ref"].rpartition("/")[2]])
        if "allOf" in schema:
            parts = [self.resolved(part) for part in schema["allOf"]]
            return {
                **schema, "type": "object",
                "properties": {k: v for part in parts for k, v in part["properties"].items()},
                "required": [field for part in parts for field in part.get("required", [])],
            }
        return schema

    def about(self, schema):
        if "description" in schema:
            return " ".join(schema["description"].split())
        for one in schema.get("oneOf", []):
            if "description" in one:
                return self.about(one)
        if "$ref" in schema:
            return self.about(self.resolved(schema))
        return ""


def named_path(template):
    """Replaces the parameter names in a path template, such as `projectId`, by the input fields,
    such as `project`. Returns the new template and the pairs of old and new names."""
    places = []

    def name(match):
        original = match[1]
        # `id` is named after the collection before it.
        collection = re.search(r"/([a-z]+)s/\{id\}", template)
        given = collection[1] if original == "id" else re.sub(r"(Id|Name)$", "", original)
        given = re.sub(r"(?<=[a-z])([A-Z])", r"_\1", given).lower()
        places.append((original, given))
        return "{" + given + "}"

    return re.sub(r"\{(\w+)\}", name, template), places


def pascal(name):
    return "".join(word.capitalize() for word in name.split("_"))


def camel(name):
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


class Types:
    """Input and output types of the operations. A subclass declares them in Python or
    TypeScript."""

    def __init__(self, document):
        self.document = document
        self.of_inputs = set()
        self.declared = {}
        for operation in document.operations.values():
            for parameter in operation.parameters:
                self.collect(parameter.schema)
        for operation in document.operations.values():
            if operation.result:
                self.result(operation)

    def collect(self, schema):
        """Adds the named types used in an input to `of_inputs`. The fields of these types are plain
        strings, not `Hidden`, because the caller sets them."""
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            if name not in self.of_inputs:
                self.of_inputs.add(name)
                self.collect(self.document.named[name])
            return
        for part in [*schema.get("oneOf", []), *schema.get("allOf", []), *schema.get("anyOf", [])]:
            self.collect(part)
        for part in schema.get("properties", {}).values():
            self.collect(part)
        if "items" in schema:
            self.collect(schema["items"])

    def result(self, operation):
        """Returns the result type of an operation."""
        if operation.result is None:
            return self.nothing
        if operation.is_file:
            return self.file
        return self.of(operation.result)

    def of(self, schema, field=""):
        if "$ref" in schema:
            return self.reference(schema["$ref"].rpartition("/")[2], field)
        kinds = schema.get("oneOf") or schema.get("anyOf")
        if kinds and not (schema.get("type") == "string"):
            return self.either([self.of(kind, field) for kind in kinds])
        if "enum" in schema:
            return self.literals(schema["enum"])
        if "const" in schema:
            return self.literals([schema["const"]])
        kind = schema.get("type")
        if isinstance(kind, list):
            return self.either([self.of({**schema, "type": one}, field) for one in kind])
        if kind == "array":
            return self.list(self.of(schema["items"]))
        if kind == "object":
            if "properties" in schema:
                sys.exit(f"object type without a name: {sorted(schema['properties'])}")
            values = schema.get("additionalProperties")
            # A map of values by key.
            inner = self.of(values, "value" if field == "secrets" else "") if values else self.anything
            return self.map(inner)
        if kind == "string" and field in HIDDEN:
            return self.hidden
        return self.plain[kind]

    def reference(self, name, field):
        schema = self.document.resolved(self.document.named[name])
        kinds = schema.get("oneOf", [])
        if any("properties" in kind for kind in kinds):
            self.declare_kinds(name, schema, kinds)
            return name
        if "properties" in schema:
            self.declare(name, schema)
            return name
        if "enum" in schema:
            self.declare(name, schema)
            return name
        return self.of(schema, field)

    def declare_kinds(self, name, schema, kinds):
        """Declares a type for each object of a union, and the union. The field `type` tells the
        objects apart."""
        if name in self.declared:
            return
        names = [name + pascal(kind["properties"]["type"]["enum"][0]) for kind in kinds]
        self.declared[name] = ({**schema, "kinds": names}, [])
        if name in self.of_inputs:
            self.of_inputs.update(names)
        for kind, schema in zip(names, kinds):
            self.declare(kind, schema)

    def declare(self, name, schema):
        if name in self.declared:
            return
        self.declared[name] = None
        fields = []
        for field, one in schema.get("properties", {}).items():
            hidden = "" if name in self.of_inputs else field
            of = self.of(one, hidden)
            is_required = field in schema.get("required", [])
            fields.append((field, of, is_required, self.document.about(one)))
        self.declared[name] = (schema, fields)


class Python(Types):
    nothing, file, anything, hidden = "None", "bytes", "Any", "Hidden"
    plain = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}

    @staticmethod
    def list(of):
        return f"list[{of}]"

    @staticmethod
    def map(of):
        return f"dict[str, {of}]"

    @staticmethod
    def literals(known):
        return "Literal[" + ", ".join(json.dumps(one) if isinstance(one, str) else str(one) for one in known) + "]"

    @staticmethod
    def either(kinds):
        return " | ".join(dict.fromkeys(kinds))


class TypeScript(Types):
    nothing, file, anything, hidden = "void", "Uint8Array", "unknown", "string"
    plain = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}

    @staticmethod
    def list(of):
        return f"({of})[]" if "|" in of else f"{of}[]"

    @staticmethod
    def map(of):
        return f"Record<string, {of}>"

    @staticmethod
    def literals(known):
        return " | ".join(json.dumps(one) for one in known)

    @staticmethod
    def either(kinds):
        return " | ".join(dict.fromkeys(kinds))


NOTE = "Generated by secrets-py/generate/operations.py from the OpenAPI document. Do not edit."


def python_types(types):
    lines = [
        f'"""Input and output types of the operations.\n\n{NOTE}\n"""', "",
        "from __future__ import annotations", "", "import sys",
        "from typing import TYPE_CHECKING, Any, Literal, TypeAlias", "",
        "from ._hidden import Hidden", "",
        "if sys.version_info >= (3, 12):", "    from typing import NotRequired, TypedDict",
        "elif TYPE_CHECKING:", "    from typing_extensions import NotRequired, TypedDict",
        "else:", "    try:",
        "        # Required by pydantic before Python 3.12.",
        "        from typing_extensions import NotRequired, TypedDict",
        "    except ImportError:", "        from typing import TypedDict", "",
        "        if sys.version_info >= (3, 11):", "            from typing import NotRequired", "",
    ]
    names = sorted(types.declared)
    lines += ["__all__ = [", *(f'    "{name}",' for name in names), "]"]
    # Aliases are evaluated when the module is imported, so they come before the classes.
    for name in sorted(names, key=lambda name: ("enum" not in types.declared[name][0], name)):
        schema, fields = types.declared[name]
        about = " ".join(schema.get("description", "").split())
        if "kinds" in schema:
            lines += ["", f'{name}: TypeAlias = "{" | ".join(schema["kinds"])}"', *doc(about, "")]
            continue
        if "enum" in schema:
            lines += ["", *wrapped(f"{name} = {types.literals(schema['enum'])}", ""), *doc(about, "")]
            continue
        fields = [
            (field, of if is_required else f"NotRequired[{of}]", description)
            for field, of, is_required, description in fields
        ]
        if any(iskeyword(field) for field, _, _ in fields):
            lines += functional(name, about, fields)
            continue
        lines += ["", "", f"class {name}(TypedDict):", *doc(about or "Typed dictionary.", "    ")]
        for field, of, description in fields:
            assert field.isidentifier(), f"{name}.{field}"
            lines += ["", f"    {field}: {of}", *doc(description, "    ")]
    return "\n".join(lines) + "\n"


def functional(name, about, fields):
    """Returns the lines of a `TypedDict(...)` call that declares a type. Unlike the class syntax,
    the call allows Python keywords as field names."""
    lines = ["", "", f"{name} = TypedDict(", f'    "{name}",', "    {"]
    for field, of, description in fields:
        about_field = [f"        # {line}" for line in textwrap.wrap(description, 88)]
        lines += [*about_field, f'        "{field}": "{of}",']
    return [*lines, "    },", ")", *doc(about, "")]


def wrapped(line, indent):
    if len(line) <= 100:
        return [indent + line]
    head, _, rest = line.partition("[")
    inner = textwrap.wrap(rest.removesuffix("]"), 90)
    return [f"{indent}{head}[", *(f"{indent}    {one}" for one in inner), f"{indent}]"]


def doc(text, indent):
    if not text:
        return []
    if len(indent) + len(text) + 6 <= 100:
        return [f'{indent}"""{text}"""']
    first, *rest = textwrap.wrap(text, 96 - len(indent))
    return [f'{indent}"""{first}', *(indent + line for line in rest), f'{indent}"""']


def identifier(name):
    return f"{name}_" if iskeyword(name) else name


def docstring(operation):
    lines = [f"{operation.summary}."]
    if operation.callers:
        callers = operation.callers.replace("`", "``").replace("````", "``")
        lines += ["", *textwrap.wrap(callers, 90)]
    described = [p for p in operation.parameters if p.about]
    if described:
        lines.append("")
    for parameter in described:
        about = parameter.about
        if not (about[:2].isalpha() and about[:2].isupper()):
            about = about[0].lower() + about[1:]
        text = f"``{identifier(parameter.name)}``: {about.rstrip('.').replace('`', '``').replace('````', '``')}."
        lines += textwrap.wrap(text, 90, subsequent_indent="    ")
    if operation.name in EXAMPLES:
        lines += ["", *textwrap.dedent(EXAMPLES[operation.name]).strip().splitlines()]
    if len(lines) == 1:
        return [f'        """{lines[0]}"""']
    return [f'        """{lines[0]}', *(f"        {line}".rstrip() for line in lines[1:]), '        """']


def python_method(operation, types, is_async):
    result = qualified(types.result(operation), types)
    define = "    async def" if is_async else "    def"
    await_ = "await " if is_async else ""
    signature = python_signature(operation, types)
    name = identifier(operation.verb)
    lines = []
    if operation.name == "secret.export":
        for default, made in (("None = None", result), ("types.Format", "Hidden")):
            lines += [
                "    @overload", f"{define} {name}(", "        self,", "        *,",
                *(line.replace("format: types.Format | None = None", f"format: {default}") for line in signature),
                f"    ) -> {made}: ...", "",
            ]
        result = f"{result} | Hidden"
    if signature:
        lines += [f"{define} {name}(", "        self,", "        *,", *signature, f"    ) -> {result}:"]
    else:
        lines += [f"{define} {name}(self) -> {result}:"]
    lines += docstring(operation)
    required = [p for p in operation.parameters if p.is_required]
    optional = [p for p in operation.parameters if not p.is_required]
    call = [f"{await_}self._call(", f'    "{operation.name}",', "    {"]
    call += [f'        "{p.name}": {identifier(p.name)},' for p in required]
    call += [
        f'        **{"said" if p.is_null_said else "given"}("{p.name}", {identifier(p.name)}),'
        for p in optional
    ]
    call += ["    },", ")"]
    if not required and not optional:
        call = [f'{await_}self._call("{operation.name}", {{}})']
    if operation.result is None:
        return lines + [f"        {line}" for line in call]
    if operation.is_file:
        call = ["made: str = " + call[0], *call[1:], "return b64decode(made)"]
    elif operation.name == "secret.export":
        call = [f"made: {result.removesuffix(' | Hidden')} | dict[str, Hidden] = " + call[0], *call[1:],
                'return made["text"] if isinstance(made, dict) else made']
    else:
        call = [f"made: {result} = " + call[0], *call[1:], "return made"]
    return lines + [f"        {line}" for line in call]


def python_iterator(operation, types, is_async):
    """Returns the lines of a method that iterates over all pages of a list operation; no lines for
    other operations."""
    if operation.name not in ITERATORS:
        return []
    name, about, item, left_out, end = ITERATORS[operation.name]
    parameters = [p for p in operation.parameters if p.name not in left_out]
    of = replace(operation, parameters=parameters, summary=about)
    define = "    async def" if is_async else "    def"
    kind = "AsyncIterator" if is_async else "Iterator"
    loop = ["    for one in {}:", "        yield one"] if is_async else ["    yield from {}"]
    passed = [f"{identifier(p.name)}={identifier(p.name)}" for p in parameters if p.name != "before"]
    passed += [f"{name}={name}" for name in (*left_out, "before") if name in ("cursor", "before")
               and any(p.name == name for p in operation.parameters)]
    call = f"{'await ' if is_async else ''}self.{operation.verb}("
    body = ["cursor: str | None = None"] if "cursor" in left_out else []
    body += ["while True:", f"    page = {call}", *(f"        {one}," for one in passed), "    )"]
    body += [line.format('page["logs"]' if "cursor" in left_out else "page") for line in loop]
    body += [f"    {line}" for line in end]
    return ["", f"{define} {name}(", "        self,", "        *,", *python_signature(of, types),
            f"    ) -> {kind}[{item}]:", *docstring(of), *(f"        {line}" for line in body)]


def python_signature(operation, types):
    lines = []
    for parameter in operation.parameters:
        of = types.of(parameter.schema)
        if parameter.name == "format":
            of = "Format"
        of = qualified(of, types)
        if parameter.schema.get("format") == "date-time":
            of = types.either([*of.split(" | "), "datetime"])
        if not parameter.is_required:
            of = types.either([*of.split(" | "), "None"])
            of += " | Unset = UNSET" if parameter.is_null_said else " = None"
        lines.append(f"        {identifier(parameter.name)}: {of},")
    return lines


def qualified(of, types):
    """Replaces type names by `types.NAME`, and `list[...]` by `builtins.list[...]`: in a class with
    a method `list`, the name `list` means the method."""
    of = of.replace("list[", "builtins.list[")
    return re.sub(r"\b[A-Z]\w+\b", lambda m: f"types.{m[0]}" if m[0] in types.declared else m[0], of)


def python_operations(document, types, is_async):
    prefix, about, gives = "", "", "Any"
    if is_async:
        prefix, about, gives = "Async", " for asyncio", "Awaitable[Any]"
    call = f"Callable[[str, dict[str, Any]], {gives}]"
    lines = [
        f'"""Operations{about}: a namespace for each noun, a method for each verb.\n\n{NOTE}\n"""', "",
        "from __future__ import annotations", "", "import builtins", "from base64 import b64decode",
        f"from collections.abc import {'AsyncIterator, Awaitable, Callable' if is_async else 'Callable, Iterator'}",
        "from datetime import datetime",
        "from typing import Any, Literal, overload", "",
        "from . import types", "from ._hidden import Hidden", "from ._input import UNSET, Unset, given, said",
    ]
    for noun, operations in nouns(document):
        lines += ["", "", f"class {prefix}{pascal(noun)}Operations:", *doc(about_noun(noun), "    ")]
        lines += ["", '    __slots__ = ("_call",)', "", f"    def __init__(self, call: {call}) -> None:",
                  "        self._call = call"]
        for operation in operations:
            lines += ["", *python_method(operation, types, is_async)]
            lines += python_iterator(operation, types, is_async)
        if noun == "secret":
            lines += ["", *textwrap.indent(VALUES.format(*VALUES_ASYNC[is_async]), "    ").split("\n")]
    lines += ["", "", f"class {prefix}Operations:", f'    """All operations{about}, grouped into namespaces such as `secret`. Each is an attribute."""', ""]
    lines += [f"    {noun}: {prefix}{pascal(noun)}Operations" for noun, _ in nouns(document)]
    lines += ["", f"    def __init__(self, call: {call}) -> None:"]
    lines += [f"        self.{noun} = {prefix}{pascal(noun)}Operations(call)" for noun, _ in nouns(document)]
    return "\n".join(lines) + "\n"


def about_noun(noun):
    return ABOUT.get(noun, f"Operations on {noun.replace('_', ' ')}s.")


def nouns(document):
    found = {}
    for operation in document.operations.values():
        found.setdefault(operation.noun, []).append(operation)
    return sorted((noun, sorted(all, key=lambda one: one.verb)) for noun, all in found.items())


def python_endpoints(document):
    lines = [
        f'"""HTTP endpoints of the operations.\n\n{NOTE}\n"""', "",
        "from __future__ import annotations", "", "from typing import NamedTuple", "", "",
        "class Endpoint(NamedTuple):", '    """HTTP endpoint of an operation."""', "",
        "    method: str", "    template: str", '    """Path, with field names in braces."""',
        "    query: tuple[str, ...]", '    """Input fields sent in the query; the others are in the body."""',
        "    has_body: bool", "    has_output: bool", '    """False if the response has no body."""',
        "    envelope: str | None", '    """Name of the response field that contains the output."""',
        "", "", "ENDPOINTS = {",
    ]
    for name, one in sorted(document.operations.items()):
        query = tuple(p.name for p in one.parameters if p.place == "query")
        lines += [f'    "{name}": Endpoint(', f"        {json.dumps(one.method)},",
                  f"        {json.dumps(one.template)},",
                  "        (" + ", ".join(json.dumps(q) for q in query) + ("," if len(query) == 1 else "") + "),",
                  f"        {one.has_body},", f"        {one.result is not None},",
                  f"        {json.dumps(one.envelope) if one.envelope else None},", "    ),"]
    return "\n".join([*lines, "}"]) + "\n"


def javascript_endpoints(document):
    lines = [
        f"// {NOTE}", "",
        "// HTTP endpoint of each operation: method, path with field names in braces, fields sent in the query,",
        "// whether the other fields are sent as a body, the response field that contains the output, the form of",
        "// the output (null if there is none), and the content types of a text if a field `format` asks for one.",
        "export const ENDPOINTS = {",
    ]
    for name, one in sorted(document.operations.items()):
        query = [p.name for p in one.parameters if p.place == "query"]
        row = {"method": one.method, "path": one.template, "query": query, "hasBody": one.has_body,
               "envelope": one.envelope, "output": javascript_output(document, one)}
        if any(p.name == "format" for p in one.parameters):
            row["texts"] = one.media
        fields = ", ".join(f"{field}: {json.dumps(value)}" for field, value in row.items())
        lines += [f'  "{name}": {{ {fields} }},']
    return "\n".join([*lines, "};"]) + "\n"


def javascript_output(document, operation):
    """Returns the kind of value that the JavaScript client expects as an operation's output:
    `object`, `array`, `file`, or `None` for no output."""
    if operation.result is None:
        return None
    if operation.is_file:
        return "file"
    schema = document.resolved(operation.result)
    if schema.get("type") == "array":
        return "array"
    assert "properties" in schema or "oneOf" in schema, f"{operation.name}: neither an object nor an array"
    return "object"


def typescript_input(operation, types, **others):
    """Returns the TypeScript declaration of an operation's input. `others` has the declarations
    that replace the generated ones, by parameter name."""
    if not operation.parameters:
        return "input?: Record<string, never>"
    fields = []
    for p in operation.parameters:
        mark = "" if p.is_required else "?"
        date = " | Date" if p.schema.get("format") == "date-time" else ""
        fields.append(others.get(p.name) or f"{p.name}{mark}: {types.of(p.schema)}{date};")
    mark = "" if any(p.is_required for p in operation.parameters) else "?"
    return f"input{mark}: {{ {' '.join(fields)} }}"


def typescript(document, types):
    lines = [
        f"// {NOTE}", "", "/** Options of the call of an operation. */", "export interface CallOptions {",
        "  /**", "   * Cancels the call, which then rejects with the reason of the signal. A call of a service in memory is",
        "   * only cancelled before it begins.", "   */",
        "  signal?: AbortSignal | undefined;", "}", "",
    ]
    body = []
    for noun, operations in nouns(document):
        body += ["", f"/** {about_noun(noun)} */", f"export interface {pascal(noun)}Operations {{"]
        for operation in operations:
            result = "string" if operation.is_file else types.result(operation)
            signatures = [(typescript_input(operation, types), result)]
            if operation.name == "secret.export":
                # A list without a format, a text with a format, and either if the type allows both.
                formats = types.of(next(p.schema for p in operation.parameters if p.name == "format"))
                text = "{ text: string }"
                signatures = [
                    (typescript_input(operation, types, format=f"format{declared}"), output)
                    for declared, output in [
                        ("?: undefined;", result),
                        (f": {formats};", text),
                        (f"?: {formats} | undefined;", f"{result} | {text}"),
                    ]
                ]
            for given, result in signatures:
                encoding = " Returns base64." if operation.is_file else ""
                body += [f"  /** {operation.summary}.{encoding} `{operation.name}` */",
                         f"  {camel(operation.verb)}({given}, options?: CallOptions): Promise<{result}>;"]
        body += ["}"]
    body += ["", "/** All operations, grouped into namespaces such as `secret`. */", "export interface Operations {"]
    body += [f"  {camel(noun)}: {pascal(noun)}Operations;" for noun, _ in nouns(document)]
    body += ["}", "", "/** Name of an operation, for `call`. */",
             "export type OperationName ="]
    names = sorted(document.operations)
    body += [f'  | "{name}"' for name in names[:-1]] + [f'  | "{names[-1]}";']
    for name in sorted(types.declared):
        schema, fields = types.declared[name]
        about = " ".join(schema.get("description", "").split())
        lines += [f"/** {about} */"] if about else []
        if "kinds" in schema:
            lines += [f"export type {name} = {' | '.join(schema['kinds'])};", ""]
            continue
        if "enum" in schema:
            lines += [f"export type {name} = {types.literals(schema['enum'])};", ""]
            continue
        lines += [f"export interface {name} {{"]
        for field, of, is_required, description in fields:
            lines += [f"  /** {description} */"] if description else []
            lines += [f"  {field}{'' if is_required else '?'}: {of};"]
        lines += ["}", ""]
    return "\n".join([*lines[:-1], *body]) + "\n"


def main():
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--python", type=Path, metavar="FOLDER", help="folder of the Python package")
    arguments.add_argument("--typescript", type=Path, metavar="FILE", help="declarations to write; endpoints.js is written beside them")
    chosen = arguments.parse_args()
    text = sys.stdin.read()
    if chosen.python:
        document = Document(json.loads(text))
        types = Python(document)
        types.declared["Format"] = ({"enum": FORMATS, "description": "Output format of secrets."}, [])
        operations = python_operations(document, types, is_async=False)
        (chosen.python / "_operations.py").write_text(operations)
        operations = python_operations(document, types, is_async=True)
        (chosen.python / "_async_operations.py").write_text(operations)
        (chosen.python / "types.py").write_text(python_types(types))
        (chosen.python / "_endpoints.py").write_text(python_endpoints(document))
    if chosen.typescript:
        document = Document(json.loads(text))
        chosen.typescript.write_text(typescript(document, TypeScript(document)))
        chosen.typescript.with_name("endpoints.js").write_text(javascript_endpoints(document))


if __name__ == "__main__":
    main()
