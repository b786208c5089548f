import Base
import ChatCore
import Posix

let log = Log("core")

/// What the core tells, as it tells it.
extension OfficialCore {
    /// Listens, looks and fills in the history from now on.
    func begin(_ early: [APIEvent], _ events: Remaining) {
        let (looks, look) = AsyncStream.makeStream(of: Look.self)
        let (signals, history) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let tasks: [Task<Void, Never>] = [
            Task { [weak self] in
                for event in early { await self?.take(event) }
                var events = events
                while let event = await events.iterator.next(isolation: nil), !Task.isCancelled {
                    await self?.take(event)
                }
            },
            Task { [weak self] in
                for await look in looks {
                    await self?.reconcile(look)
                    if Task.isCancelled { return }
                }
            },
            Task { [weak self] in await self?.fillInHistory(signals) },
        ]
        state.withLock { state in
            state.looks = look
            state.history = history
            state.tasks = tasks
            state.isConnected = true
        }
        look.yield(.whole)
        history.yield()
    }

    private func take(_ event: TransportEvent) async {
        switch event {
        case .event(let event): await take(event)
        case .disconnected(let reason):
            let wasConnected = state.withLock { state in
                defer { state.isConnected = false }
                return state.isConnected
            }
            guard wasConnected else { return }
            log.notice("the connection to the SimpleX core is lost: \(reason)")
            hub.tell(.coreUnreachable(reason))
        case .connected:
            do throws(OfficialCoreError) {
                try await Session.setUp(transport, settings)
            } catch {
                log.warning("the SimpleX core did not take its settings: \(error.sentence)")
            }
            let wasConnected = state.withLock { state in
                defer { state.isConnected = true }
                return state.isConnected
            }
            if !wasConnected { hub.tell(.coreReachable) }
            lookAtEverything()
            signalHistory()
            reportOpened()
        }
    }

    private func take(_ event: APIEvent) async {
        guard event.userID == nil || event.userID == profile.id else { return }
        do throws(ChatError) {
            let wanted = try await work { [self] in try commit { try apply(event.kind, $0) } }
            for file in wanted { await receiveAtArrival(file) }
            // Where one event came, another may have gone to somebody else.
            planLook()
        } catch {
            // The next look finds it.
            log.warning("a change could not be noted: \(error.sentence)")
            lookAtEverything()
        }
    }

    /// What an event or an answer said just now, a page that was asked for before does not overrule.
    func noteTold(_ items: [ItemID]) {
        let now = ContinuousClock.now
        state.withLock { state in
            for item in items { state.told[item] = now }
            if state.told.count > 4096 {
                state.told = state.told.filter { now - $0.value < .seconds(60) }
            }
        }
    }

    /// Whether an item was told of since a page was asked for: then the page may be older.
    func wasTold(_ item: ItemID, since start: ContinuousClock.Instant) -> Bool {
        state.withLock { $0.told[item].map { $0 >= start } ?? false }
    }

