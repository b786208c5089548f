extension String {
    /// As much of it from its beginning as has at most so many bytes of UTF-8; no scalar is cut. One character may have
    /// any number of bytes, so only this bounds what is stored or sent of a text.
    public func beginning(bytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: limit)
        while end > utf8.startIndex, UTF8.isContinuation(utf8[end]) { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}
