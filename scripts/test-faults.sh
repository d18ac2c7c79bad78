#!/usr/bin/env bash
# The fault suite: everything that may go wrong around the embedded engine, tried as often as the project promises. `make test`
# runs the same tests in a shorter form. At the end it prints what was tried, how often, and how it ended; the output of
# each step is in target/faults/.
#
#   scripts/test-faults.sh           all steps
#   scripts/test-faults.sh disk      the steps whose names contain a word
set -uo pipefail
cd "$(dirname "$0")/.."

# How often; each can be set from outside.
export STANDINGS_KILL_ROUNDS=${STANDINGS_KILL_ROUNDS:-200}
export STANDINGS_CRASH_EVERY=${STANDINGS_CRASH_EVERY:-1}
export STANDINGS_CONNECTIONS=${STANDINGS_CONNECTIONS:-8000}
export STANDINGS_CLOCK_STEPS=${STANDINGS_CLOCK_STEPS:-5000}
export STANDINGS_SEASON_SECONDS=${STANDINGS_SEASON_SECONDS:-130}
export STANDINGS_DISK_ROUNDS=${STANDINGS_DISK_ROUNDS:-20}
export STANDINGS_MEMORY_ROUNDS=${STANDINGS_MEMORY_ROUNDS:-5}
export STANDINGS_UPGRADE_KILLS=${STANDINGS_UPGRADE_KILLS:-20}
FUZZ_SECONDS=${FUZZ_SECONDS:-60}
API_CASES=${API_CASES:-200}

only=${1:-}
out=target/faults
mkdir -p "$out"
: >"$out/summary.md"
failed=0

# step WHAT COMMAND...: runs it and notes what it says it tried, how it ended and how long it took.
step() {
    local what=$1 log started seconds result tried
    shift
    [[ "$what" == *"$only"* ]] || return 0
    log="$out/${what//[^a-z0-9]/-}.log"
    echo "== $what"
    started=$SECONDS
    if "$@" >"$log" 2>&1; then
        result=passed
    else
        result=FAILED
        failed=1
        tail -n 40 "$log"
    fi
    seconds=$((SECONDS - started))
    tried=$(sed -n 's/.*tried: //p' "$log" | paste -sd ';' | sed 's/;/; /g')
    if [ -z "$tried" ]; then
        tried=$(sed -n 's/^ *\([0-9]* generated, .*\)/\1/p' "$log")
    fi
    if [ -z "$tried" ]; then
        tried=$(sed -n 's/^test result: [a-zA-Z]*\. \([1-9][0-9]*\) passed.*/\1 tests/p' "$log" | paste -sd ';')
    fi
    echo "| $what | $tried | $result | $seconds s |" >>"$out/summary.md"
}

# One test after the other, so that none disturbs another's measurements.
engine() { cargo test -p standings-embedded --lib -- --nocapture --test-threads=1 "$@"; }
server() { cargo test -p standings-server --test cli -- --nocapture --test-threads=1 "$@"; }

cargo test --no-run -p standings-embedded --lib || exit 1
cargo test --no-run -p standings-server --test cli || exit 1

step "kill -9 under load" server kill::
step "record of calls across kills" server linear::
step "power cut at every disk operation" engine tests::crash::a_power_cut
step "log torn at every byte" engine tests::crash::a_log_torn log::tests::
step "crash of the log at every operation" engine log::crash_tests::
step "power cut with durability interval" engine tests::crash::with_an_interval
step "full or failing disk, simulated" engine tests::failing::
step "full disk" server faults::disk::a_full_disk
step "data directory takes no writes" server faults::disk::a_directory
step "random operations against the model" engine random_operations_agree
step "clock steps" engine tests::clock::
step "season boundary under load" server faults::seasons::
step "seasons meet under load, inside" engine tests::load::
step "idle and slow connections" server faults::connections::thousands
step "clients that never read" server faults::connections::clients
step "endless requests" server faults::connections::requests
step "more connections than files" server faults::connections::connections
step "memory used up" server faults::memory::
step "fuzzing decoders and parsers" scripts/fuzz.sh "$FUZZ_SECONDS"
step "fuzzing the API" scripts/fuzz-api.sh "$API_CASES"

echo
echo "| what | tried | result | time |"
echo "|---|---|---|---|"
cat "$out/summary.md"
exit "$failed"
