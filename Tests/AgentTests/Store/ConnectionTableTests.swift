import Base
import Cryptography
import Ratchet
import SMP
import Store
import TestSupport
import Testing

@testable import Agent

/// Every field of a connection round-trips; a mixed-up column would lose keys.
@Suite struct ConnectionTableTests {
    private let folder: TemporaryFolder
    private let database: Database
    private let random = SeededBytes(11)

    init() throws {
        folder = try TemporaryFolder()
        database = try Database(path: folder.path("connections.db"), migrations: AgentSchema.migrations)
    }

    private func change<Result>(_ body: (ConnectionTable) throws -> Result) throws -> Result {
        try database.transaction { try body(ConnectionTable($0)) }
    }

    private func queues<Result>(_ body: (QueueTable) throws -> Result) throws -> Result {
        try database.transaction { try body(QueueTable($0)) }
    }

    private func receiving(_ status: ReceivingQueue.Status, server: UInt8 = 1) throws -> ReceivingQueue {
        var queue = ReceivingQueue.fresh(server: try Known.server(server), mode: .messaging, random: random)
        queue.status = status
        queue.recipientID = random.bytes(24)
        queue.senderID = random.bytes(24)
        queue.serverBoxKey = random.bytes(44)
        return queue
    }

    private func sending(_ use: SendingQueue.Use) throws -> SendingQueue {
        let key = try AgreementKey(rawValue: random.bytes(32)).publicKey
        return SendingQueue.fresh(
            try #require(
                QueueAddress(
                    server: Known.server(2), senderID: random.bytes(24), key: key, mode: .messaging)),
            version: 3, use: use, random: random)
    }

    /// A state with a different value in each column.
    private func full() throws -> ConnectionState {
        let pair = try MachinePair.connected(seed: 3)
        var plain = try receiving(.active)
        plain.senderKey = random.bytes(44)
        plain.keyToSecure = random.bytes(44)
        plain.isReplacement = true
        var linked = try receiving(.draining, server: 3)
        linked.mode = .contact
        linked.isTakenOver = true
        linked.leavesSince = ElapsedTime(seconds: 500)
        linked.link = StoredLink(
            kind: .channel, id: random.bytes(24), key: random.bytes(32), rootSeed: random.bytes(32),
            fixed: random.bytes(100))
        var state = ConnectionState(
            phase: .connected, agentVersion: 6, information: bytes("who I am"), receiving: [plain, linked])
        let kem = try #require(
            KEMKey(
                publicKey: random.bytes(KEMLength.publicKey),
                secretKey: WipedBytes(random.bytes(KEMLength.secretKey))))
        state.offeredKeys = .generate(kem: kem, random: random)
        state.joinersParameters = AgreementKeys.generate(kem: kem, random: random).parameters(version: 3)
        state.ratchet = pair.inviter.state.ratchet
        state.sequence = MessageSequence(
            lastSent: 11, lastSentHash: random.bytes(32), lastReceived: 22, lastReceivedHash: random.bytes(32)
        )
        state.synchronisation = RatchetSync(
            phase: .started, keys: .generate(random: random), ready: .answered,
            usedKeys: [random.bytes(32), random.bytes(32)])
        _ = state.moves.take(now: ElapsedTime(seconds: 100))
        for time: Int64 in [200, 300] { _ = state.agreements.take(now: ElapsedTime(seconds: time)) }
        var gone = try sending(.next)
        gone.isSecured = true
        gone.isGone = true
        gone.refusals = Refusals(count: 3, since: ElapsedTime(seconds: 400))
        state.sending = [try sending(.present), gone]
        return state
    }

    private static func expectSame(_ read: ConnectionState, _ state: ConnectionState) {
        #expect(read.phase == state.phase && read.agentVersion == state.agentVersion)
        #expect(read.information == state.information)
        #expect(read.offeredKeys?.stored == state.offeredKeys?.stored)
        #expect(read.joinersParameters == state.joinersParameters)
        #expect(read.ratchet?.encoded.bytes == state.ratchet?.encoded.bytes)
        #expect(read.sequence == state.sequence)
        #expect(read.synchronisation.phase == state.synchronisation.phase)
        #expect(read.synchronisation.keys?.stored == state.synchronisation.keys?.stored)
        #expect(read.synchronisation.ready == state.synchronisation.ready)
        #expect(read.synchronisation.usedKeys == state.synchronisation.usedKeys)
        #expect(read.moves == state.moves && read.agreements == state.agreements)
        #expect(read.sending == state.sending)
        let receiving = state.receiving.enumerated().map { place, queue in
            var queue = queue
            if place < read.receiving.count { queue.id = read.receiving[place].id }
            return queue
        }
        #expect(read.receiving == receiving && read.receiving.allSatisfy { $0.id != 0 })
    }

    @Test func connectionRoundTripsThroughTables() throws {
        let state = try full()
        let id = try change { try $0.insert(state, linkHash: [9]) }
        Self.expectSame(try change { try $0.load(id) }, state)
        let bare = ConnectionState(phase: .address, information: [], receiving: [])
        let other = try change { try $0.insert(bare) }
        Self.expectSame(try change { try $0.load(other) }, bare)
        Self.expectSame(try change { try $0.load(id) }, state)
        #expect(try change { try $0.all() } == [id, other])
        #expect(try change { try $0.all(in: .address) } == [other])
    }

    @Test func saveChangesOnlyItsConnection() throws {
        let state = try full()
        let (id, other) = (try change { try $0.insert(state) }, try change { try $0.insert(state) })
        let before = try change { try $0.load(id) }
        var after = before
        after.enter(.deleting)
        after.information = []
        after.offeredKeys = nil
        after.joinersParameters = nil
        after.ratchet = nil
        after.synchronisation = RatchetSync()
        after.receiving.remove(at: 0)
        after.receiving[0].status = .deleting
        after.receiving[0].link = nil
        after.receiving.append(try receiving(.creating))
        after.sending.removeFirst()
        try change { try $0.save(id, after, before: before) }
        let read = try change { try $0.load(id) }
        Self.expectSame(read, after)
        #expect(read.receiving[0].id == before.receiving[1].id, "a queue keeps its number")
        Self.expectSame(try change { try $0.load(other) }, state)
        let same = read
        try change { try $0.save(id, same, before: same) }
        Self.expectSame(try change { try $0.load(id) }, after)
    }

    @Test func removalDeletesAllRowsOfConnection() throws {
        let state = try full()
        let (id, other) = (
            try change { try $0.insert(state, linkHash: [1]) }, try change { try $0.insert(state) }
        )
        let queue = try change { try $0.load(id) }.receiving[0].id
        try change { try $0.remove(id) }
        #expect(try queues { try $0.place(ofReceiving: queue) } == nil)
        #expect(try queues { try $0.receiving(of: id) }.isEmpty && queues { try $0.sending(of: id) }.isEmpty)
        #expect(try !change { try $0.exists(id) } && change { try $0.exists(other) })
        #expect(try change { try $0.joined(linkHash: [1]) } == nil)
        let error = #expect(throws: AgentError.self) { try change { try $0.load(id) } }
        #expect(error?.code == .noSuchConnection)
        #expect(error?.sentence == "There is no such connection any more.")
        #expect(try change { try $0.insert(state) } != id, "its number is given to nobody")
    }

    @Test func linkBelongsToOneConnectionUntilForgotten() throws {
        let state = ConnectionState(phase: .joining, information: [], receiving: [])
        let id = try change { try $0.insert(state, linkHash: [1]) }
        #expect(try change { try $0.joined(linkHash: [1]) } == id)
        #expect(try change { try $0.linkHash(of: id) } == [1])
        #expect(throws: StoreError.self) { try change { try $0.insert(state, linkHash: [1]) } }
        try change { try $0.forgetLink(of: id) }
        #expect(try change { try $0.linkHash(of: id) } == nil)
        let next = try change { try $0.insert(state, linkHash: [1]) }
        #expect(try change { try $0.joined(linkHash: [1]) } == next)
    }

    @Test func unfinishedWorkIsFoundByState() throws {
        let phases: [ConnectionCondition.Phase] = [
            .inviting, .address, .requesting, .joining, .confirming, .connected, .failed, .deleting,
        ]
        let ids = try change { table in
            try phases.map { try table.insert(ConnectionState(phase: $0, information: [], receiving: [])) }
        }
        #expect(try change { try $0.unfinished() } == [ids[7]], "it ends when nothing is to be sent")
        #expect(try change { table in try ids.filter { try table.stands($0) } } == [ids[5], ids[7]])
        for (phase, id) in zip(phases, ids) { #expect(try change { try $0.all(in: phase) } == [id]) }
    }

    @Test func onlyOwnActiveQueuesAreSubscribed() throws {
        var state = ConnectionState(phase: .connected, information: [], receiving: [])
        for status in ReceivingQueue.Status.allCases { state.receiving.append(try receiving(status)) }
        var taken = try receiving(.active, server: 3)
        taken.isTakenOver = true
        // The same server with a password.
        var secret = try receiving(.active)
        secret.server = try #require(
            ServerAddress(
                fingerprint: [UInt8](repeating: 1, count: 32), hosts: ["127.0.0.1"], port: 5223, password: "x"
            ))
        let elsewhere = try receiving(.draining, server: 4)
        state.receiving += [taken, secret, elsewhere]
        let id = try change { try $0.insert(state) }
        let stored = try change { try $0.load(id) }.receiving
        let found = try queues { try $0.subscribable(on: Known.server(1)) }
        let expected = stored.filter { queue in
            queue.server == secret.server && [.active, .suspending, .draining].contains(queue.status)
        }
        #expect(Set(found.map(\.recipientID)) == Set(expected.map(\.recipientID)) && found.count == 4)
        for queue in found {
            let seed = stored.first { $0.recipientID == queue.recipientID }?.authorizationSeed
            #expect(seed == queue.authorizationSeed)
        }
        #expect(try queues { try $0.subscribable(on: Known.server(3)) }.isEmpty)
        let servers = try queues { try $0.subscribableServers() }
        #expect(try Set(servers.map(\.address)) == [Known.server(1), Known.server(4)] && servers.count == 3)
        #expect(try queues { try $0.takenOver() } == [id])
        let unfinished = try queues { try $0.unfinished() }
        #expect(Set(unfinished) == Set(stored.filter { $0.status != .active }.map(\.id)))
        for queue in stored {
            let place = try queues { try $0.receiving(recipientID: queue.recipientID, on: queue.server) }
            #expect(place?.connection == id && place?.queue == queue.id)
            #expect(try queues { try $0.place(ofReceiving: queue.id) } == id)
        }
        #expect(
            try queues { try $0.receiving(recipientID: stored[0].recipientID, on: Known.server(9)) } == nil)
    }

    @Test func unsecuredQueueIsUnfinished() throws {
        var queue = try receiving(.active)
        queue.keyToSecure = [1]
        let id = try change {
            try $0.insert(ConnectionState(phase: .connected, information: [], receiving: [queue]))
        }
        let stored = try change { try $0.load(id) }
        #expect(try queues { try $0.unfinished() } == stored.receiving.map(\.id))
    }

    @Test func damagedColumnsThrowWithoutCrash() throws {
        let id = try change { try $0.insert(full()) }
        struct Undone: Error {}
        let damages = [
            "UPDATE connection SET phase = 'dancing'", "UPDATE connection SET offered_keys = x'0102'",
            "UPDATE connection SET offered_keys = substr(offered_keys, 1, 113)",
            "UPDATE connection SET joiners_parameters = x'00'", "UPDATE connection SET ratchet = x'00'",
            "UPDATE connection SET ratchet = substr(ratchet, 2)",
            "UPDATE connection SET synchronisation = ''",
            "UPDATE connection SET synchronisation_keys = x''",
            "UPDATE receiving_queue SET server = 'smp://'",
            "UPDATE receiving_queue SET mode = 'x'", "UPDATE receiving_queue SET status = 'gone'",
            "UPDATE receiving_queue SET link_kind = 'z' WHERE link_kind IS NOT NULL",
            "UPDATE sending_queue SET server = ''", "UPDATE sending_queue SET sender_id = x''",
            "UPDATE sending_queue SET recipient_key = x'01'", "UPDATE sending_queue SET use = 'later'",
            "UPDATE sending_queue SET mode = 'x'",
        ]
        for damage in damages {
            do {
                try database.transaction { connection in
                    try connection.execute(damage)
                    #expect(throws: (any Error).self, "\(damage)") {
                        try ConnectionTable(connection).load(id)
                    }
                    throw Undone()
                }
            } catch is Undone {}
        }
        // An out-of-range version is not misread.
        try database.transaction { try $0.execute("UPDATE connection SET agent_version = 70000") }
        #expect(try change { try $0.load(id) }.agentVersion == .max)
    }
}
