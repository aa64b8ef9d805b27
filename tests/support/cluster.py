"""A standalone cluster of Spark from the pip package: a master and two workers, each in a working directory of its own.

It is started by Spark's `spark-class`, as `start-master.sh` does it elsewhere. The processes are those of a real
cluster; only the machine is one, so its files are a shared file system.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pyspark
from processes import command_of, in_session, kill_all, parent_of, wait_until

#: Small heaps, and the cheap compiler: most of the processor time is that of JVMs which start.
JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
EXECUTOR = b"CoarseGrainedExecutorBackend"
#: Both the daemon of Python workers and the workers have this in their command line.
PYTHON = b"ensue.spark.daemon"


def start(command: list[str], folder: Path, log: Path) -> subprocess.Popen[bytes]:
    """A process in this folder, and in a session of its own, with what it says in the log."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "160m",
        "SPARK_DAEMON_JAVA_OPTS": JVM,
    }
    with log.open("ab") as file:
        return subprocess.Popen(command, cwd=folder, env=environment, stdout=file, stderr=file, start_new_session=True)


class Cluster:
    """The master and its workers, from `with` to its end."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self.folder = folder
        self._workers = workers
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Cluster:
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes):
            kill_all(process)

    def _start(self) -> None:
        log = self._started("master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        address = re.compile(r"spark://127\.0\.0\.1:\d+")
        assert wait_until(lambda: address.search(log.read_text())), log.read_text()[-3000:]
        found = address.search(log.read_text())
        assert found is not None
        self.master = found[0]
        for n in range(self._workers):
            name = f"worker{n}"
            size = ("--cores", "1", "--memory", "700m", "--work-dir", str(self.folder / name))
            self._started(name, *size, "--host", "127.0.0.1", "--webui-port", "0", self.master)
        count = self._workers
        assert wait_until(lambda: log.read_text().count("Registering worker") == count), log.read_text()[-3000:]

    def _started(self, name: str, *arguments: str) -> Path:
        kind = name.rstrip("0123456789")
        script = Path(pyspark.__file__).parent / "bin" / "spark-class"
        command = ["bash", str(script), f"org.apache.spark.deploy.{kind}.{kind.title()}", *arguments]
        log = self.folder / f"{name}.log"
        self._processes.append(start(command, self.folder / name, log))
        return log

    def executors(self) -> list[int]:
        """The processes of the executors, which the workers have started."""
        return [pid for p in self._processes for pid in in_session(p.pid) if EXECUTOR in command_of(pid)]

    def python_workers(self) -> list[int]:
        """The Python workers of all executors: the children of the daemons, which have the same command."""
        of_session = [pid for p in self._processes for pid in in_session(p.pid)]
        return [p for p in of_session if PYTHON in command_of(p) and PYTHON in command_of(parent_of(p))]


def executor_of(pid: int) -> int | None:
    """The executor that runs this Python worker."""
    while pid > 1:
        if EXECUTOR in command_of(pid):
            return pid
        pid = parent_of(pid)
    return None
