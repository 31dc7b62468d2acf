// lib.rs - tasks on the usf scheduler.  SPDX-License-Identifier: Apache-2.0
//! Tasks on the usf scheduler, over `libnosv`.
//!
//! A task is a closure, or a future, that is executed on the CPUs of the process. Under `usf run`
//! tasks share the cores of the instance with all other threads and processes there.
//!
//! ```
//! let runtime = usf::Runtime::new()?;
//! let words = ["a", "bc", "def"];
//! let lengths: Vec<usize> = runtime.scope(|s| {
//!     let tasks: Vec<_> = words.iter().map(|word| s.spawn(move || word.len())).collect();
//!     tasks.into_iter().map(|task| task.join().unwrap()).collect()
//! });
//! assert_eq!(lengths, [1, 2, 3]);
//! # Ok::<(), usf::Error>(())
//! ```
//!
//! # Who may spawn
//!
//! Threads that have a [`Runtime`], by [`Runtime::spawn`] and [`Runtime::scope`]; and tasks, by
//! [`spawn`] and [`scope`](scope()). A thread that has attached ([`Runtime::attach`]) is a task.
//!
//! # What blocks
//!
//! In a task [`JoinHandle::join`], [`scope`](scope()), [`block_on`], [`sleep`] and [`Parker::park`]
//! give the CPU to other tasks. The task keeps its thread. What blocks in the kernel (a
//! [`std::sync::Mutex`], a read) keeps the CPU from other tasks of the process; under `usf run` the
//! core goes to other threads.
//!
//! A task is executed by one thread from its start to its end, so thread-local values of that thread
//! stay; the next task there finds them. A future may go on in another thread after each `await`.
//!
//! # Safety
//!
//! No function of this crate is `unsafe`. Handles may be kept longer than the runtime, and used by
//! any thread.
//!
//! A child of `fork` must not use what its parent has made with this crate.
#![deny(missing_docs, unsafe_op_in_unsafe_fn)]
#![warn(missing_debug_implementations)]

/// What the compiler must refuse. Each example fails for the code that is given.
///
/// A Runtime goes by the thread that has made it.
/// ```compile_fail,E0277
/// let runtime = usf::Runtime::new().unwrap();
/// std::thread::spawn(move || drop(runtime));
/// ```
/// A guard stays with its thread, and within its Runtime.
/// ```compile_fail,E0277
/// let runtime = usf::Runtime::new().unwrap();
/// let attached = runtime.attach().unwrap();
/// std::thread::scope(|s| drop(s.spawn(move || drop(attached))));
/// ```
/// ```compile_fail,E0505
/// let runtime = usf::Runtime::new().unwrap();
/// let attached = runtime.attach().unwrap();
/// drop(runtime);
/// drop(attached);
/// ```
/// A task without a scope borrows nothing, and takes and returns what may change threads.
/// ```compile_fail,E0597
/// let runtime = usf::Runtime::new().unwrap();
/// let text = String::from("text");
/// let view = &text;
/// drop(runtime.spawn(move || view.len()));
/// ```
/// ```compile_fail,E0277
/// let runtime = usf::Runtime::new().unwrap();
/// let shared = std::rc::Rc::new(1);
/// drop(runtime.spawn(move || drop(shared)));
/// ```
/// ```compile_fail,E0277
/// let runtime = usf::Runtime::new().unwrap();
/// drop(runtime.spawn(|| std::rc::Rc::new(1)));
/// ```
/// ```compile_fail
/// let runtime = usf::Runtime::new().unwrap();
/// let shared = std::rc::Rc::new(1);
/// drop(runtime.spawn_future(async move { drop(shared) }));
/// ```
/// A task of a scope borrows nothing that is younger than the scope, and its handle stays there.
/// ```compile_fail,E0597
/// let runtime = usf::Runtime::new().unwrap();
/// runtime.scope(|s| {
///     let text = String::from("text");
///     let view = &text;
///     s.spawn(move || view.len());
/// });
/// ```
/// ```compile_fail
/// let runtime = usf::Runtime::new().unwrap();
/// let handle = runtime.scope(|s| s.spawn(|| 1));
/// ```
/// Two threads do not park with one parker.
/// ```compile_fail,E0277
/// let parker = usf::Parker::new();
/// std::thread::scope(|s| drop(s.spawn(|| parker.park())));
/// ```
#[cfg(doctest)]
struct Refused;

mod error;
mod future;
mod packet;
mod park;
mod runtime;
mod scope;
mod sys;
mod task;

pub use error::{Error, Result};
pub use future::block_on;
pub use park::{schedpoint, sleep, yield_now, Parker, Unparker};
pub use runtime::{Attached, Runtime};
pub use scope::{scope, Scope, ScopedJoinHandle};
pub use task::{spawn, spawn_future, Affinity, Builder, JoinHandle, TaskType};
