import Base

/// The statistics of a message relay for its operator.
public struct MessageRelayStatistics: Hashable, Sendable, Codable {
    /// The number of queues, and of those never used since their creation.
    public var queues: Int
    public var unusedQueues: Int
    /// The number of messages not fetched yet.
    public var messages: Int
    /// The used bytes of the quota, and the quota, or nil for no limit.
    public var bytes: UInt64
    public var quota: UInt64?
    /// The number of open connections.
    public var connections: Int
}

/// The queues that an operator deletes.
public enum QueuePurge: Hashable, Sendable {
    /// Queues never used within `unused` since their creation, and queues not used for `idle`. Keeps queues with a
    /// subscriber.
    case outOfUse(unused: Duration, idle: Duration)
    case everything
}

extension QueueService {
    func statistics(connections: Int) async throws -> MessageRelayStatistics {
        try await order { processor, records in
            let counts = try records.counts()
            return MessageRelayStatistics(
                queues: counts.queues, unusedQueues: counts.unused, messages: counts.messages,
                bytes: processor.disk.bytes, quota: processor.settings.quota, connections: connections)
        }
    }

    /// Deletes queues in several transactions. Returns their number.
    func purge(_ purge: QueuePurge) async throws -> Int {
        var count = 0
        // One time for all transactions: a queue that counts as used is not examined again.
        let now = try await order { processor, _ in processor.settings.clock.now().seconds }
        while true {
            let (looked, forgotten) = try await order { processor, records in
                switch purge {
                case .everything:
                    let count = try processor.forgetAnyQueues(records)
                    return (count, count)
                case .outOfUse(let unused, let idle):
                    return try processor.forgetQueues(
                        madeBefore: now - unused.components.seconds,
                        usedBefore: now - idle.components.seconds,
                        records)
                }
            }
            count += forgotten
            if looked < CommandProcessor.queuesAtOnce { return count }
        }
    }
}

extension MessageRelay {
    /// Returns the relay's statistics.
    /// - Throws: `StoreError` of the records, `.inUse` after the relay stopped.
    public func statistics() async throws -> MessageRelayStatistics {
        try await service.statistics(connections: connectionCount)
    }

    /// Deletes queues with their messages and notifies subscribers. Returns the number of queues.
    /// - Throws: The errors of `statistics`.
    public func purge(_ purge: QueuePurge) async throws -> Int { try await service.purge(purge) }
}

/// Access to the records of a message relay that is not running.
public final class RestingMessageRelay: Sendable {
    private let service: QueueService
    private let folder: MessageRelayFolder

    /// Opens the records. Blocks on the disk.
    /// - Throws: `.folder`, `.inUse` if a relay runs, `.records`.
    public init(_ settings: MessageRelaySettings) throws(MessageRelayError) {
        folder = try MessageRelayFolder(settings.folder)
        service = try QueueService.start(path: folder.recordsPath, settings: settings)
    }

    /// Returns the relay's statistics.
    /// - Throws: The errors of `MessageRelay.statistics`.
    public func statistics() async throws -> MessageRelayStatistics {
        try await service.statistics(connections: 0)
    }

    /// Deletes queues like `MessageRelay.purge`.
    /// - Throws: The errors of `statistics`.
    public func purge(_ purge: QueuePurge) async throws -> Int { try await service.purge(purge) }

    /// Closes the records and unlocks the folder.
    public func close() async {
        await service.stop()
        folder.release()
    }
}
