// tasks.rs - spawn, join, attributes, scopes, parkers.  SPDX-License-Identifier: Apache-2.0
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{mpsc, Arc, Mutex};
use std::time::{Duration, Instant};
use usf::{Affinity, Attached, Builder, Error, JoinHandle, Parker, Runtime, TaskType, Unparker};

fn message(payload: Box<dyn std::any::Any + Send>) -> String {
    match payload.downcast::<&'static str>() {
        Ok(text) => text.to_string(),
        Err(payload) => *payload.downcast::<String>().unwrap(),
    }
}

#[test]
fn bounds() {
    fn both<T: Send + Sync>() {}
    fn send<T: Send>() {}
    fn sync<T: Sync>() {}
    both::<JoinHandle<RefCell<i32>>>();
    both::<Unparker>();
    both::<TaskType>();
    both::<Affinity>();
    both::<Builder<'_>>();
    both::<Error>();
    both::<usf::Scope<'_, '_>>();
    both::<usf::ScopedJoinHandle<'_, RefCell<i32>>>();
    send::<Parker>();
    sync::<Runtime>();
}

#[test]
fn join_gives_the_result() {
    let runtime = Runtime::new().unwrap();
    let tasks: Vec<_> = (0..1000).map(|i| runtime.spawn(move || vec![i; 3])).collect();
    for (i, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.join().unwrap(), [i; 3]);
    }
}

#[test]
fn join_gives_the_panic() {
    let runtime = Runtime::new().unwrap();
    let task = runtime.spawn(|| -> i32 { panic!("number {}", 5) });
    assert_eq!(message(task.join().unwrap_err()), "number 5");
    assert_eq!(runtime.spawn(|| 1).join().unwrap(), 1);
}

#[test]
fn a_result_that_panics_when_dropped_harms_nobody() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    let runtime = Runtime::new().unwrap();
    let (send, receive) = mpsc::channel();
    drop(runtime.spawn(move || {
        receive.recv().unwrap();
        Bomb
    }));
    send.send(()).unwrap();
    runtime.spawn(|| std::panic::panic_any(7u8)).join().unwrap_err();
    assert_eq!(runtime.spawn(|| 1).join().unwrap(), 1);
}

#[test]
fn closures_of_any_size_and_alignment() {
    #[repr(align(128))]
    #[derive(Clone, Copy)]
    struct Wide(u8);
    let runtime = Runtime::new().unwrap();
    let (large, wide, drops) = ([7u8; 100_000], Wide(9), Arc::new(()));
    let theirs = drops.clone();
    assert_eq!(runtime.spawn(move || large.iter().map(|&x| x as usize).sum::<usize>()).join().unwrap(), 700_000);
    let task = runtime.spawn(move || {
        let _ = &theirs;
        let at = &wide as *const Wide as usize;
        (at % 128, wide.0)
    });
    assert_eq!(task.join().unwrap(), (0, 9));
    assert_eq!(runtime.spawn(|| ()).join().unwrap(), ());
    while Arc::strong_count(&drops) > 1 {
        std::thread::yield_now();
    }
}

#[test]
fn tasks_spawn_and_others_cannot() {
    let runtime = Runtime::new().unwrap();
    assert_eq!(Builder::new().spawn(|| ()).unwrap_err(), Error::OutsideTask);
    assert_eq!(Builder::new().spawn_future(async {}).unwrap_err(), Error::OutsideTask);
    assert!(std::panic::catch_unwind(|| usf::spawn(|| ())).is_err());
    assert!(std::panic::catch_unwind(|| usf::scope(|s| s.spawn(|| ()).join().unwrap())).is_err());
    assert_eq!(runtime.spawn(|| usf::spawn(|| 3).join().unwrap()).join().unwrap(), 3);
    assert_eq!(
        runtime.spawn(|| Runtime::new().unwrap().attach().unwrap_err()).join().unwrap(),
        Error::InvalidOperation
    );
    assert!(Error::OutsideTask.to_string().len() > 5);
}

#[test]
fn attached_threads_are_tasks() {
    let runtime = Runtime::new().unwrap();
    let outer = runtime.attach_with(None, "main").unwrap();
    let inner: Attached = runtime.attach().unwrap();
    drop(outer);
    assert_eq!(usf::spawn(|| 3).join().unwrap(), 3);
    drop(inner);
    assert_eq!(Builder::new().spawn(|| ()).unwrap_err(), Error::OutsideTask);
    assert_eq!(runtime.attach_with(None, "a\0b").unwrap_err(), Error::InvalidParameter);
    assert_eq!(runtime.attach_with(Some(Affinity::cpu(1 << 20)), "").unwrap_err(), Error::InvalidParameter);
    assert!(runtime.cpus() >= 1);
}

#[test]
fn attributes() {
    let runtime = Runtime::new().unwrap();
    let plain = runtime.builder();
    for nowhere in [Affinity::cpu(1 << 20), Affinity::cpu(u32::MAX), Affinity::numa(4000), Affinity::complex(4000)] {
        let dropped = Arc::new(());
        let theirs = dropped.clone();
        assert_eq!(plain.affinity(nowhere).spawn(move || drop(theirs)).unwrap_err(), Error::InvalidParameter);
        assert_eq!(Arc::strong_count(&dropped), 1);
        assert_eq!(plain.affinity(nowhere.preferred()).spawn(|| ()).unwrap_err(), Error::InvalidParameter);
    }
    let kind = TaskType::new("solve\0 hidden");
    assert_eq!(kind.label(), "solve");
    assert_eq!(format!("{:?}", TaskType::new("solve")), "TaskType(\"solve\")");
    assert_eq!(plain.task_type(kind).priority(-3).spawn(|| 2).unwrap().join().unwrap(), 2);
    assert_eq!(plain.task_type(TaskType::new("")).spawn_future(async { 4 }).unwrap().join().unwrap(), 4);
}

