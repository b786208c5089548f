import TestSupport
import Testing

@testable import XFTP

/// Granted and ended fetches against a simple model in random histories.
@Suite struct SchedulerTests {
    @Test(arguments: 1...80 as ClosedRange<UInt64>)
    func grantsMatchTheModel(seed: UInt64) {
        var history = History(seed: seed)
        for _ in 0..<400 { history.step() }
        history.finish()
    }

    private typealias Fetch = FetchScheduler<Int>.Fetch

    private static let chunkSize: UInt32 = 1 << 20

    private static func layout(_ relays: [String]) -> ChunkLayout {
        ChunkLayout(relays.map { ChunkPlace(size: chunkSize, relay: $0) })!
    }

    private static func demand(_ chunks: Int...) -> FetchRequests {
        var requests = FetchRequests()
        requests.demand = chunks
        requests.isWanted = true
        return requests
    }

    @Test func waitingReadersGoFirst() {
        var settings = FetchSettings()
        settings.chunksInFlight = 1
        var scheduler = FetchScheduler<Int>(settings: settings)
        var ahead = FetchRequests()
        (ahead.ahead, ahead.isWanted) = ([0], true)
        scheduler.update(1, Self.layout(["a"]), ahead)
        scheduler.update(2, Self.layout(["b"]), Self.demand(0))
        #expect(scheduler.schedule(now: .zero) == [.fetch(.init(file: 2, chunk: 0))])
        scheduler.ended(.init(file: 2, chunk: 0))
        scheduler.remove(2)
        #expect(scheduler.schedule(now: .zero) == [.fetch(.init(file: 1, chunk: 0))])
    }

