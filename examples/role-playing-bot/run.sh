#!/bin/sh
# The role-playing game's bot: see README.md. Prints output.txt.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=examples/common.sh
. "$here/../common.sh"

# The columns of one board, of the file of a day: rows_of <level|power> <date>
rows_of() {
    awk -F, -v OFS=, -v first="$([ "$1" = level ] && echo 3 || echo 6)" '
        NR == 1 { print "user_id,user_name,score,at,official_rank"; next }
        { print $1, $2, $first, $(first + 1), $(first + 2) }' "$here/$2.csv"
}

for board in level power; do
    quietly board create "$board" --file "$here/$board.json"
    for date in 2026-02-19 2026-02-20 2026-02-21; do
        rows_of "$board" "$date" | quietly import - --format csv --board "$board" --snapshot "$date"
    done
done

ask "The days there are"
cli snapshot list --board level

# The game's own list of a day: as many rows as it has, in its order; of them the first ten and the last two. `rank` is ours.
official() {
    get "/v1/boards/$1/scores?snapshot=$2&limit=100" | sed -n -e '1p' -e 's/.*"official_rank":\([0-9]*\)}.*/\1 &/p' |
        sort -n | sed -E -e 's/^[0-9]+ *//' -e 's/\},$/}/' -e '12,99d'
}

ask "The official ranks 1 to 100 of 2026-02-21, by level: the first ten and the last two"
official level 2026-02-21

ask "The same by power"
official power 2026-02-21

ask "Custom ranks from 101 on: page 10 of ten rows each, so that rank = 10 x 10 + index + 1"
page="/v1/boards/level/scores?snapshot=2026-02-21&limit=10&offset=100"
get "$page"
for number in 11 12; do
    ask "Page $number, by the cursor of the page before it"
    after=$(curl -sS "$STANDINGS_SERVER$page" | sed 's/.*"next":"\([^"]*\)".*/\1/')
    page="/v1/boards/level/scores?limit=10&after=$after"
    get "$page" | sed 's/after=.*/after=…/'
done

ask "Every page and row of both boards has the rank that the formula gives"
for board in level power; do
    for page in 0 1 2 3 4 5 6 7 8 9 10 11 12; do
        curl -sS "$STANDINGS_SERVER/v1/boards/$board/scores?snapshot=2026-02-21&limit=10&offset=$((page * 10))" | rows |
            sed -n 's/.*"rank":\([0-9]*\),"score".*/\1/p' | awk -v page="$page" '$1 != page * 10 + NR { print "page", page, "has", $1 }'
    done | awk -v board="$board" '{ print } END { print board ": " (NR ? "wrong" : "right") }'
done

ask "A player day by day, level and power: with the name of each day"
cli player snapshots A101

ask "The same within dates, by HTTP"
get "/v1/players/A101/snapshots?from=2026-02-20&to=2026-02-21"

ask "Levels from 50 to 80 on 2026-02-21, the highest first"
cli top --board level --snapshot 2026-02-21 --min 50 --max 80 --limit 1000

ask "Powers from 70000 to 75000 on that day"
cli top --board power --snapshot 2026-02-21 --min 70000 --max 75000

ask "One player's rank on that day, with two on each side"
cli rank A101 --board level --snapshot 2026-02-21 --around 2

ask "The player now: a name, a level and a power, which replace what was there"
send PUT /v1/players/A101 '{"name":"Hello","attributes":{"class":"mage"}}'
send POST /v1/boards/level/scores '{"user_id":"A101","points":78}' | today
send POST /v1/boards/level/scores '{"user_id":"A101","points":79}' | today
send POST /v1/boards/power/scores '{"user_id":"A101","points":72480}' | today
get /v1/players/A101 | today

ask "The player's id by name, in any letter case, and by how the name begins"
get "/v1/players?name=hello"
get "/v1/players?name=HELLO"
get "/v1/players?prefix=heL"

ask "Today is frozen on demand, and is the latest day"
send POST /v1/boards/level/snapshots '{}' | today
get "/v1/boards/level/scores?snapshot=latest" | today
