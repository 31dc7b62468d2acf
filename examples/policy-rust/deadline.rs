// examples/policy-rust/deadline.rs - a policy in Rust: the earliest deadline first.  SPDX-License-Identifier: Apache-2.0
//
//   make -C examples/policy-rust
//   usf policy check ./examples/policy-rust/deadline.so
//
// One queue, ordered by deadline.  A task without one, or with one that is far away, is given one from now: ten quanta.  So everybody
// comes to the front some time, who yields among them.  A newcomer is put in from the back: that is one step unless deadlines differ.
#![no_std]
#![allow(non_upper_case_globals)]
#[path = "../../include/usf/policy.rs"]
mod usf;
use usf::*;

const PATIENCE: u64 = 10; // quanta

/// In the instance's data area.
#[repr(C)]
struct Inst {
    queue: Fifo,
}
/// In each task's: the deadline that it is queued with.
#[repr(C)]
struct Mark {
    due: u64,
}
const _: () = assert!(core::mem::size_of::<Inst>() <= DATA - 64 && core::mem::size_of::<Mark>() <= TASK_DATA);

unsafe fn queue(p: *mut Pol) -> *mut Fifo {
    core::ptr::addr_of_mut!((*((*p).data as *mut Inst)).queue)
}
unsafe fn mark(p: *mut Pol, id: u32) -> *mut Mark {
    core::ptr::addr_of_mut!((*task(p, id)).data) as *mut Mark
}

unsafe extern "C" fn enqueue(p: *mut Pol, id: u32, _why: u32) {
    let latest = (*p).now.wrapping_add((*p).quantum.wrapping_mul(PATIENCE));
    let own = (*task(p, id)).deadline;
    let due = if own == 0 || own > latest { latest } else { own };
    let mut after = (*queue(p)).tail;
    while after != 0 && (*mark(p, after - 1)).due > due {
        after = (*task(p, after - 1)).prev;
    }
    (*mark(p, id)).due = due;
    fifo_insert(p, queue(p), id, after);
}

unsafe extern "C" fn dequeue(p: *mut Pol, id: u32) {
    fifo_remove(p, queue(p), id);
}

unsafe extern "C" fn pick(p: *mut Pol, core: u32) -> u32 {
    fifo_pop_allowed(p, queue(p), core)
}

#[no_mangle]
pub static usf_policy: Ops = Ops {
    name: b"deadline\0".as_ptr(),
    description: b"the earliest deadline first; an example in Rust\0".as_ptr(),
    enqueue: Some(enqueue),
    pick: Some(pick),
    dequeue: Some(dequeue),
    ..DEFAULTS
};
