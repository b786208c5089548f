import Base
import ChatCore
import FileSystem
import Hydration
import Namespace
import Notifications
import XFTP

/// Creates notification events from core, outbox, contents and file system. Stateless.
struct NotificationSource: Sendable {
    let core: any ChatCore
    let contents: any ContentStore
    let lister: EntryLister
    /// nil if the core is no phone.
    var phone: AwaitedPhone?
    /// Reads the chats' logs.
    let texts = NotifiedTexts()

    /// Maximum number of chats, newest first, and of items per chat, searched for arrivals while unmounted.
    private static let maxChats = 256
    private static let maxItems = 200
    /// The wait for entries of all arrivals while unmounted, because chats may still be loading: two seconds. Without
    /// an entry, the sender's name is used.
    private static let nameTries = 40

    // MARK: - Core events

    /// Reports events of the core and of the mount from now on, until the tasks are cancelled.
    func follow(
        _ fileSystem: FileSystem, tell: @escaping @Sendable ([NotificationEvent]) -> Void
    ) -> [Task<Void, Never>] {
        let (notices, notice) = AsyncStream.makeStream(of: UserNotice.self)
        let changes = core.events()
        fileSystem.tellUser { notice.yield($0) }
        return [
            Task { for await notice in notices { tell(await events(of: notice)) } },
            Task { for await change in changes { tell(await events(of: change)) } },
        ]
    }

    /// New items are a `UserNotice`, because their entries decide their names.
    func events(of event: ChatEvent) async -> [NotificationEvent] {
        switch event {
        case .chatUpdated(let chat): return [keys(of: chat)] + connection(chat)
        case .chatRemoved(let chat): return [.seen(chat), .keysKnown(chat)]
        case .textArrived(let item): return [text(item)]
        case .textsGone(let texts): return texts.map { .gone(.text($0)) }
        case .requestsChanged: return await requests()
        // A phone tells new texts itself, and its logs grow by old ones too.
        case .messageLogGrew where phone != nil: return []
        case .messageLogGrew(let chat, let log):
            return await texts.events(of: chat, upTo: log.size, in: core, named: name(of: chat))
        // As a notice too, which follows the arrival.
        case .chatItemsDeleted(let items, _): return items.map { .gone(.item($0.item)) }
        case .coreReachable:
            phone?.noteConnection()
            return []
        case .coreUnreachable(_, let cause): return phone?.events(ofAbsence: cause) ?? []
        case .serverRefused(let address): return [.refused(Self.refusal(of: address))]
        case .itemChanged(let item, _): return condition(item)
        default: return []
        }
    }

    private static func refusal(of server: String) -> RefusedRequest {
        RefusedRequest(
            "A contact named a messaging server inside your own network, which ChatFS did not contact. Messages for it "
                + "wait for your approval: approve only a server that you know.",
            server: server)
    }

    private func keys(of chat: Chat) -> NotificationEvent {
        guard chat.verification == .revoked else { return .keysKnown(chat.reference) }
        return .keysChanged(chat.reference, named: name(of: chat.reference))
    }

    private func arrival(_ item: ChatItem) async -> [NotificationEvent] {
        guard item.direction == .received, var file = file(item) else { return [] }
        // May differ from the sender's name.
        if let name = await lister.name(of: item.id) { file.name = name }
        return [.arrived(file, time: item.time)]
    }

    /// Returns the events of a known file's new state.
    private func condition(_ item: ChatItem) -> [NotificationEvent] {
        // The status decides nearly all events, so it comes first.
        switch item.file?.status {
        case .sndError(let problem):
            return file(item).map { [.sendingFailed($0, why: problem.sentence, mayRetry: true)] } ?? []
        case .rcvAborted(let problem), .rcvError(let problem), .rcvWarning(let problem):
            guard problem.kind == .notApproved else { return [] }
            return file(item).map { [approval($0, problem)] } ?? []
        case .rcvComplete where item.file?.isHere == true:
            return [.recovered(.item(item.id)), .received(.item(item.id))]
        case .sndComplete, .sndCancelled, .rcvAccepted, .rcvComplete, .rcvCancelled:
            return [.recovered(.item(item.id))]
        case nil, .sndStored, .sndTransfer, .sndWarning, .rcvInvitation, .rcvTransfer: return []
        }
    }

