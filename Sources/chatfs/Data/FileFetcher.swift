import ChatCore
import Desktop
import EmbeddedCore
import Namespace
import Posix

/// Receives remote files through the daemon of the profile's mount, or through a core of this process.
struct FileFetcher: Sendable {
    let directory: DataDirectory
    let profile: Profile

    /// Receives the items one after the other. Reports each failure with its reason and continues.
    func fetch(
        _ items: [ChatItem], failed: @escaping @Sendable (ChatItem, String) -> Void
    ) async throws {
        guard !items.isEmpty else { return }
        let own = try await ThreadPool.shared.run { [directory, profile] () throws(ChatError) in
            try directory.folders(of: profile).own
        }
        let daemon = try await ThreadPool.shared.run { () throws(DesktopError) in
            try ControlClient.connect(profileFolder: own)
        }
        if let daemon { return try await ask(daemon, own, items, failed) }
        let settings = CoreSettings(
            profile: profile.displayName, directory: DirectoryAccess(unlocked: directory), core: .embedded)
        let core = try await MountedCore.open(settings)
        for item in items {
            if let problem = await Self.receive(item, core.core) { failed(item, problem) }
        }
        await core.shutDown()
    }

    private func ask(
        _ daemon: ControlClient, _ own: String, _ items: [ChatItem],
        _ failed: @escaping @Sendable (ChatItem, String) -> Void
    ) async throws {
        let key = directory.key
        try await ThreadPool.shared.run { () throws(any Error) in
            let names = try RecordedNames(path: own + "/names.sqlite", key: key)
            for item in items {
                guard let node = try names.node(of: item.id) else {
                    failed(item, "The mount has not listed its folder yet: list it first.")
                    continue
                }
                do throws(DesktopError) {
                    while !(try daemon.ask(CacheRequest(.hydrate, entry: node.rawValue)).isDone) {}
                } catch {
                    guard error.code == .refused else { throw error }
                    failed(item, error.sentence)
                }
            }
        }
    }

    /// The time without a new byte after which the next file is tried.
    private static let stallLimit = Duration.seconds(60)

    /// Receives one file. Returns the reason for a failure as a sentence; nil on success.
    private static func receive(_ item: ChatItem, _ core: any ChatCore) async -> String? {
        guard let file = item.file else { return nil }
        do throws(ChatError) {
            try await core.setFileToReceive(file.id, approvedRelays: false)
            var (received, last) = (UInt64(0), ContinuousClock.now)
            while let now = try await core.item(of: file.id)?.file {
                switch now.status {
                case .rcvComplete: return nil
                case .rcvError(let problem), .rcvAborted(let problem): return problem.sentence
                case .rcvCancelled: return "The sender cancelled the file."
                case .rcvInvitation(described: false): return "The sender has not uploaded the file yet."
                case .rcvTransfer(let bytes, _) where bytes > received:
                    (received, last) = (bytes, ContinuousClock.now)
                case .rcvWarning(let problem) where ContinuousClock.now - last > stallLimit:
                    return problem.sentence
                case _ where ContinuousClock.now - last > stallLimit:
                    return "No byte arrived for \(stallLimit.components.seconds) seconds."
                default: break
                }
                try? await Task.sleep(for: .milliseconds(100))
            }
            return "The file was deleted."
        } catch {
            return error.sentence
        }
    }
}
