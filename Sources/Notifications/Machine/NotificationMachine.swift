import Base
import ChatCore

/// Decides what users are told, when, and what is remembered of it. A value without input and output: events, answers
/// and the time go in, effects come out.
///
/// What has happened waits in groups, one for each chat and subject, until its time has come: a second after the last
/// notification of its chat, or the next report. What is told is recorded first, so whoever is killed in between tells
/// once or not at all. Rates are kept by a clock that nobody sets.
public struct NotificationMachine: Sendable {
    public typealias Instant = ContinuousClock.Instant
    typealias Group = NotificationGroup

    private let mode: NotificationMode
    private let preview: NotificationPreview
    private let beginning: Instant
    public private(set) var told: ToldNotifications
    /// As it was when this mount began: a history may come from its end.
    private let toldBefore: ToldNotifications
    /// What arrived in this mount, whether it was told or not.
    private var arrived: Set<ItemID> = []
    /// What was opened before it was known to have arrived, the latest last: who tells of either does not wait for the
    /// other.
    private var openedEarly: [ItemID] = []

    private var waiting = WaitingGroups()
    private var schedule: NotificationSchedule
    private var shown = ShownNotifications()
    private var explained = ExplainedRefusals()
    private var repeated = RepeatedApprovals()
    private var service: ServiceConnection
    private var unreadElsewhere = 0
    private var countTold = 0
    private var isRecorded = true
    private var lastRecord: Instant?

    /// More than so many chats at once become one notification.
    private static let maxAtOnce = 3
    private static let recordInterval = Duration.seconds(5)
    private static let maxOpenedEarly = 256

    public init(
        mode: NotificationMode, preview: NotificationPreview, told: ToldNotifications, at now: Instant
    ) {
        self.mode = mode
        self.preview = preview
        self.told = told
        toldBefore = told
        beginning = now
        schedule = NotificationSchedule(mode: mode, beginning: now)
        service = ServiceConnection(at: now)
    }

    // MARK: - What happens

    public mutating func add(_ event: NotificationEvent, at now: Instant) {
        guard mode != .off else { return }
        switch event {
        case .arrived(let file, let time): addArrival(file, time, at: now)
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
        case .gone(let entry): settle(entry, NotificationSubject.allCases)
        case .unreadElsewhere(let count): unreadElsewhere = max(0, count)
        }
    }

    private mutating func addArrival(_ file: NotifiedFile, _ time: Timestamp, at now: Instant) {
        guard case .item(let id) = file.entry, toldBefore.isNews(id, in: file.chat, at: time),
            arrived.insert(id).inserted, isFirst("opened", file)
        else { return }
        if let index = openedEarly.firstIndex(of: id) {
            openedEarly.remove(at: index)
            told.note(Self.word("opened", file.entry))
            isRecorded = false
            return
        }
        wait(.init(chat: file.chat, subject: .arrival), at: now) { $0.add(file) }
    }

    /// Of what was opened before it could be told that it arrived nothing is told, also not by the next mount.
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

    /// Not told of before, also not by an earlier mount.
    private func isFirst(_ word: String, _ file: NotifiedFile) -> Bool {
        !told.wasTold(Self.word(word, file.entry))
    }

    private static func word(_ subject: String, _ entry: NotifiedEntry) -> String {
        switch entry {
        case .item(let id): "\(subject)-\(id.rawValue)"
        case .draft(let id): "\(subject)-draft-\(id)"
        }
    }

    private mutating func explain(_ request: RefusedRequest, at now: Instant) {
        guard explained.isDue(request, at: now) else { return }
        wait(.init(chat: nil, subject: .refusal, refusal: request), at: now) { _ in }
    }

