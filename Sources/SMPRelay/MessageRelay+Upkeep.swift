import Base

/// What a message relay has, for its operator.
public struct MessageRelayStatistics: Hashable, Sendable, Codable {
    /// Queues, and how many of them nobody has used since they were made.
    public var queues: Int
    public var unusedQueues: Int
    /// Messages that nobody has fetched.
    public var messages: Int
    /// Bytes of the quota in use; nil as quota: none.
    public var bytes: UInt64
    public var quota: UInt64?
    /// Connections that are open now.
    public var connections: Int
}

/// Which queues the operator has a message relay forget.
public enum QueuePurge: Hashable, Sendable {
    /// Those that nobody has used since they were made that long ago, and those that nobody has used for so long. Not those to
    /// which somebody has subscribed.
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

    /// Answers how many queues were forgotten, some in each transaction.
    func purge(_ purge: QueuePurge) async throws -> Int {
        var count = 0
        while true {
            let (looked, forgotten) = try await order { processor, records in
                switch purge {
                case .everything:
                    let count = try processor.forgetAnyQueues(records)
                    return (count, count)
                case .outOfUse(let unused, let idle):
                    let now = processor.settings.clock.now().seconds
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
    /// What it has now.
    /// - Throws: `StoreError` of the records, `.inUse` when it has stopped.
    public func statistics() async throws -> MessageRelayStatistics {
        try await service.statistics(connections: connectionCount)
    }

    /// Forgets queues with their messages, and tells who has subscribed. Answers how many.
    /// - Throws: as `statistics`.
    public func purge(_ purge: QueuePurge) async throws -> Int { try await service.purge(purge) }
}

/// The records of a message relay that does not run.
public final class RestingMessageRelay: Sendable {
    private let service: QueueService
    private let folder: MessageRelayFolder

    /// Blocks for the disk.
    /// - Throws: `.folder`, `.inUse` where a relay runs, `.records`.
    public init(_ settings: MessageRelaySettings) throws(MessageRelayError) {
        folder = try MessageRelayFolder(settings.folder)
        service = try QueueService.start(path: folder.recordsPath, settings: settings)
    }

    /// What it has.
    /// - Throws: as `MessageRelay.statistics`.
    public func statistics() async throws -> MessageRelayStatistics {
        try await service.statistics(connections: 0)
    }

    /// As of one that runs.
    /// - Throws: as `statistics`.
    public func purge(_ purge: QueuePurge) async throws -> Int { try await service.purge(purge) }

    /// Lets a relay start. Returns when nothing of it is in use any more.
    public func close() async {
        await service.stop()
        folder.release()
    }
}
