import Base
import Cryptography
import Network
import TestSupport
import Testing

@testable import XFTP

/// All wire and description formats, with every kind of change.
@Suite("Wire formats")
struct WireModelTests {
    private static func bytes(_ range: ClosedRange<Int>, _ generator: inout SeededGenerator) -> [UInt8] {
        (0..<Int.random(in: range, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator)
        }
    }

    private static func command(_ generator: inout SeededGenerator) -> XFTPCommand {
        let keys = (0..<Int.random(in: 1...255, using: &generator)).map { _ in bytes(0...40, &generator) }
        return [
            .ping, .upload, .delete, .acknowledge, .addRecipients(keys: keys),
            .download(key: bytes(0...255, &generator)),
            .create(
                .init(
                    senderKey: bytes(0...255, &generator),
                    size: .random(in: 0...UInt32.max, using: &generator),
                    digest: bytes(0...255, &generator), recipientKeys: keys,
                    password: Bool.random(using: &generator) ? nil : bytes(0...255, &generator))),
        ].randomElement(using: &generator) ?? .ping
    }

    @Test("commands have one encoding")
    func commands() throws {
        var generator = SeededGenerator(state: 51)
        for _ in 0..<400 {
            let command = Self.command(&generator)
            let encoded = command.encoded
            #expect(try XFTPCommand(decoding: encoded) == command)
            let cut = Array(encoded.prefix(Int.random(in: 0..<encoded.count, using: &generator)))
            #expect((try? XFTPCommand(decoding: cut)) != command)
            for changed in [generator.mutated(encoded), cut, encoded + Self.bytes(1...3, &generator)] {
                guard let read = try? XFTPCommand(decoding: changed) else { continue }
                #expect(read.encoded == changed, "a command has one form")
            }
        }
    }

    @Test("transmissions round-trip up to the block size")
    func transmissions() throws {
        var generator = SeededGenerator(state: 52)
        for _ in 0..<300 {
            let transmission = Transmission(
                signature: Self.bytes(0...255, &generator), sessionID: Self.bytes(0...255, &generator),
                correlationID: Self.bytes(0...255, &generator), entityID: Self.bytes(0...255, &generator),
                body: Self.bytes(0...15_000, &generator))
            let block = try #require(transmission.block())
            #expect(block.count == Block.size)
            #expect(try Transmission(block: block) == transmission)
            let message = try #require(Block.unpad(block))
            let changed = generator.mutated(message)
            if let read = try? Transmission(message: changed) {
                #expect(read.block().flatMap { Block.unpad($0) } == changed)
            }
        }
        let room = Block.capacity - 3 - 4
        #expect(Transmission(sessionID: [], body: [UInt8](repeating: 1, count: room)).block() != nil)
        #expect(Transmission(sessionID: [], body: [UInt8](repeating: 1, count: room + 1)).block() == nil)
    }

    @Test("a signature covers all fields after it")
    func signatures() throws {
        let (key, other) = (SigningKey.generate(), SigningKey.generate())
        let signed = Transmission(
            sessionID: [1, 2], correlationID: [3], entityID: [4, 5], body: Array("FDEL".utf8)
        ).signed(by: key)
        #expect(signed.isSigned(by: key.verifyingKey) && !signed.isSigned(by: other.verifyingKey))
        let changes: [(inout Transmission) -> Void] = [
            { $0.sessionID[0] ^= 1 }, { $0.correlationID = [] }, { $0.entityID[1] ^= 1 }, { $0.body[0] ^= 1 },
            { $0.signature[10] ^= 1 }, { $0.signature = [] }, { $0.signature.removeLast() },
            // The same bytes, divided differently.
            { ($0.correlationID, $0.entityID) = ([3, 4], [5]) },
        ]
        for change in changes {
            var changed = signed
            change(&changed)
            #expect(!changed.isSigned(by: key.verifyingKey))
        }
    }

