import Base
import Testing

@Suite("Random bytes and mutexes of the system")
struct RandomSourceTests {
    @Test("has the requested length", arguments: [0, 1, 7, 8, 9, 24, 32, 1000])
    func counts(count: Int) { #expect(SystemRandomSource().bytes(count).count == count) }

    /// Every byte of every word varies.
    @Test("every byte varies")
    func places() {
        let samples = (0..<64).map { _ in SystemRandomSource().bytes(19) }
        for place in 0..<19 { #expect(Set(samples.map { $0[place] }).count > 8) }
        #expect(Set(samples).count == 64)
    }

    @Test("a refusing mutex fails for its own thread")
    func relocking() {
        let mutex = PthreadMutex(refusesRelocking: true)
        let answers = [mutex.lock(), mutex.lock()]
        mutex.unlock()
        let again = mutex.lock()
        mutex.unlock()
        #expect(answers == [true, false] && again)
    }

    @Test("an error unlocks the mutex")
    func thrown() {
        struct Failure: Error {}
        let lock = Lock(1)
        #expect(throws: Failure.self) { try lock.withLock { _ in throw Failure() } }
        #expect(lock.withLock { $0 } == 1)
        let mutex = BlockingMutex()
        #expect(throws: Failure.self) { try mutex.withLock { throw Failure() } }
        mutex.withLock {}
    }

    #if DEBUG
        @Test("unlocking another thread's mutex traps")
        func foreignUnlock() async {
            await #expect(processExitsWith: .failure) {
                BlockingMutex().unlock()
            }
        }
    #endif
}
