import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import Hydration

/// A stored file is trusted while it is the checked one.
@Suite(.timeLimit(.minutes(10))) struct StoredFileTests {
    private static let size: UInt64 = 300_000
    private static let plain = Pattern.bytes(0..<size, seed: 5)

    /// A stored file with its item.
    private static func stored(on stage: Stage) throws -> (path: String, item: ChatItem) {
        let path = stage.folder.path("stored")
        let arguments = try stage.encrypted(plain, to: path)
        let source = FileSourceLocation(path: path, arguments: arguments)
        return (path, stage.item(7, size: size, status: .rcvComplete, source: source))
    }

    private static func reading(_ item: ChatItem, on stage: Stage) async throws -> [UInt8] {
        let file = stage.hydrator.open(item)
        defer { file.close() }
        return try await file.bytes(0..<size)
    }

    /// Writes until the file's times change, because filesystem clocks tick.
    private static func change(_ path: String) throws {
        let file = try OpenFile(path, flags: O_RDWR)
        let before = FileStamp(try file.status())
        for _ in 0..<10_000 {
            try file.write([0xff, 0xfe], at: 150_000)
            if FileStamp(try file.status()) != before { return }
            usleep(100)
        }
        throw WaitedInVain("writing to a file does not change its times")
    }

    @Test(arguments: [false, true])
    func modifiedFileIsRefusedAtReopen(isClosedMeanwhile: Bool) async throws {
        let stage = try Stage()
        let (path, item) = try Self.stored(on: stage)
        #expect(try await Self.reading(item, on: stage) == Self.plain)
        if isClosedMeanwhile { stage.hydrator.clearCache() }
        try Self.change(path)
        await expectProblem(.damaged) { try await Self.reading(item, on: stage) }
        await stage.hydrator.shutDown()
    }

    @Test func openHandlesAreRefusedAndPagesDropped() async throws {
        let stage = try Stage()
        let (path, item) = try Self.stored(on: stage)
        let reader = stage.hydrator.open(item)
        #expect(try await reader.bytes(0..<Self.size) == Self.plain)
        var changes = stage.hydrator.changes().makeAsyncIterator()
        try Self.change(path)
        let other = stage.hydrator.open(item)
        #expect(other.wasOutdated)
        #expect(await changes.next() == .contentInvalid(FileID(7)))
        await expectProblem(.damaged) { try await other.bytes(0..<10) }
        await expectProblem(.damaged) { try await reader.bytes(0..<10) }
        #expect(!stage.hydrator.open(item).wasOutdated)
        await stage.hydrator.shutDown()
    }

    @Test(arguments: [true, false])
    func replacedFileIsCheckedFirst(isTheSame: Bool) async throws {
        let stage = try Stage()
        let (path, item) = try Self.stored(on: stage)
        #expect(try await Self.reading(item, on: stage) == Self.plain)
        let copy = stage.folder.path("copy")
        if isTheSame {
            let bytes = try OpenFile(path, flags: O_RDONLY).readAll(limit: 1 << 20)
            try OpenFile(copy, flags: O_RDWR | O_CREAT).write(bytes, at: 0)
        } else {
            _ = try stage.encrypted(Self.plain, to: copy)
        }
        try check("replace it") { rename(copy, path) }
        if isTheSame {
            #expect(try await Self.reading(item, on: stage) == Self.plain)
        } else {
            await expectProblem(.damaged) { try await Self.reading(item, on: stage) }
        }
        await stage.hydrator.shutDown()
    }

    // MARK: - Failing cache disks

    private static let plainCache: HydrationSettings = {
        var settings = HydrationSettings()
        settings.cacheMode = .plain
        settings.minimumFree = 0
        return settings
    }()

    /// The cache's folder is gone, so no file can be created.
    @Test func fullCacheKeepsStoredFile() async throws {
        let stage = try Stage(settings: Self.plainCache)
        let (_, item) = try Self.stored(on: stage)
        try check("remove the cache") { rename(stage.folder.path("cache"), stage.folder.path("gone")) }
        for name in try stage.folder.names(in: "gone") { unlink(stage.folder.path("gone/" + name)) }
        try check("remove the cache") { rmdir(stage.folder.path("gone")) }
        let file = stage.hydrator.open(item)
        #expect(try await file.bytes(0..<Self.size) == Self.plain)
        #expect(file.wholePlainFile == nil)
        #expect(stage.core.state.withLock { $0.givenUp } == [])
        await stage.hydrator.shutDown()
    }

    /// A write from unmapped memory fails, like a failing disk.
    @Test func cacheDiskErrorDoesNotBlameStoredFile() async throws {
        let stage = try Stage(settings: Self.plainCache)
        let (path, item) = try Self.stored(on: stage)
        let arguments = try #require(item.file?.source?.arguments)
        let failing = try OpenFile("/proc/self/mem", flags: O_RDWR)
        #expect(throws: SystemError(code: EIO, operation: "write a file")) { try failing.write([1], at: 0) }
        let error = await #expect(throws: HydrationError.self) {
            _ = try await PlainCopy.decrypting(
                path, arguments, size: Self.size, into: failing, usage: Budget(), progress: {})
        }
        #expect(error?.code == .cache && (error?.cause as? SystemError)?.code == EIO)
        // The stored file's error remains.
        unlink(path)
        await expectProblem(.damaged) { try await Self.reading(item, on: stage) }
        #expect(stage.core.state.withLock { $0.givenUp } == [FileID(7)])
        await stage.hydrator.shutDown()
    }

    // MARK: - Checks

    /// A stored file with the number of its checks.
    private struct Checks {
        let folder: TemporaryFolder
        let file: OpenFile
        let arguments = CryptoFile.freshArguments()
        let verified = VerifiedFiles(nil)
        private let count = Lock(0)

        init() throws {
            folder = try TemporaryFolder()
            try folder.write([], to: "file")
            file = try OpenFile(folder.path("file"), flags: O_RDWR)
            let writer = try CryptoFileWriter(file: file, arguments: arguments)
            try writer.append(StoredFileTests.plain)
            try writer.finish()
        }

        /// Changes the times but not the bytes.
        func touch() throws {
            let before = FileStamp(try file.status())
            for _ in 0..<10_000 {
                try file.write(try file.read(count: 1, at: 7), at: 7)
                if FileStamp(try file.status()) != before { return }
                usleep(100)
            }
            throw WaitedInVain("writing to a file does not change its times")
        }

        /// Total number of checks. A file of this size is one step.
        func check(_ during: @escaping @Sendable (Int) -> Void = { _ in }) async throws -> Int {
            let reader = try await verified.reader(of: FileID(1), in: file, arguments) { [count] in
                during(
                    count.withLock { count in
                        count += 1
                        return count
                    })
            }.0
            var byte: [UInt8] = [0]
            #expect(try byte.withUnsafeMutableBytes { try reader.read(into: $0, at: 70_000) } == 1)
            #expect(byte[0] == StoredFileTests.plain[70_000])
            return count.withLock { $0 }
        }

        var soFar: Int { count.withLock { $0 } }
    }

    @Test func checkIsRememberedUntilChange() async throws {
        let checks = try Checks()
        for _ in 0..<3 { #expect(try await checks.check() == 1) }
        try checks.touch()
        for _ in 0..<3 { #expect(try await checks.check() == 2) }
        checks.verified.forget(FileID(1), FileStamp(try checks.file.status()))
        #expect(try await checks.check() == 3)
    }

    @Test func changeDuringCheckRepeatsIt() async throws {
        let checks = try Checks()
        let error = await #expect(throws: HydrationError.self) {
            _ = try await checks.check { _ in try? checks.touch() }
        }
        #expect(error?.code == .changing)
        #expect(checks.soFar == 3)
        #expect(try await checks.check { if $0 == 4 { try? checks.touch() } } == 5)
    }
}
