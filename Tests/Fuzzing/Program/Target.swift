/// A decoder of bytes that come from outside, with what must hold whatever they are.
///
/// `run` ends the process where something does not hold; that it neither traps nor touches memory that is
/// not its own is for the sanitizer and the runtime to say.
struct Target: Sendable {
    let name: String
    /// For the list, in a few words.
    let subject: String
    /// Bytes of an input; longer ones only cost time.
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

/// Ends the process, which libFuzzer takes for a finding, unless the condition holds.
func hold(_ condition: Bool, _ what: @autoclosure () -> String) {
    if !condition { fatalError("does not hold: \(what())") }
}
