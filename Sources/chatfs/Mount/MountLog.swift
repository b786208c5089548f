import Base
import ChatCore
import Fuse
import Posix
import XFTP

/// Writes the life of a mount to the log, at level `info`: mounted, received and sent files, the core's return, and
/// unmounted. Other parts write the opened chats, the evictions and the connected servers. Names no file and no person.
final class MountLog: Sendable {
    private struct State {
        var received = 0
        var sent = 0
        var following: Task<Void, Never>?
    }

    private let parts: MountParts
    private let events: AsyncStream<ChatEvent>
    private let beginning = ContinuousClock.now
    private let state = Lock(State())
    private let log = Log("mount")

    /// Collects the core's events from now on. Returns nil if the level is off.
    init?(_ parts: MountParts) {
        guard Log.isOn(.info) else { return nil }
        self.parts = parts
        events = parts.core.core.events()
    }

    /// The mount is ready.
    func begin(at mountpoint: String) {
        let (core, settings) = (parts.core.core, parts.settings)
        log.information(
            "mounted: profile=\(core.profile.id) core=\(settings.coreChoice.word) "
                + "cache=\(settings.hydration.cacheMode.rawValue) chats=\(parts.fileSystem.lister.chats().count) "
                + "mountpoint=\(mountpoint)")
        let following = Task { for await event in events { note(event) } }
        state.withLock { $0.following = following }
    }

    private func note(_ event: ChatEvent) {
        switch event {
        case .itemChanged(let item, .completed) where item.direction == .received:
            state.withLock { $0.received += 1 }
            log.information("file received: \(Self.facts(of: item))")
        case .itemChanged(let item, .completed):
            state.withLock { $0.sent += 1 }
            log.information("file sent: \(Self.facts(of: item))")
        case .coreReachable: log.information("core reachable again")
        default: break
        }
    }

    private static func facts(of item: ChatItem) -> String {
        "chat=\(item.chat) file=\(item.file?.id.rawValue ?? 0) bytes=\(item.file?.size ?? 0)"
    }

    /// The mount is gone and the core is closed.
    func end() {
        let state = state.withLock { $0 }
        state.following?.cancel()
        let transferred = parts.core.client.transferred
        log.information(
            "unmounted: seconds=\((ContinuousClock.now - beginning).components.seconds) "
                + "requests=\(parts.requests.total) received=\(state.received) sent=\(state.sent) "
                + "fetched-bytes=\(transferred.fetched) sent-bytes=\(transferred.sent)")
    }
}