    @Test func silentRelayDelaysNoOthers() {
        var settings = FetchSettings()
        settings.chunksPerRelay = 1
        var scheduler = FetchScheduler<Int>(settings: settings)
        scheduler.update(1, Self.layout(["silent", "silent", "good"]), Self.demand(0, 1, 2))
        scheduler.update(2, Self.layout(["good", "other"]), Self.demand(0, 1))
        let granted = scheduler.schedule(now: .zero)
        #expect(
            Set(granted) == [
                .fetch(.init(file: 1, chunk: 0)), .fetch(.init(file: 2, chunk: 0)),
                .fetch(.init(file: 2, chunk: 1)),
            ])
        scheduler.ended(.init(file: 2, chunk: 0))
        scheduler.update(2, Self.layout(["good", "other"]), Self.demand())
        #expect(scheduler.schedule(now: .zero) == [.fetch(.init(file: 1, chunk: 2))])
    }

    @Test func stalledChunkYieldsItsMemory() {
        var settings = FetchSettings()
        settings.bytesInFlight = UInt64(Self.chunkSize)
        settings.stalledAfter = .seconds(3)
        var scheduler = FetchScheduler<Int>(settings: settings)
        scheduler.update(1, Self.layout(["silent"]), Self.demand(0))
        scheduler.update(2, Self.layout(["good"]), Self.demand(0))
        #expect(scheduler.schedule(now: .zero) == [.fetch(.init(file: 1, chunk: 0))])
        #expect(scheduler.schedule(now: .seconds(2)).isEmpty)
        _ = scheduler.progressed(.init(file: 1, chunk: 0), received: 1, now: .seconds(2))
        #expect(scheduler.schedule(now: .seconds(4)).isEmpty)
        #expect(scheduler.schedule(now: .seconds(5)) == [.fetch(.init(file: 2, chunk: 0))])
    }

    /// A request made when a distant line is free comes a round trip too late.
    @Test(arguments: [true, false])
    func nearlyCompleteDistantChunkYieldsItsPlace(isFar: Bool) {
        var settings = FetchSettings()
        (settings.chunksPerFile, settings.moreFromFar, settings.requestsAheadToFar) = (1, 1, 1)
        var scheduler = FetchScheduler<Int>(settings: settings)
        scheduler.update(1, Self.layout(Array(repeating: "a", count: 8)), Self.demand(0, 1, 2, 3, 4))
        func fetch(_ chunk: Int) -> FetchScheduler<Int>.Fetch { .init(file: 1, chunk: chunk) }
        func granted() -> [FetchScheduler<Int>.Action] { scheduler.schedule(now: .seconds(1)) }
        func progressed(_ chunk: Int, quarters: UInt64) -> Bool {
            scheduler.progressed(
                fetch(chunk), received: UInt64(Self.chunkSize) / 4 * quarters, now: .milliseconds(1080))
        }
        #expect(scheduler.schedule(now: .zero) == [.fetch(fetch(0))])
        let answer: Duration = isFar ? .milliseconds(80) : .milliseconds(1)
        _ = scheduler.progressed(fetch(0), received: 1, now: answer)
        scheduler.arrived(fetch(0), now: answer * 2)
        scheduler.ended(fetch(0))
        scheduler.update(1, Self.layout(Array(repeating: "a", count: 8)), Self.demand(1, 2, 3, 4))
        let first = granted()
        #expect(first == (isFar ? [.fetch(fetch(1)), .fetch(fetch(2))] : [.fetch(fetch(1))]))

        var steps = (2...4).map { quarters in (progressed(1, quarters: quarters), granted()) }
        #expect(steps.map(\.0) == [false, isFar, false], "it is said once")
        #expect(steps.map(\.1) == [[], isFar ? [.fetch(fetch(3))] : [], []])
        guard isFar else { return }
        // One at a time, because each needs memory.
        steps = [(progressed(2, quarters: 4), granted())]
        #expect(steps[0].0 && steps[0].1.isEmpty)
        scheduler.arrived(fetch(1), now: .seconds(1))
        let last = granted()
        #expect(last == [.fetch(fetch(4))])
    }

    /// Its time would make a slow line fast, so that too many requests would share the line.
    @Test func chunkFromTheDiskMeasuresNoRelay() {
        var settings = FetchSettings()
        (settings.chunksPerFile, settings.moreFromFar, settings.requestsAheadToFar) = (1, 1, 1)
        var scheduler = FetchScheduler<Int>(settings: settings)
        let layout = Self.layout(Array(repeating: "a", count: 4))
        scheduler.update(1, layout, Self.inOrder(0, 1, 2, 3))
        #expect(scheduler.schedule(now: .zero) == [.fetch(Fetch(file: 1, chunk: 0))])
        _ = scheduler.progressed(Fetch(file: 1, chunk: 0), received: 1, now: .milliseconds(80))
        for (chunk, now) in [(0, Duration.milliseconds(2000)), (1, .milliseconds(2005))] {
            scheduler.arrived(Fetch(file: 1, chunk: chunk), now: now)
            scheduler.ended(Fetch(file: 1, chunk: chunk))
            scheduler.update(1, layout, chunk == 0 ? Self.inOrder(1, 2, 3) : Self.inOrder(2, 3))
            #expect(scheduler.schedule(now: now) == [.fetch(Fetch(file: 1, chunk: chunk + 1))])
        }
    }

    /// Eight chunks of 4 MiB on one relay.
    private static let large = ChunkLayout(
        Array(repeating: ChunkPlace(size: 4 << 20, relay: "a"), count: 8))!

    /// The first chunk of a file took `time`.
    private static func schedulerAfterOneChunk(in time: Duration) -> FetchScheduler<Int> {
        var scheduler = FetchScheduler<Int>(settings: FetchSettings())
        scheduler.update(1, large, demand(0))
        _ = scheduler.schedule(now: .zero)
        _ = scheduler.progressed(.init(file: 1, chunk: 0), received: 1, now: .milliseconds(5))
        scheduler.arrived(.init(file: 1, chunk: 0), now: time)
        scheduler.ended(.init(file: 1, chunk: 0))
        return scheduler
    }

    private static func ahead(_ chunks: Int...) -> FetchRequests {
        var requests = FetchRequests()
        (requests.ahead, requests.isWanted) = (chunks, true)
        return requests
    }

    @Test(arguments: [(Duration.milliseconds(199), 2), (.milliseconds(200), 3)])
    func nearRelayTakesMemoryOfFewerChunks(time: Duration, count: Int) {
        var scheduler = Self.schedulerAfterOneChunk(in: time)
        func fetch(_ chunk: Int) -> FetchScheduler<Int>.Fetch { .init(file: 1, chunk: chunk) }
        func granted() -> [FetchScheduler<Int>.Action] { scheduler.schedule(now: .seconds(1)) }
        scheduler.update(1, Self.large, Self.ahead(1, 2, 3, 4))
        let first = granted()
        let expected = (1...count).map { FetchScheduler<Int>.Action.fetch(fetch($0)) }
        #expect(first == expected)
        scheduler.update(1, Self.large, Self.demand(6, 7))
        let demanded = granted()
        #expect(demanded == [.fetch(fetch(6))])
        // The memory is in use until the chunk is written.
        scheduler.arrived(fetch(1), now: .seconds(1) + time)
        let arrived = granted()
        #expect(arrived.isEmpty)
        scheduler.ended(fetch(1))
        let ended = granted()
        #expect(ended == [.fetch(fetch(7))])
    }

    @Test func nearRelayLeavesMemoryToOthers() {
        var scheduler = Self.schedulerAfterOneChunk(in: .milliseconds(10))
        scheduler.update(1, Self.large, Self.ahead(1, 2, 3))
        #expect(scheduler.schedule(now: .seconds(1)).count == 2)
        scheduler.update(2, ChunkLayout([ChunkPlace(size: 4 << 20, relay: "b")])!, Self.ahead(0))
        #expect(scheduler.schedule(now: .seconds(1)) == [.fetch(.init(file: 2, chunk: 0))])
        // Chunks of a relay that fell silent no longer count.
        #expect(scheduler.schedule(now: .seconds(5)) == [.fetch(.init(file: 1, chunk: 3))])
    }

    @Test func unwantedFetchEndsUnlessArriving() {
        var scheduler = FetchScheduler<Int>(settings: FetchSettings())
        let (silent, coming) = (
            FetchScheduler<Int>.Fetch(file: 1, chunk: 0), FetchScheduler<Int>.Fetch(file: 2, chunk: 0)
        )
        scheduler.update(1, Self.layout(["a"]), Self.demand(0))
        scheduler.update(2, Self.layout(["b"]), Self.demand(0))
        #expect(scheduler.schedule(now: .zero).count == 2)
        _ = scheduler.progressed(coming, received: 1, now: .seconds(1))
        for file in 1...2 { scheduler.update(file, Self.layout(["a"]), FetchRequests()) }
        #expect(scheduler.needsTicks)
        #expect(scheduler.schedule(now: .seconds(2)) == [.cancel(silent)])
        #expect(scheduler.isCancelled(silent) && !scheduler.isCancelled(coming))
        #expect(scheduler.schedule(now: .seconds(3)).isEmpty)
        #expect(scheduler.schedule(now: .seconds(4)) == [.cancel(coming)])
        #expect(!scheduler.needsTicks)
        #expect(scheduler.ended(silent) == true)
        #expect(scheduler.ended(coming) == true)
        #expect(scheduler.flights.isEmpty)
    }

    @Test func expiredAttemptEndsDespiteProgress() {
        var scheduler = FetchScheduler<Int>(settings: FetchSettings())
        scheduler.update(1, Self.layout(["a"]), Self.demand(0))
        _ = scheduler.schedule(now: .zero)
        _ = scheduler.progressed(.init(file: 1, chunk: 0), received: 1, now: .zero)
        scheduler.remove(1)
        #expect(scheduler.schedule(now: .zero) == [.cancel(.init(file: 1, chunk: 0))])
    }

    private static func inOrder(_ chunks: Int...) -> FetchRequests {
        var requests = FetchRequests()
        (requests.ahead, requests.isWanted, requests.isInOrder) = (chunks, true, true)
        return requests
    }

    @Test func downloadInOrderLeavesPlacesAtItsRelay() {
        var settings = FetchSettings()
        settings.chunksPerRelay = 2
        var scheduler = FetchScheduler<Int>(settings: settings)
        scheduler.update(1, Self.layout(["a", "a", "b"]), Self.inOrder(0, 1, 2))
        #expect(scheduler.schedule(now: .zero) == [.fetch(.init(file: 1, chunk: 0))])
        scheduler.update(2, Self.layout(["a"]), Self.demand(0))
        #expect(scheduler.schedule(now: .zero) == [.fetch(.init(file: 2, chunk: 0))])
        scheduler.ended(.init(file: 1, chunk: 0))
        scheduler.ended(.init(file: 2, chunk: 0))
        scheduler.update(1, Self.layout(["a", "a", "b"]), Self.inOrder(1, 2))
        scheduler.remove(2)
        #expect(
            scheduler.schedule(now: .zero) == [
                .fetch(.init(file: 1, chunk: 1)), .fetch(.init(file: 1, chunk: 2)),
            ])
    }

    @Test func readAheadDelaysNoDownloadInOrder() {
        var scheduler = FetchScheduler<Int>(settings: FetchSettings())
        let layout = Self.layout(Array(repeating: "a", count: 8))
        var ahead = FetchRequests()
        (ahead.ahead, ahead.isWanted) = ([0, 1, 2, 3], true)
        scheduler.update(1, layout, ahead)
        #expect(scheduler.schedule(now: .zero).count == 4)
        ahead.ahead = [4, 5, 6, 7]
        scheduler.update(1, layout, ahead)
        scheduler.update(2, layout, Self.inOrder(0, 1))
        #expect(scheduler.schedule(now: .zero).isEmpty)
        // The download gets one place, not a second one.
        let granted = [
            Fetch(file: 1, chunk: 4), Fetch(file: 2, chunk: 0), Fetch(file: 1, chunk: 5),
            Fetch(file: 1, chunk: 6),
        ]
        for (ended, next) in granted.enumerated() {
            scheduler.arrived(Fetch(file: 1, chunk: ended), now: .zero)
            scheduler.ended(Fetch(file: 1, chunk: ended))
            #expect(scheduler.schedule(now: .zero) == [.fetch(next)])
        }
    }

    @Test("whole downloads come before the background")
    func background() {
        var settings = FetchSettings()
        (settings.chunksInFlight, settings.aheadPerBackground) = (1, 3)
        var scheduler = FetchScheduler<Int>(settings: settings)
        var kept = FetchRequests()
        (kept.background, kept.isWanted) = ([0, 1, 2, 3, 4, 5, 6, 7], true)
        scheduler.update(1, Self.layout(Array(repeating: "a", count: 8)), kept)
        // Downloads that follow each other without an end.
        var served: [Int] = []
        for file in 10..<20 {
            scheduler.update(file, Self.layout(["b"]), Self.inOrder(0))
            for action in scheduler.schedule(now: .zero) {
                guard case .fetch(let fetch) = action else { continue }
                served.append(fetch.file)
                scheduler.ended(fetch)
                if fetch.file == 1 { kept.background.removeAll { $0 == fetch.chunk } }
                scheduler.update(1, Self.layout(Array(repeating: "a", count: 8)), kept)
                if fetch.file != 1 { scheduler.remove(fetch.file) }
            }
        }
        #expect(served == [10, 11, 12, 1, 13, 14, 15, 1, 16, 17])
        // A reader never waits for the background.
        scheduler.update(30, Self.layout(["c"]), Self.demand(0))
        #expect(scheduler.schedule(now: .zero) == [.fetch(Fetch(file: 30, chunk: 0))])
    }

    @Test func chunkWaitingForAnEarlierOneYieldsItsMemory() {
        var settings = FetchSettings()
        (settings.bytesInFlight, settings.bytesForDemand) = (UInt64(2 * Self.chunkSize), 0)
        var scheduler = FetchScheduler<Int>(settings: settings)
        scheduler.update(1, Self.layout(["silent", "good"]), Self.inOrder(0, 1))
        #expect(scheduler.schedule(now: .zero).count == 2)
        scheduler.arrived(.init(file: 1, chunk: 1), now: .seconds(1))
        scheduler.update(1, Self.layout(["silent", "good"]), Self.inOrder())
        scheduler.update(2, Self.layout(["good", "other"]), Self.demand(0, 1))
        // The silent chunk has stalled.
        #expect(scheduler.schedule(now: .seconds(3)) == [.fetch(.init(file: 2, chunk: 0))])
        #expect(scheduler.schedule(now: .seconds(4)) == [.fetch(.init(file: 2, chunk: 1))])
    }

    /// Far chunks that follow each other would otherwise delay the reader until their download ends.
    @Test(arguments: [1, 80])
    func farDownloadLeavesMemoryToReaders(milliseconds: Int) {
        let size = UInt64(Self.chunkSize)
        var settings = FetchSettings()
        (settings.bytesInFlight, settings.bytesForDemand) = (2 * size, size)
        settings.moreBytesFromFar = 2 * size
        var scheduler = FetchScheduler<Int>(settings: settings)
        let layouts = [
            Self.layout(Array(repeating: "far", count: 8)),
            ChunkLayout(Array(repeating: ChunkPlace(size: 65_536, relay: "other"), count: 2))!,
        ]
        // Measures both relays.
        for (file, time) in [(0, 80), (1, milliseconds)] {
            let first = Fetch(file: file, chunk: 0)
            scheduler.update(file, layouts[file], Self.inOrder(0))
            #expect(scheduler.schedule(now: .zero) == [.fetch(first)])
            _ = scheduler.progressed(first, received: 1, now: .milliseconds(time))
            scheduler.arrived(first, now: .milliseconds(2 * time))
            scheduler.ended(first)
            scheduler.update(file, layouts[file], Self.inOrder())
        }
        scheduler.update(0, layouts[0], Self.inOrder(1, 2, 3, 4, 5, 6))
        #expect(scheduler.schedule(now: .seconds(1)).count == 3)
        for time in [Duration.seconds(1), .milliseconds(1080)] {
            if time > .seconds(1) {
                for chunk in 1...2 {
                    _ = scheduler.progressed(Fetch(file: 0, chunk: chunk), received: size, now: time)
                }
                #expect(scheduler.schedule(now: time).count == 2, "two are nearly complete")
            }
            var read = scheduler
            read.update(1, layouts[1], Self.demand(1))
            #expect(read.schedule(now: time) == [.fetch(Fetch(file: 1, chunk: 1))])
        }
    }

    @Test func memoryIsUsedUntilFetchEnds() {
        var settings = FetchSettings()
        settings.bytesInFlight = UInt64(Self.chunkSize)
        var scheduler = FetchScheduler<Int>(settings: settings)
        scheduler.update(1, Self.layout(["a", "b"]), Self.demand(0, 1))
        #expect(scheduler.schedule(now: .zero) == [.fetch(.init(file: 1, chunk: 0))])
        scheduler.arrived(.init(file: 1, chunk: 0), now: .seconds(1))
        scheduler.update(1, Self.layout(["a", "b"]), Self.demand(1))
        #expect(scheduler.schedule(now: .seconds(100)).isEmpty)
        #expect(scheduler.ended(.init(file: 1, chunk: 0)) == false)
        #expect(scheduler.schedule(now: .seconds(100)) == [.fetch(.init(file: 1, chunk: 1))])
    }
}

