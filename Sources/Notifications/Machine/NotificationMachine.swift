import Base
import ChatCore

/// Decides which notifications to show and when, and what to record. A pure value: takes events, answers and the time,
/// and returns effects.
///
/// Events wait in groups, one for each chat and subject, until they are due: a second after the chat's last
/// notification, or at the next report. A notification is recorded before it is shown, so after a kill it is shown once
/// or not at all. Rates follow a clock that cannot be set.
public struct NotificationMachine: Sendable {
    public typealias Instant = ContinuousClock.Instant
    typealias Group = NotificationGroup

    private let mode: NotificationMode
    private let preview: NotificationPreview
    /// Subjects that are not shown.
    private let silenced: Set<NotificationSubject>
    private let beginning: Instant
    public private(set) var told: NotificationRecord
    /// The state when this mount began, against which late history is compared.
    private let toldBefore: NotificationRecord
    /// Items that arrived during this mount, notified or not.
    private var arrived: Set<ItemID> = []
    /// Items opened before their arrival was known, latest last. The two reports are not ordered.
    private var openedEarly: [ItemID] = []

    private var waiting = WaitingGroups()
    private var schedule: NotificationSchedule
    private var shown = ShownNotifications()
    private var explained = RecentNotices<RefusedRequest>()
    private var repeated = RecentNotices<NotifiedEntry>()
    private var folderChecks = PendingFolderChecks()
    /// Time of the last update of shrinking notifications.
    private var lastChange: Instant?
    private var service: ServiceConnection
    private var unreadElsewhere = 0
    private var countTold = 0
    private var isRecorded = true
    private var lastRecord: Instant?

    /// Above this number, chats that are due together share one notification.
    private static let maxAtOnce = 3
    private static let recordInterval = Duration.seconds(5)
    private static let maxOpenedEarly = 256

    public init(
        mode: NotificationMode, preview: NotificationPreview, silenced: Set<NotificationSubject> = [],
        told: NotificationRecord, at now: Instant
    ) {
        self.silenced = silenced
        self.mode = mode
        self.preview = preview
        self.told = told
        toldBefore = told
        beginning = now
        schedule = NotificationSchedule(mode: mode, beginning: now)
        service = ServiceConnection(at: now)
    }

    // MARK: - Events

    public mutating func add(_ event: NotificationEvent, at now: Instant) {
        guard mode != .off else { return }
        switch event {
        case .arrived(let file, let time): addArrival(file, time, at: now)
        case .wrote(let file, let end): addText(file, end, at: now)
        case .connected(let chat, let name, let time): addContact(chat, name, time, at: now)
        case .asked(let request): addRequest(request, at: now)
        case .waitingRequests(let numbers):
            waiting.removeRequests(except: numbers)
            shown.removeRequests(except: numbers)
        case .stopped: wait(.init(chat: nil, subject: .stop, refusal: .stopped), at: now) { _ in }
        case .awaitsApproval(let file, let relays, let warning, let isAttempt):
            let isRepeated = repeated.isDue(file.entry, at: now)
            guard isFirst("approval", file) || isAttempt && isRepeated else { return }
            repeated.note(file.entry, at: now)
            wait(.init(chat: file.chat, subject: .approval), at: now) {
                $0.add(file, relays: relays, why: warning)
            }
        case .sendingFailed(let file, let why, let mayRetry):
            guard isFirst("failure", file) else { return }
            wait(.init(chat: file.chat, subject: .failure), at: now) {
                $0.add(file, why: why, mayRetry: mayRetry)
            }
        case .held(let file, let why):
            guard isFirst("hold", file) else { return }
            wait(.init(chat: file.chat, subject: .hold), at: now) { $0.add(file, why: why) }
        case .expires(let file, let time):
            guard isFirst("expiry", file) else { return }
            wait(.init(chat: file.chat, subject: .expiry), at: now) { $0.add(file, expires: time) }
        case .refused(let request): explain(request, at: now)
        case .keysChanged(let chat, let name): warn(of: chat, name, at: now)
        case .keysKnown(let chat):
            if told.forget(Self.keysWord(chat)) { isRecorded = false }
        case .opened(let entry):
            noteOpened(entry)
            settle(entry, [.arrival, .expiry])
        case .recovered(let entry):
            settle(entry, [.approval, .failure, .hold])
            for subject in ["approval", "failure", "hold"] where told.forget(Self.word(subject, entry)) {
                isRecorded = false
            }
        case .received(let entry): settle(entry, [.expiry])
        case .gone(let entry): settle(entry, NotificationSubject.allCases)
        case .seen(let chat): markSeen(chat)
        case .readTexts(let chat):
            drop([.text], in: chat)
            if told.noteTextsRead(in: chat) { isRecorded = false }
        case .listed(let chat):
            if told.unread.holds(chat) || !waiting.arrivals([.arrival, .text], in: chat).isEmpty {
                folderChecks.expect(chat, at: now)
            }
        case .unreadElsewhere(let count): unreadElsewhere = max(0, count)
        }
    }