    @Test("responses belong to their session")
    func answers() throws {
        func read(_ block: [UInt8]) -> Result<XFTPResponse, XFTPError> {
            Result { () throws(XFTPError) in try XFTPResponse(block: block, sessionID: [7]) }
        }
        func block(_ response: XFTPResponse, session: [UInt8] = [7]) -> [UInt8] {
            Transmission(sessionID: session, body: response.encoded).block() ?? []
        }
        func code(_ block: [UInt8]) -> XFTPErrorCode? {
            if case .failure(let error) = read(block) { error.code } else { nil }
        }
        #expect(try read(block(.ok)).get() == .ok)
        for session in [[], [8], [7, 7]] as [[UInt8]] {
            #expect(code(block(.ok, session: session)) == .protocolViolation)
            // This error itself reports another session.
            #expect(try read(block(.error(.session), session: session)).get() == .error(.session))
        }
        for word in ["HANDSHAKE", "BLOCK", "CMD SYNTAX", "BLOCKED reason=spam"] {
            let bare = try #require(Block.pad(Array(word.utf8)))
            let expected = try #require(XFTPProtocolError(text: word))
            #expect(try read(bare).get() == .error(expected))
        }
        for wrong in [
            [], [UInt8](repeating: 0, count: Block.size - 1), [UInt8](repeating: 0xff, count: Block.size),
            Block.pad(Array("HELLO".utf8)) ?? [], Block.pad([]) ?? [],
            Transmission(sessionID: [7], body: Array("DANCE".utf8)).block() ?? [],
            Transmission(sessionID: [7], body: []).block() ?? [],
            Transmission(sessionID: [7], body: Array("ERR LATER".utf8)).block() ?? [],
            Transmission(sessionID: [7], body: Array("SIDS ".utf8) + [5, 1]).block() ?? [],
            Transmission(sessionID: [7], body: Array("FILE ".utf8) + [1, 1, 2]).block() ?? [],
        ] { #expect(code(wrong) == .protocolViolation) }
    }

    @Test("responses may grow but not shrink")
    func growingAnswers() {
        let responses: [XFTPResponse] = [
            .created(sender: [1, 2], recipients: [[3], [4, 5]]), .added(recipients: [[6]]),
            .file(key: [7, 8], nonce: [UInt8](repeating: 9, count: 24)),
        ]
        for response in responses {
            let encoded = response.encoded
            #expect(XFTPResponse(decoding: encoded + [1, 2, 3]) == response)
            for count in 0..<encoded.count {
                #expect(XFTPResponse(decoding: Array(encoded.prefix(count))) == nil, "\(response) \(count)")
            }
        }
        #expect(XFTPResponse(decoding: Array("OK later".utf8)) == .ok)
        #expect(XFTPResponse(decoding: Array("OKAY".utf8)) == nil && XFTPResponse(decoding: []) == nil)
    }

    private static func relay(_ generator: inout SeededGenerator) -> RelayAddress {
        let names = ["a.example", "B.Example", "abc.onion", "192.0.2.1", "2001:db8::1", "x_y-z", "::1"]
        let hosts = (0..<Int.random(in: 1...8, using: &generator)).compactMap { _ in
            names.randomElement(using: &generator)
        }
        let password: String? =
            Bool.random(using: &generator) ? nil : "p:ss@w\(Int.random(in: 0...99, using: &generator))"
        return RelayAddress(
            fingerprint: bytes(32...32, &generator), hosts: hosts,
            port: Bool.random(using: &generator) ? nil : .random(in: 1...65_535, using: &generator),
            password: password)
    }

    @Test("relay addresses round-trip and hide passwords")
    func addresses() throws {
        var generator = SeededGenerator(state: 53)
        for _ in 0..<2000 {
            let relay = Self.relay(&generator)
            let read = try #require(RelayAddress(relay.textWithPassword), "\(relay.textWithPassword)")
            #expect(read == relay && read.password == relay.password && read.hosts == relay.hosts)
            #expect(RelayAddress(relay.text) == relay && RelayAddress(relay.text)?.password == nil)
            #expect(relay.withoutPassword == relay && relay.withoutPassword.hashValue == relay.hashValue)
            for text in ["\(relay)", String(reflecting: relay)] { #expect(!text.contains("p:ss@w")) }
        }
    }

    @Test("relays have a total order")
    func order() {
        var generator = SeededGenerator(state: 54)
        let relays = (0..<60).map { _ in Self.relay(&generator).withoutPassword }
        for left in relays {
            #expect(!RelayAddress.precedes(left, left))
            for right in relays where left != right {
                #expect(RelayAddress.precedes(left, right) != RelayAddress.precedes(right, left))
            }
        }
        let sorted = relays.sorted(by: RelayAddress.precedes)
        for _ in 0..<5 {
            #expect(relays.shuffled(using: &generator).sorted(by: RelayAddress.precedes) == sorted)
        }
    }

    @Test("headers hold any name in 255 bytes")
    func headers() throws {
        var generator = SeededGenerator(state: 55)
        let letters = Array("abc.é日🎉ß\u{80}\u{ff}/ ")
        for _ in 0..<2000 {
            let name = String(
                (0..<Int.random(in: 0...200, using: &generator)).map { _ in
                    letters.randomElement(using: &generator) ?? "a"
                })
            let size = UInt64.random(in: 0...(1 << 40), using: &generator)
            let encoded = FileHeader.encode(name: name, contentSize: size)
            let header = try #require(
                FileHeader(stream: encoded, streamSize: size + UInt64(encoded.count) + 16))
            #expect(header.contentSize == size && header.contentOffset == UInt64(encoded.count))
            #expect(encoded.count <= FileHeader.maxLength)
            if name.utf8.count <= 255 { #expect(header.name == name) }
            // A stream one byte shorter than its length field is invalid.
            #expect(FileHeader(stream: encoded, streamSize: size + UInt64(encoded.count) + 15) == nil)
            for count in [0, 7, 8, encoded.count - 1] {
                #expect(FileHeader(stream: Array(encoded.prefix(count)), streamSize: .max) == nil)
            }
        }
    }

    /// Each way to embed an IPv4 address in IPv6, compared with the IPv4 address.
    @Test("embedded IPv4 addresses are classified alike")
    func embeddedAddresses() {
        var generator = SeededGenerator(state: 56)
        let firsts: [UInt8] = [0, 8, 10, 100, 127, 169, 172, 192, 198, 203, 224, 255]
        for _ in 0..<3000 {
            let inner = [firsts.randomElement(using: &generator) ?? 8] + Self.bytes(3...3, &generator)
            let expected = IPAddress.isInternal(inner)
            let zeros = { (count: Int) in [UInt8](repeating: 0, count: count) }
            let forms: [[UInt8]] = [
                zeros(12) + inner, zeros(10) + [0xff, 0xff] + inner, zeros(8) + [0xff, 0xff, 0, 0] + inner,
                [0, 0x64, 0xff, 0x9b] + zeros(8) + inner,
                [0x20, 0x02] + inner + Self.bytes(2...2, &generator) + [1] + zeros(7),
                [0x20, 0x01, 0, 0, 8, 8, 8, 8] + zeros(4) + inner.map { ~$0 },
                [0x20, 0x01, 0, 0] + inner + zeros(4) + [0xf7, 0xf7, 0xf7, 0xf7],
                [0x26, 0x06] + Self.bytes(6...6, &generator) + [0, 0, 0x5e, 0xfe] + inner,
            ]
            let others = forms.filter { IPAddress.isInternal($0) != expected }
            #expect(others.isEmpty, "of \(inner)")
        }
        // Other lengths are no addresses.
        for count in 0...20 where count != 4 && count != 16 {
            #expect(IPAddress.isInternal([UInt8](repeating: 8, count: count)))
        }
    }
}
