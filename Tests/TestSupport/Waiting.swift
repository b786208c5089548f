import Base

/// A bound that was reached: what a test waited for did not happen.
public struct WaitedInVain: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}

/// Looks again and again until `condition` holds; throws after `limit`. The bound is generous: it ends hopeless tests, it
/// measures nothing.
///
/// A pause between two looks counts as a second at most. All tests of a process share a thread for each core,
/// and while others calculate there, neither this task nor the one that it waits for runs.
public func wait(
    until what: String, within limit: Duration = .seconds(90), _ condition: () async throws -> Bool
) async throws {
    var waited = Duration.zero
    var last = ContinuousClock.now
    while true {
        if try await condition() { return }
        let now = ContinuousClock.now
        waited += min(now - last, .seconds(1))
        last = now
        if waited >= limit { throw WaitedInVain("waited \(limit) in vain until \(what)") }
        try await Task.sleep(for: .milliseconds(10))
    }
}

/// As `wait`, for a value that is nil until then.
public func wait<Value>(
    for what: String, within limit: Duration = .seconds(90), _ value: () async throws -> Value?
) async throws -> Value {
    var found: Value?
    try await wait(until: what + " is there", within: limit) {
        found = try await value()
        return found != nil
    }
    guard let found else { throw WaitedInVain(what) }
    return found
}
