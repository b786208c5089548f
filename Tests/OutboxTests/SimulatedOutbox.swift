import Base
import ChatCore
import TestSupport
import Testing

@testable import Outbox

/// The machine of one draft with a simulated disk, timers, queue and core, and a reference that records the promises to
/// the user. The process can die before and after every row and effect.
struct SimulatedOutbox {
    struct Died: Error {}

    /// The user's knowledge, independent of an outbox's implementation.
    struct Promise: Equatable {
        /// Number of the content; the user wants the last one sent.
        var content = 0
        var isEmpty = true
        /// A write into it failed, or its writer was killed.
        var failed = false
        var killed = false
        /// It may be unfinished according to its writers.
        var isHeld = false
        /// Use of each opening since its descriptors were last closed.
        var openings: [Int: Use] = [0: .wrote]
        /// A writer in the middle of its work vanished without an exit status while others have the draft open.
        var isVague = false
        /// Openings that cannot repair a killed writer's gap.
        var mourning: Set<Int> = []
        var isRemoved = false
        /// Left unfinished by a process that died; never sent.
        var isRecovered = false

        enum Use: Equatable {
            case nothing
            case wrote
            case closed
        }

        /// Possible outcomes in the next process after a kill.
        var outcomes: Set<String> {
            if isRemoved { return ["gone"] }
            if openings.values.contains(.wrote) { return isVague ? ["kept", "recovered"] : ["recovered"] }
            return isVague || openings.values.contains(.nothing) ? ["kept", "recovered"] : ["kept"]
        }

        var isSendable: Bool { !isEmpty && !failed && !killed && !isHeld && !isRemoved && !isRecovered }
    }

    private(set) var machine = DraftMachine(creating: MachineFixture.record())
    private(set) var promise = Promise()
    private var random: SeededGenerator

    // The disk: every committed row, the number of rows that a power cut spares, and contents.
    private var rows: [Journal.Entry?]
    private var durableRows = 1
    private var synchronised: Int?
    private var stagedContents: [String: Int] = [:]
    // Memory.
    private var timer: Int?
    private var retryTimer: Int?
    private var copying: (attempt: Int, content: Int)?
    private var isReady = false
    private var inFlight: Delivery?
    /// The core is queried for a removed draft's item.
    private var isLookedFor = false
    private var waitsForBackoff = false
    private var sequence: Int64 = 0
    /// Number of effects and rows until the process dies.
    private var stepsToLive = Int.max
    // The core.
    private(set) var taken: Int?
    private(set) var cancelled = false
    /// Its row was removed because it was sent or empty.
    private(set) var isForgotten = false
    private(set) var deaths = 0
    private(set) var steps = 0
    private var boot = 1
    /// All writers have ended.
    private var isSettled = false

    /// The user removes it as soon as the core may have it.
    private let removesWhatIsTaken: Bool

    init(seed: UInt64, removesWhatIsTaken: Bool = false) {
        self.removesWhatIsTaken = removesWhatIsTaken
        random = SeededGenerator(state: seed)
        rows = [Journal.Entry(machine.record, .open)]
    }

    private var moment: Moment { Moment(uptime: 100, boot: "boot \(boot)") }

    // MARK: - Driver

    private mutating func step() throws(Died) {
        steps += 1
        stepsToLive -= 1
        if stepsToLive < 0 { throw Died() }
    }

    /// Like `Draft.handle`: row, state, effects.
    @discardableResult
    private mutating func tell(_ event: DraftEvent) throws(Died) -> DraftReply {
        var next = machine
        let transition: DraftTransition
        do {
            transition = try next.apply(event, at: moment)
        } catch {
            #expect(error == .notPermitted, "\(event) in \(machine.phase)")
            return .none
        }
        DraftTableTests.check(next)
        if let row = transition.row {
            try step()
            rows.append(next.phase.stored.map { Journal.Entry(next.record, $0) })
            switch row {
            case .save(isDurable: true), .saveOrMark(isDurable: true), .delete(isDurable: true):
                durableRows = rows.count
            default: break
            }
            try step()
        }
        machine = next
        for effect in transition.effects {
            perform(effect)
            try step()
        }
        return transition.reply
    }

