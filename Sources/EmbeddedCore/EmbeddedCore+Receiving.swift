import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import Store
import XFTP

/// A received file as its row has it.
struct Offer {
    var status: String
    var transport: String
    var description: String?
    var problem: FileProblem
    var size: UInt64
    var approved: Bool
    var created: Timestamp
}

extension EmbeddedCore {
    public func receiveFile(_ file: FileID, approvedRelays: Bool) async throws(ChatError) {
        try await begin(file, approvedRelays: approvedRelays, acceptsEarly: true)
    }

    public func setFileToReceive(_ file: FileID, approvedRelays: Bool) async throws(ChatError) {
        try await begin(file, approvedRelays: approvedRelays, acceptsEarly: false)
    }

    /// Begins to receive, or notes that it is wanted as soon as the description is there. What is on
    /// its way already goes on; what has come is told once more.
    private func begin(
        _ file: FileID, approvedRelays: Bool, acceptsEarly: Bool
    ) async throws(ChatError) {
        guard !desk.isClaimed(file) else { throw Self.alreadyReceiving }
        let starts = try await work { [self] in
            if try isInlineOnItsWay(file) { try takeInInline(file.rawValue, telling: true) }
            return try commit { change -> Bool in
                let offer = try offer(file, change.connection)
                switch offer.status {
                case "rcv_complete":
                    try change.tell({ .rcvFileComplete($0) }, ofFile: file.rawValue)
                    return false
                case "rcv_accepted", "rcv_transfer", "rcv_warning":
                    return offer.description != nil
                default:
                    try refuseDeadEnd(offer)
                }
                if let description = offer.description {
                    try check(description, approvedNow: approvedRelays, change.connection)
                }
                let status = offer.description != nil || acceptsEarly ? "rcv_accepted" : offer.status
                try change.connection.execute(
                    "UPDATE file SET status = ?, to_receive = 1, approved = ? WHERE id = ?",
                    status, approvedRelays, file.rawValue)
                if status == "rcv_accepted" {
                    try change.tell({ .rcvFileAccepted($0) }, ofFile: file.rawValue)
                }
                return offer.description != nil
            }
        }
        if starts { startDownload(file) }
    }

    static let alreadyReceiving = ChatError(.alreadyReceiving, "The file is being received already.")

    private func isInlineOnItsWay(_ file: FileID) throws -> Bool {
        try read {
            try $0.connection.exists(
                "SELECT 1 FROM file WHERE id = ? AND profile = ? AND inline_content IS NOT NULL",
                file.rawValue, profile.id)
        }
    }

    func offer(_ file: FileID, _ connection: Connection) throws -> Offer {
        let offer = try connection.first(
            """
            SELECT status, transport, description, problem, problem_sentence, size, approved, created
            FROM file WHERE id = ? AND profile = ? AND item IS NOT NULL AND status LIKE 'rcv%'
            """, file.rawValue, profile.id
        ) { row in
            Offer(
                status: row.text(0), transport: row.text(1), description: row.textOrNil(2),
                problem: FileProblem(FileProblem.Kind(rawValue: row.text(3)) ?? .other, row.text(4)),
                size: row.unsigned(5), approved: row.bool(6), created: row.timestamp(7))
        }
        guard let offer else { throw ChatError.noSuchFile }
        return offer
    }

    func refuseDeadEnd(_ offer: Offer) throws(ChatError) {
        switch offer.status {
        case "rcv_cancelled": throw Self.cancelledBySender
        case "rcv_error": throw ChatError(.file(offer.problem.kind), offer.problem.sentence)
        default: return
        }
    }

    private static let cancelledBySender = ChatError(
        .file(.cancelledBySender), "The sender cancelled the file.")

    /// Refuses a description that makes no sense or whose relays may not be contacted.
    func check(
        _ description: String, approvedNow: Bool, _ connection: Connection
    ) throws {
        let parsed: FileDescription
        do {
            parsed = try FileDescription(parsing: description)
        } catch {
            throw ChatError(.file(.damaged), error.sentence, cause: error)
        }
        // Only links have such descriptions. Followed, it would lead to relays that nobody has approved.
        guard parsed.redirect == nil else {
            throw ChatError(
                .file(.damaged), "The file's description only leads to that of another file: not followed.")
        }
        try relayRules(connection).check(parsed.relays, approvedNow: approvedNow)
    }