    /// Writes what an event says. Answers the files that are to be received without being asked for.
    private func apply(_ kind: APIEvent.Kind, _ change: Change) throws -> [FileID] {
        switch kind {
        case .newChatItems(let items):
            noteTold(items.map(\.id))
            var wanted: [FileID] = []
            for item in items {
                try change.take(item.chat)
                guard let shown = try change.take(item, .arrival), let file = shown.file else { continue }
                if case .rcvInvitation = file.status, shown.direction == .received,
                    FilePolicy.receivesAtArrival(shown.content, size: file.size)
                {
                    wanted.append(file.id)
                }
            }
            return wanted
        case .chatItemUpdated(let item): try take(item, change)
        case .chatItemsDeleted(let deletions):
            noteTold(deletions.map(\.item.id))
            for (reason, deletions) in Dictionary(grouping: deletions, by: \.reason) {
                try change.remove(deletions.map(\.item.id), reason)
            }
        case .groupChatItemsDeleted(_, let items):
            noteTold(items)
            try change.remove(items, .moderated)
        case .rcvFileDescrReady(let item, let description):
            guard description.isComplete else { break }
            if let file = item.file?.id {
                state.withLock { $0.descriptions[file] = description.text }
            }
            noteTold([item.id])
            try change.take(item, .described) { .rcvFileDescrReady($0) }
        case .rcvFileAccepted(let item): try take(item, change) { .rcvFileAccepted($0) }
        case .rcvFileStart(let item): try take(item, change) { .rcvFileStart($0) }
        case .rcvFileComplete(let item):
            if let file = item.file?.id { state.withLock { $0.descriptions[file] = nil } }
            try take(item, change) { .rcvFileComplete($0) }
        case .rcvFileSndCancelled(let item): try take(item, change) { .rcvFileSndCancelled($0) }
        case .rcvFileCancelled(_, let item?), .sndFileCancelled(_, let item?): try take(item, change)
        case .sndFileStart(let item): try take(item, change) { .sndFileStart($0) }
        case .sndFileComplete(let item): try take(item, change) { .sndFileComplete($0) }
        case .sndFileRcvCancelled(let item): try take(item, change) { .sndFileRcvCancelled($0) }
        case .sndFileCompleteXFTP(_, let item): try take(item, change) { .sndFileCompleteXFTP($0) }
        case .chatUpdated(let info): try change.take(info)
        case .chatRemoved(let chat): try change.removeChat(chat)
        case .errors(let errors):
            for error in errors { log.information("the SimpleX core reports: \(error.chatError.sentence)") }
        case .rcvFileCancelled(_, nil), .sndFileCancelled(_, nil), .other: break
        default:
            try applyProgress(kind, change)
            noteTold(change.touched)
        }
        return []
    }

    private func take(
        _ item: APIItem, _ change: Change, _ event: ((ChatItem) -> ChatEvent)? = nil
    ) throws {
        noteTold([item.id])
        try change.take(item, .look, event)
    }

    /// Progress and failures: they name the file, and the item only where there is one.
    private func applyProgress(_ kind: APIEvent.Kind, _ change: Change) throws {
        switch kind {
        case .rcvFileProgressXFTP(let file, _, let received, let total):
            try change.setStatus(.rcvTransfer(received: received, total: total), of: file) {
                .rcvFileProgressXFTP($0, received: received, total: total)
            }
        case .sndFileProgressXFTP(let file, _, let sent, let total):
            try change.setStatus(.sndTransfer(sent: sent, total: total), of: file) {
                .sndFileProgressXFTP($0, sent: sent, total: total)
            }
        case .rcvFileError(let file, let item, let error):
            let problem = error.fileProblem
            guard item != nil else { return change.tell(.rcvStandaloneFileError(file, problem)) }
            try change.setStatus(.rcvError(problem), of: file) { .rcvFileError($0, problem) }
        case .rcvFileWarning(let file, _, let error):
            let problem = error.fileProblem
            try change.setStatus(.rcvWarning(problem), of: file) { .rcvFileWarning($0, problem) }
        case .sndFileError(let file, let item, let problem):
            guard item != nil else { return change.tell(.sndStandaloneFileError(standalone(file), problem)) }
            try change.setStatus(.sndError(problem), of: file) { .sndFileError($0, problem) }
        case .sndFileWarning(let file, _, let problem):
            try change.setStatus(.sndWarning(problem), of: file) { .sndFileWarning($0, problem) }
        case .rcvStandaloneFileComplete(let file, let path):
            change.tell(.rcvStandaloneFileComplete(file, path: path))
        case .sndFileRedirectStartXFTP(let file, let redirect):
            state.withLock { $0.redirects[redirect] = file }
        case .sndStandaloneFileComplete(let file, let links):
            change.tell(.sndStandaloneFileComplete(standalone(file), links: links))
        default: break
        }
    }

    /// The file that a redirect describes, else itself.
    private func standalone(_ file: FileID) -> FileID { state.withLock { $0.redirects[file] ?? file } }
}
