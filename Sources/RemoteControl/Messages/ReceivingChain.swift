/// The keys of the phone's answers. The phone numbers them 1, 2, 3 at their start, and they may arrive in another
/// order, so keys of skipped numbers are kept.
struct ReceivingChain {
    /// The maximum of skipped numbers, at once and in total.
    static let largestGap: UInt32 = 256
    static let mostMissing = 1024

    private var chain: MessageChain
    private var last: UInt32 = 0
    private var missing: [UInt32: MessageKeys] = [:]

    init(_ chain: MessageChain) { self.chain = chain }

    /// Returns the keys of an answer, once for each number.
    /// - Throws: `.malformed` for a repeated number or one that is too far ahead. Nothing changes then.
    mutating func keys(of number: UInt32) throws(RemoteControlError) -> MessageKeys {
        guard number > last else {
            guard let keys = missing.removeValue(forKey: number) else {
                throw RemoteControlError(.malformed, "The phone used the number of an answer twice.")
            }
            return keys
        }
        guard number - last <= Self.largestGap + 1 else {
            throw RemoteControlError(.malformed, "The phone left out too many numbers of answers.")
        }
        for skipped in last + 1..<number { missing[skipped] = chain.nextMessage() }
        last = number
        // Answers that the phone gave up (it had no word within a minute) never come.
        while missing.count > Self.mostMissing, let oldest = missing.keys.min() { missing[oldest] = nil }
        return chain.nextMessage()
    }
}