    /// The rules as they are now; the connections to relays follow them too.
    func relayRules(_ connection: Connection) throws -> RelayRules {
        let rules = try directory.relayRules(of: profile, connection)
        trust.follow(rules)
        return rules
    }

    // MARK: - By themselves

    /// When a description has arrived: whether the file is to be received now, because it was asked
    /// for or by its type and size. Relays that may not be contacted leave it an offer.
    func beginWhenWanted(_ item: ChatItem, _ file: ChatFile, _ change: Change) throws -> Bool {
        let offer = try offer(file.id, change.connection)
        let isAskedFor = try change.connection.exists(
            "SELECT 1 FROM file WHERE id = ? AND to_receive = 1", file.id.rawValue)
        guard let description = offer.description, ["rcv_invitation", "rcv_accepted"].contains(offer.status),
            isAskedFor || FilePolicy.receivesAtArrival(item.content, size: file.size),
            !desk.isClaimed(file.id)
        else { return false }
        do {
            try check(description, approvedNow: offer.approved, change.connection)
        } catch {
            guard offer.status == "rcv_accepted" else { return false }
            _ = try change.setStatus("rcv_aborted", ofFile: file.id.rawValue, from: [offer.status])
            try change.tell({ .chatItemUpdated($0) }, ofFile: file.id.rawValue)
            return false
        }
        if try change.setStatus("rcv_accepted", ofFile: file.id.rawValue, from: ["rcv_invitation"]) {
            try change.tell({ .rcvFileAccepted($0) }, ofFile: file.id.rawValue)
        }
        return true
    }

    // MARK: - Downloading

    func startDownload(_ file: FileID) {
        desk.start(file, in: .download) { [weak self] in await self?.download(file) ?? false }
    }

    /// One try. True when another is worth it.
    private func download(_ file: FileID) async -> Bool {
        do throws(ChatError) {
            guard let job = try await work({ [self] in try beginDownload(file) }) else { return false }
            switch await fetch(job, file) {
            case .success:
                _ = try await work { [self] in try store(job.location, of: file) }
                return false
            case .failure where Task.isCancelled:
                return false
            case .failure(let failure):
                let isOver = directory.clock.now() > job.created.advanced(by: Self.relayExpiry)
                let isFinal = isOver || !failure.isTemporary
                try await work { [self] in try note(failure.problem, isFinal: isFinal, of: file) }
                return !isFinal
            }
        } catch {
            log.warning("A file could not be received: \(error.sentence)")
            let kind: FileProblem.Kind = if case .file(let kind) = error.code { kind } else { .other }
            let problem = FileProblem(kind, error.sentence)
            _ = try? await work { [self] in try note(problem, isFinal: problem.isFinal, of: file) }
            return !problem.isFinal && kind != .notApproved
        }
    }

    private func fetch(
        _ job: DownloadJob, _ file: FileID
    ) async -> Result<Void, TransferFailure> {
        do throws(TransferFailure) {
            return .success(
                try await transfers.download(job.order) { [self] done, total in
                    tellProgress(of: file, TransferProgress(done: done, total: total), item: job.item)
                })
        } catch {
            return .failure(error)
        }
    }

    private struct DownloadJob {
        var description: String
        /// Where the CryptoFile grows, with the key that it has from the first attempt on.
        var location: FileSourceLocation
        var item: ChatItem
        var created: Timestamp

        var order: DownloadOrder {
            DownloadOrder(
                source: .description(description),
                destination: location.arguments.map { .cryptoFile($0) } ?? .plain, path: location.path)
        }
    }

