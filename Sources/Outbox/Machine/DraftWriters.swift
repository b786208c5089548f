import Glibc

/// One handle of a draft: a file description of open(2) or creat(2), with all copies of its descriptor.
public struct DraftOpening: Hashable, Sendable {
    public let access: DraftAccess
    /// Unique for the draft.
    public let number: Int

    public init(_ access: DraftAccess, _ number: Int) {
        self.access = access
        self.number = number
    }

    /// The handle that creates a draft.
    public static let ofItsMaker = DraftOpening(.writing, 0)
}

/// The writing handles of a draft, and whether each had a close(2) since its last write. close(2) waits for
/// that record, while the later release may be lost with the connection or the process. Pure.
///
/// | event | handle |
/// |---|---|
/// | open | unfinished |
/// | wrote | unfinished, with this writer |
/// | truncated | unfinished; with this writer unless it was emptied |
/// | truncated by name | all: unfinished; with the caller as length setter unless it was emptied |
/// | flushed, finished | finished |
/// | flushed, killed | unfinished; all earlier handles ended with it |
/// | flushed, foreign | unchanged |
/// | close | removed |
struct DraftWriters: Sendable, Equatable {
    struct Writer: Equatable {
        /// Nil without a write, or if the kernel wrote mapped pages.
        var thread: pid_t?
        var hasWritten = false
        var isFinished = false
        /// The thread that set a length by name while the handle was open, before its first write; possibly
        /// its owner. 0 if unknown; nil if there is none.
        var lengthSetter: pid_t?
    }

    private(set) var openings: [Int: Writer] = [:]
    private var next = 0
    /// Handles with lower numbers cannot replace bytes that a killed writer left out.
    private var firstAfterDeath = 0
    /// The first handle of the current attempt; the draft had no other writer then.
    private(set) var attempt = 0

    var isEmpty: Bool { openings.isEmpty }

    /// True if no write is unfinished, as far as known.
    var areFinished: Bool { openings.values.allSatisfy(\.isFinished) }

    func isFinished(_ number: Int) -> Bool { openings[number]?.isFinished ?? true }

    /// The last writer through a handle, or the length setter before the first write; nil if there is none.
    func lastWriter(_ number: Int) -> (thread: pid_t?, isFinished: Bool)? {
        guard let writer = openings[number] else { return nil }
        if writer.hasWritten { return (writer.thread, writer.isFinished) }
        return writer.lengthSetter.map { ($0 == 0 ? nil : $0, writer.isFinished) }
    }

    mutating func open() -> Int {
        defer { next += 1 }
        if openings.isEmpty { attempt = next }
        openings[next] = Writer()
        return next
    }

    /// Records a write.
    /// - Parameter thread: 0 if unknown.
    /// - Returns: True if it belongs to a new attempt after a killed writer.
    mutating func wrote(through number: Int, by thread: pid_t) -> Bool {
        openings[number]?.hasWritten = true
        openings[number]?.isFinished = false
        if thread > 0 { openings[number]?.thread = thread }
        return number >= firstAfterDeath
    }

    /// Records a truncation. Setting a length counts as a write, because some programs allocate first;
    /// emptying does not. Other handles are unaffected.
    /// - Parameters:
    ///   - number: The handle; nil for a truncation by name. The close shows whether its owner was the caller.
    ///   - thread: 0 if unknown.
    mutating func truncated(to size: UInt64, through number: Int?, by thread: pid_t) {
        guard let number else {
            for number in openings.keys {
                openings[number]?.isFinished = false
                openings[number]?.lengthSetter = size > 0 ? max(thread, 0) : nil
            }
            return
        }
        openings[number]?.isFinished = false
        guard size > 0 else { return }
        openings[number]?.hasWritten = true
        if thread > 0 { openings[number]?.thread = thread }
    }

    mutating func flushed(_ number: Int, _ close: DescriptorClose) {
        switch close {
        case .finished: openings[number]?.isFinished = true
        case .killed:
            openings[number]?.isFinished = false
            firstAfterDeath = next
        case .foreign: break
        }
    }

    mutating func close(_ number: Int) { openings[number] = nil }
}