    private mutating func perform(_ effect: DraftEffect) {
        switch effect {
        case .startQuietTime(let period): timer = period
        case .cancelQuietTime: timer = nil
        case .waitForWriters(let period, _): timer = period
        case .reserveDelivery, .leaveDelivery: isReady = false
        case .enqueueDelivery: isReady = true
        case .removeStaged(let staged): stagedContents[staged.folder] = nil
        case .discardEarlyCopy, .restartEarlyCopy, .announce, .removeBytesIfUnused, .removeBytes: break
        }
    }

    // MARK: - One action

    /// Performs a possible action of users, timers or the core; or the process dies, at once or during it.
    mutating func act() {
        let before = promise
        if Int.random(in: 0..<40, using: &random) == 0 {
            stepsToLive = Int.random(in: 0..<5, using: &random)
        }
        do throws(Died) {
            if removesWhatIsTaken, taken != nil, !promise.isRemoved {
                try remove()
            } else {
                try Bool.random(using: &random) ? actAsUser() : actByItself()
            }
            if stepsToLive < 100 { throw Died() }
        } catch {
            restart(promisedBefore: before)
        }
    }

    private mutating func actAsUser() throws(Died) {
        let opening = promise.openings.keys.sorted().randomElement(using: &random)
        switch Int.random(in: 0..<14, using: &random) {
        case 0: try open()
        case 1...3: if let opening, machine.acceptsWrites { try change(opening) }
        case 4:
            guard let opening, machine.acceptsWrites, Bool.random(using: &random) else { return }
            promise.openings[opening] = .wrote
            promise.isVague = false
            try tell(.writeBegins(opening: opening, thread: 0))
            promise.isHeld = false
            promise.failed = true
            try tell(.writeFailed(size: machine.record.size))
        case 5...7: if let opening { try close(opening) }
        case 8...10: if let opening { try release(opening) }
        case 11:
            guard machine.phase.stored != nil else { return }
            synchronised = promise.content
            try tell(.synchronised)
        case 12:
            guard Int.random(in: 0..<8, using: &random) == 0 else { return }
            try remove()
        default:
            let (killed, isWanted) = (promise.killed, promise.openings.isEmpty)
            promise.killed = killed && !isWanted
            if try tell(.retryRequested) == .willRetry {
                promise.isHeld = false
            } else {
                promise.killed = killed
            }
        }
    }

    private mutating func remove() throws(Died) {
        let before = promise.isRemoved
        promise.isRemoved = true
        if try tell(.removed) != .forgotten { promise.isRemoved = before }
    }

    private mutating func open() throws(Died) {
        promise.openings[-1] = .nothing
        let reply = try tell(.opened(.writing))
        promise.openings[-1] = nil
        if case .opened(let new) = reply { promise.openings[new.number] = .nothing }
    }

    private mutating func change(_ opening: Int) throws(Died) {
        let isWrite = Int.random(in: 0..<4, using: &random) > 0
        promise.content += 1
        promise.isVague = false
        if isWrite {
            promise.openings[opening] = .wrote
            try tell(.writeBegins(opening: opening, thread: 0))
            if !promise.mourning.contains(opening) { promise.killed = false }
            promise.isHeld = false
            promise.isEmpty = false
            try tell(.wrote(size: 10, at: MachineFixture.time))
        } else {
            let through = Bool.random(using: &random) ? opening : nil
            for opening in promise.openings.keys where through ?? opening == opening {
                promise.openings[opening] = .wrote
            }
            let size: UInt64 = Bool.random(using: &random) ? 0 : 10
            try tell(.truncationBegins(to: size, opening: through, thread: 0))
            promise.isEmpty = size == 0
            if size == 0 { (promise.failed, promise.killed, promise.isHeld) = (false, false, false) }
            try tell(.truncated(size: size, at: MachineFixture.time))
        }
    }

    private mutating func close(_ opening: Int) throws(Died) {
        sequence += 1
        if Int.random(in: 0..<6, using: &random) > 0 {
            promise.openings[opening] = .closed
            try tell(.flushed(opening: opening, .finished, sequence: sequence))
        } else {
            promise.killed = true
            promise.isVague = true
            promise.openings[opening] = .wrote
            promise.mourning.formUnion(promise.openings.keys)
            try tell(.flushed(opening: opening, .killed, sequence: sequence))
        }
    }

    private mutating func release(_ opening: Int) throws(Died) {
        sequence += 1
        let use = promise.openings.removeValue(forKey: opening)
        promise.isVague = !promise.openings.isEmpty && (promise.isVague || use != .closed)
        try tell(.released(DraftOpening(.writing, opening), sequence: sequence))
    }

