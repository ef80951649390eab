"""Checker of histories of a secret: decides if a service that executes one request at a time could have
given the same responses, in an order in which each request is executed between its start and its
response (linearizability).

The algorithm is the one of Wing and Gong in Lowe's just-in-time form ("Testing for linearizability",
2016). It follows the history in the order of time with the set of all possible configurations. A
configuration consists of the state of the secret and of the open operations that are already executed.
When an operation ends, each configuration in which the operation is not executed is replaced by those
that execute it after any sequence of other open operations. The history is not linearizable if no
configuration is left. While no operation is open, a configuration is only a state, so the effort grows
with the number of concurrent operations and not with the length of the history.

An operation without a response never ends: it can be executed at any time after its start, or never.
"""

import bisect
import time

# Number of previous versions of a secret that the service keeps.
KEPT = 100

# Result of an operation without a response.
UNKNOWN = "unknown"

# Results of operations that change nothing.
ABSENT, EXISTS, CONFLICT, NO_VERSION = "no secret", "exists already", "version conflict", "no such version"

READS = {"read", "history"}

# Value of all operations without a response whose value appears in no response. They are then equal, and
# the checker need not try them in every order.
UNSEEN = "value not seen"

# Maximum number of operations, and of states, that a report contains.
REPORTED_OPERATIONS, REPORTED_STATES = 60, 4

# Maximum time to find a smaller part that is not linearizable.
REDUCTION_SECONDS = 10


class Undecided(AssertionError):
    """The checker did not finish before its deadline."""


class Operation:
    """Request of a client: its kind and arguments, the times of its start and of its response in
    nanoseconds, and its result.

    | kind | arguments | result |
    |---|---|---|
    | `read` | | `("value", version, value)` |
    | `history` | before, limit | `("history", ((version, value), ...))`, newest first |
    | `create` | value | `("version", 1)` |
    | `write` | value, expected version | `("version", number)` |
    | `rollback` | version, expected version | `("version", number)` |
    | `delete` | expected version | `("deleted",)` |

    An expected version of `None` means any. `identity` is the ID of the secret, if the response contains
    one."""

    def __init__(self, client, kind, arguments, invoked, returned, result, identity=None):
        self.client, self.kind, self.arguments, self.identity = client, kind, arguments, identity
        self.invoked, self.returned, self.result = invoked, returned, result
        # Values of the checker: a bit for the set of executed operations, the arguments with `UNSEEN`,
        # and a tuple that is the same for operations that can replace each other.
        self.bit, self.effective, self.signature = 0, arguments, None

    @property
    def is_unknown(self):
        return self.result == UNKNOWN

    @property
    def may_change(self):
        """True if the operation has changed the secret, or may have changed it."""
        return self.kind not in READS and self.result not in (ABSENT, EXISTS, CONFLICT, NO_VERSION)

    @property
    def end(self):
        return float("inf") if self.is_unknown else self.returned


def execute(state, kind, arguments):
    """Returns the result of an operation in a state, and the state afterwards.

    A state is `None` if there is no secret, otherwise its version and the values of its stored
    versions, the oldest first."""
    if kind == "create":
        return (EXISTS, state) if state else (("version", 1), (1, arguments))
    if state is None:
        return ABSENT, None
    version, values = state
    oldest = version - len(values) + 1
    if kind == "read":
        return ("value", version, values[-1]), state
    if kind == "history":
        before, limit = arguments
        last = min(before or version, version) - 1
        numbers = range(last, max(oldest, last - (limit or KEPT) + 1) - 1, -1)
        return ("history", tuple((number, values[number - oldest]) for number in numbers)), state
    if kind == "rollback" and not oldest <= arguments[0] < version:
        return NO_VERSION, state
    if arguments[-1] not in (None, version):
        return CONFLICT, state
    if kind == "delete":
        return ("deleted",), None
    value = arguments[0] if kind == "write" else values[arguments[0] - oldest]
    return ("version", version + 1), (version + 1, (*values[-KEPT:], value))


