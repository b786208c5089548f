import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing
import XFTP

@testable import Links

/// A core with manual uploads, and its profiles, which are opened one after another in one folder.
struct LinkStage {
    let folder: TemporaryFolder
    let core: ManualCore

    init(uploadsCryptoFiles: Bool = true) throws {
        folder = try TemporaryFolder()
        core = ManualCore(
            stagingFolder: try folder.makeFolder("staging"), uploadsCryptoFiles: uploadsCryptoFiles)
        _ = try folder.makeFolder("profile")
    }

    /// A process that opens the profile.
    func open(_ core: ManualCore? = nil) -> LinkedCore {
        LinkedCore(
            core ?? self.core, folder: folder.path("profile"),
            client: XFTPClient(settings: .init(policy: .everything)),
            approve: { _ in }, clock: SystemWallClock(),
            retry: RetryPolicy(first: .milliseconds(2), maxDelay: .milliseconds(10), tries: .max))
    }

    /// The rows as that process has them.
    func store() -> LinkStore {
        LinkStore(
            path: folder.path("profile/links.sqlite"), key: nil,
            folder: LinkFolder(path: folder.path("staging/links-3")), owner: "alice", clock: SystemWallClock()
        )
    }

    /// A file staged for upload, as the outbox does it.
    func message(_ name: String, _ bytes: [UInt8], id: String? = nil) throws -> ComposedMessage {
        let path = core.stagingFolder + "/" + Hexadecimal.encode(SystemRandomSource().bytes(8))
        let arguments = CryptoFile.freshArguments()
        let writer = try CryptoFileWriter(
            file: try OpenFile(path, flags: O_RDWR | O_CREAT | O_EXCL), arguments: arguments)
        try writer.append(bytes)
        try writer.finish()
        return ComposedMessage(
            id: id ?? path, fileName: name, size: UInt64(bytes.count),
            source: FileSourceLocation(path: path, arguments: arguments), content: MessageContent(kind: .file)
        )
    }

    /// A numbered link of another person.
    func addition(_ number: UInt8, size: UInt64 = 5) throws -> LinkTable.Addition {
        LinkTable.Addition(
            digest: [UInt8](repeating: number, count: 32), name: "link \(number)", size: size,
            link: "simplex:/file#\(number)", description: try Self.description(number).text,
            expires: Timestamp(seconds: 4_000_000_000))
    }

    func names(_ links: LinkedCore) async throws -> [String] {
        try await links.items(of: .links, before: nil, count: 100).compactMap(\.file?.name).reversed()
    }

    /// Waits for an upload of this name and returns its newest number.
    func upload(_ name: String = "a.bin") async throws -> FileID {
        try await wait(for: "it is uploaded") {
            core.state.withLock { state in
                state.names.contains(name) ? state.uploads.keys.max { $0.rawValue < $1.rawValue } : nil
            }
        }
    }

    /// The files of the folder of links.
    var kept: [String] { (try? folder.names(in: "staging/links-3")) ?? [] }

    /// One chunk of 64 KiB on an unreachable relay.
    static func description(_ number: UInt8 = 1) throws -> FileDescription {
        let relay = try #require(
            RelayAddress("xftp://\(Base64URL.encode([UInt8](repeating: 5, count: 32)))@203.0.113.1:5443"))
        let replica = FileDescription.Replica(
            relay: relay, id: [UInt8](repeating: 9, count: 16),
            key: try SigningKey(seed: [UInt8](repeating: 2, count: 32)).pkcs8)
        return FileDescription(
            party: .recipient, digest: [UInt8](repeating: number, count: 64),
            key: [UInt8](repeating: 2, count: 32),
            nonce: [UInt8](repeating: 3, count: 24),
            chunks: [
                .init(number: 1, size: 65_536, digest: [UInt8](repeating: 4, count: 32), replicas: [replica])
            ])
    }

    static func link(_ number: UInt8 = 1) throws -> String { FileLink(try description(number)).text }
}
