import Agent
import Base
import ChatCore
import ChatProtocol

/// Inline files: files that arrive in chunks within messages (`x.file.acpt.inv`, binary chunks `F`).
extension ProfileChange {
    /// Maximum number of automatic inline transfers per author. Further files wait for a request.
    private static let maxAskedByItself = 8

    /// Requests an offered inline file if it is received automatically. The request acts as a receipt, so
    /// nothing is sent where receipts are off.
    func receiveAutomatically(_ item: ItemID, from author: Author, in chat: Int64) throws {
        guard try tables.directory.profiles.sendsReceipts(profile), let item = try tables.items.item(item),
            let file = item.file, arrivals.receives(item),
            try tables.inlineTransfers.count(by: author, in: chat) < Self.maxAskedByItself,
            try tables.network.budgets.allow(file.size, of: author, in: chat, free: nil, at: elapsed)
        else { return }
        // A file that cannot be requested now stays an offer.
        if try receiveInline(file.id) == nil {
            _ = try chargeBudget(file.size, of: author, in: chat, isPushed: false)
        }
    }

    /// Charges an author's daily budgets for automatic files.
    /// - Returns: false if one is exhausted; nothing is charged then.
    private func chargeBudget(
        _ size: UInt64, of author: Author, in chat: Int64, isPushed: Bool
    ) throws -> Bool {
        let budgets = tables.network.budgets
        guard try budgets.allow(size, of: author, in: chat, free: nil, at: elapsed, isPushed: isPushed)
        else { return false }
        try budgets.spend(size, of: author, in: chat, at: elapsed)
        return true
    }

    /// Requests an inline file from its sender. A transfer cannot be stopped, and the file is requested only
    /// once.
    /// - Returns: the reason if it is unavailable.
    func receiveInline(_ file: FileID) throws -> FileProblem? {
        if try tables.inlineTransfers.transfer(of: file) == nil {
            if let problem = try ask(for: file) {
                guard problem.isFinal else { return problem }
                try setStatus(.rcvError, of: file, from: StoredFileStatus.offered, problem: problem)
                try tell(.failed(problem), of: file)
                return problem
            }
            try tables.inlineTransfers.begin(file, isAsked: true)
        }
        try tables.downloads.request(file, .rcvAccepted, isApproved: false)
        try reportInline(.accepted, of: file)
        return nil
    }

    private func ask(for file: FileID) throws -> FileProblem? {
        guard let item = try tables.items.item(of: file), let name = item.file?.name,
            let (key, chat) = try tables.sharedMessages.received(item.id), try tables.chats.isOpen(chat)
        else { return .senderGone }
        let connection: ConnectionID?
        switch key.author {
        case .own: return .senderGone
        case .contact: connection = try tables.people.connection(ofChat: chat)
        case .member(let id):
            connection = try self.connection(with: id, in: chat)
            let status = try tables.groups.member(id, of: chat)?.status
            if connection == nil, status != .left, status != .removed { return .senderNotConnected }
        }
        guard let connection else { return .senderGone }
        let message = ChatMessage(
            .fileAccepted(key.id, name: name), id: SharedMessageID(from: SystemRandomSource()))
        try send(OutgoingMessage(message, to: connection, of: item.id))
        return nil
    }

    /// Resets a file after its request failed, unless chunks have arrived. The user can request it again.
    func noteFailedRequest(for file: FileID, _ reason: String) throws {
        guard try tables.inlineTransfers.transfer(of: file)?.received == 0 else { return }
        try tables.inlineTransfers.end(file)
        let problem = FileProblem(.unreachable, "Its sender could not be asked for it: \(reason)")
        guard try setStatus(.rcvAborted, of: file, from: [.rcvAccepted], problem: problem) else { return }
        try tell(.updated, of: file)
    }

    // MARK: - Chunks

    /// Starts an unrequested transfer. Beyond the author's budget, its chunks are dropped.
    func beginInline(_ file: FileID, of item: ItemID, by author: Author, in side: ChatSide) throws {
        let size = try tables.items.item(item)?.file?.size ?? 0
        guard try chargeBudget(size, of: author, in: side.chat, isPushed: true) else {
            guard try setStatus(.rcvError, of: file, from: StoredFileStatus.offered, problem: .tooManyUnasked)
            else { return }
            return try post(.failed(item), to: side)
        }
        try tables.inlineTransfers.begin(file, isAsked: false)
        try setStatus(.rcvAccepted, of: file, from: [.rcvInvitation])
    }

    /// Stores a chunk.
    func keepInline(_ bytes: [UInt8], as transfer: InlineTransfer, of file: FileID) throws {
        try tables.inlineTransfers.keep(bytes, as: transfer, of: file)
        if try setStatus(.rcvTransfer, of: file, from: [.rcvAccepted]) {
            try reportInline(.started, of: file)
        }
        if try tables.files.status(of: file) == .rcvTransfer, try !tables.inbox.announces(file),
            let item = try tables.items.item(of: file)
        {
            tell(
                .fileProgress(
                    FileProgress(of: file, in: item, done: transfer.bytes, total: transfer.size)))
        }
        if transfer.isComplete { scheduleInlineContent() }
    }

    /// Fails a transfer for good.
    func failInline(_ file: FileID, _ item: ItemID, _ failure: InlineTransfer.Failure, in side: ChatSide)
        throws
    {
        try tables.inlineTransfers.end(file)
        let from = StoredFileStatus.offered + StoredFileStatus.downloading
        guard try setStatus(.rcvError, of: file, from: from, problem: FileProblem(failure)) else { return }
        try post(.failed(item), to: side)
    }

    /// Fails transfers whose sender has left.
    /// - Parameter author: the sender; nil for all of the chat.
    func failInlineTransfers(in side: ChatSide, by author: Author? = nil) throws {
        for item in try tables.inlineTransfers.giveUp(in: side.chat, by: author, .senderGone) {
            try post(.failed(item), to: side)
        }
    }

    /// Reports an inline event, unless the inbox will still announce the message with the file's current
    /// state.
    private func reportInline(_ cause: ItemChange, of file: FileID) throws {
        if try !tables.inbox.announces(file) { try tell(cause, of: file) }
    }
}

extension FileProblem {
    fileprivate static let senderGone = FileProblem(
        .expired, "Only its sender had this file, and has left this chat before it was sent.")
    fileprivate static let senderNotConnected = FileProblem(
        .unreachable, "Only its sender has this file, and there is no connection with them at present.")
    /// The user left the chat.
    static let leftBeforeSent = FileProblem(
        .expired, "Only its sender had this file, and you have left the chat before it was sent.")
    static let tooManyUnasked = FileProblem(
        .neverUploaded,
        "Its sender has sent more files within messages than are taken in a day: ask them to send it again.")
    static let tooLargeForMessages = FileProblem(
        .tooLarge,
        "Its sender's program sends this file within messages. There up to \(InlineTransfer.largestOffered) bytes are "
            + "taken, or \(InlineTransfer.largestUnasked) without a request.")

    fileprivate init(_ failure: InlineTransfer.Failure) {
        switch failure {
        case .gap:
            self.init(.damaged, "A part of this file got lost on its way: ask its sender to send it again.")
        case .wrongLength:
            self.init(
                .damaged,
                "The received file does not have the length that its message announced: ask its sender to send it again."
            )
        case .overtaken:
            self.init(
                .neverUploaded, "The rest of this file was never sent: ask its sender to send it again.")
        }
    }
}
