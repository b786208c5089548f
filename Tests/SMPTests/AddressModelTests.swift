import Base
import TestSupport
import Testing

@testable import SMP

/// Addresses of servers and queues survive a round trip, as text and as bytes.
@Suite("Addresses of every form")
struct AddressModelTests {
    private static func host(_ generator: inout SeededGenerator) -> String {
        switch Int.random(in: 0..<5, using: &generator) {
        case 0: "[::\(UInt16.random(in: 0...65_535, using: &generator))]".filter { !"[]".contains($0) }
        case 1: "192.0.2.\(UInt8.random(in: 0...255, using: &generator))"
        case 2: "2001:db8::ffff:192.0.2.1"
        default:
            String(
                (0..<Int.random(in: 1...30, using: &generator)).map { _ in
                    Array("abzABZ019.-_").randomElement(using: &generator) ?? "a"
                })
        }
    }

    private static func server(_ generator: inout SeededGenerator) throws -> ServerAddress {
        let password: String? =
            Bool.random(using: &generator)
            ? nil
            : String(
                (0..<Int.random(in: 1...20, using: &generator)).map { _ in
                    Array("aZ09!#$%&*+-=?^_~;'\"<>").randomElement(using: &generator) ?? "a"
                })
        return try #require(
            ServerAddress(
                fingerprint: (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) },
                hosts: (0..<Int.random(in: 1...8, using: &generator)).map { _ in host(&generator) },
                port: Bool.random(using: &generator) ? nil : UInt16.random(in: 1...65_535, using: &generator),
                password: password))
    }

    @Test("addresses have one form without their password")
    func servers() throws {
        var generator = SeededGenerator(state: 41)
        for _ in 0..<2000 {
            let server = try Self.server(&generator)
            let full = try #require(ServerAddress(server.textWithPassword))
            #expect(full == server && full.password == server.password)
            #expect(full.textWithPassword == server.textWithPassword)
            let shown = try #require(ServerAddress(server.text))
            #expect(shown == server && shown.password == nil, "equality ignores the password")
            #expect(shown.hashValue == server.hashValue)
            for text in ["\(server)", String(reflecting: server), server.text] {
                #expect(!text.contains(":\(server.password ?? "\u{0}")@"))
            }
            var bytes: [UInt8] = []
            bytes.append(server)
            var reader = ByteReader(bytes + [7])
            let address = reader.serverAddress()
            let read = try #require(address)
            #expect(read == server && read.password == nil && reader.rest() == [7])
            #expect(read.writtenPort == server.writtenPort)
        }
    }

    @Test("port 5223 may be omitted")
    func ports() throws {
        let (with, without) = (try Known.server(port: 5223), try Known.server(port: nil))
        #expect(with == without && with.hashValue == without.hashValue && with.text != without.text)
        #expect(try Known.server(port: 443) != with)
        #expect(ServerAddress(fingerprint: Known.fingerprint, hosts: ["a"], port: 0) == nil)
    }

    @Test("both forms have the same limits")
    func limits() {
        func bytes(_ hosts: [String], port: String = "", fingerprint: [UInt8] = Known.fingerprint) -> [UInt8]
        {
            var bytes: [UInt8] = []
            bytes.append(list: hosts, mayBeEmpty: true) { $0.append(byteString: Array($1.utf8)) }
            bytes.append(byteString: Array(port.utf8))
            bytes.append(byteString: fingerprint)
            return bytes
        }
        func read(_ bytes: [UInt8]) -> ServerAddress? {
            var reader = ByteReader(bytes)
            return reader.serverAddress()
        }
        #expect(read(bytes(["a", "[::1]"], port: "1"))?.hosts == ["a", "::1"])
        #expect(read(bytes([String(repeating: "a", count: 253)])) != nil)
        let refused: [[UInt8]] = [
            [], bytes([]), bytes([""]), bytes(["a,b"]), bytes(["a", "b,c"]), bytes(["::1"]), bytes(["[a]"]),
            bytes(["a b"]), bytes(["a/b"]), bytes(["a:1"]), bytes(["ä"]), bytes(["[::1"]),
            bytes([String(repeating: "a", count: 254)]), bytes(Array(repeating: "a", count: 9)),
            bytes(["a"], port: "0"), bytes(["a"], port: "65536"), bytes(["a"], port: "+1"),
            bytes(["a"], port: " 1"), bytes(["a"], port: "1x"), bytes(["a"], fingerprint: []),
            bytes(["a"], fingerprint: [UInt8](repeating: 1, count: 31)),
            bytes(["a"], fingerprint: [UInt8](repeating: 1, count: 33)),
        ]
        for bytes in refused { #expect(read(bytes) == nil, "\(bytes)") }
        let whole = bytes(["a.example"], port: "443")
        for count in 0..<whole.count { #expect(read(Array(whole.prefix(count))) == nil) }
    }

    @Test("offered queues survive a round trip in every version")
    func queues() throws {
        var generator = SeededGenerator(state: 42)
        for round in 0..<600 {
            var server = try Self.server(&generator)
            server = try #require(ServerAddress(server.text))
            let length = round % 3 == 0 ? 24 : Int.random(in: 1...255, using: &generator)
            let lowest = UInt16.random(in: 1...4, using: &generator)
            let address = try #require(
                QueueAddress(
                    server: server,
                    senderID: (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) },
                    key: Known.agreement(UInt8(1 + round % 200)).publicKey,
                    mode: round % 2 == 0 ? .messaging : .contact))
            let offered = OfferedQueue(
                versions: lowest...UInt16.random(in: lowest...9, using: &generator), address: address)
            #expect(OfferedQueue(offered.text) == offered, "\(offered.text)")
            var bytes: [UInt8] = []
            bytes.append(offered)
            var reader = ByteReader(bytes)
            #expect(reader.offeredQueue() == offered && reader.remaining == 0)
            let reply = ReplyQueue(version: lowest, address: address)
            bytes = []
            bytes.append(reply)
            reader = ByteReader(bytes)
            #expect(reader.replyQueue() == reply && reader.remaining == 0)
        }
    }

    @Test("ids have 1 to 255 bytes, and keys are for agreements")
    func queueLimits() throws {
        let (server, key) = (try Known.server(), try Known.agreement(1).publicKey)
        func queue(_ count: Int, _ key: [UInt8]) -> QueueAddress? {
            QueueAddress(
                server: server, senderID: [UInt8](repeating: 1, count: count), key: key, mode: .contact)
        }
        #expect(
            queue(1, key) != nil && queue(255, key) != nil && queue(0, key) == nil && queue(256, key) == nil)
        for wrong in [
            [], Array(key.dropLast()), key + [0], try Known.signing(1).publicKey, try Known.x448(1).spki,
        ] {
            #expect(queue(24, wrong) == nil)
        }
        // Queues without a supported version cannot be used for replies.
        for version in [UInt16(0), 5, .max] {
            var bytes: [UInt8] = []
            bytes.append(ReplyQueue(version: version, address: try #require(queue(24, key))))
            var reader = ByteReader(bytes)
            #expect(reader.replyQueue() == nil)
        }
    }

    @Test("missing and older modes are read")
    func modes() throws {
        let address = try Known.queue(mode: .contact).address
        var bytes: [UInt8] = []
        bytes.append(ReplyQueue(version: 1, address: address))
        for (following, mode, left) in [
            ("", QueueMode.contact, ""), ("M", .messaging, ""), ("T", .messaging, ""), ("C", .contact, ""),
            ("F", .contact, ""), ("MM", .messaging, "M"), ("0", .contact, "0"), ("1rest", .contact, "1rest"),
            ("m", .contact, "m"), ("\u{2}", .contact, "\u{2}"),
        ] {
            var reader = ByteReader(bytes + Array(following.utf8))
            let queue = reader.replyQueue()
            #expect(queue?.address.mode == mode, "\(following)")
            #expect(reader.rest() == Array(left.utf8))
        }
    }
}
