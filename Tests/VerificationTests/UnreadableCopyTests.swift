import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import Verification

/// Unreadable data is not given up, because the error says nothing about its bytes.
@Suite("Unreadable copies")
struct UnreadableCopyTests {
    private static func condition(_ code: Int32) -> StoredCopy.Condition {
        StoredCopy.condition(for: CryptographyError(SystemError(code: code, operation: "open a file")))
    }

    @Test("only evidence counts as damage or loss")
    func codes() {
        for code in [ENOENT, ENOTDIR] { #expect(Self.condition(code) == .missing) }
        for code in [ELOOP, EISDIR, EIO] {
            guard case .damaged = Self.condition(code) else {
                Issue.record("\(code) is a link or a folder in its place, or a lost sector")
                continue
            }
        }
        for code in [
            EMFILE, ENFILE, EACCES, EPERM, ENOMEM, EINTR, EAGAIN, ENXIO, ESTALE, ENOTCONN, ETIMEDOUT,
            EBUSY,
        ] {
            let sentence = SystemError(code: code, operation: "open a file").sentence
            #expect(Self.condition(code) == .unreadable(sentence), "\(code)")
        }
    }

    @Test("wrong bytes are always damage")
    func bytes() {
        for code in [
            CryptographyErrorCode.notAuthentic, .tooShort, .invalidKey, .invalidArguments,
        ] {
            let error = CryptographyError(code, "So it is.")
            #expect(StoredCopy.condition(for: error) == .damaged("So it is."))
        }
        for code in [CryptographyErrorCode.noMemory, .library] {
            let error = CryptographyError(code, "So it is.")
            #expect(StoredCopy.condition(for: error) == .unreadable("So it is."))
        }
    }

    @Test("a lack of descriptors is no damage")
    func descriptors() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryFolder()
            let arguments = CryptoFile.freshArguments()
            let writer = try CryptoFileWriter(
                file: OpenFile(folder.path("copy"), flags: O_RDWR | O_CREAT), arguments: arguments)
            try writer.append([UInt8](repeating: 5, count: 100_000))
            try writer.finish()
            let copy = StoredCopy(
                file: FileID(1), path: "Zoe/a", size: 100_000,
                source: FileSourceLocation(path: folder.path("copy"), arguments: arguments),
                isReceivable: true)
            var limit = rlimit(rlim_cur: 64, rlim_max: 64)
            guard setrlimit(__rlimit_resource_t(7), &limit) == 0 else { exit(3) }
            var taken: [Int32] = []
            while true {
                let next = open("/dev/null", O_RDONLY)
                if next < 0 { break }
                taken.append(next)
            }
            guard errno == EMFILE, case .unreadable = copy.examine(read: { _ in }) else { exit(4) }
            for descriptor in taken { close(descriptor) }
            guard copy.examine(read: { _ in }) == .whole else { exit(5) }
        }
    }

    @Test("repair skips unreadable files")
    func profile() async throws {
        let household = try await Household(notes: ["a.txt": [1, 2, 3], "b.txt": [4]])
        let path = try household.stored("a.txt")
        let kept = household.folder.path("kept")
        #expect(rename(path, kept) == 0)
        // Not even root can open a socket.
        #expect(mknod(path, S_IFSOCK | 0o600, 0) == 0)
        let result = try household.found()
        #expect(result.broken.isEmpty)
        #expect(result.findings.map(\.kind) == [.unreadable])
        let finding = try #require(result.findings.first)
        #expect(finding.path == "Saved notes/a.txt" && finding.size == 3 && finding.outcome == .lost)
        #expect(!finding.isSettled && finding.sentence.contains("cannot be read"))
        #expect(finding.sentence.contains("remove the cause of the error"))
        #expect(result.files == 2 && result.bytes == 4)
        // Nothing was changed; restored, it is intact.
        #expect(unlink(path) == 0 && rename(kept, path) == 0)
        #expect(try household.found().record(at: 0).findings == [])
    }

    @Test("repair handles damaged and missing files")
    func others() async throws {
        let household = try await Household(notes: ["a.txt": [1, 2, 3], "b.txt": [4], "c.txt": [5]])
        try household.flip(household.stored("a.txt"), at: 0)
        #expect(unlink(try household.stored("b.txt")) == 0)
        let result = try household.found()
        #expect(result.findings.isEmpty)
        #expect(Set(result.broken.map(\.finding.kind)) == [.damaged, .missing])
        #expect(result.broken.allSatisfy { $0.copy.file != nil && $0.finding.outcome == .lost })
    }

    @Test("progress reaches the total")
    func progress() async throws {
        let notes = Dictionary(
            uniqueKeysWithValues: (1...6).map { ("n\($0)", [UInt8](repeating: 1, count: $0)) })
        let household = try await Household(notes: notes)
        for name in ["n2", "n5"] {
            let path = try household.stored(name)
            #expect(unlink(path) == 0 && mknod(path, S_IFSOCK | 0o600, 0) == 0)
        }
        var told: [UInt64] = []
        let result = try household.verification().run { done, total in
            #expect(total == 21)
            told.append(done)
        }
        #expect(told == told.sorted() && told.allSatisfy { $0 <= 21 })
        #expect(result.bytes == 21 && result.files == 6)
        #expect(result.findings.count { $0.kind == .unreadable } == 2)
    }
}

