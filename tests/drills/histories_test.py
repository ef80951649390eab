"""Tests of the checker of histories, without a service. The drill `linearizable` runs them first; they
can also be run alone: `python3 tests/drills/histories_test.py`."""

import random
import time

import histories
from histories import ABSENT, CONFLICT, EXISTS, NO_VERSION, READS, UNKNOWN, Operation, Undecided, check, check_versions, execute

# Random histories that are compared with a search through all orders.
RANDOM_HISTORIES = 2_000


def op(begin, end, kind, *arguments, result):
    """Creates an operation with these times. `None` as the end means that there is no response."""
    return Operation(0, kind, arguments, begin, begin if end is None else end, result)


def create(begin, end, value, result=("version", 1)):
    return op(begin, end, "create", value, result=result)


def write(begin, end, value, version, expected=None):
    return op(begin, end, "write", value, expected, result=version if isinstance(version, str) else ("version", version))


def read(begin, end, version, value=None):
    return op(begin, end, "read", result=version if isinstance(version, str) else ("value", version, value))


def roll_back(begin, end, target, version, expected=None):
    return op(begin, end, "rollback", target, expected, result=version if isinstance(version, str) else ("version", version))


def delete(begin, end, result=("deleted",), expected=None):
    return op(begin, end, "delete", expected, result=result)


def versions(begin, end, *found, before=None, limit=None):
    return op(begin, end, "history", before, limit, result=("history", found))


def unknown_write(begin, value, expected=None):
    return write(begin, None, value, UNKNOWN, expected)


# Version 1 with the value `a`, and version 2 with the value `b`.
FIRST = create(0, 1, "a")
TWO = [FIRST, write(2, 3, "b", 2)]

LINEARIZABLE = {
    "no operation": [],
    "operations without overlap": [*TWO, read(4, 5, 2, "b"), delete(6, 7), read(8, 9, ABSENT), create(10, 11, "c")],
    "concurrent writes in the order of their versions": [FIRST, write(2, 9, "b", 3), write(3, 8, "c", 2), read(10, 11, 3, "b")],
    "a read beside a write returns the old value": [FIRST, write(2, 9, "b", 2), read(3, 4, 1, "a")],
    "a read beside a write returns the new value": [FIRST, write(2, 9, "b", 2), read(3, 4, 2, "b")],
    "reads beside a write return the old and then the new value":
        [FIRST, write(2, 9, "b", 2), read(3, 4, 1, "a"), read(5, 6, 2, "b")],
    "operations that end when others begin are concurrent": [FIRST, write(2, 3, "b", 2), read(3, 4, 1, "a")],
    "one of two conditional writes succeeds": [FIRST, write(2, 9, "b", 2, 1), write(3, 8, "c", CONFLICT, 1), read(10, 11, 2, "b")],
    "a conflict with a concurrent write": [FIRST, write(2, 5, "b", CONFLICT, 2), write(3, 4, "c", 2), write(6, 7, "d", 3)],
    "a rollback": [*TWO, roll_back(4, 5, 1, 3), read(6, 7, 3, "a"), versions(8, 9, (2, "b"), (1, "a"))],
    "a rollback to the current version": [*TWO, roll_back(4, 5, 2, NO_VERSION), roll_back(6, 7, 3, NO_VERSION)],
    "a missing version is reported before a conflict": [*TWO, roll_back(4, 5, 2, NO_VERSION, 1), roll_back(6, 7, 1, CONFLICT, 1)],
    "one version of the history": [*TWO, versions(4, 5, (1, "a"), before=2, limit=1), versions(6, 7, (1, "a"), before=9)],
    "a secret that exists": [FIRST, create(2, 3, "b", EXISTS), read(4, 5, 1, "a")],
    "a secret that does not exist":
        [write(0, 1, "a", ABSENT, 3), roll_back(2, 3, 1, ABSENT), delete(4, 5, ABSENT), versions(6, 7, *()), FIRST][:3],
    "versions begin again after a deletion": [*TWO, delete(4, 5), create(6, 7, "c"), write(8, 9, "d", 2), versions(10, 11, (1, "c"))],
    "a conditional deletion": [*TWO, delete(4, 5, CONFLICT, 1), delete(6, 7, expected=2)],
    "an unknown write was executed": [FIRST, unknown_write(2, "b"), read(3, 4, 2, "b")],
    "an unknown write was not executed": [FIRST, unknown_write(2, "b"), read(3, 4, 1, "a"), write(5, 6, "c", 2)],
    "an unknown write is executed much later":
        [FIRST, unknown_write(2, "b"), read(3, 4, 1, "a"), write(5, 6, "c", 2), read(7, 8, 3, "b")],
    "an unknown write that is not seen explains a version": [FIRST, unknown_write(2, "b"), write(3, 4, "c", 3)],
    "an unknown write and a deletion": [FIRST, unknown_write(2, "b"), delete(3, 4), create(5, 6, "c"), read(7, 8, 2, "b")],
    "an unknown conditional write that fails": [FIRST, write(2, 3, "b", 2), unknown_write(4, "c", 1), write(5, 6, "d", 3)],
    "an unknown creation": [create(0, None, "a", UNKNOWN), read(1, 2, ABSENT), read(3, 4, 1, "a")],
    "an unknown deletion": [FIRST, delete(2, None, UNKNOWN), read(3, 4, 1, "a"), read(5, 6, ABSENT)],
    "an unknown rollback": [*TWO, roll_back(4, None, 1, UNKNOWN), read(5, 6, 3, "a")],
    "two unknown writes in either order":
        [FIRST, unknown_write(2, "b"), unknown_write(2, "c"), read(3, 4, 2, "c"), read(5, 6, 3, "b")],
    "the oldest versions are deleted":
        [FIRST, *(write(2 * n, 2 * n + 1, f"v{n}", n + 1) for n in range(1, 103)), roll_back(300, 301, 2, NO_VERSION),
         roll_back(302, 303, 3, 104), read(304, 305, 104, "v2")],
}

