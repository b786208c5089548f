import Base
import ChatCore
import Glibc
import Posix
import Store
import XFTP

/// A profile of the official SimpleX program, through its chat API.
///
/// The core keeps the truth; this object keeps an index of the messages that carry files, so that a mount
/// lists all of them at once. Events keep the index current. Events can be lost, so after every connection,
/// and some seconds after the core wrote to its database, the newest message of each chat is compared; the
/// whole history is read once, in the background. While nothing changes, nothing is asked.
public final class OfficialCore: ChatCore {
    public let profile: Profile
    public let limits = ChatLimits(largestFile: FilePolicy.xftpLimit)
    public let stagingFolder: String
    /// The profile's own folder, for others who keep something beside the index. Absolute.
    public let folder: String
    /// Relays that the user configured in the core or approved here.
    public let trust: OfficialRelayTrust

    let transport: any OfficialTransport
    let settings: OfficialCoreSettings
    let index: Database
    let hub = EventHub()
    let state = Lock(State())
    private let lock: ProcessLock

    struct State: Sendable {
        /// When an event last told of an item: pages that were asked for before know less.
        var told: [ItemID: ContinuousClock.Instant] = [:]
        /// Descriptions that events brought, as long as their files are not received.
        var descriptions: [FileID: String] = [:]
        /// The files that carry the descriptions of standalone uploads.
        var redirects: [FileID: FileID] = [:]
        var hidesAddress = false
        var compared = Compared()
        /// Commands of somebody who waits, under way.
        var waiting = 0
        var isConnected = false
        var schedule = ReconciliationSchedule()
        var looks: AsyncStream<Look>.Continuation?
        /// Wakes who fills in the history.
        var history: AsyncStream<Void>.Continuation?
        /// Items of which somebody opened the file in this mount.
        var opened: Set<ItemID> = []
        /// Of these, what could not be told to the core yet.
        var unreported: Set<ItemID> = []
        var tasks: [Task<Void, Never>] = []
    }

    /// How much to look at.
    enum Look: Sendable {
        case newest
        /// Also whether something deeper in the history is missing or too much.
        case whole
    }

    /// Marks the core's process: a send that was begun in an earlier process of our own is over. An
    /// attached core may have outlived ours.
    let run: String

    private init(
        _ transport: any OfficialTransport, _ settings: OfficialCoreSettings, profile: Profile,
        index: Database, lock: ProcessLock
    ) throws {
        self.transport = transport
        self.settings = settings
        self.profile = profile
        self.index = index
        self.lock = lock
        folder = settings.folder + "/profile-\(profile.id)"
        stagingFolder = settings.filesFolder + "/outbox"
        trust = try OfficialRelayTrust(folder: settings.folder)
        run =
            settings.ownership == .attached
            ? "attached" : Hexadecimal.encode(SystemRandomSource().bytes(8))
    }

    /// Connects to the core and opens its profile.
    ///
    /// - Throws: `.profileInUse` naming the process that has it; `.noSuchProfile`; what the core refuses.
    public static func open(
        _ transport: any OfficialTransport, _ settings: OfficialCoreSettings
    ) async throws(ChatError) -> OfficialCore {
        let events = transport.events()
        let lock = try await onPool {
            try takeFolder(settings)
        }
        var iterator = events.makeAsyncIterator()
        let early = try await Session.firstConnection(&iterator, patience: settings.patience)
        let user = try await Session.begin(transport, settings)
        let core = try await onPool {
            let own = settings.folder + "/profile-\(user.id)"
            _ = try PrivateFolder(own, purpose: "chatfs profile")
            let index = try Database(
                path: own + "/index.sqlite", migrations: Schema.migrations, durability: .eventual)
            try makeStagingFolder(settings.filesFolder + "/outbox")
            return try OfficialCore(transport, settings, profile: user, index: index, lock: lock)
        }
        if try await core.chats().isEmpty { try await core.lookAtChats() }
        try await core.noteNetwork()
        core.begin(early, Remaining(iterator))
        return core
    }

