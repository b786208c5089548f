import Glibc

/// One opening of a draft: what a program got from open(2) or creat(2), with all copies of its descriptor.
public struct DraftOpening: Hashable, Sendable {
    public let access: DraftAccess
    /// Never used again for the same draft.
    public let number: Int

    public init(_ access: DraftAccess, _ number: Int) {
        self.access = access
        self.number = number
    }

    /// The one with which a draft is made.
    public static let ofItsMaker = DraftOpening(.writing, 0)
}

/// Who has a draft open for writing, and whether all of them have closed a descriptor since they wrote last.
/// close(2) waits for that, while the release that follows may be lost with the connection or the process. Pure.
///
/// | event | an opening becomes |
/// |---|---|
/// | open | unfinished |
/// | wrote | unfinished, with this writer |
/// | truncated | unfinished; unless it was emptied, with this writer |
/// | truncated by its name | all: unfinished; unless it was emptied, with who did that, who may have it open |
/// | flushed, finished | finished |
/// | flushed, killed | unfinished; all openings of before died with it |
/// | flushed, foreign | as it was |
/// | close | gone |
struct DraftWriters: Sendable, Equatable {
    struct Writer: Equatable {
        /// Nil when nothing was written, or when the kernel wrote what a program left in mapped memory.
        var thread: pid_t?
        var hasWritten = false
        var isFinished = false
        /// Who set a length by the file's name while it was open: perhaps who has it open, before the first byte. 0 when
        /// the kernel does not say who; nil: nobody.
        var lengthSetter: pid_t?
    }

    private(set) var openings: [Int: Writer] = [:]
    private var next = 0
    /// Openings with a number below cannot make good what a killed writer left out.
    private var firstAfterDeath = 0
    /// The opening with which the present attempt to write it begins: nobody had it open then.
    private(set) var attempt = 0

    var isEmpty: Bool { openings.isEmpty }

    /// Nobody is in the middle of writing, as far as can be known.
    var areFinished: Bool { openings.values.allSatisfy(\.isFinished) }

    func isFinished(_ number: Int) -> Bool { openings[number]?.isFinished ?? true }

    /// Who wrote last through an opening, or before the first byte set a length by the file's name; nil when nothing was
    /// written.
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

    /// - Parameter thread: 0 when the kernel does not say who.
    /// - Returns: whether it is a new attempt, after a writer was killed.
    mutating func wrote(through number: Int, by thread: pid_t) -> Bool {
        openings[number]?.hasWritten = true
        openings[number]?.isFinished = false
        if thread > 0 { openings[number]?.thread = thread }
        return number >= firstAfterDeath
    }

    /// Who sets a length has begun to write, as programs do that allocate a file first; who empties it has not. Others
    /// who have it open have not done anything.
    /// - Parameters:
    ///   - number: nil: through none of them, by its name. Whether it was who has it open shows at the close.
    ///   - thread: as of a write.
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
