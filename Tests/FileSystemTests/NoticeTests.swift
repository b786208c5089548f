import Base
import Glibc
import Testing

@testable import FileSystem

@Suite("Notices to the kernel")
struct NoticeTests {
    /// Each notice once wrapped the listener in another closure, until calling or releasing it overflowed the stack.
    @Test("notices keep working after a hundred thousand")
    func manyNotices() {
        let kernel = KernelConnection()
        let count = Lock(0)
        kernel.tell { _ in count.withLock { $0 += 1 } }
        for _ in 0..<100_000 { kernel.notify(.attributes(.root)) }
        kernel.tell(through: nil)
        kernel.notify(.attributes(.root))
        #expect(count.withLock { $0 } == 100_000)
    }
}
