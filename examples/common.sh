# shellcheck shell=sh
# What the examples share; each run.sh reads it. A server to talk to, and how questions and answers are printed.
#
# With STANDINGS_SERVER and STANDINGS_ADMIN_KEY set, that server is used, and should be an empty one. Otherwise a server is
# started on a free port with a temporary directory, and ends with the script. $needs may name a package to be built besides.

root=$(cd "$here/../.." && pwd)
# Where the binaries are, or will be once they are built.
bin=${STANDINGS_BIN:-$root/target/debug}
work=$(mktemp -d)
started=

finish() {
    for pid in $started; do
        kill "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

# Starts a program that says where it is ready, and puts that address into $address: start <program> <arguments>
start() {
    said=$work/$(basename "$1").out
    : >"$said"
    "$@" >>"$said" 2>"$said.err" &
    started="$! $started"
    tries=0
    while address=$(sed -n 's/.* is ready at \(http[^ ]*\).*/\1/p' "$said") && [ -z "$address" ]; do
        tries=$((tries + 1))
        if [ "$tries" -gt 300 ] || ! kill -0 "$!" 2>/dev/null; then
            echo "$1 did not start:" >&2
            cat "$said" "$said.err" >&2
            exit 1
        fi
        sleep 0.1
    done
}

# Nothing here is for a proxy.
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY

# What is not built yet is built, all at once.
missing=
[ -x "$bin/standings" ] || missing="-p standings-server"
[ -z "${needs:-}" ] || [ -x "$bin/$needs" ] || missing="$missing -p $needs"
if [ -n "$missing" ]; then
    # Who watches sees how far it is.
    [ -t 2 ] && quiet= || quiet=--quiet
    # shellcheck disable=SC2086 # these are words
    cargo build $quiet --manifest-path "$root/Cargo.toml" --target-dir "${bin%/*}" $missing >&2
fi

if [ -z "${STANDINGS_SERVER:-}" ]; then
    STANDINGS_ADMIN_KEY=$(od -An -tx1 -N16 /dev/urandom | tr -d ' \n')
    export STANDINGS_ADMIN_KEY
    start "$bin/standings" serve --data "$work/data" --listen 127.0.0.1:0 --log-level warn
    STANDINGS_SERVER=$address
fi
export STANDINGS_SERVER STANDINGS_KEY="${STANDINGS_ADMIN_KEY:?is needed with STANDINGS_SERVER}"

# A heading: ask <question>
ask() {
    printf '\n== %s\n' "$*"
}

# The command line, shown and run: cli <arguments>
cli() {
    echo "\$ standings $*"
    "$bin/standings" "$@" | steady
}

# The same, without a word: for what prepares a question.
quietly() {
    "$bin/standings" "$@" >/dev/null
}

# A read by HTTP, shown and done: get <path>
get() {
    echo "GET $1"
    curl -sS "$STANDINGS_SERVER$1" | rows | steady
}

# A write by HTTP, shown and done: send <method> <path> <body>
send() {
    echo "$1 $2 $3"
    curl -sS -X "$1" --json "$3" -H "Authorization: Bearer $STANDINGS_KEY" "$STANDINGS_SERVER$2" | rows | steady
}

# JSON with a line for each row of a list.
rows() {
    sed -E -e 's/([[,])\{"(user_id|season|snapshot|board|id|top_percent)"/\1\n  {"\2"/g' \
        -e 's/\}\],/}\n],/g' -e 's/\}\]\}$/}\n]}/' -e '$a\'
}

# Without what differs from run to run or says nothing: when a row was written or computed, and cursors.
steady() {
    sed -E -e 's/"(updated_at|computed_at|next)":"[^"]*"/"\1":"…"/g' -e 's/, updated 2[^ ]*Z$/, updated …/'
}

# What happens now has other times and season ids every time.
today() {
    sed -E -e 's/"(at|starts_at|ends_at)":"[^"]*"/"\1":"…"/g' -e 's/"(season|snapshot|closed|current)":"2[^"]*"/"\1":"…"/g'
}