    private mutating func addArrival(_ file: NotifiedFile, _ time: Timestamp, at now: Instant) {
        guard case .item(let id) = file.entry, let chat = file.chat,
            toldBefore.isNews(id, in: chat, at: time), arrived.insert(id).inserted, isFirst("opened", file)
        else { return }
        if let index = openedEarly.firstIndex(of: id) {
            openedEarly.remove(at: index)
            told.note(Self.word("opened", file.entry))
            isRecorded = false
            return
        }
        wait(.init(chat: chat, subject: .arrival), at: now) { $0.add(file) }
    }

    private mutating func addText(_ text: NotifiedFile, _ end: UInt64, at now: Instant) {
        guard let chat = text.chat, told.isNews(logEnd: end, in: chat) else { return }
        wait(.init(chat: chat, subject: .text), at: now) { $0.add(text, logEnd: end) }
    }

    /// Notifies of each contact once, across mounts.
    private mutating func addContact(
        _ chat: ChatReference, _ name: String, _ time: Timestamp, at now: Instant
    ) {
        guard told.noteContact(chat) else { return }
        isRecorded = false
        // A core may read its older contacts during the first mount.
        guard told.mayBeNews(at: time) else { return }
        let contact = NotifiedFile(.contact(chat), in: chat, named: name, name: "")
        wait(.init(chat: chat, subject: .connection), at: now) { $0.add(contact) }
    }

    /// Notifies of each request once, across mounts.
    private mutating func addRequest(_ request: NotifiedFile, at now: Instant) {
        guard case .request(let number) = request.entry, isFirst("asked", request) else { return }
        let subject: NotificationSubject = request.name.isEmpty ? .request : .invitation
        wait(.init(chat: request.chat, subject: subject, request: number), at: now) { $0.add(request) }
    }

    /// Removes all arrivals of a chat so far, shown or counted.
    private mutating func markSeen(_ chat: ChatReference) {
        drop([.arrival, .text, .connection], in: chat)
        _ = told.noteSeen(chat)
        folderChecks.forget(chat)
        isRecorded = false
    }

    /// Removes a chat's waiting and shown notifications of these subjects. The waiting arrivals count as notified.
    private mutating func drop(_ subjects: [NotificationSubject], in chat: ChatReference) {
        for group in waiting.take(waiting.arrivals(subjects, in: chat)) {
            note(group, [chat])
            isRecorded = false
        }
        shown.removeArrivals(in: chat, subjects)
    }

    /// Records an item opened before its notification, so that neither this nor the next mount notifies of it.
    private mutating func noteOpened(_ entry: NotifiedEntry) {
        guard case .item(let id) = entry else { return }
        if waiting.holdsArrival(of: id) {
            told.note(Self.word("opened", entry))
            isRecorded = false
        } else if !arrived.contains(id), !openedEarly.contains(id) {
            openedEarly.append(id)
            if openedEarly.count > Self.maxOpenedEarly { openedEarly.removeFirst() }
        }
    }

    /// Returns true if the file was never notified under this word, across mounts.
    private func isFirst(_ word: String, _ file: NotifiedFile) -> Bool {
        !told.wasTold(Self.word(word, file.entry))
    }

    private static func word(_ subject: String, _ entry: NotifiedEntry) -> String {
        "\(subject)-\(entry.word)"
    }

    private mutating func explain(_ request: RefusedRequest, at now: Instant) {
        guard explained.isDue(request, at: now) else { return }
        explained.note(request, at: now)
        wait(.init(chat: nil, subject: .refusal, refusal: request), at: now) { _ in }
    }

    /// Warns once, across mounts, until the user confirms the keys.
    private mutating func warn(of chat: ChatReference, _ name: String, at now: Instant) {
        guard !told.wasTold(Self.keysWord(chat)), let sentence = ContactVerification.revoked.warning else {
            return
        }
        let warning = RefusedRequest(sentence, chatName: name)
        wait(.init(chat: chat, subject: .keys, refusal: warning), at: now) { _ in }
    }

    private static func keysWord(_ chat: ChatReference) -> String { "keys-\(chat)" }

    private mutating func wait(_ key: Group.Key, at now: Instant, _ change: (inout Group) -> Void) {
        waiting.add(key, at: now, change)
        service.renew(at: now)
    }

    private mutating func settle(_ entry: NotifiedEntry, _ subjects: [NotificationSubject]) {
        waiting.remove(entry, of: subjects)
        shown.remove(entry, of: subjects)
        if subjects.contains(.arrival), told.noteRead(entry) { isRecorded = false }
    }

    // MARK: - Timing

