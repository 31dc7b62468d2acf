// task.rs - closures become tasks.  SPDX-License-Identifier: Apache-2.0
//
// The closure lies in the metadata of its task, behind the function that calls it. Each task has
// one of the types that `TaskType` has made, with the callbacks below.
use crate::error::{check, Error, Result};
use crate::future;
use crate::packet::Packet;
use crate::runtime::{self, Runtime};
use crate::sys;
use std::any::Any;
use std::ffi::{CStr, CString};
use std::fmt;
use std::future::Future;
use std::mem;
use std::os::raw::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

/* ---- places ---------------------------------------------------------------------------------- */

/// Where a task runs: on a CPU, a NUMA node, or a set of CPUs.
///
/// An affinity is strict, so that the task waits for the place, unless it is
/// [`preferred`](Affinity::preferred).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Affinity(u32);

impl Affinity {
    const LAST: u32 = (1 << 29) - 1; // no machine has a place with this index

    const fn at(level: u32, index: u32) -> Affinity {
        let index = if index < Affinity::LAST { index } else { Affinity::LAST };
        Affinity(level | sys::NOSV_AFFINITY_TYPE_STRICT << 2 | index << 3)
    }

    /// The CPU with this number of the operating system.
    pub const fn cpu(number: u32) -> Affinity {
        Affinity::at(sys::NOSV_AFFINITY_LEVEL_CPU, number)
    }

    /// The NUMA node with this number of the operating system.
    pub const fn numa(number: u32) -> Affinity {
        Affinity::at(sys::NOSV_AFFINITY_LEVEL_NUMA, number)
    }

    /// The set of CPUs with this position in the configuration (`topology.complex_sets`).
    pub const fn complex(position: u32) -> Affinity {
        Affinity::at(sys::NOSV_AFFINITY_LEVEL_USER_COMPLEX, position)
    }

    /// The task may run elsewhere rather than wait.
    pub const fn preferred(self) -> Affinity {
        Affinity(self.0 & !(sys::NOSV_AFFINITY_TYPE_STRICT << 2))
    }

    pub(crate) fn raw(self) -> sys::nosv_affinity_t {
        sys::nosv_affinity_t(self.0)
    }
}

/* ---- types ----------------------------------------------------------------------------------- */

struct Kind {
    label: CString,
    made: AtomicPtr<sys::nosv_task_type>, // of this epoch:
    epoch: AtomicUsize,
}

/// What tasks of one kind have in common: a label, which `usf ps` and traces show.
///
/// Types of the same label are the same type. They live until the process ends. A task without a
/// type of its own has one with the label `rust`.
///
/// ```
/// let runtime = usf::Runtime::new()?;
/// let solve = usf::TaskType::new("solve");
/// let task = runtime.builder().task_type(solve).priority(1).spawn(|| 6 * 7)?;
/// assert_eq!(task.join().unwrap(), 42);
/// # Ok::<(), usf::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct TaskType(&'static Kind);

static KINDS: Mutex<Vec<TaskType>> = Mutex::new(Vec::new());
static PLAIN: AtomicPtr<Kind> = AtomicPtr::new(ptr::null_mut());
const PLAIN_LABEL: &str = "rust";

fn kinds() -> MutexGuard<'static, Vec<TaskType>> {
    KINDS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TaskType {
    /// The type with this label. The label ends at its first null character.
    pub fn new(label: &str) -> TaskType {
        let text = label.split('\0').next().unwrap_or_default();
        let label = CString::new(text).unwrap_or_default();
        let mut all = kinds();
        if let Some(known) = all.iter().find(|kind| kind.0.label == label) {
            return *known;
        }
        let (made, epoch) = (AtomicPtr::new(ptr::null_mut()), AtomicUsize::new(0));
        let kind = TaskType(Box::leak(Box::new(Kind { label, made, epoch })));
        all.push(kind);
        kind
    }

    fn plain() -> TaskType {
        let known = PLAIN.load(Acquire);
        if known.is_null() {
            let kind = TaskType::new(PLAIN_LABEL);
            PLAIN.store(kind.0 as *const Kind as *mut Kind, Release);
            return kind;
        }
        // SAFETY: it points to a Kind that is never freed, and that nobody borrows mutably.
        TaskType(unsafe { &*known })
    }

    /// The label of the type.
    pub fn label(&self) -> &str {
        self.0.label.to_str().unwrap_or_default()
    }

    /// The library's type. The runtime must be in force, and stay so.
    unsafe fn handle(self) -> Result<sys::nosv_task_type_t> {
        if self.0.epoch.load(Acquire) != runtime::epoch() {
            // SAFETY: as the caller says.
            unsafe { self.make()? };
        }
        Ok(self.0.made.load(Relaxed))
    }

    #[cold]
    unsafe fn make(self) -> Result<()> {
        let _lock = kinds();
        let now = runtime::epoch();
        if self.0.epoch.load(Relaxed) == now {
            return Ok(());
        }
        let mut made = ptr::null_mut();
        let label: &CStr = &self.0.label;
        // SAFETY: the callbacks have the types that the library asks for; it copies the label.
        check(unsafe {
            let none = sys::NOSV_TYPE_INIT_NONE;
            sys::nosv_type_init(&mut made, Some(run), None, Some(completed), label.as_ptr(), own(), None, none)
        })?;
        self.0.made.store(made, Relaxed);
        self.0.epoch.store(now, Release);
        Ok(())
    }
}