@Suite("Stored summaries")
struct VerificationSummaryTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let record = VerificationRecord(
        time: 1_800_000_000, databases: 2, files: 3, bytes: .max,
        findings: [
            Finding(.missing, "Zoe/secret name.txt", size: 5, detail: "Gone", outcome: .lost),
            Finding(.stray, "profiles/1/x", detail: "Nobody's", outcome: .setAside),
        ])

    @Test("the last summary is private, without names")
    func kept() throws {
        #expect(VerificationSummary.read(profileFolder: folder.path) == nil)
        let summary = VerificationSummary(Self.record)
        #expect(summary.unsettled == 1 && summary.bytes == .max)
        try summary.write(toProfileFolder: folder.path)
        #expect(VerificationSummary.read(profileFolder: folder.path) == summary)
        let text = String(decoding: try folder.read("verified.json"), as: UTF8.self)
        for word in ["secret", "Zoe", "Gone", "missing"] { #expect(!text.contains(word), "\(word)") }
        var status = stat()
        #expect(stat(folder.path("verified.json"), &status) == 0 && status.st_mode & 0o777 == 0o600)
        var next = summary
        (next.time, next.unsettled) = (next.time + 1, 0)
        try next.write(toProfileFolder: folder.path)
        #expect(VerificationSummary.read(profileFolder: folder.path) == next)
        #expect(try folder.names() == ["verified.json"])
    }

    @Test("an invalid summary counts as none")
    func damaged() throws {
        try VerificationSummary(Self.record).write(toProfileFolder: folder.path)
        let whole = try folder.read("verified.json")
        for count in 0..<whole.count {
            try folder.write(Array(whole[..<count]), to: "verified.json")
            #expect(VerificationSummary.read(profileFolder: folder.path) == nil, "\(count)")
        }
        for text in ["null", "[]", "{}", #"{"time":"x"}"#, String(repeating: " ", count: 5000)] {
            try folder.write(Array(text.utf8), to: "verified.json")
            #expect(VerificationSummary.read(profileFolder: folder.path) == nil)
        }
        // Link targets are not read either.
        try folder.write(whole, to: "elsewhere")
        #expect(unlink(folder.path("verified.json")) == 0)
        #expect(symlink(folder.path("elsewhere"), folder.path("verified.json")) == 0)
        #expect(VerificationSummary.read(profileFolder: folder.path) == nil)
    }

    @Test("missing and linked directories get none")
    func places() throws {
        let summary = VerificationSummary(Self.record)
        #expect(throws: SystemError.self) { try summary.write(toProfileFolder: folder.path("none")) }
        let target = try folder.makeFolder("target")
        #expect(symlink(target, folder.path("link")) == 0)
        #expect(throws: SystemError.self) { try summary.write(toProfileFolder: folder.path("link")) }
        #expect(try folder.names(in: "target") == [])
    }
}
