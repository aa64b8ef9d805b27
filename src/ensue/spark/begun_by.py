"""What began a checkpoint, in a file of the checkpoint: so the driver refuses another query before the stream starts.

The states say it as well, and are compared in the first micro-batch: where the driver does not know the checkpoint, as
behind an operator of Spark with state and over Spark Connect, that is what refuses.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ensue.data.envelope import check_made_by
from ensue.data.events import log
from ensue.errors import EngineError
from ensue.spark.bucket import ADVICE
from ensue.spark.bucket_count import buckets_by_default

_FILE = "ensue.json"
#: The fingerprint that the user may leave to the checkpoint.
_BUCKETS = "number of buckets"


class BegunBy(NamedTuple):
    """What the states of a query are made by, and the number of buckets that the user has given."""

    made_by: Mapping[str, str]
    buckets: int | None = None

    @property
    def fingerprints(self) -> dict[str, str]:
        return {**self.made_by, **({} if self.buckets is None else {_BUCKETS: str(self.buckets)})}


def compare(session: Any, location: str, begun: Sequence[BegunBy]) -> None:
    """Raises an EngineError if something else began the checkpoint; writes down what begins a new one."""
    if getattr(session, "_jvm", None) is None:  # over Spark Connect
        return
    now = [b.fingerprints for b in begun]
    try:
        folder = _Folder(session, location)
        committed, then = folder.committed, folder.read()
        if not committed and then != now:
            folder.write(now)
        buckets = folder.buckets if committed else None
    except Exception as e:
        log.info("what began the checkpoint %s is compared in the first micro-batch: %s", location, e)
        return
    if committed and then is not None and len(then) == len(now):
        default = {} if buckets is None else {_BUCKETS: str(buckets)}
        for before, after in zip(then, now, strict=True):
            _check({**default, **before}, {**default, **after})


def _check(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    known = {what: value for what, value in after.items() if what != _BUCKETS or what in before}
    try:
        check_made_by(before, known)
    except EngineError as e:
        raise EngineError(f"the checkpoint cannot be used: {e}\n  {ADVICE}") from None


class _Folder:
    """A checkpoint, by Spark's own file systems."""

    def __init__(self, session: Any, location: str) -> None:
        self._hadoop = session._jvm.org.apache.hadoop.fs
        self._read_all = session._jvm.org.apache.commons.io.IOUtils.toString
        path = self._path(location)
        self._files = path.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
        self._location = path

    def _path(self, *parts: Any) -> Any:
        return self._hadoop.Path(*parts)

    def _numbered(self, log: str) -> list[int]:
        """The numbers of the micro-batches in one of Spark's logs."""
        folder = self._path(self._location, log)
        found = self._files.listStatus(folder) if self._files.exists(folder) else []
        names = [str(status.getPath().getName()) for status in found]
        return sorted(int(name) for name in names if name.isdigit())

    @property
    def committed(self) -> bool:
        """Whether a micro-batch was committed."""
        return bool(self._numbered("commits"))

    @property
    def buckets(self) -> int | None:
        """How many buckets a query has for which the user has given no number; None if that is not known."""
        *_, last = self._numbered("offsets")
        settings: dict[str, str] = json.loads(self._text(f"offsets/{last}").splitlines()[1]).get("conf", {})
        return buckets_by_default(settings)

    def read(self) -> list[dict[str, str]] | None:
        """What began the checkpoint; None if that is not written down."""
        if not self._files.exists(self._path(self._location, _FILE)):
            return None
        found: list[dict[str, str]] = json.loads(self._text(_FILE))["begun by"]
        return found

    def _text(self, file: str) -> str:
        stream = self._files.open(self._path(self._location, file))
        try:
            return str(self._read_all(stream, "UTF-8"))
        finally:
            stream.close()

    def write(self, begun: list[dict[str, str]]) -> None:
        """A file that is there is whole: it gets its name at the end."""
        half, file = self._path(self._location, f".{_FILE}.half"), self._path(self._location, _FILE)
        stream = self._files.create(half, True)
        try:
            stream.write(bytearray(json.dumps({"begun by": begun}), "utf-8"))
        finally:
            stream.close()
        self._files.delete(file, False)
        self._files.rename(half, file)
