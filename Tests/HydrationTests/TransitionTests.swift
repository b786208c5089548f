import ChatCore
import Testing
import XFTP

@testable import Hydration

/// Every phase of a file with every event.
@Suite struct TransitionTests {
    private typealias Machine = FileMachine<Token, Token>

    enum Event: CaseIterable {
        case open, close, read, wait, leave, tick
        case coreHasIt, coreOffersIt, coreReceivesIt, coreFailed, coreFailedForGood, coreSaysTheSame
        case remove, removeAtOnce, pin, unpin, resume, tryAgain, evict, cancel, copyDeleted, shutDown
        case preparedChunks, preparedWhole, preparedAwaitingCore, preparationFailed, preparationFailedForGood
        case verifying, offeredAgain, outdated
        case started, progressed, arrived, fetchFailed, fetchFailedForGood, fetchCancelled, onlyForTheCore
        case lost, stored, damaged, completed, verified, completionFailed, wholeIsDamaged
        /// Answers to an earlier attempt.
        case stalePreparation, staleArrival, staleCompletion, staleCopy
    }

    /// The next phase if it differs; all other events keep the phase.
    private static let changes: [Event: [PhaseName: PhaseName]] = [
        .close: [.idle: .retired],
        .wait: [.idle: .preparing],
        .coreHasIt: [.awaitingCore: .preparing, .chunks: .preparing, .failed: .idle],
        .coreOffersIt: [.awaitingCore: .preparing, .failed: .idle],
        .coreReceivesIt: [.failed: .idle],
        .coreFailed: [.awaitingCore: .idle, .failed: .idle],
        .coreFailedForGood: [.awaitingCore: .failed, .failed: .idle],
        .remove: [.preparing: .idle, .awaitingCore: .idle],
        .removeAtOnce: [
            .idle: .failed, .preparing: .failed, .awaitingCore: .failed, .chunks: .failed, .whole: .failed,
        ],
        .pin: [.idle: .preparing],
        .evict: [
            .idle: .retired, .awaitingCore: .retired, .chunks: .retired, .whole: .retired, .failed: .retired,
        ],
        .cancel: [.preparing: .idle, .awaitingCore: .idle, .chunks: .idle],
        .shutDown: [
            .idle: .retired, .preparing: .retired, .awaitingCore: .retired, .chunks: .retired,
            .whole: .retired, .failed: .retired,
        ],
        .preparedChunks: [.preparing: .chunks],
        .preparedWhole: [.preparing: .whole],
        .preparedAwaitingCore: [.preparing: .awaitingCore],
        .preparationFailed: [.preparing: .idle],
        .preparationFailedForGood: [.preparing: .failed],
        .outdated: [.whole: .idle],
        .onlyForTheCore: [.chunks: .awaitingCore],
        .completed: [.chunks: .whole],
        .wholeIsDamaged: [.chunks: .failed],
    ]

    @Test(arguments: PhaseName.allCases, Event.allCases)
    func everyEventFollowsTheTable(phase: PhaseName, event: Event) {
        var file = TestFile(in: phase, byCore: event == .onlyForTheCore || event == .verified)
        file.prepare(for: event)
        let before = file.machine.phase.name
        #expect(before == phase)
        file.perform(event)
        let after = file.machine.phase.name
        #expect(after == Self.changes[event]?[phase] ?? phase)
        #expect(after == before || before.precedes(after))
    }

    /// Its relay failed: bytes that were read are kept nowhere else, so the file is fetched again without a reader.
    @Test(
        "a download given up by the core completes",
        arguments: [1, 2], [true, false])
    func givenUp(chunks: Int, isToldFirst: Bool) {
        var file = TestFile(in: .chunks, byCore: true)
        file.arrive(chunks)
        if isToldFirst { file.giveUp() }
        // A complete file continues.
        if chunks == 2 { #expect(file.machine.phase.name == .chunks) }
        file.perform(.close)
        if !isToldFirst { file.giveUp() }
        #expect(file.machine.phase.name == .preparing)
        #expect(file.machine.isRetained == (chunks == 2))
    }

    @Test func onlyListedTransitionsArePermitted() {
        #expect(PhaseName.successors.keys.count == PhaseName.allCases.count)
        #expect(PhaseName.allCases.allSatisfy { $0 == .retired || $0.precedes(.retired) })
        #expect(PhaseName.allCases.allSatisfy { !PhaseName.retired.precedes($0) })
        #expect(!PhaseName.idle.precedes(.chunks) && !PhaseName.idle.precedes(.whole))
        #expect(!PhaseName.whole.precedes(.chunks) && !PhaseName.failed.precedes(.preparing))
        // Each transition is caused by some event.
        var made: [PhaseName: Set<PhaseName>] = [:]
        for next in Self.changes.values.flatMap({ $0 }) { made[next.key, default: []].insert(next.value) }
        made[.preparing]?.insert(.preparing)
        made[.preparing]?.insert(.retired)
        made[.failed]?.insert(.failed)
        #expect(made.allSatisfy { phase, next in next.allSatisfy(phase.precedes) })
        #expect(made[.chunks] == PhaseName.successors[.chunks])
        #expect(made[.whole] == PhaseName.successors[.whole])
        #expect(made[.preparing] == PhaseName.successors[.preparing])
        #expect(made[.awaitingCore] == PhaseName.successors[.awaitingCore])
    }

    @Test func impossibleTransitionTraps() async {
        await #expect(processExitsWith: .failure) {
            var phase = FilePhase<Token, Token>.idle
            phase.move(to: .whole(Token(), cached: 0))
            // Optimised builds do not trap.
            if !isDebugBuild { fatalError("an optimised build") }
        }
    }

