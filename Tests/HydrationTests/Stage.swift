import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import TestSupport
import XFTP

@testable import Hydration

/// A hydrator with its folders, a core and sources in memory.
struct Stage {
    let folder: TemporaryFolder
    let core: MemoryCore
    let hydrator: Hydrator
    private let sources: Lock<[String: MemorySource]>

    /// - Parameter before: An earlier mount of the same profile.
    init(
        settings: HydrationSettings = HydrationSettings(), retention: RetentionList? = nil,
        after before: Stage? = nil
    ) throws {
        folder = try before?.folder ?? TemporaryFolder()
        core = try before?.core ?? MemoryCore(stagingFolder: folder.makeFolder("staging"))
        let sources = before?.sources ?? Lock([:])
        self.sources = sources
        hydrator = try Hydrator(
            core: core, cacheFolder: PrivateFolder(folder.path("cache"), purpose: "test cache"),
            settings: settings, retention: retention
        ) { claim in
            guard let source = sources.withLock({ $0[claim.description] }) else {
                throw XFTPError(.malformedDescription, "The file description makes no sense.")
            }
            return source
        }
    }

    /// The current machine of a file; nil without an object.
    func machine(of file: FileID) -> CachedFile.Machine? {
        hydrator.context.registry[file]?.withMachine { $0 }
    }

    /// A claimable item, fetched from `source`.
    func offer(_ source: MemorySource, id: Int64 = 1, size: UInt64? = nil) -> ChatItem {
        sources.withLock { $0["\(id)"] = source }
        core.state.withLock { $0.claims[FileID(id)] = .success("\(id)") }
        return item(id, size: size ?? source.contentSize)
    }

    /// A CryptoFile as stored by the core.
    func encrypted(_ plain: [UInt8], to path: String) throws -> FileArguments {
        let arguments = CryptoFile.freshArguments()
        let writer = try CryptoFileWriter(
            file: OpenFile(path, flags: O_RDWR | O_CREAT), arguments: arguments)
        try writer.append(plain)
        try writer.finish()
        return arguments
    }

    func item(
        _ id: Int64, size: UInt64, status: FileStatus = .rcvInvitation(described: true),
        source: FileSourceLocation? = nil
    ) -> ChatItem {
        ChatItem(
            id: ItemID(id), chat: .direct(1), direction: .received, sender: "bob",
            time: Timestamp(seconds: 1), content: MessageContent(kind: .file),
            file: ChatFile(
                id: FileID(id), name: "file", size: size, status: status, transport: .xftp, source: source))
    }
}

extension HydrationSettings {
    /// Without memory for sequential readers, so that damage on the disk meets their reads.
    static var readingFromDisk: HydrationSettings {
        var settings = HydrationSettings()
        settings.unreadMemory = 0
        return settings
    }
}