/// Random events for the scheduler and the model.
private struct History {
    typealias Scheduler = FetchScheduler<Int>

    private var dice: SeededGenerator
    private var scheduler: Scheduler
    private var model: Model
    private var now = Duration.zero
    private var layouts: [Int: ChunkLayout] = [:]

    init(seed: UInt64) {
        dice = SeededGenerator(state: seed)
        var settings = FetchSettings()
        settings.chunksPerFile = Int.random(in: 1...4, using: &dice)
        settings.chunksPerRelay = Int.random(in: 1...5, using: &dice)
        settings.chunksInFlight = Int.random(in: 1...12, using: &dice)
        settings.backgroundChunks = Int.random(in: 0...2, using: &dice)
        settings.aheadPerBackground = Int.random(in: 1...8, using: &dice)
        settings.bytesInFlight = UInt64.random(in: 1...16, using: &dice) << 20
        settings.bytesForDemand = min(settings.bytesInFlight, UInt64.random(in: 0...4, using: &dice) << 20)
        // Distances have their own tests.
        (settings.farAfter, settings.nearWithin) = (.seconds(1_000_000), .zero)
        scheduler = Scheduler(settings: settings)
        model = Model(settings: settings)
        for file in 0..<5 {
            layouts[file] = ChunkLayout(
                (0..<8).map { _ in
                    ChunkPlace(
                        size: [65_536, 1_048_576, 4_194_304].randomElement(using: &dice)!,
                        relay: ["a", "b", "c"].randomElement(using: &dice)!)
                })
        }
    }

