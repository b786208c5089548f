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
        #expect(try tagFiles(stage).map { $0.split(separator: "-").first } == ["7"])
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

    private static let ends: [@Sendable (Stage) -> Void] = [
        { $0.hydrator.remove(id) },
        { $0.hydrator.update($0.item(7, size: size)) },
        { $0.hydrator.resume($0.item(7, size: size)) },
    ]

    /// Their number would tell that this user had the file.
    @Test(arguments: ends.indices)
    func tagsGoWithTheStoredFile(end: Int) async throws {
        let stage = try Stage()
        let item = try await readOnce(in: stage)
        let next = try Stage(after: stage)
        #expect(next.hydrator.filesOfEarlierMounts == [Self.id])
        next.hydrator.update(item)
        next.hydrator.resume(item)
        #expect(next.hydrator.dehydrate(Self.id))
        try await expectStart(item, next)
        #expect(try tagFiles(next).count == 1)
        Self.ends[end](next)
        try await wait(until: "they are gone") { try tagFiles(next) == [] }
        await next.hydrator.shutDown()
    }

    @Test func tagsOfOtherNamesAreDeleted() async throws {
        let stage = try Stage()
        _ = try await readOnce(in: stage)
        let kept = try tagFiles(stage)
        for name in [String(repeating: "7f", count: 16), ".0123"] {
            _ = try stage.folder.write([1, 2, 3], to: "staging/tags/" + name)
        }
        let next = try Stage(after: stage)
        #expect(try tagFiles(next) == kept)
        await next.hydrator.shutDown()
        var settings = HydrationSettings()
        settings.cacheMode = .memory
        let last = try Stage(settings: settings, after: next)
        #expect(try tagFiles(last) == [])
        await last.hydrator.shutDown()
    }

    @Test func oldestAreDeletedBeyondTheLimit() async throws {
        let folder = try TemporaryFolder()
        let staging = try OpenFile(folder.path, flags: O_RDONLY)
        let saved = try SavedTags(in: staging)
        let all = (0..<4).map { _ in CryptoFile.freshArguments() }
        let bytes = [UInt8](repeating: 7, count: Int(SavedTags.minSize))
        for (number, arguments) in all.enumerated() {
            let tags = BlockTags()
            bytes.withUnsafeBytes { tags.cover(0, with: $0) }
            saved.save(tags, of: FileID(Int64(number)), arguments, size: SavedTags.minSize)
        }
        let names = try folder.names(in: "tags")
        for (age, name) in names.enumerated() {
            var times = [timespec](repeating: timespec(tv_sec: 1_000_000 - age, tv_nsec: 0), count: 2)
            utimensat(AT_FDCWD, folder.path("tags/" + name), &times, 0)
        }
        let one = UInt64(try folder.read("tags/" + names[0]).count)
        let next = try SavedTags(in: staging, maxBytes: 2 * one + 5)
        let isKept = all.indices.map {
            next.tags(of: FileID(Int64($0)), all[$0], size: SavedTags.minSize) != nil
        }
        #expect(isKept == [true, true, false, false])
        #expect(next.filesOfEarlierMounts == [FileID(0), FileID(1)])
        let last = try SavedTags(in: staging, maxBytes: 0)
        #expect(last.tags(of: FileID(0), all[0], size: SavedTags.minSize) == nil)
        #expect(try folder.names(in: "tags") == [])
    }

    /// The number of a deleted file may be given again.
    @Test func tagsOfAnotherFileAreReplaced() throws {
        let folder = try TemporaryFolder()
        let saved = try SavedTags(in: OpenFile(folder.path, flags: O_RDONLY))
        let bytes = [UInt8](repeating: 7, count: Int(SavedTags.minSize))
        for _ in 0..<2 {
            let arguments = CryptoFile.freshArguments()
            #expect(saved.tags(of: Self.id, arguments, size: SavedTags.minSize) == nil)
            let tags = BlockTags()
            bytes.withUnsafeBytes { tags.cover(0, with: $0) }
            saved.save(tags, of: Self.id, arguments, size: SavedTags.minSize)
            #expect(saved.tags(of: Self.id, arguments, size: SavedTags.minSize) != nil)
            #expect(try folder.names(in: "tags").count == 1)
        }
    }
}
