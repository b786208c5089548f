import Base
import ChatCore
import Desktop
import Glibc
import Keeping
import Namespace
import Posix
import SMP
import Testing
import XFTP

@testable import FileSystem
@testable import chatfs

@Suite("Output for programs and users")
struct ProgramWordsTests {
    @Test("chats have folder, name and refusal")
    func chats() {
        let time = Timestamp(seconds: 7)
        for (reference, kind) in [
            (ChatReference.direct(7), "direct"), (.group(3), "group"), (.notes(1), "notes"),
            (.links, "links"),
        ] {
            let chat = ProgramChat(
                FolderDescription(
                    id: NodeID(5), name: "Bob (2)",
                    chat: Chat(
                        reference: reference, displayName: "Bob", updatedAt: time, sendingRefused: "No.")))
            #expect(chat.kind == kind && chat.chat == reference.description)
            #expect(
                chat.folder == "Bob (2)" && chat.name == "Bob" && chat.updated == 7 && chat.refused == "No.")
            #expect(chat.actions == ["messages", "mark_read", "mute", "approve", "keep", "free"])
        }
    }

    @Test("core errors map to retry codes")
    func refusals() {
        let codes: [(ChatErrorCode, ProgramErrorCode)] = [
            (.noSuchChat, .noSuchChat), (.noSuchItem, .noSuchItem), (.noSuchFile, .noSuchItem),
            (.tooLarge, .refused), (.sendingUnsure, .refused), (.sendingUndecided, .failed),
            (.storage, .failed),
        ]
        for (code, expected) in codes {
            #expect(ProgramError(ChatError(code, "Because.")).code == expected, "\(code)")
        }
    }

    @Test("verification mentions post-quantum keys if used")
    func protection() {
        for protection in ContactProtection.allCases {
            let sentence = protection.sentence
            #expect(sentence.hasPrefix("Encryption: post-quantum, ") == (protection == .postQuantum))
            #expect(sentence.hasPrefix("Encryption: standard. ") == (protection != .postQuantum))
            #expect(sentence.contains("libgcrypt") == (protection == .onlyStandard))
        }
    }

    @Test("items contain exactly their attributes")
    func items() {
        var entry = EntryDescription(
            id: NodeID(9), path: "Bob/a.txt", chat: .direct(7), size: 5, modified: Timestamp(seconds: 8),
            attributes: [:], digest: nil)
        let bare = ProgramItem(entry)
        #expect(bare.number == 9 && bare.name == "a.txt" && bare.state == "" && bare.progress == 0)
        #expect(bare.pinned == nil && bare.sha256 == nil && bare.expires == nil && bare.type == nil)
        let attributes = [
            "state": "stored", "progress": "40", "direction": "received", "sender": "Bob",
            "transport": "xftp",
            "caption": "hi", "link": "l", "expires": "77", "pinned": "1", "error": "e",
        ]
        for (name, value) in attributes { entry.attributes["user.chatfs." + name] = value }
        entry.attributes["user.mime_type"] = "text/plain"
        entry.digest = [0xAB, 1]
        let item = ProgramItem(entry)
        #expect(item.state == "stored" && item.progress == 40 && item.direction == "received")
        #expect(item.sender == "Bob" && item.transport == "xftp" && item.caption == "hi" && item.link == "l")
        #expect(item.expires == 77 && item.pinned == true && item.error == "e" && item.type == "text/plain")
        #expect(item.sha256 == "ab01" && item.chat == "@7" && item.size == 5 && item.modified == 8)
        entry.attributes["user.chatfs.expires"] = "soon"
        #expect(ProgramItem(entry).expires == nil)
    }

    private static func status(
        _ entries: [(EntryState, String?)], problem: String? = nil, isSuspended: Bool = false
    ) -> ProgramStatus {
        var status = SyncStatus()
        status.coreProblem = problem
        for (state, error) in entries { status.add(EntryReport(state: state, progress: 0, problem: error)) }
        return ProgramStatus(status, isSuspended: isSuspended)
    }

    @Test("synced means neither pending nor failed")
    func sync() {
        let idle = Self.status([])
        #expect(
            idle.connected && idle.synced && idle.pending == 0 && idle.failed == 0 && idle.lastError == nil)
        let busy = Self.status([
            (.sending, nil), (.failed, "first"), (.unsure, "second"), (.recovered, nil), (.queued, nil),
        ])
        #expect(!busy.synced && busy.pending == 2 && busy.failed == 3 && busy.lastError == "first")
        // A held draft does not move until its user decides.
        let held = Self.status([(.draft, nil), (.draft, "It may be incomplete.")])
        #expect(!held.synced && held.pending == 1 && held.failed == 1)
        // Waiting for approval or for a relay is not a transfer.
        let waiting = Self.status([(.remote, "Approve its relays.")])
        #expect(waiting.synced && waiting.pending == 0 && waiting.lastError == "Approve its relays.")
        // What is complete is not counted, also with a problem.
        let complete = Self.status([(.remote, nil), (.cancelled, "Cancelled."), (.expired, "Expired.")])
        #expect(complete == idle)
        let away = Self.status([(.sending, "later")], problem: "The core is away.")
        #expect(!away.connected && !away.synced && away.lastError == "The core is away.")
        #expect(!Self.status([], problem: "x").synced && !away.suspended)
        #expect(Self.status([], isSuspended: true).suspended)
    }

    @Test("a planned attempt has its time")
    func nextTry() {
        var status = SyncStatus()
        status.add(EntryReport(state: .remote, progress: 0, problem: "No answer."))
        status.nextTry = Timestamp(seconds: 77)
        #expect(ProgramStatus(status, isSuspended: false).nextTry == 77)
        #expect(ProgramStatus(status, isSuspended: true).nextTry == nil)
        status.coreProblem = "The core is away."
        #expect(ProgramStatus(status, isSuspended: false).nextTry == nil)
    }

    @Test("keep obstacles have words")
    func keeping() {
        let words = [KeepObstacle.metered, .disk, .approval, .upload, .failure].map(\.words)
        #expect(Set(words).count == 5 && words.allSatisfy { !$0.isEmpty && !$0.hasSuffix(".") })
        #expect(KeepObstacle(FileProblem(.notApproved, "x")) == .approval)
        #expect(KeepObstacle(FileProblem(.noSpace, "x")) == .disk)
        #expect(KeepObstacle(FileProblem(.other, "x")) == .failure)
        #expect(FileProblem(ChatError(.file(.noSpace), "Full.")) == FileProblem(.noSpace, "Full."))
        #expect(FileProblem(ChatError(.invalidCommand, "No.")) == FileProblem(.other, "No."))
    }

    @Test("path errors use the typed path")
    func paths() {
        let missing = PathError("a b", SystemError(code: ENOENT, operation: "open a file"))
        #expect(missing.sentence == "a b: Could not open a file: No such file or directory.")
        struct Wrapped: DescribedError {
            let sentence = "Outer."
            let cause: (any Error)?
        }
        let dead = PathError("x", Wrapped(cause: SystemError(code: ENOTCONN, operation: "look")))
        #expect(
            dead.sentence
                == "x: The process of this mount has died; 'chatfs unmount' with its mountpoint removes the mount."
        )
        #expect(PathError("x", Wrapped(cause: nil)).sentence == "x: Outer.")
        let caused = PathError("x", Wrapped(cause: SystemError(code: EIO, operation: "read")))
        #expect(caused.sentence == "x: Outer." && caused.cause is SystemError)
        #expect(throws: PathError.self) { try naming("x") { throw Wrapped(cause: nil) } }
        #expect((try? naming("x") { 7 }) == 7)
    }

    @Test("JSON members keep order and escaping")
    func json() throws {
        let line = JSONLine.object([("b", "1"), ("a", "\"\\\n\u{1F}\u{0}ü🎉\u{7F}/")])
        #expect(line == "{\"b\":\"1\",\"a\":\"\\\"\\\\\\u000a\\u001f\\u0000ü🎉\\u007f/\"}")
        let read = try JSONLine.decoded([String: String].self, from: Array(line.utf8))
        #expect(read == ["b": "1", "a": "\"\\\n\u{1F}\u{0}ü🎉\u{7F}/"])
        #expect(JSONLine.object([("a", "\u{9b}\u{202e}")]) == "{\"a\":\"\\u009b\\u202e\"}")
        #expect(try JSONLine.encoded(["a": "\u{9b}\u{202e}"]) == "{\"a\":\"\\u009b\\u202e\"}")
        #expect(JSONLine.object([]) == "{}")
        #expect(try JSONLine.encoded(["b": "x/y", "a": "1"]) == "{\"a\":\"1\",\"b\":\"x/y\"}")
    }

    @Test("operators' relay addresses are valid and distinct")
    func operators() {
        for relayOperator in RelayOperator.allCases {
            let relays = relayOperator.relays
            let files = relays.filter { if case .files = $0 { true } else { false } }
            #expect(files.count == 6 && relays.count > 7, "\(relayOperator)")
            #expect(Set(relays).count == relays.count)
            for relay in relays { #expect(AnyRelay(relay.text) == relay) }
            #expect(!relayOperator.name.isEmpty)
        }
        let all = RelayOperator.allCases.flatMap(\.relays)
        #expect(Set(all.map(\.text)).count == all.count)
        for text in ["", "smp://", "xftp://x@y", "https://simplex.chat", "smp//a@b"] {
            #expect(AnyRelay(text) == nil, "\(text)")
        }
    }

    @Test("passphrases end with the line or input")
    func passphrases() throws {
        func read(_ text: String, line: Bool) throws -> String {
            var ends: [Int32] = [0, 0]
            try check("make a pipe") { pipe(&ends) }
            defer { close(ends[0]) }
            _ = write(ends[1], text, text.utf8.count)
            close(ends[1])
            let secret = try Passphrase.read(from: ends[0], line: line)
            return secret.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        }
        for line in [false, true] {
            #expect(try read("word", line: line) == "word" && read("word\n", line: line) == "word")
            #expect(try read("word\r\n", line: line) == "word" && read("", line: line) == "")
            #expect(try read(" two words ", line: line) == " two words ")
        }
        #expect(try read("one\ntwo\n", line: false) == "one\ntwo")
        #expect(try read(String(repeating: "x", count: 5000), line: false).utf8.count == 4096)
        let passphrase = Passphrase(.init(Array("word".utf8)))
        #expect(passphrase.take()?.count == 4 && passphrase.take() == nil)
        #expect(throws: SystemError.self) { try Passphrase.read(from: -1, line: false) }
    }
}
