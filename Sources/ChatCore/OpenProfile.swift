/// A profile that this process has, and what holds for every command to it.
///
/// A core keeps its state itself and durably; whoever uses it may die at any moment. Every command either takes
/// effect as a whole or throws and has changed nothing, except where it says so. Commands may be called from any
/// task, at once; none blocks a thread of the cooperative pool. Where a command has no answer for long, such as while
/// a core in another process is away, it ends with `.file(.unreachable)` or `.file(.timedOut)`.
///
/// What changes is told by `events`, also when a command of this very object caused it, except the item that `send`
/// returns. An event is told after its change can be read; events of one file come in order.
///
/// Every command throws, beside what it names: `.storage` when the disk fails or the core's own data is damaged,
/// `.file(.noSpace)`, `.file(.unreachable)`, `.file(.timedOut)`, `.internalError`.
public protocol OpenProfile: Sendable {
    /// The profile whose chats these are.
    var profile: Profile { get }
    /// A folder for CryptoFiles that are handed over by `send` and `completeClaim`: on the same
    /// filesystem as the core's own files, mode 0700. Absolute path.
    var stagingFolder: String { get }

    /// A stream of its own that holds every event from now on until it is dropped; before them `.coreUnreachable`, where
    /// that holds at present. A listener that wants the whole picture opens the stream first and reads `chats` and
    /// `items` afterwards. Streams end when the core is shut down.
    func events() -> AsyncStream<ChatEvent>
}
