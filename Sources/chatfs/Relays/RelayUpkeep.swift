import Desktop
import Posix
import SMPRelay
import XFTPRelay

/// Reports and deletes the data of a relay, running or not.
struct RelayUpkeep<Files: KeptChunks, Messages: KeptQueues>: Sendable {
    let files: Files
    let messages: Messages?

    func answer(_ request: RelayRequest) async throws -> RelayAnswer {
        let chunks = try await purgeChunks(request)
        let queues = try await purgeQueues(request)
        let files = files
        let statistics = try await ThreadPool.shared.run { try files.statistics() }
        var answer = RelayAnswer(
            files: RelayAnswer.Part(
                bytes: statistics.bytes, quota: statistics.quota, count: statistics.chunks,
                unfinished: statistics.unfinished))
        answer.files?.purged = chunks
        answer.files?.connections = Files.runs ? statistics.connections : nil
        guard let found = try await messages?.statistics() else { return answer }
        answer.messages = RelayAnswer.Part(
            bytes: found.bytes, quota: found.quota, count: found.queues, unfinished: found.unusedQueues,
            messages: found.messages)
        answer.messages?.purged = queues
        answer.messages?.connections = Files.runs ? found.connections : nil
        return answer
    }

    private func purgeChunks(_ request: RelayRequest) async throws -> Int? {
        guard request.everything == true || request.chunks != nil else { return nil }
        let (files, age) = (
            files, request.everything == true ? nil : request.chunks.map { Duration.seconds($0) }
        )
        return try await ThreadPool.shared.run { try files.purge(olderThan: age) }
    }

    private func purgeQueues(_ request: RelayRequest) async throws -> Int? {
        if request.everything == true { return try await messages?.purge(.everything) }
        guard request.unused != nil || request.idle != nil else { return nil }
        func age(_ seconds: Int64?) -> Duration { .seconds(seconds ?? RelayRequest.longest) }
        return try await messages?.purge(.outOfUse(unused: age(request.unused), idle: age(request.idle)))
    }
}

/// A file relay, or its directory.
protocol KeptChunks: Sendable {
    static var runs: Bool { get }
    func statistics() throws -> RelayStatistics
    func purge(olderThan age: Duration?) throws -> Int
}

/// A message relay, or its directory.
protocol KeptQueues: Sendable {
    func statistics() async throws -> MessageRelayStatistics
    func purge(_ purge: QueuePurge) async throws -> Int
}

extension Relay: KeptChunks { static var runs: Bool { true } }
extension RestingRelay: KeptChunks { static var runs: Bool { false } }
extension MessageRelay: KeptQueues {}
extension RestingMessageRelay: KeptQueues {}
