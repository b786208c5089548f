import Base
import Cryptography
import Glibc
import Posix
import SMP

/// Many connections that cost a relay for messages as much as possible for a limited time. Loopback only.
struct RelayAttack: Sendable {
    enum Kind: Sendable {
        /// One repeated signature of Ed448, which is expensive to verify.
        case signatures
        /// Messages of 16 KiB whose answers are not read.
        case unansweredSends(to: [UInt8])
    }

    let kind: Kind
    let connections: Int
    let time: Duration
    private let counts = Lock((left: 0, begun: 0))

    init(_ kind: Kind, connections: Int, time: Duration) {
        precondition(connections <= 1000 && time <= .seconds(120), "an attack has an end")
        (self.kind, self.connections, self.time) = (kind, connections, time)
    }

    /// Starts; returns when all connections are open or have failed.
    func begin(_ server: ServerAddress) async throws {
        guard server.hosts.allSatisfy({ $0 == "127.0.0.1" }) else {
            throw BenchError(.failed, "Only a relay on loopback is attacked.")
        }
        // From the time at which they are open, which may take a while.
        let start = ContinuousClock.now + .seconds(60)
        counts.withLock { $0.left = connections }
        for number in 0..<connections {
            try Thread.begin("attack-\(number)") {
                defer { counts.withLock { $0.left -= 1 } }
                do {
                    let client = try RelayClient(server)
                    counts.withLock { $0.begun += 1 }
                    // All of them at once.
                    while counts.withLock({ $0.begun }) < connections * 9 / 10, ContinuousClock.now < start {
                        usleep(20_000)
                    }
                    let end = ContinuousClock.now + time
                    switch kind {
                    case .signatures:
                        try client.flood(Self.signed(40), reads: true, most: 1_000_000, until: end)
                    case .unansweredSends(let queue):
                        try client.flood([Self.send(to: queue)], reads: false, most: 64, until: end)
                    }
                } catch {
                    // The relay may have closed it.
                }
            }
        }
        while ContinuousClock.now < start, counts.withLock({ $0.begun }) < connections * 9 / 10 {
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Returns when all connections are closed.
    func ended() async throws {
        while counts.withLock({ $0.left }) > 0 { try await Task.sleep(for: .milliseconds(50)) }
    }

    // MARK: Transmissions

    /// The first example of RFC 8032, 7.4: a key and a signature over other bytes.
    private static let key =
        "5fd7449b59b461fd2ce787ec616ad46a1da1342485a70e1f8a0ea75d80e96778edf124769b46c7061bd6783df1e50f6cd1fa1abeafe8256180"
    private static let signature =
        "533a37f6bbe457251f023c0d88f976ae2dfb504a843e34d2074fd823d41a591f2b233f034f628281f2fd7a22ddd47d7828c59bd0a21bfd3980"
        + "ff0d2028d4b18a9df63e006c5d1c2d345b925d8dc00b4104852db99ac5c7cdda8530a113a0f4dbb61149f05a7363268c71d95808ff2e652600"
    /// SubjectPublicKeyInfo of Ed448 (RFC 8410) up to the key.
    private static let prefix = "3043300506032b6571033a00"

    private static func signed(_ count: Int) -> [[UInt8]] {
        let new = Command.NewQueue(
            recipientKey: bytes(prefix + key), boxKey: AgreementKey.generate().publicKey, mode: .messaging)
        let transmission = Transmission(
            authorization: bytes(signature), correlationID: [UInt8](repeating: 1, count: 24), entityID: [],
            body: Command.new(new).encoded(version: SMPVersion.servers.upperBound))
        return Array(repeating: transmission.encoded(version: SMPVersion.servers.upperBound), count: count)
    }

    private static func send(to queue: [UInt8]) -> [UInt8] {
        Transmission(
            correlationID: [UInt8](repeating: 2, count: 24), entityID: queue,
            body: Command.send(flags: [], body: [UInt8](repeating: 3, count: 16_000)).encoded(
                version: SMPVersion.servers.upperBound)
        ).encoded(version: SMPVersion.servers.upperBound)
    }

    private static func bytes(_ hexadecimal: String) -> [UInt8] {
        Hexadecimal.decode(hexadecimal) ?? []
    }
}