impl fmt::Debug for TaskType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TaskType").field(&self.label()).finish()
    }
}

/* ---- what the library calls ------------------------------------------------------------------ */

/// At the head of a task's metadata.
#[repr(C)]
struct Head {
    call: unsafe fn(*mut Head),
}

#[repr(C)]
struct Body<F> {
    head: Head,
    work: F,
}

unsafe extern "C" fn run(task: sys::nosv_task_t) {
    // SAFETY: `create` has put a Body there, and `call` is the function for it.
    unsafe {
        let head = sys::nosv_get_task_metadata(task) as *mut Head;
        ((*head).call)(head);
    }
}

/// Nobody has the handle of a task that has completed.
unsafe extern "C" fn completed(task: sys::nosv_task_t) {
    // SAFETY: the task has completed.
    unsafe { sys::nosv_destroy(task, sys::NOSV_DESTROY_NONE) };
}

/// What the types of this crate have as their metadata: an address that nothing else has.
fn own() -> *mut c_void {
    static OWN: u8 = 0;
    ptr::addr_of!(OWN) as *mut c_void
}

/// Is the calling thread's task one of this crate's?
pub(crate) fn is_own() -> bool {
    // SAFETY: the calling thread executes the task; null is allowed.
    unsafe { sys::nosv_get_task_type_metadata(sys::nosv_get_task_type(sys::nosv_self())) == own() }
}

/// No panic may enter the library. This one is not the caller's business: it has been reported by
/// the panic hook. Its payload is not dropped, since that could panic again.
pub(crate) fn contain(f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        mem::forget(payload);
    }
}

unsafe fn call_once<F: FnOnce()>(head: *mut Head) {
    // SAFETY: `create` has put a Body<F> there, and the task is executed once.
    let work = unsafe { ptr::read(ptr::addr_of!((*head.cast::<Body<F>>()).work)) };
    contain(work);
}

unsafe fn call_again<F: Fn()>(head: *mut Head) {
    // SAFETY: `create` has put a Body<F> there. The closure is not dropped.
    let work = unsafe { &*ptr::addr_of!((*head.cast::<Body<F>>()).work) };
    contain(work);
}

/* ---- new tasks ------------------------------------------------------------------------------- */

/// Attributes of a new task.
///
/// ```
/// let runtime = usf::Runtime::new()?;
/// let urgent = runtime.builder().priority(10);
/// let tasks: Vec<_> = (0..4).map(|i| urgent.spawn(move || i * i)).collect::<Result<_, _>>()?;
/// let squares: Vec<i32> = tasks.into_iter().map(|task| task.join().unwrap()).collect();
/// assert_eq!(squares, [0, 1, 4, 9]);
/// # Ok::<(), usf::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Builder<'runtime> {
    runtime: Option<&'runtime Runtime>,
    kind: Option<TaskType>,
    priority: i32,
    affinity: Option<Affinity>,
}

impl Builder<'static> {
    /// Attributes for tasks that a task spawns; see [`Runtime::builder`] for other threads.
    pub fn new() -> Builder<'static> {
        Builder::with(None)
    }
}

impl Default for Builder<'static> {
    fn default() -> Builder<'static> {
        Builder::new()
    }
}

impl<'runtime> Builder<'runtime> {
    pub(crate) fn with(runtime: Option<&'runtime Runtime>) -> Builder<'runtime> {
        Builder { runtime, kind: None, priority: 0, affinity: None }
    }

    /// The type of the task. The default is one with the label `rust`.
    pub fn task_type(mut self, kind: TaskType) -> Self {
        self.kind = Some(kind);
        self
    }

    /// The priority: higher comes first among the ready tasks of the process; 0 is normal.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Where the task runs. Without it the default affinity of the configuration holds.
    pub fn affinity(mut self, affinity: Affinity) -> Self {
        self.affinity = Some(affinity);
        self
    }

    /// Execute a closure in a task.
    ///
    /// # Errors
    /// [`Error::OutsideTask`] if the builder is not a [`Runtime::builder`] and the caller is not in
    /// a task. [`Error::InvalidParameter`] if the affinity names a place without a CPU of the
    /// process.
    pub fn spawn<F, T>(&self, f: F) -> Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.may_spawn()?;
        let packet = Packet::new(None);
        let theirs = packet.clone();
        // SAFETY: the runtime is in force, and the closure borrows nothing.
        unsafe { self.start(move || theirs.complete(catch_unwind(AssertUnwindSafe(f))))? };
        Ok(JoinHandle(packet))
    }

