import Base
import Cryptography
import SMP
import TestSupport
import Testing

@testable import Agent

/// Queue rotation by machines. `ConnectionLifeTests` does the same with agents.
@Suite struct RotationMachineTests {
    /// The inviter has announced a queue; the announcement is undelivered.
    private static func moving(seed: UInt64 = 1) throws -> (MachinePair, announcement: [Transmission]) {
        var pair = try MachinePair.connected(seed: seed)
        try pair.inviter.step { try $0.rotate(to: Known.server(3)) }
        try pair.inviter.serve()
        let announcement = try pair.fromInviter()
        return (pair, announcement)
    }

    @Test func rotationLosesNoMessages() throws {
        var pair = try MachinePair.connected()
        let old = try #require(pair.inviter.state.receiving[0].address)
        try pair.inviter.step { try $0.rotate(to: Known.server(3)) }
        #expect(pair.inviter.condition.isRotating)
        #expect(pair.inviter.state.receiving.map(\.status) == [.active, .creating])
        // Messages continue during the rotation.
        pair.joiner.write("meanwhile")
        try pair.exchange()
        let queues = pair.inviter.state.receiving
        #expect(queues.count == 1 && queues[0].status == .active && !queues[0].isReplacement)
        #expect(try queues[0].server == Known.server(3))
        #expect(queues[0].address != old && queues[0].senderKey != nil)
        let sending = try #require(pair.joiner.state.sending.first)
        #expect(pair.joiner.state.sending.count == 1)
        #expect(sending.address == queues[0].address && sending.isSecured && sending.use == .present)
        #expect(pair.inviter.conditions.map(\.isRotating) == [true, false])
        #expect(pair.inviter.bodies == ["meanwhile"])
        try pair.converse("later")
    }

