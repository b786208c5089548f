import Base
import SMP
import TestSupport
import Testing

@testable import Agent

/// Devices with outdated state: backups restored with and without notice, and copies used on a second device,
/// over a lossy network. No acknowledged message is lost or shown twice, and the connection recovers or asks
/// for new keys.
@Suite(.timeLimit(.minutes(15))) struct OldStateTests {
    @Test(arguments: 0..<4) func oldStatesLoseNoAcknowledgedMessageAndRecover(seed: UInt64)
        async throws
    {
        var random = SeededGenerator(state: seed)
        let relay = MemoryRelay()
        // The servers' time, shared by all.
        let clock = ManualClock()
        let couple = try await Couple(
            relay, inviter: Person(relay, servers: [1, 3], clock: clock),
            joiner: Person(relay, servers: [2, 4], clock: clock))
        let sides = [
            Side(couple.inviter, couple.toJoiner, relay), Side(couple.joiner, couple.toInviter, relay),
        ]
        relay.setChaos(.init(losesRequests: 40, losesAnswers: 40, repeats: 20, delays: 4))
        for side in sides { try await side.backUp() }
        for episode in 0..<8 {
            // The restored state predates these keys.
            for round in 0..<2 { try await converse(sides, "\(episode) \(round)", for: .milliseconds(300)) }
            let side = sides[Int.random(in: 0...1, using: &random)]
            let other = side === sides[0] ? sides[1] : sides[0]
            switch (episode + Int(seed)) % 4 {
            case 0: try await side.putBack(isKnown: false)
            case 1: try await side.putBack(isKnown: true)
            case 2: try await side.useCopy(writes: Bool.random(using: &random), other, "\(episode)")
            default: try await side.backUp()
            }
            for number in 0..<Int.random(in: 0...2, using: &random) {
                try await side.write("\(episode) now \(number)")
                try await other.write("\(episode) now \(number)")
            }
        }
        relay.setChaos(.none)
        #expect(try await recover(sides, relay, clock), "it neither recovers nor says that it cannot")
        for side in sides { await side.collect() }
        for (side, other) in [(sides[0], sides[1]), (sides[1], sides[0])] {
            #expect(side.repeated.subtracting(other.unsentWhenBackedUp).isEmpty, "\(side.repeated)")
            #expect(side.acknowledged.subtracting(other.seen).isEmpty)
            #expect(!side.acknowledged.isEmpty)
        }
        await couple.end()
    }

    /// Sends a message each and waits a while for receipts, which may need new keys.
    @discardableResult
    private func converse(
        _ sides: [Side], _ text: String, for limit: Duration
    ) async throws -> Bool {
        var numbers: [Int64] = []
        for side in sides { numbers.append(try await side.write(text)) }
        var isHeard = true
        for (side, number) in zip(sides, numbers) where try await !side.hears(of: number, within: limit) {
            isHeard = false
        }
        return isHeard
    }

    /// Sends messages until both sides get receipts, and resynchronises where required.
    ///
    /// A busy machine needs longer for an agreement than for a message. Each attempt gets more time than the
    /// last, so that one under way is not restarted.
    ///
    /// While agreed keys may be under way, neither side starts again; a side that went on with other keys is
    /// detected a day later. Therefore days pass if nothing else helps.
    private func recover(_ sides: [Side], _ relay: MemoryRelay, _ clock: ManualClock) async throws -> Bool {
        for attempt in 0..<40 {
            if attempt >= 4 {
                clock.advance(by: .seconds(86_400))
                relay.advance(by: 86_400)
            }
            let limit = Duration.seconds(min(2 + attempt, 10))
            if try await converse(sides, "end \(attempt)", for: limit) { return true }
            for side in sides where await side.saysThatKeysAreNeeded {
                try await side.person.agent.resynchronise(side.connection)
            }
        }
        return false
    }
}

