// park.rs - a task, or a thread, waits until another one wakes it.  SPDX-License-Identifier: Apache-2.0
//
// A task parks in nosv_waitfor, not in nosv_pause: the last nosv_shutdown waits for a task that is
// in nosv_waitfor, so the runtime does not end while a task is parked.
//
//   EMPTY ─park─► TASK ─unpark─► WAKING ─the wake has been submitted─► NOTIFIED ─park returns─► EMPTY
//     ├─park, outside of tasks─► THREAD ─unpark──────────────────────────►┘▲
//     └─unpark─────────────────────────────────────────────────────────────┘
//
// A parked task returns from TASK when its time is over, and from WAKING not before the unparker has
// left the library. So the handle of the task is valid as long as an unparker uses it, although the
// unparker may be any thread.
use crate::sys;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

const EMPTY: u32 = 0;
const TASK: u32 = 1;
const THREAD: u32 = 2;
const WAKING: u32 = 3;
const NOTIFIED: u32 = 4;

pub(crate) struct Inner {
    state: AtomicU32,
    task: AtomicPtr<sys::nosv_task>, // valid in TASK and WAKING
    lock: Mutex<()>,                 // with `woken`: of a thread outside of tasks
    woken: Condvar,
}

impl Inner {
    /// Every path is a read-modify-write, so that what each unparker has written before is visible
    /// after the park that its wake ends.
    fn unpark(&self) {
        let mut was = self.state.load(Relaxed);
        loop {
            let next = match was {
                EMPTY | THREAD => NOTIFIED,
                TASK => WAKING,
                _ => was,
            };
            match self.state.compare_exchange_weak(was, next, AcqRel, Relaxed) {
                Ok(_) => break,
                Err(now) => was = now,
            }
        }
        match was {
            THREAD => {
                drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner));
                self.woken.notify_one();
            }
            TASK => {
                // SAFETY: the task is in `park_task` until the state is NOTIFIED.
                unsafe { sys::nosv_submit(self.task.load(Relaxed), sys::NOSV_SUBMIT_DEADLINE_WAKE) };
                self.state.swap(NOTIFIED, AcqRel);
            }
            _ => {}
        }
    }

    fn take_notice(&self) -> bool {
        self.state.compare_exchange(NOTIFIED, EMPTY, AcqRel, Relaxed).is_ok()
    }

    fn park(&self, deadline: Option<Instant>) {
        if self.take_notice() {
            return;
        }
        // SAFETY: no preconditions.
        let task = unsafe { sys::nosv_self() };
        if task.is_null() || !self.park_task(task, deadline) {
            self.park_thread(deadline);
        }
    }

    /// False: the calling task may not block (a parallel one), or the runtime is not in force.
    fn park_task(&self, task: sys::nosv_task_t, deadline: Option<Instant>) -> bool {
        self.task.store(task, Relaxed);
        if self.state.compare_exchange(EMPTY, TASK, AcqRel, Relaxed).is_err() {
            return self.take_notice();
        }
        loop {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            let ns = left.map_or(LONGEST, nanoseconds);
            // SAFETY: the second argument may be null.
            let failed = unsafe { sys::nosv_waitfor(ns, ptr::null_mut()) } != sys::NOSV_SUCCESS;
            let over = failed || deadline.map_or(false, |at| Instant::now() >= at);
            if over && self.state.compare_exchange(TASK, EMPTY, AcqRel, Relaxed).is_ok() {
                return !failed;
            }
            if self.state.load(Relaxed) != TASK {
                self.wait_for_unparker();
                if over {
                    // The wake has perhaps come too late for its nosv_waitfor: it ends this one.
                    // SAFETY: as above.
                    unsafe { sys::nosv_waitfor(0, ptr::null_mut()) };
                }
                return true;
            }
        }
    }

    /// The state is WAKING or NOTIFIED. The unparker has few instructions left, unless the kernel
    /// has preempted it.
    fn wait_for_unparker(&self) {
        let mut round = 0;
        while !self.take_notice() {
            round += 1;
            match round {
                0..=99 => std::hint::spin_loop(),
                100..=199 => yield_now(),
                _ => sleep(Duration::from_micros(20)),
            }
        }
    }

    fn park_thread(&self, deadline: Option<Instant>) {
        let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if self.state.compare_exchange(EMPTY, THREAD, AcqRel, Relaxed).is_err() {
            self.take_notice();
            return;
        }
        while !self.take_notice() {
            let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            guard = match left {
                None => self.woken.wait(guard).unwrap_or_else(PoisonError::into_inner),
                Some(left) if left.is_zero() => {
                    if self.state.compare_exchange(THREAD, EMPTY, AcqRel, Relaxed).is_ok() {
                        return;
                    }
                    continue;
                }
                Some(left) => self.woken.wait_timeout(guard, left).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
    }
}

impl Wake for Inner {
    fn wake(self: Arc<Self>) {
        self.unpark();
    }
    fn wake_by_ref(self: &Arc<Self>) {
        self.unpark();
    }
}

/// Three centuries. The last `nosv_shutdown` does not wait for a task that waits without a time.
const LONGEST: u64 = u64::MAX / 2;

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).map_or(LONGEST, |ns| ns.min(LONGEST))
}