    mutating func step() {
        now += .milliseconds(Int.random(in: 0...800, using: &dice))
        let file = Int.random(in: 0..<5, using: &dice)
        let flight = scheduler.flights.randomElement(using: &dice)
        switch Int.random(in: 0..<10, using: &dice) {
        case 0...3: update(file)
        case 4:
            scheduler.remove(file)
            model.remove(file)
        case 5:
            guard let flight, !flight.hasArrived else { break }
            _ = scheduler.progressed(flight.fetch, received: flight.bytes, now: now)
            model.progressed(flight.fetch, now: now)
        case 6, 7:
            guard let flight, !flight.hasArrived else { break }
            scheduler.arrived(flight.fetch, now: now)
            model.arrived(flight.fetch, now: now)
        default:
            guard let flight else { break }
            #expect(scheduler.ended(flight.fetch) == model.ended(flight.fetch))
        }
        schedule()
    }

    private mutating func update(_ file: Int) {
        var requests = FetchRequests()
        requests.isWanted = Int.random(in: 0..<4, using: &dice) > 0
        if requests.isWanted {
            requests.demand = Array(
                (0..<8).shuffled(using: &dice).prefix(Int.random(in: 0...2, using: &dice)))
            requests.ahead = Array((0..<8).shuffled(using: &dice).prefix(Int.random(in: 0...3, using: &dice)))
            requests.background = Array((0..<8).prefix(Int.random(in: 0...3, using: &dice)))
            requests.isInOrder = Int.random(in: 0..<4, using: &dice) == 0
        }
        scheduler.update(file, layouts[file]!, requests)
        model.update(file, layouts[file]!, requests)
    }

