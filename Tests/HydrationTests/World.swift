import ChatCore
import Testing

@testable import Hydration
@testable import XFTP

/// The machines of six files and the scheduler under random events: readers come, wait and give up, chunks arrive, fail
/// and get lost, items are deleted. `check` verifies the bounds after every step.
struct World {
    /// Pending work in no particular order.
    enum Work {
        case prepare(FileID, Preparation, PreparationResult<Token, Token>)
        case fetch(Simulation.Fetch)
        case complete(Token)
    }

    var dice: Dice
    var simulation: Simulation
    var layouts: [FileID: ChunkLayout] = [:]
    /// The core's statuses; `update` reports received and failed files.
    var statuses: [FileID: FileStatus] = [:]
    var pinned: Set<FileID> = []
    var pending: [Work] = []
    var waiting: [UInt64: FileID] = [:]
    var opens: [FileID: Int] = [:]
    /// Fetches told to end that have not.
    var cancelled: Set<Simulation.Fetch> = []
    /// Arrived chunks that occupy memory.
    var inMemory: [Simulation.Fetch] = []
    /// Downloads whose chunks in memory are written.
    var resumed: [Token] = []
    var lastReader: UInt64 = 0
    var lateArrivals = false

    init(seed: UInt64) {
        dice = Dice(seed: seed)
        var settings = HydrationSettings()
        settings.fetching.bytesInFlight = UInt64.random(in: 4...24, using: &dice) << 20
        settings.fetching.chunksPerRelay = Int.random(in: 1...6, using: &dice)
        settings.finishesWhatWasRead = Bool.random(using: &dice)
        simulation = Simulation(settings: settings)
        for id in 1...6 as ClosedRange<Int64> {
            let chunks = (0..<Int.random(in: 1...12, using: &dice)).map { _ in
                ChunkPlace(
                    size: [65_536, 262_144, 1_048_576, 4_194_304].randomElement(using: &dice)!,
                    relay: "relay \(Int.random(in: 0..<3, using: &dice))")
            }
            layouts[FileID(id)] = ChunkLayout(chunks)
        }
    }

    func size(of file: FileID) -> UInt64 { layouts[file]!.streamSize - 1000 }

    func item(_ file: FileID) -> ChatItem {
        Simulation.item(file, size: size(of: file), statuses[file] ?? .rcvInvitation(described: true))
    }

    func machine(of file: FileID) -> Simulation.Machine? { simulation.files[file] }

    func chunks(of file: FileID) -> (download: Token, chunks: ChunkMap)? {
        guard case .chunks(let download, let chunks) = machine(of: file)?.phase else { return nil }
        return (download, chunks)
    }

    mutating func step() {
        simulation.now += .milliseconds(Int.random(in: 0...200, using: &dice))
        let file = FileID(Int64.random(in: 1...6, using: &dice))
        switch Int.random(in: 0..<28, using: &dice) {
        case 0:
            simulation.makeFile(item(file), retention: pinned.contains(file) ? .pinned : [])
            opens[file, default: 0] += 1
            simulation.open(item(file))
        case 20: tell(of: file)
        case 21:
            // The core's copy was modified.
            if case .whole(let whole, _) = machine(of: file)?.phase {
                simulation.step(file) { machine, _ in machine.outdated(whole) }
            }
        case 22: damage(file)
        case 23:
            // A check of its stored copy progressed.
            if case .preparing(let preparation) = machine(of: file)?.phase {
                simulation.step(file) { machine, now in
                    machine.verifying(preparation, now: now)
                    return []
                }
            }
        case 1...2 where opens[file, default: 0] > 0:
            opens[file]! -= 1
            simulation.step(file) { machine, now in machine.close(now: now) }
        case 3..<10 where opens[file, default: 0] > 0: read(file)
        case 10 where !waiting.isEmpty:
            let reader = waiting.keys.sorted().randomElement(using: &dice)!
            let file = waiting.removeValue(forKey: reader)!
            simulation.step(file) { machine, _ in
                machine.leave(reader)
                return []
            }
        case 11:
            simulation.tick()
            takeEffects()
            checkCancelled()
        case 14 where opens[file, default: 0] > 0: wait(file, for: .whole)
        case 15: evict(file)
        case 16: pin(file, Bool.random(using: &dice))
        case 17, 18, 19: freeMemory()
        case 13:
            // A relay that responds again may exceed the bound for a while, which is excluded here.
            for flight in simulation.scheduler.flights
            where !flight.hasArrived
                && simulation.now - flight.lastSign < simulation.settings.fetching.stalledAfter
            {
                simulation.progress(flight.fetch)
            }
        case 12 where Int.random(in: 0..<10, using: &dice) == 0:
            let atOnce = Bool.random(using: &dice)
            simulation.step(file) { machine, _ in machine.remove(atOnce: atOnce) }
        default: carryOutOne(fails: Int.random(in: 0..<8, using: &dice) == 0)
        }
        takeEffects()
        check()
    }

