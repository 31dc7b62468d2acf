// ending.rs - the last Runtime goes: alone in its process, since Runtimes are counted.  SPDX-License-Identifier: Apache-2.0
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{mpsc, Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use usf::{Builder, Error, Parker, Runtime, TaskType};

/// std::future::poll_fn is younger than the oldest compiler that this is for.
struct PollFn<F>(F);

impl<F: FnMut(&mut Context<'_>) -> Poll<()> + Unpin> Future for PollFn<F> {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        (self.0)(context)
    }
}

fn waits_for_ready_tasks() {
    let n = Arc::new(AtomicUsize::new(0));
    let runtime = Runtime::new().unwrap();
    for _ in 0..100 {
        let n = n.clone();
        drop(runtime.spawn(move || {
            n.fetch_add(1, Relaxed);
            drop(usf::spawn(move || n.fetch_add(100, Relaxed)));
        }));
    }
    drop(runtime);
    assert_eq!(n.load(Relaxed), 10_100);
}

fn waits_for_parked_tasks() {
    let runtime = Runtime::new().unwrap();
    let parker = Parker::new();
    let unparker = parker.unparker();
    let task = runtime.spawn(move || {
        parker.park();
        5
    });
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        unparker.unpark();
        unparker
    });
    drop(runtime);
    assert!(task.is_finished());
    assert_eq!(task.join().unwrap(), 5); // a handle may outlive the runtime
    thread.join().unwrap().unpark();
}

/// A future that is pending until `wake` has been called.
fn pending(woken: Arc<AtomicUsize>, wakers: Arc<Mutex<Vec<Waker>>>) -> impl Future<Output = ()> + Send {
    PollFn(move |context: &mut Context<'_>| {
        wakers.lock().unwrap().push(context.waker().clone());
        match woken.load(Acquire) {
            0 => Poll::Pending,
            _ => Poll::Ready(()),
        }
    })
}

/// A thread that lets `n` such futures end some time after the first poll of each.
fn wake_all(n: usize, woken: Arc<AtomicUsize>, wakers: Arc<Mutex<Vec<Waker>>>) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        while wakers.lock().unwrap().len() < n {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(20));
        woken.store(1, Release);
        let all: Vec<Waker> = wakers.lock().unwrap().clone();
        all.into_iter().for_each(Waker::wake);
    })
}

fn waits_for_pending_futures() {
    let (woken, wakers) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
    let runtime = Runtime::new().unwrap();
    let futures: Vec<_> = (0..10).map(|_| runtime.spawn_future(pending(woken.clone(), wakers.clone()))).collect();
    let thread = wake_all(10, woken, wakers);
    drop(runtime);
    assert!(futures.iter().all(|future| future.is_finished()));
    thread.join().unwrap();
}

/// They are spawned when the last Runtime waits: for the first future, or in nosv_shutdown.
fn waits_for_late_futures(first: bool) {
    let (woken, wakers) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
    let runtime = Runtime::new().unwrap();
    let early = first.then(|| runtime.spawn_future(pending(woken.clone(), wakers.clone())));
    let (a, b) = (woken.clone(), wakers.clone());
    let late = runtime.spawn(move || {
        usf::sleep(Duration::from_millis(10));
        usf::spawn_future(pending(a, b))
    });
    let thread = wake_all(1 + usize::from(first), woken, wakers);
    drop(runtime);
    assert!(early.map_or(true, |future| future.is_finished()));
    assert!(late.join().unwrap().is_finished());
    thread.join().unwrap();
}

fn begins_again() {
    for round in 0..20 {
        let runtime = Runtime::new().unwrap();
        let kind = TaskType::new("again");
        let task = runtime.builder().task_type(kind).spawn(move || usf::spawn(move || round).join().unwrap());
        assert_eq!(task.unwrap().join().unwrap(), round);
    }
}

/// Runtimes of several threads, one of which is the last.
fn several() {
    let n = Arc::new(AtomicUsize::new(0));
    for _ in 0..30 {
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| {
                    let runtime = Runtime::new().unwrap();
                    let (a, b) = (n.clone(), n.clone());
                    drop(runtime.spawn(move || a.fetch_add(1, Relaxed)));
                    drop(runtime.spawn_future(async move { b.fetch_add(1, Relaxed) }));
                });
            }
        });
    }
    drop(Runtime::new().unwrap());
    assert_eq!(n.load(Relaxed), 240);
}

/// A guard that is forgotten leaves its thread attached, and the runtime where it is.
fn forgotten_guard() {
    std::thread::spawn(|| {
        let runtime = Runtime::new().unwrap();
        std::mem::forget(runtime.attach().unwrap());
        drop(runtime);
        assert_eq!(Builder::new().spawn(|| ()).unwrap_err(), Error::NotInitialized);
        assert_eq!(usf::block_on(async { 4 }), 4);
        usf::sleep(Duration::from_millis(1));
        let again = Runtime::new().unwrap();
        assert_eq!(again.spawn(|| 6).join().unwrap(), 6);
    })
    .join()
    .unwrap();
    assert_eq!(Runtime::new().unwrap().spawn(|| 1).join().unwrap(), 1);
}

/// A task's own Runtime outlives the program's. The library does not let a worker end it.
fn last_in_a_task() {
    let runtime = Runtime::new().unwrap();
    let parker = Parker::new();
    let unparker = parker.unparker();
    let (send, receive) = mpsc::channel();
    let task = runtime.spawn(move || {
        let own = Runtime::new().unwrap();
        send.send(()).unwrap();
        parker.park();
        usf::sleep(Duration::from_millis(5));
        drop(usf::spawn_future(async { 5 }));
        drop(own);
        usf::spawn(|| 7).join().unwrap()
    });
    receive.recv().unwrap();
    unparker.unpark();
    drop(runtime);
    assert_eq!(task.join().unwrap(), 7);
    assert_eq!(Runtime::new().unwrap().spawn(|| 1).join().unwrap(), 1);
}

#[test]
fn ending() {
    waits_for_ready_tasks();
    waits_for_parked_tasks();
    waits_for_pending_futures();
    waits_for_late_futures(false);
    waits_for_late_futures(true);
    begins_again();
    several();
    forgotten_guard();
    last_in_a_task(); // last: the runtime stays in force
}
