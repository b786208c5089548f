/// An error that can be shown to a person.
///
/// Every module has one error type with a code, a sentence and a cause. The sentence names what
/// happened and what the reader can do; it is shown word for word in the extended attribute
/// `user.chatfs.error`, in the log and on the terminal, so it never contains a key, a file
/// description, message text or (above debug level) a file name.
public protocol DescribedError: Error, CustomStringConvertible {
    /// One sentence without a final newline, fit for a terminal line.
    var sentence: String { get }
    /// What lay beneath, when another module or the system reported it.
    var cause: (any Error)? { get }
}

extension DescribedError {
    public var description: String { sentence }
}

extension String {
    /// With a full stop behind it, unless a mark of the end is there already: for sentences of others that
    /// another sentence follows.
    public var endingInFullStop: String {
        guard let last, !".!?…".contains(last) else { return self }
        return self + "."
    }
}

/// The sentence of any error: its own when it has one, otherwise its Swift description.
public func sentence(of error: any Error) -> String {
    (error as? any DescribedError)?.sentence ?? "\(error)"
}

/// The sentence of an error, and behind it in parentheses those of what lay beneath, for a log.
public func sentenceWithCauses(of error: any Error) -> String {
    var sentences = [sentence(of: error)]
    var next = (error as? any DescribedError)?.cause
    // Errors are made from what is there already, so the chain ends; it is short.
    while let cause = next {
        let words = sentence(of: cause)
        if !sentences.contains(words) { sentences.append(words) }
        next = (cause as? any DescribedError)?.cause
    }
    guard sentences.count > 1 else { return sentences[0] }
    return "\(sentences[0]) (\(sentences.dropFirst().joined(separator: " ")))"
}
