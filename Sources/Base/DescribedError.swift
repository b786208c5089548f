/// An error with a sentence for users.
///
/// Every module has one error type with a code, a sentence and a cause. The sentence states the failure and the remedy.
/// It appears verbatim in the extended attribute `user.chatfs.error`, in logs and on terminals. So it never contains a
/// key, a file description, message text or (above debug level) a file name.
public protocol DescribedError: Error, CustomStringConvertible {
    /// One sentence without a final newline, suitable for a terminal line.
    var sentence: String { get }
    /// The underlying error of another module or the system.
    var cause: (any Error)? { get }
}

extension DescribedError {
    public var description: String { sentence }
}

extension Error {
    /// The error and its causes, nearest first. Errors refer only to older ones, so the sequence ends.
    public var withCauses: UnfoldFirstSequence<any Error> {
        sequence(first: self as any Error) { ($0 as? any DescribedError)?.cause }
    }

    /// Returns the error itself or its nearest cause of a type.
    public func nearest<Failure: Error>(_ type: Failure.Type) -> Failure? {
        withCauses.first { $0 is Failure } as? Failure
    }
}

extension String {
    /// Adds a full stop unless the text ends with a mark, for foreign sentences before another one.
    public var endingInFullStop: String {
        guard let last, !".!?…".contains(last) else { return self }
        return self + "."
    }
}

/// Returns the sentence of any error, or its Swift description.
public func sentence(of error: any Error) -> String {
    (error as? any DescribedError)?.sentence ?? "\(error)"
}

/// Returns the sentence of an error, followed by those of its causes in parentheses, for a log.
public func sentenceWithCauses(of error: any Error) -> String {
    var sentences: [String] = []
    for cause in error.withCauses {
        let words = sentence(of: cause)
        if !sentences.contains(words) { sentences.append(words) }
    }
    guard sentences.count > 1 else { return sentences[0] }
    return "\(sentences[0]) (\(sentences.dropFirst().joined(separator: " ")))"
}
