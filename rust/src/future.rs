// future.rs - futures that are executed in tasks.  SPDX-License-Identifier: Apache-2.0
//
// The task of a future polls it each time that it is executed. While the future is pending the task
// is suspended: it keeps no thread, and the waker submits it.
//
//   SCHEDULED ─executed─► RUNNING ─pending─► IDLE ─woken: submitted─► SCHEDULED
//                         │  │ └─ready─► DONE
//                         │  └─woken─► NOTIFIED ─pending: resubmits itself─► SCHEDULED
//
// The Hold of a future keeps the runtime in force until it is DONE. A thread outside of tasks that
// wakes it has one of its own meanwhile.
use crate::error::Result;
use crate::packet::{Outcome, Packet};
use crate::park::with_parker;
use crate::runtime::{self, Hold};
use crate::sys;
use crate::task::{contain, Builder, JoinHandle};
use std::cell::UnsafeCell;
use std::future::Future;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

const IDLE: u32 = 0;
const SCHEDULED: u32 = 1;
const RUNNING: u32 = 2;
const NOTIFIED: u32 = 3;
const DONE: u32 = 4;

struct Spawned<F: Future> {
    state: AtomicU32,
    task: AtomicPtr<sys::nosv_task>, // valid until DONE; written before it is submitted
    // The thread that executes the task has the next two.
    future: UnsafeCell<Option<F>>, // never moved
    end: UnsafeCell<Option<End<F::Output>>>,
}

type End<T> = (Arc<Packet<T>>, Hold);

// SAFETY: wakers, which any thread has, touch `state` and `task` alone. One thread at a time executes
// the task, or drops the last Arc; F and F::Output are Send.
unsafe impl<F: Future + Send> Send for Spawned<F> where F::Output: Send {}
// SAFETY: as above.
unsafe impl<F: Future + Send> Sync for Spawned<F> where F::Output: Send {}

impl<F> Spawned<F>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    /// The body of the task.
    ///
    /// # Safety
    /// The calling thread executes the task.
    unsafe fn execute(self: &Arc<Self>) {
        self.state.swap(RUNNING, AcqRel);
        // SAFETY: this thread has the future.
        match unsafe { self.poll() } {
            None => self.suspend(),
            // SAFETY: the same; no more executions follow.
            Some(outcome) => unsafe { self.finish(outcome) },
        }
    }

    /// The outcome once there is one; the future is dropped then. A panic is an outcome.
    unsafe fn poll(self: &Arc<Self>) -> Option<Outcome<F::Output>> {
        let waker = Waker::from(self.clone());
        let slot = self.future.get();
        let polled = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: this thread has the future, which stays where it is until it is dropped.
            let future = unsafe { Pin::new_unchecked((*slot).as_mut()?) };
            let value = match future.poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(value) => value,
                Poll::Pending => return None,
            };
            // SAFETY: as above.
            unsafe { *slot = None };
            Some(value)
        }));
        match polled {
            Ok(value) => value.map(Ok),
            Err(payload) => {
                // SAFETY: as above.
                contain(|| unsafe { *slot = None });
                Some(Err(payload))
            }
        }
    }

    /// The future is pending: the task is executed again after a wake. One may have come already.
    fn suspend(&self) {
        let idle = self.state.compare_exchange(RUNNING, IDLE, AcqRel, Acquire).is_ok();
        let (mode, args) = if idle {
            (sys::NOSV_SUSPEND_MODE_NONE, 0)
        } else {
            self.state.swap(SCHEDULED, AcqRel);
            (sys::NOSV_SUSPEND_MODE_SUBMIT, 1) // behind those that are ready
        };
        // SAFETY: the calling thread executes the task, and returns from its body after this. The
        // library remembers a submission that comes before that.
        unsafe {
            sys::nosv_set_suspend_mode(mode, args);
            sys::nosv_suspend();
        }
    }

    unsafe fn finish(self: &Arc<Self>, outcome: Outcome<F::Output>) {
        self.state.swap(DONE, AcqRel);
        // SAFETY: this thread has it.
        let end = unsafe { (*self.end.get()).take() };
        // SAFETY: the Arc in the task's metadata is not used any more, and is not dropped there.
        unsafe { Arc::decrement_strong_count(Arc::as_ptr(self)) };
        if let Some((packet, _hold)) = end {
            packet.complete(outcome);
            drop(packet);
        }
    }

    fn wake_up(&self) {
        // The runtime does not end while the calling thread executes a task, nor while it has this.
        // If all futures have ended before this, the state is DONE.
        let _hold = (!runtime::in_task()).then(Hold::new);
        let mut was = self.state.load(Relaxed);
        loop {
            let next = match was {
                IDLE => SCHEDULED,
                RUNNING => NOTIFIED,
                _ => was,
            };
            match self.state.compare_exchange_weak(was, next, AcqRel, Relaxed) {
                Ok(_) => break,
                Err(now) => was = now,
            }
        }
        if was == IDLE {
            // SAFETY: the task is suspended, and this thread alone submits it.
            unsafe { sys::nosv_submit(self.task.load(Relaxed), sys::NOSV_SUBMIT_NONE) };
        }
    }
}

impl<F> Wake for Spawned<F>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn wake(self: Arc<Self>) {
        self.wake_up();
    }
    fn wake_by_ref(self: &Arc<Self>) {
        self.wake_up();
    }
}

/// The runtime is in force until this returns.
pub(crate) fn spawn<F>(builder: &Builder<'_>, future: F) -> Result<JoinHandle<F::Output>>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let packet = Packet::new(None);
    let handle = JoinHandle(packet.clone());
    let hold = match Hold::try_new() {
        Some(hold) => hold,
        None => {
            // The last Runtime is ending. It waits for tasks that are parked, not for suspended ones.
            let work = move || packet.complete(catch_unwind(AssertUnwindSafe(|| block_on(future))));
            // SAFETY: as said above; the closure borrows nothing.
            unsafe { builder.start(work)? };
            return Ok(handle);
        }
    };
    let spawned = Arc::new(Spawned {
        state: AtomicU32::new(SCHEDULED),
        task: AtomicPtr::new(ptr::null_mut()),
        future: UnsafeCell::new(Some(future)),
        end: UnsafeCell::new(Some((packet, hold))),
    });
    let own = spawned.clone();
    // SAFETY: as said above; `own` lives until `finish`. The task calls it alone.
    unsafe {
        let task = builder.create_again(move || own.execute())?;
        spawned.task.store(task, Relaxed);
        sys::nosv_submit(task, sys::NOSV_SUBMIT_NONE);
    }
    Ok(handle)
}

/// Execute a future, and wait until it has completed. A task gives its CPU to other tasks while the
/// future is pending.
///
/// ```
/// let runtime = usf::Runtime::new()?;
/// let tasks: Vec<_> = (1..4).map(|i| runtime.spawn_future(async move { i * i })).collect();
/// let sum = usf::block_on(async {
///     let mut sum = 0;
///     for task in tasks {
///         sum += task.await.unwrap();
///     }
///     sum
/// });
/// assert_eq!(sum, 14);
/// # Ok::<(), usf::Error>(())
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = future;
    // SAFETY: the future is not moved any more.
    let mut future = unsafe { Pin::new_unchecked(&mut future) };
    with_parker(|parker| {
        let waker = parker.waker();
        let mut context = Context::from_waker(&waker);
        loop {
            match future.as_mut().poll(&mut context) {
                Poll::Ready(value) => return value,
                Poll::Pending => parker.park(),
            }
        }
    })
}
