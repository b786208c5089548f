import Base
import Cryptography
import SMP

/// Applies commands to queues, subscriptions and the quota, within database transactions. A value without other input
/// and output. Replies are kept until the transaction has committed.
struct CommandProcessor {
    let settings: MessageRelaySettings
    var deliveries = Deliveries()
    var disk: DiskUse
    var replies = Replies()
    var allowances: PeerAllowances

    init(settings: MessageRelaySettings, used: UInt64) {
        self.settings = settings
        disk = DiskUse(limit: settings.quota, bytes: used)
        allowances = PeerAllowances(queuesPerHour: settings.limits.newQueues, quota: settings.quota)
    }

    /// The longest message body that fits into a block with the relay's fields, in bytes.
    private static let longestMessage = 16_048
    private static let idLength = 24

    // MARK: Transactions

    /// Called after a commit. Returns the replies to send.
    mutating func commit() -> [Replies.Entry] {
        deliveries.commit()
        disk.commit()
        return replies.take()
    }

    /// Called after a rollback.
    mutating func rollBack() {
        deliveries.rollBack()
        disk.rollBack()
        replies.rollBack()
    }

    // MARK: Events

    /// Removes a client that has gone.
    mutating func remove(_ client: Client) {
        deliveries.remove(client)
    }

    /// Delivers postponed messages to a client with new capacity.
    mutating func resume(_ client: Client, _ records: QueueRecords) throws {
        while true {
            let queues = deliveries.ready(client, atMost: 1)
            guard let first = queues.first else { return }
            guard let queue = try records.queue(first) else { continue }
            try deliver(queue, records)
            if deliveries.isWaiting(first) { return }
        }
    }

    /// Performs a request. Its answer is among the replies.
    ///
    /// - Throws: The errors of the database.
    mutating func perform(_ request: Request, of client: Client, _ records: QueueRecords) throws {
        do {
            let queue = try CommandAccess(records: records).queue(of: request)
            // Requests from another server never make a client known.
            if queue != nil, request.signer != nil, request.handedOn == nil { client.becomesKnown() }
            if let queue, queue.isUnused || queue.used < useTime {
                try records.noteUse(of: queue.id, at: useTime)
            }
            if let answer = try perform(request, client, queue, records) {
                replies.answer(answer, to: request, of: client)
            }
        } catch let refusal as ServerError {
            replies.answer(.error(refusal), to: request, of: client)
        }
    }

    /// Returns the answer, or nil if it was already added to the replies. An error means that nothing changed.
    private mutating func perform(
        _ request: Request, _ client: Client, _ queue: QueueRecord?, _ records: QueueRecords
    ) throws -> Answer? {
        switch (request.command, queue) {
        case (.new(let new), _): return try create(new, request, client, records)
        case (.subscribe, .some(let queue)): return try subscribe(queue, request, client, records)
        case (.secure(let key), .some(let queue)): return try secure(queue, with: key, records)
        case (.acknowledge(let id), .some(let queue)):
            return try acknowledge(id, queue, request, client, records)
        case (.suspend, .some(let queue)):
            try records.suspend(queue.id)
            return .ok
        case (.delete, .some(let queue)): return try delete(queue, client, records)
        case (.queueInformation, .some(let queue)): return .information(try describe(queue, records))
        case (.linkSet(let id, let data), .some(let queue)):
            return try setLink(id, data, queue, client, records)
        case (.linkDelete, .some(let queue)):
            disk.remove(DiskUse.link(try records.link(of: queue.id)?.data))
            try records.deleteLink(of: queue.id)
            return .ok
        case (.senderKey(let key), .some(let queue)): return try secure(queue, with: key, records)
        case (.send(let flags, let body), .some(let queue)):
            return try send(flags, body, to: queue, client, records)
        case (.linkKey(let key), .some(let queue)):
            let link = try open(queue, records)
            _ = try secure(queue, with: key, records)
            return link
        case (.linkGet, .some(let queue)): return try open(queue, records)
        default: throw ServerError.authorization
        }
    }

    /// Checks the quota and, if little space is left, the allowance of the client's address.
    private mutating func require(_ bytes: UInt64, _ client: Client) throws(ServerError) {
        try disk.require(bytes)
        guard disk.isScarce(after: bytes) else { return }
        guard allowances.takeScarce(bytes, client.peer, now: settings.clock.now().seconds) else {
            throw .quota
        }
    }

    // MARK: Queues

