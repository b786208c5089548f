/// The life cycle of a pasted folder. Pure.
///
/// | phase | event | next phase | action |
/// |---|---|---|---|
/// | any but handed over | changed | collecting, new attempt | wait |
/// | collecting | quiet, complete | archiving | archive |
/// | collecting | quiet, being written | collecting, new attempt | wait |
/// | collecting | quiet, empty | collecting | |
/// | collecting | quiet, incomplete | stopped | tell |
/// | archiving | archived | handed over | hand over |
/// | archiving, handed over | failed | stopped | tell |
/// | archiving, handed over | failed temporarily | collecting, new attempt | wait long |
/// | handed over | replaced | collecting, new attempt | wait long |
/// | stopped | retry | collecting, missing parts permitted | wait |
/// | collecting | found, was complete | collecting | wait |
/// | collecting | found | stopped | tell |
///
/// Events with an earlier attempt's number have no effect.
struct PastedFolderMachine: Hashable, Sendable {
    enum Phase: Hashable, Sendable {
        /// Files may still arrive; the quiet time runs since the last change.
        case collecting
        case archiving
        /// The archive is replacing the folder.
        case handedOver
        /// Not sent without a retry. The string tells the user why.
        case stopped(String)
    }

    private(set) var phase = Phase.collecting
    /// Number of the current attempt.
    private(set) var attempt = 0
    /// True if the user wants the folder sent as it is.
    private(set) var isWantedAsItIs = false

    /// The reason that the folder is not sent, for the user; nil if it will be sent.
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
        "ChatFS stopped before this folder was known to be complete: copy the missing files into it, or use "
        + "chatfs retry to send it as it is."
}

/// An event of a pasted folder.
enum PastedFolderEvent: Hashable, Sendable {
    /// An entry was created, written, renamed or removed.
    case changed
    case quiet(attempt: Int, PastedFolderContent)
    /// The archive is complete.
    case archived(attempt: Int)
    /// - Parameter mayPass: True if a retry may succeed.
    case failed(attempt: Int, String, mayPass: Bool)
    /// The archive has replaced the folder. Remaining entries arrived too late and get an archive of their own.
    case replaced(attempt: Int)
    case retryRequested
    /// An earlier mount left the folder, complete or not.
    case found(wasComplete: Bool)
}

/// The content of a folder after the quiet time.
enum PastedFolderContent: Hashable, Sendable {
    case empty
    /// A program is writing a part.
    case open
    case complete
    /// The string tells the user why.
    case incomplete(String)
}

/// The driver's next step.
enum PastedFolderAction: Hashable, Sendable {
    /// Send `quiet` with this number after the quiet time, or after a minute if `isLong`.
    case wait(attempt: Int, isLong: Bool)
    /// Make the archive, then send `archived` or `failed`.
    case archive(attempt: Int)
    case handOver
    /// Report a state change to the user.
    case tell
}