    @Test func unfetchedChunkCannotArrive() async {
        await #expect(processExitsWith: .failure) {
            let layout = ChunkLayout([ChunkPlace(size: 65_536, relay: "r")])!
            var chunks = ChunkMap(layout: layout, contentSize: 1000, isReceivedByCore: false)
            chunks.arrived(0, contentOffset: 20)
            if !isDebugBuild { fatalError("an optimised build") }
        }
    }
}

private var isDebugBuild: Bool {
    var isDebug = false
    assert(
        {
            isDebug = true
            return true
        }())
    return isDebug
}

/// A file of two chunks in some phase, with an opening.
private struct TestFile {
    typealias Machine = FileMachine<Token, Token>
    static let id = FileID(1)
    static let passing = FileProblem(.unreachable, "It is away.")
    static let final = FileProblem(.expired, "It is gone.")

    var machine: Machine
    let download = Token()
    let whole = Token()
    let preparation: Preparation
    private var status: FileStatus

    private static func item(_ status: FileStatus) -> ChatItem {
        Simulation.item(id, size: 2 * 65_536 - 1000, status)
    }

    init(in phase: PhaseName, byCore: Bool) {
        // Statuses without effects of their own.
        status = phase == .awaitingCore ? .rcvAccepted : .rcvInvitation(described: true)
        let item = Self.item(status)
        machine = Machine(item, item.file!, retention: [], settings: HydrationSettings(), now: .zero)
        _ = machine.open(item, outdated: nil, now: .zero)
        var preparation = Preparation()
        if phase != .idle {
            for case .prepare(let begun) in machine.wait(
                1, for: .bytes(0..<10), timeout: .seconds(10), now: .zero)
            {
                preparation = begun
            }
            machine.leave(1)
        }
        self.preparation = preparation
        switch phase {
        case .idle, .preparing: break
        case .awaitingCore: _ = machine.prepared(preparation, .awaitingCore, now: .zero)
        case .chunks:
            let layout = ChunkLayout(Array(repeating: ChunkPlace(size: 65_536, relay: "r"), count: 2))!
            _ = machine.prepared(
                preparation, .chunks(download, layout, isReceivedByCore: byCore), now: .zero)
            _ = machine.started(download, 0)
        case .whole: _ = machine.prepared(preparation, .whole(whole, cached: 0), now: .zero)
        case .failed: _ = machine.preparationFailed(preparation, Self.final, now: .zero)
        case .retired: _ = machine.shutDown()
        }
    }

    /// Establishes the event's preconditions within the phase.
    mutating func prepare(for event: TransitionTests.Event) {
        switch event {
        case .evict: if !machine.isRetired { closeWithoutConsequence() }
        case .completed, .verified, .completionFailed, .wholeIsDamaged:
            _ = machine.arrived(download, 0, contentOffset: 20, now: .zero)
            if machine.started(download, 1) {
                _ = machine.arrived(download, 1, contentOffset: nil, now: .zero)
            }
            for chunk in 0..<2 { _ = machine.stored(download, chunk, now: .zero) }
        case .damaged, .lost: _ = machine.arrived(download, 0, contentOffset: 20, now: .zero)
        case .unpin: machine = pinnedWithoutConsequence()
        default: break
        }
    }

    mutating func arrive(_ count: Int) {
        for chunk in 0..<count {
            if chunk > 0 { _ = machine.started(download, chunk) }
            _ = machine.arrived(download, chunk, contentOffset: chunk == 0 ? 20 : nil, now: .zero)
        }
    }

    /// For a reason that may not affect a new fetch.
    mutating func giveUp() { update(.rcvError(Self.passing)) }

    /// Idle unused files retire at once; a remembered failure keeps them.
    private mutating func closeWithoutConsequence() {
        if case .idle = machine.phase {
            _ = machine.wait(1, for: .bytes(0..<10), timeout: .seconds(10), now: .zero)
            guard case .preparing(let begun) = machine.phase else { return }
            _ = machine.preparationFailed(begun, Self.passing, now: .zero)
        }
        _ = machine.close(now: .zero)
    }

    private func pinnedWithoutConsequence() -> Machine {
        var machine = machine
        _ = machine.setPinned(true)
        return machine
    }

