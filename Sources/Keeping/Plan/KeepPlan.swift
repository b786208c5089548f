import Base
import ChatCore

/// Decides which files to receive next by the rules, which files to report as expiring, and when to scan again. A pure
/// value; `KeepWorker` performs the effects.
///
/// It does not hold all files. A scan goes over the receivable files in order of expiry (`beginScan`, `consider` for
/// each, `endScan`) and queues the next few; another scan follows when these are done.
public struct KeepPlan: Sendable {
    public enum Effect: Hashable, Sendable {
        /// Receive the file, after the reads of programs.
        case receive(KeepCandidate)
        /// The plan drops the file.
        case stop(FileID)
        /// The file will expire without being local unless the user acts. Repeated with every scan; the receiver
        /// remembers its notices.
        case tell(KeepCandidate)
        /// Scan all files again.
        case scan
    }

    /// Maximum number of concurrent downloads, and of queued files.
    static let maxReceiving = 4
    static let queueLength = 64
    /// Maximum number of files of a chat with a remembered retry. Above it, nothing new of that chat begins until some
    /// expire.
    static let maxSetAside = 4096
    /// Maximum duration of a download without progress.
    static let timeout = Duration.seconds(600)
    /// Delays between retries, growing from the first to the second.
    static let pauses = RetryPolicy(first: .seconds(30), maxDelay: .seconds(3600), tries: .max)
    /// Delay of the next check of a full disk.
    static let diskPause = Duration.seconds(600)

    private struct Receiving {
        var candidate: KeepCandidate
        var lastProgress: Timestamp
    }

    private struct SetAside {
        var chat: ChatReference
        /// nil if the user rejected the file.
        var obstacle: KeepObstacle?
        var failures: Int
        /// nil to wait for a change of rules or approvals.
        var until: Timestamp?
        var expires: Timestamp

        /// Also true if the clock was set back by more than the longest delay.
        func isOver(now: Timestamp) -> Bool {
            guard let until else { return false }
            return until <= now || now.advanced(by: KeepPlan.pauses.maxDelay) < until
        }
    }

    /// Files that are retried later, with their number in each chat: a sender or a phone with many failing files must
    /// not stop other chats.
    private struct SetAsideFiles {
        private var files: [FileID: SetAside] = [:]
        private var counts: [ChatReference: Int] = [:]

        subscript(file: FileID) -> SetAside? {
            get { files[file] }
            set {
                if let before = files[file] { counts[before.chat, default: 0] -= 1 }
                if let newValue { counts[newValue.chat, default: 0] += 1 }
                files[file] = newValue
            }
        }

        /// Whether another failure of this file could not be remembered.
        func areFull(for candidate: KeepCandidate) -> Bool {
            files[candidate.file] == nil && counts[candidate.chat, default: 0] >= KeepPlan.maxSetAside
        }

        mutating func removeExpired(now: Timestamp) {
            let expired = files.filter { now >= $0.value.expires.advanced(by: KeepTimes.grace) }
            for file in expired.keys { self[file] = nil }
        }
    }

    public private(set) var rules: KeepRules
    private var conditions = KeepConditions()
    private var receiving: [FileID: Receiving] = [:]
    private var setAside = SetAsideFiles()
    private var queue: [KeepCandidate] = []
    private var hasMore = false
    private var seen: Set<FileID> = []
    private var due: Timestamp?
    public private(set) var counts = KeepCounts()
    private var nextCounts = KeepCounts()

    public init(_ rules: KeepRules) { self.rules = rules }

    // MARK: - Scan

    /// - Parameter conditions: `free` includes the space of running downloads.
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
            // The core completes a download that it began, whatever the rules.
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

    /// - Returns: The downloads to begin.
    public mutating func endScan(now: Timestamp) -> [Effect] {
        var effects: [Effect] = []
        // The file is gone or local, without an event.
        for file in receiving.keys where !seen.contains(file) { effects += end(file) }
        setAside.removeExpired(now: now)
        nextCounts.waiting += queue.count
        counts = nextCounts
        seen = []
        return effects + fill(now: now)
    }