#[test]
fn scopes_borrow() {
    let runtime = Runtime::new().unwrap();
    let (mut data, total) = (vec![1u64; 1000], AtomicUsize::new(0));
    let result = runtime.scope(|s| {
        for part in data.chunks_mut(10) {
            let total = &total;
            s.spawn(move || {
                part.iter_mut().for_each(|x| *x += 1);
                total.fetch_add(part.len(), Relaxed);
            });
        }
        s.spawn(|| total.load(Relaxed)).join().unwrap();
        "done"
    });
    assert_eq!((result, total.into_inner(), data.iter().sum::<u64>()), ("done", 1000, 2000));
}

#[test]
fn scopes_tell_of_panics() {
    let runtime = Runtime::new().unwrap();
    let ended = AtomicBool::new(false);
    let joined = runtime.scope(|s| s.spawn(|| panic!("joined")).join().is_err());
    assert!(joined);
    let seen = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        runtime.scope(|s| {
            s.spawn(|| panic!("not joined"));
        })
    }));
    assert_eq!(message(seen.unwrap_err()), "a scoped task panicked");
    let own = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        runtime.scope(|s| {
            s.spawn(|| {
                usf::sleep(Duration::from_millis(5));
                ended.store(true, Relaxed);
            });
            panic!("own");
        })
    }));
    assert_eq!(message(own.unwrap_err()), "own");
    assert!(ended.into_inner());
}

#[test]
fn a_result_is_dropped_before_its_scope_ends() {
    struct Borrows<'a>(&'a AtomicUsize);
    impl Drop for Borrows<'_> {
        fn drop(&mut self) {
            usf::sleep(Duration::from_micros(300));
            self.0.fetch_add(1, Relaxed);
        }
    }
    let runtime = Runtime::new().unwrap();
    let drops = AtomicUsize::new(0);
    for _ in 0..20 {
        drops.store(0, Relaxed);
        runtime.scope(|s| {
            for _ in 0..4 {
                drop(s.spawn(|| Borrows(&drops)));
            }
        });
        assert_eq!(drops.load(Relaxed), 4);
    }
}

#[test]
fn scopes_nest_and_go_to_other_threads() {
    let runtime = Runtime::new().unwrap();
    let n = AtomicUsize::new(0);
    runtime.scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                usf::scope(|inner| {
                    for _ in 0..4 {
                        inner.spawn(|| n.fetch_add(1, Relaxed));
                    }
                });
                s.spawn(|| n.fetch_add(100, Relaxed)); // a sibling
            });
        }
        std::thread::scope(|threads| {
            threads.spawn(|| s.spawn(|| n.fetch_add(10_000, Relaxed)).join().unwrap());
        });
    });
    assert_eq!(n.into_inner(), 10_416);
}

#[test]
fn parkers() {
    let runtime = Runtime::new().unwrap();
    let parker = Parker::new();
    parker.unparker().unpark();
    parker.unparker().unpark();
    parker.park(); // both wakes are one, and it is here already
    parker.park_timeout(Duration::from_millis(1));
    let ping = Arc::new((Mutex::new(0u32), parker.unparker()));
    let task_ping = ping.clone();
    let task_parker = Parker::new();
    let pong = task_parker.unparker();
    let task = runtime.spawn(move || {
        for _ in 0..2000 {
            *task_ping.0.lock().unwrap() += 1;
            task_ping.1.unpark();
            task_parker.park();
        }
        let start = Instant::now();
        task_parker.park_timeout(Duration::from_millis(2));
        start.elapsed() >= Duration::from_millis(2)
    });
    for round in 1..=2000 {
        parker.park();
        assert_eq!(*ping.0.lock().unwrap(), round);
        pong.unpark();
    }
    assert!(task.join().unwrap());
}

#[test]
fn wakes_race_with_timeouts() {
    let runtime = Runtime::new().unwrap();
    for i in 0..300 {
        let parker = Parker::new();
        let unparker = parker.unparker();
        let task = runtime.spawn(move || {
            for k in 0..4 {
                parker.park_timeout(Duration::from_micros(10 * (i % 9) + k));
            }
        });
        for _ in 0..(i % 40) {
            std::hint::spin_loop();
            unparker.unpark();
        }
        task.join().unwrap();
        unparker.unpark(); // the task is gone
    }
}

#[test]
fn waiting_inside_and_outside_of_tasks() {
    let runtime = Runtime::new().unwrap();
    usf::yield_now();
    usf::schedpoint();
    let measure = || {
        let start = Instant::now();
        usf::sleep(Duration::from_millis(3));
        usf::sleep(Duration::ZERO);
        usf::yield_now();
        usf::schedpoint();
        start.elapsed() >= Duration::from_millis(3)
    };
    assert!(measure());
    assert!(runtime.spawn(measure).join().unwrap());
}

#[test]
fn is_finished() {
    let runtime = Runtime::new().unwrap();
    let parker = Parker::new();
    let unparker = parker.unparker();
    let task = runtime.spawn(move || parker.park());
    assert!(!task.is_finished());
    unparker.unpark();
    while !task.is_finished() {
        std::thread::yield_now();
    }
    task.join().unwrap();
}
