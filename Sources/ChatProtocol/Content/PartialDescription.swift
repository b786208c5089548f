/// A description that comes in parts, as far as it is here. A secret.
public struct PartialDescription: Hashable, Sendable {
    /// All parts so far, in their order without a gap.
    public private(set) var text: String
    /// The number of the last of them; 0 for none.
    public private(set) var count: Int
    public private(set) var isComplete: Bool

    public init() { (text, count, isComplete) = ("", 0, false) }

    /// As it was stored.
    public init(text: String, count: Int, isComplete: Bool) {
        (self.text, self.count, self.isComplete) = (text, count, isComplete)
    }

    public enum Outcome: Hashable, Sendable {
        /// It came again, or after the end.
        case known
        case grew
        case completed
        /// One before it is missing: connections lose nothing, so its sender made a mistake, or it would be too long.
        case refused
    }

    /// Takes the next part. The first one begins anew, as official programs have it, unless all is here.
    public mutating func take(_ part: DescriptionPart) -> Outcome {
        guard !isComplete, part.number > 0 else { return .known }
        if part.number == 1 {
            if count == 1, text == part.text, !part.isLast { return .known }
            (text, count) = ("", 0)
        }
        guard part.number > count else { return .known }
        guard part.number == count + 1,
            text.utf8.count + part.text.utf8.count <= ProtocolLimits.description
        else { return .refused }
        text += part.text
        count = part.number
        isComplete = part.isLast
        return isComplete ? .completed : .grew
    }
}
