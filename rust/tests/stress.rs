// stress.rs - everything at once, by a seed.  SPDX-License-Identifier: Apache-2.0
//
// USF_RUST_SEED repeats a run. Each check is on counts and results, not on time.
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use usf::{Parker, Runtime};

#[derive(Clone)]
struct Random(u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % below
    }
    fn fork(&mut self) -> Random {
        Random(self.next(u64::MAX) | 1)
    }
}

fn seed() -> Random {
    let given = std::env::var("USF_RUST_SEED").ok().and_then(|text| text.parse().ok());
    let clock = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed: u64 = given.unwrap_or_else(clock);
    println!("USF_RUST_SEED={seed}");
    Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
}

/// Pending `left` times. Each time a thread outside of tasks gets the waker, or it wakes itself.
struct Hops(u64, Option<mpsc::Sender<Waker>>);

impl Future for Hops {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.0 == 0 {
            return Poll::Ready(());
        }
        self.0 -= 1;
        match &self.1 {
            Some(thread) => thread.send(context.waker().clone()).unwrap(),
            None => context.waker().wake_by_ref(),
        }
        Poll::Pending
    }
}

#[derive(Clone)]
struct World {
    wakers: Vec<mpsc::Sender<Waker>>,
}

/// How many tasks a tree has, as it was executed.
fn tree(world: World, mut random: Random, depth: u64) -> u64 {
    if depth == 0 {
        return 1;
    }
    let mut count = 1;
    match random.next(7) {
        0 => {
            let children: Vec<_> = (0..random.next(4))
                .map(|_| {
                    let (world, random) = (world.clone(), random.fork());
                    usf::spawn(move || tree(world, random, depth - 1))
                })
                .collect();
            count += children.into_iter().map(|child| child.join().unwrap()).sum::<u64>();
        }
        1 => {
            let sum = AtomicUsize::new(0);
            usf::scope(|s| {
                for _ in 0..random.next(4) {
                    let (world, random, sum) = (world.clone(), random.fork(), &sum);
                    s.spawn(move || sum.fetch_add(tree(world, random, depth - 1) as usize, Relaxed));
                }
            });
            count += sum.into_inner() as u64;
        }
        2 => {
            let payload = usf::spawn(move || std::panic::panic_any(depth)).join().unwrap_err();
            assert_eq!(*payload.downcast::<u64>().unwrap(), depth);
            count += tree(world, random, depth - 1);
        }
        3 => {
            let thread = world.wakers[random.next(world.wakers.len() as u64) as usize].clone();
            let hops = Hops(random.next(5), (random.next(3) > 0).then_some(thread));
            let (world, random) = (world, random.fork());
            let future = async move {
                hops.await;
                usf::spawn(move || tree(world, random, depth - 1)).await.unwrap()
            };
            count += match depth % 2 {
                0 => usf::block_on(future),
                _ => usf::spawn_future(future).join().unwrap(),
            };
        }
        4 => {
            let parker = Parker::new();
            let unparker = parker.unparker();
            let task = usf::spawn(move || unparker.unpark());
            parker.park_timeout(Duration::from_micros(random.next(60)));
            task.join().unwrap();
            count += tree(world, random, depth - 1);
        }
        5 => {
            usf::yield_now();
            drop(usf::spawn(usf::schedpoint));
            count += tree(world, random, depth - 1);
        }
        _ => {
            usf::sleep(Duration::from_micros(random.next(100)));
            let (other, own) = (random.fork(), random.fork());
            let (a, b) = (world.clone(), world);
            let child = usf::spawn(move || tree(a, other, depth - 1));
            count += tree(b, own, depth - 1) + child.join().unwrap();
        }
    }
    count
}

/// Threads outside of tasks that wake what they get.
fn wakers(n: usize, all: &mut Vec<std::thread::JoinHandle<u64>>) -> Vec<mpsc::Sender<Waker>> {
    (0..n)
        .map(|_| {
            let (send, receive) = mpsc::channel::<Waker>();
            all.push(std::thread::spawn(move || receive.into_iter().map(Waker::wake).count() as u64));
            send
        })
        .collect()
}

#[test]
fn everything() {
    std::panic::set_hook(Box::new(|info| {
        if info.payload().downcast_ref::<u64>().is_none() {
            eprintln!("{info}");
        }
    }));
    let mut random = seed();
    let mut threads = Vec::new();
    let world = World { wakers: wakers(2, &mut threads) };
    let rounds = std::env::var("USF_RUST_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(6);
    let mut total = 0;
    for round in 0..rounds {
        let runtime = Runtime::new().unwrap();
        let outside = std::thread::spawn({
            let (world, random) = (world.clone(), random.fork());
            move || {
                let runtime = Runtime::new().unwrap();
                let _attached = runtime.attach().unwrap();
                tree(world, random, 10)
            }
        });
        let trees: Vec<_> = (0..20)
            .map(|i| {
                let (world, random) = (world.clone(), random.fork());
                runtime.builder().priority(i % 3 - 1).spawn(move || tree(world, random, 10)).unwrap()
            })
            .collect();
        let many: Vec<_> = (0..5000).map(|i| runtime.spawn(move || i)).collect();
        total += trees.into_iter().map(|tree| tree.join().unwrap()).sum::<u64>();
        if round % 2 == 0 {
            drop(runtime); // the last, or not: `outside` has another one
        }
        assert_eq!(many.into_iter().map(|task| task.join().unwrap()).sum::<u64>(), 4999 * 2500);
        total += outside.join().unwrap();
    }
    drop(world);
    let wakes: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    println!("{total} tasks in trees, {wakes} wakes by threads");
    assert!(total >= 21 * rounds);
}
