import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import Outbox

/// Random histories of one draft on a real disk, with a kill before or after any row or effect, and the next process's
/// result against a small model.
@Suite struct OutboxHistoryTests {
    /// The draft's fate without further actions.
    enum Outcome: Hashable {
        case sent([UInt8])
        /// Stays in its chat with a reason.
        case local
        case recovered
        case failed
        case gone
    }

    struct Model {
        var content: [UInt8] = []
        var isOpen = true
        /// Written or opened since the last close of a descriptor.
        var isUnfinished = true
        var isTemporary = false
        var wasKilled = false
        /// Opened after that.
        var isNewAttempt = false
        /// The core refused it permanently.
        var wasRefused = false
        var isSent = false
        var isRemoved = false

        var outcome: Outcome {
            if isRemoved { return .gone }
            if isSent { return .sent(content) }
            if isOpen && isUnfinished { return content.isEmpty ? .gone : .recovered }
            if wasRefused { return .failed }
            return wasKilled || isTemporary || content.isEmpty ? .local : .sent(content)
        }
    }

    /// A process that dies at a certain step, where its disk is copied.
    private final class Life: Sendable {
        private struct State {
            var stepsToLive: Int?
            var expected: Set<Outcome> = []
            /// The copy runs concurrently with the test, so it may be from before or after an action.
            var isDying = false
            var death: (remains: CrashTests.Remains, expected: Set<Outcome>)?
        }

        private let state = Lock(State())
        let folder: TemporaryFolder
        let core: RecordingCore

        init() throws {
            folder = try TemporaryFolder()
            core = try RecordingCore(stagingFolder: folder.path("staging"))
        }

        func begin(stepsToLive: Int) { state.withLock { $0.stepsToLive = stepsToLive } }
        func expect(_ outcomes: Set<Outcome>) {
            state.withLock { $0.expected = $0.isDying ? $0.expected.union(outcomes) : outcomes }
        }
        var isDead: Bool { state.withLock { $0.isDying } }

        func step() {
            let isTime = state.withLock { state in
                guard let left = state.stepsToLive else { return false }
                state.stepsToLive = left - 1
                return left == 0
            }
            if isTime { die() }
        }

        /// Dies once, on the first thread that arrives.
        private func die() {
            let isFirst = state.withLock { state in
                defer { state.isDying = true }
                return !state.isDying
            }
            guard isFirst else { return }
            do {
                let remains = try CrashTests.Remains(of: folder, core)
                state.withLock { $0.death = (remains, $0.expected) }
            } catch {
                Issue.record(error)
            }
        }

        func end() async throws -> (remains: CrashTests.Remains, expected: Set<Outcome>) {
            die()
            return try await wait(for: "what it left") { state.withLock { $0.death } }
        }
    }

    @Test(arguments: 0..<150)
    func nextProcessMatchesTheModel(seed: UInt64) async throws {
        var random = SeededGenerator(state: seed)
        let life = try Life()
        let bench = try Workbench(in: life.folder, core: life.core, step: { _ in life.step() })
        // The journal is loaded, and nothing is running.
        try await bench.settle()
        life.expect([.gone])
        life.begin(stepsToLive: Int.random(in: 0..<40, using: &random))
        let draft = try bench.outbox.create(name: name("a.bin"), in: alice)
        var model = Model()
        for _ in 0..<25 where !life.isDead {
            try await act(on: draft, bench, life, &model, &random)
        }
        let (remains, expected) = try await life.end()
        let next = try remains.reopen()
        let outcome = try await outcome(of: draft.id, next)
        #expect(expected.contains(outcome), "seed \(seed)")
        await next.outbox.shutDown()
    }

    // MARK: - The first process

