#!/usr/bin/env bash
# Installs what the tests need on a machine where nothing was installed by hand. Running it again changes nothing.
#
#   scripts/install-test-deps.sh          for `make test`: a Rust toolchain and a C compiler (ring has C code)
#   scripts/install-test-deps.sh redis    for `make bench`: redis-server as well
#   scripts/install-test-deps.sh mariadb  for `make bench-sql`: mariadb-server
#   scripts/install-test-deps.sh postgres for `make bench-sql`: postgresql
#   scripts/install-test-deps.sh c++      for the fuzzers: a C++ compiler (libFuzzer is C++)
#   scripts/install-test-deps.sh python   for the API fuzzer: Python with venv and pip
#
# Packages come from Debian and leave no service running: benchmarks and tests start their own servers on loopback.
set -euo pipefail

has() { command -v "$1" > /dev/null 2>&1; }

# Installs Debian packages without starting what is in them.
install_packages() {
    if ! has apt-get; then
        echo "please install by hand: $* (this script knows apt-get only)" >&2
        exit 1
    fi
    local sudo=()
    if [ "$(id -u)" -ne 0 ]; then sudo=(sudo); fi
    # Debian asks this file whether a package may start its service: 101 is no. One that is already there has its reasons.
    local policy=/usr/sbin/policy-rc.d made=no
    if [ ! -e "$policy" ]; then
        printf '#!/bin/sh\nexit 101\n' | "${sudo[@]}" tee "$policy" > /dev/null
        "${sudo[@]}" chmod 755 "$policy"
        made=yes
    fi
    local failed=0
    "${sudo[@]}" apt-get update -qq &&
        "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" || failed=$?
    if [ "$made" = yes ]; then "${sudo[@]}" rm -f "$policy"; fi
    return "$failed"
}

# The service of a package that was just installed must not start at the next boot either.
disable_service() {
    if has systemctl && [ -d /run/systemd/system ]; then
        local sudo=()
        if [ "$(id -u)" -ne 0 ]; then sudo=(sudo); fi
        "${sudo[@]}" systemctl disable --now --quiet "$1" || true
    fi
}

if ! has cc; then install_packages gcc libc6-dev; fi

if ! has cargo; then
    echo "please install Rust from https://rustup.rs; everything else is installed by this script" >&2
    exit 1
fi

for wanted in "$@"; do
    case "$wanted" in
        redis)
            if ! has redis-server; then
                install_packages redis-server
                disable_service redis-server
            fi
            ;;
        mariadb)
            if ! has mariadbd; then
                install_packages mariadb-server
                disable_service mariadb
            fi
            ;;
        postgres)
            if ! has psql || [ ! -d /usr/lib/postgresql ]; then
                install_packages postgresql
                disable_service postgresql
            fi
            ;;
        c++)
            if ! has c++; then install_packages g++; fi
            ;;
        python)
            if ! python3 -c 'import ensurepip, venv' 2> /dev/null; then install_packages python3 python3-venv; fi
            ;;
        *)
            echo "$0: unknown: $wanted" >&2
            exit 2
            ;;
    esac
done
