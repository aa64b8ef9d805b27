"""The house rules as code: what importing costs, who may import what, and that every public name is documented."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from docs_site import MODULES as MODULES_OF_USERS
from docs_site import public_names

import ensue

SOURCE = Path(ensue.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))


@cache
def imports_of(path: Path) -> set[str]:
    """Every module that a file imports, also inside functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{a.name}" for a in node.names}
    return found


def libraries_of(path: Path) -> set[str]:
    return {name.partition(".")[0] for name in imports_of(path)}


def named(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def test_a_small_file_is_answered_without_pandas(tmp_path):
    """PyArrow loads pandas, where there is one, to make an array of anything: a third of the time to a first answer."""
    path = tmp_path / "two.parquet"
    pq.write_table(pa.table({"time": [1, 2], "type": ["A", "B"]}), path)
    matched = f"ensue.match({str(path)!r}, 'SELECT * FROM S WHERE A ; B')"
    program = f"import sys, ensue; print(len({matched}), 'pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "False"]


#: Options that users name: a function has one argument for each.
OF_USERS = {"api/one_query.py", "cli/app.py", "own/user_aggregates.py", "own/user_automata.py"}


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_a_function_can_be_seen_whole(path):
    too_large = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            lines = (node.end_lineno or 0) - node.lineno + 1
            arguments = [a.arg for a in node.args.args + node.args.kwonlyargs if a.arg not in ("self", "cls")]
            if lines > 60 or (len(arguments) > 8 and named(path) not in OF_USERS):
                too_large.append(f"{node.name}: {lines} lines, {len(arguments)} arguments")
    assert not too_large


@pytest.mark.parametrize("text", ["import ensue", "import ensue.cli", "import ensue.demo"])
def test_importing_pulls_in_nothing_heavy(text):
    heavy = ["pyspark", "numba", "pandas", "polars", "pytest", "hypothesis"]
    program = f"import sys; {text}; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_importing_writes_nothing():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "import ensue"], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_heavy_libraries_stay_in_their_places(path):
    used, name = libraries_of(path), named(path)
    assert "numba" not in used or name.startswith("kernels/")
    assert "pyspark" not in used or name.startswith(("spark/", "api/")) or name == "row_patterns/sql.py"  # type hints
    assert not used & {"pandas", "polars"} or name == "results/rows.py"
    assert "lark" not in used or name.startswith("language/")
    assert not used & {"typer", "rich"} or name.startswith("cli/")
    assert "pygments" not in used or name == "language/highlighting.py"


#: The rooms of the house in the order of the pipeline: each imports only from those above it.
ROOMS = (
    "errors",
    "language",
    "data",
    "logic",
    "columns",
    "rewrite",
    "automata",
    "plan",
    "kernels",
    "own",
    "engines",
    "results",
    "row_patterns",
    "explain",
    "pipeline",
    "why",
    "report",
    "corrections",
    "api",
    "windows",
    "algebra",
    "preparation",
    "spark",
    "cli",
    "demo",
)
#: The public face gives what the rooms behind it make; what it gives lazily is imported where it is first used.
FACES = {"__init__", "dsl"}
#: `run` and `explain` take Spark DataFrames: the rooms that Spark has are loaded when one is given.
ON_DEMAND = {("api", "spark"), ("cli", "spark"), ("row_patterns", "spark")}


#: What the reference has nothing to do with.
OF_THE_ENGINE = {"columns", "rewrite", "automata", "plan", "kernels"}


def room_of(path: Path) -> str:
    return named(path).partition("/")[0].removesuffix(".py")


def rooms_used(path: Path) -> set[str]:
    return {i.split(".")[1] for i in imports_of(path) if i.startswith("ensue.")} - FACES


def test_nothing_else_is_at_the_top():
    """A room for everything, and everything in its room."""
    assert {room_of(p) for p in MODULES} == {*ROOMS, *FACES}


@pytest.mark.parametrize("path", [p for p in MODULES if room_of(p) not in FACES], ids=named)
def test_a_room_imports_only_from_those_before_it(path):
    later = rooms_used(path) & set(ROOMS[ROOMS.index(room_of(path)) + 1 :])
    assert {(room_of(path), room) for room in later} <= ON_DEMAND


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_reference_and_engine_share_no_evaluation(path):
    """Two that share code share faults: the reference is imported only where an engine is opened."""
    references = ("engines/reference/", "row_patterns/reference/")
    if named(path).startswith(references):
        assert not rooms_used(path) & OF_THE_ENGINE
    elif named(path) not in ("engines/opening.py", "row_patterns/sql.py"):
        rooms = tuple("ensue." + room.replace("/", ".").rstrip(".") for room in references)
        assert not {i for i in imports_of(path) if i.startswith(rooms)}


def test_no_two_modules_have_one_name():
    stems = [p.stem for p in MODULES if p.stem not in ("__init__", "__main__")]
    assert sorted(stems) == sorted(set(stems))


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_every_module_says_what_it_is(path):
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def test_all_names_exist_and_are_sorted():
    assert ensue.__all__ == sorted(ensue.__all__)
    assert all(hasattr(ensue, name) for name in ensue.__all__)


#: Whatever users may call or read, as the reference in the documentation lists it.
PUBLIC = {f"{module}.{name}": made for module in MODULES_OF_USERS for name, made in public_names(module).items()}


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_documented(name):
    assert PUBLIC[name].__doc__


def test_public_names_are_those_that_users_know():
    """Else the test before this one might look at nothing."""
    known = {"ensue.Query.run", "ensue.Matches.to_polars", "ensue.dsl.Pat.within", "ensue.dsl.select"}
    assert known | {"ensue.algebra.Detector.detect", "ensue.spark.local_session"} <= PUBLIC.keys()


def test_the_version_is_that_of_the_package():
    from importlib.metadata import version

    assert ensue.__version__ == version("ensue")


def test_the_type_hints_are_shipped():
    assert (SOURCE / "py.typed").exists()