    private mutating func actByItself() throws(Died) {
        switch Int.random(in: 0..<7, using: &random) {
        case 0: if let period = timer ?? retryTimer { try endQuietTime(period) }
        case 1: try finishCopy(failing: Bool.random(using: &random))
        case 2: try beginDelivery()
        case 3: try answer()
        case 4: if waitsForBackoff { try endBackoff() }
        // A late event has no effect.
        case 5: try tell(.quietTimeOver(period: 0))
        default: try tell(.staged(attempt: 0, MachineFixture.staged))
        }
    }

    private mutating func endQuietTime(_ period: Int) throws(Died) {
        (timer, retryTimer) = (nil, nil)
        let verdict = verdict()
        if machine.phase == .quiet(period: period), machine.record.reasonByItself == nil {
            promise.isHeld = verdict == .held(.failedRead("cp"))
        }
        if case .stage(let attempt) = try tell(.quietTimeOver(period: period, verdict)) {
            copying = (attempt, promise.content)
        }
    }

    /// The current evidence about the writers.
    private mutating func verdict() -> DraftCompletion.Verdict {
        if isSettled { return promise.isHeld ? .held(.failedRead("cp")) : .finished }
        return switch Int.random(in: 0..<6, using: &random) {
        case 0: .held(.failedRead("cp"))
        case 1: .waits(.running("wget"), limit: .seconds(1))
        default: promise.isHeld ? .held(.failedRead("cp")) : .finished
        }
    }

    private mutating func finishCopy(failing: Bool) throws(Died) {
        guard let (attempt, content) = copying else { return }
        copying = nil
        if failing {
            let full = OutboxError(.noSpace, "Full.")
            if case .retryStaging(let period) = try tell(.stagingFailed(attempt: attempt, full)) {
                retryTimer = period
            }
            return
        }
        var staged = MachineFixture.staged
        staged.folder = "\(attempt) of \(boot) after \(deaths)"
        stagedContents[staged.folder] = content
        if try tell(.staged(attempt: attempt, staged)) != .queued { stagedContents[staged.folder] = nil }
    }

    private mutating func beginDelivery() throws(Died) {
        guard isReady, inFlight == nil, !isLookedFor else { return }
        isReady = false
        switch try tell(.deliveryBegins) {
        case .handOver(let delivery): inFlight = delivery
        case .lookForItem: isLookedFor = true
        default: break
        }
    }

    /// The core reports the removed draft's item, deletes it, or fails.
    private mutating func endSearch(onlyYes: Bool) throws(Died) {
        isLookedFor = false
        if !onlyYes, Bool.random(using: &random) { return try refuse(.retry(mayBeHandedOver: nil)) }
        guard taken != nil, !cancelled else {
            try tell(.takenBack)
            return
        }
        if try tell(.accepted(ItemID(1))) == .withdrawItem { try withdrawItem(onlyYes: onlyYes) }
    }

    private mutating func withdrawItem(onlyYes: Bool) throws(Died) {
        if !onlyYes, Bool.random(using: &random) { return try refuse(.retry(mayBeHandedOver: nil)) }
        cancelled = true
        try tell(.takenBack)
    }

    private mutating func endBackoff() throws(Died) {
        waitsForBackoff = false
        try tell(.backoffOver)
    }

    private mutating func answer(onlyYes: Bool = false) throws(Died) {
        if isLookedFor { return try endSearch(onlyYes: onlyYes) }
        guard let delivery = inFlight else { return }
        inFlight = nil
        switch onlyYes ? 0 : Int.random(in: 0..<7, using: &random) {
        // The core does not refuse an accepted draft.
        case 2 where taken == nil: try refuse(.failed)
        case 3 where taken == nil: try refuse(.retry(mayBeHandedOver: false))
        case 4:
            // It failed after it accepted the file.
            take(delivery)
            try refuse(.retry(mayBeHandedOver: true))
        // It was not asked.
        case 5: try refuse(.unfit)
        case 6: try refuse(.retry(mayBeHandedOver: nil))
        default:
            take(delivery)
            if try tell(.accepted(ItemID(1))) == .withdrawItem { try withdrawItem(onlyYes: onlyYes) }
        }
    }

    private mutating func refuse(_ consequence: DeliveryRefusal.Consequence) throws(Died) {
        let reply = try tell(.refused(DeliveryRefusal(consequence, "No.")))
        if case .retryDelivery = reply { waitsForBackoff = true }
    }

