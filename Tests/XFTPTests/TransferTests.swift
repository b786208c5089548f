import Base
import Cryptography
import Glibc
import Network
import Posix
import TestSupport
import Testing

@testable import XFTP

/// Files are uploaded to our relay and downloaded again.
@Suite(.serialized) struct TransferTests {
    /// One size of each class of the chunk plan, and sizes where content meets a boundary.
    static let sizes = [
        0, 1, 65_504, 65_505, 196_600, 262_145, 786_409, 1_048_576, 3_145_729, 5_500_000, 8_388_700,
    ]

    @Test(arguments: sizes)
    func filesRoundTrip(size: Int) async throws {
        let relay = try LocalRelay()
        let client = XFTPClient.forTests()
        let bytes = someBytes(size)
        let sent = Lock<UInt64>(0)
        let uploaded = try await FileUpload.run(
            MemorySource(bytes: bytes), fileName: "ü 🎉.bin", recipients: 1, relays: [relay.address],
            client: client, progress: { done, total in sent.withLock { $0 = total } })
        let description = uploaded.recipients[0]
        #expect(sent.withLock { $0 } == description.size)
        #expect(try FileDescription(parsing: description.text) == description)
        let (header, content) = try await download(description, client)
        #expect(content == bytes)
        #expect(header.name == "ü 🎉.bin")
        #expect(relay.relay.storedBytes == description.size)
        try await FileDeletion.run(uploaded.sender, client: client)
        #expect(relay.relay.storedBytes == 0)
        let after = await code { _ = try await download(description, client) }
        #expect(after == .relay(.authorization))
    }

    @Test(arguments: [UInt64(0), 99_999, 100_001, 5 << 30])
    func fileOfAnotherSizeIsNotWritten(announced: UInt64) async throws {
        let relay = try LocalRelay()
        let client = XFTPClient.forTests()
        let uploaded = try await FileUpload.run(
            MemorySource(bytes: someBytes(100_000)), fileName: "a", recipients: 1, relays: [relay.address],
            client: client)
        let destination = MemoryDestination()
        let refused = await code {
            _ = try await FileDownload.run(
                uploaded.recipients[0], client: client, to: destination, contentSize: announced)
        }
        #expect(refused == .damaged && destination.bytes.isEmpty)
        try await FileDownload.run(
            uploaded.recipients[0], client: client, to: destination, contentSize: 100_000)
        #expect(destination.bytes.count == 100_000)
    }

    @Test func recipientsHaveTheirOwnDescriptions() async throws {
        let relay = try LocalRelay()
        let client = XFTPClient.forTests()
        let bytes = someBytes(100_000)
        // More recipients than one FNEW takes; FADD adds the rest.
        let uploaded = try await FileUpload.run(
            MemorySource(bytes: bytes), fileName: "a", recipients: 203, relays: [relay.address],
            client: client)
        #expect(uploaded.recipients.count == 203)
        #expect(Set(uploaded.recipients.map { $0.chunks[0].replicas[0].id }).count == 203)
        for index in [0, 199, 200, 202] {
            #expect(try await download(uploaded.recipients[index], client).1 == bytes)
        }
        try await FileDeletion.acknowledge(uploaded.recipients[0], client: client)
        let first = await code { _ = try await download(uploaded.recipients[0], client) }
        #expect(first == .relay(.authorization))
        #expect(try await download(uploaded.recipients[1], client).1 == bytes)
        let wrong = await code { try await FileDeletion.run(uploaded.recipients[1], client: client) }
        #expect(wrong == .malformedDescription, "a recipient cannot delete")
    }

    @Test func chunksAvoidFullRelays() async throws {
        let relays = [try LocalRelay(), try LocalRelay(), try LocalRelay { $0.quota = 1 }]
        let client = XFTPClient.forTests()
        let bytes = someBytes(14_000_000)
        let uploaded = try await FileUpload.run(
            MemorySource(bytes: bytes), fileName: "a", recipients: 1, relays: relays.map(\.address),
            client: client)
        #expect(relays[0].relay.storedBytes > 0)
        #expect(relays[1].relay.storedBytes > 0)
        #expect(relays[2].relay.storedBytes == 0)
        #expect(try await download(uploaded.recipients[0], client).1 == bytes)
    }

