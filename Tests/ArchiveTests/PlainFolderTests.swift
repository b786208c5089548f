import Base
import ChatCore
import Cryptography
import EmbeddedCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import Archive

@Suite("Folders of decrypted files")
struct PlainFolderTests {
    private let folder: TemporaryFolder
    private let alice: Profile
    private let bob: Profile

    init() throws {
        folder = try TemporaryFolder()
        let directory = try DataDirectory(folder.path("data"))
        alice = try directory.createProfile("alice")
        bob = try directory.createProfile("bob")
    }

    private func open(_ name: String = "clear", of profile: Profile? = nil) throws -> PlainFolder {
        try PlainFolder(folder.path(name), of: profile ?? alice)
    }

    /// A message with a file whose CryptoFile is named after its number. Those of odd numbers are kept as they came.
    private func item(_ number: Int64, _ bytes: [UInt8], name: String = "a.txt", isHere: Bool = true) throws
        -> ChatItem
    {
        var source: FileSourceLocation?
        if isHere {
            let path = folder.path("source-\(number)")
            var arguments = CryptoFile.freshArguments()
            let writer = try CryptoFileWriter(
                file: OpenFile(path, flags: O_RDWR | O_CREAT | O_TRUNC), arguments: arguments)
            if number % 2 == 1 {
                try writer.append(Array("header".utf8))
                arguments.content = 6..<6 + UInt64(bytes.count)
            }
            try writer.append(bytes)
            if number % 2 == 1 { try writer.append([UInt8](repeating: 35, count: 70_000)) }
            try writer.finish()
            source = FileSourceLocation(path: path, arguments: arguments)
        }
        return ChatItem(
            id: ItemID(number), chat: .direct(1), direction: .received, sender: "zoe",
            time: Timestamp(seconds: 1_700_000_000 + number), content: MessageContent(kind: .file),
            file: ChatFile(
                id: FileID(number), name: name, size: UInt64(bytes.count), status: .rcvComplete,
                transport: .inline, source: source))
    }