def check(name, operations, deadline):
    """Raises an AssertionError with the smallest failing part if the operations of the secret `name` are
    not linearizable. Raises `Undecided` if the time `deadline` (of `time.monotonic`) is over."""
    operations = _prepared(operations)
    try:
        failure = _search(operations, [(None, 0)], deadline)
    except Undecided as error:
        raise Undecided(f"{name}, {len(operations)} operations: {error}") from None
    if failure:
        part, starts, last = _smallest(operations, failure)
        raise AssertionError(_report(name, part, starts, last))


def check_versions(name, operations):
    """Checks the versions of a secret without their times: each version of a secret ID was written once
    and has one value, and a version is missing only where a write has no response. These rules also
    follow from linearizability, but their messages are shorter."""
    written, values = {}, {}
    for operation in operations:
        if not operation.identity or operation.result[0] not in ("version", "value"):
            continue
        version = (operation.identity, operation.result[1])
        if operation.result[0] == "version":
            other = written.setdefault(version, operation)
            assert other is operation, f"{name}: two writes have the same version:\n{_table([other, operation])}"
            value = operation.arguments[0] if operation.kind in ("create", "write") else None
        else:
            value = operation.result[2]
        if value is not None:
            other = values.setdefault(version, (value, operation))
            assert other[0] == value, f"{name}: a version has two values:\n{_table([other[1], operation])}"
    unknown = sum(operation.is_unknown for operation in operations)
    for identity in {identity for identity, _ in written}:
        numbers = {number for other, number in [*written, *values] if other == identity}
        missing = sorted(set(range(1, max(numbers) + 1)) - numbers)
        assert len(missing) <= unknown, \
            f"{name}: versions {missing} are missing, but only {unknown} operations have no response"


def _prepared(operations):
    """Returns the operations in the order of their starts, with the values that the search needs."""
    operations, seen = sorted(operations, key=lambda operation: operation.invoked), set()
    for operation in operations:
        if operation.result[0] == "value":
            seen.add(operation.result[2])
        elif operation.result[0] == "history":
            seen |= {value for _, value in operation.result[1]}
    for number, operation in enumerate(operations):
        operation.bit, operation.effective = 1 << number, operation.arguments
        if operation.is_unknown and operation.kind in ("create", "write") and operation.arguments[0] not in seen:
            operation.effective = (UNSEEN, *operation.arguments[1:])
        operation.signature = (operation.kind, operation.effective, operation.result)
    return operations


def _search(operations, starts, deadline, until=float("inf")):
    """Follows the history from the configurations `starts` to the time `until`; operations that end later
    need not be executed. Returns `None` if the history is linearizable. Otherwise returns the last time
    at which no operation was open, the configurations of that time, and the first operation that no
    configuration can execute."""
    events = [(operation.invoked, 0, number) for number, operation in enumerate(operations)]
    events += [(operation.end, 1, number) for number, operation in enumerate(operations)
               if not operation.is_unknown and operation.end <= until]
    configurations, pending, is_open = set(starts), [], 0
    begin, starts = 0, configurations
    # At the same time, starts are before ends: the operations are then concurrent.
    for moment, is_end, number in sorted(events):
        operation = operations[number]
        if is_end:
            configurations = _executed(configurations, operation, pending, deadline)
            pending.remove(operation)
            is_open -= 1
            if not configurations:
                return begin, starts, operation
            continue
        if is_open == 0:
            begin, starts = moment, configurations
        bisect.insort(pending, operation, key=lambda other: other.end)
        is_open += not operation.is_unknown
        if not operation.may_change:
            configurations = {_settled(state, taken, [operation]) for state, taken in configurations}
    return None


def _executed(configurations, target, pending, deadline):
    """Returns the configurations in which the operation `target` is executed. Its bit is removed from
    them, because the operation has ended."""
    executed, known, stack = set(), set(configurations), list(configurations)
    while stack:
        if time.monotonic() > deadline:
            raise Undecided("the time limit is over, so it is undecided if the history is linearizable: "
                            f"{len(known)} configurations of {len(pending)} open operations")
        state, taken = stack.pop()
        if taken & target.bit:
            executed.add((state, taken ^ target.bit))
            continue
        for configuration in _successors(state, taken, pending):
            if configuration not in known:
                known.add(configuration)
                stack.append(configuration)
    return _minimal(executed, pending)


