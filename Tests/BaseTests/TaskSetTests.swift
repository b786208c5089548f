import Base
import Testing

@Suite("Task sets")
struct TaskSetTests {
    @Test("closing cancels and awaits all tasks")
    func closing() async {
        let tasks = TaskSet()
        let (begun, over) = (Lock(0), Lock(0))
        for _ in 0..<20 {
            tasks.spawn {
                begun.withLock { $0 += 1 }
                while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
                over.withLock { $0 += 1 }
            }
        }
        await tasks.close()
        #expect(begun.withLock { $0 } == 20 && over.withLock { $0 } == 20)
        #expect(tasks.spawn { over.withLock { $0 += 1 } } == nil)
        await tasks.close()
        #expect(over.withLock { $0 } == 20)
    }
}
