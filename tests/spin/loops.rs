// tests/spin/loops.rs - what Rust makes of waits.  SPDX-License-Identifier: Apache-2.0
#![no_std]
use core::hint::spin_loop;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering::*};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

#[no_mangle]
pub extern "C" fn yes_flag(f: &AtomicBool) {
    while !f.load(Acquire) {
        spin_loop();
    }
}
#[no_mangle]
pub extern "C" fn yes_swap(f: &AtomicBool) {
    while f.swap(true, Acquire) {
        spin_loop();
    }
}
#[no_mangle]
pub extern "C" fn yes_lock(f: &AtomicBool) {
    while f.compare_exchange_weak(false, true, Acquire, Relaxed).is_err() {
        while f.load(Relaxed) {
            spin_loop();
        }
    }
}
#[no_mangle]
pub extern "C" fn yes_bounded(f: &AtomicU64, v: u64) -> bool {
    let mut n = 100u32;
    while n > 0 {
        if f.load(Acquire) == v {
            return true;
        }
        spin_loop();
        n -= 1;
    }
    false
}
#[no_mangle]
pub extern "C" fn yes_backoff(f: &AtomicUsize) {
    let mut step = 0u32;
    while f.load(Acquire) == 0 {
        for _ in 0..1u32 << step {
            spin_loop();
        }
        if step < 6 {
            step += 1;
        }
    }
}
#[no_mangle]
pub extern "C" fn no_add(f: &AtomicU64, v: u64) {
    let mut old = f.load(Relaxed);
    while let Err(x) = f.compare_exchange_weak(old, old + v, AcqRel, Relaxed) {
        old = x;
    }
}
#[repr(C)]
pub struct Node {
    next: AtomicPtr<Node>,
    key: u64,
}
#[no_mangle]
pub unsafe extern "C" fn no_walk(mut p: *const Node, key: u64) -> *const Node {
    while !p.is_null() && (*p).key != key {
        p = (*p).next.load(Relaxed);
    }
    p
}
