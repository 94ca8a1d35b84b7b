// SPDX-License-Identifier: GPL-2.0

//! The transitions of a connector.

use super::super::status::Status;
use super::{
    Call, //
    Connector,
    Effect,
    List,
    Qp,
    Refusal,
    RejectAs,
    Report,
    Stage,
    State,
    Timer,
    Work,
};

impl Connector {
    pub(super) fn on_call(&mut self, call: Call, todo: &mut List) -> Result<(), Status> {
        match (call, self.state) {
            // The consumer makes no call after Close (section 2.5).
            (_, State::Closing | State::Closed) => return Err(Status::ConnectionInvalid),
            (Call::Close, _) => self.close(todo),
            _ if self.removed => return Err(Status::DeviceRemoved),

            (Call::QueryData, _) if self.data => {}
            (Call::QueryLocal | Call::QueryPeer, state) if state != State::Idle => {}
            (Call::QueryData | Call::QueryLocal | Call::QueryPeer, _) => {
                return Err(Status::ConnectionInvalid)
            }

            (Call::Connect, State::Idle) => self.connect(todo),
            // The queue pair is busy with this very connector.
            (
                Call::Connect,
                State::Connecting(_)
                | State::Accepted
                | State::Completing
                | State::Connected
                | State::PeerGone
                | State::Disconnecting
                | State::Accepting,
            ) => return Err(Status::ConnectionActive),

            (Call::CompleteConnect, State::Accepted) => self.complete_connect(todo),
            (Call::Accept, State::Incoming) => self.accept(todo),
            (Call::Reject, State::Accepted | State::Incoming) => self.reject(todo),
            // An establishment that failed by itself tells its cause when the consumer goes on with it.
            (Call::CompleteConnect | Call::Accept | Call::Reject, State::Failed(Some(cause))) => {
                return Err(cause)
            }

            (Call::Disconnect, State::Connected) => {
                self.request(State::Disconnecting);
                todo.push(Effect::Start(Work::Disconnect));
                self.arm_timer(Timer::Disconnect, todo);
            }
            // The peer's part is over already: what is left is to answer and to become quiet.
            (Call::Disconnect, State::PeerGone) => {
                self.request(State::Disconnecting);
                todo.push(Effect::Start(Work::Disconnect));
                self.flush(todo);
                self.drain(todo);
            }

            (
                Call::Connect
                | Call::CompleteConnect
                | Call::Accept
                | Call::Reject
                | Call::Disconnect,
                _,
            ) => return Err(Status::ConnectionInvalid),
        }
        Ok(())
    }

    pub(super) fn on_report(&mut self, report: Report, todo: &mut List) {
        if let Report::Expired(timer) = report {
            if self.timer != Some(timer) {
                return;
            }
            self.timer = None;
        }
        if report == Report::Quiet {
            if self.qp != Qp::Draining {
                return;
            }
            self.qp = Qp::Quiet;
        }
        match (self.state, report) {
            (State::Closed, _) => {}
            (_, Report::DeviceRemoved) => self.device_removed(todo),

            (State::Connecting(stage), report) => self.connecting(stage, report, todo),
            (State::Accepted, report) => self.accepted(report, todo),
            (State::Completing | State::Accepting, report) => self.establishing(report, todo),
            (State::Connected, report) => self.connected(report, todo),
            (State::Disconnecting, report) => self.disconnecting(report, todo),

            // The peer abandoned its request; the next Accept or Reject will say so.
            (
                State::Incoming,
                Report::Rejected(_)
                | Report::Unreachable
                | Report::ConnectError
                | Report::Disconnected
                | Report::DisconnectTimedOut
                | Report::Aborted,
            ) => {
                self.state = State::Failed(Some(Status::ConnectionAborted));
                todo.push(Effect::Answered);
            }

            (State::Closing, Report::Quiet) => self.end_close(todo),

            (
                State::Idle
                | State::Incoming
                | State::PeerGone
                | State::Disconnected
                | State::Rejected
                | State::Failed(_)
                | State::Closing,
                _,
            ) => {}
        }
    }

