#!/bin/sh
# All tests, in two processes side by side: those on Spark wait for Spark more than they compute. What they say comes
# after what the others say.
python=$1
said=$(mktemp)
"$python" -m pytest tests/spark >"$said" 2>&1 &
on_spark=$!
trap 'kill "$on_spark" 2>/dev/null; rm -f "$said"; exit 130' INT TERM
"$python" -m pytest --ignore=tests/spark
embedded=$?
wait "$on_spark"
spark=$?
echo "on Spark:"
cat "$said"
rm -f "$said"
[ "$embedded" -eq 0 ] && [ "$spark" -eq 0 ]