    private func approval(
        _ file: NotifiedFile, _ problem: FileProblem, isAttempt: Bool = false
    ) -> NotificationEvent {
        let relays = problem.sentence.split(separator: " ").compactMap { RelayAddress(String($0)) }
        let isInside = relays.contains(where: \.leadsIntoOwnNetwork)
        return .awaitsApproval(
            file, relays: relays.map(\.withoutPassword.text),
            warning: isInside ? "It is inside your own network: approve it only if you know it." : "",
            isAttempt: isAttempt)
    }

    private func file(_ item: ChatItem) -> NotifiedFile? {
        guard let file = item.file else { return nil }
        return NotifiedFile(
            .item(item.id), in: item.chat, named: name(of: item.chat),
            name: lister.knownName(of: item.id) ?? file.name,
            sender: item.direction == .received ? item.chat.told(sender: item.sender) : "",
            caption: item.content.text, kind: Self.kind(of: item.content), hasPreview: item.hasPreview)
    }

    private static func kind(of content: MessageContent) -> NotifiedFile.Kind {
        switch content.kind {
        case .image: .picture
        case .video: .video
        case .voice: .voice
        case .text, .file: .file
        }
    }

    func name(of chat: ChatReference) -> String { lister.folder(of: chat)?.name ?? "" }

    // MARK: - Drafts and contents

    func events(of change: DraftChange) -> [NotificationEvent] {
        switch change {
        case .changed(let draft):
            let snapshot = draft.snapshot
            let file = NotifiedFile(
                .draft(draft.id), in: draft.chat, named: name(of: draft.chat),
                name: String(decoding: snapshot.name, as: UTF8.self))
            switch snapshot.state {
            case .failed: return [.sendingFailed(file, why: snapshot.problem ?? "", mayRetry: true)]
            case .unsure: return [.sendingFailed(file, why: snapshot.problem ?? "", mayRetry: false)]
            case .queued, .sending, .sent: return [.recovered(file.entry)]
            case .draft where snapshot.isHeld: return [.held(file, why: snapshot.problem ?? "")]
            // Written again, or accepted as it is.
            case .draft: return [.recovered(file.entry)]
            case .recovered, .removed: return []
            }
        case .became(let draft, _), .removed(let draft), .recovered(let draft):
            return [.gone(.draft(draft.id))]
        }
    }

    /// For files not received automatically, problems appear with the first read.
    func events(of change: HydrationChange) async -> [NotificationEvent] {
        guard case .conditionChanged(let id) = change else { return [] }
        let problem = contents.condition(of: id).problem
        if let phone, problem?.kind == .unreachable { return phone.events(of: problem) }
        guard let problem,
            // With an unresponsive core, 'chatfs approve' and the entry show the problem.
            problem.kind == .notApproved, let item = try? await core.item(of: id), let file = file(item)
        else { return [] }
        return [approval(file, problem)]
    }

    /// Returns nil unless the entry is an expiring file of a message.
    func expiry(_ entry: EntryDescription) -> NotificationEvent? {
        guard let chat = entry.chat, let item = entry["item-id"].flatMap({ Int64($0) }),
            let seconds = entry["expires"].flatMap({ Int64($0) })
        else { return nil }
        let file = NotifiedFile(
            .item(ItemID(item)), in: chat, named: name(of: chat), name: entry.name,
            sender: chat.told(sender: entry["sender"] ?? ""))
        return .expires(file, at: Timestamp(seconds: seconds))
    }

    // MARK: - History

    /// Returns the highest item number, which only grows. The newest items are in the chats that changed last.
    func latestItem() async -> ItemID {
        var latest = ItemID(0)
        for chat in await newestChats() {
            if let item = await items(of: chat, count: 1).first { latest = max(latest, item.id) }
        }
        return latest
    }

    /// Returns arrivals while unmounted, oldest first.
    func arrivals(since told: NotificationRecord) async -> [NotificationEvent] {
        var found: [ChatItem] = []
        for chat in await newestChats() {
            guard let newest = await items(of: chat, count: 1).first,
                told.isNews(newest.id, in: chat, at: newest.time)
            else { continue }
            found += await items(of: chat, count: Self.maxItems).filter {
                told.isNews($0.id, in: chat, at: $0.time)
            }
        }
        var events: [NotificationEvent] = []
        var tries = Self.nameTries
        let files = found.filter { $0.direction == .received && $0.file != nil }
        for item in files.sorted(by: { $0.id < $1.id }) {
            while tries > 0, await lister.name(of: item.id) == nil {
                tries -= 1
                // If cancelled at the unmount, the loop ends without waiting.
                try? await Task.sleep(for: .milliseconds(50))
            }
            events += await arrival(item)
        }
        return events
    }

