#!/bin/sh
# try_package.sh PYTHON FOLDER: installs the wheel of the folder into a new environment, without this project beside it, and
# runs the first example of the documentation and the command.
set -e
python=$1
folder=$(cd "$2" && pwd)
new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
"$python" -m venv "$new/venv"
"$new/venv/bin/pip" install --quiet --disable-pip-version-check "$folder"/*.whl
cd "$new"
PYTHONPATH= venv/bin/python - <<'PROGRAM'
import ensue

events = [{"time": 1, "type": "A", "v": 7}, {"time": 4, "type": "B", "v": 9}]
matches = ensue.match(events, "SELECT x.v, y.v FROM S WHERE A AS x ; B AS y WITHIN 5 s", unit="s")
assert matches.to_arrow().to_pylist() == [{"start_time": 1, "end_time": 4, "x_v": 7, "y_v": 9}], matches
assert "venv" in ensue.__file__, ensue.__file__
PROGRAM
printf 'SELECT x.v FROM S WHERE A AS x' >query.sql
venv/bin/ensue check query.sql
echo "the package works: $(ls "$folder" | tr '\n' ' ')"