    private mutating func schedule() {
        let expected = model.schedule(now: now)
        #expect(scheduler.schedule(now: now) == expected)
        #expect(scheduler.schedule(now: now).isEmpty, "what is granted is granted at once")
        #expect(Set(scheduler.flights.map(\.fetch)) == Set(model.flights.map(\.fetch)))
        #expect(scheduler.needsTicks == model.needsTicks)
    }

    /// All demand ends, and with it all fetches.
    mutating func finish() {
        for file in 0..<5 {
            scheduler.remove(file)
            model.remove(file)
        }
        schedule()
        for flight in scheduler.flights {
            #expect(flight.isCancelled || flight.hasArrived)
            scheduler.ended(flight.fetch)
        }
        #expect(scheduler.flights.isEmpty && !scheduler.needsTicks)
    }
}

/// The rules one by one, over every possible fetch.
private struct Model {
    typealias Fetch = FetchScheduler<Int>.Fetch

    struct Flight {
        var fetch: Fetch
        var bytes: UInt64
        var relay: String
        var isBackground: Bool
        var lastSign: Duration
        var hasBytes = false
        var hasArrived = false
        var isCancelled = false
    }

    private let settings: FetchSettings
    private var files: [Int: (layout: ChunkLayout, requests: FetchRequests)] = [:]
    /// Time of a file's last fetch, or of its first demand.
    private var lastService: [Int: Int] = [:]
    private var services = 0
    private var aheadInARow = 0
    private(set) var flights: [Flight] = []