    private mutating func create(
        _ new: Command.NewQueue, _ request: Request, _ client: Client, _ records: QueueRecords
    ) throws -> Answer {
        guard allowances.takeQueue(client.peer, now: settings.clock.now().seconds) else {
            throw ServerError.quota
        }
        let ids = try newIDs(new, request, records)
        try require(DiskUse.queue + DiskUse.link(new.link?.data), client)
        // The client's key has small order.
        guard let secret = try? ids.key.wipedSecret(with: new.boxKey) else {
            throw ServerError.command(.syntax)
        }
        guard let id = try records.insert(new, ids.ids, boxSecret: secret, at: useTime) else {
            throw ServerError.authorization
        }
        if let link = new.link, let linkID = ids.ids.linkID {
            guard try records.setLink(linkID, link.data, of: id) else {
                throw MessageRelayError(.records, "A link exists twice.")
            }
        }
        disk.add(DiskUse.queue + DiskUse.link(new.link?.data))
        client.becomesKnown()
        if new.subscribes { _ = deliveries.subscribe(client, to: id) }
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
        // The link's data contain the sender's id, so the client must derive it in advance and cannot choose it freely.
        guard link.senderID == Command.senderID(of: request.correlationID) else {
            throw ServerError.command(.prohibited)
        }
        let linkID = link.id ?? settings.random.bytes(Self.idLength)
        guard linkID.count == Self.idLength else { throw ServerError.command(.syntax) }
        guard try records.queue(ofLink: linkID) == nil else { throw ServerError.authorization }
        (ids.senderID, ids.linkID) = (link.senderID, linkID)
        return (ids, key)
    }

    /// Secures a queue. Repeating the same key changes nothing.
    private func secure(_ queue: QueueRecord, with key: [UInt8], _ records: QueueRecords) throws -> Answer {
        guard queue.senderKey == nil || queue.senderKey == key else { throw ServerError.authorization }
        if queue.senderKey == nil { try records.secure(queue.id, with: key) }
        return .ok
    }

    private mutating func delete(
        _ queue: QueueRecord, _ client: Client, _ records: QueueRecords
    ) throws -> Answer {
        try forget(queue, records, by: client)
        return .ok
    }

    private func describe(_ queue: QueueRecord, _ records: QueueRecords) throws -> [UInt8] {
        let count = try records.messageCount(of: queue.id)
        return Array(
            "{\"qiSnd\":\(queue.senderKey != nil),\"qiNtf\":false,\"qiSize\":\(count)}".utf8)
    }

    private mutating func setLink(
        _ id: [UInt8], _ data: LinkBlobs, _ queue: QueueRecord, _ client: Client, _ records: QueueRecords
    ) throws -> Answer {
        let present = try records.link(of: queue.id)
        // The fixed data of a link cannot change; the user data can.
        if let present, present.id != id || present.data.fixed != data.fixed {
            throw ServerError.authorization
        }
        guard queue.mode != nil else { throw ServerError.authorization }
        guard id.count == Self.idLength else { throw ServerError.command(.syntax) }
        let (old, new) = (DiskUse.link(present?.data), DiskUse.link(data))
        if new > old { try require(new - old, client) }
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
        _ flags: [UInt8], _ body: [UInt8], to queue: QueueRecord, _ client: Client, _ records: QueueRecords
    ) throws -> Answer {
        guard body.count <= Self.longestMessage, flags.count <= 16 else { throw ServerError.largeMessage }
        guard !queue.isFull else { throw ServerError.quota }
        let now = settings.clock.now().seconds
        var message = DeliveredBody.message(received: now, flags: flags, body: body)
        let isTooMuch = try records.messageCount(of: queue.id) >= settings.limits.messages
        if isTooMuch {
            // The recipient's last message tells that a sender was refused.
            message = .quota(received: now)
            try records.setFull(true, queue.id)
        } else {
            try require(DiskUse.message(body), client)
        }
        try records.append(message, id: settings.random.bytes(Self.idLength), to: queue.id)
        disk.add(isTooMuch ? DiskUse.message : DiskUse.message(body))
        try deliver(queue, records)
        return isTooMuch ? .error(.quota) : .ok
    }

    private mutating func subscribe(
        _ queue: QueueRecord, _ request: Request, _ client: Client, _ records: QueueRecords
    ) throws -> Answer? {
        if let former = deliveries.subscribe(client, to: queue.id) {
            replies.inform(former, .end, of: queue)
        }
        replies.answer(.subscribed, to: request, of: client)
        try deliver(queue, records)
        return nil
    }

    private mutating func acknowledge(
        _ id: [UInt8], _ queue: QueueRecord, _ request: Request, _ client: Client, _ records: QueueRecords
    ) throws -> Answer? {
        guard let number = deliveries.acknowledge(id, of: queue.id, by: client) else {
            throw ServerError.noMessage
        }
        disk.remove(try records.deleteMessage(number))
        guard try records.hasMessages(queue.id) else {
            if queue.isFull { try records.setFull(false, queue.id) }
            return .ok
        }
        replies.answer(.ok, to: request, of: client)
        try deliver(queue, records)
        return nil
    }

    /// Delivers the next message of a queue to its subscriber, unless one is unacknowledged.
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
