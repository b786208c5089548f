import Posix

/// A file that one member of a group has sent. No other member has any of it, and each is mounted for the first time
/// with `mount`. Its sender is unmounted.
struct SentFile: Sendable {
    private static let sender = "alice"

    let size: Int
    /// The sent file.
    let plain: String
    /// The members to mount.
    let members: [String]
    let relay: OwnRelay
    /// The maximum memory of the sending mount in bytes.
    let senderMemory: Double
    private let name: String
    private let chats: Chats

    /// - Parameter members: The number of recipients.
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

    /// Returns its path on the mount of a member.
    func path(on mount: Mounted) -> String { mount.inGroup(name) }
}