    mutating func perform(_ event: TransitionTests.Event) {
        let (passing, final) = (Self.passing, Self.final)
        switch event {
        case .open: _ = machine.open(Self.item(status), outdated: nil, now: .zero)
        case .close: _ = machine.close(now: .zero)
        case .read: _ = machine.locate(0..<10, now: .zero)
        case .wait: _ = machine.wait(2, for: .bytes(0..<10), timeout: .seconds(1), now: .zero)
        case .leave: machine.leave(2)
        case .tick: _ = machine.tick(now: .seconds(100))
        case .coreHasIt: update(.rcvComplete)
        case .coreOffersIt:
            update(status.isDescribed ? .rcvInvitation(described: false) : .rcvInvitation(described: true))
        case .coreReceivesIt: update(.rcvTransfer(received: 1, total: 2))
        case .coreFailed: update(.rcvWarning(passing))
        case .coreFailedForGood: update(.rcvError(final))
        case .coreSaysTheSame: update(status)
        case .remove: _ = machine.remove(atOnce: false)
        case .removeAtOnce: _ = machine.remove(atOnce: true)
        case .pin: _ = machine.setPinned(true) + machine.resume(Self.item(status), now: .zero)
        case .unpin: _ = machine.setPinned(false)
        case .resume: _ = machine.resume(Self.item(status), now: .zero)
        case .tryAgain: _ = machine.tryAgain()
        case .evict: _ = machine.evict(invalidates: true)
        case .cancel: _ = machine.cancel(now: .zero)
        case .copyDeleted: _ = machine.copyDeleted(Self.item(status), now: .zero)
        case .shutDown: _ = machine.shutDown()
        case .preparedChunks:
            let layout = ChunkLayout([ChunkPlace(size: 65_536, relay: "r")])!
            _ = machine.prepared(
                preparation, .chunks(Token(), layout, isReceivedByCore: false), now: .zero)
        case .preparedWhole: _ = machine.prepared(preparation, .whole(Token(), cached: 0), now: .zero)
        case .preparedAwaitingCore: _ = machine.prepared(preparation, .awaitingCore, now: .zero)
        case .preparationFailed: _ = machine.preparationFailed(preparation, passing, now: .zero)
        case .preparationFailedForGood: _ = machine.preparationFailed(preparation, final, now: .zero)
        case .verifying: machine.verifying(preparation, now: .zero)
        case .offeredAgain: _ = machine.offeredAgain(preparation, Self.item(.rcvInvitation(described: true)))
        case .outdated: _ = machine.outdated(whole)
        case .started: _ = machine.started(download, 1)
        case .progressed: machine.progressed(download, 0, now: .zero)
        case .arrived: _ = machine.arrived(download, 0, contentOffset: 20, now: .zero)
        case .fetchFailed: fetchFailed(passing)
        case .fetchFailedForGood: fetchFailed(final)
        case .fetchCancelled:
            _ = machine.fetchFailed(download, 0, passing, wasCancelled: true, now: .zero)
        case .onlyForTheCore:
            fetchFailed(FileProblem(.notApproved, "It leads into this machine's network."))
        case .lost: _ = machine.lost(download, [0])
        case .stored: _ = machine.stored(download, 0, now: .zero)
        case .damaged: _ = machine.damaged(download, [0], endsCompletion: false)
        case .completed:
            _ = machine.completed(
                download, Token(), at: FileSourceLocation(path: "/kept", arguments: nil), cached: 0)
        case .verified: _ = machine.verified(download)
        case .completionFailed: _ = machine.completionFailed(download, passing, now: .zero)
        case .wholeIsDamaged:
            _ = machine.completionFailed(download, FileProblem(.damaged, "Another file."), now: .zero)
        case .stalePreparation:
            _ = machine.prepared(Preparation(), .whole(Token(), cached: 0), now: .zero)
            _ = machine.preparationFailed(Preparation(), final, now: .zero)
            _ = machine.offeredAgain(Preparation(), Self.item(status))
            machine.verifying(Preparation(), now: .zero)
        case .staleArrival:
            #expect(machine.started(Token(), 1) == false)
            _ = machine.arrived(Token(), 1, contentOffset: nil, now: .zero)
            _ = machine.fetchFailed(Token(), 0, final, wasCancelled: false, now: .zero)
            _ = machine.lost(Token(), [0]) + machine.damaged(Token(), [0], endsCompletion: true)
        case .staleCompletion:
            _ = machine.stored(Token(), 1, now: .zero) + machine.verified(Token())
            _ = machine.completionFailed(Token(), FileProblem(.damaged, "Another file."), now: .zero)
            _ = machine.completed(
                Token(), Token(), at: FileSourceLocation(path: "/kept", arguments: nil), cached: 0)
        case .staleCopy: _ = machine.outdated(Token())
        }
    }

    private mutating func update(_ status: FileStatus) {
        _ = machine.update(Self.item(status), now: .zero)
    }

    private mutating func fetchFailed(_ problem: FileProblem) {
        _ = machine.fetchFailed(download, 0, problem, wasCancelled: false, now: .zero)
    }
}