NOT_LINEARIZABLE = {
    "a stale read": [*TWO, read(4, 5, 1, "a")],
    "a stale read beside other operations": [FIRST, write(2, 20, "c", 3), write(3, 4, "b", 2), read(5, 6, 1, "a"), read(7, 8, 3, "c")],
    "a read of the new value, then a read of the old one": [FIRST, write(2, 9, "b", 2), read(3, 4, 2, "b"), read(5, 6, 1, "a")],
    "a lost update": [*TWO, write(4, 5, "c", 2)],
    "a lost update of concurrent writes": [FIRST, write(2, 5, "b", 2), write(3, 4, "c", 2)],
    "an acknowledged write that is not there": [*TWO, write(4, 5, "c", 3), read(6, 7, 2, "b")],
    "two conditional writes of one version succeed": [FIRST, write(2, 5, "b", 2, 1), write(3, 4, "c", 3, 1)],
    "two conditional writes of one version fail": [FIRST, write(2, 5, "b", CONFLICT, 1), write(3, 4, "c", CONFLICT, 1)],
    "a conditional write of an old version": [*TWO, write(4, 5, "c", 3, 1)],
    "a conditional write of the current version fails": [*TWO, write(4, 5, "c", CONFLICT, 2)],
    "a failed conditional write is executed": [*TWO, write(4, 5, "c", CONFLICT, 1), read(6, 7, 3, "c")],
    "a value that was never written": [FIRST, read(2, 3, 1, "x")],
    "a value of the wrong version": [*TWO, read(4, 5, 2, "a")],
    "a value before its write begins": [FIRST, read(2, 3, 2, "b"), write(4, 5, "b", 2)],
    "a version that goes back": [*TWO, read(4, 5, 2, "b"), write(6, 7, "c", 3), read(8, 9, 2, "c")],
    "a version is left out": [FIRST, write(2, 3, "b", 3)],
    "a version is left out, with an unknown write that began later": [FIRST, write(2, 3, "b", 3), unknown_write(4, "c")],
    "two versions are left out, with one unknown write": [FIRST, unknown_write(2, "b"), write(3, 4, "c", 4)],
    "a deleted secret is read": [FIRST, delete(2, 3), read(4, 5, 1, "a")],
    "a new secret is not found": [FIRST, read(2, 3, ABSENT)],
    "versions go on after a deletion": [*TWO, delete(4, 5), create(6, 7, "c"), write(8, 9, "d", 4)],
    "a secret is created twice": [FIRST, create(2, 3, "b")],
    "a secret is deleted twice": [FIRST, delete(2, 5), delete(3, 4)],
    "a rollback to another value": [*TWO, write(4, 5, "c", 3), roll_back(6, 7, 1, 4), read(8, 9, 4, "b")],
    "a rollback without a new version": [*TWO, roll_back(4, 5, 1, 2)],
    "a rollback after a deletion": [*TWO, delete(4, 5), create(6, 7, "c"), roll_back(8, 9, 1, 2)],
    "a history with a gap": [*TWO, write(4, 5, "c", 3), versions(6, 7, (2, "b"))],
    "a history with another value": [*TWO, versions(4, 5, (1, "b"))],
    "a history of a deleted secret": [*TWO, delete(4, 5), versions(6, 7, (1, "a"))],
    "a history without a version beside a deletion": [*TWO, delete(4, 9), versions(5, 6, *())],
    "an unknown write is executed twice": [FIRST, unknown_write(2, "b"), read(3, 4, 2, "b"), read(5, 6, 3, "b")],
    "an unknown write is undone": [FIRST, unknown_write(2, "b"), read(3, 4, 2, "b"), read(5, 6, 1, "a")],
    "an unknown write before its start": [FIRST, read(2, 3, 2, "b"), unknown_write(4, "b")],
    "an unknown conditional write of another version": [*TWO, unknown_write(4, "c", 1), read(5, 6, 3, "c")],
    "a version that is kept too long":
        [FIRST, *(write(2 * n, 2 * n + 1, f"v{n}", n + 1) for n in range(1, 103)), roll_back(300, 301, 2, 104)],
}


