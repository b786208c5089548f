import Base
import Cryptography
import SMP

/// What all commands do to queues, subscriptions and the quota, within transactions of the database: a value without
/// input and output besides. What is to be said afterwards is kept until the transaction is over.
struct CommandProcessor {
    private let settings: MessageRelaySettings
    private var deliveries = Deliveries()
    private(set) var disk: DiskUse
    private var replies = Replies()
    private var newQueues: [UInt64: QueueAllowance] = [:]

    init(settings: MessageRelaySettings, used: UInt64) {
        self.settings = settings
        disk = DiskUse(limit: settings.quota, bytes: used)
    }

    /// Messages longer than this fit into no block with what the relay adds.
    private static let longestMessage = 16_048
    private static let idLength = 24

    // MARK: All or nothing

    /// What was done is on disk: answers what is to be said now.
    mutating func commit() -> [Replies.Entry] {
        deliveries.commit()
        disk.commit()
        return replies.take()
    }

    /// Nothing of it happened.
    mutating func rollBack() {
        deliveries.rollBack()
        disk.rollBack()
        replies.rollBack()
    }

    // MARK: What happens

    /// A client is gone.
    mutating func remove(_ client: Client) {
        deliveries.remove(client)
        newQueues[client.number] = nil
    }

    /// A client has capacity for what it was not given.
    mutating func resume(_ client: Client, _ records: QueueRecords) throws {
        while true {
            let queues = deliveries.ready(client, atMost: 1)
            guard let first = queues.first else { return }
            guard let queue = try records.queue(first) else { continue }
            try deliver(queue, records)
            if deliveries.isWaiting(first) { return }
        }
    }

    /// Forgets messages that are too old, some at a time; false when there are no more.
    mutating func expire(_ records: QueueRecords) throws -> Bool {
        let limit = settings.clock.now().seconds - settings.expiry.components.seconds
        let deleted = try records.deleteMessages(receivedBefore: limit, limit: 200)
        disk.remove(deleted.bytes)
        return deleted.count == 200
    }

    /// Carries out one command, whose answer is among what is told afterwards.
    ///
    /// - Throws: what the database throws.
    mutating func perform(
        _ received: ServerSession.Received, of client: Client, _ authority: SessionAuthority,
        _ records: QueueRecords
    ) throws {
        let transmission = received.transmission
        do {
            let command = try received.command.get()
            if case .handOn(let box) = command {
                let inner = try HandedOn(box, correlationID: transmission.correlationID, authority)
                let answer = try performHandedOn(inner.received, of: client, authority, records)
                return replies.answer(inner.sealed(answer), to: transmission, of: client)
            }
            let access = CommandAccess(records: records, authority: authority)
            let queue = try access.queue(of: transmission, command)
            if queue != nil, !transmission.authorization.isEmpty { client.becomesKnown() }
            let request = Request(command: command, transmission: transmission, client: client)
            if let answer = try perform(request, queue, records) {
                replies.answer(answer, to: transmission, of: client)
            }
        } catch let refusal as ServerError {
            replies.answer(.error(refusal), to: transmission, of: client)
        }
    }

    /// What a client asked that this relay does not see, over another server. It never becomes known by that.
    private mutating func performHandedOn(
        _ received: ServerSession.Received, of client: Client, _ authority: SessionAuthority,
        _ records: QueueRecords
    ) throws -> Answer {
        do {
            let command = try received.command.get()
            let queue = try CommandAccess(records: records, authority: authority)
                .queue(of: received.transmission, command)
            let request = Request(command: command, transmission: received.transmission, client: client)
            return try perform(request, queue, records) ?? .error(.internalError)
        } catch let refusal as ServerError {
            return .error(refusal)
        }
    }

    private struct Request {
        let command: Command
        let transmission: Transmission
        let client: Client
    }

