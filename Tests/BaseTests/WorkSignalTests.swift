import Base
import Testing

@Suite("signals for work")
struct WorkSignalTests {
    @Test("calls before the listener runs count as one")
    func together() async {
        let signal = WorkSignal()
        for _ in 0..<3 { signal.notify() }
        signal.finish()
        var count = 0
        for await _ in signal.stream { count += 1 }
        #expect(count == 1)
    }
}
