/// What the daemon of a mount does for programs. The server speaks, this acts.
///
/// Any thread; several requests at once, of several connections. A request takes as long as it takes: nobody else waits
/// for it. None may wait for the mount itself, whose daemon this is.
public protocol ProgramService: Sendable {
    var greeting: ProgramGreeting { get }

    /// Every method but `subscribe`.
    /// - Throws: all of `ProgramError.Code` but `.malformed`.
    func carryOut(_ request: ProgramRequest) async throws(ProgramError) -> ProgramResult

    /// Follows what happens from now on.
    /// - Parameter whenAvailable: called on any thread when there is something to take after there was nothing. Must not
    ///   wait.
    func subscribe(whenAvailable: @escaping @Sendable () -> Void) -> any ProgramSubscription
}

/// What happened and was not told yet. Bounded: who does not take it for long gets `missed` in place of the rest.
public protocol ProgramSubscription: Sendable {
    /// In the order in which it happened.
    func take() async -> [ProgramEvent]
    /// Nothing is kept any more.
    func cancel()
}
