import Base
import ChatCore

/// What to receive next of what the rules want, whom to tell of what will be lost, and when to scan again. A value
/// without input and output: `KeepWorker` performs what it answers.
///
/// It does not know all files. A scan goes over those that may still be received, the first to expire first
/// (`beginScan`, `consider` for each, `endScan`), and notes the next few to receive; when these are done, another scan
/// brings more.
public struct KeepPlan: Sendable {
    public enum Effect: Hashable, Sendable {
        /// Receive it, behind what readers want.
        case receive(KeepCandidate)
        /// No longer for the plan.
        case stop(FileID)
        /// It will not be here when its relays drop it, unless somebody does something. Said again at every scan: who
        /// tells the user remembers whom it told.
        case tell(KeepCandidate)
        /// Go over all files once more.
        case scan
    }

    /// Files that are received at the same time, and that are noted for afterwards.
    static let maxReceiving = 4
    static let queueLength = 64
    /// Files whose next try is remembered. With more, nothing new is begun until some of them are over.
    static let maxSetAside = 4096
    /// How long one may be under way without getting on.
    static let timeout = Duration.seconds(600)
    /// Pauses between tries: growing from the first to the second.
    static let pauses = RetryPolicy(first: .seconds(30), maxDelay: .seconds(3600), tries: .max)
    /// How soon the disk is looked at again.
    static let diskPause = Duration.seconds(600)

    private struct Receiving {
        var candidate: KeepCandidate
        var lastProgress: Timestamp
    }

    private struct SetAside {
        /// Nil: the user does not want it.
        var obstacle: KeepObstacle?
        var failures: Int
        /// Nil: not before something has changed.
        var until: Timestamp?
        var expires: Timestamp

        /// Also where the clock was set back by more than any pause.
        func isOver(now: Timestamp) -> Bool {
            guard let until else { return false }
            return until <= now || now.advanced(by: KeepPlan.pauses.maxDelay) < until
        }
    }

    public private(set) var rules: KeepRules
    private var conditions = KeepConditions()
    private var receiving: [FileID: Receiving] = [:]
    private var setAside: [FileID: SetAside] = [:]
    private var queue: [KeepCandidate] = []
    private var hasMore = false
    private var seen: Set<FileID> = []
    private var due: Timestamp?
    public private(set) var counts = KeepCounts()
    private var nextCounts = KeepCounts()

    public init(_ rules: KeepRules) { self.rules = rules }

    // MARK: - A scan

    /// - Parameter conditions: `free` is what the disk has, whatever is on its way.
    public mutating func beginScan(_ conditions: KeepConditions) {
        self.conditions = conditions
        (queue, hasMore, seen, due, nextCounts) = ([], false, [], nil, KeepCounts())
    }

    public mutating func consider(_ candidate: KeepCandidate, now: Timestamp) -> [Effect] {
        let file = candidate.file
        if receiving[file] != nil { seen.insert(file) }
        guard now < candidate.expires.advanced(by: KeepTimes.grace) else {
            return end(file) + notice(candidate, now: now)
        }
        switch rules.verdict(on: candidate, available(for: file), now: now) {
        case .leave:
            // What the core has begun it brings to its end, whoever asked for it.
            if candidate.phase == .coming, receiving[file] == nil {
                return noticeWhenOver(candidate, now: now)
            }
            return end(file) + notice(candidate, now: now)
        case .later(let start):
            note(due: start)
            return end(file)
        case .wait(let obstacle):
            if obstacle == .disk { note(due: now.advanced(by: Self.diskPause)) }
            return end(file) + wait(candidate, for: obstacle, now: now)
        case .receive:
            return receive(candidate, now: now)
        }
    }

    /// - Returns: what to begin.
    public mutating func endScan(now: Timestamp) -> [Effect] {
        var effects: [Effect] = []
        // Gone, or here, and nobody said so.
        for file in receiving.keys where !seen.contains(file) { effects += end(file) }
        setAside = setAside.filter { now < $0.value.expires.advanced(by: KeepTimes.grace) }
        nextCounts.waiting += queue.count
        counts = nextCounts
        seen = []
        return effects + fill(now: now)
    }

    private mutating func receive(_ candidate: KeepCandidate, now: Timestamp) -> [Effect] {
        if let under = receiving[candidate.file] {
            nextCounts.waiting += 1
            // A clock that was set back says nothing about how long it took.
            if now < under.lastProgress { progressed(candidate.file, now: now) }
            let end = min(under.lastProgress, now).advanced(by: Self.timeout)
            if end <= now {
                return failed(candidate.file, .failure, now: now)
            }
            note(due: end)
            return noticeWhenOver(candidate, now: now)
        }
        switch candidate.phase {
        case .coming:
            nextCounts.waiting += 1
            return noticeWhenOver(candidate, now: now)
        case .delayed: return wait(candidate, for: .failure, now: now)
        case .announced: return wait(candidate, for: .upload, now: now)
        case .offered: break
        }
        if let aside = setAside[candidate.file], aside.isOver(now: now) == false {
            aside.until.map { note(due: $0) }
            guard let obstacle = aside.obstacle else { return notice(candidate, now: now) }
            return wait(candidate, for: obstacle, now: now)
        }
        if queue.count < Self.queueLength {
            queue.append(candidate)
        } else {
            hasMore = true
            nextCounts.waiting += 1
        }
        return noticeWhenOver(candidate, now: now)
    }

