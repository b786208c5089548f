import Glibc
import Posix
import TestSupport
import Testing

/// A program that writes a long file into a chat in any order, and the expected content.
private struct RestlessWriter {
    let folder: String
    private(set) var name: String
    private var file: OpenFile
    private var contents: [UInt8] = []
    private var generator: SeededGenerator

    init(in folder: String, seed: Int) throws {
        self.folder = folder
        name = "restless \(seed)"
        generator = SeededGenerator(state: UInt64(seed))
        file = try OpenFile("\(folder)/\(name)", flags: O_RDWR | O_CREAT | O_EXCL)
    }

    /// Writes, performs other operations, and closes. Returns the expected file.
    consuming func run(steps: Int) throws -> (name: String, contents: [UInt8]) {
        // Long enough to be encrypted while written.
        try append(5 << 20)
        for _ in 0..<steps { try step() }
        try append(1 + Int.random(in: 0..<300_000, using: &generator))
        guard try file.size() == UInt64(contents.count) else { throw WaitedInVain("the size is another") }
        return (name, contents)
    }

    private mutating func step() throws {
        switch Int.random(in: 0..<13, using: &generator) {
        case 0:
            // Truncated, or extended by zeros.
            let size = Int.random(in: 0...contents.count + 2_000_000, using: &generator)
            try file.truncate(to: UInt64(size))
            contents = Array(contents.prefix(size))
            grow(to: size)
        case 1: try write(some(70_000), at: place())
        case 2:
            let gap = Int.random(in: 0..<2_000_000, using: &generator)
            try write(some(300_000), at: contents.count + gap)
        case 3: try map()
        case 4:
            let other = try OpenFile("\(folder)/\(name)", flags: O_WRONLY)
            let (bytes, offset) = (some(5_000), place())
            try other.write(bytes, at: UInt64(offset))
            put(bytes, at: offset)
        case 5:
            let other = try OpenFile("\(folder)/\(name)", flags: O_WRONLY | O_APPEND)
            let bytes = some(1_500_000)
            // With O_APPEND the offset is ignored.
            try other.write(bytes, at: 0)
            put(bytes, at: contents.count)
        case 6:
            let new = name + "'"
            try check("rename") { rename("\(folder)/\(name)", "\(folder)/\(new)") }
            name = new
        case 7: try file.synchronise()
        case 8:
            // As an editor saves: truncated and rewritten.
            file = try OpenFile("\(folder)/\(name)", flags: O_RDWR | O_TRUNC)
            contents = []
            try append(4_500_000)
        case 9:
            // Without fallocate support, the C library writes a zero into every missing page.
            let size = contents.count + Int.random(in: 0..<1_000_000, using: &generator)
            let code = posix_fallocate(file.descriptor, 0, off_t(max(size, 1)))
            guard code == 0 else { throw WaitedInVain("posix_fallocate: errno \(code)") }
            grow(to: max(size, 1))
        default: try append(Int.random(in: 1..<3_000_000, using: &generator))
        }
    }

    private mutating func append(_ count: Int) throws {
        var left = count
        while left > 0 {
            let bytes = some(min(left, Int.random(in: 1...400_000, using: &generator)))
            try write(bytes, at: contents.count)
            left -= bytes.count
        }
    }

    /// Changes one or two mapped pages.
    private mutating func map() throws {
        guard contents.count > 4 * 4096 else { return }
        let offset = Int.random(in: 0..<contents.count / 4096 - 2, using: &generator) * 4096
        let bytes = some(6_000)
        let memory = mmap(nil, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, off_t(offset))
        guard let memory, memory != MAP_FAILED else { throw WaitedInVain("mmap: errno \(errno)") }
        defer { munmap(memory, 8192) }
        memory.copyMemory(from: bytes, byteCount: bytes.count)
        try check("msync") { msync(memory, 8192, MS_SYNC) }
        put(bytes, at: offset)
    }

    private mutating func write(_ bytes: [UInt8], at offset: Int) throws {
        try file.write(bytes, at: UInt64(offset))
        put(bytes, at: offset)
    }

    private mutating func put(_ bytes: [UInt8], at offset: Int) {
        grow(to: offset + bytes.count)
        contents.replaceSubrange(offset..<offset + bytes.count, with: bytes)
    }

    private mutating func grow(to size: Int) {
        contents += [UInt8](repeating: 0, count: max(0, size - contents.count))
    }

    private mutating func place() -> Int {
        contents.isEmpty ? 0 : Int.random(in: 0..<contents.count, using: &generator)
    }

    private mutating func some(_ count: Int) -> [UInt8] {
        TwoMounts.bytes(count, seed: Int.random(in: 0..<1 << 30, using: &generator))
    }
}

