import Posix

/// A file that one member of a group has sent to the others, of whom nobody has anything of it: each is mounted for
/// the first time with `mount`. Its sender is not mounted any more.
struct SentFile: Sendable {
    private static let sender = "alice"

    let size: Int
    /// The file that was sent.
    let plain: String
    /// Whose mounts can be made.
    let members: [String]
    let relay: OwnRelay
    /// Of the mount that sent it, in bytes at most.
    let senderMemory: Double
    private let name: String
    private let chats: Chats

    /// - Parameter members: how many receive it.
    static func send(
        _ name: String, size: Int, seed: UInt64, members count: Int, on stage: Stage
    ) async throws -> SentFile {
        let members = (0..<count).map { "member\($0)" }
        let plain = stage.plain(name)
        try await ThreadPool.shared.run { try FileWork.make(plain, size: size, seed: seed) }
        let relay = try await OwnRelay.start(on: stage)
        let chats = try await Chats.make([sender] + members, on: stage)
        let mount = try await chats.mount(sender, relays: [relay.address])
        _ = try await chats.send(plain, as: name, from: mount)
        let memory = try mount.figures.peakMemory()
        await stage.end(mount.process)
        return SentFile(
            size: size, plain: plain, members: members, relay: relay, senderMemory: memory, name: name,
            chats: chats)
    }

    func mount(_ member: String) async throws -> Mounted {
        try await chats.mount(member, relays: [relay.address])
    }

    /// Where it is on the mount of a member.
    func path(on mount: Mounted) -> String { mount.inGroup(name) }
}
