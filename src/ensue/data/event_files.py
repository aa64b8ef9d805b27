"""Reads events from paths: a file, a folder, a pattern with `*`, or an address such as `s3://bucket/events.parquet`."""

from __future__ import annotations

import glob
import re
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
            return together(list(remote_tables(str(path), only)))
        files = _files(Path(path))
        if files == [Path(path)] or (_format_of(files[0]) == "parquet" and Path(path).is_dir()):
            return _read_file(Path(path), only, encoded)
        check_one_format(files, path)
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
        raise DataError(f"cannot read {shown(path)[:200]}: {said}") from None


def _files(path: Path) -> list[Path]:
    """The files that a path stands for."""
    try:
        if path.is_dir():
            inside = (f.relative_to(path) for f in path.rglob("*") if f.is_file())
            found = sorted(path / f for f in inside if not _hidden(f))
            return readable(found, path)
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


def readable(found: list[Path], folder: str | Path) -> list[Path]:
    """Those of a folder's files whose format is known; at least one."""
    known = [f for f in found if _ending(f) in _FORMATS]
    if not known and found:
        raise _unknown(found[0])
    if not known:
        raise DataError(f"the folder {shown(folder)} has no files")
    return known


def check_one_format(files: list[Path], where: str | Path) -> None:
    """Refuses files that cannot be rows of one stream."""
    kinds = sorted({_format_of_name(f) for f in files})
    if len(kinds) > 1:
        raise DataError(
            f"{shown(where)} has files of several formats ({listed(kinds)}): name those to read, as in folder/*.csv"
        )


def shown(path: str | Path) -> str:
    """A path as messages show it, which is without the keys that an address may have."""
    return re.sub(r"(?<=://)[^/@]*@", "", str(path))


def _ending(path: Path) -> str:
    endings = [s for s in path.suffixes if s not in _PACKED]
    return endings[-1].lower() if endings else ""


def _format_of(path: Path) -> str:
    return _format_of(_files(path)[0]) if path.is_dir() else _format_of_name(path)


def _format_of_name(name: str | Path) -> str:
    if (ending := _ending(Path(name))) not in _FORMATS:
        raise _unknown(name)
    return _FORMATS[ending]


def _unknown(source: Any) -> DataError:
    return DataError(f"cannot tell the format of {source}: name it .parquet, .csv, .tsv, .jsonl, .geojson or .arrow")


def remote_tables(address: str, only: frozenset[str] | None) -> Iterator[pa.Table]:
    """A file, a folder or a pattern on another file system; Arrow knows file, s3, gs, abfs and hdfs."""
    import pyarrow.fs as fs
    import pyarrow.parquet as pq

    system, path = fs.FileSystem.from_uri(address)
    names = _remote_files(system, path, shown(address))
    check_one_format(names, address)
    for name in map(Path.as_posix, names):
        if _format_of_name(name) == "parquet":
            schema = pq.read_schema(name, filesystem=system)
            yield pq.read_table(name, filesystem=system, columns=_columns(schema, only))
        else:
            with system.open_input_stream(name) as stream:  # it unpacks .gz by the name
                yield _read_format(pa.BufferReader(stream.read()), _format_of_name(name))


def _remote_files(system: Any, path: str, address: str) -> list[Path]:
    """The files that a path stands for, in the order of their names."""
    import pyarrow.fs as fs

    folder = path.partition("*")[0].rpartition("/")[0] if "*" in path else path
    info = system.get_file_info(folder)
    if info.type == fs.FileType.File:
        return [Path(path)]
    if info.type == fs.FileType.NotFound:
        raise DataError(f"no file is named like {address}" if "*" in path else f"there is no file {address}")
    found = [Path(i.path) for i in system.get_file_info(fs.FileSelector(folder, recursive=True)) if i.is_file]
    if "*" not in path:
        return readable(sorted(f for f in found if not _hidden(f.relative_to(folder))), address)
    wanted = re.compile("".join(_IN_PATTERNS.get(part, re.escape(part)) for part in re.split(r"(\*\*/|\*)", path)))
    named = sorted(f for f in found if wanted.fullmatch(f.as_posix()))
    if not named:
        raise DataError(f"no file is named like {address}")
    return named


#: What stands for what in the name of a file.
_IN_PATTERNS = {"**/": "(?:.*/)?", "*": "[^/]*"}


def _hidden(path: Path) -> bool:
    """Whether Spark would leave it out, too: names that begin with '.' or '_'."""
    return any(part[0] in "._" for part in path.parts)


def _columns(schema: pa.Schema, only: frozenset[str] | None) -> list[str] | None:
    """The columns to read: all, unless those that are asked for are there."""
    return [n for n in schema.names if n in only] if only is not None and only <= set(schema.names) else None


def _read_file(path: Path, only: frozenset[str] | None, encoded: str | None) -> pa.Table:
    kind = _format_of(path)
    return _read_parquet(path, only, encoded) if kind == "parquet" else _read_format(path, kind)


def _read_parquet(source: Any, only: frozenset[str] | None, encoded: str | None) -> pa.Table:
    import pyarrow.parquet as pq

    if isinstance(source, pa.NativeFile):
        # In one thread: a process that ended right after a parallel read of a buffer aborted in 2 of 25 runs.
        return pq.ParquetFile(source, pre_buffer=False).read(use_threads=False)
    schema = _parquet_schema(source)
    columns = _columns(schema, only)
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
