//! Taking a player off a season that is in a file: the file stays, and the place of the row is noted.

use std::sync::Arc;

use standings_core::PlayerId;
use standings_engine::{EngineError, Result};

use crate::{
    Shared,
    operations::keeper::Frozen,
    out_of_order,
    read::board::unreadable,
    record::{BoardNo, SeasonNo},
    state::erasures::Hidden,
};

/// How often to look for a file that is replaced meanwhile. Twice in a row is already unlikely.
const LOOKS: usize = 8;

/// Takes a player off a season that is in a file.
pub(crate) fn remove(
    shared: &Shared,
    board: BoardNo,
    season: SeasonNo,
    player: &PlayerId,
) -> Result<()> {
    let unknown = || EngineError::UnknownPlayer(player.clone());
    for _ in 0..LOOKS {
        let (file, hidden) = {
            let catalog = shared.catalog.read();
            let file = catalog.board_no(board).and_then(|b| b.file(Frozen::Season(season)));
            let file = Arc::clone(file.ok_or_else(unknown)?);
            let hidden = Hidden::since(catalog.erased(), file.erasures);
            (file, hidden)
        };
        let open = match shared.frozen.get(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            open => open.map_err(|error| unreadable(&error))?,
        };
        let row = open.row_of(player).map_err(|error| unreadable(&error))?;
        let (position, record, text) = row.ok_or_else(unknown)?;
        if hidden.is_some_and(|hidden| hidden.contains(player)) {
            return Err(unknown());
        }
        let without = file.without(position, record.key.folded, text.streak);
        let player = player.clone();
        let done = shared
            .queue
            .change_blocking(move |s| s.remove_row(board, season, (&file, without), player))?;
        if done {
            return Ok(());
        }
    }
    Err(out_of_order("the file of the season is being replaced"))
}
