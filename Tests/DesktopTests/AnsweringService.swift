import Base
import ChatCore
import Glibc
import Metrics

@testable import Desktop

/// A mount that answers as the tests expect.
final class AnsweringService: ControlService {
    private final class Subscription: ProgramSubscription {
        let whenAvailable: @Sendable () -> Void
        private let events = Lock<[ProgramEvent]>([])
        private let whenCancelled: @Sendable () -> Void

        init(_ whenAvailable: @escaping @Sendable () -> Void, whenCancelled: @escaping @Sendable () -> Void) {
            self.whenAvailable = whenAvailable
            self.whenCancelled = whenCancelled
        }

        func add(_ event: ProgramEvent) { events.withLock { $0.append(event) } }

        func take() async -> [ProgramEvent] {
            events.withLock { events in
                defer { events = [] }
                return events
            }
        }

        func cancel() { whenCancelled() }
    }

    /// Items sent by commands.
    let shown = Lock<[ItemID]>([])
    /// Methods of programs that return nothing, with their objects.
    let changes = Lock<[String]>([])
    /// Of each subscription.
    let interests = Lock<[ProgramInterest]>([])
    private let core: AnsweringCore
    private let subscription = Lock<Subscription?>(nil)

    init(_ core: AnsweringCore = AnsweringCore()) { self.core = core }

    var isHeard: Bool { subscription.withLock { $0 != nil } }

    var greeting: ControlGreeting { ControlGreeting(profile: "ann", mountpoint: "/mnt/Chats", pid: getpid()) }

    func listChats() async -> [ProgramChat] { [] }
    func carryOut(_ request: ItemsRequest) async throws(ProgramError) -> ItemPage { ItemPage(items: []) }

    func item(at path: String, isHashing: Bool) async throws(ProgramError) -> ProgramItem {
        ProgramItem(
            number: 1024, path: path, name: path, chat: "@1", size: 1, modified: 0, state: "stored",
            progress: 100)
    }

    func syncStatus() async -> ProgramStatus {
        ProgramStatus(connected: true, synced: true, pending: 0, failed: 0, suspended: false, lastError: nil)
    }

    func metricFamilies() async -> [MetricFamily] { [] }

    func change(_ path: String, _ action: CacheRequest.Action) async throws(ProgramError) -> EntryAnswer {
        guard action != .pin else { throw ProgramError(.refused, "Not this one.") }
        return EntryAnswer(item: nil)
    }

    func free(_ path: String, lastCopyToo: Bool) async throws(ProgramError) -> EntryAnswer {
        EntryAnswer(item: nil, freed: lastCopyToo ? 7 : 5)
    }

    func retry(_ path: String) async throws(ProgramError) -> EntryAnswer { EntryAnswer(item: nil) }

    func carryOut(_ request: UploadRequest) async throws(ProgramError) { note("upload", request.chat) }

    func sendText(_ text: String, to chat: String) async throws(ProgramError) {
        note("send \(text)", chat)
    }

    func setMuted(_ isMuted: Bool, _ chat: String) async throws(ProgramError) {
        note(isMuted ? "mute" : "unmute", chat)
    }

    func markRead(_ chat: String) async throws(ProgramError) { note("read", chat) }

    func keep(_ what: String?, of chat: String) async throws(ProgramError) {
        note("keep \(what ?? "nothing")", chat)
    }

    func approve(_ relays: [String]) async throws(ProgramError) {
        note("approve", relays.joined(separator: " "))
    }

    func setSuspended(_ isSuspended: Bool) async { note(isSuspended ? "suspend" : "resume", "") }

    private func note(_ words: String...) { changes.withLock { $0.append(words.joined(separator: ": ")) } }

    func carryOut(_ request: CacheRequest) async throws -> CacheAnswer {
        guard request.entry != 13 else {
            throw ProgramError(.refused, "The file is open: close it first.")
        }
        return CacheAnswer(isDone: request.action != .hydrate, progress: Int(request.entry ?? 100))
    }

    func carryOut(_ request: KeepRequest) async throws -> [ListedRule] {
        if request.chat == "nobody" { throw ChatError(.noSuchChat, "There is no such chat.") }
        return [
            ListedRule(
                chat: request.chat, name: nil, what: request.what ?? "never",
                largest: request.largest ?? 0, minimumFree: request.minimumFree ?? 0,
                metered: request.metered ?? false, when: request.when ?? "arrival")
        ]
    }

    func carryOut(_ request: FreeRequest) async throws -> [Int64] {
        guard request.lastCopies else { return Array(request.files.prefix(1)) }
        throw ChatError(.storage, "The core keeps them itself.")
    }

    func carryOut(_ request: DeleteRequest) async throws -> DeleteAnswer {
        guard request.entry != 13 else { throw ChatError(.noSuchItem, "There is no such file.") }
        return DeleteAnswer(
            chatName: request.chat, files: request.items?.count ?? 0,
            bytes: request.forEveryone == true ? 7 : 5, next: request.through)
    }

    func folderName(of chat: ChatReference) -> String? { core.folderName(chat) }
    func wasSent(_ item: ChatItem) async { shown.withLock { $0.append(item.id) } }

    func subscribe(
        to interest: ProgramInterest, whenAvailable: @escaping @Sendable () -> Void
    ) -> any ProgramSubscription {
        interests.withLock { $0.append(interest) }
        let new = Subscription(whenAvailable) { [weak self] in self?.subscription.withLock { $0 = nil } }
        subscription.withLock { $0 = new }
        return new
    }

    func tell(_ event: ProgramEvent) {
        guard let subscription = subscription.withLock({ $0 }) else { return }
        subscription.add(event)
        subscription.whenAvailable()
    }
}

extension ControlServer {
    /// Serves a core as mounted at /mnt/Chats, with both sockets in a folder.
    convenience init(_ core: AnsweringCore, in folder: String, service: AnsweringService? = nil) throws {
        try self.init(
            profileFolder: folder, core: core, mountpoint: "/mnt/Chats",
            service: service ?? AnsweringService(core),
            at: ProgramSocket(runtimeFolder: nil, profileFolder: folder))
    }
}