    /// The answer, or nil when it was given already. A refusal that is thrown has changed nothing.
    private mutating func perform(
        _ request: Request, _ queue: QueueRecord?, _ records: QueueRecords
    ) throws -> Answer? {
        switch (request.command, queue) {
        case (.ping, _): return .pong
        case (.create(let new), _): return try create(new, request, records)
        case (.subscribe, .some(let queue)): return try subscribe(queue, request, records)
        case (.secure(let key), .some(let queue)): return try secure(queue, with: key, records)
        case (.acknowledge(let id), .some(let queue)): return try acknowledge(id, queue, request, records)
        case (.suspend, .some(let queue)):
            try records.suspend(queue.id)
            return .ok
        case (.delete, .some(let queue)): return try delete(queue, request, records)
        case (.queueInformation, .some(let queue)): return .information(try describe(queue, records))
        case (.setLink(let id, let data), .some(let queue)): return try setLink(id, data, queue, records)
        case (.deleteLink, .some(let queue)):
            disk.remove(DiskUse.link(try records.link(of: queue.id)?.data))
            try records.deleteLink(of: queue.id)
            return .ok
        case (.secureAsSender(let key), .some(let queue)): return try secure(queue, with: key, records)
        case (.send(let flags, let body), .some(let queue)):
            return try send(flags, body, to: queue, records)
        case (.openInvitation(let key), .some(let queue)):
            let link = try open(queue, records)
            _ = try secure(queue, with: key, records)
            return link
        case (.openContact, .some(let queue)): return try open(queue, records)
        default: throw ServerError.authorization
        }
    }

    // MARK: Queues

    private mutating func create(
        _ new: Command.NewQueue, _ request: Request, _ records: QueueRecords
    ) throws -> Answer {
        if let password = settings.password {
            guard constantTimeEqual(Array(password.utf8), new.password ?? []) else {
                throw ServerError.authorization
            }
        }
        let now = settings.clock.now().seconds
        var allowance =
            newQueues[request.client.number] ?? QueueAllowance(settings.limits.newQueues, now: now)
        guard allowance.take(now: now) else { throw ServerError.quota }
        let ids = try newIDs(new, request, records)
        try disk.require(DiskUse.queue + DiskUse.link(new.link?.data))
        // The client sent a key of small order.
        guard let secret = try? ids.key.wipedSecret(with: new.boxKey) else {
            throw ServerError.command(.syntax)
        }
        guard let id = try records.insert(new, ids.ids, boxSecret: secret) else {
            throw ServerError.authorization
        }
        if let link = new.link, let linkID = ids.ids.linkID {
            guard try records.setLink(linkID, link.data, of: id) else {
                throw MessageRelayError(.records, "A link is there twice.")
            }
        }
        newQueues[request.client.number] = allowance
        disk.add(DiskUse.queue + DiskUse.link(new.link?.data))
        request.client.becomesKnown()
        if new.subscribes { _ = deliveries.subscribe(request.client, to: id) }
        return .created(ids.ids)
    }

    private func newIDs(
        _ new: Command.NewQueue, _ request: Request, _ records: QueueRecords
    ) throws -> (ids: Answer.QueueIDs, key: AgreementKey) {
        let key = AgreementKey.generate(random: settings.random)
        var ids = Answer.QueueIDs(
            recipientID: settings.random.bytes(Self.idLength), senderID: settings.random.bytes(Self.idLength),
            boxKey: key.publicKey, mode: new.mode)
        guard let link = new.link else { return (ids, key) }
        // The sender's id is in the link's data, so the client has to know it before; it can choose none freely.
        guard link.senderID == Command.senderID(of: request.transmission.correlationID) else {
            throw ServerError.command(.prohibited)
        }
        let linkID = link.id ?? settings.random.bytes(Self.idLength)
        guard linkID.count == Self.idLength else { throw ServerError.command(.syntax) }
        guard try records.queue(ofLink: linkID) == nil else { throw ServerError.authorization }
        (ids.senderID, ids.linkID) = (link.senderID, linkID)
        return (ids, key)
    }

    /// The same key once more changes nothing.
    private func secure(_ queue: QueueRecord, with key: [UInt8], _ records: QueueRecords) throws -> Answer {
        guard queue.senderKey == nil || queue.senderKey == key else { throw ServerError.authorization }
        if queue.senderKey == nil { try records.secure(queue.id, with: key) }
        return .ok
    }

