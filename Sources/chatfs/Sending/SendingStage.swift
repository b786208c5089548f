import Base
import CommandLineKit

/// How far a `chatfs send` has come: what can be said of it when it is interrupted. It goes no further once that
/// was said. Any thread.
final class SendingStage: Sendable {
    enum Stage: Sendable {
        /// Nothing has left the command.
        case preparing
        /// Somebody has the request, and has not answered.
        case unanswered
        /// The message is in the store of its core.
        case stored

        /// For who interrupts it.
        var sentence: String {
            switch self {
            case .preparing: "Interrupted: nothing was sent."
            case .unanswered:
                "Interrupted: it may still be sent. The same command again is safe: it sends nothing twice."
            case .stored: "Interrupted: the upload goes on the next time the profile is mounted or used."
            }
        }
    }

    private let stop: StopRequest
    private let state = Lock((stage: Stage.preparing, isOver: false))

    init(stop: StopRequest) { self.stop = stop }

    /// Throws when the command was interrupted.
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

    /// Goes no further from here.
    func end() -> Stage {
        state.withLock { state in
            state.isOver = true
            return state.stage
        }
    }
}
