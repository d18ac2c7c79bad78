#!/bin/sh
# The puzzle game: see README.md. Prints output.txt.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=examples/common.sh
. "$here/../common.sh"

quietly board create puzzle --file "$here/board.json"
for week in 2014-05-02 2014-05-09 2014-05-16; do
    quietly import "$here/$week.csv" --board puzzle --season "$week"
done
quietly player set-friends 2 1 3 5 8 10

ask "The ranking of the week from Friday 2014-05-09 to Thursday 2014-05-15"
cli top --board puzzle --season 2014-05-09 --limit 100

ask "The same week among the friends of player 2: rank among them, and on the board"
cli rank 2 --board puzzle --season 2014-05-09 --friends

ask "The same by HTTP, in one call"
get "/v1/boards/puzzle/scores/2?friends=true&season=2014-05-09"

ask "Among players of a list that is not stored"
get "/v1/boards/puzzle/scores?ids=2,4,10&season=2014-05-09"

ask "Player 2 week by week, newest first, and the best of all time"
get "/v1/players/2/seasons?board=puzzle&to=2014-05-16"

ask "The best of all time of player 7, who did not play in the last of these weeks"
get "/v1/players/7/seasons?board=puzzle&to=2014-05-16&limit=1"

ask "This week: every game is sent, the best one counts"
for game in 41200 38000 52300; do
    send POST /v1/boards/puzzle/scores "{\"user_id\":\"2\",\"points\":$game,\"event_id\":\"game-$game\"}" | today
done

ask "A score that the game cannot give"
send POST /v1/boards/puzzle/scores '{"user_id":"2","points":100000}'

ask "All games of player 2, newest first"
get "/v1/players/2/scores?board=puzzle" | today

ask "Last week, whatever today is"
this_week=$(curl -sS "$STANDINGS_SERVER/v1/boards/puzzle" | sed 's/.*"current_season":{"id":"\([^"]*\)".*/\1/')
last_week=$(date -u -d "$this_week - 7 days" +%F)
printf '%s\n' 1,61000,,Minji 2,70900,,Junho 3,58800,,Seoyeon 4,88000,,Haneul | quietly import - --format csv --board puzzle --season "$last_week"
get "/v1/boards/puzzle/scores?season=previous" | today
get "/v1/boards/puzzle/scores/2?friends=true&season=previous" | today

ask "And the best of all time with it"
get "/v1/players/2/seasons?board=puzzle&limit=2" | today
