// usf/policy.rs - usf/policy.h for Rust: records, operations, fifo.  SPDX-License-Identifier: Apache-2.0
//
// usf/policy.h has the words: what each field means, what each operation may do.  The names here are the same.
// A policy is a cdylib with #![no_std] that includes this file as a module; it allocates nothing and panics never (a panic ends
// in a loop, which `usf policy check` finds).  The records are shared memory of others: they are reached through raw pointers, one
// field at a time, and every function that does so is unsafe.
#![allow(dead_code)]

pub const API_VERSION: u32 = 4;
/// Bit 31 says that the code uses vector registers, which the loader refuses: build with -C target-feature=-sse,-sse2.
pub const API: u32 = API_VERSION | if cfg!(target_feature = "sse") { 0x8000_0000 } else { 0 };
pub const NONE: u32 = u32::MAX;

pub const TASK_DATA: usize = 32;
pub const CORE_DATA: usize = 128;
pub const GROUP_DATA: usize = 4096;
pub const DATA: usize = 4096;
pub const GROUPS_MAX: usize = 2048;

// enum usf_why
pub const WHY_NEW: u32 = 0;
pub const WHY_WAKE: u32 = 1;
pub const WHY_RETURN: u32 = 2;
pub const WHY_YIELD: u32 = 3;
pub const WHY_PREEMPT: u32 = 4;

// enum usf_affinity
pub const AFFINITY_ANY: u8 = 0;
pub const AFFINITY_CORE: u8 = 1;
pub const AFFINITY_LLC: u8 = 2;
pub const AFFINITY_NODE: u8 = 3;
pub const AFFINITY_MASK: u8 = 4;

#[repr(C, align(8))]
pub struct Task {
    pub id: u32,
    pub group: u32,
    pub last_core: u32,
    pub priority: i32,
    pub next: u32,
    pub prev: u32,
    pub queued: u32,
    pub held: u32,
    pub ready_since: u64,
    pub data: [u64; TASK_DATA / 8],
    pub deadline: u64,
    pub affinity_id: u32,
    pub affinity: u8,
    pub strict: u8,
    pub pad: [u8; 10],
    pub mask: [u64; 4],
}

#[repr(C)]
pub struct Core {
    pub id: u32,
    pub cpu: u32,
    pub node: u32,
    pub llc: u32,
    pub package: u32,
    pub current: u32,
    pub since: u64,
    pub give_way_at: u64,
    pub phys: u32,
    pub reserved: u32,
    pub data: [u64; CORE_DATA / 8],
    pub keeps_until: u64,
}

/// What waits in a group's own queues, as its process has last told.
#[repr(C)]
pub struct Work {
    pub ready: u32,
    pub priority: i32,
    pub deadline: u64,
    pub strict: [u64; 4],
}

#[repr(C)]
pub struct Group {
    pub id: u32,
    pub nr_tasks: u32,
    pub nr_ready: u32,
    pub weight: u32,
    pub busy_ns: u64,
    pub cores: [u64; 4],
    pub priority: i32,
    pub flags: u32,
    pub progress: u64,
    pub share: [u64; 4],
    pub share_gen: u32,
    pub width: u32,
    pub proc: u32,
    pub reserved0: [u32; 3],
    pub work: Work,
    pub reserved1: [u64; 2],
    pub data: [u64; GROUP_DATA / 8],
    pub own: [u64; 4],
}

pub const GROUP_MALLEABLE: u32 = 1;
pub const GROUP_NO_GANG: u32 = 2;
pub const GROUP_OWNS: u32 = 4;

#[repr(C)]
pub struct Pol {
    pub now: u64,
    pub quantum: u64,
    pub slice: u64,
    pub flags: u32,
    pub nr_cores: u32,
    pub nr_tasks: u32,
    pub nr_groups: u32,
    pub task_stride: u32,
    pub core_stride: u32,
    pub group_stride: u32,
    pub tasks: *mut u8,
    pub cores: *mut u8,
    pub groups: *mut u8,
    pub data: *mut u8,
}

pub const POL_BLIND: u32 = 1;

// The sizes that the C header gives them on x86-64.
const _: [(); 128] = [(); core::mem::size_of::<Task>()];
const _: [(); 184] = [(); core::mem::size_of::<Core>()];
const _: [(); 4320] = [(); core::mem::size_of::<Group>()];
const _: [(); 88] = [(); core::mem::size_of::<Pol>()];

pub const POLICY_KERNEL: u64 = 1;
pub const POLICY_SWAP: u64 = 2;
pub const POLICY_CAN_STARVE: u64 = 4;
pub const POLICY_TICK_WAITING: u64 = 8;

