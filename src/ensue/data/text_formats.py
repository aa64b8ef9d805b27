"""Reads events from text: CSV, TSV, JSON lines, a JSON array, GeoJSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from ensue.data.row_dicts import from_rows
from ensue.errors import DataError

#: What a CSV says for NULL. Not NaN, which is a number here as in every other source, and as Spark reads it.
_NULLS = ("", "NULL", "null", "NA", "N/A", "n/a", "#N/A", "#NA")


def read_csv(source: Any, delimiter: str = ",", types: Mapping[str, pa.DataType] | None = None) -> pa.Table:
    """A table with a header; its text must be UTF-8. `types` are those of columns that are known already."""
    from pyarrow import csv

    parse = csv.ParseOptions(delimiter=delimiter)
    return _checked_text(
        csv.read_csv(source, None, parse, csv.ConvertOptions(null_values=list(_NULLS), column_types=types))
    )


def _checked_text(table: pa.Table) -> pa.Table:
    """The table of a CSV, after a check that its text is UTF-8: Arrow reads other text as bytes."""
    for name in table.column_names:
        if pa.types.is_binary(table.schema.field(name).type):
            values = table.column(name).to_pylist()
            row = next(i for i, v in enumerate(values) if v is not None and not _is_utf8(v)) + 1
            raise DataError(f"the column '{name}' is not UTF-8 text, first in row {row}: save the file as UTF-8")
    return table


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def read_json(source: Any) -> pa.Table:
    """JSON lines, one JSON array of objects, or GeoJSON."""
    import json as standard

    from pyarrow import json

    data = _bytes_of(source)
    if not data.strip():
        return pa.table({})
    if data.lstrip().startswith(b"["):
        rows = standard.loads(data)
        if not all(isinstance(row, dict) for row in rows):
            raise DataError("a JSON file must hold one object per line, or an array of objects")
        return from_rows(rows)
    first = data.lstrip()[:200]
    if b'"FeatureCollection"' in first or b'"Feature"' in first:
        return _from_geojson(data)
    return json.read_json(pa.BufferReader(data))


def read_geojson(source: Any) -> pa.Table:
    """A FeatureCollection, or one Feature a line: the properties, `id`, and of a point `longitude` and `latitude`."""
    return _from_geojson(_bytes_of(source))


def _bytes_of(source: Any) -> bytes:
    with source if isinstance(source, pa.NativeFile) else pa.input_stream(str(source)) as stream:
        data: bytes = stream.read()
    return data


def _from_geojson(data: bytes) -> pa.Table:
    import json

    try:
        read = [json.loads(data)]
    except json.JSONDecodeError:
        # Lines of a sequence may begin with a record separator (RFC 8142).
        read = [json.loads(line) for line in data.decode().replace("\x1e", "").splitlines() if line.strip()]
    features = [f for part in read for f in (part.get("features", [part]) if isinstance(part, dict) else [part])]
    if not all(isinstance(f, dict) and f.get("type") == "Feature" for f in features):
        raise DataError("GeoJSON must be a FeatureCollection, or one Feature a line")
    return from_rows([_event_of(f) for f in features])


def _event_of(feature: dict[str, Any]) -> dict[str, Any]:
    """The properties of a feature, with its id and where it is."""
    event: dict[str, Any] = {"id": feature["id"]} if "id" in feature else {}
    shape = feature.get("geometry") or {}
    if shape.get("type") == "Point":
        names = ("longitude", "latitude", "altitude")
        event |= dict(zip(names, map(float, shape["coordinates"]), strict=False))
    return event | (feature.get("properties") or {})
