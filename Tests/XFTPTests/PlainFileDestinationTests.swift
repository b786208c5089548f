import Base
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import XFTP

/// A plain file gets its name when it is complete and replaces no other file.
@Suite struct PlainFileDestinationTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func header(_ size: UInt64) throws -> FileHeader {
        let encoded = FileHeader.encode(name: "a.txt", contentSize: size)
        return try #require(FileHeader(stream: encoded, streamSize: 1 << 20))
    }

    private func destination(
        _ naming: @escaping PlainFileDestination.Naming = { header, attempt in
            attempt == 1 ? header.name : "\(attempt) \(header.name)"
        }
    ) throws -> PlainFileDestination {
        try PlainFileDestination(folder: folder.path, for: Vectors.description(), naming: naming)
    }

    private func write(_ bytes: [UInt8], at offset: UInt64 = 0, _ destination: PlainFileDestination) throws {
        var bytes = bytes
        try bytes.withUnsafeMutableBytes { try destination.write($0, at: offset) }
    }

    @Test func fileIsHiddenUntilComplete() throws {
        let destination = try destination()
        try destination.begin(header(5))
        try write([1, 2, 3, 4, 5], destination)
        #expect(try folder.names().allSatisfy { $0.hasPrefix(".chatfs-") && $0.hasSuffix(".part") })
        #expect(destination.finalName == nil)
        try destination.finish(size: 5)
        #expect(try folder.names() == ["a.txt"] && folder.read("a.txt") == [1, 2, 3, 4, 5])
        #expect(destination.finalName == "a.txt")
        var status = stat()
        #expect(stat(folder.path("a.txt"), &status) == 0 && status.st_mode & 0o077 == 0)
    }

    @Test func excessBytesAreTruncated() throws {
        let destination = try destination()
        try destination.begin(header(3))
        try write([1, 2, 3, 4, 5], destination)
        try destination.finish(size: 3)
        #expect(try folder.read("a.txt") == [1, 2, 3])
    }

    @Test func existingNamesAreKept() throws {
        try folder.write([9], to: "a.txt")
        #expect(symlink("/nowhere", folder.path("2 a.txt")) == 0)
        let destination = try destination()
        try destination.begin(header(1))
        try write([1], destination)
        try destination.finish(size: 1)
        #expect(destination.finalName == "3 a.txt")
        #expect(try folder.read("a.txt") == [9] && folder.read("3 a.txt") == [1])
    }

    @Test func missingNameKeepsThePartFile() async throws {
        try folder.write([9], to: "a.txt")
        do {
            let destination = try destination { header, attempt in attempt == 1 ? header.name : nil }
            try destination.begin(header(1))
            try write([1], destination)
            let error = #expect(throws: SystemError.self) { try destination.finish(size: 1) }
            #expect(error?.code == EEXIST && destination.finalName == nil)
        }
        #expect(try folder.read("a.txt") == [9] && folder.names().count == 2)
        // The next attempt finds it. A child process of another test may hold the lock until it runs its program.
        let again = try await wait(for: "the lock") { try? destination() }
        #expect(try again.bytesPresent() == 1)
        try again.begin(header(1))
        try again.finish(size: 1)
        #expect(again.finalName == "2 a.txt")
    }

    @Test func invalidNamesAreErrors() throws {
        let destination = try destination { _, _ in "no/where" }
        try destination.begin(header(1))
        try write([1], destination)
        let error = #expect(throws: SystemError.self) { try destination.finish(size: 1) }
        #expect(error?.code == ENOENT)
    }

    @Test func interruptedAttemptIsReadBack() throws {
        do {
            let first = try destination()
            try first.begin(header(8))
            try write([1, 2, 3], first)
        }
        let second = try destination()
        #expect(try second.bytesPresent() == 3)
        var bytes = [UInt8](repeating: 0, count: 8)
        let count = try bytes.withUnsafeMutableBytes { try second.read(into: $0, at: 1) }
        #expect(count == 2 && bytes.prefix(2) == [2, 3])
        second.discard()
        #expect(try folder.names().isEmpty)
    }

    @Test func sameFileIsReceivedOnlyOnceAtATime() throws {
        let first = try destination()
        let error = #expect(throws: XFTPError.self) { try destination() }
        #expect(error?.code == .storage)
        #expect(error?.sentence == "The same file is already being received into this folder.")
        var other = try Vectors.description()
        other.digest[0] ^= 1
        let beside = try PlainFileDestination(folder: folder.path, for: other) { _, _ in "b" }
        #expect(try folder.names().count == 2)
        _ = (first, beside)
    }

    @Test func missingFolderAndLinkAreRejected() throws {
        let error = #expect(throws: XFTPError.self) {
            try PlainFileDestination(folder: folder.path("nowhere"), for: Vectors.description()) { _, _ in "x"
            }
        }
        #expect(error?.code == .storage && (error?.cause as? SystemError)?.code == ENOENT)
        do { try destination().begin(header(1)) }
        let part = try #require(try folder.names().first)
        #expect(unlink(folder.path(part)) == 0)
        let target = try folder.write([7], to: "target")
        #expect(symlink(target, folder.path(part)) == 0)
        #expect(throws: XFTPError.self) { try destination() }
        #expect(try folder.read("target") == [7])
    }
}
