import CommandLineKit
import EmbeddedCore
import Unlocking
import XFTPRelay

/// The data directory of a `chatfs key` command.
struct KeyTarget: Sendable {
    static let relayFolder = Option(
        "relay-dir", named: "DIR", .folder, "Use the relay in this folder instead of the data directory.")

    let folder: KeyedFolder
    let encryption: FolderEncryption
    var ways: Ways

    init(_ invocation: Invocation) throws {
        folder = try Self.folder(invocation)
        ways = try Ways(invocation)
        let isRelay = invocation[Self.relayFolder] != nil
        encryption = FolderEncryption(folder, lockFile: isRelay ? Relay.lockFile : DataDirectory.useFile)
    }

    static func folder(_ invocation: Invocation) throws -> KeyedFolder {
        if let relay = invocation[relayFolder] {
            return KeyedFolder(path: AbsolutePath.of(relay), database: Relay.recordsFile)
        }
        try DataDirectory.requireParts(invocation.dataPath)
        return KeyedFolder(path: invocation.dataPath, database: DataDirectory.databaseFile)
    }

    /// Unlocks the directory and opens its first database. Blocks.
    func result() -> OpeningResult {
        do {
            switch try folder.condition {
            case .new: throw DataDirectory.noProfile
            case .plain: return .ok(unlockedBy: nil)
            case .encrypted: break
            }
            let (key, kind) = try folder.unlockedWay(with: ways)
            try folder.probe(with: key)
            return .ok(unlockedBy: kind)
        } catch {
            return OpeningResult(error)
        }
    }
}