#[repr(C)]
pub struct Ops {
    pub api: u32,
    pub size: u32,
    pub name: *const u8,        // ends with a 0 byte: c"..." or b"...\0"
    pub description: *const u8,
    pub flags: u64,
    pub init: Option<unsafe extern "C" fn(*mut Pol) -> i32>,
    pub group_add: Option<unsafe extern "C" fn(*mut Pol, u32)>,
    pub group_remove: Option<unsafe extern "C" fn(*mut Pol, u32)>,
    pub task_add: Option<unsafe extern "C" fn(*mut Pol, u32)>,
    pub task_remove: Option<unsafe extern "C" fn(*mut Pol, u32)>,
    pub select_core: Option<unsafe extern "C" fn(*mut Pol, u32, *const u64) -> u32>,
    pub enqueue: Option<unsafe extern "C" fn(*mut Pol, u32, u32)>,
    pub pick: Option<unsafe extern "C" fn(*mut Pol, u32) -> u32>,
    pub dequeue: Option<unsafe extern "C" fn(*mut Pol, u32)>,
    pub yields: Option<unsafe extern "C" fn(*mut Pol, u32, u32) -> bool>,   // `yield` in C
    pub started: Option<unsafe extern "C" fn(*mut Pol, u32, u32)>,
    pub stopped: Option<unsafe extern "C" fn(*mut Pol, u32, u32)>,
    pub tick: Option<unsafe extern "C" fn(*mut Pol)>,
    pub group_changed: Option<unsafe extern "C" fn(*mut Pol, u32)>,
}
unsafe impl Sync for Ops {}

/// The table without operations: the defaults.  `Ops { name: ..., enqueue: Some(enqueue), ..DEFAULTS }`
pub const DEFAULTS: Ops = Ops {
    api: API,
    size: core::mem::size_of::<Ops>() as u32,
    name: core::ptr::null(),
    description: core::ptr::null(),
    flags: 0,
    init: None,
    group_add: None,
    group_remove: None,
    task_add: None,
    task_remove: None,
    select_core: None,
    enqueue: None,
    pick: None,
    dequeue: None,
    yields: None,
    started: None,
    stopped: None,
    tick: None,
    group_changed: None,
};

pub unsafe fn task(p: *mut Pol, id: u32) -> *mut Task {
    (*p).tasks.add(id as usize * (*p).task_stride as usize) as *mut Task
}
pub unsafe fn core_of(p: *mut Pol, id: u32) -> *mut Core {
    (*p).cores.add(id as usize * (*p).core_stride as usize) as *mut Core
}
pub unsafe fn group_of(p: *mut Pol, id: u32) -> *mut Group {
    (*p).groups.add(id as usize * (*p).group_stride as usize) as *mut Group
}

/// May tasks of this group run on this core?
pub unsafe fn allowed(p: *mut Pol, group: u32, core: u32) -> bool {
    let cores = core::ptr::addr_of!((*group_of(p, group)).cores) as *const u64;
    core < 256 && *cores.add(core as usize / 64) >> (core % 64) & 1 != 0
}

/// May this task run on this core?  Its group may, and its own affinity, if strict, allows it.
pub unsafe fn may_run(p: *mut Pol, id: u32, core: u32) -> bool {
    let t = task(p, id);
    if !allowed(p, (*t).group, core) {
        return false;
    }
    let c = core_of(p, core);
    let mask = core::ptr::addr_of!((*t).mask) as *const u64;
    (*t).strict == 0
        || match (*t).affinity {
            AFFINITY_CORE => core == (*t).affinity_id,
            AFFINITY_LLC => (*c).llc == (*t).affinity_id,
            AFFINITY_NODE => (*c).node == (*t).affinity_id,
            AFFINITY_MASK => *mask.add(core as usize / 64) >> (core % 64) & 1 != 0,
            _ => true,
        }
}

/// Tasks, linked by id through the task records.  Zeroed: empty.  head, tail and links are id + 1; 0: none.
#[repr(C)]
pub struct Fifo {
    pub head: u32,
    pub tail: u32,
    pub len: u32,
}

/// Behind the task `after` (an id + 1; 0: to the front).
pub unsafe fn fifo_insert(p: *mut Pol, f: *mut Fifo, id: u32, after: u32) {
    let t = task(p, id);
    let next = if after != 0 { (*task(p, after - 1)).next } else { (*f).head };
    (*t).prev = after;
    (*t).next = next;
    (*t).queued = 1;
    if after != 0 {
        (*task(p, after - 1)).next = id + 1;
    } else {
        (*f).head = id + 1;
    }
    if next != 0 {
        (*task(p, next - 1)).prev = id + 1;
    } else {
        (*f).tail = id + 1;
    }
    (*f).len = (*f).len.wrapping_add(1);
}
pub unsafe fn fifo_push(p: *mut Pol, f: *mut Fifo, id: u32) {
    fifo_insert(p, f, id, (*f).tail)
}
pub unsafe fn fifo_remove(p: *mut Pol, f: *mut Fifo, id: u32) {
    let t = task(p, id);
    if (*t).prev != 0 {
        (*task(p, (*t).prev - 1)).next = (*t).next;
    } else {
        (*f).head = (*t).next;
    }
    if (*t).next != 0 {
        (*task(p, (*t).next - 1)).prev = (*t).prev;
    } else {
        (*f).tail = (*t).prev;
    }
    (*t).next = 0;
    (*t).prev = 0;
    (*t).queued = 0;
    (*f).len = (*f).len.wrapping_sub(1);
}
/// The first task that may run on `core`, removed; or NONE.
pub unsafe fn fifo_pop_allowed(p: *mut Pol, f: *mut Fifo, core: u32) -> u32 {
    let mut i = (*f).head;
    while i != 0 {
        if may_run(p, i - 1, core) {
            fifo_remove(p, f, i - 1);
            return i - 1;
        }
        i = (*task(p, i - 1)).next;
    }
    NONE
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
