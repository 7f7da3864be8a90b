//! Stopping work that takes long, from outside.
//!
//! ```text
//!   calling thread   check ─▶ asks its poll, at most every 100 ms ─▶ a cause: stop, with this error
//!   worker threads   check ─▶ has the calling thread stopped?
//! ```
//!
//! Work checks once a stretch of [`STRETCH`] rows, never for each row. What it was at work on is
//! left half done: it is thrown away.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::core::error::{Cause, Error, Result};

/// Rows between two checks: even where each of them costs a cache miss they take some
/// milliseconds.
pub const STRETCH: usize = 1 << 16;

/// How often the poll is asked.
pub const INTERVAL: Duration = Duration::from_millis(100);

/// What is asked whether to stop.
type Poll = Box<dyn Fn() -> std::result::Result<(), Cause> + Send>;

/// Whether work is to stop, as one thread sees it.
pub struct Interrupt {
    stopped: Arc<AtomicBool>,
    poll: Option<Poll>,
    asked: Cell<Instant>,
    /// What the poll gave, until it is told.
    cause: Cell<Option<Cause>>,
    /// Parts of the work that are done.
    done: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Work that ends by itself alone.
    pub fn never() -> Self {
        Self::from(None)
    }

    /// Work that stops as soon as `poll` gives a cause. It is asked on the thread that holds
    /// this, never on a worker.
    pub fn new(poll: impl Fn() -> std::result::Result<(), Cause> + Send + 'static) -> Self {
        Self::from(Some(Box::new(poll) as Poll))
    }

    fn from(poll: Option<Poll>) -> Self {
        Self {
            stopped: Arc::default(),
            poll,
            asked: Cell::new(Instant::now()),
            cause: Cell::new(None),
            done: Arc::default(),
        }
    }

    /// The same, which counts the parts of the work that are done where the poll sees them.
    pub fn counting(self, done: Arc<AtomicUsize>) -> Self {
        Self { done, ..self }
    }

    /// One more part of the work is done.
    pub fn part_is_done(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// The same for a thread that works for this one: it asks no poll.
    pub fn for_worker(&self) -> Self {
        Self {
            stopped: Arc::clone(&self.stopped),
            poll: None,
            asked: self.asked.clone(),
            cause: Cell::new(None),
            done: Arc::clone(&self.done),
        }
    }

    /// Stops this thread and all its workers at their next check.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    /// Whether work is to stop. The poll is asked where it is time to.
    pub fn is_stopped(&self) -> bool {
        if let Some(poll) = &self.poll
            && self.asked.get().elapsed() >= INTERVAL
            && !self.stopped.load(Ordering::Acquire)
        {
            let answer = poll();
            self.asked.set(Instant::now());
            if let Err(cause) = answer {
                self.cause.set(Some(cause));
                self.stop();
            }
        }
        self.stopped.load(Ordering::Acquire)
    }

    /// An error when work is to stop.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`] with the cause that the poll gave, once; [`Error::Stopped`] after
    /// that, and where another thread has stopped.
    pub fn check(&self) -> Result<()> {
        if !self.is_stopped() {
            return Ok(());
        }
        Err(match self.cause.take() {
            Some(cause) => Error::Interrupted { cause },
            None => Error::Stopped,
        })
    }

    /// Checks where a stretch begins within these of many rows: for groups of rows, of which many
    /// may be small.
    ///
    /// # Errors
    ///
    /// Those of [`Interrupt::check`].
    #[inline]
    pub fn check_rows(&self, rows: Range<usize>) -> Result<()> {
        if rows.start.div_ceil(STRETCH) < rows.end.div_ceil(STRETCH) {
            self.check()
        } else {
            Ok(())
        }
    }
}
