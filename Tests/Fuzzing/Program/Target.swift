/// A decoder of outside bytes and its invariants.
///
/// `run` ends the process if an invariant does not hold. The sanitizer and the runtime report traps and invalid memory
/// accesses.
struct Target: Sendable {
    let name: String
    /// The description in a list.
    let subject: String
    /// The maximum length of an input; longer ones only cost time.
    let longest: Int
    let run: @Sendable ([UInt8]) -> Void

    init(
        _ name: String, _ subject: String, longest: Int = 2048, _ run: @escaping @Sendable ([UInt8]) -> Void
    ) {
        self.name = name
        self.subject = subject
        self.longest = longest
        self.run = run
    }

    static let all: [Target] =
        descriptions + words + names + xftp + relay + ratchet + messaging + messageRelay + agent
        + chatProtocol + http2 + sockets
        + officialCore + phone + control + rows + files + [salvage, sealedRecords] + sealedPages + media
        + notifications + archives
}

/// Ends the process, a finding for libFuzzer, unless the condition holds.
func hold(_ condition: Bool, _ what: @autoclosure () -> String) {
    if !condition { fatalError("does not hold: \(what())") }
}
