import Testing

@Suite("possible disk contents after a power cut")
struct DiskModelTests {
    private var generator = SystemRandomNumberGenerator()

    @Test("names and contents need separate fsyncs")
    mutating func synchronised() {
        var disk = DiskModel([])
        disk.perform(.create(file: 7, path: "a"))
        disk.perform(.write(file: 7, offset: 0, bytes: [1, 2, 3]))
        #expect(disk.state(.nothing, using: &generator) == [:])
        #expect(disk.state(.everything, using: &generator) == ["a": [1, 2, 3]])
        disk.perform(.syncFile(7))
        #expect(disk.state(.nothing, using: &generator) == [:])
        disk.perform(.syncFolder(path: ""))
        #expect(disk.state(.nothing, using: &generator) == ["a": [1, 2, 3]])
        disk.perform(.write(file: 7, offset: 2, bytes: [9, 9]))
        disk.perform(.truncate(file: 7, size: 1))
        #expect(disk.state(.nothing, using: &generator) == ["a": [1, 2, 3]])
        #expect(disk.state(.everything, using: &generator) == ["a": [1]])
        disk.perform(.syncAll)
        #expect(disk.state(.nothing, using: &generator) == ["a": [1]])
    }

    @Test(
        "a replaced file has old or new content"
    )
    mutating func replaced() {
        var disk = DiskModel([("f/", 0, []), ("f/a", 1, [1])])
        disk.perform(.create(file: 2, path: "f/b"))
        disk.perform(.write(file: 2, offset: 0, bytes: [2]))
        disk.perform(.syncFile(2))
        disk.perform(.rename(from: "f/b", to: "f/a"))
        var states: Set<[String: [UInt8]]> = []
        for _ in 0..<200 { states.insert(disk.state(.some, using: &generator)) }
        #expect(
            states == [
                ["f/": [], "f/a": [1]], ["f/": [], "f/a": [1], "f/b": [2]], ["f/": [], "f/a": [2]],
            ])
        disk.perform(.syncFolder(path: "f"))
        #expect(disk.state(.nothing, using: &generator) == ["f/": [], "f/a": [2]])
    }

    @Test("a move happens in both folders or none")
    mutating func moved() {
        var disk = DiskModel([("f/", 0, []), ("g/", 0, []), ("f/a", 1, [1])])
        disk.perform(.rename(from: "f/a", to: "g/a"))
        for _ in 0..<100 {
            let state = disk.state(.some, using: &generator)
            #expect((state["f/a"] != nil) != (state["g/a"] != nil))
        }
        disk.perform(.syncFolder(path: "g"))
        #expect(disk.state(.nothing, using: &generator) == ["f/": [], "g/": [], "g/a": [1]])
    }

    @Test("any subset of unsynchronised writes may survive")
    mutating func reordered() {
        var disk = DiskModel([("a", 1, [])])
        disk.perform(.write(file: 1, offset: 0, bytes: [1]))
        disk.perform(.write(file: 1, offset: 1, bytes: [2]))
        var states: Set<[UInt8]> = []
        for _ in 0..<300 { states.insert(disk.state(.some, using: &generator)["a"] ?? [9]) }
        #expect(states == [[], [1], [0, 2], [1, 2]])
        disk.perform(.syncFile(1))
        disk.perform(.write(file: 1, offset: 0, bytes: [UInt8](repeating: 7, count: 1024)))
        let torn = (0..<300).contains { _ in
            let bytes = disk.state(.some, using: &generator)["a"] ?? []
            return bytes.count == 512 || (bytes.count == 1024 && bytes[0] == 1)
        }
        #expect(torn)
    }

    @Test("an unnamed file is lost and its number reused")
    mutating func removed() {
        var disk = DiskModel([("a", 1, [1])])
        disk.perform(.unlink(path: "a"))
        disk.perform(.create(file: 1, path: "b"))
        disk.perform(.write(file: 1, offset: 0, bytes: [2]))
        #expect(disk.state(.everything, using: &generator) == ["b": [2]])
        #expect(disk.state(.nothing, using: &generator) == ["a": [1]])
        disk.perform(.unnamed(file: 5))
        disk.perform(.write(file: 5, offset: 0, bytes: [5]))
        #expect(disk.state(.everything, using: &generator) == ["b": [2]])
        disk.perform(.link(file: 5, path: "c"))
        #expect(disk.state(.everything, using: &generator) == ["b": [2], "c": [5]])
    }
}
