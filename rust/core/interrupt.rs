//! Lets the caller stop long work.
//!
//! ```text
//!   calling thread   check ─▶ calls its poll, at most every 100 ms ─▶ cause: stop with it
//!   worker threads   check ─▶ has the calling thread stopped?
//! ```
//!
//! Work checks once per [`STRETCH`] rows, never for each row. Stopped work stays half done, and its
//! caller discards it.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::core::error::{Cause, Error, Result};

/// Rows between two checks. They take a few milliseconds even if each row costs a cache miss.
pub const STRETCH: usize = 1 << 16;

/// The least time between two calls of the poll.
pub const INTERVAL: Duration = Duration::from_millis(100);

/// Asks the caller whether to stop.
type Poll = Box<dyn Fn() -> std::result::Result<(), Cause> + Send>;

/// Knows, on one thread, whether work must stop.
pub struct Interrupt {
    stopped: Arc<AtomicBool>,
    poll: Option<Poll>,
    last_check: Cell<Instant>,
    /// The poll's cause, until [`Interrupt::check`] returns it.
    cause: Cell<Option<Cause>>,
    /// Number of finished parts of the work.
    done: Arc<AtomicUsize>,
}

impl Interrupt {
    /// Never interrupts the work.
    pub fn never() -> Self {
        Self::from(None)
    }

    /// Stops the work once `poll` returns a cause. Only the thread that owns this value calls
    /// `poll`; workers never do.
    pub fn new(poll: impl Fn() -> std::result::Result<(), Cause> + Send + 'static) -> Self {
        Self::from(Some(Box::new(poll) as Poll))
    }

    fn from(poll: Option<Poll>) -> Self {
        Self {
            stopped: Arc::default(),
            poll,
            last_check: Cell::new(Instant::now()),
            cause: Cell::new(None),
            done: Arc::default(),
        }
    }

    /// Counts finished parts in `done`, where the poll can read the number.
    pub fn counting(self, done: Arc<AtomicUsize>) -> Self {
        Self { done, ..self }
    }

    /// Counts one more finished part.
    pub fn part_is_done(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// An interrupt for a worker thread. It shares the stop flag and has no poll.
    pub fn for_worker(&self) -> Self {
        Self {
            stopped: Arc::clone(&self.stopped),
            poll: None,
            last_check: self.last_check.clone(),
            cause: Cell::new(None),
            done: Arc::clone(&self.done),
        }
    }

    /// Stops this thread and all its workers at their next check.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    /// Whether work must stop. Calls the poll if [`INTERVAL`] has passed.
    pub fn is_stopped(&self) -> bool {
        if let Some(poll) = &self.poll
            && self.last_check.get().elapsed() >= INTERVAL
            && !self.stopped.load(Ordering::Acquire)
        {
            let answer = poll();
            self.last_check.set(Instant::now());
            if let Err(cause) = answer {
                self.cause.set(Some(cause));
                self.stop();
            }
        }
        self.stopped.load(Ordering::Acquire)
    }

    /// Returns an error if work must stop.
    ///
    /// # Errors
    ///
    /// [`Error::Interrupted`] with the poll's cause, once. Later, or if another thread stopped the
    /// work, [`Error::Stopped`].
    pub fn check(&self) -> Result<()> {
        if !self.is_stopped() {
            return Ok(());
        }
        Err(match self.cause.take() {
            Some(cause) => Error::Interrupted { cause },
            None => Error::Stopped,
        })
    }

    /// Checks only if a stretch begins within `rows`. Use it for groups of rows, many of which may
    /// be small.
    #[inline]
    pub fn check_rows(&self, rows: Range<usize>) -> Result<()> {
        if rows.start.div_ceil(STRETCH) < rows.end.div_ceil(STRETCH) {
            self.check()
        } else {
            Ok(())
        }
    }
}