    /// Execute a future in a task. Errors are those of [`spawn`](Builder::spawn).
    pub fn spawn_future<F>(&self, future: F) -> Result<JoinHandle<F::Output>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.may_spawn()?;
        future::spawn(self, future)
    }

    fn may_spawn(&self) -> Result<()> {
        match self.runtime {
            Some(_) => Ok(()),
            None => runtime::is_in_force(),
        }
    }

    /// Create and submit a task that calls f once.
    ///
    /// # Safety
    /// The runtime is in force until this returns. What f borrows lives until f has been dropped.
    pub(crate) unsafe fn start<F: FnOnce() + Send>(&self, f: F) -> Result<()> {
        // SAFETY: as the caller says.
        unsafe {
            if mem::size_of::<Body<F>>() > sys::NOSV_MAX_METADATA_SIZE || mem::align_of::<Body<F>>() > 16 {
                self.start_small(Box::new(f))
            } else {
                self.start_small(f)
            }
        }
    }

    unsafe fn start_small<F: FnOnce() + Send>(&self, f: F) -> Result<()> {
        // SAFETY: as the caller of `start` says; the task is new.
        unsafe {
            let task = self.create(call_once::<F>, f)?;
            sys::nosv_submit(task, sys::NOSV_SUBMIT_NONE);
        }
        Ok(())
    }

    /// Create a task that calls f each time that it is executed, and never drops it.
    ///
    /// # Safety
    /// As `start`; f is small, and lives as long as it is called.
    pub(crate) unsafe fn create_again<F: Fn() + Send>(&self, f: F) -> Result<sys::nosv_task_t> {
        // SAFETY: as the caller says.
        unsafe { self.create(call_again::<F>, f) }
    }

    unsafe fn create<F>(&self, call: unsafe fn(*mut Head), work: F) -> Result<sys::nosv_task_t> {
        let mut task = ptr::null_mut();
        // SAFETY: as the caller of `start` says. The metadata has the size and the alignment of a
        // Body<F>, and nobody else has the task.
        unsafe {
            let kind = self.kind.unwrap_or_else(TaskType::plain).handle()?;
            check(sys::nosv_create(&mut task, kind, mem::size_of::<Body<F>>(), sys::NOSV_CREATE_NONE))?;
            if let Err(error) = self.set_attributes(task) {
                sys::nosv_destroy(task, sys::NOSV_DESTROY_NONE);
                return Err(error);
            }
            let body = sys::nosv_get_task_metadata(task) as *mut Body<F>;
            ptr::write(body, Body { head: Head { call }, work });
        }
        Ok(task)
    }

    unsafe fn set_attributes(&self, task: sys::nosv_task_t) -> Result<()> {
        // SAFETY: nobody else has the task.
        unsafe {
            if self.priority != 0 {
                sys::nosv_set_task_priority(task, self.priority);
            }
            if let Some(affinity) = self.affinity {
                let mut place = affinity.raw();
                sys::nosv_set_task_affinity(task, &mut place);
                if sys::nosv_get_task_affinity(task) != place {
                    return Err(Error::InvalidParameter);
                }
            }
        }
        Ok(())
    }
}

/// Execute a closure in a task. The caller must be in a task; [`Runtime::spawn`] is for others.
///
/// # Panics
/// If the caller is in no task, or the task cannot be created; [`Builder::spawn`] returns the error.
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(f).expect("usf: cannot spawn a task")
}

/// Execute a future in a task. The caller must be in a task; [`Runtime::spawn_future`] is for
/// others.
///
/// # Panics
/// If the caller is in no task, or the task cannot be created; [`Builder::spawn_future`] returns the
/// error.
pub fn spawn_future<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    Builder::new().spawn_future(future).expect("usf: cannot spawn a future")
}

/* ---- their end ------------------------------------------------------------------------------- */

/// The right to wait for a task, and to have what it returns. Dropping it detaches the task.
///
/// It is a future as well: `handle.await` gives what `join` gives.
#[must_use = "dropping a handle detaches its task"]
pub struct JoinHandle<T>(pub(crate) Arc<Packet<T>>);

impl<T> JoinHandle<T> {
    /// Wait until the task has ended. The error is the payload of its panic.
    ///
    /// A task that waits gives its CPU to other tasks.
    ///
    /// ```
    /// let runtime = usf::Runtime::new()?;
    /// let task = runtime.spawn(|| if true { panic!("no luck") } else { 1 });
    /// let payload = task.join().unwrap_err();
    /// assert_eq!(payload.downcast_ref(), Some(&"no luck"));
    /// # Ok::<(), usf::Error>(())
    /// ```
    pub fn join(self) -> std::result::Result<T, Box<dyn Any + Send>> {
        self.0.wait()
    }

    /// Has the task ended? Then `join` does not wait.
    pub fn is_finished(&self) -> bool {
        self.0.is_complete()
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = std::result::Result<T, Box<dyn Any + Send>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll(context.waker())
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}
