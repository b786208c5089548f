/// A profile held by this process, with the contract of all commands.
///
/// A core stores its state durably; its user may be killed at any moment. Every command takes full effect or
/// throws without effect, unless it says otherwise. Commands may be called concurrently from any task, and
/// never block a thread of the cooperative pool. A command without a reply, as from an unreachable core in
/// another process, ends with `.file(.unreachable)` or `.file(.timedOut)`.
///
/// `events` reports all changes, including those by commands of this object, except the item returned by
/// `send`. A change is readable before its event. Events of one file come in order.
///
/// Besides the named errors, every command throws `.storage` for a disk failure or damaged data,
/// `.file(.noSpace)`, `.file(.unreachable)`, `.file(.timedOut)` and `.internalError`.
public protocol OpenProfile: Sendable {
    var profile: Profile { get }
    /// Absolute path of a folder for CryptoFiles passed to `send` and `completeClaim`. Mode 0700, on the
    /// filesystem of the core's files.
    var stagingFolder: String { get }

    /// Returns a new stream of all later events. It starts with `.coreUnreachable` while that holds. For a
    /// consistent view, open the stream before reading `chats` and `items`. Streams end with the core.
    func events() -> AsyncStream<ChatEvent>
}
