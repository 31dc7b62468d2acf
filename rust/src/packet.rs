// packet.rs - what a task returns, and who waits for it.  SPDX-License-Identifier: Apache-2.0
//
// A handle has the packet, not the task: so it may outlive the task, and the runtime.
use crate::park::with_parker;
use crate::scope::ScopeData;
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

pub(crate) type Outcome<T> = Result<T, Box<dyn Any + Send>>;

enum State<T> {
    Running(Option<Waker>), // who waits
    Complete(Outcome<T>),
    Taken,
}

pub(crate) struct Packet<T> {
    state: Mutex<State<T>>,
    scope: Option<Arc<ScopeData>>, // of which the task is
}

impl<T> Packet<T> {
    pub(crate) fn new(scope: Option<Arc<ScopeData>>) -> Arc<Packet<T>> {
        Arc::new(Packet { state: Mutex::new(State::Running(None)), scope })
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn complete(&self, outcome: Outcome<T>) {
        let was = std::mem::replace(&mut *self.lock(), State::Complete(outcome));
        if let State::Running(Some(waker)) = was {
            waker.wake();
        }
    }

    pub(crate) fn is_complete(&self) -> bool {
        !matches!(*self.lock(), State::Running(_))
    }

    /// Take the outcome, or leave a waker.
    ///
    /// # Panics
    /// If the outcome has been taken.
    pub(crate) fn poll(&self, waker: &Waker) -> Poll<Outcome<T>> {
        if let Poll::Ready(outcome) = self.take_or(|_| None) {
            return Poll::Ready(outcome);
        }
        let waker = waker.clone(); // without the lock: it may be anybody's
        self.take_or(|waiting| waiting.replace(waker))
    }

    fn take_or(&self, wait: impl FnOnce(&mut Option<Waker>) -> Option<Waker>) -> Poll<Outcome<T>> {
        let mut state = self.lock();
        if let State::Running(waiting) = &mut *state {
            let before = wait(waiting);
            drop(state);
            drop(before);
            return Poll::Pending;
        }
        match std::mem::replace(&mut *state, State::Taken) {
            State::Complete(outcome) => Poll::Ready(outcome),
            _ => panic!("usf: the outcome of a task was asked for twice"),
        }
    }

    pub(crate) fn wait(&self) -> Outcome<T> {
        if let Poll::Ready(outcome) = self.take_or(|_| None) {
            return outcome;
        }
        with_parker(|parker| loop {
            match self.poll(&parker.waker()) {
                Poll::Ready(outcome) => return outcome,
                Poll::Pending => parker.park(),
            }
        })
    }
}

impl<T> Drop for Packet<T> {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let panicked = matches!(state, State::Complete(Err(_)));
        if let (true, Some(scope)) = (panicked, &self.scope) {
            scope.note_panic();
        }
    }
}
