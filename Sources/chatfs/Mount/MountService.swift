import Base
import ChatCore
import CommandLineKit
import Desktop
import FileSystem
import Glibc
import Metrics
import Namespace
import Posix
import XFTP

/// Serves the control socket (`docs/reference/control-socket.md`) with the entries, cache and core of this mount.
struct MountService: ControlService {
    let fileSystem: FileSystem
    let cacheRequests: CacheRequestHandler
    let copies: CopyFreeing
    let deletion: ItemDeletion
    let chats: ChatActions
    let core: MountedCore
    let suspension: MountSuspension
    let preparation: MessagePreparation
    let mountpoint: String
    let metrics: MountMetrics
    /// Returns nil without desktop notifications.
    let notifications: @Sendable () -> MountNotifications?

    private var lister: EntryLister { fileSystem.lister }

    var greeting: ControlGreeting {
        ControlGreeting(profile: core.core.profile.displayName, mountpoint: mountpoint, pid: getpid())
    }

    func subscribe(
        to interest: ProgramInterest, whenAvailable: @escaping @Sendable () -> Void
    ) -> any ProgramSubscription {
        let changes = fileSystem.changes(whenAvailable: whenAvailable)
        switch interest {
        case .entries: return MountSubscription(changes: changes, lister: lister)
        case .status: return StatusSubscription(changes: changes)
        }
    }

    // MARK: - Commands

    func carryOut(_ request: CacheRequest) async throws -> CacheAnswer {
        try await cacheRequests.answer(request)
    }

    func carryOut(_ request: KeepRequest) async throws -> [ListedRule] {
        try await chats.keeping.answer(request)
    }

    func carryOut(_ request: FreeRequest) async throws -> [Int64] {
        // Pinned files stay local.
        try await core.answer(request.sparing { copies.hydrator.isPinned($0) })
    }

    func carryOut(_ request: DeleteRequest) async throws -> DeleteAnswer {
        try await deletion.answer(request)
    }

    func folderName(of chat: ChatReference) -> String? { lister.folder(of: chat)?.name }

    func wasSent(_ item: ChatItem) async { await fileSystem.wasSent(item) }

    // MARK: - Queries

    func listChats() async -> [ProgramChat] {
        let muted = await chats.muted()
        let unread = notifications()?.unread ?? [:]
        return lister.chats().map { folder in
            var chat = ProgramChat(folder)
            if muted.contains(folder.chat.reference) { chat.muted = true }
            chat.unread = unread[folder.chat.reference]
            return chat
        }
    }

    func carryOut(_ request: ItemsRequest) async throws(ProgramError) -> ItemPage {
        let folder = try folder(request.chat)
        let count = request.count ?? ControlProtocol.maxCount
        guard 1...ControlProtocol.maxCount ~= count else {
            throw ProgramError(
                .invalidParameter, "The count must be between 1 and \(ControlProtocol.maxCount).")
        }
        do throws(FileSystemError) {
            let found = try await lister.entries(
                of: folder.id, after: request.after.map(NodeID.init), count: count,
                isHashing: request.hash ?? false)
            let wanted = request.states.map(Set.init)
            let items = found.map(ProgramItem.init).filter { wanted?.contains($0.state) ?? true }
            return ItemPage(items: items, next: found.count < count ? nil : found.last?.id.rawValue)
        } catch {
            throw ProgramError(error)
        }
    }

    func item(at path: String, isHashing: Bool) async throws(ProgramError) -> ProgramItem {
        let entry = try await entry(path, isHashing: isHashing)
        var item = ProgramItem(entry)
        if entry["direction"] == "received", let file = entry["file-id"].flatMap({ Int64($0) }) {
            let asking = Task { [core = core.core] in await core.relays(of: FileID(file)) }
            // An official core may be busy or silent, and the rest is at hand.
            let relays = await asking.result(within: .seconds(1))?.get() ?? []
            item.relays = relays.isEmpty ? nil : relays
        }
        return item
    }

    func syncStatus() async -> ProgramStatus {
        ProgramStatus(await fileSystem.syncStatus(), isSuspended: suspension.isSuspended)
    }

    func metricFamilies() async -> [MetricFamily] { await metrics.families() }

    private func folder(_ name: String) throws(ProgramError) -> FolderDescription {
        let folders = lister.chats()
        do throws(ChatError) {
            let chats = NamedChats(folders.map(\.chat), folders: lister.folderNames)
            let chat = try chats.chat(name)
            guard let folder = folders.first(where: { $0.chat.reference == chat.reference }) else {
                throw ChatError(.noSuchChat, "This chat has no folder.")
            }
            return folder
        } catch {
            throw ProgramError(.noSuchChat, error.sentence, cause: error)
        }
    }

    /// - Throws: `.refused` if the core of the chat cannot do this.
    private func chat(_ name: String, for action: ChatAction) throws(ProgramError) -> ChatReference {
        let chat = try folder(name).chat
        guard chat.supportedActions.contains(action) else {
            throw ProgramError(.refused, "There is nothing to mute, to mark as read or to keep in this chat.")
        }
        return chat.reference
    }

    private func entry(
        _ path: String, isHashing: Bool = false
    ) async throws(ProgramError) -> EntryDescription {
        do throws(FileSystemError) {
            return try await lister.entry(at: path, isHashing: isHashing)
        } catch {
            throw ProgramError(error)
        }
    }

    private func item(_ id: NodeID) async -> ProgramItem? {
        await lister.entry(id).map(ProgramItem.init)
    }

    // MARK: - Actions

