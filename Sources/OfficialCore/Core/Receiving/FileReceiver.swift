import Base
import ChatCore
import CoreServices
import XFTP

/// Lets the core receive files. The core knows its configured relays; relays approved here are approved to it
/// for each file.
struct FileReceiver: Sendable {
    let connection: CoreConnection
    let index: IndexStore
    let recent: RecentEvents
    let trust: OfficialRelayTrust
    let settings: OfficialCoreSettings

    /// Receives the file when its description arrives.
    func setToReceive(_ file: FileID, approvedRelays: Bool) async throws(ChatError) {
        // The core accepts this command for any number.
        guard let status = try await statusToReceive(file) else { return }
        try status.refuseWhenOver()
        if let phone = settings.phone { try await check(file, on: phone) }
        let approved = await unknownRelays() == .always || approvedRelays
        _ = try await connection.answer(.setFileToReceive(file, approvedRelays: approved, encrypted: true))
    }

    /// Receives a file on request. If it is complete, only publishes that again.
    func receiveKnown(_ file: FileID, approvedRelays: Bool) async throws(ChatError) {
        guard try await statusToReceive(file) != nil else { return }
        try await receive(file, approved: approvedRelays)
    }

    /// Returns the status of a received file; nil if it is complete, which is published again.
    /// - Throws: `.noSuchFile`, also for a sent file.
    private func statusToReceive(_ file: FileID) async throws(ChatError) -> FileStatus? {
        let item = try await index.reading { try $0.item(ofReceived: file) }
        if item.file?.status == .rcvComplete {
            index.events.tell(.itemChanged(item, .completed))
            return nil
        }
        return item.file?.status
    }

    /// Receives a file at arrival, by type and size. If its relays are not approved, the file keeps that
    /// reason.
    func receiveAtArrival(_ file: FileID) async {
        do throws(ChatError) {
            try await receive(file, approved: false)
        } catch {
            log.information("file not received at arrival: error=\(error.sentence)")
            guard error.code == .file(.notApproved) else { return }
            let problem = FileProblem(.notApproved, error.sentence)
            await blocking.attempt("record why a file waits") { [index] in
                try index.commit { change in
                    try change.setStatus(.rcvAborted(problem), of: file, .updated)
                }
            }
        }
    }

    /// Retries waiting files after relays were approved or the policy changed.
    func relaysWereApproved() async {
        do throws(ChatError) {
            let files = try await index.reading { try $0.items.files(.rcvAborted) }
            for file in files { await receiveAtArrival(file) }
        } catch {
            log.warning("files of approved relays not received: error=\(error.sentence)")
        }
    }

    /// Checks a description that this machine will fetch.
    /// - Throws: `.file(.notApproved)` if its relays may not be contacted; `.file(.damaged)`.
    func check(_ description: String) async throws(ChatError) {
        let allowsUnknown = await unknownRelays() == .always
        try await blocking.run { [trust] in
            let described: FileDescription
            do throws(XFTPError) {
                described = try FileDescription(parsing: description)
            } catch {
                throw ChatError(.file(.damaged), error.sentence, cause: error)
            }
            try RelayCheck.require(described.relays, allowsUnknown: allowsUnknown, isKnown: trust.holds)
        }
    }

    /// Whether this machine may fetch a file that the phone would receive: the mount receives files, and their relays may
    /// be contacted.
    func mayReplacePhone(for description: String) async -> Bool {
        guard let phone = settings.phone, phone.receiveLimit > 0 else { return false }
        do throws(ChatError) {
            try await check(description)
            return true
        } catch {
            return false
        }
    }

    /// Rejects a link to relays in the local network unless they are known, because the core would contact
    /// them. Other texts are left to the core.
    /// - Throws: `.file(.notApproved)` with the relays.
    func checkOwnNetwork(of link: String) async throws(ChatError) {
        guard let relays = (try? await FileLink.parsed(link))?.fileDescription.relays else { return }
        try await blocking.run { [trust] in
            try RelayCheck.require(relays, allowsUnknown: true, isKnown: trust.holds)
        }
    }

    /// The policy for undecided relays: of this mount, else stored by `chatfs approve`.
    private func unknownRelays() async -> RelayApprovalPolicy {
        if let told = settings.unknownRelays { return told }
        // An unreadable policy permits nothing.
        return await blocking.attempt("read the relay policy") { [trust] in
            try trust.policy() ?? .ask
        } ?? .ask
    }

    /// Lets the core receive a file, encrypted regardless of its own setting. Succeeds if the core already
    /// receives it.
    ///
    /// - Throws: `.file(.notApproved)` with the relays.
    func receive(_ file: FileID, approved: Bool) async throws(ChatError) {
        if let phone = settings.phone { try await check(file, on: phone) }
        let unknownRelays = await unknownRelays()
        let approved = approved || unknownRelays == .always
        do throws(OfficialCoreError) {
            try await accept(file, approved: approved)
        } catch {
            guard let refusal = error.refusal else {
                throw settings.phone == nil ? error.chatError : PhoneErrors.forReader(error.chatError)
            }
            if refusal.has("fileAlreadyReceiving") { return }
            guard refusal.has("fileNotApproved"), !approved, unknownRelays != .never,
                await approves(refusal.unknownRelays)
            else { throw error.chatError }
            do throws(OfficialCoreError) {
                try await accept(file, approved: true)
            } catch {
                throw error.chatError
            }
        }
    }

    /// Checks a file for a phone, whose storage it would use.
    /// - Throws: `.file(.notApproved)` above the size limit; `.file(.unreachable)` while the phone is not
    ///   connected.
    private func check(_ file: FileID, on phone: OfficialCoreSettings.Phone) async throws(ChatError) {
        let item = try await index.reading { try $0.items.item(of: file) }
        let size = item?.file?.size ?? 0
        guard phone.receiveLimit > 0 else {
            throw ChatError(
                .file(.notApproved),
                "This file is not on the phone, and this mount does not let the phone receive files (--policy phone-only)."
            )
        }
        guard size <= phone.receiveLimit else {
            throw ChatError(
                .file(.notApproved),
                "The phone would need \(ByteCount.rounded(size)) of its storage to receive this file: more than "
                    + "--receive-limit allows. Receive it in SimpleX on the phone.")
        }
        do throws(ChatError) {
            try await connection.waitUntilConnected(timeout: phone.awayTimeout)
        } catch {
            throw PhoneErrors.forReader(error)
        }
    }

    private func approves(_ relays: [String]) async -> Bool {
        await indexThreads.run { [trust] in trust.approves(relays) }
    }

    private func accept(_ file: FileID, approved: Bool) async throws(OfficialCoreError) {
        let command = APICommand.receiveFile(file, approvedRelays: approved, encrypted: true, path: nil)
        let began = ContinuousClock.now
        switch try await connection.ask(command, timeout: .seconds(60)) {
        case .rcvFileAccepted(let item):
            // Events use another connection, so a small file may be complete before this answer.
            if recent.contains(item.id, since: began) { return }
            await blocking.attempt("record that a file is received") { [index] in
                try index.commit { change in try change.take(item, .look, .accepted) }
            }
        case .rcvFileAcceptedSndCancelled:
            await blocking.attempt("record that a file was cancelled") { [index] in
                try index.commit { change in
                    try change.setStatus(.rcvCancelled, of: file, .cancelledByPeer)
                }
            }
            throw OfficialCoreError(refusal: APIError(path: ["error", "fileCancelled"]))
        default:
            throw OfficialCoreError(.notUnderstood, "The SimpleX core did not accept the file.")
        }
    }
}
