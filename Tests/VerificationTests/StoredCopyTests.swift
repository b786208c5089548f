import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import Verification

@Suite("Conditions of copies")
struct StoredCopyTests {
    private let folder: TemporaryFolder
    private let arguments = CryptoFile.freshArguments()
    private static let bytes = (0..<2_500_000).map { UInt8(truncatingIfNeeded: $0 &* 13 &+ $0 >> 7) }

    init() throws {
        folder = try TemporaryFolder()
        let writer = try CryptoFileWriter(
            file: OpenFile(folder.path("copy"), flags: O_RDWR | O_CREAT), arguments: arguments)
        try writer.append(Self.bytes)
        try writer.finish()
    }

    private func copy(
        size: Int = bytes.count, path: String = "copy", arguments: FileArguments?
    ) -> StoredCopy {
        StoredCopy(
            file: FileID(1), path: "Zoe/a.bin", size: UInt64(size),
            source: FileSourceLocation(path: folder.path(path), arguments: arguments), isReceivable: false)
    }

    @Test("an intact file's bytes are reported once")
    func whole() {
        var read: [UInt64] = []
        #expect(copy(arguments: arguments).examine { read.append($0) } == .whole)
        #expect(read.reduce(0, +) == UInt64(Self.bytes.count) && read.count > 1)
    }

    @Test("a missing or wrong key is damage")
    func keys() {
        #expect(copy(arguments: nil).examine { _ in } == .damaged("Its key is missing."))
        guard case .damaged = copy(arguments: CryptoFile.freshArguments()).examine(read: { _ in }) else {
            Issue.record("it was read with another key")
            return
        }
        for arguments in [
            FileArguments(key: [], nonce: []), FileArguments(key: [1], nonce: self.arguments.nonce),
        ] {
            guard case .damaged = copy(arguments: arguments).examine(read: { _ in }) else {
                Issue.record("it was read with half a key")
                return
            }
        }
    }

    @Test("a wrong length is reported with both lengths", arguments: [-1, 1])
    func length(difference: Int) {
        let size = Self.bytes.count + difference
        #expect(
            copy(size: size, arguments: arguments).examine { _ in Issue.record("nothing is read of it") }
                == .damaged("It has 2500000 bytes of \(size)."))
    }

    @Test("a kept stream is compared with its described digest", arguments: [false, true])
    func describedDigest(isContradictory: Bool) throws {
        let stream = Array("header".utf8) + Self.bytes + [UInt8](repeating: 35, count: 1000)
        let writer = try CryptoFileWriter(
            file: OpenFile(folder.path("stream"), flags: O_RDWR | O_CREAT), arguments: arguments)
        try writer.append(stream)
        try writer.finish()
        var digest = SHA512.hash(try folder.read("stream"))
        if isContradictory { digest[63] ^= 1 }
        var arguments = arguments
        arguments.content = 6..<6 + UInt64(Self.bytes.count)
        var copy = copy(path: "stream", arguments: arguments)
        copy.describedDigest = digest
        var read: UInt64 = 0
        #expect(copy.examine { read += $0 } == (isContradictory ? .contradictory : .whole))
        #expect(read == UInt64(Self.bytes.count))
        copy.describedDigest = nil
        #expect(copy.examine { _ in } == .whole)
    }

    @Test("missing files and non-files are distinguished")
    func missing() throws {
        #expect(copy(path: "nowhere", arguments: arguments).examine { _ in } == .missing)
        #expect(symlink(folder.path("copy"), folder.path("link")) == 0)
        guard case .damaged = copy(path: "link", arguments: arguments).examine(read: { _ in }) else {
            Issue.record("a link was followed")
            return
        }
    }
}

@Suite("Setting files aside")
struct SetAsideTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("a used name gets a number")
    func names() throws {
        for _ in 0..<3 {
            try folder.write([1], to: "left")
            _ = try SetAside(profileFolder: folder.path).move(folder.path("left"))
        }
        #expect(try Set(folder.names(in: "set-aside")) == ["left", "left.2", "left.3"])
        #expect(symlink("/nowhere", folder.path("set-aside/other")) == 0)
        _ = try folder.makeFolder("other")
        try folder.write([5], to: "other/inside")
        #expect(try SetAside(profileFolder: folder.path).move(folder.path("other")) == "other.2")
        #expect(try folder.read("set-aside/other.2/inside") == [5])
        #expect(try folder.names() == ["set-aside"])
    }

    @Test("vanished files are errors, link targets stay")
    func errors() throws {
        let place = try SetAside(profileFolder: folder.path)
        let error = #expect(throws: SystemError.self) { try place.move(folder.path("gone")) }
        #expect(error?.code == ENOENT)
        let target = try folder.write([1], to: "target")
        #expect(symlink(target, folder.path("link")) == 0)
        #expect(try place.move(folder.path("link")) == "link")
        #expect(try folder.read("target") == [1])
        #expect(throws: SystemError.self) { try SetAside(profileFolder: folder.path("nowhere")) }
    }

    @Test("the directory is private")
    func mode() throws {
        _ = try SetAside(profileFolder: folder.path)
        var status = stat()
        #expect(stat(folder.path("set-aside"), &status) == 0 && status.st_mode & 0o777 == 0o700)
    }
}

