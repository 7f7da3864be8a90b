//! Stopping work that takes long, from outside.
//!
//! ```text
//!   calling thread   check ─▶ asks its source, at most every 100 ms ─▶ a cause: stop, with this error
//!   worker threads   check ─▶ has the calling thread stopped?
//! ```
//!
//! Work checks once a stretch of [`STRETCH`] rows, never for each row. What it was at work on is
//! left half done: it is thrown away.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// Rows between two checks: even where each of them costs a cache miss they take some
/// milliseconds.
pub const STRETCH: usize = 1 << 16;

/// How often the source is asked.
pub const INTERVAL: Duration = Duration::from_millis(100);

/// Why work is to stop.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// What is asked whether to stop.
type Source = Box<dyn Fn() -> std::result::Result<(), Cause> + Send>;

/// Whether work is to stop, as one thread sees it.
pub struct Interrupt {
    stopped: Arc<AtomicBool>,
    source: Option<Source>,
    asked: Cell<Instant>,
    /// What the source gave, until it is told.
    cause: Cell<Option<Cause>>,
}

impl Interrupt {
    /// Work that ends by itself alone.
    pub fn never() -> Self {
        Self::from(None)
    }

    /// Work that stops as soon as `source` gives a cause. It is asked on the thread that holds
    /// this, never on a worker.
    pub fn new(source: impl Fn() -> std::result::Result<(), Cause> + Send + 'static) -> Self {
        Self::from(Some(Box::new(source) as Source))
    }

    fn from(source: Option<Source>) -> Self {
        Self {
            stopped: Arc::default(),
            source,
            asked: Cell::new(Instant::now()),
            cause: Cell::new(None),
        }
    }

    /// The same for a thread that works for this one: it asks no source.
    pub fn for_worker(&self) -> Self {
        Self {
            stopped: Arc::clone(&self.stopped),
            source: None,
            asked: self.asked.clone(),
            cause: Cell::new(None),
        }
    }

    /// Stops this thread and all its workers at their next check.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    /// Whether work is to stop. The source is asked where it is time to.
    pub fn is_stopped(&self) -> bool {
        if let Some(source) = &self.source
            && self.asked.get().elapsed() >= INTERVAL
            && !self.stopped.load(Ordering::Acquire)
        {
            let answer = source();
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
    /// [`Error::Interrupted`] with the cause that the source gave, once; [`Error::Stopped`] after
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
