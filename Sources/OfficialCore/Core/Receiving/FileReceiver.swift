import Base
import ChatCore
import Posix
import XFTP

extension OfficialCore {
    public func receiveFile(_ file: FileID, approvedRelays: Bool) async throws(ChatError) {
        try await accept(file, approved: approvedRelays)
    }

    public func setFileToReceive(_ file: FileID, approvedRelays: Bool) async throws(ChatError) {
        let approved = await unknownRelays() == .always || approvedRelays
        do throws(OfficialCoreError) {
            _ = try await ask(.setFileToReceive(file, approvedRelays: approved, encrypted: true))
        } catch {
            throw error.chatError
        }
    }

    /// At arrival, by type and size. Relays that may not be contacted leave it an offer, which says so.
    func receiveAtArrival(_ file: FileID) async {
        do throws(ChatError) {
            try await accept(file, approved: false)
        } catch {
            log.information("a small file was not received at arrival: \(error.sentence)")
            guard error.code == .file(.notApproved) else { return }
            let problem = FileProblem(.notApproved, error.sentence)
            do throws(ChatError) {
                try await work { [self] in
                    try commit { change in
                        try change.setStatus(.rcvAborted(problem), of: file) { .chatItemUpdated($0) }
                    }
                }
            } catch {
                log.warning("why a file waits could not be noted: \(error.sentence)")
            }
        }
    }

    public func relaysWereApproved() async {
        do throws(ChatError) {
            let files = try await work { [self] in
                try index.read { connection in
                    try connection.query("SELECT file FROM item WHERE status = 'rcvAborted'") {
                        FileID($0.integer(0))
                    }
                }
            }
            for file in files { await receiveAtArrival(file) }
        } catch {
            log.warning("files of approved relays could not be received: \(error.sentence)")
        }
    }

    /// What holds for relays that nobody decided about: told to this mount, else kept by `chatfs approve`.
    private func unknownRelays() async -> OfficialCoreSettings.UnknownRelays {
        if let told = settings.unknownRelays { return told }
        // What cannot be read permits nothing.
        return await Self.pool.run { [trust] in (try? trust.policy()) ?? nil } ?? .ask
    }

    /// Has the core receive a file, encrypted whatever its own setting is. The core knows which relays are
    /// configured in it; those approved here are approved to it file by file.
    ///
    /// - Throws: `.file(.notApproved)` naming the relays; nothing when the core receives it already.
    func accept(_ file: FileID, approved: Bool) async throws(ChatError) {
        let unknownRelays = await unknownRelays()
        let approved = approved || unknownRelays == .always
        do throws(OfficialCoreError) {
            try await receive(file, approved: approved)
        } catch {
            guard let refusal = error.refusal else { throw error.chatError }
            if refusal.has("fileAlreadyReceiving") { return }
            guard refusal.has("fileNotApproved"), !approved, unknownRelays != .never,
                await approves(refusal.unknownRelays)
            else { throw error.chatError }
            do throws(OfficialCoreError) {
                try await receive(file, approved: true)
            } catch {
                throw error.chatError
            }
        }
    }

    private func approves(_ relays: [String]) async -> Bool {
        await Self.pool.run { [trust] in trust.approves(relays) }
    }

    private func receive(_ file: FileID, approved: Bool) async throws(OfficialCoreError) {
        let command = APICommand.receiveFile(file, approvedRelays: approved, encrypted: true, path: nil)
        let began = ContinuousClock.now
        switch try await ask(command, timeout: .seconds(60)) {
        case .rcvFileAccepted(let item):
            // A small file may be complete before this answer is read: events take another connection.
            if wasTold(item.id, since: began) { return }
            await attempt("note that a file is received") { [self] in
                try commit { change in try change.take(item, .look) { .rcvFileAccepted($0) } }
            }
        case .rcvFileAcceptedSndCancelled:
            await attempt("note that a file was cancelled") { [self] in
                try commit { change in
                    try change.setStatus(.rcvCancelled, of: file) { .rcvFileSndCancelled($0) }
                }
            }
            throw OfficialCoreError(refusal: APIError(path: ["error", "fileCancelled"]))
        default:
            throw OfficialCoreError(.notUnderstood, "The SimpleX core did not accept the file.")
        }
    }

