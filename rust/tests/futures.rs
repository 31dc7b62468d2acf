// futures.rs - futures in tasks, and in block_on.  SPDX-License-Identifier: Apache-2.0
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{mpsc, Arc, Mutex};
use std::task::{Context, Poll, Waker};
use usf::{block_on, Runtime};

/// A value that comes once, from anywhere.
struct Once<T>(Arc<Mutex<(Option<T>, Option<Waker>)>>);

impl<T> Once<T> {
    fn new() -> (Once<T>, impl FnOnce(T)) {
        let shared = Arc::new(Mutex::new((None, None)));
        let theirs = shared.clone();
        let set = move |value| {
            let waker = {
                let mut both = theirs.lock().unwrap();
                both.0 = Some(value);
                both.1.take()
            };
            if let Some(waker) = waker {
                Waker::wake(waker);
            }
        };
        (Once(shared), set)
    }
}

impl<T> Future for Once<T> {
    type Output = T;
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let mut both = self.0.lock().unwrap();
        match both.0.take() {
            Some(value) => Poll::Ready(value),
            None => {
                both.1 = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

/// Pending once, and awake at once.
struct Yield(bool);

impl Future for Yield {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// std::future::poll_fn is younger than the oldest compiler that this is for.
struct PollFn<F>(F);

impl<F: FnMut(&mut Context<'_>) -> Poll<()> + Unpin> Future for PollFn<F> {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        (self.0)(context)
    }
}

#[test]
fn threads_wake_futures() {
    let runtime = Runtime::new().unwrap();
    let (futures, setters): (Vec<_>, Vec<_>) = (0..500).map(|_| Once::<u32>::new()).unzip();
    let tasks: Vec<_> = futures.into_iter().map(|f| runtime.spawn_future(async move { f.await + 1 })).collect();
    let thread = std::thread::spawn(move || {
        for (i, set) in setters.into_iter().enumerate() {
            set(i as u32);
        }
    });
    for (i, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.join().unwrap(), i as u32 + 1);
    }
    thread.join().unwrap();
}

#[test]
fn futures_await_tasks_and_futures() {
    let runtime = Runtime::new().unwrap();
    let root = runtime.spawn_future(async {
        let mut sum = 0;
        for i in 0..50 {
            sum += usf::spawn(move || i).await.unwrap();
            sum += usf::spawn_future(async move { i }).await.unwrap();
        }
        sum
    });
    assert_eq!(block_on(root).unwrap(), 2450);
}

#[test]
fn yielding_futures_take_turns() {
    let runtime = Runtime::new().unwrap();
    let polls = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let polls = polls.clone();
            runtime.spawn_future(async move {
                for _ in 0..500 {
                    Yield(false).await;
                    polls.fetch_add(1, Relaxed);
                }
            })
        })
        .collect();
    tasks.into_iter().for_each(|task| task.join().unwrap());
    assert_eq!(polls.load(Relaxed), 4000);
}

#[test]
fn panics() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                panic!("dropped");
            }
        }
    }
    let runtime = Runtime::new().unwrap();
    let polled = runtime.spawn_future(async {
        Yield(false).await;
        panic!("polled");
    });
    assert_eq!(polled.join().unwrap_err().downcast_ref(), Some(&"polled"));
    let dropped = runtime.spawn_future(async {
        let _bomb = Bomb;
        Yield(false).await;
    });
    assert_eq!(dropped.join().unwrap_err().downcast_ref(), Some(&"dropped"));
    let inside = runtime.spawn(|| block_on(async { panic!("inside") }));
    assert_eq!(inside.join().unwrap_err().downcast_ref(), Some(&"inside"));
}

#[test]
fn block_on_nests() {
    let runtime = Runtime::new().unwrap();
    let work = || {
        let (outer, set_outer) = Once::new();
        block_on(async move {
            let (inner, set_inner) = Once::new();
            let a = std::thread::spawn(move || set_inner(1));
            let b = std::thread::spawn(move || set_outer(2));
            let first = block_on(inner);
            let second = outer.await;
            a.join().unwrap();
            b.join().unwrap();
            first + second
        })
    };
    for _ in 0..50 {
        assert_eq!(work(), 3);
        assert_eq!(runtime.spawn(work).join().unwrap(), 3);
    }
}

/// The wake of the outer wait comes during an inner one, which must leave it.
#[test]
fn an_inner_wait_takes_no_wake_of_the_outer() {
    let work = |inner_wait: fn()| {
        let (mut outer, set_outer) = Once::new();
        let mut set_outer = Some(set_outer);
        block_on(PollFn(move |context: &mut Context<'_>| match Pin::new(&mut outer).poll(context) {
            Poll::Ready(()) => Poll::Ready(()),
            Poll::Pending => {
                if let Some(set) = set_outer.take() {
                    std::thread::spawn(move || set(())).join().unwrap();
                    inner_wait();
                }
                Poll::Pending
            }
        }));
    };
    let inner_block_on: fn() = || {
        let (inner, set_inner) = Once::new();
        let thread = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(5));
            set_inner(());
        });
        block_on(inner);
        thread.join().unwrap();
    };
    let inner_join: fn() = || usf::spawn(|| usf::sleep(std::time::Duration::from_millis(5))).join().unwrap();
    let inner_scope: fn() = || {
        usf::scope(|s| {
            s.spawn(|| usf::sleep(std::time::Duration::from_millis(5)));
        })
    };
    let runtime = Runtime::new().unwrap();
    work(inner_block_on);
    for inner in [inner_block_on, inner_join, inner_scope] {
        runtime.spawn(move || work(inner)).join().unwrap();
    }
}

#[test]
fn wakers_outlive_their_futures() {
    let wakers = Arc::new(Mutex::new(Vec::new()));
    for _ in 0..20 {
        let runtime = Runtime::new().unwrap();
        let theirs = wakers.clone();
        let task = runtime.spawn_future(async move {
            for _ in 0..5 {
                PollFn(|context: &mut Context<'_>| {
                    theirs.lock().unwrap().push(context.waker().clone());
                    Poll::Ready(())
                })
                .await;
                Yield(false).await;
            }
        });
        task.join().unwrap();
        for waker in wakers.lock().unwrap().iter() {
            waker.wake_by_ref();
        }
        drop(runtime);
        for waker in wakers.lock().unwrap().iter() {
            waker.wake_by_ref();
        }
    }
    assert!(wakers.lock().unwrap().len() >= 100);
}

#[test]
fn many_threads_wake_one_future() {
    let runtime = Runtime::new().unwrap();
    let (send, receive) = mpsc::channel::<Waker>();
    let left = Arc::new(AtomicUsize::new(3000));
    let theirs = left.clone();
    let task = runtime.spawn_future(PollFn(move |context: &mut Context<'_>| {
        let _ = send.send(context.waker().clone());
        match theirs.load(Relaxed) {
            0 => Poll::Ready(()),
            _ => Poll::Pending,
        }
    }));
    let waker = receive.recv().unwrap();
    std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                for _ in 0..1000 {
                    left.fetch_sub(1, Relaxed);
                    waker.wake_by_ref();
                }
            });
        }
    });
    task.join().unwrap();
}