@Suite("Writers of long files in any order", .serialized)
struct RestlessWriterTests {
    @Test("the last content is sent once")
    func anyOrder() async throws {
        let mounts = try await TwoMounts.start()
        let folder = mounts.path("alice/bob")
        let results = try await withThrowingTaskGroup(of: (name: String, contents: [UInt8]).self) { group in
            for seed in 1...8 {
                group.addTask {
                    try await ThreadPool.shared.run {
                        try RestlessWriter(in: folder, seed: seed).run(steps: 10)
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for (name, contents) in results {
            try await mounts.waitForState("sent", of: "alice/bob/" + name)
            try await mounts.waitForFile("bob/alice/" + name)
            #expect(try mounts.read("bob/alice/" + name) == contents, "\(name) is another")
            #expect(try mounts.read("alice/bob/" + name) == contents, "\(name) is another for its sender")
        }
        #expect(try mounts.folder.names(in: "bob/alice") == results.map(\.name).sorted())
        #expect(try mounts.folder.names(in: "alice/bob") == results.map(\.name).sorted())
        for name in ["alice", "bob"] { #expect(try await mounts.leave(name) == .code(0)) }
        try await expectNothingLeft(in: mounts)
    }

    /// Neither drafts nor copies remain: removed files go once the kernel has forgotten them.
    private func expectNothingLeft(in mounts: TwoMounts) async throws {
        for profile in try mounts.folder.names(in: "data/profiles") {
            let left = ["staging": ["received", "tags"], "staging/received": [], "outbox/spool": []]
            for (folder, names) in left {
                try await wait(until: "nothing is left in \(folder)") {
                    try mounts.folder.names(in: "data/profiles/\(profile)/\(folder)") == names
                }
            }
        }
    }

    @Test("a kill during a copy sends nothing")
    func killedWhileFollowing() async throws {
        let mounts = try await TwoMounts.start()
        let marker = Array("a sentence that must never lie on a disk as it is".utf8)
        let whole = (0..<160_000).flatMap { _ in marker }
        for round in 0..<4 {
            let daemon = try mounts.daemon("alice")
            let path = mounts.path("alice/bob/long \(round)")
            let writing = Task {
                await ThreadPool.shared.run {
                    guard let file = try? OpenFile(path, flags: O_WRONLY | O_CREAT | O_EXCL) else { return }
                    for start in stride(from: 0, to: whole.count, by: 128 << 10) {
                        let piece = Array(whole[start..<min(start + 128 << 10, whole.count)])
                        if (try? file.write(piece, at: UInt64(start))) == nil { return }
                    }
                    // Not closed before its death.
                    while access(path, F_OK) == 0 { usleep(10_000) }
                }
            }
            // At different times: before the copy follows it, and with more and more copied.
            try await wait(until: "some of it is written") {
                var status = stat()
                return stat(path, &status) == 0 && status.st_size > round * 2_400_000
            }
            let lies = try await Shell.script(
                "grep -rlaF '\(String(decoding: marker, as: UTF8.self))' data relay cache || true",
                folder: mounts.folder.path, limit: .seconds(120))
            #expect(lies.output == "", "it can be read on the disk")
            daemon.send(SIGKILL)
            _ = try await daemon.ending()
            await writing.value
            try await mounts.mount("alice")
            let recovered = try mounts.read("alice/.chatfs/recovered/long \(round)")
            #expect(recovered.elementsEqual(whole.prefix(recovered.count)) && recovered.count > 0)
            #expect(access(path, F_OK) != 0)
            #expect(unlink(mounts.path("alice/.chatfs/recovered/long \(round)")) == 0)
            try await expectNothingLeft(in: mounts)
        }
        try await mounts.send([1], as: "after.txt")
        #expect(try mounts.folder.names(in: "bob/alice") == ["after.txt"])
    }

    @Test("a kill after a copy loses nothing")
    func killedAfterTheClose() async throws {
        let mounts = try await TwoMounts.start()
        let whole = TwoMounts.bytes(6_000_000)
        // During the quiet time, the copy, the hand-over and the upload. Right after the close the daemon may not know
        // of it; the file then counts as open.
        let delays = [0, 300, 1000, 1100, 1200, 1400, 1700]
        let names = delays.map { "after \($0).bin" }
        for (name, delay) in zip(names, delays) {
            try mounts.write(whole, to: "alice/bob/" + name)
            try await Task.sleep(for: .milliseconds(delay))
            let daemon = try mounts.daemon("alice")
            daemon.send(SIGKILL)
            _ = try await daemon.ending()
            try await mounts.mount("alice")
        }
        // Drafts of a chat are handed over in order.
        try await mounts.send([1], as: "last.txt")
        try await wait(until: "every file is somewhere") {
            let recovered = try mounts.folder.names(in: "alice/.chatfs/recovered")
            let arrived = try mounts.folder.names(in: "bob/alice")
            return Set(recovered + arrived) == Set(names + ["last.txt"])
        }
        let recovered = try mounts.folder.names(in: "alice/.chatfs/recovered")
        #expect(try mounts.folder.names(in: "bob/alice").filter(recovered.contains) == [])
        for name in names {
            let place = recovered.contains(name) ? "alice/.chatfs/recovered/" : "bob/alice/"
            #expect(try mounts.read(place + name) == whole, "\(name) is another")
        }
    }
}
