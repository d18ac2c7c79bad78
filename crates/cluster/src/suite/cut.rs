//! A line to a store that is cut when a test wants it.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::{
    call::Call,
    traits::Fault,
    wrap::{Around, Wrapped},
};

/// A store behind such a line.
pub type Cut<S> = Wrapped<S, Cuts>;

/// What happens to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It is carried out, and the answer is lost.
    Lost,
    /// It is not carried out, and the caller learns of it.
    Refused,
    /// It is carried out, and once more before the caller learns what came of the first.
    Twice,
}

/// What is to happen to the next calls.
#[derive(Clone, Debug, Default)]
pub struct Cuts(Arc<Mutex<Vec<(Call, How)>>>);

impl Cuts {
    /// A store behind a line that is whole.
    pub fn around<S>(store: S) -> Cut<S> {
        Wrapped { store, around: Self::default() }
    }

    /// The next call of this name goes so.
    pub fn next(&self, call: Call, how: How) {
        self.0.lock().push((call, how));
    }

    fn take(&self, call: Call) -> Option<How> {
        let mut cuts = self.0.lock();
        let next = cuts.iter().position(|(of, _)| *of == call)?;
        Some(cuts.remove(next).1)
    }
}

impl Around for Cuts {
    async fn around<T: Send, F: Future<Output = Result<T, Fault>> + Send>(
        &self,
        call: Call,
        run: impl Fn() -> F + Send + Sync,
    ) -> Result<T, Fault> {
        match self.take(call) {
            None => run().await,
            Some(How::Refused) => Err(Fault::NotApplied("the line is cut".into())),
            Some(How::Lost) => {
                run().await?;
                Err(Fault::Unknown("the line was cut".into()))
            }
            Some(How::Twice) => {
                let first = run().await;
                run().await?;
                first
            }
        }
    }
}
