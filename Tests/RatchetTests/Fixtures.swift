import Base
import Cryptography
import TestSupport
import Testing

@testable import Ratchet

/// Keys of one repeated byte each, in the given order.
final class KnownKeys: RandomSource {
    private let keys: Lock<[UInt8]>

    init(_ keys: UInt8...) { self.keys = Lock(keys) }

    func bytes(_ count: Int) -> [UInt8] {
        keys.withLock { [UInt8](repeating: $0.removeFirst(), count: count) }
    }
}

/// Distinct keys that are the same in each run.
final class SeededKeys: RandomSource {
    private let generator: Lock<SeededGenerator>

    init(_ seed: UInt64) { generator = Lock(SeededGenerator(state: seed)) }

    func bytes(_ count: Int) -> [UInt8] {
        generator.withLock { generator in
            (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
        }
    }
}

/// A KEM without security and with the real lengths: its secrets are hashes of public bytes.
struct ToyKEM: KEM {
    let random: any RandomSource

    func generate() throws(RatchetError) -> KEMKey {
        let seed = random.bytes(32)
        guard
            let key = KEMKey(
                publicKey: Self.long(seed, KEMLength.publicKey),
                secretKey: WipedBytes(Self.long(seed, KEMLength.secretKey)))
        else { throw .malformed }
        return key
    }

    func encapsulate(to publicKey: [UInt8]) throws(RatchetError) -> Encapsulation {
        let seed = random.bytes(32)
        let secret = WipedBytes(SHA256.hash(Array(publicKey.prefix(32)) + seed))
        guard let made = Encapsulation(ciphertext: Self.long(seed, KEMLength.ciphertext), secret: secret)
        else {
            throw .malformed
        }
        return made
    }

    func decapsulate(_ ciphertext: [UInt8], with key: KEMKey) throws(RatchetError) -> WipedBytes {
        WipedBytes(SHA256.hash(Array(key.publicKey.prefix(32) + ciphertext.prefix(32))))
    }

    private static func long(_ seed: [UInt8], _ count: Int) -> [UInt8] {
        seed + [UInt8](repeating: 7, count: count - seed.count)
    }
}

/// A KEM that replays recorded results in order.
final class RecordedKEM: KEM {
    private let keys: Lock<[KEMKey]>
    private let encapsulations: Lock<[Encapsulation]>
    private let secrets: [[UInt8]: WipedBytes]

    init(keys: [KEMKey], encapsulations: [Encapsulation]) {
        self.keys = Lock(keys)
        self.encapsulations = Lock(encapsulations)
        secrets = Dictionary(uniqueKeysWithValues: encapsulations.map { ($0.ciphertext, $0.secret) })
    }

    func generate() throws(RatchetError) -> KEMKey {
        guard let key = keys.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { throw .kemUnavailable }
        return key
    }

    func encapsulate(to publicKey: [UInt8]) throws(RatchetError) -> Encapsulation {
        guard let made = encapsulations.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else {
            throw .kemUnavailable
        }
        return made
    }

    func decapsulate(_ ciphertext: [UInt8], with key: KEMKey) throws(RatchetError) -> WipedBytes {
        guard let secret = secrets[ciphertext] else { throw .kemUnavailable }
        return secret
    }
}

extension X448Key {
    static func known(_ byte: UInt8) throws -> X448Key {
        try X448Key(rawValue: WipedBytes([UInt8](repeating: byte, count: 56)))
    }
}

/// The keys of the published vectors.
enum Known {
    static func inviter(kem: KEMKey? = nil) throws -> AgreementKeys {
        AgreementKeys(first: try .known(1), second: try .known(2), kem: kem)
    }

    static func joiner(kem: KEMKey? = nil) throws -> AgreementKeys {
        AgreementKeys(first: try .known(3), second: try .known(4), kem: kem)
    }
}

/// Two sides after a key agreement, and the joiner's first message.
struct Pair {
    var joiner: Ratchet
    var inviter: Ratchet
    let joinerTools: RatchetTools
    let inviterTools: RatchetTools

    init(
        joiner joinerSettings: RatchetSettings = .init(), inviter inviterSettings: RatchetSettings = .init(),
        seed: UInt64 = 1, kem: Bool = false, proposing: Bool = false
    ) throws {
        let random = SeededKeys(seed)
        let tools = RatchetTools(random: random, kem: kem ? ToyKEM(random: random) : nil)
        let inviterKeys = AgreementKeys.generate(
            kem: proposing ? try tools.kem?.generate() : nil, random: random)
        let offer = inviterKeys.parameters(version: inviterSettings.maxVersion)
        let begun = try Ratchet.joining(
            .generate(random: random), inviter: offer, settings: joinerSettings, tools: tools)
        joiner = begun.ratchet
        var reader = ByteReader(begun.parameters.encoded)
        inviter = try Ratchet.inviting(
            inviterKeys, joiner: AgreementParameters(from: &reader), settings: inviterSettings, tools: tools)
        joinerTools = tools
        inviterTools = tools
    }

    mutating func fromJoiner(_ text: String) throws -> [UInt8] {
        try joiner.encrypt(Array(text.utf8), paddedTo: 200)
    }

    mutating func fromInviter(_ text: String) throws -> [UInt8] {
        try inviter.encrypt(Array(text.utf8), paddedTo: 200)
    }

    mutating func toJoiner(_ message: [UInt8]) throws -> String {
        String(decoding: try joiner.decrypt(message, tools: joinerTools), as: UTF8.self)
    }

    mutating func toInviter(_ message: [UInt8]) throws -> String {
        String(decoding: try inviter.decrypt(message, tools: inviterTools), as: UTF8.self)
    }

    /// Sends one message in each direction.
    mutating func converse() throws {
        let first = try fromJoiner("a")
        #expect(try toInviter(first) == "a")
        let second = try fromInviter("b")
        #expect(try toJoiner(second) == "b")
    }
}

func expect<Result>(
    _ code: RatchetErrorCode, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Result
) {
    #expect(sourceLocation: sourceLocation) {
        try body()
    } throws: { ($0 as? RatchetError)?.code == code }
}