def _successors(state, taken, pending):
    """Yields the configurations after one more open operation that changes the state. Of equal
    operations, only the one that ends first is tried."""
    tried = set()
    for operation in pending:
        if taken & operation.bit or not operation.may_change or operation.signature in tried:
            continue
        tried.add(operation.signature)
        result, after = execute(state, operation.kind, operation.effective)
        if result == operation.result or (operation.is_unknown and after != state):
            yield _settled(after, taken | operation.bit, pending)


def _settled(state, taken, pending):
    """Returns the configuration after all open operations that change nothing and that have the result
    of this state. It is never better to execute them later."""
    for operation in pending:
        if not taken & operation.bit and not operation.may_change:
            if execute(state, operation.kind, operation.effective)[0] == operation.result:
                taken |= operation.bit
    return state, taken


def _minimal(configurations, pending):
    """Removes each configuration that differs from another one only in more executed operations without
    a response: these operations need not be executed."""
    if len(configurations) < 2:
        return configurations
    unknown = sum(operation.bit for operation in pending if operation.is_unknown)
    groups = {}
    for state, taken in configurations:
        groups.setdefault((state, taken & ~unknown), []).append(taken & unknown)
    return {(state, ended | taken) for (state, ended), group in groups.items() for taken in group
            if not any(other != taken and other & taken == other for other in group)}


def _smallest(operations, failure):
    """Returns a part of the operations that is not linearizable, the configurations at its beginning,
    and the first operation that no configuration can execute.

    The part begins at the last time at which no operation was open, and ends when that operation ends;
    others that are then open need not be executed. Operations that change nothing are removed as long as
    the part stays not linearizable: a linearizable history is linearizable without them."""
    part, starts, last = _part(operations, failure)
    deadline = time.monotonic() + REDUCTION_SECONDS
    for operation in list(part):
        if operation is last or operation.may_change or operation not in part:
            continue
        fewer = [other for other in part if other is not operation]
        try:
            failure = _search(fewer, starts, deadline, last.end)
        except Undecided:
            break
        if failure:
            part, starts, last = _part(fewer, failure)
    return part, starts, last


def _part(operations, failure):
    begin, starts, last = failure
    return [operation for operation in operations if operation.invoked <= last.end
            and (operation.invoked >= begin or operation.is_unknown)], starts, last


def _report(name, part, starts, last):
    lines = [f"{name} is not linearizable: no order of these operations explains their results "
             f"(found at the end of the operation of client {last.client} that is marked)"]
    states = sorted({state for state, _ in starts}, key=repr)
    lines += [f"  {'or' if place else 'before'}: {_state(state)}" for place, state in enumerate(states[:REPORTED_STATES])]
    if len(states) > REPORTED_STATES:
        lines.append(f"  or: {len(states) - REPORTED_STATES} other states")
    if len(part) > REPORTED_OPERATIONS:
        lines.append(f"  {len(part) - REPORTED_OPERATIONS} earlier operations are left out")
    return "\n".join([*lines, _table(part[-REPORTED_OPERATIONS:], last)])


def _state(state):
    if state is None:
        return "no secret"
    version, values = state
    shown = ", ".join(f"{version - place} = {value}" for place, value in enumerate(reversed(values[-4:])))
    return f"version {version}; values {shown}; oldest version {version - len(values) + 1}"


def _table(operations, marked=None):
    """Formats operations as lines, with their times in milliseconds since the first start of an operation
    that has a response."""
    zero = min(operation.invoked for operation in operations if not operation.is_unknown)
    lines = []
    for operation in operations:
        end = "never" if operation.is_unknown else f"{(operation.returned - zero) / 1e6:.3f}"
        arguments = ", ".join("-" if argument is None else str(argument) for argument in operation.arguments)
        lines.append(f"{'>' if operation is marked else ' '} client {operation.client:>3} "
                     f"{(operation.invoked - zero) / 1e6:>10.3f} to {end:>10}  "
                     f"{operation.kind}({arguments}) -> {_result(operation.result)}")
    return "\n".join(lines)


def _result(result):
    if isinstance(result, str):
        return result
    if result[0] != "history":
        return " ".join(map(str, result))
    versions = [f"{version} = {value}" for version, value in result[1]]
    shown = versions if len(versions) <= 4 else [*versions[:2], "...", versions[-1]]
    return f"{len(versions)} versions: {', '.join(shown)}" if versions else "no versions"
