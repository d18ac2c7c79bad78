#!/bin/sh
# The tournament: see README.md. Prints output.txt.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
needs=game-service
# shellcheck source=examples/common.sh
. "$here/../common.sh"

# The game service alone has a key with which scores are written.
made=$("$bin/standings" key create game-service --role game --json)
game_key=$(echo "$made" | sed 's/.*"key":"\([^"]*\)".*/\1/')
start env STANDINGS_KEY="$game_key" "$bin/game-service" --listen 127.0.0.1:0 --matches "$here/matches.csv"
game=$address

# A player's client reports a win to the game service: win <match> <player>
win() {
    echo "POST /wins of the game service {\"match_id\":\"$1\",\"user_id\":\"$2\"}"
    curl -sS --json "{\"match_id\":\"$1\",\"user_id\":\"$2\"}" -w ' (%{http_code})\n' "$game/wins" | steady | today
}

# Board main is the one of /v1/scores, and must be empty; three months of the past are loaded whole.
quietly board create first --file "$here/board-earliest.json"
curl -sS "$STANDINGS_SERVER/v1/scores" | grep -q '"players":0,' || { echo "board main has players" >&2 && exit 1; }
quietly board create main --file "$here/board.json" --replace
for month in 2022-06 2022-07 2022-08; do
    quietly import "$here/$month.csv" --board main --season "$month"
done
quietly import "$here/2022-08.csv" --board first --season 2022-08

ask "The ten best of August 2022; dave and erin share rank 4"
get "/v1/scores?limit=10&season=2022-08"

ask "The same where the first to reach a score leads: erin has rank 4, dave 5"
cli top --board first --season 2022-08 --limit 10

ask "The rank of one player"
get "/v1/scores/user5?season=2022-08"

ask "Rank 361, with four above and four below"
cli rank Mallow007 --season 2022-08 --around 4

ask "Where 940 points would stand"
get "/v1/scores/at/940?around=1&season=2022-08"

ask "The four of July 2022"
cli top --season 2022-07

ask "The score at each tenth of June 2022: the best tenth has 6500 and more, a tenth has less than 100"
get "/v1/distribution?season=2022-06" | sed '/"histogram"/{s/,"histogram.*/,…}/;q}'

ask "A player's percentile in June 2022"
get "/v1/scores/bold_falcon?season=2022-06"

ask "A client that writes by itself, without a key"
echo 'POST /v1/scores {"user_id":"eve","points":1000}'
curl -sS --json '{"user_id":"eve","points":1000}' "$STANDINGS_SERVER/v1/scores" -w ' (%{http_code})\n'

ask "Wins that the game service saw: three of Mary's, and one each of Mallow's and Smith's"
for name in mary123:Mary mallow:Mallow smith:Smith; do
    curl -sS -X PUT --json "{\"name\":\"${name#*:}\"}" -H "Authorization: Bearer $game_key" \
        "$STANDINGS_SERVER/v1/players/${name%:*}" >/dev/null
done
win m-1001 mary123
win m-1002 mary123
win m-1004 mary123
win m-1005 mallow
win m-1006 smith

ask "A report that is sent again, because the answer was lost, counts once"
win m-1001 mary123

ask "Wins that were none: the loser's, a draw, a stranger's, one in no match"
win m-1001 smith
win m-1003 mary123
win m-1002 eve
win m-9999 mary123

ask "The month as it stands, at once"
get "/v1/scores?limit=10" | today

ask "Every win of a player, newest first"
get "/v1/players/mary123/scores?board=main" | today

ask "The month ends, here by hand, and the next one begins empty"
send POST /v1/boards/main/seasons/close '{}' | today
get "/v1/scores?limit=10" | today

ask "The month before stays as it was"
get "/v1/scores?limit=10&season=previous" | today
get "/v1/players/mary123/seasons?board=main&limit=1" | today

quietly key delete game-service
