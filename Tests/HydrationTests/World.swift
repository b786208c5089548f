import ChatCore
import Testing

@testable import Hydration

/// The machine in the hands of chance: readers come, wait and give up, chunks arrive, fail and get lost,
/// items go. `check` holds the bounds after every step.
struct World {
    var dice: Dice
    var machine: HydrationMachine
    var now = Duration.zero
    var layouts: [FileID: ChunkLayout] = [:]
    /// As the core has them: what it received itself, or gave up, is told by `update`.
    var statuses: [FileID: FileStatus] = [:]
    /// Actions that wait to be carried out, in no particular order.
    var pending: [HydrationMachine.Action] = []
    var waiting: [UInt64: FileID] = [:]
    var opens: [FileID: Int] = [:]
    /// What the core answered to a `prepare`, some time before it is heard.
    var preparations: [HydrationMachine.Generation: HydrationMachine.Preparation] = [:]
    /// Fetches that were told to end and have not.
    var cancelled: Set<HydrationMachine.Action> = []
    /// Chunks that have arrived and still fill memory.
    var here: [(file: FileID, generation: UInt64, chunk: Int)] = []
    var lastWaiter: UInt64 = 0
    var lateArrivals = false

    init(seed: UInt64) {
        dice = Dice(seed: seed)
        var settings = HydrationSettings()
        settings.bytesInFlight = UInt64.random(in: 4...24, using: &dice) << 20
        settings.chunksPerRelay = Int.random(in: 1...6, using: &dice)
        settings.finishesWhatWasRead = Bool.random(using: &dice)
        settings.filesKeptOpen = Int.random(in: 1...6, using: &dice)
        machine = HydrationMachine(settings: settings)
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
        ChatItem(
            id: ItemID(file.rawValue), chat: .direct(1), direction: .received, sender: "bob",
            time: .init(seconds: 0), content: MessageContent(kind: .file),
            file: ChatFile(
                id: file, name: "f", size: size(of: file),
                status: statuses[file] ?? .rcvInvitation(described: true), transport: .xftp))
    }

    mutating func step() {
        now += .milliseconds(Int.random(in: 0...200, using: &dice))
        let file = FileID(Int64.random(in: 1...6, using: &dice))
        switch Int.random(in: 0..<28, using: &dice) {
        case 0:
            machine.open(item(file), item(file).file!, now: now)
            opens[file, default: 0] += 1
            perform(machine.update(item(file), now: now))
        case 20: tell(of: file)
        case 21:
            // Somebody wrote into the core's copy.
            if let entry = machine.entries[file] {
                perform(machine.outdated(file, entry.generation))
            }
        case 22: damage(file)
        case 23:
            // A check of its stored copy got on.
            if let entry = machine.entries[file] {
                perform(machine.verifying(file, entry.generation, now: now))
            }
        case 1...2 where opens[file, default: 0] > 0:
            opens[file]! -= 1
            perform(machine.close(file, now: now))
        case 3..<10 where opens[file, default: 0] > 0: read(file)
        case 10 where !waiting.isEmpty:
            let waiter = waiting.keys.sorted().randomElement(using: &dice)!
            let file = waiting[waiter]!
            waiting[waiter] = nil
            machine.leave(waiter, file)
        case 11:
            perform(machine.tick(now: now))
            checkCancelled()
        case 14 where opens[file, default: 0] > 0: wait(file, for: .whole)
        case 15: evict(file)
        case 16:
            if Bool.random(using: &dice) {
                perform(machine.pin(item(file), item(file).file!, now: now))
            } else {
                perform(machine.unpin(file, now: now))
            }
        case 17, 18, 19: land()
        case 13:
            // A relay that was silent and speaks again may exceed the bound for a while: not here.
            for flight in machine.flights where now - flight.lastSign < machine.settings.stalledAfter {
                perform(
                    machine.progressed(
                        flight.file, flight.generation, chunk: flight.chunk, now: now))
            }
        case 12 where Int.random(in: 0..<10, using: &dice) == 0:
            perform(machine.remove(file, atOnce: Bool.random(using: &dice)))
        default: carryOutOne(fails: Int.random(in: 0..<8, using: &dice) == 0)
        }
        check()
    }

