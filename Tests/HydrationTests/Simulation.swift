import ChatCore
import Testing

@testable import Hydration
@testable import XFTP

/// The identity of a download or a copy, without content.
final class Token: Sendable, Hashable {
    static func == (left: Token, right: Token) -> Bool { left === right }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The machines of files and the scheduler, connected like the drivers, with a clock of their own and without I/O.
/// Effects are recorded and performed by the test.
struct Simulation {
    typealias Machine = FileMachine<Token, Token>
    typealias Fetch = FetchScheduler<Token>.Fetch

    struct Answer: Hashable {
        var reader: UInt64
        /// nil if the bytes are available.
        var problem: FileProblem?
    }

    let settings: HydrationSettings
    var now = Duration.zero
    private(set) var files: [FileID: Machine] = [:]
    private(set) var scheduler: FetchScheduler<Token>
    /// The file of each download, including earlier attempts.
    private(set) var owners: [Token: FileID] = [:]
    private var published: [FileID: (download: Token, requests: FetchRequests)] = [:]

    // Effects until a test takes them.
    var answers: [Answer] = []
    var preparations: [(file: FileID, preparation: Preparation)] = []
    var begun: [Fetch] = []
    var cancelled: [Fetch] = []
    var completions: [Token] = []
    var resumed: [Token] = []

    init(settings: HydrationSettings = HydrationSettings()) {
        self.settings = settings
        scheduler = FetchScheduler(settings: settings.fetching)
    }

    static func item(_ file: FileID, size: UInt64, _ status: FileStatus) -> ChatItem {
        ChatItem(
            id: ItemID(file.rawValue), chat: .direct(1), direction: .received, sender: "bob",
            time: .init(seconds: 0), content: MessageContent(kind: .file),
            file: ChatFile(id: file, name: "f", size: size, status: status, transport: .xftp))
    }

    // MARK: - Driver

    /// Steps a file that has an object, and records and answers its effects.
    @discardableResult
    mutating func step(
        _ file: FileID, _ event: (inout Machine, Duration) -> [Machine.Effect]
    ) -> [Machine.Effect] {
        guard var machine = files[file] else { return [] }
        let effects = event(&machine, now)
        files[file] = machine
        publish(file)
        if machine.isRetired { files[file] = nil }
        for effect in effects {
            switch effect {
            case .prepare(let preparation): preparations.append((file, preparation))
            case .answer(let reader, let problem):
                answers.append(Answer(reader: reader, problem: problem))
            case .complete(let download): completions.append(download)
            case .resumeStorage(let download): resumed.append(download)
            case .retired: #expect(machine.isRetired)
            case .erase, .abandonClaim, .retainUnfinished, .conditionChanged, .contentInvalid: break
            }
        }
        schedule()
        return effects
    }

    /// Returns the object of a file, creating it if necessary.
    mutating func makeFile(_ item: ChatItem, retention: Retention = []) {
        guard let file = item.file, files[file.id] == nil else { return }
        files[file.id] = Machine(item, file, retention: retention, settings: settings, now: now)
    }

    mutating func open(_ item: ChatItem) {
        makeFile(item)
        step(item.file!.id) { machine, now in machine.open(item, outdated: nil, now: now)! }
    }

    mutating func wait(
        _ reader: UInt64, _ file: FileID, for goal: WaitingReaders.Goal, timeout: Duration = .seconds(10)
    ) {
        step(file) { machine, now in machine.wait(reader, for: goal, timeout: timeout, now: now) }
    }

    /// Locates a range; a missing object behaves like a removed file.
    mutating func locate(_ file: FileID, _ range: Range<UInt64>) -> Machine.Target {
        var target = Machine.Target.failed(.deleted)
        step(file) { machine, now in
            let located = machine.locate(range, now: now)
            target = located.target
            return located.effects
        }
        return target
    }

    /// Completes the last preparation with chunks. Returns their download.
    mutating func prepareChunks(
        _ layout: ChunkLayout, isReceivedByCore: Bool = false
    ) -> Token {
        let (file, preparation) = preparations.removeLast()
        let download = Token()
        prepared(file, preparation, .chunks(download, layout, isReceivedByCore: isReceivedByCore))
        return download
    }

    /// Returns false if it is not the current preparation.
    @discardableResult
    mutating func prepared(
        _ file: FileID, _ preparation: Preparation, _ result: PreparationResult<Token, Token>
    ) -> Bool {
        if case .chunks(let download, _, _, _) = result { owners[download] = file }
        var isPresent = false
        step(file) { machine, now in
            let effects = machine.prepared(preparation, result, now: now)
            isPresent = effects != nil
            return effects ?? []
        }
        return isPresent
    }

    private mutating func publish(_ file: FileID) {
        let wanted = files[file]?.fetchRequests(now: now)
        if let before = published[file], before.download !== wanted?.download {
            scheduler.remove(before.download)
        }
        published[file] = wanted.map { ($0.download, $0.2) }
        if let (download, layout, requests) = wanted { scheduler.update(download, layout, requests) }
    }

    mutating func schedule() {
        while true {
            let actions = scheduler.schedule(now: now)
            if actions.isEmpty { return }
            for action in actions {
                switch action {
                case .cancel(let fetch): cancelled.append(fetch)
                case .fetch(let fetch): begin(fetch)
                }
            }
        }
    }

    private mutating func begin(_ fetch: Fetch) {
        let isStarted = owners[fetch.file].map { file in
            let isStarted = files[file]?.started(fetch.file, fetch.chunk) ?? false
            publish(file)
            return isStarted
        }
        if isStarted == true { begun.append(fetch) } else { scheduler.ended(fetch) }
    }

    mutating func tick() {
        for file in files.keys.sorted() { step(file) { machine, now in machine.tick(now: now) } }
        schedule()
    }

    // MARK: - Results of fetches

    mutating func progress(_ fetch: Fetch) {
        guard let flight = scheduler.flights.first(where: { $0.fetch == fetch }) else { return }
        let received = min(flight.bytes, flight.received + flight.bytes / 3)
        let leavesItsPlace = scheduler.progressed(fetch, received: received, now: now)
        if let file = owners[fetch.file] { files[file]?.progressed(fetch.file, fetch.chunk, now: now) }
        if leavesItsPlace { schedule() }
    }

    /// The chunk is readable. Its memory is in use until `end`.
    mutating func arrive(_ fetch: Fetch) {
        scheduler.arrived(fetch, now: now)
        guard let file = owners[fetch.file] else { return }
        step(file) { machine, now in
            machine.arrived(fetch.file, fetch.chunk, contentOffset: fetch.chunk == 0 ? 20 : nil, now: now)
        }
        schedule()
    }

    /// The chunk of an earlier mount is damaged.
    mutating func failCheck(_ fetch: Fetch) {
        if let file = owners[fetch.file] {
            step(file) { machine, _ in machine.checkFailed(fetch.file, fetch.chunk) }
        }
        end(fetch)
    }

    /// Ends the fetch, with a problem if given.
    @discardableResult
    mutating func end(_ fetch: Fetch, _ problem: FileProblem? = nil) -> [Machine.Effect] {
        let wasCancelled = scheduler.ended(fetch)
        var effects: [Machine.Effect] = []
        if let problem, let file = owners[fetch.file] {
            effects = step(file) { machine, now in
                machine.fetchFailed(
                    fetch.file, fetch.chunk, problem, wasCancelled: wasCancelled, now: now)
            }
        }
        schedule()
        return effects
    }

    /// Arrives and is stored at once.
    mutating func arriveAndEnd(_ fetch: Fetch) {
        arrive(fetch)
        end(fetch)
    }
}
