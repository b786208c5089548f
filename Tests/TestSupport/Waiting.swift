import Base

/// A wait of a test reached its limit.
public struct WaitedInVain: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}

/// Checks repeatedly until `condition` holds; throws after `limit`. The generous limit ends hopeless tests and measures
/// nothing.
///
/// A pause between two checks counts as a second at most. All tests of a process share a thread for each core, so this
/// task and the awaited one may both have to wait for others.
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
