#!/usr/bin/env bash
# Makes a fixture of a format on disk: runs a binary that writes it, gives it something of everything, kills it, and keeps its
# files together with what it answered.
#
#   make-fixture.sh BINARY NAME       writes NAME.tar.gz beside this script
set -euo pipefail
binary=$1 name=$2 here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
key=an-admin-key-for-tests
"$binary" serve --listen 127.0.0.1:0 --data "$work/data" --admin-key "$key" --log-level error >"$work/out" &
server=$!
trap 'kill -9 "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 100); do
    address=$(sed -n 's/.*\(http[^ ]*\).*/\1/p' "$work/out" | head -1)
    [ -n "$address" ] && break
    sleep 0.1
done

# call METHOD PATH [BODY [MEDIA]]
call() {
    curl -sS --fail-with-body --noproxy '*' -X "$1" -H "Authorization: Bearer $key" \
        -H "Content-Type: ${4:-application/json}" ${3:+--data-binary "$3"} "$address$2"
}

call PUT /v1/boards/wins '{"keep":"forever","goal":30,"ties":"share"}'
call PUT /v1/boards/laps '{"keep":"forever","rule":"best","order":"asc","ties":"earliest","season":"never"}'
call PUT /v1/boards/gone '{"season":"daily"}'
call POST /v1/keys '{"name":"game","role":"game"}' >/dev/null
for season in 1 2 3; do
    for n in $(seq 40); do
        call POST /v1/boards/wins/scores \
            "{\"user_id\":\"player-$n\",\"points\":$((n * season % 37)),\"event_id\":\"wins-$season-$n\",\"user_name\":\"Name $n.$season\"}"
    done
    call POST /v1/boards/wins/seasons/close
done >/dev/null
# The closed seasons are to be in files.
sleep 1
call DELETE "/v1/boards/wins/scores/player-7?season=previous"
for n in $(seq 40); do
    call POST /v1/boards/laps/scores "{\"user_id\":\"player-$n\",\"points\":$((90000 - n % 9 * 100)),\"event_id\":\"laps-$n\"}"
    call POST /v1/boards/wins/scores "{\"user_id\":\"player-$n\",\"points\":$((n % 5)),\"event_id\":\"wins-4-$n\"}"
done >/dev/null
call PUT /v1/boards/laps/scores '{"user_id":"imported","score":89000,"at":"2026-01-02T03:04:05Z","user_name":"Imp"}' application/x-ndjson >/dev/null
call PUT /v1/boards/wins/seasons/2025-03 '{"user_id":"old","score":99,"at":"2025-03-02T03:04:05Z","user_name":"Old Hand"}' application/x-ndjson >/dev/null
call PUT /v1/players/player-3 '{"name":"Ärger","avatar_url":"https://example.org/3.png","attributes":{"clan":"x"}}' >/dev/null
call POST /v1/boards/gone/scores '{"user_id":"player-1","points":1}' >/dev/null
call DELETE /v1/boards/gone

# What it answers; season ids are named, since which one is current is a matter of the clock.
seasons=$(call GET "/v1/boards/wins/seasons?limit=100" | grep -o '"id":"[^"]*"' | cut -d'"' -f4)
current=$(head -1 <<<"$seasons")
{
    echo '['
    for path in $(sed 's|.*|/v1/boards/wins/scores?limit=100\&season=&|' <<<"$seasons") \
        "/v1/boards/laps/scores?limit=100" "/v1/boards/laps/scores/player-9?around=2" \
        "/v1/boards/wins/scores/player-11?season=$current" "/v1/keys"; do
        printf '{"path":"%s","answer":%s},\n' "$path" "$(call GET "$path")"
    done
    printf '{"path":"%s","answer":%s}\n]\n' "/v1/players?name=%C3%84RGER" "$(call GET "/v1/players?name=%C3%84RGER")"
} >"$work/data/answers.json"

mkdir "$work/$name"
mv "$work/data/answers.json" "$work/$name/"
# The files as a killed server leaves them,
kill -STOP "$server"
cp -a --sparse=always "$work/data" "$work/$name/killed"
kill -CONT "$server"
# and as a stopped one does: once the log is long enough, with a checkpoint.
long=$(printf 'x%.0s' $(seq 4000))
for n in $(seq "${LOG_KIB:-1200}"); do
    [ $((n % 4)) -ne 0 ] || call PUT /v1/players/long "{\"attributes\":{\"$n\":\"$long\"}}" >/dev/null
done
kill -TERM "$server"
wait "$server"
mv "$work/data" "$work/$name/stopped"
ls "$work/$name/stopped/checkpoint"
# Sparse: files of the history are zeros for the most part.
tar -C "$work" -S --owner=0 --group=0 -czf "$here/$name.tar.gz" "$name"
ls -l "$here/$name.tar.gz"
