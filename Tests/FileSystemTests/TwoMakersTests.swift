import Base
import ChatCore
import FileSystem
import Glibc
import Namespace
import TestSupport
import Testing

/// Two programs create the same file concurrently, and the kernel sends CREATE for both.
@Suite("Concurrent creation of a file", .timeLimit(.minutes(10)))
struct TwoMakersTests {
    private static let flags = O_RDWR | O_CREAT | O_TRUNC

    @Test(
        "a second creat does not truncate during writing",
        arguments: ["", "F/"])
    func truncation(place: String) async throws {
        let stage = try await PastedStage()
        if !place.isEmpty { #expect(try await stage.makeFolder("F") == 0) }
        let path = place + "a"
        let first = try await stage.create(path, flags: Self.flags)
        try stage.write("first bytes", through: first)
        let second = try await stage.create(path, flags: Self.flags)
        #expect(try await stage.fileSystem.attributes(stage.id(path)).get().size == 11)
        try stage.write("FIRST", through: second)
        #expect(try await stage.read(stage.id(path)) == "FIRST bytes")
        stage.fileSystem.flush(first, by: getpid())
        stage.fileSystem.release(first)
        #expect(try await stage.read(stage.id(path)) == "FIRST bytes")
        // Closed by its creator, it is an existing file.
        let third = try await stage.create(path, flags: Self.flags)
        #expect(try await stage.fileSystem.attributes(stage.id(path)).get().size == 0)
        for handle in [second, third] { stage.fileSystem.release(handle) }
        await stage.end()
    }

    @Test("O_EXCL succeeds once; O_TRUNC by name truncates")
    func others() async throws {
        let stage = try await PastedStage()
        let first = try await stage.create("a", flags: Self.flags)
        try stage.write("bytes", through: first)
        let (fs, name) = (stage.fileSystem, EntryName("a"))
        #expect(await fs.create(name, in: stage.bob, flags: Self.flags | O_EXCL).code() == EEXIST)
        let opened = try await fs.open(stage.id("a"), flags: O_WRONLY | O_TRUNC).value()
        #expect(try await fs.attributes(stage.id("a")).get().size == 0)
        for handle in [first, opened] { fs.release(handle) }
        await stage.end()
    }

    @Test("many concurrent creators share one file", arguments: ["", "F/"])
    func atOnce(place: String) async throws {
        let stage = try await PastedStage()
        if !place.isEmpty { #expect(try await stage.makeFolder("F") == 0) }
        let (fs, folder) = (stage.fileSystem, place.isEmpty ? stage.bob : try await stage.id("F"))
        for round in 0..<10 {
            let name = EntryName("n\(round)")
            let codes = await withTaskGroup(of: Int32.self) { group in
                for number in 0..<6 {
                    group.addTask {
                        let made = await fs.create(name, in: folder, flags: Self.flags).result()
                        guard case .success(let (attributes, handle)) = made else {
                            return await Answer.now(made).code()
                        }
                        #expect(attributes.id == handle.id)
                        // Each writes its own range.
                        let written = [UInt8](repeating: 65 + UInt8(number), count: 3).withUnsafeBytes {
                            fs.write(handle, $0, at: UInt64(number) * 3, by: getpid())
                        }
                        if case .failure(let error) = written { return error.code }
                        return 0
                    }
                }
                return await group.reduce(into: [Int32]()) { $0.append($1) }
            }
            #expect(codes == [0, 0, 0, 0, 0, 0])
            #expect(try await stage.read(stage.id(place + "n\(round)")) == "AAABBBCCCDDDEEEFFF")
        }
        #expect(stage.drafts.count == 10)
        await stage.end()
    }
}
