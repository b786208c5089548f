import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import Hydration

/// The next mount reads a stored file without a check of all of it.
@Suite struct SavedTagsTests {
    private static let size: UInt64 = 3 << 20
    private static let plain = Pattern.bytes(0..<size, seed: 5)
    private static let id = FileID(7)

    /// A stored file that the first mount has read.
    private func readOnce(in stage: Stage) async throws -> ChatItem {
        let path = stage.folder.path("stored")
        let arguments = try stage.encrypted(Self.plain, to: path)
        let item = stage.item(
            7, size: Self.size, status: .rcvComplete,
            source: FileSourceLocation(path: path, arguments: arguments))
        try await expectStart(item, stage)
        await stage.hydrator.shutDown()
        return item
    }

    private func expectStart(_ item: ChatItem, _ stage: Stage) async throws {
        let file = stage.hydrator.open(item)
        #expect(try await file.bytes(0..<100) == Array(Self.plain[..<100]))
        file.close()
    }

    private func damage(_ stage: Stage) throws {
        try OpenFile(stage.folder.path("stored"), flags: O_RDWR).write([0, 0, 0, 0], at: 2 << 20)
    }

    private func givenUp(_ stage: Stage) -> [FileID] { stage.core.state.withLock { $0.givenUp } }
    private func tagFiles(_ stage: Stage) throws -> [String] { try stage.folder.names(in: "staging/tags") }

    @Test func nextMountReadsAtOnce() async throws {
        let stage = try Stage()
        let item = try await readOnce(in: stage)
        #expect(try tagFiles(stage) == [BlockTags.sealedName(of: #require(item.file?.source?.arguments))])
        // A check of the whole file would find it.
        try damage(stage)
        let next = try Stage(after: stage)
        try await expectStart(item, next)
        #expect(givenUp(next) == [])
        // The damage is found where it is read.
        let file = next.hydrator.open(item)
        await #expect(throws: ReadFailure.self) { try await file.bytes(2 << 20..<(2 << 20) + 10) }
        #expect(givenUp(next) == [Self.id])
        #expect(try tagFiles(next) == [])
        file.close()
        await next.hydrator.shutDown()
    }

    @Test(arguments: [true, false])
    func damagedOrMissingTagsCostACheck(isMissing: Bool) async throws {
        let stage = try Stage()
        let item = try await readOnce(in: stage)
        let path = stage.folder.path("staging/tags/" + (try #require(try tagFiles(stage).first)))
        if isMissing {
            unlink(path)
        } else {
            try OpenFile(path, flags: O_RDWR).write([1, 2, 3], at: 40)
        }
        let next = try Stage(after: stage)
        try await expectStart(item, next)
        await next.hydrator.shutDown()
        let last = try Stage(after: next)
        try damage(last)
        try await expectStart(item, last)
        #expect(givenUp(last) == [], "the tags were saved again")
        await last.hydrator.shutDown()
    }

    /// It has another content under the same key, as only its owner can write it.
    @Test func replacedFileIsCheckedAgain() async throws {
        let stage = try Stage()
        let item = try await readOnce(in: stage)
        let source = try #require(item.file?.source)
        let other = Pattern.bytes(0..<Self.size, seed: 6)
        unlink(source.path)
        let writer = try CryptoFileWriter(
            file: OpenFile(source.path, flags: O_RDWR | O_CREAT), arguments: #require(source.arguments))
        try writer.append(other)
        try writer.finish()
        let next = try Stage(after: stage)
        let file = next.hydrator.open(item)
        #expect(try await file.bytes(0..<Self.size) == other)
        #expect(givenUp(next) == [])
        file.close()
        await next.hydrator.shutDown()
    }

    @Test func receivedFileHasTags() async throws {
        let stage = try Stage()
        let item = stage.offer(MemorySource(size: Self.size))
        #expect(await stage.hydrator.hydrate(item) == nil)
        try await wait(until: "it is kept") { stage.hydrator.condition(of: FileID(1)).isStored }
        #expect(try tagFiles(stage).count == 1)
        await stage.hydrator.shutDown()
    }

    @Test func oldestAreDeletedBeyondTheLimit() async throws {
        let folder = try TemporaryFolder()
        let saved = try SavedTags(in: folder.path)
        let all = (0..<4).map { _ in CryptoFile.freshArguments() }
        let bytes = [UInt8](repeating: 7, count: Int(SavedTags.minSize))
        for (age, arguments) in all.enumerated() {
            let tags = BlockTags()
            bytes.withUnsafeBytes { tags.cover(0, with: $0) }
            saved.save(tags, of: arguments, size: SavedTags.minSize)
            var times = [timespec](repeating: timespec(tv_sec: 1_000_000 - age, tv_nsec: 0), count: 2)
            utimensat(AT_FDCWD, folder.path("tags/" + BlockTags.sealedName(of: arguments)), &times, 0)
        }
        let one = UInt64(try folder.read("tags/" + BlockTags.sealedName(of: all[0])).count)
        let next = try SavedTags(in: folder.path, maxBytes: 2 * one + 5)
        let isKept = all.map { next.tags(of: $0, size: SavedTags.minSize) != nil }
        #expect(isKept == [true, true, false, false])
        #expect(try SavedTags(in: folder.path, maxBytes: 0).tags(of: all[0], size: SavedTags.minSize) == nil)
        #expect(try folder.names(in: "tags") == [])
    }
}