    /// Returns the chats that are due. The caller determines which of them are silent.
    public func chatsDue(at now: Instant) -> Set<ChatReference> {
        let checked = folderChecks.due(at: now)
        guard service.isReady else { return checked }
        return checked.union(chatsToTell(at: now))
    }

    private func chatsToTell(at now: Instant) -> Set<ChatReference> {
        waiting.groups.filter { time(of: $0) <= now }.reduce(into: []) { $0.formUnion($1.chats) }
    }

    /// Returns the earliest time of a group.
    private func time(of group: Group) -> Instant {
        schedule.time(of: group, answerDue: shown.answerDue(of: group.key))
    }

    /// Next time for `step`; nil if it depends on an event.
    public var wake: Instant? {
        var times: [Instant] = []
        if shown.hasObsolete { times.append(beginning) }
        if shown.hasChanged, service.isReady { times.append(nextChange) }
        if !isRecorded { times.append((lastRecord ?? beginning) + Self.recordInterval) }
        let first = shown.isFull && service.isReady ? nil : waiting.groups.map(time).min()
        let others = [
            shown.nextTimeout, folderChecks.next, service.wake(toTellAt: first, tellsCount: count > 0),
        ]
        return (times + others.compactMap(\.self)).min()
    }

    /// Limits the updates while many entries are opened one after the other.
    private var nextChange: Instant {
        lastChange.map { $0 + NotificationSchedule.interval } ?? beginning
    }

    private var count: Int { told.unread.count + unreadElsewhere }

    /// Unseen arrivals by chat, also those that wait for their notification or for a service.
    public var unread: [ChatReference: Int] {
        var unread = told.unread
        for item in waiting.groups.filter(\.key.subject.isArrival).flatMap(\.items) {
            switch item.entry {
            case .item(let id): unread.add(id, in: item.chat)
            case .text(let text): unread.add(text)
            case .draft, .request, .contact: break
            }
        }
        return unread.byChat
    }

    // MARK: - Effects

    /// Returns the due effects.
    /// - Parameters:
    ///   - muted: Chats whose events by others are not notified.
    ///   - inFront: Chats whose arrivals are not notified, because a window displays them.
    public mutating func step(
        at now: Instant, muted: Set<ChatReference> = [], inFront: Set<ChatReference> = []
    ) -> [NotificationEffect] {
        shown.giveUp(at: now)
        let due = folderChecks.due(at: now)
        for chat in due.intersection(inFront) { markSeen(chat) }
        folderChecks.done(due, at: now)
        var effects: [NotificationEffect] = shown.takeObsolete().map { .close(token: $0) }
        let isDue = waiting.groups.contains { time(of: $0) <= now }
        effects += service.step(at: now, isWanted: isDue, tellsCount: count > 0).map { [$0] } ?? []
        switch service.state {
        case .absent, .starting: break
        case .waiting: effects += tellCount()
        case .ready(let markup, let actions):
            effects += change(at: now, showsMarkup: markup, showsActions: actions)
            effects += tell(at: now, muted, inFront, showsMarkup: markup, showsActions: actions)
        }
        if !isRecorded, (lastRecord ?? beginning) + Self.recordInterval <= now {
            effects.insert(contentsOf: record(at: now), at: 0)
        }
        return effects
    }

    private mutating func record(at now: Instant) -> [NotificationEffect] {
        guard !isRecorded else { return [] }
        (isRecorded, lastRecord) = (true, now)
        return [.record(told)]
    }

    /// Records the rest and the regular end.
    public mutating func finish(at now: Instant) -> [NotificationEffect] {
        if told.runningBoot != nil {
            told.endProcess()
            isRecorded = false
        }
        return record(at: now)
    }

    /// Updates notifications whose groups shrank.
    private mutating func change(
        at now: Instant, showsMarkup: Bool, showsActions: Bool
    ) -> [NotificationEffect] {
        guard shown.hasChanged, nextChange <= now else { return [] }
        lastChange = now
        return shown.takeChanged().flatMap { token, group -> [NotificationEffect] in
            // Empty, so that a failed update is not repeated as new.
            let nothing = Group(group.key, since: group.since)
            return show(
                (token, group), added: nothing, isQuiet: true, at: now, showsMarkup: showsMarkup,
                showsActions: showsActions)
        }
    }

    private mutating func tellCount() -> [NotificationEffect] {
        guard count != countTold else { return [] }
        countTold = count
        return [.count(count)]
    }