    private mutating func wait(
        _ candidate: KeepCandidate, for obstacle: KeepObstacle, now: Timestamp
    ) -> [Effect] {
        nextCounts.waiting += 1
        nextCounts.obstacles[obstacle, default: 0] += 1
        return notice(candidate, now: now)
    }

    // MARK: - What happens meanwhile

    /// It gets on.
    public mutating func progressed(_ file: FileID, now: Timestamp) {
        receiving[file]?.lastProgress = now
    }

    /// It is here, or will never come, or its message is gone.
    public mutating func ended(_ file: FileID, now: Timestamp) -> [Effect] {
        setAside[file] = nil
        queue.removeAll { $0.file == file }
        guard receiving.removeValue(forKey: file) != nil else { return [] }
        return fill(now: now)
    }

    /// It could not be received for now.
    public mutating func failed(_ file: FileID, _ obstacle: KeepObstacle, now: Timestamp) -> [Effect] {
        guard let under = receiving.removeValue(forKey: file) else { return [] }
        let failures = (setAside[file]?.failures ?? 0) + 1
        // Whether relays are approved only the user can change.
        let pause = obstacle == .approval ? nil : Self.pauses.delay(beforeTry: failures + 1, jitter: 0)
        let until = pause.map { now.advanced(by: $0) }
        setAside[file] = SetAside(
            obstacle: obstacle, failures: failures, until: until, expires: under.candidate.expires)
        until.map { note(due: $0) }
        return [.stop(file)] + notice(under.candidate, now: now) + fill(now: now)
    }

    /// The core goes on with it by itself: nothing is waited for any more.
    public mutating func handedOver(_ file: FileID, now: Timestamp) -> [Effect] {
        receiving.removeValue(forKey: file) == nil ? [] : fill(now: now)
    }

    public func isReceiving(_ file: FileID) -> Bool { receiving[file] != nil }

    /// The user does not want it after all: not before the rules change, or the next mount.
    public mutating func declined(_ candidate: KeepCandidate, now: Timestamp) -> [Effect] {
        setAside[candidate.file] = SetAside(
            obstacle: nil, failures: 0, until: nil, expires: candidate.expires)
        queue.removeAll { $0.file == candidate.file }
        guard receiving.removeValue(forKey: candidate.file) != nil else { return [] }
        return [.stop(candidate.file)] + fill(now: now)
    }

    /// A scan follows.
    public mutating func change(_ rules: KeepRules) {
        self.rules = rules
        setAside = [:]
    }

    /// Relays were approved, or can be reached again. A scan follows.
    public mutating func tryAgain() { setAside = [:] }

    /// When to scan again though nothing happens.
    public var nextScan: Timestamp? { due }

    // MARK: - Inside

    private func available(for file: FileID) -> KeepConditions {
        var conditions = conditions
        let promised = receiving.values.reduce(UInt64(0)) {
            $1.candidate.file == file ? $0 : $0.addingReportingOverflow($1.candidate.size).partialValue
        }
        conditions.free -= min(promised, conditions.free)
        return conditions
    }

    private mutating func fill(now: Timestamp) -> [Effect] {
        var effects: [Effect] = []
        while receiving.count < Self.maxReceiving, !queue.isEmpty {
            let next = queue.removeFirst()
            guard setAside[next.file] != nil || setAside.count < Self.maxSetAside else { continue }
            // What was begun since the scan may have taken the space.
            switch rules.verdict(on: next, available(for: next.file), now: now) {
            case .receive:
                receiving[next.file] = Receiving(candidate: next, lastProgress: now)
                note(due: now.advanced(by: Self.timeout))
                effects.append(.receive(next))
            case .wait(.disk): note(due: now.advanced(by: Self.diskPause))
            case .wait, .later, .leave: break
            }
        }
        if hasMore, queue.isEmpty, receiving.count < Self.maxReceiving, setAside.count < Self.maxSetAside {
            hasMore = false
            effects.append(.scan)
        }
        return effects
    }

    private mutating func end(_ file: FileID) -> [Effect] {
        receiving.removeValue(forKey: file) == nil ? [] : [.stop(file)]
    }

    /// For what is not on its way.
    private mutating func notice(_ candidate: KeepCandidate, now: Timestamp) -> [Effect] {
        let start = candidate.expires.advanced(by: .zero - KeepTimes.notice)
        guard start <= now else {
            note(due: start)
            return []
        }
        if now < candidate.expires {
            nextCounts.expiring += 1
            note(due: candidate.expires)
        }
        return [.tell(candidate)]
    }

    /// For what is on its way: told only when it is too late.
    private mutating func noticeWhenOver(_ candidate: KeepCandidate, now: Timestamp) -> [Effect] {
        guard candidate.expires <= now else {
            note(due: candidate.expires)
            return []
        }
        note(due: candidate.expires.advanced(by: KeepTimes.grace))
        return [.tell(candidate)]
    }

    private mutating func note(due time: Timestamp) { due = min(due ?? time, time) }
}

/// What stands where, for people.
public struct KeepCounts: Hashable, Sendable {
    /// Files that relays drop soon, and that are neither here nor coming.
    public var expiring = 0
    /// Files that a rule wants, and that are not here yet.
    public var waiting = 0
    /// Of these, why they do not come.
    public var obstacles: [KeepObstacle: Int] = [:]

    public init() {}
}
