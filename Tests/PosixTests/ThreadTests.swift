import Base
import Posix
import TestSupport
import Testing

@Suite struct ThreadTests {
    @Test func aFailedThreadStartIsAnError() async throws {
        let ran = Lock(false)
        // A stack of a petabyte, too large for any address space.
        #expect(throws: SystemError.self) {
            try Thread.begin("too-large", stackSize: 1 << 50) { ran.withLock { $0 = true } }
        }
        try Thread.begin("small") { ran.withLock { $0 = true } }
        try await wait(until: "the next one runs") { ran.withLock { $0 } }
    }
}
