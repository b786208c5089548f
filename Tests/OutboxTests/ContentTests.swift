import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import Outbox

/// Bytes written, read concurrently, truncated, left out, and too many.
@Suite struct ContentTests {
    @Test func writesAndTruncationsMatchAModel() async throws {
        let bench = try Workbench()
        var generator = SeededGenerator(state: 42)
        let draft = try bench.outbox.create(name: name("model"), in: alice)
        var model: [UInt8] = []
        for _ in 0..<300 {
            let offset = Int.random(in: 0..<200_000, using: &generator)
            switch Int.random(in: 0..<10, using: &generator) {
            case 0:
                try draft.truncate(to: UInt64(offset))
                model =
                    offset <= model.count
                    ? Array(model[..<offset])
                    : model + [UInt8](repeating: 0, count: offset - model.count)
            default:
                let bytes = pattern(
                    Int.random(in: 1..<70_000, using: &generator),
                    seed: UInt8.random(in: 0...255, using: &generator))
                try bytes.withUnsafeBytes { try draft.write($0, at: UInt64(offset)) }
                if model.count < offset + bytes.count {
                    model += [UInt8](repeating: 0, count: offset + bytes.count - model.count)
                }
                model.replaceSubrange(offset..<offset + bytes.count, with: bytes)
            }
            #expect(draft.snapshot.size == UInt64(model.count))
        }
        #expect(try bench.content(of: draft) == model)
        draft.closed(for: .writing)
        bench.beQuiet()
        #expect(try await bench.messages(1)[0].bytes == model)
    }

    @Test func readersSeeConcurrentWrites() async throws {
        let bench = try Workbench()
        let draft = try bench.outbox.create(name: name("growing"), in: alice)
        try draft.opened(for: .reading)
        let bytes = pattern(600_000)
        async let reader: Bool = ThreadPool.shared.run {
            var agrees = true
            while draft.snapshot.size < 600_000 && agrees {
                let size = Int(draft.snapshot.size)
                guard let seen = try? bench.content(of: draft) else { return false }
                agrees = seen.count >= size && seen == Array(bytes[..<seen.count])
            }
            return agrees
        }
        for start in stride(from: 0, to: 600_000, by: 9_600) {
            try bytes[start..<min(start + 9_600, 600_000)].withUnsafeBytes {
                try draft.write($0, at: UInt64(start))
            }
        }
        #expect(await reader)
    }

    @Test func holeReadsAsZerosWithoutSpace() async throws {
        let bench = try Workbench()
        let draft = try bench.outbox.create(name: name("sparse"), in: alice)
        try [UInt8]([9]).withUnsafeBytes { try draft.write($0, at: 900_000) }
        let file = bench.folder.path("outbox/spool/" + (try bench.folder.names(in: "outbox/spool"))[0])
        var status = stat()
        #expect(lstat(file, &status) == 0 && status.st_blocks * 512 < 200_000)
        let content = try bench.content(of: draft)
        #expect(content.count == 900_001)
        #expect(content.dropLast().allSatisfy { $0 == 0 } && content.last == 9)
        draft.closed(for: .writing)
    }

    @Test func writeBeyondLimitFailsAndHoldsFile() async throws {
        let bench = try Workbench(maxFileSize: 10_000)
        let draft = try bench.outbox.create(name: name("big"), in: alice)
        try pattern(10_000).withUnsafeBytes { try draft.write($0, at: 0) }
        #expect(fails(.tooLarge) { try [UInt8]([1]).withUnsafeBytes { try draft.write($0, at: 10_000) } })
        #expect(fails(.tooLarge) { try [UInt8]([1]).withUnsafeBytes { try draft.write($0, at: .max) } })
        #expect(draft.snapshot.size == 10_000)
        draft.closed(for: .writing)
        bench.beQuiet()
        try await bench.settle()
        #expect(draft.state == .draft)
        #expect(draft.snapshot.problem?.contains("incomplete") == true)
        #expect(bench.core.sent.count == 1)
        // Rewritten within the limit, it is sent.
        try draft.opened(for: .writing)
        try draft.truncate(to: 0)
        try [UInt8]([5]).withUnsafeBytes { try draft.write($0, at: 0) }
        draft.closed(for: .writing)
        bench.beQuiet()
        #expect(try await bench.messages(2).contains { $0.bytes == [5] })
    }

    @Test func picturesAreSentInOrderWithPreviews() async throws {
        let asked = Lock<[String]>([])
        let bench = try Workbench(completion: { message in
            asked.withLock { $0.append(message.fileName) }
            var completed = message
            if message.fileName == "first.png" {
                try? await Task.sleep(for: .milliseconds(50))
                completed.content.kind = .image(preview: "data:,small")
            } else {
                completed.content.kind = .file
            }
            return completed
        })
        let mark: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        let names = ["first.png", "plain.txt", "broken.png"]
        for name in names { try bench.write(mark, to: name) }
        bench.beQuiet()
        let sent = try await bench.messages(3)
        #expect(sent.map(\.message.fileName) == names)
        #expect(sent.map(\.message.content.kind) == [.image(preview: "data:,small"), .file, .file])
        #expect(sent.map(\.bytes) == [mark, mark, mark])
        #expect(asked.withLock { $0.sorted() } == names.sorted())
    }

