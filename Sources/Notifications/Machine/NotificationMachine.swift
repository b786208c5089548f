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

    /// What is to be done, in this order.
    public enum Effect: Hashable, Sendable {
        /// Connect to the bus.
        case start
        /// Let go of it: it does not answer.
        case stop
        /// Kept before anything that follows is done.
        case record(ToldNotifications)
        /// Shown, in the place of what has the same token.
        case show(token: UInt64, NotificationText)
        case close(token: UInt64)
        /// How many files nobody has opened.
        case count(Int)
        case perform(NotificationAction)
    }

    /// What the other side says.
    public enum Answer: Hashable, Sendable {
        /// A notification service is there and can do this; also a new one after another has gone.
        case ready(capabilities: [String])
        /// The bus is there, the service is not. It will be told of.
        case noService
        case shown(token: UInt64)
        case failed(token: UInt64)
        case closed(token: UInt64)
        case acted(token: UInt64)
        /// There is no bus, or none any more.
        case ended
    }

    private enum Service: Hashable, Sendable {
        /// - Parameters:
        ///   - tries: in vain, in a row.
        ///   - until: not tried again before that.
        case absent(tries: Int, until: Instant)
        case starting(since: Instant, tries: Int)
        case waiting
        case ready(showsMarkup: Bool, showsActions: Bool)
    }

    private struct Shown: Sendable {
        var group: Group
        var action: NotificationAction?
    }

    private let mode: NotificationMode
    private let preview: NotificationPreview
    private let beginning: Instant
    public private(set) var told: ToldNotifications
    /// As it was when this mount began: a history may come from its end.
    private let toldBefore: ToldNotifications
    /// What arrived in this mount, whether it was told or not.
    private var arrived: Set<ItemID> = []

    /// What waits, in the order in which it began to.
    private var waiting: [Group] = []
    private var shown: [UInt64: Shown] = [:]
    /// On show, and of nothing any more.
    private var obsolete: [UInt64] = []
    private var nextToken: UInt64 = 1
    /// Not answered yet, since when.
    private var unanswered: [UInt64: (since: Instant, group: Group)] = [:]
    /// Of chats, and of what belongs to none.
    private var lastTold: [ChatReference?: Instant] = [:]
    /// When the service refused something: not at once again.
    private var pausedUntil: Instant?
    private var failures = 0
    private var explained: [RefusedRequest: Instant] = [:]
    private var service: Service
    private var unreadElsewhere = 0
    private var countTold = 0
    private var isRecorded = true
    private var lastRecord: Instant?

    public static let interval = Duration.seconds(1)
    public static let period = Duration.seconds(20 * 60)
    /// A notification that is not answered by then is given up. So is connecting.
    public static let timeout = Duration.seconds(30)
    /// More than so many chats at once become one notification.
    public static let maxAtOnce = 3
    /// The same refusal is not explained again before that.
    public static let explanationInterval = Duration.seconds(3600)
    static let maxExplained = 256
    static let maxWaiting = 256
    static let maxUnanswered = 16
    static let maxShown = 64
    private static let maxFailures = 3
    private static let recordInterval = Duration.seconds(5)
    private static let retry = RetryPolicy(first: .seconds(1), maxDelay: .seconds(300), tries: .max)
    /// Something new is worth another try of a bus that was not there so long ago.
    private static let renewal = Duration.seconds(5)

    public init(
        mode: NotificationMode, preview: NotificationPreview, told: ToldNotifications, at now: Instant
    ) {
        self.mode = mode
        self.preview = preview
        self.told = told
        toldBefore = told
        beginning = now
        service = .absent(tries: 0, until: now)
    }

    // MARK: - What happens

    public mutating func add(_ event: NotificationEvent, at now: Instant) {
        guard mode != .off else { return }
        switch event {
        case .arrived(let file, let time): addArrival(file, time, at: now)
        case .awaitsApproval(let file, let relays, let warning):
            guard isFirst("approval", file) else { return }
            wait(.init(chat: file.chat, subject: .approval), at: now) {
                $0.add(file, relays: relays, why: warning)
            }
        case .sendingFailed(let file, let why, let mayRetry):
            guard isFirst("failure", file) else { return }
            wait(.init(chat: file.chat, subject: .failure), at: now) {
                $0.add(file, why: why, mayRetry: mayRetry)
            }
        case .expires(let file, let time):
            guard isFirst("expiry", file) else { return }
            wait(.init(chat: file.chat, subject: .expiry), at: now) { $0.add(file, expires: time) }
        case .refused(let request): explain(request, at: now)
        case .opened(let entry): settle(entry, [.arrival, .expiry])
        case .recovered(let entry):
            settle(entry, [.approval, .failure])
            for subject in ["approval", "failure"] where told.forget(Self.word(subject, entry)) {
                isRecorded = false
            }
        case .gone(let entry): settle(entry, NotificationSubject.allCases)
        case .unreadElsewhere(let count): unreadElsewhere = max(0, count)
        }
    }

    private mutating func addArrival(_ file: NotifiedFile, _ time: Timestamp, at now: Instant) {
        guard case .item(let id) = file.entry, toldBefore.isNews(id, in: file.chat, at: time),
            arrived.insert(id).inserted
        else { return }
        wait(.init(chat: file.chat, subject: .arrival), at: now) { $0.add(file) }
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
        if let last = explained[request], last.duration(to: now) < Self.explanationInterval { return }
        if explained.count >= Self.maxExplained {
            explained = explained.filter { $0.value.duration(to: now) < Self.explanationInterval }
            // Whoever is refused so much at a time knows by now.
            guard explained.count < Self.maxExplained else { return }
        }
        explained[request] = now
        wait(.init(chat: nil, subject: .refusal, refusal: request), at: now) { _ in }
    }

    private mutating func wait(_ key: Group.Key, at now: Instant, _ change: (inout Group) -> Void) {
        if let index = waiting.firstIndex(where: { $0.key == key }) {
            change(&waiting[index])
        } else {
            var group = Group(key, since: now)
            change(&group)
            if waiting.count < Self.maxWaiting { waiting.append(group) } else { merge(group) }
        }
        if case .absent(let tries, let until) = service, tries > 0, until > now + Self.renewal {
            service = .absent(tries: tries, until: now + Self.renewal)
        }
    }

    /// What comes when too much waits is told together, or not at all.
    private mutating func merge(_ group: Group) {
        guard group.key.subject == .arrival else { return }
        let key = Group.Key(chat: nil, subject: .arrival)
        if let index = waiting.firstIndex(where: { $0.key == key }) {
            waiting[index].add(group)
        } else {
            var all = Group(key, since: group.since)
            all.add(group)
            waiting.append(all)
        }
    }

    private mutating func settle(_ entry: NotifiedEntry, _ subjects: [NotificationSubject]) {
        for index in waiting.indices.reversed() where subjects.contains(waiting[index].key.subject) {
            guard waiting[index].key.refusal == nil else { continue }
            if !waiting[index].remove(entry) { waiting.remove(at: index) }
        }
        for token in shown.keys where shown[token].map({ subjects.contains($0.group.key.subject) }) == true {
            guard shown[token]?.group.key.refusal == nil else { continue }
            if shown[token]?.group.remove(entry) == false {
                shown[token] = nil
                unanswered[token] = nil
                obsolete.append(token)
            }
        }
        if case .item(let id) = entry, subjects.contains(.arrival), told.noteRead(id) { isRecorded = false }
    }

    // MARK: - When

    /// Chats of which something may be shown now, for who knows which of them are silent.
    public func chatsDue(at now: Instant) -> Set<ChatReference> {
        guard isReady else { return [] }
        return waiting.filter { time(of: $0) <= now }.reduce(into: []) { $0.formUnion($1.chats) }
    }

    private var isReady: Bool { if case .ready = service { true } else { false } }

    /// Not before that is a group told.
    private func time(of group: Group) -> Instant {
        var time = lastTold[group.key.chat].map { $0 + Self.interval } ?? beginning
        if let pausedUntil { time = max(time, pausedUntil) }
        if let token = token(of: group.key), let asked = unanswered[token] {
            time = max(time, asked.since + Self.timeout)
        }
        guard mode == .periodic, group.key.subject != .refusal else { return time }
        return max(time, report(after: group.since))
    }

    /// Reports come in periods from the beginning on.
    private func report(after time: Instant) -> Instant {
        let periods = Int(beginning.duration(to: time) / Self.period) + 1
        return beginning + Self.period * periods
    }

    /// What is on show of the same.
    private func token(of key: Group.Key) -> UInt64? { shown.first { $0.value.group.key == key }?.key }

    /// When `step` has to be called next; nil: not before something else happens.
    public var wake: Instant? {
        var times: [Instant] = unanswered.values.map { $0.since + Self.timeout }
        if !obsolete.isEmpty { times.append(beginning) }
        if !isRecorded { times.append((lastRecord ?? beginning) + Self.recordInterval) }
        let first = waiting.map(time).min()
        switch service {
        case .absent(let tries, let until):
            if let first {
                times.append(max(first, until))
            } else if tries == 0, count > 0 {
                times.append(until)
            }
        case .starting(let since, _): times.append(since + Self.timeout)
        case .waiting: break
        case .ready: if unanswered.count < Self.maxUnanswered, let first { times.append(first) }
        }
        return times.min()
    }

    private var count: Int { told.unread.count + unreadElsewhere }

    // MARK: - What is done

    /// What is to be done now.
    /// - Parameters:
    ///   - muted: chats of which nothing is told that others did.
    ///   - inFront: chats of which nothing is told that arrives, since somebody sees it.
    public mutating func step(
        at now: Instant, muted: Set<ChatReference> = [], inFront: Set<ChatReference> = []
    ) -> [Effect] {
        for (token, asked) in unanswered where asked.since + Self.timeout <= now { unanswered[token] = nil }
        var effects: [Effect] = obsolete.map { .close(token: $0) }
        obsolete = []
        switch service {
        case .absent(let tries, let until):
            let isWanted = waiting.contains { time(of: $0) <= now } || tries == 0 && count > 0
            if isWanted, until <= now {
                service = .starting(since: now, tries: tries)
                effects.append(.start)
            }
        case .starting(let since, let tries):
            if since + Self.timeout <= now {
                service = .absent(tries: tries + 1, until: now + Self.delay(after: tries + 1))
                effects.append(.stop)
            }
        case .waiting: effects += tellCount()
        case .ready(let markup, let actions):
            effects += tell(at: now, muted, inFront, showsMarkup: markup, showsActions: actions)
        }
        if !isRecorded, (lastRecord ?? beginning) + Self.recordInterval <= now {
            effects.insert(contentsOf: record(at: now), at: 0)
        }
        return effects
    }

    private static func delay(after tries: Int) -> Duration {
        retry.delay(beforeTry: tries + 1, jitter: 0) ?? retry.maxDelay
    }

    private mutating func record(at now: Instant) -> [Effect] {
        guard !isRecorded else { return [] }
        (isRecorded, lastRecord) = (true, now)
        return [.record(told)]
    }

    /// What is not recorded yet, at the end.
    public mutating func finish(at now: Instant) -> [Effect] { record(at: now) }

    private mutating func tellCount() -> [Effect] {
        guard count != countTold else { return [] }
        countTold = count
        return [.count(count)]
    }

    private mutating func tell(
        at now: Instant, _ muted: Set<ChatReference>, _ inFront: Set<ChatReference>, showsMarkup: Bool,
        showsActions: Bool
    ) -> [Effect] {
        var due = waiting.filter { time(of: $0) <= now }
        guard !due.isEmpty, unanswered.count < Self.maxUnanswered else { return tellCount() }
        waiting = waiting.filter { time(of: $0) > now }
        for group in due { note(group, muted) }
        due = due.compactMap { Self.rest(of: $0, muted, inFront) }
        due = together(due)
        var shows: [Effect] = []
        for group in due {
            for chat in group.chats { lastTold[chat] = now }
            if group.key.chat == nil { lastTold[nil as ChatReference?] = now }
            shows += show(group, at: now, showsMarkup: showsMarkup, showsActions: showsActions)
        }
        isRecorded = false
        return record(at: now) + shows + tellCount()
    }

    /// What it tells of counts as told, shown or not.
    private mutating func note(_ group: Group, _ muted: Set<ChatReference>) {
        if group.key.subject == .arrival {
            for item in group.items {
                told.noteArrival(item.id, in: item.chat)
                if !muted.contains(item.chat) { told.noteUnread(item.id) }
            }
        }
        for file in group.files {
            switch group.key.subject {
            case .approval: told.note(Self.word("approval", file.entry))
            case .failure: told.note(Self.word("failure", file.entry))
            case .expiry: told.note(Self.word("expiry", file.entry))
            case .arrival, .refusal: break
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
        case .failure, .refusal: group
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
        _ news: Group, at now: Instant, showsMarkup: Bool, showsActions: Bool
    ) -> [Effect] {
        var (token, group) = (nextToken, news)
        if let earlier = self.token(of: news.key), let onShow = shown[earlier]?.group {
            token = earlier
            group = onShow
            group.add(news)
        } else {
            nextToken += 1
        }
        let composer = NotificationComposer(preview: preview, escapesMarkup: showsMarkup)
        var text = composer.text(of: group)
        let action = showsActions ? group.action(namesRelays: text.namesRelays) : nil
        text.button = action.map(NotificationComposer.button)
        var effects: [Effect] = []
        if shown.count >= Self.maxShown, shown[token] == nil, let oldest = shown.keys.min() {
            shown[oldest] = nil
            effects.append(.close(token: oldest))
        }
        shown[token] = Shown(group: group, action: action)
        unanswered[token] = (now, news)
        return effects + [.show(token: token, text)]
    }

    // MARK: - What the other side says

    public mutating func hear(_ answer: Answer, at now: Instant) -> [Effect] {
        switch answer {
        case .ready(let capabilities):
            // What another service had on show is not there any more.
            if isReady { forgetWhatIsShown() }
            service = .ready(
                showsMarkup: capabilities.contains("body-markup"),
                showsActions: capabilities.contains("actions"))
            countTold = 0
            return []
        case .noService:
            forgetWhatIsShown()
            service = .waiting
            return []
        case .shown(let token):
            unanswered[token] = nil
            failures = 0
            return []
        case .failed(let token):
            failed(token, at: now)
            return []
        case .closed(let token):
            shown[token] = nil
            unanswered[token] = nil
            return []
        case .acted(let token):
            guard let action = shown.removeValue(forKey: token)?.action else { return [] }
            return [.perform(action), .close(token: token)]
        case .ended:
            let tries: Int
            switch service {
            case .absent(let before, _): tries = before
            case .starting(_, let before): tries = before + 1
            case .waiting, .ready: tries = 0
            }
            forgetWhatIsShown()
            countTold = 0
            service = .absent(tries: max(1, tries), until: now + Self.delay(after: max(1, tries)))
            return []
        }
    }

    private mutating func forgetWhatIsShown() {
        shown = [:]
        unanswered = [:]
    }

    /// It was not shown: once more, some time later, but not for ever.
    private mutating func failed(_ token: UInt64, at now: Instant) {
        shown[token] = nil
        guard let asked = unanswered.removeValue(forKey: token) else { return }
        failures += 1
        guard failures <= Self.maxFailures else { return }
        pausedUntil = now + .seconds(10 * failures)
        let group = asked.group
        if let index = waiting.firstIndex(where: { $0.key == group.key }) {
            waiting[index].add(group)
        } else {
            waiting.append(group)
        }
    }
}
