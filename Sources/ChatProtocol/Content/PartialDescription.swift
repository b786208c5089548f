/// State of a description received in parts; the store has the parts. Secret.
public struct PartialDescription: Hashable, Sendable {
    /// Total bytes of the parts.
    public private(set) var length: Int
    /// Number of consecutive parts; 0 for none.
    public private(set) var count: Int
    public private(set) var isComplete: Bool
    /// The only part so far, to recognise its repetition.
    public private(set) var first: String?

    public init() { (length, count, isComplete, first) = (0, 0, false, nil) }

    /// Restores a stored state.
    public init(length: Int, count: Int, isComplete: Bool, first: String?) {
        (self.length, self.count, self.isComplete, self.first) = (length, count, isComplete, first)
    }

    public enum Outcome: Hashable, Sendable {
        /// A repetition, or after the end.
        case known
        case grew
        case completed
        /// A part is missing, which is the sender's fault, or the description is too long.
        case refused
    }

    /// Processes the next part. A first part starts again, as in official apps, unless the description is
    /// complete.
    public mutating func take(_ part: DescriptionPart) -> Outcome {
        guard !isComplete, part.number > 0 else { return .known }
        if part.number == 1 {
            if count == 1, first == part.text, !part.isLast { return .known }
            (length, count) = (0, 0)
        }
        guard part.number > count else { return .known }
        let bytes = part.text.utf8.count
        guard part.number == count + 1, length + bytes <= ProtocolLimits.description else { return .refused }
        length += bytes
        count = part.number
        isComplete = part.isLast
        first = count == 1 && !isComplete ? part.text : nil
        return isComplete ? .completed : .grew
    }
}
