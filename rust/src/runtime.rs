// runtime.rs - the runtime is in force as long as anything here needs it.  SPDX-License-Identifier: Apache-2.0
//
// The library's handles are invalid after the last nosv_shutdown, and no call may overlap with its
// end. Safe code cannot break this rule:
//   - a task is created by a task, or by the holder of a &Runtime: the runtime does not end while
//     a task runs, and not while a Runtime exists;
//   - the last nosv_shutdown waits for tasks that are ready, run, or are parked (park.rs);
//   - it does not wait for the task of a pending future, which is suspended. So each future that
//     has not completed, and each thread that wakes one, counts in HOLDS. The last Runtime waits
//     until HOLDS is 0 before it calls nosv_shutdown. A future that is spawned after that, by a
//     task that is still to run, executes in a task that parks (future.rs).
use crate::error::{check, Error, Result};
use crate::park::with_parker;
use crate::scope::{self, Scope};
use crate::sys;
use crate::task::{self, Affinity, Builder, JoinHandle};
use std::ffi::CString;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// Runtimes that exist. Changed under ENDING's lock.
static RUNTIMES: AtomicUsize = AtomicUsize::new(0);
/// Grows each time RUNTIMES leaves 0. Types of tasks are made anew in each epoch.
static EPOCH: AtomicUsize = AtomicUsize::new(0);
/// Futures that have not completed, and threads outside of tasks that wake one.
static HOLDS: AtomicUsize = AtomicUsize::new(0);
/// Those who wait in `drop` until HOLDS is 0.
static ENDING: Mutex<Vec<Waker>> = Mutex::new(Vec::new());

fn ending() -> MutexGuard<'static, Vec<Waker>> {
    ENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wake_ending() {
    let wakers = std::mem::take(&mut *ending());
    wakers.into_iter().for_each(Waker::wake);
}

pub(crate) fn epoch() -> usize {
    EPOCH.load(Acquire)
}

/// Does the calling thread execute a task?
pub(crate) fn in_task() -> bool {
    // SAFETY: no preconditions.
    !unsafe { sys::nosv_self() }.is_null()
}

/// May the calling thread create tasks without a Runtime at hand? It must execute a task, so that
/// the runtime does not end, in the present epoch: a Runtime exists, or the task is of this crate.
pub(crate) fn is_in_force() -> Result<()> {
    if !in_task() {
        return Err(Error::OutsideTask);
    }
    if RUNTIMES.load(Acquire) == 0 && !task::is_own() {
        return Err(Error::NotInitialized);
    }
    Ok(())
}

/// Keeps the last Runtime from ending while it exists.
pub(crate) struct Hold(());

impl Hold {
    /// For a caller that knows that no last Runtime has stopped waiting, or touches nothing of the
    /// library unless it finds a future that has not completed.
    pub(crate) fn new() -> Hold {
        HOLDS.fetch_add(1, SeqCst);
        Hold(())
    }

    /// None: the last Runtime is ending.
    pub(crate) fn try_new() -> Option<Hold> {
        let hold = Hold::new();
        (RUNTIMES.load(SeqCst) != 0).then_some(hold)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if HOLDS.fetch_sub(1, SeqCst) == 1 && RUNTIMES.load(SeqCst) == 0 {
            wake_ending();
        }
    }
}

/// The tasking runtime of the process, in force while a value of this type exists.
///
/// Runtimes are counted: a library may make its own beside the program's. Each must be dropped by
/// the thread that has made it, so it is not `Send`. Other threads may use it by reference.
///
/// **Dropping the last one waits** until all tasks and futures have ended, those that are parked or
/// pending too, as [`std::thread::scope`] waits for its threads. A program that does not want to
/// wait calls [`std::mem::forget`] with it: then the runtime is in force until the process ends.
///
/// ```
/// let runtime = usf::Runtime::new()?;
/// let sum = runtime.spawn(|| (1..=10).sum::<i32>());
/// assert_eq!(sum.join().unwrap(), 55);
/// # Ok::<(), usf::Error>(())
/// ```
pub struct Runtime(PhantomData<*mut ()>);

// SAFETY: a shared reference gives only calls that any thread may make while the process is
// initialised. Only `drop` must be called by the thread that has called nosv_init.
unsafe impl Sync for Runtime {}

impl Runtime {
    /// Initialise the runtime, or count one more user of it.
    ///
    /// The first one reads the configuration (`NOSV_CONFIG` and others, see docs/tasks.md).
    pub fn new() -> Result<Runtime> {
        // SAFETY: no preconditions.
        check(unsafe { sys::nosv_init() })?;
        {
            let _lock = ending();
            if RUNTIMES.load(Relaxed) == 0 {
                EPOCH.fetch_add(1, AcqRel);
            }
            RUNTIMES.fetch_add(1, SeqCst);
        }
        wake_ending(); // those are not the last any more
        Ok(Runtime(PhantomData))
    }

