// scope.rs - tasks that borrow from the one that spawns them.  SPDX-License-Identifier: Apache-2.0
use crate::error::Result;
use crate::packet::Packet;
use crate::park::{with_parker, Unparker};
use crate::runtime;
use crate::task::Builder;
use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::Arc;

pub(crate) struct ScopeData {
    running: AtomicUsize,
    panicked: AtomicBool, // a task whose handle was not joined
    owner: Unparker,
}

impl ScopeData {
    pub(crate) fn note_panic(&self) {
        self.panicked.store(true, Relaxed);
    }
}

/// A task of the scope, from before it is created until all that it has borrowed is dropped.
struct Running(Arc<ScopeData>);

impl Running {
    fn new(data: &Arc<ScopeData>) -> Running {
        data.running.fetch_add(1, Relaxed);
        Running(data.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.0.running.fetch_sub(1, Release) == 1 {
            self.0.owner.unpark();
        }
    }
}

/// Where tasks that borrow are spawned; see [`scope`](scope()).
pub struct Scope<'scope, 'env: 'scope> {
    data: Arc<ScopeData>,
    of_runtime: bool, // of Runtime::scope: any thread may spawn
    // Both are invariant: 'scope must neither shrink nor grow.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Create a scope for tasks that may borrow from the caller: all of them end before this returns.
///
/// The scope may be used in a task alone; [`Runtime::scope`](crate::Runtime::scope) is for other
/// threads.
///
/// # Panics
/// If a task of the scope has panicked whose handle was not joined.
///
/// ```
/// fn sum(data: &[u64]) -> u64 {
///     if data.len() <= 2 {
///         return data.iter().sum();
///     }
///     let (left, right) = data.split_at(data.len() / 2);
///     usf::scope(|s| {
///         let left = s.spawn(|| sum(left));
///         sum(right) + left.join().unwrap()
///     })
/// }
/// let runtime = usf::Runtime::new()?;
/// let data = [1, 2, 3, 4, 5, 6, 7, 8];
/// assert_eq!(runtime.spawn(move || sum(&data)).join().unwrap(), 36);
/// # Ok::<(), usf::Error>(())
/// ```
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    enter(false, f)
}

pub(crate) fn enter<'env, F, T>(of_runtime: bool, f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    with_parker(|parker| {
        let (running, panicked) = (AtomicUsize::new(0), AtomicBool::new(false));
        let data = Arc::new(ScopeData { running, panicked, owner: parker.unparker() });
        let scope = Scope { data, of_runtime, scope: PhantomData, env: PhantomData };
        let result = catch_unwind(AssertUnwindSafe(|| f(&scope)));
        while scope.data.running.load(Acquire) != 0 {
            parker.park();
        }
        match result {
            Err(payload) => resume_unwind(payload),
            Ok(_) if scope.data.panicked.load(Relaxed) => panic!("a scoped task panicked"),
            Ok(value) => value,
        }
    })
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Execute a closure in a task of this scope.
    ///
    /// # Panics
    /// If the task cannot be created; [`spawn_with`](Scope::spawn_with) returns the error.
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.spawn_with(&Builder::new(), f).expect("usf: cannot spawn a task")
    }

    /// The same with attributes. Errors are those of [`Builder::spawn`].
    pub fn spawn_with<F, T>(&'scope self, builder: &Builder<'_>, f: F) -> Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        if !self.of_runtime {
            runtime::is_in_force()?;
        }
        let running = Running::new(&self.data);
        let packet = Packet::new(Some(self.data.clone()));
        let theirs = packet.clone();
        let work = move || {
            let _running = running; // dropped last, also when a drop below panics
            theirs.complete(catch_unwind(AssertUnwindSafe(f)));
            drop(theirs);
        };
        // SAFETY: the runtime is in force: a Runtime is borrowed during the scope, or the caller is
        // in a task. The scope does not end before `running` has been dropped, which is after all
        // else in `work`.
        unsafe { builder.start(work)? };
        Ok(ScopedJoinHandle(packet, PhantomData))
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

/// The right to wait for a task of a scope, and to have what it returns.
pub struct ScopedJoinHandle<'scope, T>(Arc<Packet<T>>, PhantomData<&'scope mut &'scope ()>);

impl<T> ScopedJoinHandle<'_, T> {
    /// Wait until the task has ended. The error is the payload of its panic.
    pub fn join(self) -> std::result::Result<T, Box<dyn Any + Send>> {
        self.0.wait()
    }

    /// Has the task ended? Then `join` does not wait.
    pub fn is_finished(&self) -> bool {
        self.0.is_complete()
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").finish_non_exhaustive()
    }
}