    /// The core got on with a file, has it, or gave it up. What it has stays.
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
        let before = machine.entries[file]
        perform(machine.update(item(file), now: now))
        guard let before, let status = statuses[file], status != before.file.status, !before.isRemoved,
            case .chunks(let download) = before.phase, !download.isComplete, !download.isCompleting
        else { return }
        // It has the whole, or will not get it after all: the bytes come another way.
        if status.isReadable || download.isReceivedByCore && status.isGivenUp {
            #expect(machine.entries[file]?.generation != before.generation)
        }
    }

    mutating func read(_ file: FileID) {
        let start = UInt64.random(in: 0..<size(of: file), using: &dice)
        let range = start..<min(start + UInt64.random(in: 1...300_000, using: &dice), size(of: file))
        let (place, actions) = machine.locate(file, range, now: now)
        perform(actions)
        if place == .notYet { wait(file, for: .bytes(range)) }
    }

    mutating func wait(_ file: FileID, for goal: HydrationMachine.Goal) {
        lastWaiter += 1
        waiting[lastWaiter] = file
        perform(machine.wait(lastWaiter, file, for: goal, patience: .seconds(5), now: now))
    }

    /// What is open, waited for or pinned stays, whoever asks; and what is being found out or handed over.
    mutating func evict(_ file: FileID) {
        let held = machine.entries.filter { id, entry in
            let isBusy =
                switch entry.phase {
                case .preparing, .awaitingCore: true
                case .chunks(let download): download.isCompleting
                case .idle, .whole, .failed: false
                }
            return isBusy || entry.opens > 0 || !entry.waiters.isEmpty || machine.pinned.contains(id)
        }
        switch Int.random(in: 0..<3, using: &dice) {
        case 0: perform(machine.evictOldest() ?? [])
        case 1:
            let actions = machine.dehydrate(file)
            #expect(held[file] == nil || actions == nil)
            #expect(actions == nil || machine.entries[file] == nil)
            perform(actions ?? [])
        default: perform(machine.clear())
        }
        for (id, entry) in held {
            #expect(machine.entries[id]?.generation == entry.generation, "a file in use was evicted")
        }
    }

    /// The disk did not keep a chunk that had passed, or that is said to have.
    mutating func damage(_ file: FileID) {
        guard let entry = machine.entries[file], case .chunks(let download) = entry.phase,
            !download.isReceivedByCore, download.passed > 0
        else { return }
        let chunk = Int.random(in: 0..<download.passed, using: &dice)
        // While the whole is handed over, only readers find damage.
        perform(
            machine.damaged(
                file, entry.generation, chunks: [chunk], endsCompletion: !download.isCompleting, now: now))
    }

    /// The memory of a chunk is free again, and the check of the whole has got on with it.
    mutating func land() {
        guard !here.isEmpty else { return }
        let (file, generation, chunk) = here.remove(at: Int.random(in: 0..<here.count, using: &dice))
        if let entry = machine.entries[file], entry.generation == generation,
            case .chunks(let download) = entry.phase
        {
            let count = download.states.prefix { $0 == .present }.count
            // Who goes on after a failure says how far it is, even when nothing was missing.
            if count > download.passed || chunk == -1 {
                perform(machine.passed(file, generation, upTo: count, now: now))
            }
            for chunk in download.damaged where download.states[chunk] == .present {
                perform(machine.mended(file, generation, chunk: chunk, now: now))
            }
        }
        machine.landed(file, generation, chunk)
        perform(machine.schedule(now: now))
    }

    mutating func perform(_ actions: [HydrationMachine.Action]) {
        for action in actions {
            switch action {
            case .wake(let waiter, _):
                #expect(waiting.removeValue(forKey: waiter) != nil, "answered twice or without asking")
            case .prepare(let file, let generation):
                preparations[generation] = preparation(of: file)
                pending.append(action)
            case .fetch, .pass, .complete: pending.append(action)
            case .cancel(let file, let generation, let chunk):
                if let entry = machine.current(file, generation), !entry.isRemoved {
                    #expect(opens[file, default: 0] == 0 && entry.waiters.isEmpty)
                    if case .chunks(let download) = entry.phase, download.dead == nil {
                        #expect(download.damaged.isEmpty)
                        #expect(!machine.pinned.contains(file))
                    }
                }
                let fetch = HydrationMachine.Action.fetch(file, generation, chunk: chunk)
                #expect(pending.contains(fetch), "what is not under way was cancelled")
                #expect(cancelled.insert(fetch).inserted, "cancelled twice")
            case .drop, .erase, .abandon, .noteUnfinished, .changed, .invalidated: break
            }
        }
    }

    mutating func carryOutOne(fails: Bool) {
        guard !pending.isEmpty else { return }
        let action = pending.remove(at: Int.random(in: 0..<pending.count, using: &dice))
        let problem = FileProblem(
            [.unreachable, .timedOut, .expired, .damaged, .notApproved].randomElement(using: &dice)!,
            "It failed.")
        switch action {
        case .prepare(let file, let generation):
            if let entry = machine.current(file, generation), entry.file.status.isReadable,
                statuses[file]?.isReadable == true, Int.random(in: 0..<6, using: &dice) == 0
            {
                // Its stored copy is damaged, and it is offered once more.
                statuses[file] = .rcvInvitation(described: true)
                return perform(machine.offeredAgain(file, generation, item(file)))
            }
            perform(
                fails
                    ? machine.preparationFailed(file, generation, problem, now: now)
                    : machine.prepared(file, generation, preparations[generation]!, now: now))
        case .fetch(let file, let generation, let chunk):
            if let flight = machine.flights.first(where: { $0.isOf(file, generation, chunk) }),
                now - flight.lastSign >= machine.settings.stalledAfter
            {
                lateArrivals = true
            }
            if cancelled.remove(action) != nil, Bool.random(using: &dice) {
                let actions = machine.fetchFailed(file, generation, chunk: chunk, problem, now: now)
                #expect(!actions.contains { if case .wake = $0 { true } else { false } })
                perform(actions)
            } else if fails {
                perform(machine.fetchFailed(file, generation, chunk: chunk, problem, now: now))
            } else {
                here.append((file, generation, chunk))
                perform(
                    machine.arrived(
                        file, generation, chunk: chunk, contentOffset: chunk == 0 ? 20 : nil, now: now))
            }
            if Int.random(in: 0..<20, using: &dice) == 0 {
                machine.lost(file, generation, chunk: chunk)
            }
        case .complete(let file, let generation):
            if fails {
                perform(machine.completionFailed(file, generation, problem, now: now))
            } else if isReceivedByCore(file) {
                perform(machine.checked(file, generation))
            } else {
                if machine.entries[file]?.generation == generation { statuses[file] = .rcvComplete }
                perform(machine.completed(file, generation, item(file).file!, cached: 0))
            }
        case .pass(let file, let generation):
            // It goes on: what is there goes through at once.
            here.append((file, generation, -1))
        default: break
        }
    }

    /// What the core answers: its own copy, chunks, or that it receives the file itself.
    mutating func preparation(of file: FileID) -> HydrationMachine.Preparation {
        let status = machine.entries[file]?.file.status ?? .rcvInvitation(described: true)
        if status.isReadable { return .whole(cached: 0) }
        if status == .rcvInvitation(described: false) { return .awaitingDescription }
        if Int.random(in: 0..<4, using: &dice) == 0 { return .awaitingCore }
        return .chunks(layouts[file]!, isReceivedByCore: isReceivedByCore(file))
    }

    /// Some files come to the core as well.
    func isReceivedByCore(_ file: FileID) -> Bool { file.rawValue % 3 == 0 }
}