    private mutating func receive(_ candidate: KeepCandidate, now: Timestamp) -> [Effect] {
        if let under = receiving[candidate.file] {
            nextCounts.waiting += 1
            // After the clock was set back, the elapsed time is unknown.
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
        case .offered, .elsewhere: break
        }
        if let aside = setAside[candidate.file], aside.isOver(now: now) == false {
            aside.until.map { note(due: $0) }
            guard let obstacle = aside.obstacle else { return notice(candidate, now: now) }
            return wait(candidate, for: obstacle, now: now)
        }
        if setAside.areFull(for: candidate) { return wait(candidate, for: .failure, now: now) }
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

    // MARK: - Events

    /// The download progressed.
    public mutating func progressed(_ file: FileID, now: Timestamp) {
        receiving[file]?.lastProgress = now
    }

    /// The file is local, was lost, or its message was deleted.
    public mutating func ended(_ file: FileID, now: Timestamp) -> [Effect] {
        setAside[file] = nil
        queue.removeAll { $0.file == file }
        guard receiving.removeValue(forKey: file) != nil else { return [] }
        return fill(now: now)
    }

    /// The download failed temporarily.
    public mutating func failed(_ file: FileID, _ obstacle: KeepObstacle, now: Timestamp) -> [Effect] {
        guard let under = receiving.removeValue(forKey: file) else { return [] }
        let failures = (setAside[file]?.failures ?? 0) + 1
        // Only the user can approve relays.
        let pause = obstacle == .approval ? nil : Self.pauses.delay(beforeTry: failures + 1, jitter: 0)
        let until = pause.map { now.advanced(by: $0) }
        setAside[file] = SetAside(
            chat: under.candidate.chat, obstacle: obstacle, failures: failures, until: until,
            expires: under.candidate.expires)
        until.map { note(due: $0) }
        return [.stop(file)] + notice(under.candidate, now: now) + fill(now: now)
    }

    /// The core continues by itself; stops waiting for the file.
    public mutating func handedOver(_ file: FileID, now: Timestamp) -> [Effect] {
        receiving.removeValue(forKey: file) == nil ? [] : fill(now: now)
    }

    /// Whether more files are wanted than the queue holds. A scan may end then.
    public var hasEnough: Bool { hasMore }

    public func isReceiving(_ file: FileID) -> Bool { receiving[file] != nil }

    /// Drops a file that the user rejected, until the rules change or the next mount.
    public mutating func declined(_ candidate: KeepCandidate, now: Timestamp) -> [Effect] {
        setAside[candidate.file] = SetAside(
            chat: candidate.chat, obstacle: nil, failures: 0, until: nil, expires: candidate.expires)
        queue.removeAll { $0.file == candidate.file }
        guard receiving.removeValue(forKey: candidate.file) != nil else { return [] }
        return [.stop(candidate.file)] + fill(now: now)
    }

    /// Sets new rules. A scan must follow.
    public mutating func change(_ rules: KeepRules) {
        self.rules = rules
        setAside = SetAsideFiles()
    }

    /// Retries all files, because relays were approved or are reachable again. A scan must follow.
    public mutating func tryAgain() { setAside = SetAsideFiles() }

    /// Time of the next scan without other events.
    public var nextScan: Timestamp? { due }

    // MARK: - Private

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
            guard !setAside.areFull(for: next) else { continue }
            // Downloads begun since the scan may have used the space.
            switch rules.verdict(on: next, available(for: next.file), now: now) {
            case .receive:
                receiving[next.file] = Receiving(candidate: next, lastProgress: now)
                note(due: now.advanced(by: Self.timeout))
                effects.append(.receive(next))
            case .wait(.disk): note(due: now.advanced(by: Self.diskPause))
            case .wait, .later, .leave: break
            }
        }
        if hasMore, queue.isEmpty, receiving.count < Self.maxReceiving {
            hasMore = false
            effects.append(.scan)
        }
        return effects
    }

    private mutating func end(_ file: FileID) -> [Effect] {
        receiving.removeValue(forKey: file) == nil ? [] : [.stop(file)]
    }

    /// Notices for files that are not downloading.
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

    /// Notices for downloading files, only after expiry.
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

/// Counts for display.
public struct KeepCounts: Hashable, Sendable {
    /// Files that relays drop soon and that are neither local nor downloading.
    public var expiring = 0
    /// Files that match a rule and are not yet local.
    public var waiting = 0
    /// Number of these by obstacle.
    public var obstacles: [KeepObstacle: Int] = [:]

    public init() {}
}