    /// The core recognises an accepted draft by its mark: a repetition with other bytes would be lost.
    private mutating func take(_ delivery: Delivery) {
        let content = stagedContents[delivery.staged.folder]
        if let taken {
            // No content if a power cut reverted the record of the send.
            #expect(content == nil || content == taken, "other bytes under the same mark")
            return
        }
        taken = content
        #expect(content != nil, "what is handed over is not there any more")
        if promise.isRemoved {
            #expect(machine.state == .removed, "removed, and handed over")
        } else {
            #expect(content == promise.content && promise.isSendable && promise.openings.isEmpty)
        }
    }

    // MARK: - Death

    private mutating func restart(promisedBefore before: Promise) {
        deaths += 1
        // The core may have begun with it.
        if let inFlight, Bool.random(using: &random) { take(inFlight) }
        let isPowerCut = Int.random(in: 0..<3, using: &random) == 0
        if isPowerCut {
            boot += 1
            rows.removeLast(rows.count - Int.random(in: durableRows...rows.count, using: &random))
        }
        durableRows = rows.count
        (timer, retryTimer, copying, inFlight) = (nil, nil, nil, nil)
        (isReady, isLookedFor, waitsForBackoff, stepsToLive) = (false, false, false, .max)
        let spooled: UInt64 = promise.isEmpty ? 0 : 10
        let found = rows[rows.count - 1].flatMap { entry -> DraftMachine? in
            switch DraftRestoration(of: entry, at: moment, spooled: { .success(spooled) }) {
            case .kept(let machine), .recovered(let machine, _): machine
            case .dropped: nil
            }
        }
        check(found, before, isPowerCut)
        // Descriptors of the earlier process are lost.
        promise.openings = [:]
        promise.mourning = []
        promise.isVague = false
        isForgotten = found == nil && (isForgotten || !promise.isRemoved)
        guard let found else {
            promise.isRemoved = true
            rows.append(nil)
            machine =
                MachineFixture.sample("removed")?.having(.released(.ofItsMaker, sequence: 0))
                ?? machine
            return
        }
        machine = found
        promise.isRemoved = found.isRemoved
        promise.isRecovered = found.state == .recovered
        promise.failed = found.record.gap == .failedWrite
        promise.killed = found.record.gap == .killedWriter
        promise.isHeld = found.record.hold == .failedRead("cp")
        rows.append(found.phase.stored.map { Journal.Entry(found.record, $0) })
        if let staged = found.phase.staged {
            stagedContents = stagedContents.filter { $0.key == staged.folder }
        } else {
            stagedContents = [:]
        }
        do throws(Died) {
            try tell(.started)
        } catch {
            Issue.record("died without a reason")
        }
    }

    /// Promises made before the death still hold; for an unanswered action either outcome is valid.
    private func check(_ found: DraftMachine?, _ before: Promise, _ isPowerCut: Bool) {
        guard taken == nil else { return }
        let outcomes = before.outcomes.union(promise.outcomes)
        let shown = found.flatMap { $0.isRemoved ? nil : $0 }
        let outcome = shown.map { $0.state == .recovered ? "recovered" : "kept" } ?? "gone"
        if isPowerCut {
            // Bytes synchronised after the last write are not lost.
            if shown == nil, !before.isRemoved, !promise.isRemoved, !promise.isEmpty {
                Issue.record("a power cut took it")
            }
            #expect(!before.isRemoved || outcome != "kept", "a power cut undid its removal")
        } else if !before.isRecovered, !(promise.isEmpty && outcome == "gone") {
            #expect(outcomes.contains(outcome), "\(outcome) after a kill")
        }
        if case .queued? = found?.phase { #expect(promise.isSendable || before.isSendable) }
    }

    // MARK: - End

    /// Ends all activity; the core accepts everything.
    mutating func finish() {
        isSettled = true
        do throws(Died) {
            for opening in promise.openings.keys.sorted() { try release(opening) }
            for _ in 0..<20 {
                if let period = timer ?? retryTimer { try endQuietTime(period) }
                try finishCopy(failing: false)
                if waitsForBackoff { try endBackoff() }
                try beginDelivery()
                try answer(onlyYes: true)
                try tell(.acknowledged)
            }
        } catch {
            Issue.record("died without a reason")
        }
    }
}
