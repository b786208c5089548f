import Base
import TestSupport
import Testing

@testable import OfficialCore

@Suite("Pending requests")
struct PendingRequestsTests {
    private let pending = PendingRequests(refusal: nil)
    private let names = Lock<[String]>([])

    private static func error(_ code: OfficialCoreError.Code) -> OfficialCoreError {
        OfficialCoreError(code, "It is so.")
    }

    /// A request that was sent and waits for its answer.
    private func waiting(_ pending: PendingRequests? = nil) async throws -> Task<APIResponse, any Error> {
        let (pending, names) = (pending ?? self.pending, names)
        let count = names.withLock { $0.count }
        let task = Task {
            try await pending.request(timeout: .seconds(600)) { name throws(OfficialCoreError) in
                names.withLock { $0.append(name) }
            }
        }
        try await wait(until: "it waits") { names.withLock { $0.count } > count }
        return task
    }

    private func name(_ number: Int) -> String { names.withLock { $0[number] } }

    private func code(_ task: Task<APIResponse, any Error>) async -> OfficialCoreError.Code? {
        do {
            _ = try await task.value
            return nil
        } catch {
            return (error as? OfficialCoreError)?.code
        }
    }

    /// The reason that a new request is refused with.
    private func refusal() async -> OfficialCoreError.Code? {
        do throws(OfficialCoreError) {
            _ = try await pending.request(timeout: .seconds(600)) { _ throws(OfficialCoreError) in
                Issue.record("it was sent")
            }
            return nil
        } catch {
            return error.code
        }
    }

    @Test("answers match requests by name")
    func names() async throws {
        var tasks: [Task<APIResponse, any Error>] = []
        for _ in 0..<5 { tasks.append(try await waiting()) }
        #expect(Set(names.withLock { $0 }).count == 5)
        for number in [3, 0, 4, 1, 2] {
            #expect(pending.finish(name(number), .success(.other("\(number)"))))
            #expect(!pending.finish(name(number), .success(.other("late"))))
        }
        for (number, task) in tasks.enumerated() { #expect(try await task.value == .other("\(number)")) }
        #expect(!pending.finish("nobody", .success(.done)))
    }

    @Test(
        "a closed register refuses before the send",
        arguments: [OfficialCoreError.Code.disconnected, .closed])
    func refused(code: OfficialCoreError.Code) async throws {
        let pending = PendingRequests(refusal: Self.error(code))
        do throws(OfficialCoreError) {
            _ = try await pending.request(timeout: .seconds(600)) { _ throws(OfficialCoreError) in
                Issue.record("it was sent")
            }
            Issue.record("it was answered")
        } catch {
            #expect(error.code == code && !error.leavesDoubt)
        }
        pending.open()
        let task = try await waiting(pending)
        pending.finish(name(0), .success(.done))
        #expect(try await task.value == .done)
    }

    @Test("an unsent request fails with its reason")
    func unsent() async {
        do throws(OfficialCoreError) {
            _ = try await pending.request(timeout: .seconds(600)) { [names] name throws(OfficialCoreError) in
                names.withLock { $0.append(name) }
                throw Self.error(.invalidCommand)
            }
        } catch {
            #expect(error.code == .invalidCommand)
        }
        #expect(!pending.finish(name(0), .success(.done)))
    }

    @Test(
        "a lost connection leaves doubt about sent requests",
        arguments: [
            (OfficialCoreError.Code.disconnected, OfficialCoreError.Code.broken, true),
            (.closed, .interrupted, true),
            (.notInstalled, .notInstalled, false),
        ])
    func ends(code: OfficialCoreError.Code, ending: OfficialCoreError.Code, leavesDoubt: Bool) async throws {
        let tasks = [try await waiting(), try await waiting()]
        pending.fail(Self.error(code))
        for task in tasks {
            let error = await #expect(throws: OfficialCoreError.self) { _ = try await task.value }
            #expect(error?.code == ending && error?.leavesDoubt == leavesDoubt)
        }
        #expect(await refusal() == code)
        // Late answers are ignored.
        #expect(!pending.finish(name(0), .success(.done)))
    }

    @Test("later requests may get another reason")
    func later() async throws {
        let task = try await waiting()
        pending.fail(Self.error(.disconnected), later: Self.error(.notInstalled))
        #expect(await code(task) == .broken)
        #expect(await refusal() == .notInstalled)
    }

    @Test("a cancelled request leaves doubt")
    func cancelled() async throws {
        let task = try await waiting()
        task.cancel()
        #expect(await code(task) == .cancelled)
        #expect(!pending.finish(name(0), .success(.done)))
        let early = Task { [pending, names] in
            while !Task.isCancelled { await Task.yield() }
            return try await pending.request(timeout: .seconds(600)) { name throws(OfficialCoreError) in
                names.withLock { $0.append(name) }
            }
        }
        early.cancel()
        #expect(await code(early) == .cancelled)
        #expect(Self.error(.cancelled).leavesDoubt && Self.error(.timeout).leavesDoubt)
    }

    @Test("an answer after the timeout is ignored")
    func timeout() async throws {
        let error = await #expect(throws: OfficialCoreError.self) {
            _ = try await pending.request(timeout: .zero) { [names] name throws(OfficialCoreError) in
                names.withLock { $0.append(name) }
            }
        }
        #expect(error?.code == .timeout)
        #expect(!pending.finish(name(0), .success(.done)))
    }

    @Test("simultaneous ends resume each request once")
    func race() async throws {
        for round in 0..<60 {
            let pending = PendingRequests(refusal: nil)
            let tasks = (0..<8).map { number in
                Task { () -> Bool in
                    do throws(OfficialCoreError) {
                        _ = try await pending.request(timeout: .seconds(600)) {
                            name throws(OfficialCoreError) in
                            if number % 3 == 0 { Task { pending.finish(name, .success(.done)) } }
                        }
                        return true
                    } catch {
                        return [.cancelled, .broken, .disconnected].contains(error.code)
                    }
                }
            }
            if round % 2 == 0 { tasks[1].cancel() }
            pending.fail(Self.error(.disconnected))
            for task in tasks { #expect(await task.value) }
        }
    }

    // MARK: - Events

    private static func words(_ stream: AsyncStream<TransportEvent>) async -> [String] {
        var words: [String] = []
        for await case .disconnected(let word) in stream { words.append(word) }
        return words
    }

    @Test("the first listener gets earlier events")
    func early() async {
        let events = TransportEvents()
        for word in ["a", "b"] { events.tell(.disconnected(word)) }
        let stream = events.stream()
        events.tell(.disconnected("c"))
        events.finish()
        events.tell(.disconnected("d"))
        #expect(await Self.words(stream) == ["a", "b", "c"])
    }

    @Test(
        "a second listener ends the first stream")
    func listeners() async {
        let events = TransportEvents()
        let first = events.stream()
        events.tell(.disconnected("a"))
        let second = events.stream()
        events.tell(.disconnected("b"))
        #expect(await Self.words(first) == ["a"])
        events.finish()
        #expect(await Self.words(second) == ["b"])
        #expect(await Self.words(events.stream()).isEmpty)
        // Events that no listener consumed remain for the next listener.
        let silent = TransportEvents()
        silent.tell(.disconnected("x"))
        silent.finish()
        #expect(await Self.words(silent.stream()) == ["x"])
        #expect(await Self.words(silent.stream()).isEmpty)
    }
}
