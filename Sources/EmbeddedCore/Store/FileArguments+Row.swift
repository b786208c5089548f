import Base

extension FileArguments {
    /// As rows have them.
    /// - Parameters:
    ///   - offset: Where the content begins in the plaintext. nil: all of it is content.
    ///   - size: The length of the content in bytes.
    init(key: [UInt8], nonce: [UInt8], offset: Int64?, size: UInt64) {
        let start = offset.flatMap { UInt64(exactly: $0) }
        let (end, isTooLarge) = (start ?? 0).addingReportingOverflow(size)
        self.init(key: key, nonce: nonce, content: isTooLarge ? nil : start.map { $0..<end })
    }

    var contentOffset: Int64? { content.map { Int64(clamping: $0.lowerBound) } }
}
