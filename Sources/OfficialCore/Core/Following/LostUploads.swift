import Base
import ChatCore
import CoreServices

/// Detects uploads whose end the core lost.
///
/// The core has two databases. If it is killed after its agent recorded the last uploaded chunk, but before
/// the chat database did, it never sends the description (seen with 6.4.5). The message stays "sending",
/// recipients wait for ever, and no command resumes it. If it is killed a moment later, the description was
/// sent and only its status is lost.
final class LostUploads: Sendable {
    private struct State {
        /// Number of consecutive comparisons in which the two databases differed about an upload.
        var found: [FileID: Int] = [:]
        /// True if the last comparison found unfinished uploads.
        var hasUploads = false
    }

    private let connection: CoreConnection
    private let index: IndexStore
    private let state = Lock(State())

    /// Number of comparisons before an upload counts as lost, because the core may only be slow.
    private static let tries = 3
    /// Maximum number of uploads in one comparison, newest first.
    private static let maxUploads = 20
    /// Uploads without remaining work for the agent: complete ones, and those whose chunks all have an
    /// uploaded replica. The latter soon become complete, unless the core is killed before: after a restart
    /// it looks only for chunks without a replica.
    static let done =
        "SELECT hex(f.snd_file_entity_id), 1 FROM snd_files f WHERE f.deleted = 0 AND (f.status = 'complete' "
        + "OR f.status = 'uploading' AND NOT EXISTS (SELECT 1 FROM snd_file_chunks c "
        + "WHERE c.snd_file_id = f.snd_file_id AND NOT EXISTS (SELECT 1 FROM snd_file_chunk_replicas r "
        + "WHERE r.snd_file_chunk_id = c.snd_file_chunk_id AND r.replica_status = 'uploaded')))"

    /// Descriptions that the agent has not delivered to a server yet.
    private static let undelivered =
        "SELECT hex(conn_id) || '/' || internal_id, 1 FROM snd_message_deliveries"

    private static let problem = FileProblem(
        .other,
        "The SimpleX core was interrupted at the end of the upload: recipients see the message but can "
            + "never read its file. 'chatfs retry' sends it in a new message and deletes this one.")

    init(_ connection: CoreConnection, _ index: IndexStore) {
        self.connection = connection
        self.index = index
    }

    var hasUploads: Bool { state.withLock { $0.hasUploads } }

    func compare() async throws(ChatError) {
        let moving = try await index.reading { try $0.items.uploading(limit: Self.maxUploads) }
        state.withLock { $0.hasUploads = !moving.isEmpty }
        var ends: [FileID: FileStatus] = [:]
        for file in try await doneForTheAgent(moving) { ends[file] = .sndError(Self.problem) }
        for file in try await toldToOthers(moving) { ends[file] = .sndComplete }
        let given = state.withLock { state in
            state.found = state.found.filter { ends[$0.key] != nil }
            for file in ends.keys { state.found[file, default: 0] += 1 }
            return ends.filter { state.found[$0.key, default: 0] >= Self.tries }
        }
        guard !given.isEmpty else { return }
        try await index.committing { change in
            for (file, status) in given {
                let cause = status == .sndComplete ? ItemChange.completed : .failed(Self.problem)
                try change.setStatus(status, of: file, cause)
            }
        }
    }

    /// Returns the uploads that the agent's database has as done.
    private func doneForTheAgent(_ files: [FileID]) async throws(ChatError) -> [FileID] {
        guard !files.isEmpty else { return [] }
        let list = files.map { String($0.rawValue) }.joined(separator: ",")
        let names = try await connection.pairs(
            .query(
                "SELECT hex(agent_snd_file_id), file_id FROM files WHERE file_id IN (\(list)) "
                    + "AND agent_snd_file_id IS NOT NULL"))
        guard !names.isEmpty else { return [] }
        let done = try await connection.pairs(.agentQuery(Self.done))
        return names.filter { done[$0.key] != nil }.map { FileID($0.value) }
    }

    /// Returns the uploads whose description was delivered, by the agent's number of the message that ends
    /// it. Descriptions to groups have no such record.
    private func toldToOthers(_ files: [FileID]) async throws(ChatError) -> [FileID] {
        guard !files.isEmpty else { return [] }
        let list = files.map { String($0.rawValue) }.joined(separator: ",")
        let messages = try await connection.pairs(
            .query(
                "SELECT hex(c.agent_conn_id) || '/' || d.agent_msg_id, s.file_id FROM snd_files s "
                    + "JOIN msg_deliveries d ON d.msg_delivery_id = s.last_inline_msg_delivery_id "
                    + "JOIN connections c ON c.connection_id = d.connection_id "
                    + "WHERE s.file_descr_id IS NOT NULL AND s.file_id IN (\(list))"))
        guard !messages.isEmpty else { return [] }
        let undelivered = try await connection.pairs(.agentQuery(Self.undelivered))
        return messages.filter { undelivered[$0.key] == nil }.map { FileID($0.value) }
    }
}