    init(settings: FetchSettings) { self.settings = settings }

    mutating func update(_ file: Int, _ layout: ChunkLayout, _ requests: FetchRequests) {
        files[file] = (layout, requests)
        if requests.isEmpty { lastService[file] = nil } else if lastService[file] == nil { take(file) }
    }

    mutating func remove(_ file: Int) { (files[file], lastService[file]) = (nil, nil) }

    private mutating func take(_ file: Int) {
        services += 1
        lastService[file] = services
    }

    mutating func progressed(_ fetch: Fetch, now: Duration) {
        change(fetch) { ($0.lastSign, $0.hasBytes) = (now, true) }
    }

    mutating func arrived(_ fetch: Fetch, now: Duration) {
        change(fetch) { ($0.lastSign, $0.hasArrived) = (now, true) }
    }

    private mutating func change(_ fetch: Fetch, _ body: (inout Flight) -> Void) {
        for index in flights.indices where flights[index].fetch == fetch { body(&flights[index]) }
    }

    mutating func ended(_ fetch: Fetch) -> Bool {
        let ended = flights.filter { $0.fetch == fetch }
        flights.removeAll { $0.fetch == fetch }
        return ended.contains { $0.isCancelled && !$0.hasArrived }
    }

    private func isUnwanted(_ flight: Flight) -> Bool {
        !flight.hasArrived && !flight.isCancelled && files[flight.fetch.file]?.requests.isWanted != true
    }

