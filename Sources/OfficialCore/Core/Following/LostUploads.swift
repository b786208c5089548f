import Base
import ChatCore
import CoreServices

/// Uploads whose end the core forgot.
///
/// The core has two databases. When it is killed after its agent noted in the one that the last chunk is on a relay,
/// and before the other was told that the upload is complete, it never sends the description: the message stays
/// "sending", and the others wait for good (seen with 6.4.5). Nothing in its interface takes that up again.
final class LostUploads: Sendable {
    private struct State {
        /// In how many comparisons an upload was done for one database of the core and not for the other.
        var found: [FileID: Int] = [:]
        /// Uploads were unfinished at the last comparison: whether the core forgot their end shows by comparing
        /// again.
        var hasUploads = false
    }

    private let connection: CoreConnection
    private let index: IndexStore
    private let state = Lock(State())

    /// Comparisons in which an upload must be found so before it is given up: the core may only be slow.
    private static let tries = 3
    /// Uploads compared at once, the newest.
    private static let maxUploads = 20
    /// Uploads for which the agent has nothing more to do: a complete one, and one whose chunks all have a copy on a
    /// relay. The second is soon the first, unless the core is killed in between: it looks only for chunks without one
    /// when it is started again.
    static let done =
        "SELECT hex(f.snd_file_entity_id), 1 FROM snd_files f WHERE f.deleted = 0 AND (f.status = 'complete' "
        + "OR f.status = 'uploading' AND NOT EXISTS (SELECT 1 FROM snd_file_chunks c "
        + "WHERE c.snd_file_id = f.snd_file_id AND NOT EXISTS (SELECT 1 FROM snd_file_chunk_replicas r "
        + "WHERE r.snd_file_chunk_id = c.snd_file_chunk_id AND r.replica_status = 'uploaded')))"

    private static let problem = FileProblem(
        .other,
        "The SimpleX core was interrupted at the end of the upload: the others see the message and can "
            + "never read its file. 'chatfs retry' sends it in a new message and deletes this one.")

    init(_ connection: CoreConnection, _ index: IndexStore) {
        self.connection = connection
        self.index = index
    }

    var hasUploads: Bool { state.withLock { $0.hasUploads } }

    func compare() async throws(ChatError) {
        let moving = try await blocking.run { [index] in
            try index.read { try $0.items.uploading(limit: Self.maxUploads) }
        }
        state.withLock { $0.hasUploads = !moving.isEmpty }
        let lost = try await doneForTheAgent(moving)
        let given = state.withLock { state -> [FileID] in
            state.found = state.found.filter { lost.contains($0.key) }
            for file in lost { state.found[file, default: 0] += 1 }
            return lost.filter { state.found[$0, default: 0] >= Self.tries }
        }
        guard !given.isEmpty else { return }
        try await blocking.run { [index] in
            try index.commit { change in
                for file in given {
                    try change.setStatus(.sndError(Self.problem), of: file) {
                        .sndFileError($0, Self.problem)
                    }
                }
            }
        }
    }

    /// Those of these uploads that one database of the core has for done though the other has not.
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
}