    private func put(_ item: ChatItem, as name: String = "a.txt", _ place: PlainFolder) throws
        -> PlainFolder.Outcome
    {
        var read: UInt64 = 0
        let outcome = try place.put(item, chat: ("Zoe", "Zoë"), name: name) { read += $0 }
        if outcome == .written || outcome == .writtenAgain { #expect(read == item.file?.size) }
        return outcome
    }

    private func status(_ name: String) throws -> stat {
        var status = stat()
        try check("look at a file") { lstat(folder.path(name), &status) }
        return status
    }

    @Test func logIsReplacedWhole() throws {
        let place = try open()
        func read() throws -> String {
            String(decoding: try folder.read("clear/Zoe/messages.jsonl"), as: UTF8.self)
        }
        try place.putLog(Array("old".utf8), at: 0)
        try place.endLog(chat: "Zoe")
        try place.putLog(Array("ne".utf8), at: 0)
        #expect(try read() == "old")
        try place.putLog(Array("w".utf8), at: 2)
        try place.endLog(chat: "Zoe")
        #expect(try read() == "new")
        #expect(try !folder.names(in: "clear").contains(".new"))
    }

    @Test("an unreadable manifest is not a missing one")
    func unreadableManifest() throws {
        do {
            let place = try open()
            #expect(try put(item(1, [1, 2]), place) == .written)
            try place.save()
        }
        let (manifest, kept) = (folder.path("clear/manifest.json"), folder.path("kept"))
        try check("move it") { rename(manifest, kept) }
        // A manifest that even root cannot open.
        try check("make a socket") { mknod(manifest, S_IFSOCK | 0o600, 0) }
        #expect(throws: SystemError(code: ENXIO, operation: "open a file")) { try open() }
        try check("move it back") { rename(kept, manifest) }
        #expect(try put(item(1, [1, 2]), open()) == .unchanged)
    }

    @Test(
        "manifest paths consist of a folder and a name",
        arguments: [
            ("a/b", true), ("\u{301}a/\u{301}b", true), ("a\u{600}/b", true), ("a\u{600}/..", false),
            ("a\u{600}/../b", false), ("\u{301}a/\u{301}b/\u{301}c", false), ("../a", false), ("/a", false),
            ("/a/b", false), ("a/", false), ("a//b", false), ("a", false), ("", false), ("./a", false),
        ])
    func manifestPaths(path: String, isOurs: Bool) {
        var manifest = PlainManifest(profile: "alice")
        manifest.files = [
            .init(
                item: 1, path: path, chat: "Zoë", name: "a", sender: "zoe", direction: "received", time: 0,
                size: 0,
                sha256: "")
        ]
        #expect(manifest.isOurs == isOurs)
    }

    @Test("files have content, time and private permissions")
    func written() throws {
        let place = try open()
        #expect(try put(item(1, ArchiveStage.bytes(100_000)), place) == .written)
        try place.save()
        #expect(try folder.read("clear/Zoe/a.txt") == ArchiveStage.bytes(100_000))
        let status = try status("clear/Zoe/a.txt")
        #expect(status.st_mode & 0o777 == 0o600 && status.st_mtim.tv_sec == 1_700_000_001)
        #expect(try self.status("clear").st_mode & 0o777 == 0o700)
        #expect(try self.status("clear/Zoe").st_mode & 0o777 == 0o700)
        let text = String(decoding: try folder.read("clear/manifest.json"), as: UTF8.self)
        for word in ["\"alice\"", "\"Zoë\"", "\"zoe\"", "received", "1700000001", "Zoe/a.txt", "100000"] {
            #expect(text.contains(word), "\(word)")
        }
        #expect(text.contains(Hexadecimal.encode(SHA256.hash(ArchiveStage.bytes(100_000)))))
    }

    @Test("the next run restores only deleted files")
    func again() throws {
        let items = try (1...4).map { try item(Int64($0), [UInt8($0), 2, 3]) }
        do {
            let place = try open()
            for (number, item) in items.enumerated() {
                #expect(try put(item, as: "\(number)", place) == .written)
            }
            try place.save()
        }
        #expect(unlink(folder.path("clear/Zoe/1")) == 0)
        try folder.write([9], to: "clear/Zoe/2")
        // Equal length and other content: the time differs.
        try folder.write([9, 9, 9], to: "clear/Zoe/3")
        let place = try open()
        let outcomes = try items.enumerated().map { try put($1, as: "\($0)", place) }
        #expect(outcomes == [.unchanged, .writtenAgain, .changed, .changed])
        #expect(try folder.read("clear/Zoe/1") == [2, 2, 3] && folder.read("clear/Zoe/2") == [9])
        #expect(try put(items[1], as: "1", place) == .unchanged)
    }

    @Test("files with equal names get stable numbers")
    func sameName() throws {
        let (first, second) = (try item(1, [1]), try item(2, [2]))
        do {
            let place = try open()
            #expect(try put(first, place) == .written && put(second, place) == .written)
            try place.save()
        }
        #expect(try folder.read("clear/Zoe/a.txt") == [1] && folder.read("clear/Zoe/a (2).txt") == [2])
        #expect(unlink(folder.path("clear/Zoe/a.txt")) == 0)
        let place = try open()
        // The free name belongs to the first file.
        #expect(try put(second, place) == .unchanged && put(first, place) == .writtenAgain)
        #expect(try folder.read("clear/Zoe/a.txt") == [1] && folder.read("clear/Zoe/a (2).txt") == [2])
    }

    @Test("another message of the same number has its own file")
    func sameNumber() throws {
        let first = try item(1, [1, 2])
        do {
            let place = try open()
            #expect(try put(first, place) == .written)
            try place.save()
        }
        let second = try item(1, [3, 4, 5])
        var third = second
        third.direction = .sent
        do {
            let place = try open()
            #expect(try put(second, place) == .written && put(third, place) == .written)
            try place.save()
        }
        #expect(try folder.read("clear/Zoe/a.txt") == [1, 2])
        #expect(try folder.read("clear/Zoe/a (2).txt") == [3, 4, 5])
        let place = try open()
        for item in [first, second, third] { #expect(try put(item, place) == .unchanged) }
        #expect(try folder.names(in: "clear/Zoe").count == 3)
    }

    @Test("a stored file of another size than its message is refused")
    func otherSize() throws {
        var item = try item(1, [1, 2])
        item.file?.size = 3
        guard case .failed = try put(item, open()) else {
            Issue.record("it was accepted")
            return
        }
        #expect(try folder.names(in: "clear/Zoe").isEmpty)
    }

    @Test("other files keep their names")
    func taken() throws {
        let place = try open()
        _ = try folder.makeFolder("clear/Zoe")
        #expect(chmod(folder.path("clear/Zoe"), 0o700) == 0)
        try folder.write([7], to: "clear/Zoe/a.txt")
        _ = try folder.makeFolder("clear/Zoe/a (2).txt")
        #expect(symlink("/nowhere", folder.path("clear/Zoe/a (3).txt")) == 0)
        #expect(try put(item(1, [1]), place) == .written)
        #expect(try folder.read("clear/Zoe/a.txt") == [7] && folder.read("clear/Zoe/a (4).txt") == [1])
    }

    @Test(
        "files of any name stay when others follow",
        arguments: [".new", ".lock", ".entries", "manifest.json"])
    func hiddenNames(name: String) throws {
        let place = try open()
        #expect(try put(item(1, [1], name: name), as: name, place) == .written)
        #expect(try put(item(2, [2, 2]), place) == .written)
        try place.save()
        #expect(try folder.read("clear/Zoe/" + name) == [1] && folder.read("clear/Zoe/a.txt") == [2, 2])
        #expect(try put(item(1, [1], name: name), as: name, place) == .unchanged)
    }

    @Test("a killed run repeats no finished file")
    func killed() throws {
        let (first, second) = (try item(1, [1]), try item(2, [2]))
        do {
            let place = try open()
            #expect(try put(first, place) == .written)
            #expect(try put(second, as: "b.txt", place) == .written)
        }
        // The kill was before the second file got its name, and in the middle of a line of the next.
        try check("remove it") { unlink(folder.path("clear/Zoe/b.txt")) }
        try folder.write([5, 5], to: "clear/.new")
        let lines = try folder.read("clear/.entries")
        try folder.write(lines + Array(#"{"chat":"Zo"#.utf8), to: "clear/.entries")
        let place = try open()
        #expect(try folder.names(in: "clear").contains("manifest.json"))
        #expect(try put(first, place) == .unchanged)
        #expect(try put(second, as: "b.txt", place) == .writtenAgain)
        try place.save()
        #expect(try Set(folder.names(in: "clear/Zoe")) == ["a.txt", "b.txt"])
        #expect(try !folder.names(in: "clear").contains(".entries"))
        #expect(place.leftOver(whenPresent: []) == ["Zoe/a.txt", "Zoe/b.txt"])
    }

    @Test("the manifest is saved every 200 files")
    func saved() throws {
        let place = try open()
        for number in 1...201 {
            #expect(try put(item(Int64(number), [1]), as: "\(number)", place) == .written)
            #expect((access(folder.path("clear/manifest.json"), F_OK) == 0) == (number >= 200))
        }
    }

    @Test("failed files leave nothing and do not stop others")
    func failures() throws {
        let place = try open()
        #expect(try put(item(1, [1, 2], isHere: false), place) == .notHere)
        var keyless = try item(2, [1])
        keyless.file?.source?.arguments = nil
        #expect(try put(keyless, place) == .notHere)
        let damaged = try item(3, ArchiveStage.bytes(50_000))
        var bytes = try folder.read("source-3")
        bytes[40_000] ^= 1
        try folder.write(bytes, to: "source-3")
        guard case .failed(let sentence) = try put(damaged, place) else {
            Issue.record("it was accepted")
            return
        }
        #expect(!sentence.isEmpty && !sentence.contains("a.txt"))
        let gone = try item(4, [1])
        #expect(unlink(folder.path("source-4")) == 0)
        guard case .failed = try put(gone, place) else {
            Issue.record("it was accepted")
            return
        }
        #expect(try put(item(5, [5]), place) == .written)
        #expect(try folder.names(in: "clear/Zoe") == ["a.txt"])
        var textOnly = try item(6, [1])
        textOnly.file = nil
        #expect(try put(textOnly, place) == .unchanged)
    }

    @Test("files of deleted messages are reported and kept")
    func leftOver() throws {
        let place = try open()
        for number: Int64 in 1...3 { _ = try put(item(number, [1]), as: "\(number)", place) }
        #expect(place.leftOver(whenPresent: [ItemID(1), ItemID(2), ItemID(3)]).isEmpty)
        #expect(place.leftOver(whenPresent: [ItemID(2), ItemID(9)]) == ["Zoe/1", "Zoe/3"])
        #expect(try folder.names(in: "clear/Zoe").count == 3)
    }

    @Test("a folder has one profile, one process, no other files")
    func refused() throws {
        do {
            let place = try open()
            _ = try put(item(1, [1]), place)
            try place.save()
            let second = #expect(throws: ArchiveError.self) { try open() }
            #expect(second?.sentence == "Another export into this folder is running; wait until it ends.")
        }
        #expect(throws: (any Error).self) { try open(of: bob) }
        _ = try folder.makeFolder("mine")
        try folder.write([1], to: "mine/letter")
        #expect(throws: (any Error).self) { try open("mine") }
        #expect(try folder.names(in: "mine") == ["letter"])
    }

    @Test(
        "changed manifests are rejected",
        arguments: [
            "", "{", "[]", #"{"format":"x","version":1,"profile":"alice","files":[]}"#,
            #"{"format":"chatfs decrypted files","version":2,"profile":"alice","files":[]}"#,
            #"{"format":"chatfs decrypted files","version":1,"profile":"alice","files":[{"item":1,"path":"../x","chat":"c","name":"n","sender":"s","direction":"sent","time":1,"size":1,"sha256":""}]}"#,
            #"{"format":"chatfs decrypted files","version":1,"profile":"alice","files":[{"item":1,"path":"a/b/c","chat":"c","name":"n","sender":"s","direction":"sent","time":1,"size":1,"sha256":""}]}"#,
            #"{"format":"chatfs decrypted files","version":1,"profile":"alice","files":[{"item":1,"path":"x","chat":"c","name":"n","sender":"s","direction":"sent","time":1,"size":1,"sha256":""}]}"#,
            #"{"format":"chatfs decrypted files","version":1,"profile":"alice","files":[{"item":1,"path":"./x","chat":"c","name":"n","sender":"s","direction":"sent","time":1,"size":1,"sha256":""}]}"#,
        ])
    func changedList(text: String) throws {
        do { try open().save() }
        try folder.write(Array(text.utf8), to: "clear/manifest.json")
        let error = #expect(throws: ArchiveError.self) { try open() }
        #expect(error?.code == .malformed)
        #expect(try folder.read("clear/manifest.json") == Array(text.utf8))
    }
}