    /// A request is accepted: it is pending in this state.
    fn request(&mut self, state: State) {
        debug_assert!(!self.pending, "two requests on one connector");
        self.state = state;
        self.pending = true;
    }

    /// Completes the pending request, if there is one.
    fn complete(&mut self, status: Status, todo: &mut List) {
        if core::mem::take(&mut self.pending) {
            todo.push(Effect::CompleteRequest(status));
        }
    }

    /// A live queue pair goes to its error state: from here on it flushes.
    fn flush(&mut self, todo: &mut List) {
        if self.qp == Qp::Live {
            self.qp = Qp::Error;
            todo.push(Effect::QpToError);
        }
    }

    /// A queue pair in its error state is waited for. Returns whether there is something to wait for.
    fn drain(&mut self, todo: &mut List) -> bool {
        if self.qp == Qp::Error {
            self.qp = Qp::Draining;
            todo.push(Effect::Drain);
        }
        self.qp == Qp::Draining
    }

    fn destroy_id(&mut self, todo: &mut List) {
        if core::mem::take(&mut self.id) {
            todo.push(Effect::DestroyId);
        }
    }

    fn release_endpoint(&mut self, todo: &mut List) {
        if core::mem::take(&mut self.endpoint) {
            todo.push(Effect::ReleaseEndpoint);
        }
    }

    /// The establishment is over: a queue pair that it has not touched is as it was before.
    fn release_qp(&mut self, todo: &mut List) {
        if self.qp == Qp::Untouched {
            todo.push(Effect::ReleaseQp);
        }
    }

    fn arm_timer(&mut self, timer: Timer, todo: &mut List) {
        debug_assert!(self.timer.is_none(), "two timers on one connector");
        self.timer = Some(timer);
        todo.push(Effect::ArmTimer(timer));
    }

    /// Stops the timer that runs, if one does. A timer that has expired does not run any more.
    fn stop_timer(&mut self, todo: &mut List) {
        if let Some(timer) = self.timer.take() {
            todo.push(Effect::StopTimer(timer));
        }
    }

    // --- Active establishment (section 5.3).

    fn connect(&mut self, todo: &mut List) {
        self.request(State::Connecting(Stage::Address));
        self.epoch = self.epoch.wrapping_add(1);
        self.id = true;
        self.endpoint = true;
        self.data = false;
        self.arm_timer(Timer::Connect, todo);
        todo.push(Effect::Start(Work::Resolve));
    }

    fn connecting(&mut self, stage: Stage, report: Report, todo: &mut List) {
        match (stage, report) {
            (Stage::Address, Report::AddressResolved) => {
                self.state = State::Connecting(Stage::Route);
                todo.push(Effect::Start(Work::Route));
            }
            (Stage::Route, Report::RouteResolved) => {
                self.state = State::Connecting(Stage::Reply);
                todo.push(Effect::Start(Work::Connect));
            }
            (Stage::Reply, Report::ConnectResponse) => {
                self.stop_timer(todo);
                self.state = State::Accepted;
                self.data = true;
                self.arm_timer(Timer::Hold, todo);
                self.complete(Status::Success, todo);
            }
            (Stage::Reply, Report::Established) => {
                self.stop_timer(todo);
                self.state = State::Accepted;
                self.data = true;
                self.qp = Qp::Live;
                self.complete(Status::Success, todo);
            }

            (_, Report::AddressError(status)) => self.connect_failed(status, todo),
            (_, Report::RouteError) => self.connect_failed(Status::HostUnreachable, todo),
            (_, Report::Rejected(why)) => {
                // The bytes of the peer's consumer stay readable (section 5.3, note 2).
                self.data = why == Refusal::Consumer;
                self.connect_failed(Status::ConnectionRefused, todo);
            }
            (_, Report::Unreachable | Report::Expired(Timer::Connect)) => {
                self.connect_failed(Status::IoTimeout, todo);
            }
            (
                _,
                Report::ConnectError
                | Report::Disconnected
                | Report::DisconnectTimedOut
                | Report::Aborted,
            ) => self.connect_failed(Status::ConnectionAborted, todo),
            (_, Report::Failed(Work::Resolve | Work::Route | Work::Connect, status)) => {
                self.connect_failed(status, todo);
            }
            _ => {}
        }
    }