    /// The core progressed with a file, completed it or gave it up. Completed files stay.
    mutating func tell(of file: FileID) {
        let problem = FileProblem(
            [.unreachable, .expired, .notApproved].randomElement(using: &dice)!, "The core gave up.")
        let next: [FileStatus] = [
            .rcvInvitation(described: false), .rcvInvitation(described: true), .rcvAccepted,
            .rcvTransfer(received: 1, total: 2), .rcvAborted(.relaysNotApproved), .rcvComplete,
            .rcvError(problem),
            .rcvWarning(problem),
        ]
        if statuses[file]?.isReadable != true { statuses[file] = next.randomElement(using: &dice)! }
        let (before, content) = (machine(of: file), chunks(of: file))
        let item = item(file)
        simulation.step(file) { machine, now in machine.update(item, now: now) }
        guard let before, let (download, chunks) = content, let status = statuses[file],
            status != before.file.status, !before.isRemoved, !chunks.isComplete,
            chunks.completion != .inProgress
        else { return }
        // The core has the whole, or gave it up: the bytes come another way.
        if status.isReadable || chunks.isReceivedByCore && status.isGivenUp {
            #expect(self.chunks(of: file)?.download !== download)
        }
    }

    mutating func read(_ file: FileID) {
        let start = UInt64.random(in: 0..<size(of: file), using: &dice)
        let range = start..<min(start + UInt64.random(in: 1...300_000, using: &dice), size(of: file))
        if case .pending = simulation.locate(file, range) { wait(file, for: .bytes(range)) }
    }

    mutating func wait(_ file: FileID, for goal: WaitingReaders.Goal) {
        lastReader += 1
        waiting[lastReader] = file
        simulation.wait(lastReader, file, for: goal, timeout: .seconds(5))
    }

    mutating func pin(_ file: FileID, _ isPinned: Bool) {
        let item = item(file)
        if isPinned {
            pinned.insert(file)
            simulation.makeFile(item, retention: .pinned)
            simulation.step(file) { machine, now in machine.setPinned(true) + machine.resume(item, now: now) }
        } else {
            pinned.remove(file)
            simulation.step(file) { machine, _ in machine.setPinned(false) }
        }
    }

    /// Open, awaited and pinned files are not evicted, nor files in preparation or hand-over.
    mutating func evict(_ file: FileID) {
        guard let before = machine(of: file) else { return }
        let isBusy =
            switch before.phase {
            case .preparing: true
            case .chunks(_, let chunks): chunks.completion == .inProgress
            case .idle, .awaitingCore, .whole, .failed, .retired: false
            }
        let isHeld = isBusy || before.opens > 0 || !before.waiting.isEmpty || pinned.contains(file)
        var isDone = false
        let invalidates = Bool.random(using: &dice)
        simulation.step(file) { machine, _ in
            let effects = machine.evict(invalidates: invalidates)
            isDone = effects != nil
            return effects ?? []
        }
        #expect(isDone == !isHeld)
        #expect((machine(of: file) == nil) == isDone)
    }

    /// The disk lost a stored chunk, or reports so.
    mutating func damage(_ file: FileID) {
        guard let (download, chunks) = chunks(of: file), !chunks.isReceivedByCore,
            let chunk = chunks.states.indices.filter({ chunks.states[$0] == .stored })
                .randomElement(using: &dice)
        else { return }
        // During the hand-over only readers find damage.
        simulation.step(file) { machine, _ in
            machine.damaged(download, [chunk], endsCompletion: chunks.completion != .inProgress)
        }
    }

    /// A chunk is stored, or stays in memory and its fetch ends.
    mutating func freeMemory() {
        if !resumed.isEmpty {
            storeRest(of: resumed.removeFirst())
        }
        guard !inMemory.isEmpty else { return }
        let fetch = inMemory.remove(at: Int.random(in: 0..<inMemory.count, using: &dice))
        if Int.random(in: 0..<4, using: &dice) > 0 {
            simulation.step(simulation.owners[fetch.file]!) { machine, now in
                machine.stored(fetch.file, fetch.chunk, now: now)
            }
        }
        storeRest(of: fetch.file)
        simulation.end(fetch)
    }

    /// Stores chunks in memory if the whole file is wanted.
    private mutating func storeRest(of download: Token) {
        guard let file = simulation.owners[download], let (present, chunks) = chunks(of: file),
            present === download, machine(of: file)?.wantsStorage(download) == true
        else { return }
        for chunk in chunks.states.indices where chunks.states[chunk] == .available {
            simulation.step(file) { machine, now in machine.stored(download, chunk, now: now) }
        }
    }