    @Test("an unprepared file waits with its reason")
    func refusedBeforehand() async throws {
        let refuses = Lock(true)
        let bench = try Workbench(completion: { message async throws(ChatError) in
            guard message.fileName == "photo.jpg", refuses.withLock({ $0 }) else { return message }
            throw ChatError(.sendingRefused, "Its metadata could not be removed.")
        })
        let refused = try bench.write([1, 2, 3], to: "photo.jpg")
        try bench.write([4], to: "note.txt")
        bench.beQuiet()
        #expect(try await bench.messages(1).map(\.bytes) == [[4]])
        try await wait(until: "it is refused") { refused.snapshot.state == .failed }
        #expect(refused.snapshot.problem == "Its metadata could not be removed.")
        refuses.withLock { $0 = false }
        #expect(try bench.outbox.retry(refused))
        #expect(try await bench.messages(2).map(\.bytes) == [[4], [1, 2, 3]])
    }

    private static func writeCryptoFile(_ bytes: [UInt8], to path: String) -> FileArguments? {
        let arguments = CryptoFile.freshArguments()
        do {
            let file = try OpenFile(path, flags: O_RDWR | O_CREAT | O_EXCL)
            let writer = try CryptoFileWriter(file: file, arguments: arguments)
            try bytes.withUnsafeBytes { try writer.append($0) }
            try writer.finish()
            return arguments
        } catch {
            Issue.record(error)
            return nil
        }
    }

    @Test("a replaced file leaves no copy behind")
    func replaced() async throws {
        let bench = try Workbench(completion: { message in
            var other = message
            let path = message.source.path.split(separator: "/").dropLast().joined(separator: "/")
            other.source = FileSourceLocation(path: "/\(path)/send-other", arguments: nil)
            other.size = 2
            other.source.arguments = Self.writeCryptoFile([8, 9], to: other.source.path)
            return other
        })
        try bench.write([1, 2, 3], to: "photo.jpg")
        bench.beQuiet()
        #expect(try await bench.messages(1).map(\.bytes) == [[8, 9]])
        let staging = try OpenFile(bench.core.stagingFolder, flags: O_RDONLY)
        try await wait(until: "nothing is staged") { (try? PrivateFolder.names(in: staging)) == [] }
    }

    @Test func notesHaveNoSizeLimit() async throws {
        let bench = try Workbench(maxFileSize: 10_000)
        try bench.write(pattern(50_000), to: "big", in: notes)
        bench.beQuiet()
        #expect(try await bench.messages(1)[0].bytes == pattern(50_000))
    }

    @Test func fullDiskIsReportedToWriter() async throws {
        // A filesystem of its own needs root.
        guard geteuid() == 0 else { return }
        let folder = try TemporaryFolder()
        let disk = try folder.makeFolder("disk")
        let mounted = try await Shell.run("mount", ["-t", "tmpfs", "-o", "size=3m", "none", disk])
        try #require(mounted.succeeded, "\(mounted.errors)")
        defer { Unmounting.detach(disk) }
        let core = try RecordingCore(stagingFolder: disk + "/staging", maxFileSize: 100_000_000)
        let clock = ManualClock()
        let outbox = try Outbox(
            core: core, folder: PrivateFolder(disk + "/outbox", purpose: "outbox"),
            quietTime: .seconds(1), clock: clock, wallClock: clock)
        outbox.start()
        let draft = try outbox.create(name: name("big"), in: alice)
        var written: UInt64 = 0
        var failure: OutboxError?
        let piece = pattern(100_000)
        while failure == nil && written < 10_000_000 {
            do {
                try piece.withUnsafeBytes { try draft.write($0, at: written) }
                written += 100_000
            } catch {
                failure = error as? OutboxError
            }
        }
        #expect(failure?.code == .noSpace)
        // Accepted bytes can be sent: half of the disk, because a draft is copied once.
        #expect(written > 500_000 && written < 1_600_000)
        draft.closed(for: .writing)
        #expect(draft.snapshot.problem?.contains("incomplete") == true)
        try outbox.remove(draft)
        let small = try outbox.create(name: name("small"), in: alice)
        try pattern(900_000).withUnsafeBytes { try small.write($0, at: 0) }
        small.closed(for: .writing)
        clock.advance(by: .seconds(1))
        try await wait(until: "it is sent") { core.sent.map(\.bytes) == [pattern(900_000)] }
        await outbox.shutDown()
    }

    @Test func modifiedBytesAreNeverSent() async throws {
        let bench = try Workbench()
        let draft = try bench.write(pattern(100_000), to: "a")
        let file = bench.folder.path("outbox/spool/" + (try bench.folder.names(in: "outbox/spool"))[0])
        try OpenFile(file, flags: O_WRONLY).write([1, 2, 3, 4], at: 70_000)
        bench.beQuiet()
        try await wait(until: "the damage is told") { draft.snapshot.problem != nil }
        #expect(draft.state == .draft)
        #expect(bench.core.sent.isEmpty)
        #expect(fails(.damaged) { _ = try bench.content(of: draft) })
    }
}