    /// Connect fails. The id, the endpoint and the queue pair go before the request is completed, so
    /// that the consumer can connect with them again in the completion callback.
    fn connect_failed(&mut self, status: Status, todo: &mut List) {
        self.stop_timer(todo);
        self.destroy_id(todo);
        self.release_endpoint(todo);
        self.release_qp(todo);
        self.state = if status.is_retryable() {
            State::Idle
        } else {
            State::Failed(None)
        };
        self.complete(status, todo);
    }

    fn accepted(&mut self, report: Report, todo: &mut List) {
        let cause = match report {
            Report::Rejected(_)
            | Report::Unreachable
            | Report::ConnectError
            | Report::Disconnected
            | Report::DisconnectTimedOut
            | Report::Aborted => Status::ConnectionAborted,
            Report::Expired(Timer::Hold) => Status::IoTimeout,
            _ => return,
        };
        self.stop_timer(todo);
        if cause == Status::IoTimeout {
            todo.push(Effect::SendReject(RejectAs::Timeout));
        }
        self.release_qp(todo);
        self.flush(todo);
        self.state = State::Failed(Some(cause));
    }

    fn complete_connect(&mut self, todo: &mut List) {
        self.stop_timer(todo);
        if self.qp == Qp::Live {
            // No third message on this transport: the connection is up already.
            self.request(State::Connected);
            self.complete(Status::Success, todo);
        } else {
            self.request(State::Completing);
            self.qp = Qp::Live;
            todo.push(Effect::Start(Work::Complete));
        }
    }

    fn reject(&mut self, todo: &mut List) {
        let incoming = self.state == State::Incoming;
        if incoming {
            todo.push(Effect::Answered);
        }
        self.stop_timer(todo);
        if self.qp == Qp::Live {
            todo.push(Effect::Start(Work::Disconnect));
            self.flush(todo);
        } else {
            todo.push(Effect::SendReject(RejectAs::Consumer));
        }
        if !incoming {
            self.release_qp(todo);
        }
        self.state = State::Rejected;
    }

    // --- Passive establishment (section 5.4), and the last step of both.

    fn accept(&mut self, todo: &mut List) {
        self.request(State::Accepting);
        self.endpoint = true;
        self.qp = Qp::Live;
        todo.push(Effect::Answered);
        todo.push(Effect::HoldEndpoint);
        self.arm_timer(Timer::Establish, todo);
        todo.push(Effect::Start(Work::Accept));
    }

    fn establishing(&mut self, report: Report, todo: &mut List) {
        match (self.state, report) {
            (State::Completing, Report::Done(Work::Complete))
            | (State::Accepting, Report::Established) => {
                self.stop_timer(todo);
                self.state = State::Connected;
                self.complete(Status::Success, todo);
            }

            (State::Completing, Report::Failed(Work::Complete, status))
            | (State::Accepting, Report::Failed(Work::Accept, status)) => {
                self.establish_failed(status, todo);
            }
            (State::Accepting, Report::Unreachable) => {
                self.establish_failed(Status::IoTimeout, todo);
            }
            (State::Accepting, Report::Expired(Timer::Establish)) => {
                // A reject of its own would leave the reply on its way, and whoever destroys the id later waits for that. The
                // destruction recalls the reply, and rejects.
                self.destroy_id(todo);
                self.establish_failed(Status::IoTimeout, todo);
            }
            (
                _,
                Report::Rejected(_)
                | Report::Unreachable
                | Report::ConnectError
                | Report::Disconnected
                | Report::DisconnectTimedOut
                | Report::Aborted,
            ) => self.establish_failed(Status::ConnectionAborted, todo),
            _ => {}
        }
    }