    @Test func announcementNamesReplacedQueue() throws {
        var pair = try MachinePair.connected()
        let old = try #require(pair.inviter.state.receiving[0].address?.location)
        try pair.inviter.step { try $0.rotate(to: nil) }
        try pair.inviter.serve()
        let new = pair.inviter.state.receiving[1]
        #expect(try new.server == Known.server(1), "without another server it is the same")
        let expected = MessageContent.newQueues([
            .init(queue: OfferedQueue(address: try #require(new.address)), replaces: old)
        ])
        #expect(pair.inviter.waiting == [.message(expected)])
    }

    @Test func rotationUnderWayIsNotRestarted() throws {
        var (pair, _) = try Self.moving()
        let effects = try pair.inviter.step { try $0.rotate(to: Known.server(4)) }
        #expect(effects.isEmpty && pair.inviter.state.receiving.count == 2)
    }

    @Test func onlyEstablishedConnectionRotates() throws {
        var pair = try MachinePair()
        for side in [pair.inviter, pair.joiner] {
            var side = side
            let error = #expect(throws: AgentError.self) { try side.step { try $0.rotate(to: nil) } }
            #expect(error?.code == .notPossible)
            #expect(error?.sentence == "Only an established connection can be moved to another server.")
        }
        try pair.exchange()
        pair.inviter.change { $0.state.receiving[0].status = .suspending }
        let error = #expect(throws: AgentError.self) {
            try pair.inviter.step { try $0.rotate(to: nil) }
        }
        #expect(error?.code == .damaged)
    }

    @Test func repeatedAnnouncementGetsSameKeys() throws {
        var (pair, announcement) = try Self.moving()
        let content = try #require(announcement.first)
        try pair.joiner.take(content)
        let first = pair.joiner.waiting
        #expect(first.count == 1 && pair.joiner.state.sending.map(\.use) == [.present, .next])
        // Announced again in a new message, as after a lost reply.
        let queue = OfferedQueue(address: try #require(pair.inviter.state.receiving[1].address))
        pair.inviter.say(.newQueues([.init(queue: queue, replaces: nil)]))
        for transmission in try pair.fromInviter() { try pair.joiner.take(transmission) }
        #expect(pair.joiner.waiting == first + first)
        #expect(pair.joiner.state.moves.times.count == 1)
        try pair.exchange()
        try pair.converse("in the new queue")
    }

    @Test func laterAnnouncementReplacesEarlierOne() throws {
        var pair = try MachinePair.connected()
        let queues = try (5...6).map { number in
            OfferedQueue(
                address: try #require(
                    QueueAddress(
                        server: Known.server(number), senderID: [number],
                        key: AgreementKey(rawValue: [UInt8](repeating: number, count: 32)).publicKey,
                        mode: .messaging)))
        }
        for queue in queues { pair.inviter.say(.newQueues([.init(queue: queue, replaces: nil)])) }
        for transmission in try pair.fromInviter() { try pair.joiner.take(transmission) }
        #expect(pair.joiner.state.sending.map(\.use) == [.present, .next])
        #expect(pair.joiner.state.sending.last?.address == queues[1].address)
        #expect(pair.joiner.waiting.count == 2)
    }

    @Test func unusableAnnouncementsAreIgnored() throws {
        let pair = try MachinePair.connected()
        let own = try #require(pair.joiner.state.present).address
        let key = try AgreementKey(rawValue: [UInt8](repeating: 7, count: 32)).publicKey
        func queue(_ mode: QueueMode = .messaging, key: [UInt8], versions: ClosedRange<UInt16> = 1...4) throws
            -> OfferedQueue
        {
            OfferedQueue(
                versions: versions,
                address: try #require(
                    QueueAddress(server: Known.server(7), senderID: [7], key: key, mode: mode)))
        }
        // The neutral point makes every shared secret zero.
        let neutral = Array(key.dropLast(32)) + [UInt8](repeating: 0, count: 32)
        let elsewhere = QueueLocation(server: own.server, senderID: [1, 2, 3])
        let useless: [MessageContent.NewQueue] = [
            .init(queue: try queue(.contact, key: key), replaces: nil),
            .init(queue: try queue(key: neutral), replaces: nil),
            .init(queue: try queue(key: key, versions: 5...9), replaces: nil),
            .init(queue: try queue(key: key), replaces: elsewhere),
        ]
        for new in useless {
            var pair = pair
            pair.inviter.say(.newQueues([new]))
            for transmission in try pair.fromInviter() { try pair.joiner.take(transmission) }
            #expect(pair.joiner.waiting.isEmpty && pair.joiner.state.sending.count == 1)
            #expect(pair.joiner.state.moves.times.isEmpty)
        }
        // The usable queue among them is found.
        var mixed = pair
        mixed.inviter.say(.newQueues(useless + [.init(queue: try queue(key: key), replaces: own.location)]))
        for transmission in try mixed.fromInviter() { try mixed.joiner.take(transmission) }
        #expect(
            mixed.joiner.state.sending.count == 1, "the first that fits is taken, and its key is of no use")
        var good = pair
        good.inviter.say(
            .newQueues([useless[0], useless[3], .init(queue: try queue(key: key), replaces: own.location)]))
        for transmission in try good.fromInviter() { try good.joiner.take(transmission) }
        #expect(good.joiner.state.sending.last?.address.senderID == [7])
    }

    @Test func eleventhRotationWithinAnHourIsIgnored() throws {
        var pair = try MachinePair.connected()
        func announce(_ number: UInt8, at seconds: Int64) throws -> Int {
            let address = try #require(
                QueueAddress(
                    server: Known.server(5), senderID: [number],
                    key: AgreementKey(rawValue: [UInt8](repeating: 5, count: 32)).publicKey, mode: .messaging)
            )
            pair.joiner.now = ElapsedTime(seconds: 1_000_000 + seconds)
            pair.inviter.say(.newQueues([.init(queue: OfferedQueue(address: address), replaces: nil)]))
            let before = pair.joiner.waiting.count
            for transmission in try pair.fromInviter() { try pair.joiner.take(transmission) }
            return pair.joiner.waiting.count - before
        }
        for number in 1...10 { #expect(try announce(UInt8(number), at: Int64(number)) == 1) }
        #expect(try announce(11, at: 3600) == 0, "by the clock of who is told")
        #expect(try announce(11, at: 3601) == 1)
        #expect(try announce(12, at: 3601) == 0)
    }

    @Test func queueIsUsedOnlyWhenAnnouncedAndSecured() throws {
        var (pair, announcement) = try Self.moving()
        let new = try #require(pair.inviter.state.receiving[1].address?.location)
        func use(_ location: QueueLocation, _ isSecured: Bool) throws {
            pair.inviter.say(.useQueues([.init(queue: location, isSecured: isSecured)]))
            for transmission in try pair.fromInviter() { try pair.joiner.take(transmission) }
        }
        let old = try #require(pair.joiner.state.present).address.location
        try use(new, true)
        #expect(pair.joiner.state.present?.address.location == old, "it was not announced")
        for transmission in announcement { try pair.joiner.take(transmission) }
        pair.joiner.forgetWhatWaits()
        try use(new, false)
        try use(old, true)
        #expect(pair.joiner.state.present?.address.location == old && pair.joiner.waiting.isEmpty)
        try use(new, true)
        #expect(pair.joiner.state.sending.map(\.address.location) == [new])
        #expect(pair.joiner.waiting == [.message(.queueTest([new]))])
    }

    @Test func onlyFirstKeysForNewQueueCount() throws {
        var (pair, _) = try Self.moving()
        let new = try #require(pair.inviter.state.receiving[1].address)
        func answer(_ byte: UInt8, for senderID: [UInt8], neutral: Bool = false) throws {
            let point = try AgreementKey(rawValue: [UInt8](repeating: byte, count: 32)).publicKey
            let key = neutral ? Array(point.dropLast(32)) + [UInt8](repeating: 0, count: 32) : point
            let address = try #require(
                QueueAddress(server: new.server, senderID: senderID, key: key, mode: .messaging))
            let authorization = try SigningKey(seed: [UInt8](repeating: byte, count: 32)).publicKey
            pair.joiner.say(
                .queueKeys([
                    .init(
                        queue: ReplyQueue(version: 4, address: address), authorizationKey: authorization)
                ]))
            for transmission in try pair.fromJoiner() { try pair.inviter.take(transmission) }
        }
        try answer(1, for: [9, 9])
        try answer(2, for: new.senderID, neutral: true)
        #expect(pair.inviter.state.receiving[1].senderKey == nil)
        #expect(pair.inviter.state.receiving[1].keyToSecure == nil)
        try answer(3, for: new.senderID)
        let first = pair.inviter.state.receiving[1]
        #expect(first.keyToSecure == (try SigningKey(seed: [UInt8](repeating: 3, count: 32)).publicKey))
        try answer(4, for: new.senderID)
        #expect(pair.inviter.state.receiving[1] == first)
        // The queue in use takes no new key. Otherwise anyone who writes to it could lock the peer out.
        let present = try #require(pair.inviter.state.receiving[0].address)
        try answer(5, for: present.senderID)
        #expect(pair.inviter.state.receiving[0].keyToSecure == nil)
    }

    @Test func oldQueueIsReadWhileDraining() throws {
        var (pair, announcement) = try Self.moving()
        pair.joiner.write("in the old queue")
        let late = try pair.fromJoiner()
        for transmission in announcement { try pair.joiner.take(transmission) }
        for transmission in try pair.fromJoiner() { try pair.inviter.take(transmission) }
        try pair.inviter.serve()
        for transmission in try pair.fromInviter() { try pair.joiner.take(transmission) }
        for transmission in try pair.fromJoiner() { try pair.inviter.take(transmission) }
        #expect(pair.inviter.state.receiving.map(\.status) == [.suspending, .active])
        #expect(!pair.inviter.condition.isRotating)
        for transmission in late { try pair.inviter.take(transmission) }
        #expect(pair.inviter.bodies == ["in the old queue"])
        try pair.exchange()
        #expect(pair.inviter.state.receiving.count == 1)
        pair.joiner.write("later")
        pair.inviter.write("and back")
        try pair.exchange()
        #expect(pair.inviter.bodies == ["in the old queue", "later"] && pair.joiner.bodies == ["and back"])
    }

    /// Otherwise messages of the new queue would count as lost and be sent again.
    @Test func keyChangeWhileDrainingCountsNewQueue() throws {
        var (pair, announcement) = try Self.moving()
        pair.joiner.write("in the old queue")
        let late = try pair.fromJoiner()
        for transmission in announcement { try pair.joiner.take(transmission) }
        for transmission in try pair.fromJoiner() { try pair.inviter.take(transmission) }
        try pair.inviter.serve()
        for transmission in try pair.fromInviter() { try pair.joiner.take(transmission) }
        pair.joiner.write("in the new queue")
        for transmission in try pair.fromJoiner() { try pair.inviter.take(transmission) }
        let last = pair.joiner.state.sequence.lastSent
        #expect(pair.inviter.state.sequence.lastReceived == last)
        for transmission in late { try pair.inviter.take(transmission) }
        #expect(pair.inviter.bodies == ["in the new queue", "in the old queue"])
        #expect(pair.inviter.state.sequence.lastReceived == last)
        try pair.inviter.step { try $0.synchronise(now: ElapsedTime(seconds: 1_000_000)) }
        try pair.exchange()
        #expect(pair.joiner.lostAfter == [last])
    }

    @Test func failedQueueCreationKeepsOldQueue() throws {
        var pair = try MachinePair.connected()
        try pair.inviter.step { try $0.rotate(to: Known.server(3)) }
        pair.inviter.change { $0.cannotCreate(1) }
        #expect(pair.inviter.state.phase == .connected && !pair.inviter.condition.isRotating)
        try pair.inviter.serve()
        #expect(pair.inviter.state.receiving.count == 1)
        try pair.converse("where it was")
        // The rotation can be retried.
        try pair.inviter.step { try $0.rotate(to: Known.server(4)) }
        try pair.exchange()
        #expect(try pair.inviter.state.receiving.map(\.server) == [Known.server(4)])
    }

    @Test func simultaneousRotationsSucceed() throws {
        var pair = try MachinePair.connected(seed: 5)
        try pair.inviter.step { try $0.rotate(to: Known.server(3)) }
        try pair.joiner.step { try $0.rotate(to: Known.server(4)) }
        pair.inviter.write("one")
        pair.joiner.write("other")
        try pair.exchange()
        #expect(try pair.inviter.state.receiving.map(\.server) == [Known.server(3)])
        #expect(try pair.joiner.state.receiving.map(\.server) == [Known.server(4)])
        #expect(pair.joiner.bodies == ["one"] && pair.inviter.bodies == ["other"])
        try pair.converse("afterwards")
    }
}
