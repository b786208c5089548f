import Base
import Cryptography
import Glibc
import Network
import Posix
import TestSupport
import Testing

@testable import XFTP

/// Files that are encrypted as relays get them before their upload begins.
@Suite(.serialized) struct StoredStreamTests {
    private let folder: TemporaryFolder
    private let file: OpenFile

    init() throws {
        folder = try TemporaryFolder()
        file = try OpenFile(folder.path("stream"), flags: O_RDWR | O_CREAT)
    }

    /// Writes the file as a core stages it.
    private func stage(_ bytes: [UInt8]) throws -> FileArguments {
        var arguments = CryptoFile.freshArguments()
        let header = FileHeader.encode(name: "file", contentSize: 0)
        let writer = try StreamFileWriter(file: file, arguments: arguments, header: header)
        try bytes.withUnsafeBytes { try writer.append($0) }
        arguments.content = try writer.finish(
            header: FileHeader.encode(name: "file", contentSize: UInt64(bytes.count)),
            length: StoredStream.length(headerLength: header.count, contentSize: UInt64(bytes.count)) - 16)
        return arguments
    }

    private func upload(
        _ arguments: FileArguments, to relay: LocalRelay, _ client: XFTPClient, state: UploadState? = nil,
        save: @escaping @Sendable (UploadState) throws -> Void = { _ in }
    ) async throws -> UploadedFile {
        try await FileUpload.run(
            .stream(try StoredStream(file: file, arguments: arguments)), fileName: "a.bin", recipients: 2,
            relays: [relay.address], client: client, state: state, save: save)
    }

    @Test(arguments: [0, 1, 65_482, 65_483, 1_048_576, 5_500_000, 8_388_700])
    func storedStreamIsUploadedAsItIs(size: Int) async throws {
        let relay = try LocalRelay()
        let client = XFTPClient.forTests()
        let bytes = someBytes(size)
        let arguments = try stage(bytes)
        let uploaded = try await upload(arguments, to: relay, client)
        for description in uploaded.recipients {
            let (header, content) = try await download(description, client)
            #expect(content == bytes)
            #expect(header.name == "file")
        }
        let described = uploaded.recipients[0]
        #expect(described.key == arguments.key && described.nonce == arguments.nonce)
        #expect(described.digest == SHA512.hash(try file.read(count: Int(try file.size()), at: 0)))
        #expect(described.size == (try file.size()))
    }

    @Test(arguments: [0, 14, 3_000_000, 5_500_050, 6_291_455])
    func damagedStreamIsNotDescribed(position: UInt64) async throws {
        let relay = try LocalRelay()
        let client = XFTPClient.forTests()
        let arguments = try stage(someBytes(5_500_000))
        try file.write(try file.read(count: 1, at: position).map { $0 ^ 1 }, at: position)
        let refusal = await #expect(throws: XFTPError.self) {
            try await upload(arguments, to: relay, client)
        }
        #expect(refusal?.code == .source)
        #expect((refusal?.cause as? CryptographyError)?.code == .notAuthentic)
    }

    @Test(arguments: [-1, 1])
    func wrongLengthIsRefused(change: Int) throws {
        let arguments = try stage(someBytes(100_000))
        try file.truncate(to: UInt64(Int(try file.size()) + change))
        #expect(throws: XFTPError.self) { try StoredStream(file: file, arguments: arguments) }
    }

    @Test func contentOutsideItsHeaderIsRefused() throws {
        var arguments = try stage(someBytes(100_000))
        for content: Range<UInt64>? in [nil, 0..<100_000, 14..<6_000_000_000] {
            arguments.content = content
            #expect(throws: XFTPError.self) { try StoredStream(file: file, arguments: arguments) }
        }
    }

    @Test func resumedUploadRepeatsNoChunk() async throws {
        let relay = try LocalRelay()
        let client = XFTPClient.forTests()
        let arguments = try stage(someBytes(5_500_000))
        let saved = Lock<UploadState?>(nil)
        let first = try await upload(arguments, to: relay, client) { state in saved.withLock { $0 = state } }
        let state = try #require(saved.withLock { $0 })
        let second = try await upload(arguments, to: relay, client, state: state)
        #expect(second.recipients == first.recipients)
        let other = try stage(someBytes(5_500_000))
        let refused = await code { _ = try await upload(other, to: relay, client, state: state) }
        #expect(refused == .wrongState)
    }
}
