import Base
import ChatCore
import Store

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
            while true {
                let description = try descriptionText(of: file).map(parsed)
                let starts = try commit { change in
                    try begin(
                        file, description, approvedRelays: approvedRelays, acceptsEarly: acceptsEarly, change)
                }
                if let starts { return starts }
            }
        }
        if starts { startDownload(file) }
    }

    /// Whether the download is to be started now; nil when the description arrived after it was looked for.
    private func begin(
        _ file: FileID, _ description: ReceivedDescription?, approvedRelays: Bool, acceptsEarly: Bool,
        _ change: Change
    ) throws -> Bool? {
        let offer = try offer(file, change.connection)
        switch offer.status {
        case "rcv_complete":
            try change.tell({ .rcvFileComplete($0) }, ofFile: file.rawValue)
            return false
        case "rcv_accepted", "rcv_transfer", "rcv_warning":
            return offer.isDescribed
        default:
            try refuseDeadEnd(offer)
        }
        if offer.isDescribed {
            guard let description else { return nil }
            try check(description, approvedNow: approvedRelays, change.connection)
        }
        let status = offer.isDescribed || acceptsEarly ? "rcv_accepted" : offer.status
        try change.connection.execute(
            "UPDATE file SET status = ?, to_receive = 1, approved = ? WHERE id = ?",
            status, approvedRelays, file.rawValue)
        if status == "rcv_accepted" {
            try change.tell({ .rcvFileAccepted($0) }, ofFile: file.rawValue)
        }
        return offer.isDescribed
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
            SELECT status, transport, description IS NOT NULL, problem, problem_sentence, size, approved,
                created
            FROM file WHERE id = ? AND profile = ? AND item IS NOT NULL AND status LIKE 'rcv%'
            """, file.rawValue, profile.id
        ) { row in
            Offer(
                status: row.text(0), transport: row.text(1), isDescribed: row.bool(2),
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

    /// The rules as they are now; the connections to relays follow them too.
    func relayRules(_ connection: Connection) throws -> RelayRules {
        let rules = try directory.relayRules(of: profile, connection)
        trust.follow(rules)
        return rules
    }

    // MARK: - By themselves

    /// Whether a file that is described is to be received without a further word: it was asked for, or by
    /// its type and size.
    func isWanted(_ item: ChatItem, _ file: ChatFile, _ connection: Connection) throws -> Bool {
        let offer = try offer(file.id, connection)
        guard offer.isDescribed, ["rcv_invitation", "rcv_accepted", "rcv_aborted"].contains(offer.status),
            !desk.isClaimed(file.id)
        else { return false }
        if FilePolicy.receivesAtArrival(item.content, size: file.size) { return true }
        return try connection.exists(
            "SELECT 1 FROM file WHERE id = ? AND to_receive = 1", file.id.rawValue)
    }

    /// When a description has arrived, or relays were approved: whether the file is to be received now.
    /// Relays that may not be contacted leave it an offer, which says so.
    ///
    /// - Parameter description: nil when the file was not wanted a moment ago. Who has asked for it since
    ///   then has begun it too.
    func beginWhenWanted(
        _ item: ChatItem, _ file: ChatFile, _ description: ReceivedDescription?, _ change: Change
    ) throws -> Bool {
        guard let description, try isWanted(item, file, change.connection) else { return false }
        let offer = try offer(file.id, change.connection)
        do {
            try check(description, approvedNow: offer.approved, change.connection)
        } catch let error as ChatError {
            guard case .file(let kind) = error.code, kind == .notApproved || offer.status == "rcv_accepted",
                offer.problem.sentence != error.sentence
            else { return false }
            let problem = FileProblem(kind, error.sentence)
            if try change.setStatus(
                "rcv_aborted", ofFile: file.id.rawValue, from: [offer.status], problem: problem)
            {
                try change.tell({ .chatItemUpdated($0) }, ofFile: file.id.rawValue)
            }
            return false
        }
        if try change.setStatus(
            "rcv_accepted", ofFile: file.id.rawValue, from: ["rcv_invitation", "rcv_aborted"])
        {
            try change.tell({ .rcvFileAccepted($0) }, ofFile: file.id.rawValue)
        }
        return true
    }
}
