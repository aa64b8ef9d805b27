"""Reads events from paths: a file, a folder, a pattern with `*`, or an address such as `s3://bucket/events.parquet`."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from ensue.data.text_formats import read_csv, read_geojson, read_json
from ensue.errors import DataError, listed

#: The endings of names, and the formats that they stand for.
_FORMATS = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".feather"), "arrow"),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "json"),
    **dict.fromkeys((".geojson", ".geojsonl", ".geojsons"), "geojson"),
    ".csv": "csv",
    **dict.fromkeys((".tsv", ".tab"), "tsv"),
}
_PACKED = (".gz", ".bz2", ".zst")


def read_path(path: str | Path, only: frozenset[str] | None, encoded: str | None) -> pa.Table:
    """The rows of all files that a path stands for, in the order of their names."""
    with explaining(path):
        if "://" in str(path):
            return _read_remote(str(path), only)
        files = _files(Path(path))
        if files == [Path(path)] or (_format_of(files[0]) == "parquet" and Path(path).is_dir()):
            return _read_file(Path(path), only, encoded)
        kinds = sorted({_format_of(f) for f in files})
        if len(kinds) > 1:
            raise DataError(
                f"{path} has files of several formats ({listed(kinds)}): name those to read, as in folder/*.csv"
            )
        return together([_read_file(f, only, encoded) for f in files])


def schema_of_path(path: str | Path) -> pa.Schema:
    """The columns of a path's rows; of Parquet files, the rows are not read."""
    with explaining(path):
        if "://" not in str(path) and _format_of((files := _files(Path(path)))[0]) == "parquet":
            return _parquet_schema(Path(path) if Path(path).exists() else files[0])
    return read_path(path, None, None).schema


def together(tables: list[pa.Table]) -> pa.Table:
    """The rows of all tables. A column that some do not have is NULL there; numbers become wide enough for all."""
    return pa.concat_tables(tables, promote_options="permissive")


@contextmanager
def explaining(path: str | Path) -> Iterator[None]:
    """Says of what cannot be read which path it is."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as e:
        said = e.strerror if isinstance(e, OSError) and e.strerror else e
        raise DataError(f"cannot read {str(path)[:200]}: {said}") from None


def _files(path: Path) -> list[Path]:
    """The files that a path stands for."""
    try:
        if path.is_dir():
            # Like Spark, ignore names that begin with '.' or '_'.
            inside = (f.relative_to(path) for f in path.rglob("*") if f.is_file())
            found = sorted(path / f for f in inside if not any(part[0] in "._" for part in f.parts))
            known = [f for f in found if _ending(f) in _FORMATS]
            if not known and found:
                raise _unknown(found[0])
            if not known:
                raise DataError(f"the folder {path} has no files")
            return known
        if path.exists():
            return [path]
    except OSError as e:
        raise DataError(f"cannot read this path: {e.strerror}") from None
    if any(c in str(path) for c in "*?["):
        found = [Path(f) for f in sorted(glob.glob(str(path), recursive=True))]
        files = [f for f in found if f.is_file()]
        if files:
            return files
        raise DataError(f"no file is named like {path}")
    raise DataError(f"there is no file {path}")


def _ending(path: Path) -> str:
    endings = [s for s in path.suffixes if s not in _PACKED]
    return endings[-1].lower() if endings else ""


def _format_of(path: Path) -> str:
    if path.is_dir():
        return _format_of(_files(path)[0])
    if _ending(path) not in _FORMATS:
        raise _unknown(path)
    return _FORMATS[_ending(path)]


def _unknown(source: Any) -> DataError:
    return DataError(f"cannot tell the format of {source}: name it .parquet, .csv, .tsv, .jsonl, .geojson or .arrow")


def _read_file(path: Path, only: frozenset[str] | None, encoded: str | None) -> pa.Table:
    kind = _format_of(path)
    return _read_parquet(path, only, encoded) if kind == "parquet" else _read_format(path, kind)


def _read_remote(address: str, only: frozenset[str] | None) -> pa.Table:
    """A file or a folder on another file system; Arrow knows file, s3, gs, abfs and hdfs."""
    import pyarrow.fs as fs
    import pyarrow.parquet as pq

    system, path = fs.FileSystem.from_uri(address)
    info = system.get_file_info(path)
    if info.type == fs.FileType.NotFound:
        raise DataError(f"there is no file {address}")
    if info.type == fs.FileType.Directory:
        inside = system.get_file_info(fs.FileSelector(path, recursive=True))
        names = sorted(i.path for i in inside if i.is_file and i.base_name[0] not in "._")
    else:
        names = [path]
    tables = []
    for name in names:
        kind = _format_of_name(name, address)
        if kind == "parquet":
            schema = pq.read_schema(name, filesystem=system)
            columns = [n for n in schema.names if n in only] if only is not None and only <= set(schema.names) else None
            tables.append(pq.read_table(name, filesystem=system, columns=columns))
        else:
            with system.open_input_stream(name) as stream:  # it unpacks .gz by the name
                tables.append(_read_format(pa.BufferReader(stream.read()), kind))
    if not tables:
        raise DataError(f"the folder {address} has no files")
    return together(tables)


def _format_of_name(name: str, address: str) -> str:
    if _ending(Path(name)) not in _FORMATS:
        raise _unknown(address)
    return _FORMATS[_ending(Path(name))]


def _read_parquet(source: Any, only: frozenset[str] | None, encoded: str | None) -> pa.Table:
    import pyarrow.parquet as pq

    if isinstance(source, pa.NativeFile):
        # In one thread: a process that ended right after a parallel read of a buffer aborted in 2 of 25 runs.
        return pq.ParquetFile(source, pre_buffer=False).read(use_threads=False)
    schema = _parquet_schema(source)
    columns = [n for n in schema.names if n in only] if only is not None and only <= set(schema.names) else None
    strings = encoded in schema.names and pa.types.is_string(schema.field(encoded).type)
    # Buffering ahead helps with remote files; for a local file it costs a tenth of the time (measured).
    how = {"read_dictionary": [encoded] if strings else None, "pre_buffer": False}
    if source.is_file() and (file := pq.ParquetFile(source, **how)).num_row_groups <= 1:
        return file.read(columns=columns)
    # This reads row groups in parallel, but it loads pandas if that is installed: a small file should not wait for it.
    return pq.read_table(source, columns=columns, **how)


def _parquet_schema(path: Path) -> pa.Schema:
    """The columns of a Parquet file, or of a folder of such files, as Spark writes it."""
    import pyarrow.parquet as pq

    return pq.read_schema(path) if path.is_file() else pq.ParquetDataset(path).schema


def read_stream_format(source: Any, ending: str) -> pa.Table:
    """Reads a path or an open file, in the format that `ending`, the end of a file's name, stands for."""
    if ending not in _FORMATS:
        raise _unknown(source)
    return _read_format(source, _FORMATS[ending])


def _read_format(source: Any, kind: str) -> pa.Table:
    match kind:
        case "parquet":
            return _read_parquet(source, None, None)
        case "csv" | "tsv":
            return read_csv(source, "\t" if kind == "tsv" else ",")
        case "geojson":
            return read_geojson(source)
        case "json":
            return read_json(source)
    from pyarrow import feather

    return feather.read_table(source)
