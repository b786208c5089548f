import ChatCore
import Store

/// Uploads whose end the core forgot.
///
/// The core has two databases. When it is killed after the one says that an upload is complete and before
/// the other was told, it never sends the description: the message stays "sending", and the others wait for
/// good (seen with 6.4.5). Nothing in its interface takes that up again.
extension OfficialCore {
    /// Looks at which an upload must be found so before it is given up: the core may only be slow.
    private static let patience = 3

    private static let problem = FileProblem(
        .other,
        "The SimpleX core was interrupted at the end of the upload: the others see the message and can "
            + "never read its file. 'chatfs retry' sends it in a new message and deletes this one.")

    func lookForLostUploads() async throws(ChatError) {
        let moving = try await work { [self] in
            try index.read { connection in
                try connection.query(
                    """
                    SELECT file FROM item
                    WHERE \(Schema.isMoving) AND direction = 'sent' AND transport = 'xftp'
                    ORDER BY id DESC LIMIT 20
                    """
                ) { FileID($0.integer(0)) }
            }
        }
        state.withLock { $0.schedule.hasUploads = !moving.isEmpty }
        let lost = try await completeForTheAgent(moving)
        let given = state.withLock { state -> [FileID] in
            state.compared.complete = state.compared.complete.filter { lost.contains($0.key) }
            for file in lost { state.compared.complete[file, default: 0] += 1 }
            return lost.filter { state.compared.complete[$0, default: 0] >= Self.patience }
        }
        guard !given.isEmpty else { return }
        try await work { [self] in
            try commit { change in
                for file in given {
                    try change.setStatus(.sndError(Self.problem), of: file) {
                        .sndFileError($0, Self.problem)
                    }
                }
            }
        }
    }

    /// Those of these uploads that one database of the core has for complete though the other has not.
    private func completeForTheAgent(_ files: [FileID]) async throws(ChatError) -> [FileID] {
        guard !files.isEmpty else { return [] }
        let list = files.map { String($0.rawValue) }.joined(separator: ",")
        let names = try await pairs(
            .query(
                "SELECT hex(agent_snd_file_id), file_id FROM files WHERE file_id IN (\(list)) "
                    + "AND agent_snd_file_id IS NOT NULL"))
        guard !names.isEmpty else { return [] }
        let complete = try await pairs(
            .agentQuery(
                "SELECT hex(snd_file_entity_id), 1 FROM snd_files WHERE status = 'complete' AND deleted = 0"))
        return names.filter { complete[$0.key] != nil }.map { FileID($0.value) }
    }

    /// Rows of a text and a number; none from a core that answers no questions about its databases.
    func pairs(_ command: APICommand) async throws(ChatError) -> [String: Int64] {
        do throws(OfficialCoreError) {
            let response = try await transport.request(command, lane: .background, timeout: .seconds(60))
            guard case .rows(let rows) = response else { return [:] }
            var pairs: [String: Int64] = [:]
            for row in rows.dropFirst() {
                let parts = row.split(separator: "|", omittingEmptySubsequences: false)
                if parts.count == 2 { pairs[String(parts[0])] = Int64(parts[1]) }
            }
            return pairs
        } catch {
            if error.refusal != nil { return [:] }
            throw error.chatError
        }
    }
}