    // MARK: - Fetching chunks beside the core

    /// The core receives what is opened, for its durable copy; meanwhile the caller may fetch the chunks
    /// that a reader waits for. Both use the one key of the recipient, so nothing is ever acknowledged
    /// (FACK) by either. The core's own approval of the relays comes first, for both.
    public func claimFile(
        _ file: FileID, approvedRelays: Bool
    ) async throws(ChatError) -> ClaimedFile? {
        guard mayFetchItself else { return nil }
        let known = try await work { [self] in try index.read { try ItemRows.item(of: file, $0) } }
        guard let item = known, let offered = item.file, item.direction == .received else {
            throw ChatError(.noSuchFile, "This file no longer exists.")
        }
        let isUnderWay: Bool
        switch offered.status {
        case .rcvError where offered.status.isGivenUp:
            // The relays were approved when the core accepted it. It takes no second order: the copy is ours.
            guard let description = try await description(of: file), await mayBeFetched(description) else {
                return nil
            }
            return ClaimedFile(description: description)
        case .rcvInvitation, .rcvAborted: isUnderWay = false
        case .rcvAccepted, .rcvTransfer, .rcvWarning: isUnderWay = true
        default: return nil
        }
        guard offered.transport == .xftp, let description = try await description(of: file) else {
            return nil
        }
        if !isUnderWay { try await accept(file, approved: approvedRelays) }
        guard await mayBeFetched(description) else { return nil }
        return ClaimedFile(description: description, isReceivedByCore: true)
    }

    /// Relays would see the address that the core hides.
    var mayFetchItself: Bool { settings.hasProxy || !state.withLock { $0.hidesAddress } }

    /// Whether the chunks lie where this process may go. What points into this machine's own network is left
    /// to the core, unless the relay is known.
    func mayBeFetched(_ text: String) async -> Bool {
        await Self.pool.run { [trust] in
            // One that makes no sense is claimed, so that its reader learns it.
            guard let described = try? FileDescription(parsing: text) else { return true }
            return described.relays.allSatisfy { !$0.leadsIntoOwnNetwork || trust.holds($0) }
        }
    }

    /// From the event that brought it, else from the core's database; nil while it has not arrived.
    func description(of file: FileID) async throws(ChatError) -> String? {
        if let known = state.withLock({ $0.descriptions[file] }) { return known }
        do throws(OfficialCoreError) {
            let response = try await ask(
                .query(
                    "SELECT hex(d.file_descr_text) FROM rcv_files r JOIN xftp_file_descriptions d "
                        + "ON d.file_descr_id = r.file_descr_id "
                        + "WHERE r.file_id = \(file.rawValue) AND d.file_descr_complete = 1"))
            guard case .rows(let rows) = response, rows.count == 2 else { return nil }
            return Hexadecimal.decode(rows[1].lowercased()).map { String(decoding: $0, as: UTF8.self) }
        } catch {
            if error.refusal != nil { return nil }
            throw error.chatError
        }
    }

    /// The durable copy is the core's own, and what was staged beside it is not needed; but where the core
    /// gave the file up, the staged one is kept.
    public func completeClaim(
        _ file: FileID, staged: FileSourceLocation
    ) async throws(ChatError) -> FileSourceLocation {
        if let kept = try await work({ [self] in try keep(file, staged) }) { return kept }
        try? await work { removeFile(staged.path) }
        guard let location = try await location(of: file) else {
            throw ChatError(.noSuchFile, "The SimpleX core has not received this file yet.")
        }
        return location
    }

    /// The core goes on receiving for its copy, and finds out itself what is wrong with a file.
    public func abandonClaim(_ file: FileID, problem: FileProblem?) async {
        state.withLock { _ = $0.descriptions.removeValue(forKey: file) }
    }

    // MARK: - Cancelling

    public func cancelFile(_ file: FileID) async throws(ChatError) {
        do throws(OfficialCoreError) {
            let response = try await ask(.cancelFile(file))
            let item: APIItem? =
                switch response {
                case .rcvFileCancelled(_, let item), .sndFileCancelled(_, let item): item
                default: nil
                }
            guard let item else { return }
            await attempt("note that a file was cancelled") { [self] in
                try commit { try $0.take(item, .look) }
            }
        } catch {
            throw error.chatError
        }
    }
}
