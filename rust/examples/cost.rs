// cost.rs - what a closure in a task costs, against the C interface.  SPDX-License-Identifier: Apache-2.0
//
//   cargo run --release --example cost [ROUNDS]
//
// Creates, submits, executes and joins empty tasks, from an attached thread: in batches, and one at
// a time. Rounds with C and with Rust alternate; each number is the median, in ns per task.
use std::os::raw::{c_int, c_void};
use std::ptr;
use std::time::Instant;

type Handle = *mut c_void;
#[rustfmt::skip]
extern "C" {
    fn nosv_type_init(out: *mut Handle, run: extern "C" fn(Handle), end: Handle, completed: Handle, label: Handle, metadata: Handle, cost: Handle, flags: u64) -> c_int;
    fn nosv_create(out: *mut Handle, kind: Handle, metadata_size: usize, flags: u64) -> c_int;
    fn nosv_submit(task: Handle, flags: u64) -> c_int;
    fn nosv_join(task: Handle, result: *mut Handle, timeout_ns: u64) -> c_int;
}
type Kind = Box<dyn Fn()>;
const JOINABLE: u64 = 1 << 1;

extern "C" fn empty(_task: Handle) {}

fn c_batch(kind: Handle, n: usize) {
    let mut tasks = vec![ptr::null_mut(); n];
    for task in &mut tasks {
        // SAFETY: the runtime is in force, and the type exists.
        unsafe {
            nosv_create(task, kind, 0, JOINABLE);
            nosv_submit(*task, 0);
        }
    }
    for task in tasks {
        // SAFETY: nobody else waits for it.
        unsafe { nosv_join(task, ptr::null_mut(), u64::MAX) };
    }
}

fn rust_batch(n: usize) {
    let tasks: Vec<_> = (0..n).map(|_| usf::spawn(|| ())).collect();
    tasks.into_iter().for_each(|task| task.join().unwrap());
}

fn scope_batch(n: usize) {
    usf::scope(|s| (0..n).for_each(|_| drop(s.spawn(|| ()))));
}

fn future_batch(n: usize) {
    let tasks: Vec<_> = (0..n).map(|_| usf::spawn_future(async {})).collect();
    tasks.into_iter().for_each(|task| task.join().unwrap());
}

fn main() {
    let rounds: usize = std::env::args().nth(1).map_or(41, |text| text.parse().expect("a number of rounds"));
    let runtime = usf::Runtime::new().expect("a runtime");
    let _attached = runtime.attach().expect("a task");
    let mut kind = ptr::null_mut();
    let none = ptr::null_mut();
    // SAFETY: the callback has the type that the library asks for.
    unsafe { nosv_type_init(&mut kind, empty, none, none, none, none, none, 0) };
    for (what, n, times) in [("batches of 1000", 1000, 20), ("one at a time", 1, 5000)] {
        let kinds: [(&str, Kind); 4] = [
            ("C", Box::new(move || c_batch(kind, n))),
            ("spawn", Box::new(move || rust_batch(n))),
            ("scope", Box::new(move || scope_batch(n))),
            ("future", Box::new(move || future_batch(n))),
        ];
        let mut all: Vec<Vec<f64>> = vec![Vec::new(); kinds.len()];
        for _ in 0..rounds {
            for (i, (_, run)) in kinds.iter().enumerate() {
                let start = Instant::now();
                (0..times).for_each(|_| run());
                all[i].push(start.elapsed().as_nanos() as f64 / (n * times) as f64);
            }
        }
        let medians: Vec<f64> = all
            .into_iter()
            .map(|mut times| {
                times.sort_by(f64::total_cmp);
                times[times.len() / 2]
            })
            .collect();
        for (i, (name, _)) in kinds.iter().enumerate() {
            println!("{what:16} {name:8} {:8.0} ns  {:5.2} of C", medians[i], medians[i] / medians[0]);
        }
    }
}