    private func act(
        on draft: Draft, _ bench: Workbench, _ life: Life, _ model: inout Model,
        _ random: inout SeededGenerator
    ) async throws {
        let before = model.outcome
        var next = model
        /// Records the possible outcomes, then performs the action.
        func perform(orElse others: Set<Outcome> = [], _ body: () throws -> Void) rethrows {
            life.expect(others.union([before, next.outcome]))
            try body()
            model = next
            life.expect([next.outcome])
        }
        switch Int.random(in: 0..<10, using: &random) {
        case 0...2 where model.isOpen && !model.isRemoved:
            let bytes = pattern(Int.random(in: 1..<3000, using: &random), seed: random.byte())
            next.isUnfinished = true
            next.content = bytes + model.content.dropFirst(bytes.count)
            if next.isNewAttempt { next.wasKilled = false }
            // A half-written draft is recovered if it has bytes.
            try perform(orElse: [.recovered, .gone]) {
                try bytes.withUnsafeBytes { try draft.write($0, at: 0) }
            }
        case 3 where model.isOpen && !model.isRemoved:
            (next.isUnfinished, next.content, next.wasKilled) = (true, [], false)
            try perform(orElse: [.recovered, .gone]) { try draft.truncate(to: 0) }
        case 4 where model.isOpen && !model.isRemoved:
            if Int.random(in: 0..<4, using: &random) > 0 {
                next.isUnfinished = false
                perform { draft.flushed(draft.machine.lastOpening, .finished) }
            } else if !model.content.isEmpty {
                (next.wasKilled, next.isNewAttempt) = (true, false)
                perform { draft.flushed(draft.machine.lastOpening, .killed) }
            }
        case 5 where model.isOpen:
            (next.isOpen, next.isUnfinished) = (false, false)
            perform { draft.closed(draft.machine.lastOpening) }
        case 6 where !model.isOpen && !model.isRemoved && !model.isSent:
            (next.isOpen, next.isUnfinished, next.wasRefused) = (true, true, false)
            next.isNewAttempt = true
            try perform { try draft.opened(for: .writing) }
        case 7 where !model.isRemoved && draft.state == .draft:
            next.isTemporary = Bool.random(using: &random)
            let name = name(next.isTemporary ? "b.part" : "b.bin")
            try perform { try bench.outbox.rename(draft, to: name) }
        case 8 where !model.isRemoved && Int.random(in: 0..<3, using: &random) == 0:
            if Bool.random(using: &random), !model.isSent {
                next.isRemoved = true
                try perform { try bench.outbox.remove(draft) }
            } else if !model.isSent {
                try perform { try draft.synchronise() }
            }
        case 9 where !model.isOpen: try await becomeQuiet(draft, bench, life, &model, &random)
        default: break
        }
    }

    /// The quiet time passes, and the core accepts the draft or not.
    private func becomeQuiet(
        _ draft: Draft, _ bench: Workbench, _ life: Life, _ model: inout Model,
        _ random: inout SeededGenerator
    ) async throws {
        guard draft.state == .draft, case .sent = model.outcome else { return bench.beQuiet() }
        let answer = Int.random(in: 0..<3, using: &random)
        let refusals: [ChatError] = [
            ChatError(.sendingRefused, "Never."), ChatError(.file(.noRelay), "Not now."),
        ]
        life.core.state.withLock { $0.refusals = answer < 2 ? [refusals[answer]] : [] }
        // The next process's core refuses nothing.
        var next = model
        next.wasRefused = answer == 0
        // The time of the next hand-over varies.
        next.isSent = answer > 0
        life.expect([model.outcome, next.outcome])
        bench.beQuiet()
        let expected: DraftState = [.failed, .queued, .sent][answer]
        try await wait(until: "the core has answered") {
            life.isDead
                || draft.state == expected && (answer == 2 || draft.snapshot.problem != nil)
        }
        model = next
        life.expect([next.outcome])
    }

    // MARK: - The next process

    private func outcome(of id: Int64, _ bench: Workbench) async throws -> Outcome {
        let draft = bench.outbox.drafts().first { $0.id == id }
        try await bench.settle()
        try await wait(until: "nothing is on its way") {
            bench.beQuiet()
            guard let draft, !bench.core.sent.contains(where: { $0.item.chat == alice }) else { return true }
            return draft.state != .queued && draft.state != .sending && !draft.machine.isWaiting
        }
        let sent = bench.core.sent.filter { $0.item.chat == alice }.map(\.bytes)
        #expect(sent.count <= 1)
        if let bytes = sent.first { return .sent(bytes) }
        switch draft?.state {
        case .draft: return draft?.snapshot.problem != nil ? .local : .gone
        case .recovered: return .recovered
        case .failed: return .failed
        default: return .gone
        }
    }
}

extension SeededGenerator {
    fileprivate mutating func byte() -> UInt8 { UInt8(truncatingIfNeeded: next()) }
}
