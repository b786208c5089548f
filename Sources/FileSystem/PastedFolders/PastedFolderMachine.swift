/// What becomes of a folder that is being copied into a chat. Pure.
///
/// | phase | event | becomes | action |
/// |---|---|---|---|
/// | any but handed over | changed | collecting, anew | wait |
/// | collecting | quiet, complete | archiving | archive |
/// | collecting | quiet, being written | collecting, anew | wait |
/// | collecting | quiet, empty | collecting | |
/// | collecting | quiet, incomplete | stopped | tell |
/// | archiving | archived | handed over | hand over |
/// | archiving, handed over | failed | stopped | tell |
/// | archiving, handed over | failed, may pass | collecting, anew | wait long |
/// | handed over | replaced | collecting, anew | wait long |
/// | stopped | retry | collecting, what is missing does not matter | wait |
/// | collecting | found, was complete | collecting | wait |
/// | collecting | found | stopped | tell |
///
/// Whatever carries a number of an earlier attempt changes nothing.
struct PastedFolderMachine: Hashable, Sendable {
    enum Phase: Hashable, Sendable {
        /// Files come, or may; so much of the quiet time is over as since the last change.
        case collecting
        case archiving
        /// The archive takes the place of the folder.
        case handedOver
        /// It is not sent by itself; why, for the user.
        case stopped(String)
    }

    private(set) var phase = Phase.collecting
    /// Counts attempts: only what belongs to the last one is not stale.
    private(set) var attempt = 0
    /// The user wants what is there.
    private(set) var isWantedAsItIs = false

    /// Why it is not sent, for its user; nil while it will be.
    var problem: String? {
        if case .stopped(let problem) = phase { problem } else { nil }
    }

    func isArchiving(_ attempt: Int) -> Bool { phase == .archiving && self.attempt == attempt }

    mutating func apply(_ event: PastedFolderEvent) -> PastedFolderAction? {
        switch event {
        case .changed:
            guard phase != .handedOver else { return nil }
            isWantedAsItIs = false
            return collect(isLong: false)
        case .quiet(let attempt, let content):
            guard phase == .collecting, attempt == self.attempt else { return nil }
            return endQuiet(content)
        case .archived(let attempt):
            guard isArchiving(attempt) else { return nil }
            phase = .handedOver
            return .handOver
        case .failed(let attempt, let problem, let mayPass):
            guard attempt == self.attempt, phase == .archiving || phase == .handedOver else { return nil }
            if mayPass { return collect(isLong: true) }
            phase = .stopped(problem)
            return .tell
        case .replaced(let attempt):
            guard attempt == self.attempt, phase == .handedOver else { return nil }
            return collect(isLong: true)
        case .retryRequested:
            guard case .stopped = phase else { return nil }
            isWantedAsItIs = true
            return collect(isLong: false)
        case .found(let wasComplete):
            guard phase == .collecting else { return nil }
            if wasComplete { return collect(isLong: false) }
            phase = .stopped(Self.interrupted)
            return .tell
        }
    }

    private mutating func collect(isLong: Bool) -> PastedFolderAction {
        phase = .collecting
        attempt += 1
        return .wait(attempt: attempt, isLong: isLong)
    }

    private mutating func endQuiet(_ content: PastedFolderContent) -> PastedFolderAction? {
        switch content {
        case .empty: return nil
        case .open: return collect(isLong: false)
        case .incomplete(let reason) where !isWantedAsItIs:
            phase = .stopped("The folder is not sent, since a file in it is incomplete. \(reason)")
            return .tell
        case .complete, .incomplete:
            phase = .archiving
            return .archive(attempt: attempt)
        }
    }

    private static let interrupted =
        "ChatFS stopped before it was certain that this folder is complete: copy into it what is missing, or use "
        + "chatfs retry to send it as it is."
}

/// What happens to a folder that is being copied into a chat.
enum PastedFolderEvent: Hashable, Sendable {
    /// Something in it was made, written, renamed or removed.
    case changed
    case quiet(attempt: Int, PastedFolderContent)
    /// Its archive is there as a whole.
    case archived(attempt: Int)
    /// - Parameter mayPass: it is worth another attempt.
    case failed(attempt: Int, String, mayPass: Bool)
    /// The archive is in its place. What is still there came in the last moment, and goes with an archive of its own.
    case replaced(attempt: Int)
    case retryRequested
    /// An earlier mount left it; its quiet time was over then, or not.
    case found(wasComplete: Bool)
}

/// What is in a folder when nothing has changed for the quiet time.
enum PastedFolderContent: Hashable, Sendable {
    case empty
    /// Somebody is writing a part.
    case open
    case complete
    /// Why.
    case incomplete(String)
}

/// What the driver does.
enum PastedFolderAction: Hashable, Sendable {
    /// Look again after the quiet time, or after a minute, and say `quiet` with this number.
    case wait(attempt: Int, isLong: Bool)
    /// Make the archive, then say `archived` or `failed`.
    case archive(attempt: Int)
    case handOver
    /// Its state is another one for users.
    case tell
}
