// tests/pthread/rust.rs - Rust's standard library: its own futex locks, parking, channels, scopes.
// SPDX-License-Identifier: Apache-2.0
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{channel, sync_channel};
use std::sync::{Arc, Barrier, Condvar, Mutex, Once, OnceLock, RwLock};
use std::thread;
use std::time::{Duration, Instant};

fn mutexes(threads: usize, share: usize) {
    let count = Mutex::new((0usize, 0usize));
    let map = RwLock::new(HashMap::new());
    thread::scope(|s| {
        for me in 0..threads {
            let (count, map) = (&count, &map);
            s.spawn(move || {
                for i in 0..share {
                    let mut c = match count.try_lock() {
                        Ok(c) => c,
                        Err(_) => count.lock().unwrap(),
                    };
                    assert_eq!(c.0 * 2, c.1);
                    c.0 += 1;
                    c.1 += 2;
                    drop(c);
                    if i % 8 == 0 {
                        *map.write().unwrap().entry(me).or_insert(0usize) += 1;
                    } else {
                        assert!(map.read().unwrap().len() <= threads);
                    }
                }
            });
        }
    });
    assert_eq!(count.lock().unwrap().0, threads * share);
    let map = map.into_inner().unwrap();
    assert_eq!(map.values().sum::<usize>(), threads * share.div_ceil(8));
}

fn poisoned() {
    let m = Arc::new(Mutex::new(1));
    let n = m.clone();
    std::panic::set_hook(Box::new(|_| {}));
    let r = thread::spawn(move || {
        let _hold = n.lock().unwrap();
        panic!("on purpose");
    })
    .join();
    let _ = std::panic::take_hook();
    assert!(r.is_err());
    assert!(m.is_poisoned());
}

fn conditions(threads: usize, share: usize) {
    let pair = Arc::new((Mutex::new(0usize), Condvar::new()));
    let all: Vec<_> = (0..threads)
        .map(|me| {
            let pair = pair.clone();
            thread::spawn(move || {
                for i in 0..share {
                    let want = i * threads + me;
                    let mut turn = pair.0.lock().unwrap();
                    while *turn != want {
                        turn = if i % 2 == 0 {
                            pair.1.wait(turn).unwrap()
                        } else {
                            pair.1.wait_timeout(turn, Duration::from_millis(50)).unwrap().0
                        };
                    }
                    *turn += 1;
                    pair.1.notify_all();
                }
                me
            })
        })
        .collect();
    for (me, t) in all.into_iter().enumerate() {
        assert_eq!(t.join().unwrap(), me);
    }
    assert_eq!(*pair.0.lock().unwrap(), threads * share);
}

fn parking(threads: usize, share: usize) {
    // A ring of parked threads: each unparks the next.
    let go: Arc<Vec<AtomicUsize>> = Arc::new((0..threads).map(|_| AtomicUsize::new(0)).collect());
    let handles: Arc<OnceLock<Vec<thread::Thread>>> = Arc::new(OnceLock::new());
    let all: Vec<_> = (0..threads)
        .map(|me| {
            let (go, handles) = (go.clone(), handles.clone());
            thread::Builder::new()
                .name(format!("ring {me}"))
                .spawn(move || {
                    assert_eq!(thread::current().name(), Some(format!("ring {me}").as_str()));
                    for i in 0..share {
                        while go[me].load(SeqCst) <= i {
                            thread::park();
                        }
                        let next = (me + 1) % threads;
                        let handles = loop {
                            match handles.get() {
                                Some(h) => break h,
                                None => thread::yield_now(),
                            }
                        };
                        go[next].fetch_add(1, SeqCst);
                        handles[next].unpark();
                    }
                })
                .unwrap()
        })
        .collect();
    let _ = handles.set(all.iter().map(|t| t.thread().clone()).collect());
    go[0].fetch_add(1, SeqCst);
    all[0].thread().unpark();
    for t in all {
        t.join().unwrap();
    }
    let start = Instant::now();
    thread::park_timeout(Duration::from_millis(5));
    assert!(start.elapsed() < Duration::from_secs(20));
}

