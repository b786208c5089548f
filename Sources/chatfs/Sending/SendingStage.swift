import Base
import CommandLineKit

/// The progress of `chatfs send`, for the message after an interruption. Does not advance after that message.
/// Thread-safe.
final class SendingStage: Sendable {
    enum Stage: Sendable {
        /// Nothing has left the command.
        case preparing
        /// The daemon or core has the request and has not replied.
        case unanswered
        /// The message is in the core's store.
        case stored

        /// The message after an interruption.
        var sentence: String {
            switch self {
            case .preparing: "Interrupted: nothing was sent."
            case .unanswered:
                "Interrupted: it may still be sent. Repeating the command is safe and sends nothing twice."
            case .stored: "Interrupted: the upload continues when the profile is next mounted or used."
            }
        }
    }

    private let stop: StopRequest
    private let state = Lock((stage: Stage.preparing, isOver: false))

    init(stop: StopRequest) { self.stop = stop }

    /// Throws if the command was interrupted.
    func check() throws(CancellationError) {
        if stop.isRequested { throw CancellationError() }
    }

    func enter(_ stage: Stage) throws(CancellationError) {
        try check()
        let isOver = state.withLock { state in
            if !state.isOver { state.stage = stage }
            return state.isOver
        }
        if isOver { throw CancellationError() }
    }

    /// Stops advancing and returns the stage.
    func end() -> Stage {
        state.withLock { state in
            state.isOver = true
            return state.stage
        }
    }
}