def is_linearizable(operations, seconds=60):
    try:
        check("KEY", operations, time.monotonic() + seconds)
    except Undecided:
        raise
    except AssertionError:
        return False
    return True


def is_explained(operations, state=None, until=float("inf")):
    """Returns true if any order of the operations explains the results: the same question as
    `is_linearizable`, answered by trying all orders. Operations that end after `until` need not be
    executed."""
    def follows(state, left):
        if all(operation.end > until or operation.is_unknown for operation in left):
            return True
        first_end = min(operation.end for operation in left)
        for operation in left:
            if operation.invoked <= first_end:
                result, after = execute(state, operation.kind, operation.arguments)
                if (operation.is_unknown or result == operation.result) and follows(after, left - {operation}):
                    return True
        return False

    return follows(state, frozenset(operations))


def simulated(chance, count, clients, unknown=0.0):
    """Creates a linearizable history: each operation is executed at a random time between its start and
    its end. This share of the operations has no response."""
    times, plan = [0] * clients, []
    for number in range(count):
        client = chance.randrange(clients)
        begin = times[client] + chance.randrange(1, 10)
        end = times[client] = begin + chance.randrange(1, 30)
        is_unknown = chance.random() < unknown
        executed = chance.randrange(begin, end + 1 if not is_unknown else end + 300)
        plan.append((executed + chance.random(), number, client, begin, end, is_unknown))
    state, operations = None, []
    for _, number, client, begin, end, is_unknown in sorted(plan):
        kind, arguments = _chosen(chance, state, f"v{number}")
        if is_unknown and kind in READS:
            # A read without a response says nothing.
            continue
        if is_unknown and chance.random() < 0.5:
            operations.append(Operation(client, kind, arguments, begin, end, UNKNOWN))
            continue
        result, state = execute(state, kind, arguments)
        operations.append(Operation(client, kind, arguments, begin, end, UNKNOWN if is_unknown else result))
    return operations


def _chosen(chance, state, value):
    version = state[0] if state else 0
    near = chance.choice([None, version, version, version + chance.randrange(-1, 2)])
    if state is None and chance.random() < 0.6:
        return "create", (value,)
    return chance.choice([
        ("read", ()), ("read", ()), ("history", (chance.choice([None, version]), chance.choice([None, 1]))),
        ("write", (value, None)), ("write", (value, near)), ("write", (value, near)),
        ("rollback", (chance.randrange(max(version - 3, 0), version + 1), near)), ("create", (value,)),
        *([("delete", (near,))] if chance.random() < 0.4 else [])])


def changed(chance, operations):
    """Returns the history with one result replaced by the result of another operation, or with a
    version changed by one."""
    operations = list(operations)
    place = chance.randrange(len(operations))
    one, other = operations[place], chance.choice(operations)
    result = other.result if one.kind == other.kind and chance.random() < 0.7 else one.result
    if result == one.result and result[0] in ("version", "value"):
        result = (result[0], result[1] + chance.choice([-1, 1]), *result[2:])
    if not (result == UNKNOWN and one.kind in READS):
        operations[place] = Operation(one.client, one.kind, one.arguments, one.invoked, one.returned, result)
    return operations


