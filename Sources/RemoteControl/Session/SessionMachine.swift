/// Which of the connections to a listener is the session, and how far it is. A pure machine: the threads of the
/// connections tell it what happened and do what it answers.
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
        /// The session has begun. The listener takes nobody else.
        case connected(connection: Int)
        case over
    }

    enum Step: Equatable {
        /// Somebody else has the session: close this connection.
        case refuse
        /// Show the code and wait for the hello.
        case confirm
        /// Answer the hello, and take no more connections.
        case begin
        /// Nothing came of it: wait for the next phone.
        case waitAgain
        /// The session is over.
        case end
    }

    private(set) var phase = Phase.waiting

    /// A connection has finished its TLS handshake.
    mutating func connected(_ connection: Int) -> Step {
        guard case .waiting = phase else { return .refuse }
        phase = .confirming(connection: connection)
        return .confirm
    }

    /// The hello of a connection was right.
    mutating func greeted(_ connection: Int) -> Step {
        guard phase == .confirming(connection: connection) else { return .refuse }
        phase = .connected(connection: connection)
        return .begin
    }

    /// A connection ended, or said something else than a hello.
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