    /// Execute a closure in a task. The handle's `join` gives what it returns.
    ///
    /// # Panics
    /// If the task cannot be created; [`Builder::spawn`] returns the error.
    pub fn spawn<F, T>(&self, f: F) -> JoinHandle<T>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.builder().spawn(f).expect("usf: cannot spawn a task")
    }

    /// Execute a future in a task.
    ///
    /// A pending future keeps no thread: the task is submitted when the future is woken.
    ///
    /// # Panics
    /// If the task cannot be created; [`Builder::spawn_future`] returns the error.
    pub fn spawn_future<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.builder().spawn_future(future).expect("usf: cannot spawn a future")
    }

    /// Attributes for new tasks, which may be spawned by any thread that has this.
    pub fn builder(&self) -> Builder<'_> {
        Builder::with(Some(self))
    }

    /// Tasks that may borrow from the caller; see [`scope`](crate::scope()).
    ///
    /// Here any thread that has the scope may spawn, in a task or not.
    ///
    /// ```
    /// let runtime = usf::Runtime::new()?;
    /// let mut data = vec![1, 2, 3, 4];
    /// runtime.scope(|s| {
    ///     for part in data.chunks_mut(2) {
    ///         s.spawn(move || part.iter_mut().for_each(|x| *x *= 10));
    ///     }
    /// });
    /// assert_eq!(data, [10, 20, 30, 40]);
    /// # Ok::<(), usf::Error>(())
    /// ```
    pub fn scope<'env, F, T>(&self, f: F) -> T
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
    {
        scope::enter(true, f)
    }

    /// Turn the calling thread into a task until the guard is dropped. It waits for a CPU, and is
    /// scheduled with the other tasks from then on. A thread may attach several times.
    ///
    /// ```
    /// let runtime = usf::Runtime::new()?;
    /// let attached = runtime.attach()?;
    /// let task = usf::spawn(|| 7); // a task may spawn without the runtime
    /// assert_eq!(task.join().unwrap(), 7);
    /// drop(attached);
    /// # Ok::<(), usf::Error>(())
    /// ```
    pub fn attach(&self) -> Result<Attached<'_>> {
        self.attach_with(None, "")
    }

    /// The same with the place where the thread runs, and a label for traces and tools.
    pub fn attach_with(&self, affinity: Option<Affinity>, label: &str) -> Result<Attached<'_>> {
        let mut task = ptr::null_mut();
        let mut place = affinity.map(Affinity::raw);
        let place = place.as_mut().map_or(ptr::null_mut(), |place| place as *mut _);
        let label = CString::new(label).map_err(|_| Error::InvalidParameter)?;
        let label = if label.as_bytes().is_empty() { ptr::null() } else { label.as_ptr() };
        // SAFETY: the library copies what it is given.
        check(unsafe { sys::nosv_attach(&mut task, place, label, sys::NOSV_ATTACH_NONE) })?;
        Ok(Attached(PhantomData))
    }

    /// How many CPUs the tasks of the process may run on.
    pub fn cpus(&self) -> usize {
        // SAFETY: the runtime is in force.
        usize::try_from(unsafe { sys::nosv_get_num_cpus() }).unwrap_or(1)
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        let last = {
            let _lock = ending();
            RUNTIMES.fetch_sub(1, SeqCst) == 1
        };
        if last {
            wait_for_holds();
        }
        // An error leaves the init in force: a worker does not wait for its own end.
        // SAFETY: this thread has called nosv_init for this value.
        unsafe { sys::nosv_shutdown() };
    }
}

/// Another Runtime that has come meanwhile waits itself when it is dropped.
fn wait_for_holds() {
    with_parker(|parker| loop {
        ending().push(parker.waker());
        if HOLDS.load(SeqCst) == 0 || RUNTIMES.load(SeqCst) != 0 {
            return;
        }
        parker.park();
    });
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime").finish_non_exhaustive()
    }
}

/// The calling thread is a task while this exists; see [`Runtime::attach`].
///
/// A thread whose guard is forgotten ([`std::mem::forget`]) stays attached until it ends. The last
/// [`Runtime`] then does not wait for tasks, and those that are parked may miss their wake.
#[must_use = "the thread detaches when this is dropped"]
pub struct Attached<'runtime>(PhantomData<(&'runtime Runtime, *mut ())>);

impl Drop for Attached<'_> {
    fn drop(&mut self) {
        // SAFETY: this thread has attached, and the runtime is in force.
        unsafe { sys::nosv_detach(sys::NOSV_DETACH_NONE) };
    }
}

impl fmt::Debug for Attached<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attached").finish_non_exhaustive()
    }
}
