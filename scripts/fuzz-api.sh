#!/usr/bin/env bash
# Calls every operation of the published OpenAPI document with generated data, good and bad: no answer may be a 5xx, and every
# answer must be as the document says. Examples for each operation: $1, 20 where absent.
set -euo pipefail
cd "$(dirname "$0")/.."

tools=target/tools/schemathesis
if ! [ -x "$tools/bin/schemathesis" ]; then
    python3 -c 'import ensurepip, venv' 2>/dev/null || scripts/install-test-deps.sh python
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check 'schemathesis==4.32.*'
fi

cargo build --quiet --bin standings
data=$(mktemp -d)
key=an-admin-key-for-fuzzing
target/debug/standings serve --listen 127.0.0.1:0 --data "$data/data" --admin-key "$key" --log-level error >"$data/out" &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null || true; rm -rf "$data"' EXIT
for _ in $(seq 100); do
    address=$(sed -n 's/.*\(http[^ ]*\).*/\1/p' "$data/out" | head -1)
    [ -n "$address" ] && break
    sleep 0.1
done

# Backups would fill the disk; everything else is fair game.
SCHEMATHESIS_HOOKS=scripts.api_hooks PYTHONPATH=. "$tools/bin/schemathesis" run "$address/openapi.json" \
    --header "Authorization: Bearer $key" --exclude-path /v1/backup --max-examples "${1:-20}" --no-color \
    --checks not_a_server_error,response_schema_conformance,status_code_conformance,content_type_conformance \
    >"$data/report" 2>&1 || { cat "$data/report"; exit 1; }
grep -A3 '^Test cases:' "$data/report"
kill -0 "$server" # it is still there