def run():
    """Runs all tests. Returns the numbers of tested histories: all, and those that are not
    linearizable."""
    for name, operations in LINEARIZABLE.items():
        check(name, operations, time.monotonic() + 60)
        assert is_explained(operations) or len(operations) > 9, f"{name}: not explained"
    for name, operations in NOT_LINEARIZABLE.items():
        assert not is_linearizable(operations), f"accepted: {name}"
    rejected = len(NOT_LINEARIZABLE)
    for seed in range(RANDOM_HISTORIES):
        chance = random.Random(seed)
        operations = simulated(chance, chance.randrange(2, 7), 3, unknown=chance.choice([0, 0.3]))
        assert is_linearizable(operations), f"random history {seed}: rejected"
        operations = changed(chance, operations)
        expected = is_explained(operations)
        assert is_linearizable(operations) == expected, f"random history {seed}: linearizable is {expected}"
        rejected += not expected
        if not expected:
            _check_part(operations, seed)
    _long_histories()
    _smallest_part()
    _versions()
    return len(LINEARIZABLE) + len(NOT_LINEARIZABLE) + 2 * RANDOM_HISTORIES, rejected


def _long_histories():
    for clients, unknown in ((2, 0), (8, 0), (16, 0), (4, 0.01)):
        operations = simulated(random.Random(clients), 500, clients, unknown)
        assert is_linearizable(operations), f"a long history of {clients} clients is rejected"
        # Of the last operation, so that the whole history is searched.
        end = max(operation.returned for operation in operations)
        operations.append(read(end + 1, end + 2, 1_000, "x"))
        assert not is_linearizable(operations), f"a wrong read after {clients} clients is accepted"


def _check_part(operations, seed):
    """The reported part of a history is not linearizable from any of the reported states."""
    operations = histories._prepared(operations)
    failure = histories._search(operations, [(None, 0)], time.monotonic() + 60)
    part, starts, last = histories._smallest(operations, failure)
    for state, taken in starts:
        left = [operation for operation in part if not taken & operation.bit]
        assert not is_explained(left, state, last.end), f"random history {seed}: the reported part is linearizable"


def _smallest_part():
    """The report contains the operations that contradict each other, and no others."""
    reads = [read(2 * n, 2 * n + 1, 2, "b") for n in range(2, 50)]
    lines = _reported(*TWO, *reads, write(100, 105, "c", 3), read(101, 106, 2, "b"), read(102, 103, 3, "c"),
                      read(104, 107, 2, "b"), read(108, 109, 3, "c"))
    assert lines == [
        "  before: version 2; values 2 = b, 1 = a; oldest version 1",
        "write(c, -) -> version 3", "read() -> value 3 c", "read() -> value 2 b"], lines
    # Operations that are open at the end of the part can be executed after other, later operations.
    lines = _reported(FIRST, write(2, 30, "b", 2), write(3, 10, "c", CONFLICT, 1), read(11, 20, 1, "a"), write(19, 40, "d", 4),
                      write(21, 28, "e", 3))
    assert lines[1:] == [
        "write(b, -) -> version 2", "write(c, 1) -> version conflict", "read() -> value 1 a", "write(d, -) -> version 4"], lines


def _reported(*operations):
    """Returns the first state and the operations that the report of the checker contains."""
    try:
        check("KEY", operations, time.monotonic() + 60)
    except AssertionError as error:
        _, before, *lines = str(error).splitlines()
        return [before, *(line.split("  ")[-1] for line in lines)]
    raise AssertionError("the history is linearizable")


def _versions():
    def message(*operations):
        for operation in operations:
            operation.identity = "id"
        try:
            check_versions("KEY", operations)
        except AssertionError as error:
            return str(error).splitlines()[0]
        return None

    assert message(*TWO, read(4, 5, 2, "b"), roll_back(6, 7, 1, 3), unknown_write(8, "c"), write(9, 10, "d", 5)) is None
    assert "two writes have the same version" in message(*TWO, write(4, 5, "c", 2))
    assert "a version has two values" in message(*TWO, read(4, 5, 2, "c"))
    assert "versions [3] are missing" in message(*TWO, write(4, 5, "c", 4))


if __name__ == "__main__":
    began = time.monotonic()
    tested, not_linearizable = run()
    print(f"{tested} histories, {not_linearizable} of them not linearizable, in {time.monotonic() - began:.1f} s")