    private mutating func delete(
        _ queue: QueueRecord, _ request: Request, _ records: QueueRecords
    ) throws -> Answer {
        disk.remove(try records.usedBytes(of: queue.id))
        try records.delete(queue.id)
        if let subscriber = deliveries.unsubscribe(queue.id), subscriber !== request.client {
            replies.inform(subscriber, .deleted, of: queue)
        }
        return .ok
    }

    private func describe(_ queue: QueueRecord, _ records: QueueRecords) throws -> [UInt8] {
        let count = try records.messageCount(of: queue.id)
        return Array(
            "{\"qiSnd\":\(queue.senderKey != nil),\"qiNtf\":false,\"qiSize\":\(count)}".utf8)
    }

    private mutating func setLink(
        _ id: [UInt8], _ data: LinkBlobs, _ queue: QueueRecord, _ records: QueueRecords
    ) throws -> Answer {
        let present = try records.link(of: queue.id)
        // What a link promises stays; what its owner says beside that may change.
        if let present, present.id != id || present.data.fixed != data.fixed {
            throw ServerError.authorization
        }
        guard queue.mode != nil else { throw ServerError.authorization }
        guard id.count == Self.idLength else { throw ServerError.command(.syntax) }
        let (old, new) = (DiskUse.link(present?.data), DiskUse.link(data))
        if new > old { try disk.require(new - old) }
        guard try records.setLink(id, data, of: queue.id) else { throw ServerError.authorization }
        disk.remove(old)
        disk.add(new)
        return .ok
    }

    private func open(_ queue: QueueRecord, _ records: QueueRecords) throws -> Answer {
        guard let link = try records.link(of: queue.id) else { throw ServerError.authorization }
        return .link(senderID: queue.senderID, data: link.data)
    }

    // MARK: Messages

    private mutating func send(
        _ flags: [UInt8], _ body: [UInt8], to queue: QueueRecord, _ records: QueueRecords
    ) throws -> Answer {
        guard body.count <= Self.longestMessage, flags.count <= 16 else { throw ServerError.largeMessage }
        guard !queue.isFull else { throw ServerError.quota }
        let now = settings.clock.now().seconds
        var message = DeliveredBody.message(received: now, flags: flags, body: body)
        let isTooMuch = try records.messageCount(of: queue.id) >= settings.limits.messages
        if isTooMuch {
            // Tells the recipient, when it comes there, that its sender has been refused.
            message = .quota(received: now)
            try records.setFull(true, queue.id)
        } else {
            try disk.require(DiskUse.message(body))
        }
        try records.append(message, id: settings.random.bytes(Self.idLength), to: queue.id)
        disk.add(isTooMuch ? DiskUse.message : DiskUse.message(body))
        try deliver(queue, records)
        return isTooMuch ? .error(.quota) : .ok
    }

    private mutating func subscribe(
        _ queue: QueueRecord, _ request: Request, _ records: QueueRecords
    ) throws -> Answer? {
        if let former = deliveries.subscribe(request.client, to: queue.id) {
            replies.inform(former, .end, of: queue)
        }
        replies.answer(.subscribed, to: request.transmission, of: request.client)
        try deliver(queue, records)
        return nil
    }

    private mutating func acknowledge(
        _ id: [UInt8], _ queue: QueueRecord, _ request: Request, _ records: QueueRecords
    ) throws -> Answer? {
        guard let number = deliveries.acknowledge(id, of: queue.id, by: request.client) else {
            throw ServerError.noMessage
        }
        disk.remove(try records.deleteMessage(number))
        guard try records.hasMessages(queue.id) else {
            if queue.isFull { try records.setFull(false, queue.id) }
            return .ok
        }
        replies.answer(.ok, to: request.transmission, of: request.client)
        try deliver(queue, records)
        return nil
    }

    /// Gives the next message of a queue to who has subscribed, if nothing of it is on its way.
    private mutating func deliver(_ queue: QueueRecord, _ records: QueueRecords) throws {
        guard let client = deliveries.begin(queue.id) else { return }
        let message: StoredMessage?
        do {
            message = try records.firstMessage(of: queue.id)
        } catch {
            client.releaseDelivery()
            throw error
        }
        guard let message else { return client.releaseDelivery() }
        deliveries.delivered(queue.id, message)
        replies.deliver(message, of: queue, to: client)
    }
}