fn channels(threads: usize, share: usize) {
    let (tx, rx) = channel();
    let (ack_tx, ack_rx) = sync_channel(2);
    thread::scope(|s| {
        for me in 0..threads {
            let (tx, ack) = (tx.clone(), ack_tx.clone());
            s.spawn(move || {
                for i in 0..share {
                    tx.send(me * share + i).unwrap();
                    if i % 10 == 0 {
                        ack.send(1usize).unwrap();
                    }
                }
            });
        }
        drop(tx);
        drop(ack_tx);
        s.spawn(move || assert_eq!(ack_rx.iter().sum::<usize>(), threads * share.div_ceil(10)));
        let mut seen = vec![false; threads * share];
        for v in rx {
            assert!(!seen[v]);
            seen[v] = true;
        }
        assert!(seen.into_iter().all(|s| s));
    });
    let (tx, rx) = channel::<u8>();
    assert!(rx.recv_timeout(Duration::from_millis(3)).is_err());
    drop(tx);
    assert!(rx.recv().is_err());
}

fn barriers(threads: usize, share: usize) {
    let barrier = Barrier::new(threads);
    let (leaders, arrived) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|s| {
        for _ in 0..threads {
            s.spawn(|| {
                for i in 0..share {
                    arrived.fetch_add(1, SeqCst);
                    if barrier.wait().is_leader() {
                        leaders.fetch_add(1, SeqCst);
                    }
                    assert!(arrived.load(SeqCst) >= (i + 1) * threads);
                }
            });
        }
    });
    assert_eq!(leaders.load(SeqCst), share);
}

static DROPPED: AtomicUsize = AtomicUsize::new(0);
struct Counted(Cell<usize>);
impl Drop for Counted {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, SeqCst);
    }
}
thread_local!(static LOCAL: Counted = const { Counted(Cell::new(5)) });

fn locals(threads: usize) {
    static ONCE: Once = Once::new();
    static RAN: AtomicUsize = AtomicUsize::new(0);
    for round in 1..=10 {
        let all: Vec<_> = (0..threads)
            .map(|me| {
                thread::spawn(move || {
                    ONCE.call_once(|| {
                        thread::sleep(Duration::from_millis(1));
                        RAN.fetch_add(1, SeqCst);
                    });
                    assert_eq!(RAN.load(SeqCst), 1);
                    LOCAL.with(|l| {
                        assert_eq!(l.0.get(), 5);
                        l.0.set(me + 100);
                    });
                    thread::yield_now();
                    LOCAL.with(|l| assert_eq!(l.0.get(), me + 100));
                })
            })
            .collect();
        all.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(DROPPED.load(SeqCst), round * threads);
    }
}

fn spinning() {
    let flag = AtomicBool::new(false);
    thread::scope(|s| {
        s.spawn(|| {
            while !flag.load(SeqCst) {
                std::hint::spin_loop();
            }
        });
        thread::sleep(Duration::from_millis(1));
        flag.store(true, SeqCst);
    });
}

fn main() {
    let number = |i, default| std::env::args().nth(i).map_or(default, |a| a.parse::<usize>().expect("a number"));
    let (threads, rounds) = (number(1, 8), number(2, 4000));
    assert!((1..=64).contains(&threads), "usage: rust [THREADS (1-64) [ROUNDS]]");
    println!("{threads} threads, {rounds} rounds");
    thread::spawn(|| {
        thread::sleep(Duration::from_secs(100));
        std::process::abort();
    });
    let share = rounds / threads + 1;
    mutexes(threads, share);
    poisoned();
    conditions(threads, share / 4 + 1);
    parking(threads, share / 4 + 1);
    channels(threads, share);
    barriers(threads, share);
    locals(threads);
    spinning();
}
