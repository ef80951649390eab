"""Secrets, opened in Python by the crates that seal them."""

from ._native import Undecryptable, is_plausible_token, open_record

__all__ = ["Undecryptable", "is_plausible_token", "open_record"]
