import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing
import XFTP

@testable import Hydration

@Suite("Failures and retry times")
struct RetryStateTests {
    private static let problem = FileProblem(.unreachable, "The relay cannot be reached.")

    @Test("a failure holds until its time")
    func answers() {
        var state = RetryState()
        #expect(state.answer(now: .zero) == nil && state.problem == nil && state.nextTry == nil)
        state.remember(Self.problem, until: .seconds(5))
        #expect(state.answer(now: .seconds(4)) == Self.problem)
        #expect(state.answer(now: .seconds(5)) == nil && state.problem == Self.problem)
        state.forgetProblem()
        #expect(state.answer(now: .zero) == nil && state.problem == nil)
    }

    @Test("the delay doubles until a success")
    func pauses() throws {
        let settings = HydrationSettings()
        var state = RetryState()
        var pauses: [Duration] = []
        for number in 0..<30 {
            let now = Duration.seconds(number * 10_000)
            state.postpone(now: now, settings: settings)
            pauses.append(try #require(state.nextTry) - now)
        }
        #expect(pauses == pauses.sorted() && pauses[0] > .zero)
        #expect(pauses[29] == pauses[28] && pauses[1] > pauses[0])
        state.began()
        #expect(state.nextTry == nil)
        state.remember(Self.problem, until: .seconds(400_000))
        state.succeeded()
        #expect(state.problem == nil)
        state.postpone(now: .zero, settings: settings)
        #expect(state.nextTry == pauses[0])
    }
}

@Suite("Chunks in memory")
struct ChunkMemoryTests {
    private final class Chunk: FetchedChunk, @unchecked Sendable {
        // Safe: never changed.
        let bytes: UnsafeRawBufferPointer

        init(_ count: Int) {
            bytes = UnsafeRawBufferPointer(.allocate(byteCount: count, alignment: 1))
        }

        deinit { bytes.deallocate() }
    }

    @Test("the least recently used chunk is evicted")
    func model() {
        var random = SeededGenerator(state: 21)
        let limit = 1000
        let memory = ChunkMemory(limit: UInt64(limit))
        var model: [(key: ChunkMemory.Key, chunk: Chunk)] = []
        for _ in 0..<3000 {
            let key = ChunkMemory.Key(
                store: .random(in: 0..<3, using: &random), chunk: .random(in: 0..<8, using: &random))
            let index = model.firstIndex { $0.key == key }
            switch Int.random(in: 0..<10, using: &random) {
            case 0...3:
                let chunk = Chunk(Int.random(in: 1...400, using: &random))
                if let index { model.remove(at: index) }
                var gone: [ChunkMemory.Key] = []
                while model.reduce(0, { $0 + $1.chunk.bytes.count }) + chunk.bytes.count > limit,
                    !model.isEmpty
                {
                    gone.append(model.removeFirst().key)
                }
                model.append((key, chunk))
                #expect(memory.keep(key, chunk) == gone)
            case 4...8:
                #expect(memory.use(key) === index.map { model[$0].chunk })
                if let index { model.append(model.remove(at: index)) }
            case 9 where Int.random(in: 0..<10, using: &random) == 0:
                memory.drop(store: key.store)
                model.removeAll { $0.key.store == key.store }
            default:
                memory.drop(key)
                if let index { model.remove(at: index) }
            }
            #expect(memory.holds(key) == model.contains { $0.key == key })
        }
    }

    @Test("an oversized chunk is held alone")
    func large() {
        let memory = ChunkMemory(limit: 100)
        let keys = (0..<3).map { ChunkMemory.Key(store: 1, chunk: $0) }
        #expect(memory.keep(keys[0], Chunk(3)) == [])
        #expect(memory.keep(keys[1], Chunk(500)) == [keys[0]])
        #expect(memory.use(keys[1])?.bytes.count == 500)
        #expect(memory.keep(keys[2], Chunk(1)) == [keys[1]])
        #expect(memory.holds(keys[2]))
    }
}

@Suite("Errors for readers")
struct FileProblemTests {
    @Test(
        "relay errors map to problems",
        arguments: [
            (.malformedDescription, .damaged), (.damaged, .damaged), (.tooLarge, .damaged),
            (.timedOut, .timedOut), (.relayNotAllowed, .notApproved), (.noRelay, .noRelay),
            (.unreachable, .unreachable), (.wrongIdentity, .unreachable), (.protocolViolation, .unreachable),
            (.storage, .other), (.source, .other), (.wrongState, .other), (.cancelled, .other),
        ] as [(XFTPErrorCode, FileProblem.Kind)])
    func relays(code: XFTPErrorCode, kind: FileProblem.Kind) {
        let problem = FileProblem(XFTPError(code, "A sentence."))
        #expect(problem.kind == kind && problem.sentence == "A sentence.")
    }

    @Test("errors of the core keep their cause")
    func causes() {
        let cause = SystemError(code: EIO, operation: "ask the core")
        let problem = FileProblem(ChatError(.file(.unreachable), "A sentence.", cause: cause)).logged
        #expect(problem.kind == .unreachable && problem.cause is SystemError)
    }

    @Test("disk and cryptographic errors map to problems")
    func disks() {
        let full = SystemError(code: ENOSPC, operation: "write the cache")
        let broken = SystemError(code: EIO, operation: "write the cache")
        #expect(FileProblem(full).kind == .noSpace && FileProblem(broken).kind == .other)
        #expect(FileProblem(XFTPError(.storage, "a", cause: full)).kind == .noSpace)
        #expect(FileProblem(XFTPError(.storage, "a", cause: broken)).kind == .other)
        let deep = XFTPError(.source, "a", cause: ChatError(.storage, "b", cause: full))
        #expect(FileProblem(deep).kind == .noSpace)
        #expect(FileProblem(ChatError(.storage, "b", cause: full)).kind == .noSpace)
        for code in [CryptographyErrorCode.notAuthentic, .tooShort, .invalidKey] {
            #expect(FileProblem(CryptographyError(code, "a")).kind == .damaged)
        }
        for code in [CryptographyErrorCode.library, .notVerified, .noMemory] {
            #expect(FileProblem(CryptographyError(code, "a")).kind == .other)
        }
        #expect(FileProblem(HydrationError(.damaged, "a")).kind == .damaged)
        #expect(FileProblem(CancellationError()).kind == .other)
    }

    @Test("core errors map to problems")
    func core() {
        for kind in [FileProblem.Kind.expired, .cancelledBySender, .blocked, .damaged] {
            #expect(FileProblem(ChatError(.file(kind), "a")).kind == kind)
        }
        for code in [ChatErrorCode.noSuchFile, .noSuchItem, .noSuchChat] {
            #expect(FileProblem(ChatError(code, "a")).kind == .expired)
        }
        #expect(FileProblem(ChatError(.tooLarge, "a")).kind == .tooLarge)
        #expect(FileProblem(ChatError(.storage, "a")).kind == .other)
    }
}