    private func beginDownload(_ file: FileID) throws -> DownloadJob? {
        try commit { change in
            guard let offer = try? offer(file, change.connection), let description = offer.description,
                try change.setStatus(
                    "rcv_transfer", ofFile: file.rawValue,
                    from: ["rcv_accepted", "rcv_transfer", "rcv_warning"]),
                let item = try change.item(ofFile: file.rawValue)
            else { return nil }
            try check(description, approvedNow: offer.approved, change.connection)
            let fresh = CryptoFile.freshArguments()
            try change.connection.execute(
                "UPDATE file SET key = ?, nonce = ? WHERE id = ? AND key IS NULL",
                fresh.key, fresh.nonce, file.rawValue)
            let arguments = try change.connection.first(
                "SELECT key, nonce FROM file WHERE id = ?", file.rawValue
            ) { FileArguments(key: $0.bytes(0), nonce: $0.bytes(1)) }
            if offer.status == "rcv_accepted" { change.tell(.rcvFileStart(item)) }
            return DownloadJob(
                description: description,
                location: FileSourceLocation(
                    path: folders.incomingPath(of: file), arguments: arguments),
                item: item, created: offer.created)
        }
    }

    /// Makes a CryptoFile the received content of a file. Returns where it lies now.
    func store(_ location: FileSourceLocation, of file: FileID) throws -> FileSourceLocation {
        let size = try read { try offer(file, $0.connection).size }
        let name = try folders.keep(location, size: size)
        do {
            try commit { change in
                try refuseDeadEnd(try offer(file, change.connection))
                guard
                    try change.setStatus(
                        "rcv_complete", ofFile: file.rawValue,
                        from: [
                            "rcv_invitation", "rcv_accepted", "rcv_transfer", "rcv_warning", "rcv_aborted",
                        ])
                else { throw ChatError(.invalidCommand, "The file has been received already.") }
                try change.connection.execute(
                    "UPDATE file SET stored_name = ?, key = ?, nonce = ? WHERE id = ?",
                    name, location.arguments?.key, location.arguments?.nonce, file.rawValue)
                try change.tell({ .rcvFileComplete($0) }, ofFile: file.rawValue)
            }
        } catch {
            folders.remove(name)
            throw error
        }
        unlink(location.path)
        return FileSourceLocation(path: folders.filesPath + "/" + name, arguments: location.arguments)
    }

    /// Notes why a download ended or waits.
    private func note(_ problem: FileProblem, isFinal: Bool, of file: FileID) throws {
        let running = ["rcv_accepted", "rcv_transfer", "rcv_warning"]
        try commit { change in
            let status = problem.kind == .notApproved ? "rcv_aborted" : isFinal ? "rcv_error" : "rcv_warning"
            guard try change.setStatus(status, ofFile: file.rawValue, from: running, problem: problem) else {
                return
            }
            switch status {
            case "rcv_error": try change.tell({ .rcvFileError($0, problem) }, ofFile: file.rawValue)
            case "rcv_warning": try change.tell({ .rcvFileWarning($0, problem) }, ofFile: file.rawValue)
            default: try change.tell({ .chatItemUpdated($0) }, ofFile: file.rawValue)
            }
        }
        if isFinal { unlink(folders.incomingPath(of: file)) }
    }

    func tellProgress(of file: FileID, _ progress: TransferProgress, item: ChatItem) {
        guard desk.note(progress, of: file) else { return }
        var item = item
        if item.direction == .sent {
            item.file?.status = .sndTransfer(sent: progress.done, total: progress.total)
            hub.tell(.sndFileProgressXFTP(item, sent: progress.done, total: progress.total))
        } else {
            item.file?.status = .rcvTransfer(received: progress.done, total: progress.total)
            hub.tell(.rcvFileProgressXFTP(item, received: progress.done, total: progress.total))
        }
    }
}

extension FileProblem {
    /// Whether the file can never be had, whatever is tried.
    var isFinal: Bool {
        switch kind {
        case .expired, .neverUploaded, .cancelledBySender, .blocked, .damaged, .tooLarge: true
        case .notApproved, .unreachable, .timedOut, .noSpace, .relayFull, .noRelay, .other: false
        }
    }
}
