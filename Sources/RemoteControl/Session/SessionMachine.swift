/// Decides which connection of a listener has the session, without input and output. The connections' threads report
/// events and follow the result.
///
///     waiting ── connected ─► confirming ── hello ─► connected ── ended ─► over
///        ▲                        │
///        └── ended, bad hello ────┘
struct SessionMachine: Equatable {
    enum Phase: Equatable {
        /// No phone yet.
        case waiting
        /// A phone is connected, and its user compares the code.
        case confirming(connection: Int)
        /// The session has begun. The listener accepts no more connections.
        case connected(connection: Int)
        case over
    }

    enum Step: Equatable {
        /// Another connection has the session: close this one.
        case refuse
        /// Show the code and wait for the hello.
        case confirm
        /// Answer the hello, and accept no more connections.
        case begin
        /// The attempt failed: wait for the next phone.
        case waitAgain
        /// The session is over.
        case end
    }

    private(set) var phase = Phase.waiting

    /// A connection finished its TLS handshake.
    mutating func connected(_ connection: Int) -> Step {
        guard case .waiting = phase else { return .refuse }
        phase = .confirming(connection: connection)
        return .confirm
    }

    /// The hello of a connection was valid.
    mutating func greeted(_ connection: Int) -> Step {
        guard phase == .confirming(connection: connection) else { return .refuse }
        phase = .connected(connection: connection)
        return .begin
    }

    /// A connection ended, or sent something other than a hello.
    mutating func ended(_ connection: Int) -> Step {
        switch phase {
        case .confirming(connection):
            phase = .waiting
            return .waitAgain
        case .connected(connection):
            phase = .over
            return .end
        default: return .refuse
        }
    }
}