/// Blocks the caller until its [`Unparker`] wakes it.
///
/// A task that parks gives its CPU to other tasks, and keeps its thread. A thread outside of tasks
/// blocks as in [`std::thread::park`]. A wake that comes before the park is not lost: the next park
/// returns at once. Several such wakes count as one. No park returns without a wake, unless its time
/// is over.
///
/// Dropping the last [`Runtime`](crate::Runtime) waits for tasks that are parked.
///
/// ```
/// let runtime = usf::Runtime::new()?;
/// let parker = usf::Parker::new();
/// let unparker = parker.unparker();
/// let task = runtime.spawn(move || parker.park());
/// unparker.unpark();
/// task.join().unwrap();
/// # Ok::<(), usf::Error>(())
/// ```
pub struct Parker {
    inner: Arc<Inner>,
    one: PhantomData<Cell<()>>, // not Sync: one caller at a time is parked
}

impl Parker {
    /// A parker without a pending wake.
    pub fn new() -> Parker {
        let (state, task) = (AtomicU32::new(EMPTY), AtomicPtr::new(ptr::null_mut()));
        let inner = Inner { state, task, lock: Mutex::new(()), woken: Condvar::new() };
        Parker { inner: Arc::new(inner), one: PhantomData }
    }

    /// Wait for a wake.
    pub fn park(&self) {
        self.inner.park(None);
    }

    /// Wait for a wake, for so long at most.
    pub fn park_timeout(&self, time: Duration) {
        self.inner.park(Instant::now().checked_add(time));
    }

    /// What wakes this parker.
    pub fn unparker(&self) -> Unparker {
        Unparker(self.inner.clone())
    }

    pub(crate) fn waker(&self) -> Waker {
        Waker::from(self.inner.clone())
    }
}

impl Default for Parker {
    fn default() -> Parker {
        Parker::new()
    }
}

impl fmt::Debug for Parker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parker").finish_non_exhaustive()
    }
}

/// Wakes a [`Parker`]: from any task, and from any thread.
#[derive(Clone)]
pub struct Unparker(Arc<Inner>);

impl Unparker {
    /// End the park of the parker, or its next one.
    pub fn unpark(&self) {
        self.0.unpark();
    }
}

impl From<Unparker> for Waker {
    fn from(unparker: Unparker) -> Waker {
        Waker::from(unparker.0)
    }
}

impl fmt::Debug for Unparker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unparker").finish_non_exhaustive()
    }
}

thread_local! {
    static SPARE: Cell<Option<Parker>> = const { Cell::new(None) };
}

/// Call f with a parker that nobody else parks with. It may have a wake that has come late.
pub(crate) fn with_parker<T>(f: impl FnOnce(&Parker) -> T) -> T {
    let parker = SPARE.try_with(Cell::take).ok().flatten().unwrap_or_default();
    let result = f(&parker);
    let _ = SPARE.try_with(|spare| spare.set(Some(parker)));
    result
}

/// Let other ready tasks run first. Outside of tasks this is [`std::thread::yield_now`].
pub fn yield_now() {
    // SAFETY: no preconditions.
    if unsafe { sys::nosv_yield(sys::NOSV_YIELD_NONE) } != sys::NOSV_SUCCESS {
        std::thread::yield_now();
    }
}

/// Yield if the task has had its CPU for longer than the quantum. Costs a few nanoseconds
/// otherwise. Outside of tasks it does nothing.
///
/// A long computation that calls this from time to time lets other tasks run.
pub fn schedpoint() {
    // SAFETY: no preconditions.
    unsafe { sys::nosv_schedpoint(sys::NOSV_SCHEDPOINT_NONE) };
}

/// Wait for at least so long. A task gives its CPU to other tasks meanwhile. Outside of tasks this
/// is [`std::thread::sleep`].
pub fn sleep(time: Duration) {
    let start = Instant::now();
    while let Some(left) = time.checked_sub(start.elapsed()) {
        if left.is_zero() {
            return;
        }
        // SAFETY: the second argument may be null.
        if unsafe { sys::nosv_waitfor(nanoseconds(left), ptr::null_mut()) } != sys::NOSV_SUCCESS {
            return std::thread::sleep(left);
        }
    }
}
