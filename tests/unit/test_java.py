"""tools/java.sh, with programs of our own in the place of java, apt-get and id."""

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "java.sh"
#: What the script and the programs below use beside those they stand for.
REAL = ("sh", "sed", "head", "chmod", "cp")
OLD, NEW, NEWER = "1.8.0_412", "17.0.15", "21"
ADVICE = "install it (Debian: apt install openjdk-17-jre-headless), or set JAVA_HOME\n"


@pytest.fixture
def programs(tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in REAL:
        (folder / name).symlink_to(shutil.which(name))
    return folder


def program(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def java(path, version):
    program(path, f"""echo 'openjdk version "{version}" 2025-04-15' >&2""")


def user(programs, number):
    program(programs / "id", f"echo {number}")


def apt(programs, offers):
    """An apt-get that writes down what it is asked, and installs a java with the package that it offers."""
    java(programs.parent / "runtime", NEW)
    program(
        programs / "apt-get",
        f"""echo "$*" >> {programs.parent}/asked
case "$*" in
  *{offers}) cp {programs.parent}/runtime {programs}/java ;;
  install*) echo no such package >&2; exit 100 ;;
esac""",
    )


def asked(programs):
    file = programs.parent / "asked"
    return [line.split()[-1] for line in file.read_text().splitlines() if "install" in line] if file.exists() else []


def script(programs, **more):
    done = subprocess.run(
        [programs / "sh", SCRIPT], env={"PATH": str(programs), **more}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("version", [NEW, NEWER])
def test_silent_where_there_is_java(programs, version):
    java(programs / "java", version)
    user(programs, 0)
    apt(programs, "openjdk-17-jre-headless")
    assert script(programs) == (0, "", "")
    assert asked(programs) == []


@pytest.mark.parametrize(
    ("offers", "tried"),
    [
        ("openjdk-17-jre-headless", ["openjdk-17-jre-headless"]),
        ("default-jre-headless", ["openjdk-17-jre-headless", "default-jre-headless"]),
    ],
)
def test_root_installs_it(programs, offers, tried):
    user(programs, 0)
    apt(programs, offers)
    assert script(programs) == (0, "installing a Java runtime for Spark ...\n", "")
    assert asked(programs) == tried


def test_an_old_java_is_not_enough(programs):
    java(programs / "java", OLD)
    user(programs, 0)
    apt(programs, "openjdk-17-jre-headless")
    assert script(programs)[0] == 0
    assert asked(programs) == ["openjdk-17-jre-headless"]


def test_where_apt_has_none_it_says_what_to_install(programs):
    user(programs, 0)
    apt(programs, "another-package")
    code, _, told = script(programs)
    assert (code, told) == (1, f"Spark needs Java 17 or newer: {ADVICE}")


def test_who_is_not_root_is_told_what_to_install(programs):
    user(programs, 1000)
    apt(programs, "openjdk-17-jre-headless")
    assert script(programs) == (1, "", f"Spark needs Java 17 or newer: {ADVICE}")
    assert asked(programs) == []


def test_without_apt_it_says_what_to_install(programs):
    java(programs / "java", OLD)
    user(programs, 0)
    assert script(programs) == (1, "", f"Spark needs Java 17 or newer, and Java {OLD} was found: {ADVICE}")


def test_java_home_counts_and_is_left_alone(programs, tmp_path):
    user(programs, 0)
    apt(programs, "openjdk-17-jre-headless")
    (tmp_path / "home" / "bin").mkdir(parents=True)
    java(tmp_path / "home" / "bin" / "java", NEW)
    assert script(programs, JAVA_HOME=str(tmp_path / "home")) == (0, "", "")
    java(tmp_path / "home" / "bin" / "java", OLD)
    assert script(programs, JAVA_HOME=str(tmp_path / "home"))[0] == 1
    assert asked(programs) == []


def test_no_host_is_named():
    assert "://" not in SCRIPT.read_text()