    var needsTicks: Bool { flights.contains(where: isUnwanted) }

    mutating func schedule(now: Duration) -> [FetchScheduler<Int>.Action] {
        var actions: [FetchScheduler<Int>.Action] = []
        for index in flights.indices where isUnwanted(flights[index]) {
            let flight = flights[index]
            let isComing = flight.hasBytes && now - flight.lastSign < settings.stalledAfter
            if isComing && files[flight.fetch.file] != nil { continue }
            flights[index].isCancelled = true
            actions.append(.cancel(flight.fetch))
        }
        // The best permitted fetch, until there is none.
        while let best = grantable(now: now).min(by: { $0.rank.lexicographicallyPrecedes($1.rank) }) {
            let layout = files[best.fetch.file]!.layout
            flights.append(
                Flight(
                    fetch: best.fetch, bytes: layout.size(of: best.fetch.chunk),
                    relay: layout.relays[best.fetch.chunk], isBackground: best.urgency == 2, lastSign: now))
            if best.urgency == 1 { aheadInARow += 1 }
            if best.urgency == 2 { aheadInARow = 0 }
            take(best.fetch.file)
            actions.append(.fetch(best.fetch))
        }
        return actions
    }

    /// Every permitted fetch with its rank: urgency, then least recently served, then file order.
    private func grantable(now: Duration) -> [(fetch: Fetch, urgency: Int, rank: [Int])] {
        var all: [(fetch: Fetch, urgency: Int, rank: [Int])] = []
        let ranks = aheadInARow < settings.aheadPerBackground ? [0, 1, 2] : [0, 2, 1]
        for (file, (layout, requests)) in files {
            for (urgency, list) in [requests.demand, requests.ahead, requests.background].enumerated() {
                let open = list.filter { chunk in
                    !flights.contains { $0.fetch == Fetch(file: file, chunk: chunk) }
                }
                for (position, chunk) in (urgency == 0 ? open : Array(open.prefix(1))).enumerated()
                where isAllowed(file, chunk, layout, urgency, now: now) {
                    all.append(
                        (
                            Fetch(file: file, chunk: chunk), urgency,
                            [ranks[urgency], lastService[file]!, position]
                        )
                    )
                }
            }
        }
        return all
    }

    private func isAllowed(
        _ file: Int, _ chunk: Int, _ layout: ChunkLayout, _ urgency: Int, now: Duration
    ) -> Bool {
        let own = flights.filter { $0.fetch.file == file }
        let coming = flights.filter { !$0.hasArrived }
        let active = flights.filter { flight in
            let isKept = flight.hasArrived && files[flight.fetch.file]?.requests.isInOrder != true
            return isKept || now - flight.lastSign < settings.stalledAfter
        }
        let bytes = active.reduce(0) { $0 + $1.bytes }
        let limit = settings.bytesInFlight - (urgency == 0 ? 0 : settings.bytesForDemand)
        let ofRelay = coming.filter { $0.relay == layout.relays[chunk] }
        let inOrder = Set(files.filter { $0.value.requests.isInOrder }.keys)
        let leavesPlace = inOrder.contains(file) && ofRelay.contains { inOrder.contains($0.fetch.file) }
        let places = settings.chunksPerRelay - (leavesPlace ? 1 : 0)
        return flights.count < settings.chunksInFlight
            && (urgency < 2 || flights.count(where: \.isBackground) < settings.backgroundChunks)
            && own.count { !$0.hasArrived } < settings.chunksPerFile
            && (urgency == 0 || own.count < FetchSettings.chunksInMemory)
            && ofRelay.count < places
            && (bytes == 0 || bytes + layout.size(of: chunk) <= limit)
    }
}