    /// Keeps the core's folder to this process, or waits for one that is just leaving. Blocks.
    private static func takeFolder(_ settings: OfficialCoreSettings) throws -> ProcessLock {
        let folder = try PrivateFolder(settings.folder, purpose: "chatfs official core")
        let file = try OpenFile("lock", flags: O_RDWR | O_CREAT, in: folder.directory)
        switch try ProcessLock.take(file, mountpoint: settings.mountpoint, patience: .seconds(10)) {
        case .taken(let lock): return lock
        case .refused(let holder):
            throw ChatError(
                .profileInUse, "The profile is in use by \(holder?.description ?? "another process").")
        }
    }

    /// The rest of the event stream, moved into the task that listens.
    struct Remaining: @unchecked Sendable {
        // Safe: made by `open`, which does not touch it again, and used by one task.
        var iterator: AsyncStream<TransportEvent>.Iterator
        init(_ iterator: AsyncStream<TransportEvent>.Iterator) { self.iterator = iterator }
    }

    public func events() -> AsyncStream<ChatEvent> { hub.listen() }

    public func chats() async throws(ChatError) -> [Chat] {
        try await work { [self] in try index.read { try ChatRows.chats($0) } }
    }

    public func items(
        of chat: ChatReference, before: ItemID?, count: Int
    ) async throws(ChatError) -> [ChatItem] {
        try await work { [self] in
            try index.read { try ItemRows.items(of: chat, before: before, count: count, $0) }
        }
    }

    public func item(_ id: ItemID, in chat: ChatReference) async throws(ChatError) -> ChatItem {
        let known = try await work { [self] in try index.read { try ItemRows.item(id, $0) } }
        if let known, known.chat == chat { return known }
        if let item = try await find(id, in: APIChatReference(chat)) {
            let shown = try await work { [self] in try commit { try $0.take(item, .sending) } }
            if let shown { return shown }
        }
        throw ChatError(.noSuchItem, "The chat has no such message.")
    }

    /// The next process that wants the profile waits for it from now on.
    public func announceEnd() { lock.finish() }

    /// Ends the connection to the core (and the core, where it is ours) and all event streams.
    public func shutDown() async {
        lock.finish()
        let tasks = state.withLock { state in
            state.looks?.finish()
            state.history?.finish()
            state.isConnected = false
            defer { state.tasks = [] }
            return state.tasks
        }
        for task in tasks { task.cancel() }
        unwatchDatabase()
        await transport.close()
        for task in tasks { await task.value }
        hub.close()
        try? await work { [self] in try index.checkpoint() }
        lock.release()
    }

    // MARK: - Talking to the core

    /// For somebody who waits: goes before the filling in of the history.
    func ask(
        _ command: APICommand, timeout: Duration = .seconds(30)
    ) async throws(OfficialCoreError) -> APIResponse {
        state.withLock { $0.waiting += 1 }
        defer { state.withLock { $0.waiting -= 1 } }
        return try await transport.request(command, lane: .foreground, timeout: timeout)
    }

    /// An item as the core has it now, nil when it has none of this id in this chat.
    func find(_ id: ItemID, in chat: APIChatReference) async throws(ChatError) -> APIItem? {
        do throws(OfficialCoreError) {
            guard case .chatPage(let page) = try await ask(.chatPage(chat, .around(id, count: 2))) else {
                throw OfficialCoreError(.notUnderstood, "The SimpleX core gave no messages.")
            }
            return page.items.first { $0.id == id }
        } catch {
            if error.refusal?.has("chatItemNotFound") == true { return nil }
            throw error.chatError
        }
    }

    public func location(of file: FileID) async throws(ChatError) -> FileSourceLocation? {
        let kept = try await work { [self] in try index.read { try KeptCopies.source(of: file, $0) } }
        if let kept { return kept }
        let known = try await work { [self] in
            try index.read { connection -> (ItemID, String)? in
                guard let item = try ItemRows.item(of: file, connection),
                    let reference = try ItemRows.reference(of: item.id, connection)
                else { return nil }
                return (item.id, reference)
            }
        }
        guard let (id, reference) = known, let chat = APIChatReference(text: reference),
            let item = try await find(id, in: chat)
        else { throw ChatError(.noSuchFile, "This file no longer exists.") }
        return item.file?.source?.location(filesFolder: settings.filesFolder)
    }
}
