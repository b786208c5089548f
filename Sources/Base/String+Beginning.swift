extension String {
    /// The longest beginning of at most this many bytes of UTF-8 without a split scalar. A character may have any
    /// number of bytes, so only this limits stored and sent text.
    public func beginning(bytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: limit)
        while end > utf8.startIndex, UTF8.isContinuation(utf8[end]) { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}