    /// Returns the chats with unread arrivals that were removed while unmounted: nothing else could lower their counts.
    func removedChats(since told: NotificationRecord) async -> [NotificationEvent] {
        // An unresponsive core may still have them.
        guard let chats = try? await core.chats() else { return [] }
        return Set(told.unread.byChat.keys).subtracting(chats.map(\.reference)).map { .seen($0) }
    }

    /// Returns the unread files that were deleted or expired while unmounted.
    func removedFiles(since told: NotificationRecord) async -> [NotificationEvent] {
        var events: [NotificationEvent] = []
        for (item, chat) in told.unread.filesInChats {
            do throws(ChatError) {
                _ = try await core.item(item, in: chat)
            } catch {
                switch error.code {
                case .noSuchItem: events.append(.gone(.item(item)))
                // An unresponsive core may still have it, and each further question would wait too.
                case .file(.timedOut), .file(.unreachable): return events
                default: break
                }
            }
        }
        return events
    }

    /// Returns contacts whose keys changed while unmounted.
    func changedKeys() async -> [NotificationEvent] {
        // An unresponsive core reports these as events later.
        ((try? await core.chats()) ?? []).filter { $0.verification == .revoked }.map(keys)
    }

    private func newestChats() async -> [ChatReference] {
        // An unresponsive core reports these as events later.
        let chats = (try? await core.chats()) ?? []
        return chats.sorted { $0.updatedAt > $1.updatedAt }.prefix(Self.maxChats).map(\.reference)
    }

    /// Returns no items if the core does not respond.
    private func items(of chat: ChatReference, count: Int) async -> [ChatItem] {
        (try? await core.items(of: chat, before: nil, count: count)) ?? []
    }
}

// MARK: - Notices of the mount

extension NotificationSource {
    func events(of notice: UserNotice) async -> [NotificationEvent] {
        switch notice {
        case .opened(let item): return [.opened(.item(item))]
        case .unreadable(let item): return attempt(item)
        case .openedLog(let chat): return [.readTexts(chat)]
        case .listed(let chat): return [.listed(chat)]
        case .arrived(let items):
            var events: [NotificationEvent] = []
            for item in items { events += await arrival(item) }
            return events + items.flatMap(condition)
        case .removed(let items): return items.map { .gone(.item($0)) }
        case .refused(let notice):
            return Self.sentence(notice).map { sentence in
                [
                    .refused(
                        RefusedRequest(
                            sentence, subject: Self.subject(notice), chatName: notice.folder?.name,
                            remedy: notice.permission.map(RefusalRemedy.init))
                    )
                ]
            } ?? []
        }
    }

    /// Returns the event of an attempt to read a file that waits for approval.
    private func attempt(_ item: ChatItem) -> [NotificationEvent] {
        guard let file = item.file, let problem = contents.condition(of: file.id).problem,
            problem.kind == .notApproved, let notified = self.file(item)
        else { return [] }
        return [approval(notified, problem, isAttempt: true)]
    }

    /// Returns nil if the reason is the same for all files of a folder, so that one explanation covers them.
    private static func subject(_ notice: RefusalNotice) -> String? {
        switch notice.request {
        case .fetch, .write: notice.name
        case .overwrite, .create, .rename, .remove, .moveOut, .makeFolder: nil
        }
    }

    /// Returns nil if no explanation is needed.
    private static func sentence(_ notice: RefusalNotice) -> String? {
        switch notice.request {
        case .fetch(let kind):
            switch kind {
            // These start without a user's request when a folder is displayed.
            case .thumbnailer, .indexer: nil
            case .scanner, .backup, .sniffer, .named:
                "This program (\(kind.noun)) can only read files on this device. Receive the files first, in the "
                    + "menu of the file manager."
            }
        case .overwrite:
            "Sent and received files cannot be changed or replaced: give the new file another name, or choose "
                + "Keep Both."
        case .create:
            notice.sentence
                ?? (notice.folder == nil
                    ? "Only folders of chats send files: copy the file into one of them." : nil)
        case .rename:
            "Only an unsent file can be renamed, and only within its folder."
        case .remove: notice.sentence
        case .moveOut:
            "The file stays in the chat, because it belongs to its message. If it was moved, its copy is complete."
        case .makeFolder:
            notice.folder == nil
                ? "Folders here are chats with a person or a group. Make a new folder inside a chat."
                : notice.sentence ?? "A folder cannot be sent: send its files, or a ZIP archive of it."
        case .write: "The file is too large and was not sent."
        }
    }
}
