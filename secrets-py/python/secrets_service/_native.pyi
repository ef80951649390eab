class Undecryptable(Exception):
    """A record does not decrypt: it was moved, changed or cut, or the key is another."""

def open_record(
    record: bytes,
    *,
    key: bytes,
    key_version: int,
    purpose: int,
    hidden: bool,
    instance: str,
    project: str,
    environment: str | None,
    object: str,
    key_name: str,
    version: int,
) -> str:
    """Opens a sealed record: gives its value if the record is whole and belongs where it is said to.

    ``key`` is the project's key, of 32 bytes, held as ``key_version``. The rest is what the record
    was sealed for: the ids are UUIDs, ``object`` is the secret or whatever else it belongs to, and
    ``key_name`` is empty and ``version`` 0 where there is none.

    Raises :class:`Undecryptable` if it does not decrypt, :class:`ValueError` if an argument cannot
    be one, and :class:`OverflowError` if a number is out of its range.
    """

def is_plausible_token(text: str) -> bool:
    """Whether a text can be a service token: says no to a typing error, without asking a server."""
