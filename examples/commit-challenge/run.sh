#!/bin/sh
# The commit challenge: see README.md. Prints output.txt.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=examples/common.sh
. "$here/../common.sh"

# The weeks of 2025 are to be read whatever today is; the last question gives the board its two years.
sed 's/"24 months"/"forever"/' "$here/board.json" >"$work/board.json"
quietly board create commits --file "$work/board.json"
for week in $(awk -F, 'NR > 1 { print $1 }' "$here/commits.csv" | uniq); do
    awk -F, -v OFS=, -v week="$week" '$1 == week { print $2, $3, $4 }' "$here/commits.csv" |
        quietly import - --format csv --board commits --season "$week"
done

ask "One person's one week: 15 commits in week 26 of 2025, a success"
get "/v1/boards/commits/scores/john-doe?season=2025-W26"

ask "None in week 25, which is no success"
get "/v1/boards/commits/scores/john-doe?season=2025-W25"

ask "All weeks of a person, newest first"
cli player seasons john-doe --board commits --to 2025-W27 --limit 100 | sed 's/ *20[0-9T:-]*Z$//; s/ *UPDATED$//; s/streak: [0-9]*/streak: …/'

ask "The last ten weeks from week 20 on"
get "/v1/players/john-doe/seasons?board=commits&from=2025-W20&to=2025-W27&limit=10" | sed 's/"current_streak":[0-9]*/"current_streak":"…"/'

ask "All people of a week"
cli top --board commits --season 2025-W26 --limit 1000

ask "Only those who succeeded, and only those who did not"
get "/v1/boards/commits/scores?season=2025-W26&success=true"
get "/v1/boards/commits/scores?season=2025-W26&success=false"

ask "All weeks of a year: people, mean, successes, success rate, streaks, and the year's mean success rate"
cli season list --board commits --year 2025

ask "The same by HTTP"
get "/v1/boards/commits/seasons?year=2025&limit=2"

ask "Every row of the year as a file"
cli export --board commits --year 2025

ask "This week: a first report, and another on the same day, which the board refuses (once_per)"
send POST /v1/boards/commits/scores '{"user_id":"john-doe","points":15}' | today
send POST /v1/boards/commits/scores '{"user_id":"john-doe","points":20}' | today

ask "The same as the caller's condition (expect): only where nothing was written since today's midnight"
quietly board create commits-expect --file "$here/board-expect.json"
midnight="$(TZ=KST-9 date +%F)T00:00:00+09:00"
for count in 15 20; do
    send POST /v1/boards/commits-expect/scores \
        "{\"user_id\":\"john-doe\",\"points\":$count,\"expect\":{\"updated_before\":\"$midnight\"}}" | today |
        sed "s/$midnight/…/"
done

ask "A streak that goes on: the two weeks before this one, and this one although it is not over"
for ago in 2 1; do
    week=$(TZ=KST-9 date -d "-$ago weeks" +%G-W%V)
    echo "linus-t,7" | quietly import - --format csv --board commits --season "$week"
done
send POST /v1/boards/commits/scores '{"user_id":"linus-t","points":2}' | today
get "/v1/players/linus-t/seasons?board=commits&limit=3" | today

ask "A week of the past is corrected by giving it again, whole"
echo "PUT /v1/boards/commits/seasons/2025-W26, john-doe now with 20"
awk -F, '$1 == "2025-W26" { printf "{\"user_id\":\"%s\",\"score\":%d,\"at\":\"%s\"}\n", $2, $2 == "john-doe" ? 20 : $3, $4 }' \
    "$here/commits.csv" >"$work/2025-W26.ndjson"
curl -sS -T "$work/2025-W26.ndjson" -H 'Content-Type: application/x-ndjson' -H "Authorization: Bearer $STANDINGS_KEY" \
    "$STANDINGS_SERVER/v1/boards/commits/seasons/2025-W26" | rows
get "/v1/boards/commits/scores/john-doe?season=2025-W26"

ask "After two years records are gone: of a week 100 weeks ago and one 110 weeks ago, the first stays"
for ago in 100 110; do
    week=$(TZ=KST-9 date -d "-$ago weeks" +%G-W%V)
    echo "jane-smith,3" | quietly import - --format csv --board commits --season "$week"
done
quietly board create commits --file "$here/board.json" --replace
for ago in 100 110; do
    week=$(TZ=KST-9 date -d "-$ago weeks" +%G-W%V)
    get "/v1/boards/commits/scores?season=$week" | sed "s/$week/$ago-weeks-ago/g" | today
done
