// Rust's std: scoped threads, mutex, condvar, channels, park, barrier, rwlock, once, panic.
// SPDX-License-Identifier: Apache-2.0
use std::sync::{atomic::{AtomicUsize, Ordering}, mpsc, Arc, Barrier, Condvar, Mutex, Once, RwLock};
use std::{thread, time::Duration};

fn main() {
    let counter = Mutex::new(0);
    thread::scope(|s| {
        for _ in 0..8 {
            s.spawn(|| (0..500).for_each(|_| *counter.lock().unwrap() += 1));
        }
    });
    println!("mutex {}", counter.lock().unwrap());

    let (tx, rx) = mpsc::sync_channel::<usize>(4);
    let makers: Vec<_> = (0..4).map(|i| { let tx = tx.clone(); thread::spawn(move || (0..250).for_each(|n| tx.send(i * 250 + n).unwrap())) }).collect();
    drop(tx);
    println!("channel {}", rx.iter().sum::<usize>());
    makers.into_iter().for_each(|m| m.join().unwrap());

    let pair = Arc::new((Mutex::new(0), Condvar::new()));
    let turns: Vec<_> = (0..6).map(|i| { let p = pair.clone(); thread::spawn(move || {
        let mut turn = p.0.lock().unwrap();
        while *turn != i { turn = p.1.wait(turn).unwrap(); }
        *turn += 1;
        p.1.notify_all();
    }) }).collect();
    turns.into_iter().for_each(|t| t.join().unwrap());
    println!("condvar {}", pair.0.lock().unwrap());

    let parked = thread::spawn(|| { thread::park(); thread::park_timeout(Duration::from_millis(10)); 5 });
    thread::sleep(Duration::from_millis(10));
    parked.thread().unpark();
    println!("park {}", parked.join().unwrap());

    let (barrier, leaders, lock, once) = (Barrier::new(8), AtomicUsize::new(0), RwLock::new(0), Once::new());
    thread::scope(|s| {
        for _ in 0..8 {
            s.spawn(|| for _ in 0..30 {
                if barrier.wait().is_leader() { leaders.fetch_add(1, Ordering::Relaxed); }
                *lock.write().unwrap() += 1;
                let _ = *lock.read().unwrap();
                once.call_once(|| println!("once"));
            });
        }
    });
    println!("barrier {} rwlock {}", leaders.load(Ordering::Relaxed), lock.read().unwrap());
    std::panic::set_hook(Box::new(|_| ()));
    println!("panic {}", thread::spawn(|| { if true { panic!("x") } }).join().is_err());
}
