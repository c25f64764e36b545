"""Certificates as plain values, and back: numbers, texts, lists and dictionaries, with infinity as None.

A record has the number of its schema and holds nothing that only one process knows. Reading checks every field, so that
a record which was damaged, or written by a later version, is refused in a sentence.
"""

import json
import math
from dataclasses import MISSING, fields, is_dataclass
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

from dpcvx.errors import ArgumentError

SCHEMA = 1


def plain(value: Any) -> Any:
    """A value as a record holds it."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else None
    return value.item()  # of NumPy's scalars only those that are no numbers are left


def read(kind: Any, value: Any, where: str) -> Any:
    """A plain value as one of a type: of a field, of a tuple, or a whole dataclass.

    Raises:
        ValueError: where it is none.
    """
    options = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    if value is None and NoneType in options:
        return None
    kind = next(option for option in options if option is not NoneType)
    if get_origin(kind) is tuple:
        if not isinstance(value, list | tuple):
            raise _wrong(where, "a list", value)
        return tuple(read(get_args(kind)[0], one, f"{where}[{place}]") for place, one in enumerate(value))
    if get_origin(kind) is dict:
        return _read_any(_mapping(value, where), where)
    if is_dataclass(kind):
        return _read_fields(kind, _mapping(value, where), where)
    return _read_value(kind, value, where)


def _read_fields(kind: Any, values: dict[str, Any], where: str) -> Any:
    known = {field.name: field for field in fields(kind)}
    extra = sorted(values.keys() - known.keys())
    if extra:
        raise ArgumentError(f"{where} has a field {extra[0]!r} that is not known here.")
    missing = sorted(name for name, field in known.items() if field.default is MISSING and name not in values)
    if missing:
        raise ArgumentError(f"{where} has no field {missing[0]!r}.")
    return kind(**{name: read(known[name].type, value, f"{where}.{name}") for name, value in values.items()})


def _read_value(kind: type, value: Any, where: str) -> Any:
    if kind is float and value is None:
        return math.inf
    if kind is bool or kind is str:
        if not isinstance(value, kind):
            raise _wrong(where, "true or false" if kind is bool else "a text", value)
        return value
    if isinstance(value, bool) or not isinstance(value, Real) or math.isnan(value):
        raise _wrong(where, "a number", value)
    number = float(value)
    if kind is not int:
        return number
    if isinstance(value, Integral):
        return int(value)
    if not number.is_integer():
        raise _wrong(where, "a whole number", value)
    return int(number)


def _read_any(value: Any, where: str) -> Any:
    """Plain values of any type."""
    if isinstance(value, dict):
        return {key: _read_any(one, f"{where}.{key}") for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_read_any(one, where) for one in value]
    if value is None or isinstance(value, bool | str | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise _wrong(where, "a plain value", value)


def _mapping(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise _wrong(where, "a record with names", value)
    return value


def _wrong(where: str, wanted: str, value: Any) -> ArgumentError:
    shown = repr(value)
    return ArgumentError(f"{where} must be {wanted}, not {shown if len(shown) <= 60 else shown[:60] + '...'}.")


def checked_schema(record: Any) -> dict[str, Any]:
    """The record without the number of its schema.

    Raises:
        ValueError: where it is no record, or of another schema.
    """
    values = dict(_mapping(record, "The certificate"))
    if "schema" not in values:
        raise ArgumentError("The certificate has no field 'schema'; it was not written by to_dict or to_json.")
    schema = values.pop("schema")
    if schema != SCHEMA or isinstance(schema, bool):
        raise ArgumentError(
            f"The certificate is of schema {schema!r}, and this version of dpcvx reads schema {SCHEMA}."
        )
    return values


def to_text(record: dict[str, Any]) -> str:
    """A record as JSON."""
    return json.dumps(record, allow_nan=False, indent=1)


def from_text(text: str) -> Any:
    """JSON as values.

    Raises:
        ValueError: where the text is no JSON.
    """
    if not isinstance(text, str | bytes):
        raise TypeError(f"from_json takes a text, not a {type(text).__name__}.")
    try:
        return json.loads(text)
    except ValueError as error:
        raise ArgumentError(f"The certificate is no JSON: {error}.") from error
