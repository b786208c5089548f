/// The readers that wait for bytes or for the complete file, with their deadlines. A value without I/O.
struct WaitingReaders: Sendable {
    typealias ID = UInt64

    /// The goal of a wait.
    enum Goal: Hashable, Sendable {
        /// A range of the content.
        case bytes(Range<UInt64>)
        /// A verified complete copy.
        case whole
    }

    struct Reader: Sendable {
        let id: ID
        let goal: Goal
        /// Maximum time without progress.
        let timeout: Duration
        fileprivate(set) var deadline: Duration
        /// Final deadline of a wait for bytes, which progress does not extend.
        fileprivate var end: Duration?
    }

    /// Final deadline in timeouts. Even a barely progressing relay sends a chunk of 4 MiB by then; longer
    /// waits need retries.
    private static let maxTimeouts = 20

    private(set) var readers: [Reader] = []

    var isEmpty: Bool { readers.isEmpty }
    var waitForWhole: Bool { readers.contains { $0.goal == .whole } }

    /// In order of arrival.
    var ranges: [Range<UInt64>] {
        readers.compactMap { if case .bytes(let range) = $0.goal { range } else { nil } }
    }

    mutating func add(_ id: ID, _ goal: Goal, timeout: Duration, now: Duration) {
        var reader = Reader(id: id, goal: goal, timeout: timeout, deadline: now + timeout)
        Self.moveEnd(of: &reader, now: now)
        readers.append(reader)
    }

    mutating func remove(_ id: ID) { readers.removeAll { $0.id == id } }

    /// Removes and returns the readers that match.
    mutating func take(where isDone: (Reader) -> Bool) -> [Reader] {
        guard readers.contains(where: isDone) else { return [] }
        let taken = readers.filter(isDone)
        readers.removeAll { reader in taken.contains { $0.id == reader.id } }
        return taken
    }

    mutating func takeAll() -> [Reader] { take { _ in true } }

    mutating func takeExpired(now: Duration) -> [Reader] { take { $0.deadline <= now } }

    /// Restarts the timeouts of readers with these goals, up to their final deadline.
    mutating func extendDeadlines(now: Duration, where isConcerned: (Goal) -> Bool = { _ in true }) {
        for index in readers.indices where isConcerned(readers[index].goal) {
            let deadline = now + readers[index].timeout
            readers[index].deadline = readers[index].end.map { min($0, deadline) } ?? deadline
        }
    }

    /// Restarts the final deadlines too. Downloads by the core and verification never lose progress, so
    /// waiting for them has no limit.
    mutating func moveEnds(now: Duration) {
        for index in readers.indices { Self.moveEnd(of: &readers[index], now: now) }
    }

    private static func moveEnd(of reader: inout Reader, now: Duration) {
        if case .bytes = reader.goal { reader.end = now + reader.timeout * maxTimeouts }
    }
}