    fn establish_failed(&mut self, status: Status, todo: &mut List) {
        self.stop_timer(todo);
        self.flush(todo);
        self.state = State::Failed(None);
        self.complete(status, todo);
    }

    // --- Connected phase (section 5.5).

    fn connected(&mut self, report: Report, todo: &mut List) {
        let ended = match report {
            Report::Disconnected => Status::Success,
            Report::Rejected(_)
            | Report::Unreachable
            | Report::ConnectError
            | Report::DisconnectTimedOut
            | Report::Aborted => Status::ConnectionAborted,
            _ => return,
        };
        if matches!(report, Report::Aborted | Report::Unreachable) {
            todo.push(Effect::Start(Work::Disconnect));
        }
        // No flush: the indication promises nothing about outstanding requests (section 5.10).
        self.state = State::PeerGone;
        self.ended = Some(ended);
        todo.push(Effect::DisconnectEvent);
    }

    fn disconnecting(&mut self, report: Report, todo: &mut List) {
        let ended = match report {
            Report::Quiet => {
                self.state = State::Disconnected;
                self.complete(self.ended.unwrap_or(Status::Success), todo);
                return;
            }
            Report::Disconnected => Status::Success,
            Report::DisconnectTimedOut
            | Report::Unreachable
            | Report::Expired(Timer::Disconnect) => Status::IoTimeout,
            Report::Rejected(_) | Report::ConnectError | Report::Aborted => {
                Status::ConnectionAborted
            }
            Report::Failed(Work::Disconnect, status) => status,
            _ => return,
        };
        // The first answer counts.
        if self.ended.is_none() {
            self.stop_timer(todo);
            self.ended = Some(ended);
            self.flush(todo);
            self.drain(todo);
        }
    }

    // --- Close, and removal of the device.

    fn close(&mut self, todo: &mut List) {
        self.stop_timer(todo);
        match self.state {
            State::Incoming => {
                // An implicit reject (section 5.4).
                todo.push(Effect::Answered);
                todo.push(Effect::SendReject(RejectAs::Consumer));
            }
            State::Accepted if self.qp == Qp::Untouched => {
                todo.push(Effect::SendReject(RejectAs::Consumer));
            }
            _ => {}
        }
        self.flush(todo);
        if self.drain(todo) {
            self.state = State::Closing;
        } else {
            self.end_close(todo);
        }
    }

    /// Nothing is in flight below any more. A request that is still pending is cancelled, unless the
    /// peer's part of a Disconnect had ended.
    fn end_close(&mut self, todo: &mut List) {
        self.destroy_id(todo);
        self.release_endpoint(todo);
        self.complete(self.ended.unwrap_or(Status::Cancelled), todo);
        self.state = State::Closed;
        todo.push(Effect::EndClose);
    }

    fn device_removed(&mut self, todo: &mut List) {
        if core::mem::replace(&mut self.removed, true) {
            return;
        }
        self.stop_timer(todo);
        self.qp = Qp::Quiet;
        if self.state == State::Closing {
            self.end_close(todo);
            return;
        }
        self.destroy_id(todo);
        self.state = match self.state {
            State::Connected => {
                self.ended = Some(Status::ConnectionAborted);
                todo.push(Effect::DisconnectEvent);
                State::PeerGone
            }
            State::Disconnecting => State::Disconnected,
            State::Incoming => {
                todo.push(Effect::Answered);
                State::Failed(None)
            }
            State::Connecting(_) | State::Accepted | State::Completing | State::Accepting => {
                State::Failed(None)
            }
            state => state,
        };
        self.complete(Status::DeviceRemoved, todo);
    }
}
