import Cryptography

/// Keys of the phone's answers. It numbers them 1, 2, 3 as it begins them, and they may be met in another order: keys
/// of numbers that were passed over are kept until they come.
struct ReceivingChain {
    /// Numbers that may be passed over at once, and be missing in all.
    static let largestGap: UInt32 = 256
    static let mostMissing = 1024

    private var chain: MessageChain
    private var last: UInt32 = 0
    private var missing: [UInt32: MessageKeys] = [:]

    init(_ chain: MessageChain) { self.chain = chain }

    /// The keys of an answer, once for each number.
    /// - Throws: `.malformed` for a number that came before, `.limit` for one that is too far ahead. Nothing has
    ///   changed then.
    mutating func keys(of number: UInt32) throws(RemoteControlError) -> MessageKeys {
        guard number > last else {
            guard let keys = missing.removeValue(forKey: number) else {
                throw RemoteControlError(.malformed, "The phone used the number of an answer twice.")
            }
            return keys
        }
        guard number - last <= Self.largestGap + 1 else {
            throw RemoteControlError(.limit, "The phone left out too many numbers of answers.")
        }
        for skipped in last + 1..<number { missing[skipped] = chain.nextMessage() }
        last = number
        // Answers that the phone gave up (it had no word within a minute) never come.
        while missing.count > Self.mostMissing, let oldest = missing.keys.min() { missing[oldest] = nil }
        return chain.nextMessage()
    }
}
