//! Receipts on their way back to the threads that serve requests.
//!
//! Waking a task on another thread costs that thread a system call and the sequencer's time, for every receipt of a group.
//! A thread that drives a runtime of its own can have a mailbox instead: the receipts of a group that are for it are put
//! there together, it is woken once, and a task of its own hands them out, where waking is a push onto a queue.

use std::cell::RefCell;

use tokio::sync::{mpsc, oneshot};

use standings_engine::{Receipt, Refused, Result};

/// What became of a command's submissions.
pub(crate) type Receipts = Result<Vec<Result<Receipt, Refused>>>;

thread_local! {
    static OF_THIS_THREAD: RefCell<Option<Mailbox>> = const { RefCell::new(None) };
}

/// The way to a thread.
#[derive(Clone)]
struct Mailbox(mpsc::UnboundedSender<Vec<Letter>>);

/// Receipts and who waits for them.
struct Letter {
    to: oneshot::Sender<Receipts>,
    receipts: Receipts,
}

/// Gives this thread a mailbox. To be called within the runtime that the thread drives to its end, and drives alone: its
/// receipts are handed out there and nowhere else.
pub fn open_mailbox() {
    let (sender, mut letters) = mpsc::unbounded_channel::<Vec<Letter>>();
    OF_THIS_THREAD.set(Some(Mailbox(sender)));
    tokio::spawn(async move {
        while let Some(letters) = letters.recv().await {
            for letter in letters {
                // Whoever asked may have gone; the score counts all the same.
                let _ = letter.to.send(letter.receipts);
            }
        }
    });
}

/// Where the receipts of one command go.
pub(crate) struct Reply {
    to: oneshot::Sender<Receipts>,
    by: Option<Mailbox>,
}

impl Reply {
    /// To the task that calls this.
    pub(crate) fn here() -> (Self, oneshot::Receiver<Receipts>) {
        let (to, receipts) = oneshot::channel();
        (Self { to, by: OF_THIS_THREAD.with_borrow(Clone::clone) }, receipts)
    }

    /// Answers at once.
    pub(crate) fn send(self, receipts: Receipts) {
        let _ = self.to.send(receipts);
    }
}

/// The receipts of a group, sorted by mailbox. There are as many of those as threads, which is few.
#[derive(Default)]
pub(crate) struct Post(Vec<(Mailbox, Vec<Letter>)>);

impl Post {
    pub(crate) fn add(&mut self, reply: Reply, receipts: Receipts) {
        let Reply { to, by: Some(mailbox) } = reply else { return reply.send(receipts) };
        let letter = Letter { to, receipts };
        match self.0.iter_mut().find(|(other, _)| other.0.same_channel(&mailbox.0)) {
            Some((_, letters)) => letters.push(letter),
            None => self.0.push((mailbox, vec![letter])),
        }
    }

    /// Wakes every thread that has something, once.
    pub(crate) fn deliver(self) {
        for (mailbox, letters) in self.0 {
            // A thread that has ended took those who waited with it.
            let _ = mailbox.0.send(letters);
        }
    }
}

#[cfg(test)]
mod tests {
    use standings_core::rule::Rejection;

    use super::*;

    #[test]
    fn receipts_reach_who_waits_with_and_without_a_mailbox() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let ask = |mailbox: bool| {
            runtime.block_on(async {
                if mailbox {
                    open_mailbox();
                }
                let (first, first_receipts) = Reply::here();
                let (second, second_receipts) = Reply::here();
                let sequencer = std::thread::spawn(move || {
                    let mut post = Post::default();
                    post.add(first, Ok(Vec::new()));
                    post.add(second, Ok(vec![Err(Rejection::TooSoon.into())]));
                    let threads = post.0.len();
                    post.deliver();
                    threads
                });
                assert_eq!(first_receipts.await.unwrap().unwrap().len(), 0);
                assert_eq!(second_receipts.await.unwrap().unwrap().len(), 1);
                sequencer.join().unwrap()
            })
        };
        assert_eq!(ask(false), 0);
        assert_eq!(ask(true), 1);
    }
}
