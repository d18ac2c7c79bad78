#!/usr/bin/env bash
# Fuzzes what reads bytes from elsewhere, each target for $1 seconds (60 where absent). It starts from the seeds in fuzz/corpus
# and from what earlier runs found, in fuzz/target/corpus. The instrumentation is asked for by hand, so that stable Rust will do.
set -euo pipefail
cd "$(dirname "$0")/../fuzz"
seconds=${1:-60}
command -v c++ >/dev/null || ../scripts/install-test-deps.sh c++

coverage="-C passes=sancov-module -C llvm-args=-sanitizer-coverage-level=4 \
-C llvm-args=-sanitizer-coverage-inline-8bit-counters -C llvm-args=-sanitizer-coverage-pc-table \
-C llvm-args=-sanitizer-coverage-trace-compares -C codegen-units=1"
# With a target named, the flags are not for build scripts and macros, which have no fuzzer to count for them.
host=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS="$coverage" CARGO_TARGET_DIR=target cargo build --quiet --release --target "$host"

for target in log; do
    mkdir -p "target/corpus/$target"
    # Half a gigabyte is far more than any input may need.
    "target/$host/release/$target" "target/corpus/$target" "corpus/$target" -max_total_time="$seconds" \
        -max_len=4096 -rss_limit_mb=512 -malloc_limit_mb=64 -timeout=10 -print_final_stats=1 \
        -artifact_prefix="target/$target-" >"target/$target.out" 2>&1 || { tail -n 50 "target/$target.out"; exit 1; }
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "target/$target.out")
    echo "tried: $target: $runs inputs in $seconds s, no panic, no difference"
done
