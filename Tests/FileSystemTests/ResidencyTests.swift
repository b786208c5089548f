import Namespace
import Testing

@testable import FileSystem

@Suite("Eviction order")
struct ResidencyTests {
    private let folders = (0..<4).map { NodeID(2000 + $0) }
    private let items = (0..<4).map { NodeID(3000 + $0) }

    @Test("least recently used folders go first")
    func order() {
        var residency = Residency()
        for folder in folders { residency.use(folder) }
        residency.use(folders[0])
        #expect(residency.candidates == [folders[1], folders[2]])
        residency.letGo(folders[2])
        #expect(residency.candidates == [folders[1]])
    }

    @Test("folders without kernel references go first")
    func known() {
        var residency = Residency()
        for folder in folders { residency.use(folder) }
        residency.tell(items[0], in: folders[0])
        #expect(residency.candidates == [folders[1], folders[0]])
    }

    @Test("folders loaded ahead go first, oldest messages first")
    func unused() {
        var residency = Residency()
        residency.use(folders[3])
        for folder in folders.prefix(3) { residency.keep(folder) }
        residency.keep(folders[3])
        #expect(residency.candidates == [folders[2], folders[1], folders[0]])
        residency.use(folders[2])
        #expect(residency.candidates == [folders[1], folders[0]])
    }

    @Test(
        "a folder's last forgotten item evicts it")
    func counts() {
        var (residency, isLast) = (Residency(), false)
        residency.tell(items[0], in: folders[0])
        residency.tell(items[0], in: folders[0])
        residency.tell(items[1], in: folders[0])
        isLast = residency.forget(items[1], 1, in: folders[0])
        #expect(!isLast)
        isLast = residency.forget(items[0], 1, in: folders[0])
        #expect(!isLast)
        #expect(residency.isKnown(folders[0]))
        isLast = residency.forget(items[0], 1, in: folders[0])
        #expect(isLast)
        #expect(!residency.isKnown(folders[0]))
        isLast = residency.forget(items[0], 1, in: folders[0])
        #expect(!isLast, "once")
    }

    @Test("surplus forgets and vanished items are ignored")
    func uneven() {
        var (residency, isLast) = (Residency(), false)
        residency.tell(items[0], in: folders[0])
        residency.letGo(folders[0])
        residency.tell(items[0], in: folders[0])
        isLast = residency.forget(items[0], 2, in: folders[0])
        #expect(isLast)
        residency.tell(items[1], in: folders[1])
        residency.tell(items[2], in: folders[1])
        residency.remove(items[2], in: folders[1])
        isLast = residency.forget(items[1], 1, in: folders[1])
        #expect(isLast)
    }
}
