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
    /// Actions that wait to be carried out, in no particular order.
    var pending: [HydrationMachine.Action] = []
    var waiting: [UInt64: FileID] = [:]
    var opens: [FileID: Int] = [:]
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
                id: file, name: "f", size: size(of: file), status: .rcvInvitation(described: true),
                transport: .xftp))
    }

    mutating func step() {
        now += .milliseconds(Int.random(in: 0...200, using: &dice))
        let file = FileID(Int64.random(in: 1...6, using: &dice))
        switch Int.random(in: 0..<24, using: &dice) {
        case 0..<3:
            machine.open(item(file), item(file).file!, now: now)
            opens[file, default: 0] += 1
        case 3 where opens[file, default: 0] > 0:
            opens[file]! -= 1
            perform(machine.close(file, now: now))
        case 4..<10 where opens[file, default: 0] > 0: read(file)
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

    /// What is open, waited for or pinned stays, whoever asks.
    mutating func evict(_ file: FileID) {
        let held = machine.entries.filter { id, entry in
            entry.opens > 0 || !entry.waiters.isEmpty || machine.pinned.contains(id)
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
        }
        machine.landed(file, generation, chunk)
        perform(machine.schedule(now: now))
    }

    mutating func perform(_ actions: [HydrationMachine.Action]) {
        for action in actions {
            switch action {
            case .wake(let waiter, _):
                #expect(waiting.removeValue(forKey: waiter) != nil, "answered twice or without asking")
            case .prepare, .fetch, .pass, .complete: pending.append(action)
            case .cancel(let file, let generation, let chunk):
                if let entry = machine.current(file, generation), !entry.isRemoved {
                    #expect(opens[file, default: 0] == 0 && entry.waiters.isEmpty)
                    if case .chunks(let download) = entry.phase, download.dead == nil {
                        #expect(!machine.pinned.contains(file))
                    }
                }
                let fetch = HydrationMachine.Action.fetch(file, generation, chunk: chunk)
                #expect(pending.contains(fetch), "what is not under way was cancelled")
                #expect(cancelled.insert(fetch).inserted, "cancelled twice")
            case .drop, .erase, .abandon, .changed, .invalidated: break
            }
        }
    }

    mutating func carryOutOne(fails: Bool) {
        guard !pending.isEmpty else { return }
        let action = pending.remove(at: Int.random(in: 0..<pending.count, using: &dice))
        let problem = FileProblem(
            [.unreachable, .timedOut, .expired, .damaged].randomElement(using: &dice)!, "It failed.")
        switch action {
        case .prepare(let file, let generation):
            perform(
                fails
                    ? machine.preparationFailed(file, generation, problem, now: now)
                    : machine.prepared(
                        file, generation, .chunks(layouts[file]!, isReceivedByCore: false), now: now))
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
            perform(
                fails
                    ? machine.completionFailed(file, generation, problem, now: now)
                    : machine.completed(
                        file, generation, machine.entries[file]?.file ?? item(file).file!, cached: 0))
        case .pass(let file, let generation):
            // It goes on: what is there goes through at once.
            here.append((file, generation, -1))
        default: break
        }
    }

    /// Nothing that is silent is under way for nobody.
    func checkCancelled() {
        for flight in machine.flights where !flight.isHere && !flight.isCancelled {
            let isSilent = !flight.hasBytes || now - flight.lastSign >= machine.settings.stalledAfter
            guard let entry = machine.current(flight.file, flight.generation) else {
                Issue.record("fetched for an attempt that is over")
                continue
            }
            let isKept = machine.pinned.contains(flight.file) || machine.settings.finishesWhatWasRead
            #expect(!isSilent || isKept || entry.opens > 0 || !entry.waiters.isEmpty)
        }
    }

    func check() {
        let settings = machine.settings
        #expect(machine.flights.count <= settings.chunksInFlight)
        let coming = machine.flights.filter { !$0.isHere }
        for (_, flights) in Dictionary(grouping: coming, by: \.relay) {
            #expect(flights.count <= settings.chunksPerRelay)
        }
        for entry in machine.entries.values {
            guard case .chunks(let download) = entry.phase else { continue }
            #expect(download.inFlight <= settings.chunksPerFile)
            #expect(download.inFlight == download.states.filter { $0 == .inFlight }.count)
        }
        #expect(machine.flights.count(where: \.isBackground) <= settings.backgroundChunks)
        let fresh = machine.flights.filter { $0.isHere || now - $0.lastSign < settings.stalledAfter }
        let bytes = fresh.reduce(0) { $0 + $1.bytes }
        // A relay that was silent and whose chunk then arrived after all may exceed the bound.
        #expect(bytes <= settings.bytesInFlight || fresh.count == 1 || lateArrivals)
        #expect(Set(machine.rotation).count == machine.rotation.count)
        let asked = Set(machine.entries.values.flatMap { $0.waiters.map(\.id) })
        #expect(asked == Set(waiting.keys))
    }

    /// Everything answers from now on: nobody may be left waiting.
    mutating func settle() {
        var rounds = 0
        while !waiting.isEmpty || !pending.isEmpty || !here.isEmpty {
            rounds += 1
            guard rounds < 10_000 else {
                Issue.record("\(waiting.count) readers wait for ever")
                return
            }
            now += .milliseconds(10)
            if !here.isEmpty {
                land()
            } else if pending.isEmpty {
                perform(machine.tick(now: now))
            } else {
                carryOutOne(fails: false)
            }
            check()
        }
        #expect(machine.flights.isEmpty)
    }
}