    /// Collects the effects of machines and scheduler.
    mutating func takeEffects() {
        for answer in simulation.answers {
            #expect(waiting.removeValue(forKey: answer.reader) != nil, "answered twice or without asking")
        }
        for (file, preparation) in simulation.preparations {
            pending.append(.prepare(file, preparation, result(of: file)))
        }
        pending += simulation.begun.map(Work.fetch) + simulation.completions.map(Work.complete)
        for fetch in simulation.cancelled {
            if let file = simulation.owners[fetch.file], let (download, chunks) = chunks(of: file),
                download === fetch.file, let machine = machine(of: file), !machine.isRemoved
            {
                #expect(opens[file, default: 0] == 0 && machine.waiting.isEmpty)
                if chunks.finalProblem == nil {
                    #expect(!pinned.contains(file))
                }
            }
            #expect(cancelled.insert(fetch).inserted, "cancelled twice")
        }
        resumed += simulation.resumed
        (simulation.answers, simulation.preparations, simulation.begun) = ([], [], [])
        (simulation.cancelled, simulation.completions, simulation.resumed) = ([], [], [])
    }

    mutating func carryOutOne(fails: Bool) {
        guard !pending.isEmpty else { return }
        let problem = FileProblem(
            [.unreachable, .timedOut, .expired, .damaged, .notApproved].randomElement(using: &dice)!,
            "It failed.")
        switch pending.remove(at: Int.random(in: 0..<pending.count, using: &dice)) {
        case .prepare(let file, let preparation, let result):
            carryOut(file, preparation, result, fails ? problem : nil)
        case .fetch(let fetch): carryOut(fetch, fails ? problem : nil)
        case .complete(let download): complete(download, fails ? problem : nil)
        }
    }

    private mutating func carryOut(
        _ file: FileID, _ preparation: Preparation, _ result: PreparationResult<Token, Token>,
        _ problem: FileProblem?
    ) {
        if let machine = machine(of: file), machine.phase.isPresent(preparation),
            machine.file.status.isReadable, statuses[file]?.isReadable == true,
            Int.random(in: 0..<6, using: &dice) == 0
        {
            // Its stored copy is damaged, and it is offered again.
            statuses[file] = .rcvInvitation(described: true)
            let item = item(file)
            simulation.step(file) { machine, _ in machine.offeredAgain(preparation, item) }
        } else if let problem {
            simulation.step(file) { $0.preparationFailed(preparation, problem, now: $1) }
        } else {
            simulation.prepared(file, preparation, result)
        }
    }

    private mutating func carryOut(_ fetch: Simulation.Fetch, _ problem: FileProblem?) {
        let flight = simulation.scheduler.flights.first { $0.fetch == fetch }
        let isCheck = flight?.priority == .check
        if let flight, simulation.now - flight.lastSign >= simulation.settings.fetching.stalledAfter {
            lateArrivals = true
        }
        if cancelled.remove(fetch) != nil, Bool.random(using: &dice) {
            let effects = simulation.end(fetch, problem ?? .timedOut)
            #expect(!effects.contains { if case .answer = $0 { true } else { false } })
        } else if isCheck, problem != nil {
            simulation.failCheck(fetch)
        } else if let problem {
            simulation.end(fetch, problem)
        } else {
            inMemory.append(fetch)
            simulation.arrive(fetch)
        }
        if Int.random(in: 0..<20, using: &dice) == 0, let file = simulation.owners[fetch.file] {
            simulation.step(file) { machine, _ in machine.lost(fetch.file, [fetch.chunk]) }
        }
    }

    private mutating func complete(_ download: Token, _ problem: FileProblem?) {
        guard let file = simulation.owners[download] else { return }
        let isReceivedByCore = isReceivedByCore(file)
        let isPresent = chunks(of: file)?.download === download
        simulation.step(file) { machine, now in
            if let problem { return machine.completionFailed(download, problem, now: now) }
            if isReceivedByCore { return machine.verified(download) }
            return machine.completed(
                download, Token(), at: FileSourceLocation(path: "/kept", arguments: nil), cached: 0)
        }
        if isPresent && problem == nil && !isReceivedByCore { statuses[file] = .rcvComplete }
    }

    /// The core's reply, delivered some time later: its own copy, chunks, or that it receives the file itself.
    mutating func result(of file: FileID) -> PreparationResult<Token, Token> {
        let status = machine(of: file)?.file.status ?? .rcvInvitation(described: true)
        if status.isReadable { return .whole(Token(), cached: 0) }
        if status == .rcvInvitation(described: false) { return .awaitingDescription }
        if Int.random(in: 0..<4, using: &dice) == 0 { return .awaitingCore }
        if isReceivedByCore(file) { return .chunks(Token(), layouts[file]!, isReceivedByCore: true) }
        let earlier = layouts[file]!.relays.indices.filter { _ in Int.random(in: 0..<4, using: &dice) == 0 }
        return .chunks(Token(), layouts[file]!, isReceivedByCore: false, unchecked: earlier)
    }

    /// Some files are also received by the core.
    func isReceivedByCore(_ file: FileID) -> Bool { file.rawValue % 3 == 0 }
}