    private mutating func tell(
        at now: Instant, _ muted: Set<ChatReference>, _ inFront: Set<ChatReference>, showsMarkup: Bool,
        showsActions: Bool
    ) -> [NotificationEffect] {
        let isDue = Set(waiting.groups.filter { time(of: $0) <= now }.map(\.key))
        guard !isDue.isEmpty, !shown.isFull else { return tellCount() }
        var due = waiting.take(isDue)
        for group in due { note(group, muted.union(inFront)) }
        due = due.filter { !silenced.contains($0.key.subject) }
        due = due.compactMap { Self.rest(of: $0, muted, inFront) }
        due = together(due)
        var shows: [NotificationEffect] = []
        for group in due {
            schedule.told(group, at: now)
            shows += show(
                shown.place(for: group), added: group, at: now, showsMarkup: showsMarkup,
                showsActions: showsActions)
        }
        isRecorded = false
        return record(at: now) + shows + tellCount()
    }

    /// Records a group as notified, shown or not.
    /// - Parameter silent: Chats without unread counts.
    private mutating func note(_ group: Group, _ silent: Set<ChatReference>) {
        for item in group.items where group.key.subject.isArrival {
            let isUnread = !silent.contains(item.chat)
            switch item.entry {
            case .item(let id):
                told.noteArrival(id, in: item.chat)
                if isUnread { told.noteUnread(id, in: item.chat) }
            case .text(let text): if isUnread { told.noteUnread(text) }
            case .draft, .request, .contact: break
            }
        }
        for (chat, end) in group.logEnds { told.noteLog(end, of: chat) }
        if group.key.subject == .keys, let chat = group.key.chat { told.note(Self.keysWord(chat)) }
        guard let word = Self.word(of: group.key.subject) else { return }
        for file in group.files { told.note(Self.word(word, file.entry)) }
    }

    /// Returns the record's word for a subject; nil if another record covers it.
    private static func word(of subject: NotificationSubject) -> String? {
        switch subject {
        case .approval: "approval"
        case .failure: "failure"
        case .expiry: "expiry"
        case .hold: "hold"
        case .request, .invitation: "asked"
        case .arrival, .refusal, .keys, .text, .connection, .stop: nil
        }
    }

    /// Returns the part of a group to show; nil for none.
    private static func rest(
        of group: Group, _ muted: Set<ChatReference>, _ inFront: Set<ChatReference>
    ) -> Group? {
        switch group.key.subject {
        case .arrival, .text: group.without(muted.union(inFront))
        case .approval, .expiry: group.without(muted)
        case .invitation, .connection: group.key.chat.map(muted.contains) == true ? nil : group
        case .failure, .refusal, .hold, .keys, .request, .stop: group
        }
    }

    /// Subjects whose groups of many chats, or many requests, become one.
    private static let shared: [NotificationSubject] = [
        .arrival, .text, .request, .invitation, .approval, .failure, .expiry,
    ]

    private func together(_ due: [Group]) -> [Group] {
        Self.shared.reduce(due) { due, subject in
            let found = due.filter { $0.key.subject == subject }
            guard found.count > Self.maxAtOnce else { return due }
            var all = Group(Group.Key(chat: nil, subject: subject), since: beginning)
            for group in found { all.add(group) }
            return [all] + due.filter { $0.key.subject != subject }
        }
    }

    private mutating func show(
        _ place: (token: UInt64, group: Group), added: Group, isQuiet: Bool = false, at now: Instant,
        showsMarkup: Bool, showsActions: Bool
    ) -> [NotificationEffect] {
        let (token, group) = place
        let composer = NotificationComposer(preview: preview, escapesMarkup: showsMarkup)
        var text = composer.text(of: group)
        text.isQuiet = isQuiet
        let actions = showsActions ? group.actions(namesRelays: text.namesRelays) : .none
        text.buttons = actions.buttons.map(NotificationComposer.button)
        text.isClickable = actions.click != nil
        let dropped = shown.show(token, group, actions, added: added, at: now)
        return (dropped.map { [.close(token: $0)] } ?? []) + [.show(token: token, text)]
    }

    // MARK: - Answers of the service

    public mutating func hear(_ answer: NotificationAnswer, at now: Instant) -> [NotificationEffect] {
        switch answer {
        case .ready(let capabilities):
            // A new service does not display the old one's notifications.
            if service.isReady { shown.forgetAll() }
            service.ready(capabilities)
            countTold = 0
        case .noService:
            shown.forgetAll()
            service.noService()
        case .shown(let token):
            shown.answered(token)
            schedule.succeeded()
        case .failed(let token):
            if let group = shown.failed(token), group.tellsSomething, schedule.failed(at: now) {
                waiting.add(group)
            }
        case .closed(let token): shown.closed(token)
        case .acted(let token, let number):
            guard let action = shown.acted(token, number) else { return [] }
            guard case .markRead(let chat) = action else { return [.perform(action), .close(token: token)] }
            markSeen(chat)
            return [.close(token: token)]
        case .notShown: explain(.notShown, at: now)
        case .ended:
            shown.forgetAll()
            service.ended(at: now)
            countTold = 0
        }
        return []
    }
}
