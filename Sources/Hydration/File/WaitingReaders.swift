/// Who waits for bytes of one file, or for all of it, and until when. A value without I/O.
struct WaitingReaders: Sendable {
    typealias ID = UInt64

    /// What is waited for.
    enum Goal: Hashable, Sendable {
        /// Bytes of the content.
        case bytes(Range<UInt64>)
        /// A verified copy of all of it.
        case whole
    }

    struct Reader: Sendable {
        let id: ID
        let goal: Goal
        /// The longest time without progress.
        let timeout: Duration
        fileprivate(set) var deadline: Duration
        /// Who waits for bytes is answered then, whatever progress there is.
        fileprivate var end: Duration?
    }

    /// A read is answered after so many times its timeout. By then a chunk of 4 MiB has come whose relay gave
    /// just enough signs of life; longer waits are made of many tries.
    private static let maxTimeouts = 20

    private(set) var readers: [Reader] = []

    var isEmpty: Bool { readers.isEmpty }
    var waitForWhole: Bool { readers.contains { $0.goal == .whole } }

    /// In the order in which they came.
    var ranges: [Range<UInt64>] {
        readers.compactMap { if case .bytes(let range) = $0.goal { range } else { nil } }
    }

    mutating func add(_ id: ID, _ goal: Goal, timeout: Duration, now: Duration) {
        var reader = Reader(id: id, goal: goal, timeout: timeout, deadline: now + timeout)
        Self.moveEnd(of: &reader, now: now)
        readers.append(reader)
    }

    mutating func remove(_ id: ID) { readers.removeAll { $0.id == id } }

    /// Those that are done waiting, which wait no longer.
    mutating func take(where isDone: (Reader) -> Bool) -> [Reader] {
        guard readers.contains(where: isDone) else { return [] }
        let taken = readers.filter(isDone)
        readers.removeAll { reader in taken.contains { $0.id == reader.id } }
        return taken
    }

    mutating func takeAll() -> [Reader] { take { _ in true } }

    mutating func takeExpired(now: Duration) -> [Reader] { take { $0.deadline <= now } }

    /// There was progress for those with these goals: their timeout begins anew, but not beyond their end.
    mutating func extendDeadlines(now: Duration, where isConcerned: (Goal) -> Bool = { _ in true }) {
        for index in readers.indices where isConcerned(readers[index].goal) {
            let deadline = now + readers[index].timeout
            readers[index].deadline = readers[index].end.map { min($0, deadline) } ?? deadline
        }
    }

    /// What came cannot come again, so all of it is waited for, however long that takes: their end moves on too.
    mutating func moveEnds(now: Duration) {
        for index in readers.indices { Self.moveEnd(of: &readers[index], now: now) }
    }

    private static func moveEnd(of reader: inout Reader, now: Duration) {
        if case .bytes = reader.goal { reader.end = now + reader.timeout * maxTimeouts }
    }
}
