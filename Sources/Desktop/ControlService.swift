import ChatCore
import Metrics

/// The daemon's implementation of the requests that need its mount, behind `ControlServer`.
///
/// Thread-safe; serves requests of several connections concurrently. A request may take any time, because it delays no
/// other connection. No request may wait for the mount itself, which this daemon serves.
public protocol ControlService: Sendable {
    var greeting: ControlGreeting { get }

    // Of programs. They throw all of `ProgramErrorCode` except `.malformed`. A path is below the mountpoint, and a chat
    // is named by its folder, name or reference.

    func listChats() async -> [ProgramChat]
    func carryOut(_ request: ItemsRequest) async throws(ProgramError) -> ItemPage
    func item(at path: String, isHashing: Bool) async throws(ProgramError) -> ProgramItem
    func syncStatus() async -> ProgramStatus
    func metricFamilies() async -> [MetricFamily]

    /// Cancels, hydrates, dehydrates, pins or unpins an entry.
    func change(_ path: String, _ action: CacheRequest.Action) async throws(ProgramError) -> EntryAnswer
    /// Deletes all local copies.
    /// - Parameter lastCopyToo: True to delete the file even if no relay has it.
    func free(_ path: String, lastCopyToo: Bool) async throws(ProgramError) -> EntryAnswer
    func retry(_ path: String) async throws(ProgramError) -> EntryAnswer

    func carryOut(_ request: UploadRequest) async throws(ProgramError)
    func sendText(_ text: String, to chat: String) async throws(ProgramError)
    func setMuted(_ isMuted: Bool, _ chat: String) async throws(ProgramError)
    func markRead(_ chat: String) async throws(ProgramError)
    /// - Parameter what: `never`, `media` or `all`.
    func keep(_ what: String?, of chat: String) async throws(ProgramError)
    /// - Parameter relays: Addresses of servers.
    func approve(_ relays: [String]) async throws(ProgramError)
    func setSuspended(_ isSuspended: Bool) async

    // Of commands.

    /// Answers within about a second.
    func carryOut(_ request: CacheRequest) async throws -> CacheAnswer
    func carryOut(_ request: KeepRequest) async throws -> [ListedRule]
    func carryOut(_ request: FreeRequest) async throws -> [Int64]
    func carryOut(_ request: DeleteRequest) async throws -> DeleteAnswer

    /// Returns the name of a chat's folder; nil while there is none.
    func folderName(of chat: ChatReference) -> String?
    /// Receives each item that a command sent, because the core reports it only to the sender. The command's reply
    /// waits for it.
    func wasSent(_ item: ChatItem) async

    /// Subscribes to events from now on.
    /// - Parameter whenAvailable: Called on any thread when the first event becomes available. Must not wait.
    func subscribe(
        to interest: ProgramInterest, whenAvailable: @escaping @Sendable () -> Void
    ) -> any ProgramSubscription
}

/// The pending events of one connection. Bounded: `missed` replaces events beyond the limit.
public protocol ProgramSubscription: Sendable {
    /// Removes and returns the pending events in order.
    func take() async -> [ProgramEvent]
    /// Ends the subscription.
    func cancel()
}
