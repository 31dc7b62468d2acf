// sys.rs - what the crate calls of nosv.h.  SPDX-License-Identifier: Apache-2.0
//
// Names, types and values are those of the C headers.  tests/rust/test_sys.py has the C compiler
// compare each item here with the headers, so each item must stay on one line.
#![allow(non_camel_case_types)]

use std::os::raw::{c_char, c_int, c_uint, c_void};

pub enum nosv_task {}
pub enum nosv_task_type {}
pub type nosv_task_t = *mut nosv_task;
pub type nosv_task_type_t = *mut nosv_task_type;
pub type nosv_flags_t = u64;
pub type nosv_suspend_mode_t = c_uint;
/// A struct of bit-fields in C: bits 0 and 1 are the level, bit 2 the type, bits 3 to 31 the index.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct nosv_affinity_t(pub u32);
pub type nosv_task_run_callback_t = Option<unsafe extern "C" fn(task: nosv_task_t)>;
pub type nosv_task_end_callback_t = Option<unsafe extern "C" fn(task: nosv_task_t)>;
pub type nosv_task_completed_callback_t = Option<unsafe extern "C" fn(task: nosv_task_t)>;
pub type nosv_cost_function_t = Option<unsafe extern "C" fn(task: nosv_task_t) -> u64>;

pub const NOSV_SUCCESS: c_int = 0;
pub const NOSV_ERR_INVALID_OPERATION: c_int = -3;
pub const NOSV_ERR_INVALID_PARAMETER: c_int = -4;
pub const NOSV_ERR_NOT_INITIALIZED: c_int = -5;
pub const NOSV_ERR_OUT_OF_MEMORY: c_int = -6;
pub const NOSV_ERR_OUTSIDE_TASK: c_int = -7;
pub const NOSV_TYPE_INIT_NONE: nosv_flags_t = 0;
pub const NOSV_CREATE_NONE: nosv_flags_t = 0;
pub const NOSV_DESTROY_NONE: nosv_flags_t = 0;
pub const NOSV_SUBMIT_NONE: nosv_flags_t = 0;
pub const NOSV_SUBMIT_DEADLINE_WAKE: nosv_flags_t = 16;
pub const NOSV_YIELD_NONE: nosv_flags_t = 0;
pub const NOSV_SCHEDPOINT_NONE: nosv_flags_t = 0;
pub const NOSV_ATTACH_NONE: nosv_flags_t = 0;
pub const NOSV_DETACH_NONE: nosv_flags_t = 0;
pub const NOSV_MAX_METADATA_SIZE: usize = 4096;
pub const NOSV_SUSPEND_MODE_NONE: nosv_suspend_mode_t = 0;
pub const NOSV_SUSPEND_MODE_SUBMIT: nosv_suspend_mode_t = 1;
pub const NOSV_AFFINITY_TYPE_STRICT: u32 = 1;
pub const NOSV_AFFINITY_LEVEL_CPU: u32 = 1;
pub const NOSV_AFFINITY_LEVEL_NUMA: u32 = 2;
pub const NOSV_AFFINITY_LEVEL_USER_COMPLEX: u32 = 3;

#[rustfmt::skip]
extern "C" {
    pub fn nosv_init() -> c_int;
    pub fn nosv_shutdown() -> c_int;
    pub fn nosv_self() -> nosv_task_t;
    pub fn nosv_type_init(type_: *mut nosv_task_type_t, run_callback: nosv_task_run_callback_t, end_callback: nosv_task_end_callback_t, completed_callback: nosv_task_completed_callback_t, label: *const c_char, metadata: *mut c_void, cost_function: nosv_cost_function_t, flags: nosv_flags_t) -> c_int;
    pub fn nosv_get_task_type_metadata(type_: nosv_task_type_t) -> *mut c_void;
    pub fn nosv_create(task: *mut nosv_task_t, type_: nosv_task_type_t, metadata_size: usize, flags: nosv_flags_t) -> c_int;
    pub fn nosv_destroy(task: nosv_task_t, flags: nosv_flags_t) -> c_int;
    pub fn nosv_get_task_metadata(task: nosv_task_t) -> *mut c_void;
    pub fn nosv_get_task_type(task: nosv_task_t) -> nosv_task_type_t;
    pub fn nosv_set_task_priority(task: nosv_task_t, priority: c_int);
    pub fn nosv_get_task_affinity(task: nosv_task_t) -> nosv_affinity_t;
    pub fn nosv_set_task_affinity(task: nosv_task_t, affinity: *mut nosv_affinity_t);
    pub fn nosv_submit(task: nosv_task_t, flags: nosv_flags_t) -> c_int;
    pub fn nosv_waitfor(target_ns: u64, actual_ns: *mut u64) -> c_int;
    pub fn nosv_yield(flags: nosv_flags_t) -> c_int;
    pub fn nosv_schedpoint(flags: nosv_flags_t) -> c_int;
    pub fn nosv_set_suspend_mode(mode: nosv_suspend_mode_t, args: u64) -> c_int;
    pub fn nosv_suspend() -> c_int;
    pub fn nosv_attach(task: *mut nosv_task_t, affinity: *mut nosv_affinity_t, label: *const c_char, flags: nosv_flags_t) -> c_int;
    pub fn nosv_detach(flags: nosv_flags_t) -> c_int;
    pub fn nosv_get_error_string(err: c_int) -> *const c_char;
    pub fn nosv_get_num_cpus() -> c_int;
}
