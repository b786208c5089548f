/// How far a description is here that comes in parts; whoever stores it has the parts. A secret.
public struct PartialDescription: Hashable, Sendable {
    /// Bytes of all parts so far.
    public private(set) var length: Int
    /// The number of the last of them, in their order without a gap; 0 for none.
    public private(set) var count: Int
    public private(set) var isComplete: Bool
    /// The first part while it is the only one: it is known when it comes again.
    public private(set) var first: String?

    public init() { (length, count, isComplete, first) = (0, 0, false, nil) }

    /// As it was stored.
    public init(length: Int, count: Int, isComplete: Bool, first: String?) {
        (self.length, self.count, self.isComplete, self.first) = (length, count, isComplete, first)
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
