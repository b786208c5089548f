import Base
import CommandLineKit
import Glibc
import TestSupport
import Testing

@Suite("Work under a stop request")
struct StopRequestTests {
    private struct Failure: Error {}

    @Test("without a stop, result and error pass")
    func undisturbed() async throws {
        let stop = StopRequest()
        #expect(try await stop.interrupting { 7 } == 7)
        await #expect(throws: Failure.self) { try await stop.interrupting { () -> Int in throw Failure() } }
    }

    @Test("a stop cancels and hides the error")
    func cancelled() async throws {
        let stop = StopRequest()
        let result: Int? = try await stop.interrupting {
            stop.request(signal: SIGINT)
            try await Task.sleep(for: .seconds(1000))
            return 7
        }
        #expect(result == nil)
    }

    @Test("hanging work is abandoned")
    func hanging() async throws {
        let stop = StopRequest()
        stop.request(signal: SIGINT)
        let forever = StopRequest()
        let result: Int? = try await stop.interrupting { Int(await forever.wait()) }
        #expect(result == nil)
        forever.request()
    }
}