    @Test func missingReplicaIsReplacedByAnother() async throws {
        let relay = try LocalRelay()
        let client = XFTPClient.forTests()
        let bytes = someBytes(100_000)
        let first = try await FileUpload.run(
            MemorySource(bytes: bytes), fileName: "a", recipients: 1, relays: [relay.address], client: client)
        var description = first.recipients[0]
        var gone = description.chunks[0].replicas[0]
        gone.id = [UInt8](repeating: 0, count: gone.id.count)
        let nowhere = FileDescription.Replica(
            relay: RelayAddress(fingerprint: relay.address.fingerprint, hosts: ["127.0.0.1"], port: 1),
            id: gone.id, key: gone.key)
        for index in description.chunks.indices {
            description.chunks[index].replicas.insert(contentsOf: [nowhere, gone], at: 0)
        }
        #expect(try await download(description, client).1 == bytes)
    }

    @Test func relayChecksItsPassword() async throws {
        let relay = try LocalRelay { $0.password = "open sesame".replacing(" ", with: "_") }
        let client = XFTPClient.forTests()
        let source = MemorySource(bytes: [1, 2, 3])
        for address in [relay.address, relay.address(password: "wrong")] {
            let refused = await code {
                _ = try await FileUpload.run(
                    source, fileName: "a", recipients: 1, relays: [address], client: client)
            }
            #expect(refused == .relay(.authorization))
        }
        let uploaded = try await FileUpload.run(
            source, fileName: "a", recipients: 1, relays: [relay.address(password: "open_sesame")],
            client: client)
        for description in uploaded.recipients + [uploaded.sender] {
            #expect(!description.text.contains("sesame"))
        }
        #expect(try await download(uploaded.recipients[0], client).1 == [1, 2, 3])
    }

    @Test func longDescriptionBecomesARedirect() async throws {
        let relay = try LocalRelay()
        let client = XFTPClient.forTests()
        let bytes = someBytes(9_000_000)
        let uploaded = try await FileUpload.run(
            MemorySource(bytes: bytes), fileName: "long", recipients: 1, relays: [relay.address],
            client: client)
        let redirect = try await FileUpload.redirect(
            to: uploaded.recipients[0], relays: [relay.address], client: client)
        let short = redirect.short
        #expect(short.chunks.count == 1)
        let link = try FileLink(parsing: FileLink(short).text).fileDescription
        #expect(try await FileDownload.followRedirect(link, client: client) == uploaded.recipients[0])
        let (header, content) = try await download(link, client)
        #expect(content == bytes)
        #expect(header.name == "long")
        var lying = short
        lying.redirect?.size += 65_536
        let refused = await code { _ = try await download(lying, client) }
        #expect(refused == .damaged)
        for sender in [uploaded.sender, redirect.sender] {
            #expect(relay.relay.storedBytes > 0)
            try await FileDeletion.run(sender, client: client)
        }
        #expect(relay.relay.storedBytes == 0)
    }

