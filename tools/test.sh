#!/bin/sh
# test.sh PYTHON          all tests
# test.sh PYTHON quick    the tests that find most faults, with fewer random cases
#
# In two processes side by side: tests on Spark wait for Spark more than they compute. What the second process says comes
# after what the first one says.
python=$1
if [ "$2" = quick ]; then
    export ENSUE_PROFILE=quick
    marked="not slow"
    first="tests/engine"
    second="--ignore=tests/engine"
else
    marked=""
    first="--ignore=tests/spark"
    second="tests/spark"
fi
said=$(mktemp)
# The lists are split into words.
"$python" -m pytest -m "$marked" $second >"$said" 2>&1 &
beside=$!
trap 'kill "$beside" 2>/dev/null; rm -f "$said"; exit 130' INT TERM
"$python" -m pytest -m "$marked" $first
ended=$?
wait "$beside"
beside_ended=$?
echo "the second process: pytest $second"
cat "$said"
rm -f "$said"
[ "$ended" -eq 0 ] && [ "$beside_ended" -eq 0 ]
