// error.rs - why a call has failed.  SPDX-License-Identifier: Apache-2.0
use crate::sys;
use std::ffi::CStr;
use std::fmt;
use std::os::raw::c_int;

/// Why a call has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Error {
    /// The calling task cannot do that: a worker attaches, for example.
    InvalidOperation,
    /// A value is out of range: an affinity names a place without a CPU of the process.
    InvalidParameter,
    /// No [`Runtime`](crate::Runtime) is in force.
    NotInitialized,
    /// Memory or threads are exhausted.
    OutOfMemory,
    /// The calling thread executes no task.
    OutsideTask,
    /// The library's code for any other reason.
    Other(i32),
}

/// What calls return that can fail.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    fn code(self) -> c_int {
        match self {
            Error::InvalidOperation => sys::NOSV_ERR_INVALID_OPERATION,
            Error::InvalidParameter => sys::NOSV_ERR_INVALID_PARAMETER,
            Error::NotInitialized => sys::NOSV_ERR_NOT_INITIALIZED,
            Error::OutOfMemory => sys::NOSV_ERR_OUT_OF_MEMORY,
            Error::OutsideTask => sys::NOSV_ERR_OUTSIDE_TASK,
            Error::Other(code) => code,
        }
    }
}

/// The result of a function of the library that returns 0 or an error.
pub(crate) fn check(code: c_int) -> Result<()> {
    Err(match code {
        sys::NOSV_SUCCESS => return Ok(()),
        sys::NOSV_ERR_INVALID_OPERATION => Error::InvalidOperation,
        sys::NOSV_ERR_INVALID_PARAMETER => Error::InvalidParameter,
        sys::NOSV_ERR_NOT_INITIALIZED => Error::NotInitialized,
        sys::NOSV_ERR_OUT_OF_MEMORY => Error::OutOfMemory,
        sys::NOSV_ERR_OUTSIDE_TASK => Error::OutsideTask,
        code => Error::Other(code),
    })
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the result is a constant string for each int.
        let text = unsafe { CStr::from_ptr(sys::nosv_get_error_string(self.code())) };
        f.write_str(&text.to_string_lossy())
    }
}

impl std::error::Error for Error {}
