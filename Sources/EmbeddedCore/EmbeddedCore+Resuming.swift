import ChatCore
import Store

extension EmbeddedCore {
    /// At the start: goes on with every transfer that the last process did not finish.
    func resumeTransfers() {
        Task { [weak self] in
            guard let self else { return }
            do throws(ChatError) {
                let unfinished = try await work { [self] in try unfinishedTransfers() }
                for transfer in unfinished {
                    switch (transfer.isUpload, transfer.isStandalone) {
                    case (true, _): startUpload(transfer.file)
                    case (false, false): startDownload(transfer.file)
                    case (false, true): startStandaloneDownload(transfer.file)
                    }
                }
                startChunkDeletions()
            } catch {
                log.warning("Unfinished transfers could not be resumed: \(error.sentence)")
            }
        }
    }

    public func relaysWereApproved() async {
        do throws(ChatError) {
            let begun = try await work { [self] in
                try beginWanted(ofStatus: ["rcv_aborted"])
            }
            for file in begun { startDownload(file) }
        } catch {
            log.warning("Files of approved relays could not be received: \(error.sentence)")
        }
    }

    /// Begins to receive the described files of these states that are wanted without a further word. Answers
    /// which those are. Blocks.
    @discardableResult
    private func beginWanted(ofStatus statuses: [String]) throws -> [FileID] {
        let list = statuses.map { "'\($0)'" }.joined(separator: ", ")
        let offers = try read { context in
            try context.connection.query(
                """
                SELECT i.id FROM file f JOIN item i ON i.id = f.item
                WHERE f.profile = ? AND f.status IN (\(list)) AND f.description IS NOT NULL
                AND (f.to_receive = 1 OR i.kind IN ('image', 'video', 'voice'))
                """, profile.id
            ) { $0.integer(0) }
        }
        let descriptions = try descriptionsToBegin(ofItems: offers)
        return try commit { change in
            try offers.compactMap { offer -> FileID? in
                guard let item = try ItemRows.item(offer, of: profile.id, change.context),
                    let file = item.file,
                    try beginWhenWanted(item, file, descriptions[file.id], change)
                else { return nil }
                return file.id
            }
        }
    }

    private struct Unfinished: Sendable {
        var file: FileID
        var isUpload: Bool
        var isStandalone: Bool
    }

    /// Downloads that wait for their description, and those whose description came while the profile
    /// was not open, are looked at too.
    private func unfinishedTransfers() throws -> [Unfinished] {
        try beginWanted(ofStatus: ["rcv_invitation", "rcv_accepted", "rcv_aborted"])
        return try read { context in
            try context.connection.query(
                """
                SELECT id, status LIKE 'snd%', item IS NULL FROM file
                WHERE profile = ? AND transport = 'xftp' AND (
                    status IN ('snd_stored', 'snd_transfer', 'snd_warning')
                    OR status IN ('rcv_accepted', 'rcv_transfer', 'rcv_warning')
                        AND (description IS NOT NULL OR item IS NULL))
                ORDER BY id
                """, profile.id
            ) { Unfinished(file: FileID($0.integer(0)), isUpload: $0.bool(1), isStandalone: $0.bool(2)) }
        }
    }
}