    @Test func chunksCanBeReadInAnyOrder() async throws {
        let relay = try LocalRelay()
        let client = XFTPClient.forTests()
        let bytes = someBytes(5_500_000)
        let uploaded = try await FileUpload.run(
            MemorySource(bytes: bytes), fileName: "a.txt", recipients: 1, relays: [relay.address],
            client: client)
        let reader = try ChunkwiseReader(uploaded.recipients[0], client: client)
        let layout = reader.layout
        #expect(layout.count == 3)
        #expect(layout.chunk(at: 0) == 0)
        #expect(layout.chunk(at: 4_194_303) == 0)
        #expect(layout.chunk(at: 4_194_304) == 1)
        #expect(layout.chunk(at: reader.streamSize - 1) == 2)
        #expect(layout.chunks(reader.streamSize..<reader.streamSize + 1).isEmpty)
        let buffers = (0..<3).map { ChunkBuffer(capacity: Int(layout.size(of: $0))) }
        for chunk in [2, 0, 1] { try await reader.fetch(chunk: chunk, into: buffers[chunk]) }
        let header = try reader.header(inFirstChunk: buffers[0])
        #expect(header.contentSize == 5_500_000)
        let stream = buffers.flatMap { Array($0.bytes) }
        let start = Int(header.contentOffset)
        #expect(Array(stream[start..<start + 5_500_000]) == bytes)
        // Encrypted again, the stream is what the relay has.
        for (chunk, buffer) in buffers.enumerated() { reader.transform(buffer, chunk: chunk) }
        var encrypted = try WholeFileCheck(reader.description)
        for buffer in buffers { encrypted.update(encrypted: UnsafeRawBufferPointer(buffer.bytes)) }
        try encrypted.finish()
        let damaged = buffers[1].bytes
        damaged[77] ^= 1
        var wrong = try WholeFileCheck(reader.description)
        for buffer in buffers { wrong.update(encrypted: UnsafeRawBufferPointer(buffer.bytes)) }
        let failed = wrong
        #expect(throws: XFTPError.self) { try failed.finish() }
        var short = try WholeFileCheck(reader.description)
        short.update(encrypted: UnsafeRawBufferPointer(buffers[0].bytes))
        let tooShort = short
        #expect(throws: XFTPError.self) { try tooShort.finish() }
    }

    @Test func cryptoFileIsWrittenWithoutPlaintext() async throws {
        let relay = try LocalRelay()
        let client = XFTPClient.forTests()
        let folder = try TemporaryFolder()
        let bytes = someBytes(1_300_000)
        let uploaded = try await FileUpload.run(
            MemorySource(bytes: bytes), fileName: "a", recipients: 1, relays: [relay.address], client: client)
        let arguments = CryptoFile.freshArguments()
        let file = try OpenFile(folder.path("f"), flags: O_RDWR | O_CREAT)
        let destination = try CryptoFileDestination(file: file, arguments: arguments)
        try await FileDownload.run(uploaded.recipients[0], client: client, to: destination)
        #expect(try file.size() == 1_300_016)
        try CryptoFile.decrypt(from: folder.path("f"), to: folder.path("p"), arguments: arguments)
        #expect(try folder.read("p") == bytes)
        // Download over existing bytes: all chunks but the first and last are reused.
        let again = try CryptoFileDestination(file: file, arguments: arguments)
        try await FileDownload.run(uploaded.recipients[0], client: client, to: again)
        try CryptoFile.decrypt(from: folder.path("f"), to: folder.path("q"), arguments: arguments)
        #expect(try folder.read("q") == bytes)
    }

    @Test func internalRelaysNeedConfiguration() async throws {
        let relay = try LocalRelay()
        let uploaded = try await FileUpload.run(
            MemorySource(bytes: [1]), fileName: "a", recipients: 1, relays: [relay.address],
            client: .forTests())
        let strict = XFTPClient.forTests { $0.policy = OutboundPolicy(chosen: []) }
        let refused = await code { _ = try await download(uploaded.recipients[0], strict) }
        #expect(refused == .relayNotAllowed)
        // Names that resolve to internal addresses are rejected too.
        var named = uploaded.recipients[0]
        let local = RelayAddress(
            fingerprint: relay.address.fingerprint, hosts: ["localhost"], port: relay.address.port)
        named.chunks[0].replicas[0].relay = local
        let byName = await code { _ = try await download(named, strict) }
        #expect(byName == .relayNotAllowed)
        let configured = XFTPClient.forTests {
            $0.policy = OutboundPolicy(chosen: relay.address.places + local.places)
        }
        #expect(try await download(uploaded.recipients[0], configured).1 == [1])
        #expect(try await download(named, configured).1 == [1])
    }

    @Test func wrongRelayIdentityIsRejected() async throws {
        let relay = try LocalRelay()
        let impostor = RelayAddress(
            fingerprint: [UInt8](repeating: 7, count: 32), hosts: relay.address.hosts,
            port: relay.address.port)
        let refused = await code { try await XFTPClient.forTests().ping(impostor) }
        #expect(refused == .wrongIdentity)
        try await XFTPClient.forTests().ping(relay.address)
    }
}