    /// Once, also over mounts, until the user has said that the keys are right.
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
        if case .item(let id) = entry, subjects.contains(.arrival), told.noteRead(id) { isRecorded = false }
    }

    // MARK: - When

    /// Chats of which something may be shown now, for who knows which of them are silent.
    public func chatsDue(at now: Instant) -> Set<ChatReference> {
        guard service.isReady else { return [] }
        return waiting.groups.filter { time(of: $0) <= now }.reduce(into: []) { $0.formUnion($1.chats) }
    }

    /// Not before that is a group told.
    private func time(of group: Group) -> Instant {
        schedule.time(of: group, answerDue: shown.answerDue(of: group.key))
    }

    /// When `step` has to be called next; nil: not before something else happens.
    public var wake: Instant? {
        var times: [Instant] = []
        if shown.hasObsolete { times.append(beginning) }
        if !isRecorded { times.append((lastRecord ?? beginning) + Self.recordInterval) }
        let first = shown.isFull && service.isReady ? nil : waiting.groups.map(time).min()
        let others = [shown.nextTimeout, service.wake(toTellAt: first, tellsCount: count > 0)]
        return (times + others.compactMap(\.self)).min()
    }

    private var count: Int { told.unread.count + unreadElsewhere }

    // MARK: - What is done

    /// What is to be done now.
    /// - Parameters:
    ///   - muted: chats of which nothing is told that others did.
    ///   - inFront: chats of which nothing is told that arrives, since somebody sees it.
    public mutating func step(
        at now: Instant, muted: Set<ChatReference> = [], inFront: Set<ChatReference> = []
    ) -> [NotificationEffect] {
        shown.giveUp(at: now)
        var effects: [NotificationEffect] = shown.takeObsolete().map { .close(token: $0) }
        let isDue = waiting.groups.contains { time(of: $0) <= now }
        effects += service.step(at: now, isWanted: isDue, tellsCount: count > 0).map { [$0] } ?? []
        switch service.state {
        case .absent, .starting: break
        case .waiting: effects += tellCount()
        case .ready(let markup, let actions):
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

    /// What is not recorded yet, at the end.
    public mutating func finish(at now: Instant) -> [NotificationEffect] { record(at: now) }

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
        for group in due { note(group, muted, inFront) }
        due = due.compactMap { Self.rest(of: $0, muted, inFront) }
        due = together(due)
        var shows: [NotificationEffect] = []
        for group in due {
            schedule.told(group, at: now)
            shows += show(group, at: now, showsMarkup: showsMarkup, showsActions: showsActions)
        }
        isRecorded = false
        return record(at: now) + shows + tellCount()
    }

    /// What it tells of counts as told, shown or not.
    private mutating func note(
        _ group: Group, _ muted: Set<ChatReference>, _ inFront: Set<ChatReference>
    ) {
        if group.key.subject == .arrival {
            for item in group.items {
                told.noteArrival(item.id, in: item.chat)
                // What a window shows is seen.
                if !muted.contains(item.chat), !inFront.contains(item.chat) { told.noteUnread(item.id) }
            }
        }
        if group.key.subject == .keys, let chat = group.key.chat { told.note(Self.keysWord(chat)) }
        for file in group.files {
            switch group.key.subject {
            case .approval: told.note(Self.word("approval", file.entry))
            case .failure: told.note(Self.word("failure", file.entry))
            case .expiry: told.note(Self.word("expiry", file.entry))
            case .hold: told.note(Self.word("hold", file.entry))
            case .arrival, .refusal, .keys: break
            }
        }
    }

    /// What of a group is told; nil for nothing.
    private static func rest(
        of group: Group, _ muted: Set<ChatReference>, _ inFront: Set<ChatReference>
    ) -> Group? {
        switch group.key.subject {
        case .arrival: group.without(muted.union(inFront))
        case .approval, .expiry: group.without(muted)
        case .failure, .refusal, .hold, .keys: group
        }
    }

    /// What arrived in many chats at once becomes one.
    private func together(_ due: [Group]) -> [Group] {
        let arrivals = due.filter { $0.key.subject == .arrival }
        guard arrivals.count > Self.maxAtOnce else { return due }
        var all = Group(Group.Key(chat: nil, subject: .arrival), since: beginning)
        for group in arrivals { all.add(group) }
        return [all] + due.filter { $0.key.subject != .arrival }
    }

    private mutating func show(
        _ added: Group, at now: Instant, showsMarkup: Bool, showsActions: Bool
    ) -> [NotificationEffect] {
        let (token, group) = shown.place(for: added)
        let composer = NotificationComposer(preview: preview, escapesMarkup: showsMarkup)
        var text = composer.text(of: group)
        let action = showsActions ? group.action(namesRelays: text.namesRelays) : nil
        let second = showsActions ? group.secondAction : nil
        text.button = action.map(NotificationComposer.button)
        text.secondButton = second.map(NotificationComposer.button)
        let dropped = shown.show(token, group, action, second, added: added, at: now)
        return (dropped.map { [.close(token: $0)] } ?? []) + [.show(token: token, text)]
    }

    // MARK: - What the other side says

    public mutating func hear(_ answer: NotificationAnswer, at now: Instant) -> [NotificationEffect] {
        switch answer {
        case .ready(let capabilities):
            // What another service had on show is not there any more.
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
            if let group = shown.failed(token), schedule.failed(at: now) { waiting.add(group) }
        case .closed(let token): shown.closed(token)
        case .acted(let token, let isSecond):
            guard let action = shown.acted(token, isSecond: isSecond) else { return [] }
            return [.perform(action), .close(token: token)]
        case .ended:
            shown.forgetAll()
            service.ended(at: now)
            countTold = 0
        }
        return []
    }
}