@Suite("Sentences of findings")
struct FindingWordsTests {
    @Test(
        "each finding states problem and remedy",
        arguments: [
            (
                Finding(.database, "chatfs.db", detail: "Page 3 is wrong", outcome: .lost),
                "chatfs.db: a damaged database. Page 3 is wrong. Restore it from an archive ('chatfs import'); "
                    + "nothing in it was changed."
            ),
            (
                Finding(.damaged, "Zoe/a", size: 2048, detail: "Its tag is wrong.", outcome: .lost),
                "Zoe/a: damaged, \(ByteCount.rounded(2048)). Its tag is wrong. No relay has it: ask its sender to send "
                    + "it again, or restore it from an archive."
            ),
            (
                Finding(
                    .contradictory, "Zoe/a", detail: "Its SHA-512 differs from its description",
                    outcome: .lost),
                "Zoe/a: not the file that its sender described. Its SHA-512 differs from its description. Other recipients "
                    + "may have refused it: ask its sender for it again."
            ),
            (
                Finding(.missing, "Zoe/a", detail: "Gone", outcome: .receivable),
                "Zoe/a: missing. Gone. A relay may still have it: 'chatfs verify --fix' downloads it again."
            ),
            (
                Finding(.missing, "Zoe/a", detail: "Gone", outcome: .requested),
                "Zoe/a: missing. Gone. The next mount downloads it again if a relay still has it."
            ),
            (
                Finding(.damaged, "Zoe/a", detail: "Cut", outcome: .setAside),
                "Zoe/a: damaged. Cut. It was set aside and not deleted."
            ),
            (
                Finding(.stray, "profiles/1/files/x", size: 0, detail: "Nobody's", outcome: .removable),
                "profiles/1/files/x: not referenced, \(ByteCount.rounded(0)). Nobody's. 'chatfs verify --fix' sets it aside."
            ),
            (
                Finding(.exposed, ".", detail: "Its mode is 0755", outcome: .closable),
                ".: accessible to others. Its mode is 0755. 'chatfs verify --fix' removes the access of others."
            ),
            (
                Finding(.unreadable, "profiles/1", detail: "It is a link", outcome: .lost),
                "profiles/1: cannot be read. It is a link. Its content was not checked: remove the cause of the error."
            ),
            (
                Finding(
                    .missing, "profiles/1/keep.sqlite", detail: "It held rules", outcome: .replaceable),
                "profiles/1/keep.sqlite: missing. It held rules. Restore it from a backup, or continue without it by 'chatfs verify --fix'."
            ),
            (
                Finding(
                    .missing, "profiles/1/keep.sqlite", detail: "It held rules", outcome: .replaced),
                "profiles/1/keep.sqlite: missing. It held rules. It is created again without its former content."
            ),
            (
                Finding(.damaged, "Zoe/a", detail: "Cut", outcome: .refetchable),
                "Zoe/a: damaged. Cut. The next read in a mount downloads it again if a relay still has it."
            ),
            (
                Finding(.archive, "a.zip", detail: "Cut", outcome: .elsewhere),
                "a.zip: not an archive as ChatFS wrote it. Cut. Use another copy of the archive, or write a new one."
            ),
            (
                Finding(.exposed, ".", detail: "Its mode is 0755", outcome: .closed),
                ".: accessible to others. Its mode is 0755. Only its owner has access now."
            ),
        ])
    func words(finding: Finding, sentence: String) {
        #expect(finding.sentence == sentence)
    }

    @Test("a record counts unsettled findings")
    func record() throws {
        let findings = Finding.Outcome.allCases.map { Finding(.damaged, "x", detail: "y", outcome: $0) }
        let record = VerificationRecord(time: 1, databases: 2, files: 3, bytes: 4, findings: findings)
        #expect(record.unsettled == 7 && findings.count == 11)
        let text = String(decoding: record.encoded, as: UTF8.self)
        for word in [
            "lost", "receivable", "requested", "set-aside", "removable", "closable", "closed", "replaceable",
            "replaced", "refetchable", "elsewhere",
        ] {
            #expect(text.contains("\"\(word)\""), "\(word)")
        }
    }
}
