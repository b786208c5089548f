import ChatCore
import Desktop
import EmbeddedCore
import FileSystem
import Glibc
import Hydration
import Posix

extension MountedCore {
    /// Adds pending network work and a full disk to the status of a mount.
    /// - Parameter folderName: Returns the name of a chat's folder; nil if it has none.
    func completeStatus(
        _ status: inout MountStatus, folderName: @Sendable (ChatReference) -> String?
    ) async {
        status.fullDisk = await ThreadPool.shared.run { [folder] in MountStatus.FullDisk(of: folder) }
        guard let waiting else { return }
        do throws(ChatError) {
            let network = try await waiting()
            status.connections = network.connections
            let found = MountStatus.Waiting(network, folderName: folderName)
            status.waiting = found.isEmpty ? nil : found
        } catch {
            Log("mount").warning("status lacks pending network work: error=\(error.sentence)")
        }
    }
}

extension Mounted {
    /// Returns nil if the mount does not answer or runs another version.
    func status() async -> MountStatus? {
        guard case .status(let bytes) = await answer() else { return nil }
        return MountStatus.decoded(bytes)
    }
}

extension MountStatus.FullDisk {
    /// Free bytes below which the disk counts as full.
    static let limit: UInt64 = 1 << 20

    /// Returns nil if there is enough space or the space is unknown. Blocks.
    init?(of folder: String) {
        guard let free = try? OpenFile(folder, flags: O_RDONLY).availableBytes(), free < Self.limit else {
            return nil
        }
        self.init(folder: folder, free: free)
    }
}

extension MountStatus.Room {
    /// Returns nil if the free space of the data directory is unknown. Blocks.
    /// - Parameters:
    ///   - data: Path of the profile's directory.
    ///   - cache: Directory of the cache.
    init?(data: String, cache: OpenFile, _ settings: HydrationSettings) {
        guard let free = try? OpenFile(data, flags: O_RDONLY).availableBytes() else { return nil }
        let spare: UInt64? = if settings.cacheMode == .memory { nil } else { try? cache.availableBytes() }
        // Excludes the space that must stay free.
        self.init(
            data: free, cache: spare.map { $0 - min($0, settings.minimumFree) },
            cacheLimit: settings.cacheLimit)
    }
}

extension MountStatus.Waiting {
    /// - Parameter folderName: Returns the name of a chat's folder; nil if it has none.
    init(_ waiting: NetworkWaiting, folderName: (ChatReference) -> String?) {
        self.init()
        servers = waiting.outages.map {
            Server(server: $0.server, since: $0.since.seconds, problem: $0.problem)
        }
        messages = waiting.messages.map { chat, count in
            Messages(chat: folderName(chat) ?? chat.description, reference: chat.description, count: count)
        }.sorted { $0.chat < $1.chat }
        refused = waiting.refused.isEmpty ? nil : waiting.refused.map(\.text)
        (invitations, requests) = (waiting.invitations, waiting.requests)
    }
}
