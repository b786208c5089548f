/// The daemon's implementation of the program protocol, behind the server.
///
/// Thread-safe; serves requests of several connections concurrently. A request may take any time, because it delays no
/// other connection. No request may wait for the mount itself, which this daemon serves.
public protocol ProgramService: Sendable {
    var greeting: ProgramGreeting { get }

    /// Carries out every method except `subscribe`.
    /// - Throws: All of `ProgramErrorCode` except `.malformed`.
    func carryOut(_ request: ProgramRequest) async throws(ProgramError) -> ProgramResult

    /// Subscribes to events from now on.
    /// - Parameter whenAvailable: Called on any thread when the first event becomes available. Must not wait.
    func subscribe(whenAvailable: @escaping @Sendable () -> Void) -> any ProgramSubscription
}

/// The pending events of one program. Bounded: `missed` replaces events beyond the limit.
public protocol ProgramSubscription: Sendable {
    /// Removes and returns the pending events in order.
    func take() async -> [ProgramEvent]
    /// Ends the subscription.
    func cancel()
}