/// One side with a device, sometimes with a second one. Used by one task.
private final class Side {
    let person: Person
    let connection: ConnectionID
    private let relay: MemoryRelay
    /// Messages written by this state, by agent number.
    private var written: [Int64: String] = [:]
    private var backup:
        (database: [UInt8], diary: (events: [AgentEvent], lastNumber: Int64), written: [Int64: String])?

    /// Messages seen by any device.
    private(set) var seen: Set<String> = []
    /// Messages seen more than once by one state.
    private(set) var repeated: Set<String> = []
    /// Texts of this side confirmed by the peer.
    private(set) var acknowledged: Set<String> = []
    /// Texts unsent at the time of the backup; its restorer sends them again.
    private(set) var unsentWhenBackedUp: Set<String> = []

    init(_ person: Person, _ connection: ConnectionID, _ relay: MemoryRelay) {
        (self.person, self.connection, self.relay) = (person, connection, relay)
    }

    @discardableResult
    func write(_ text: String) async throws -> Int64 {
        let number = try await person.agent.send(
            bytes(text), to: connection, notifies: false, identifier: nil)
        written[number] = text
        return number
    }

    // MARK: - Mistakes

    func backUp() async throws {
        await person.end()
        backup = (try person.folder.read("connections.db"), await person.diary.content, written)
        let sent = Set(await person.diary.events.compactMap { $0.sentNumber })
        unsentWhenBackedUp.formUnion(written.filter { !sent.contains($0.key) }.values)
        try await person.start(after: await person.diary.lastNumber)
    }

    func putBack(isKnown: Bool) async throws {
        guard let backup else { return }
        await person.end()
        await collect()
        try person.replaceDatabase(by: backup.database)
        await person.diary.putBack(backup.diary)
        written = backup.written
        try await person.start(after: backup.diary.lastNumber, isRestored: isKnown)
    }

    /// A second device with the backup receives the peer's next messages; then the first device goes on.
    func useCopy(writes: Bool, _ other: Side, _ text: String) async throws {
        guard let backup else { return }
        let copy = try await Person(relay, clock: person.clock)
        await copy.end()
        try copy.replaceDatabase(by: backup.database)
        await copy.diary.putBack(backup.diary)
        try await copy.start(after: backup.diary.lastNumber)
        let device = Side(copy, connection, relay)
        device.written = backup.written
        if writes { try await device.write(text + " of the copy") }
        try await other.write(text + " to the copy")
        await copy.agent.finishSending(until: .now + .seconds(2))
        await copy.agent.receiveWaiting(until: .now + .seconds(2))
        await copy.end()
        await device.collect()
        seen.formUnion(device.seen)
        repeated.formUnion(device.repeated)
        acknowledged.formUnion(device.acknowledged)
        try await person.restart()
    }

    /// Records the results of this state before it is discarded.
    func collect() async {
        var own: Set<String> = []
        for body in await person.diary.bodies() {
            let text = String(decoding: body, as: UTF8.self)
            if !own.insert(text).inserted { repeated.insert(text) }
        }
        seen.formUnion(own)
        for event in await person.diary.events {
            if case .delivered(let number) = event.content, let text = written[number] {
                acknowledged.insert(text)
            }
        }
    }

    // MARK: - At the end

    /// Whether the peer soon confirms a message.
    func hears(of number: Int64, within limit: Duration) async throws -> Bool {
        do {
            try await wait(until: "it is confirmed", within: limit) {
                await person.diary.events.contains { $0.content == .delivered(message: number) }
            }
            return true
        } catch is WaitedInVain {
            return false
        }
    }

    var saysThatKeysAreNeeded: Bool {
        get async {
            let condition = await person.diary.events.last { $0.condition != nil }?.condition
            return condition.map { [.allowed, .required].contains($0.synchronisation) } ?? false
        }
    }
}

extension AgentEvent {
    fileprivate var sentNumber: Int64? { if case .sent(let number) = content { number } else { nil } }
}