    func sendText(_ text: String, to chat: String) async throws(ProgramError) {
        try await chats.send(text, to: folder(chat).chat)
    }

    func setMuted(_ isMuted: Bool, _ chat: String) async throws(ProgramError) {
        // What was muted by an earlier version can be unmuted.
        let reference = try isMuted ? self.chat(chat, for: .mute) : folder(chat).chat.reference
        try await chats.setMuted(isMuted, reference)
    }

    func keep(_ what: String?, of chat: String) async throws(ProgramError) {
        try await chats.keep(what, self.chat(chat, for: .keep))
    }

    func setSuspended(_ isSuspended: Bool) async {
        await suspension.take(isSuspended ? .suspended : .resumed)
    }

    func markRead(_ chat: String) throws(ProgramError) {
        let reference = try self.chat(chat, for: .markRead)
        guard let notifications = notifications() else {
            throw ProgramError(
                .refused, "There are no unread counts: the mount runs with '--notifications off'.")
        }
        notifications.markRead(reference)
    }

    func change(_ path: String, _ action: CacheRequest.Action) async throws(ProgramError) -> EntryAnswer {
        let entry = try await entry(path)
        let answer = try await cacheRequests.answer(CacheRequest(action, entry: entry.id.rawValue))
        return EntryAnswer(item: await item(entry.id), done: answer.isDone)
    }

    func free(_ path: String, lastCopyToo: Bool) async throws(ProgramError) -> EntryAnswer {
        let entry = try await entry(path)
        let freed = try await copies.free(entry.id, lastCopyToo: lastCopyToo)
        return EntryAnswer(item: await item(entry.id), freed: freed)
    }

    func retry(_ path: String) async throws(ProgramError) -> EntryAnswer {
        let entry = try await entry(path)
        let answer = fileSystem.setExtendedAttribute("user.chatfs.retry", [UInt8(ascii: "1")], of: entry.id)
        do throws(FileSystemError) {
            try await answer.result().get()
        } catch  where error.code == EPERM {
            throw ProgramError(
                .refused,
                "Only failed, unsure, held back and recovered files can be resent.",
                cause: error)
        } catch {
            throw ProgramError(error)
        }
        return EntryAnswer(item: await item(entry.id))
    }

    /// Sends a file like `chatfs send`. This process reads the file, so it must not be on this mount.
    func carryOut(_ request: UploadRequest) async throws(ProgramError) {
        let folder = try folder(request.chat)
        let source = try await source(request.source)
        if let refused = folder.chat.sendingRefused { throw ProgramError(.refused, refused) }
        let core = core.core
        let limit = core.limits.maxFileSize(in: folder.chat.reference)
        let mark = try mark(request.key)
        do {
            let composed = try await ThreadPool.shared.run {
                try FileSending.compose(
                    source, caption: request.caption ?? "", limit: limit, stagingFolder: core.stagingFolder,
                    isInterrupted: {})
            }
            // The core has moved an accepted file, and does not need that of a repetition.
            defer { unlink(composed.message.source.path) }
            var message = try await preparation.completed(composed.message)
            if let mark { message.id = mark }
            defer { unlink(message.source.path) }
            await fileSystem.wasSent(try await core.send(message, to: folder.chat.reference))
        } catch {
            throw ProgramError(error)
        }
    }

    private func source(_ path: String?) async throws(ProgramError) -> String {
        guard let path, path.isAbsolutePath else {
            throw ProgramError(.invalidParameter, "The source must be an absolute path.")
        }
        // Following a link into the mount would deadlock this process.
        guard let resolved = await ThreadPool.shared.run({ PathOutside.resolved(path, outside: mountpoint) })
        else {
            throw ProgramError(
                .refused, "Files on this mount cannot be uploaded: copy the file elsewhere first.")
        }
        return resolved
    }

    private func mark(_ key: String?) throws(ProgramError) -> String? {
        guard let key else { return nil }
        let isUsable = { (byte: UInt8) in
            byte == UInt8(ascii: "-") || Character(UnicodeScalar(byte)).isLetter
                || Character(UnicodeScalar(byte)).isNumber
        }
        guard 1...40 ~= key.utf8.count, key.utf8.allSatisfy({ $0 < 0x80 && isUsable($0) }) else {
            throw ProgramError(.invalidParameter, "A key has 1 to 40 letters, digits and hyphens.")
        }
        return "program-" + key
    }

    func approve(_ relays: [String]) async throws(ProgramError) {
        guard !relays.isEmpty, let approved = ApprovedServers(relays) else {
            throw ProgramError(
                .invalidParameter,
                "Expected xftp://fingerprint@host:port, or smp:// for messages.")
        }
        do {
            try await ThreadPool.shared.run { [core] in try core.approve(approved) }
        } catch {
            throw ProgramError(error)
        }
        _ = try await cacheRequests.answer(CacheRequest(.tryAgain))
    }
}

extension ProgramError {
    init(_ error: any Error) {
        let code: ProgramErrorCode =
            switch error {
            case let error as FileSystemError:
                switch error.code {
                case ENOENT, ESTALE, EISDIR: .noSuchItem
                case EPERM, EACCES: .refused
                default: .failed
                }
            case let error as ChatError:
                switch error.code {
                case .sendingRefused, .tooLarge, .invalidCommand, .sendingUnsure: .refused
                case .noSuchChat: .noSuchChat
                case .noSuchItem, .noSuchFile: .noSuchItem
                default: .failed
                }
            default: .failed
            }
        self.init(code, Base.sentence(of: error), cause: error)
    }
}
