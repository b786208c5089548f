import Base
import Cryptography
import Glibc
import TestSupport
import Testing

@testable import Ratchet

/// Two people exchange messages over a network that loses, repeats, reorders and damages them. Their programs are
/// killed before they store a state, and their keys are renewed at times.
///
/// `CHATFS_RATCHET_MESSAGES` sets the number of messages.
@Suite struct ModelTests {
    static let messages = getenv("CHATFS_RATCHET_MESSAGES").flatMap { Int(String(cString: $0)) } ?? 20_000

    @Test(arguments: [UInt64(1), 2])
    func everyMessageIsReadOnceOrReportedLost(seed: UInt64) throws {
        var model = try Conversation(seed: seed, kem: false)
        try model.run(messages: Self.messages * 45 / 100)
    }

    @Test func everyMessageIsReadOnceWithKEM() throws {
        var model = try Conversation(seed: 3, kem: true)
        try model.run(messages: Self.messages / 10)
    }
}

/// A message in transit.
private struct Letter {
    let to: Int
    let number: Int
    /// The number of key agreements before the message was encrypted.
    let agreement: Int
    let bytes: [UInt8]
}

private struct Conversation {
    private var generator: SeededGenerator
    private let tools: RatchetTools
    private let settings: RatchetSettings
    /// The stored states of both sides. Nothing else survives a step.
    private var stored: [WipedBytes] = []
    private var agreement = 0
    private var underWay: [[Letter]] = [[], []]
    private var written = 0
    private var read: Set<Int> = []
    /// The errors of undamaged messages that arrived for the first time.
    private var told: [RatchetErrorCode: Int] = [:]
    /// For each side: whether more messages are missing than can be skipped.
    private var isStuck = false
    private var lost = 0

    init(seed: UInt64, kem: Bool) throws {
        generator = SeededGenerator(state: seed)
        let random = SeededKeys(seed)
        tools = RatchetTools(random: random, kem: kem ? ToyKEM(random: random) : nil)
        settings = RatchetSettings(postQuantum: kem)
        try agree()
    }

    mutating func run(messages: Int) throws {
        while written < messages {
            switch Int.random(in: 0..<1000, using: &generator) {
            case 0..<480: try write()
            case 480..<960: try deliver()
            case 960..<985: lose(1)
            case 985..<992: try deliver(keeping: true)
            case 992..<999: try damage()
            default:
                if Int.random(in: 0..<20, using: &generator) == 0 { try loseMany() }
            }
            if isStuck { try agree() }
        }
        while !underWay.allSatisfy(\.isEmpty) { try deliver() }
        let reported = told.values.reduce(0, +)
        // Every unread message was lost in transit or reported, and every read message was written.
        #expect(read.count + lost + reported == written)
        #expect(Set(told.keys).isSubset(of: [.tooManySkipped, .headerNotAuthentic, .tooOld]))
        // Most delivered messages were read. Each renewal of keys loses the messages in transit.
        #expect(
            read.count > (written - lost) * 3 / 4, "\(read.count) of \(written), lost \(lost), told \(told)")
    }

    /// Renews the keys of both sides. Messages in transit with the old keys become unreadable.
    private mutating func agree() throws {
        let keys = try (0..<2).map { _ in
            AgreementKeys.generate(kem: try tools.kem?.generate(), random: tools.random)
        }
        stored = try (0..<2).map { side in
            try Ratchet.agreeingAnew(
                keys[side], peer: keys[1 - side].parameters(version: 3), settings: settings, tools: tools
            ).encoded
        }
        agreement += 1
        isStuck = false
    }

    private mutating func write() throws {
        let from = Int.random(in: 0..<2, using: &generator)
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
            var ratchet = try Ratchet(decoding: stored[from])
            let number = written
            var text: [UInt8] = []
            text.append(bigEndian: UInt64(number))
            let size = Int.random(in: 0..<200, using: &generator) == 0 ? MessageSize.message(ratchet) : 64
            let bytes: [UInt8]
            do {
                bytes = try ratchet.encrypt(text, paddedTo: size)
            } catch {
                #expect(error.code == .notReady)
                return
            }
            // Killed before the state was stored, so nothing was sent.
            if Int.random(in: 0..<50, using: &generator) == 0 { continue }
            stored[from] = ratchet.encoded
            written += 1
            underWay[1 - from].append(
                Letter(to: 1 - from, number: number, agreement: agreement, bytes: bytes))
        }
    }

    /// Chooses one of the oldest messages in transit.
    private mutating func choose() -> (side: Int, place: Int)? {
        let first = Int.random(in: 0..<2, using: &generator)
        guard let side = [first, 1 - first].first(where: { !underWay[$0].isEmpty }) else { return nil }
        let isLate = Int.random(in: 0..<10, using: &generator) == 0
        return (side, isLate ? Int.random(in: 0..<min(30, underWay[side].count), using: &generator) : 0)
    }

    private mutating func deliver(keeping: Bool = false) throws {
        guard let (side, place) = choose() else { return }
        let letter = underWay[side][place]
        var ratchet = try Ratchet(decoding: stored[side])
        // Killed before the state was stored, so the message arrives again.
        if Int.random(in: 0..<50, using: &generator) == 0 {
            _ = try? ratchet.decrypt(letter.bytes, tools: tools)
            ratchet = try Ratchet(decoding: stored[side])
        }
        if !keeping { underWay[side].remove(at: place) }
        let wasRead = read.contains(letter.number)
        do {
            let text = try ratchet.decrypt(letter.bytes, tools: tools)
            #expect(text.reduce(0) { $0 << 8 | Int($1) } == letter.number)
            #expect(read.insert(letter.number).inserted, "message \(letter.number) was read twice")
            #expect(letter.agreement == agreement)
            stored[side] = ratchet.encoded
        } catch {
            #expect(ratchet.encoded == stored[side], "a refusal changed the ratchet")
            if wasRead {
                let isOfNow = letter.agreement == agreement
                #expect([.repeated, .headerNotAuthentic, .tooOld].contains(error.code) || !isOfNow)
            } else if !keeping {
                #expect(error.code != .repeated, "message \(letter.number) was lost and said to be read")
                told[error.code, default: 0] += 1
                if error.code == .tooManySkipped, letter.agreement == agreement { isStuck = true }
            }
        }
    }

    private mutating func lose(_ count: Int) {
        for _ in 0..<count {
            guard let (side, place) = choose() else { return }
            let letter = underWay[side].remove(at: place)
            if !read.contains(letter.number) { lost += 1 }
        }
    }

    /// Loses more messages of one side than can be skipped.
    private mutating func loseMany() throws {
        for _ in 0..<SkippedKeys.maxAhead { try write() }
        lose(underWay[0].count + underWay[1].count)
    }

    private mutating func damage() throws {
        guard let (side, place) = choose() else { return }
        var bytes = underWay[side][place].bytes
        bytes[Int.random(in: 0..<bytes.count, using: &generator)] ^= UInt8.random(
            in: 1...255, using: &generator)
        var ratchet = try Ratchet(decoding: stored[side])
        #expect(throws: RatchetError.self) { try ratchet.decrypt(bytes, tools: tools) }
        #expect(ratchet.encoded == stored[side])
    }
}
