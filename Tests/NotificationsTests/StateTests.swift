import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import MessageBus
@testable import Notifications

@Suite("Stored notification state")
struct StateTests {
    private static func filled() -> NotificationRecord {
        var told = NotificationRecord(beginning: Timestamp(seconds: 1_700_000_000), history: ItemID(5))
        told.noteArrival(ItemID(9), in: .direct(1))
        told.noteArrival(ItemID(7), in: .direct(1))
        told.noteArrival(ItemID(12), in: .group(3))
        told.noteArrival(ItemID(13), in: .notes(1))
        for word in ["failure-9", "approval-draft-4"] { told.note(word) }
        for id in [9, 12] { told.noteUnread(ItemID(Int64(id)), in: .direct(1)) }
        for id in ["a-_9", "b", "c"] { told.noteUnread(TextReference(id, in: .group(3))) }
        told.begin(logEnds: [.direct(1): 77], contacts: [.direct(1)])
        _ = told.noteContact(.direct(4))
        _ = told.beginProcess(in: "boot")
        return told
    }

    @Test("the state survives writing and reading")
    func text() {
        let told = Self.filled()
        let again = NotificationRecord(told.text)
        #expect(again == told)
        #expect(again?.arrivals[.direct(1)] == ItemID(9))
        #expect(again?.isNews(ItemID(9), in: .direct(1), at: Timestamp(seconds: 1_700_000_001)) == false)
        #expect(again?.isNews(ItemID(10), in: .direct(1), at: Timestamp(seconds: 1_700_000_001)) == true)
        #expect(again?.isNews(ItemID(5), in: .direct(2), at: Timestamp(seconds: 1_700_000_001)) == false)
    }

    @Test("damaged and foreign states are ignored")
    func damaged() {
        let text = Self.filled().text
        for length in 0...text.utf8.count {
            let part = String(decoding: Array(text.utf8)[..<length], as: UTF8.self)
            if let told = NotificationRecord(part) { #expect(NotificationRecord(told.text) == told) }
        }
        #expect(NotificationRecord("") == nil)
        #expect(NotificationRecord(text.replacing("notifications 1", with: "notifications 2")) == nil)
        #expect(
            NotificationRecord(
                text
                    + "arrived nonsense\narrived @1 x\nunread\ntold\ntext\ntext @1\ntexts\ntexts @1\nlog @1\n"
                    + "contact\nrunning\n\n"
            ) == Self.filled())
    }

    @Test("counts of an older version are kept")
    func oldCounts() throws {
        var told = try #require(NotificationRecord(Self.filled().text + "texts #3 2\n"))
        #expect(told.unread.byChat[.group(3)] == 5)
        #expect(NotificationRecord(told.text) == told)
        let text = NotifiedEntry.text(TextReference("b", in: .group(3)))
        #expect(told.noteRead(text) && !told.noteRead(text))
        #expect(told.unread.byChat[.group(3)] == 4)
        #expect(told.noteTextsRead(in: .group(3)) && told.unread.byChat[.group(3)] == nil)
    }

    @Test("unread texts are bounded")
    func unreadTexts() {
        var unread = UnreadMessages()
        for id in ["two words", "", "line\nbreak", String(repeating: "x", count: 65), "plain"] {
            unread.add(TextReference(id, in: .direct(1)))
        }
        #expect(unread.byChat == [.direct(1): 5] && unread.textWords == [.direct(1): ["plain"]])
        #expect(unread.lines == ["text @1 plain", "texts @1 4"])
        for number in 0..<(2 * UnreadMessages.maxTexts) {
            unread.add(TextReference("\(number)", in: .direct(2)))
        }
        #expect(unread.byChat[.direct(2)] == UnreadMessages.maxTexts)
        unread.add(TextReference("late", in: .direct(3)))
        #expect(unread.byChat[.direct(3)] == 1 && unread.lines.contains("texts @3 1"))
        _ = unread.removeTexts(in: .direct(2))
        unread.add(TextReference("later", in: .direct(3)))
        #expect(unread.lines.contains("text @3 later"))
    }

    @Test("a carriage return ends no line")
    func carriageReturn() throws {
        let told = try #require(NotificationRecord(Self.filled().text + "told 9\r\ntold 10\n"))
        #expect(told.wasTold("9\r") && told.wasTold("10"))
        #expect(NotificationRecord(told.text) == told)
    }

    @Test("the state is bounded, oldest entries go")
    func bounds() {
        var told = Self.filled()
        for number in 0..<3000 { told.note("failure-x\(number)") }
        #expect(told.others.count == NotificationRecord.maxOthers && told.wasTold("failure-x2999"))
        #expect(!told.wasTold("failure-9"))
        #expect(NotificationRecord(told.text) == told)
    }

    @Test("the file is private and replaced atomically")
    func file() throws {
        let folder = try TemporaryFolder()
        let open = try OpenFile(folder.path, flags: O_RDONLY)
        #expect(NotificationRecordFile.read(in: open) == nil)
        try NotificationRecordFile.write(Self.filled(), in: open)
        #expect(NotificationRecordFile.read(in: open) == Self.filled())
        var status = stat()
        #expect(
            lstat(folder.path(NotificationRecordFile.name), &status) == 0 && status.st_mode & 0o777 == 0o600)
        try folder.write([0xFF, 0, 1], to: NotificationRecordFile.name)
        #expect(NotificationRecordFile.read(in: open) == nil)
        NotificationRecordFile.remove(in: open)
        #expect(access(folder.path(NotificationRecordFile.name), F_OK) != 0)
    }

    @Test("unreadable mute settings are an error")
    func unreadable() throws {
        let folder = try TemporaryFolder()
        let muted = MutedChats(in: try OpenFile(folder.path, flags: O_RDONLY))
        try check("make a link to itself") { symlink("muted", folder.path("muted")) }
        #expect(throws: SystemError(code: ELOOP, operation: "open a file")) { try muted.all() }
    }

    @Test("chats are muted and unmuted concurrently")
    func muted() async throws {
        let folder = try TemporaryFolder()
        let muted = MutedChats(in: try OpenFile(folder.path, flags: O_RDONLY))
        #expect(try muted.all().isEmpty)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for id in 1...20 {
                group.addTask {
                    try await ThreadPool.shared.run { () throws(SystemError) in
                        try muted.mute(.direct(Int64(id)))
                        try muted.mute(.group(Int64(id)))
                        if id % 2 == 0 { try muted.unmute(.direct(Int64(id))) }
                    }
                }
            }
            try await group.waitForAll()
        }
        let all = try muted.all()
        #expect(all.count == 30 && all.contains(.direct(1)) && !all.contains(.direct(2)))
        try muted.unmute(.notes(1))
    }

    @Test("killed mounts leave the total")
    func totals() throws {
        let folder = try TemporaryFolder()
        let notices = Lock(0)
        let first = try #require(UnreadTotals(in: folder.path) { notices.withLock { $0 += 1 } })
        let second = try #require(UnreadTotals(in: folder.path) {})
        first.set(3)
        second.set(4)
        #expect(first.others() == 4 && second.others() == 3)
        // The file of a killed process.
        let left = try folder.write(Array("00000009".utf8), to: "chatfs/unread/999999-1")
        #expect(first.others() == 4)
        #expect(access(left, F_OK) != 0)
        second.remove()
        #expect(first.others() == 0)
        #expect(UnreadTotals(in: "relative") {} == nil)
        #expect(UnreadTotals(in: folder.path("missing")) {} == nil)
        first.remove()
        #expect(try folder.names(in: "chatfs/unread").isEmpty)
    }

    @Test("watches are parsed from fdinfo")
    func watched() {
        let text = """
            pos:\t0
            flags:\t00
            inotify wd:2 ino:2a sdev:2d mask:fc6 ignored_mask:0 fhandle-bytes:8
            inotify wd:1 ino:ff sdev:800001 mask:fc6
            inotify wd:3 sdev:2d mask:fc6
            inotify wd:4 ino:zz sdev:2d mask:fc6
            inotify wd:5 ino:2b sdev:2d mask:3c4
            """
        #expect(DisplayedFolders.watched(text, 0x2D) == [42])
        #expect(DisplayedFolders.watched("", 0x2D).isEmpty)
        #expect(DisplayedFolders.shown([1], on: "nonsense").isEmpty)
        #expect(DisplayedFolders.shown([], on: "0:45").isEmpty)
    }
}

@Suite("The protocol of the bus process")
struct FrameTests {
    private static let answers: [NotificationAnswer] = [
        .ready(capabilities: []), .ready(capabilities: ["actions", "body-markup"]), .noService,
        .shown(token: 1), .failed(token: .max), .closed(token: 0), .acted(token: 7), .acted(token: 8, 0),
        .notShown,
    ]

    @Test("answers survive any fragmentation")
    func answers() {
        let stream = Self.answers.compactMap { BusFrame.framed($0.encoded) }.flatMap { $0 }
        for size in 1...stream.count {
            var frames = BusFrames()
            var heard: [NotificationAnswer?] = []
            for start in stride(from: 0, to: stream.count, by: size) {
                frames.add(stream[start..<min(stream.count, start + size)])
                while let frame = frames.next() { heard.append(.init(encoded: frame)) }
            }
            #expect(heard == Self.answers)
        }
    }

    @Test("invalid messages are rejected")
    func nonsense() {
        var frames = BusFrames()
        frames.add([0xFF, 0xFF, 0xFF, 0xFF, 1])
        #expect(frames.next() == [])
        #expect(BusFrame.framed([UInt8](repeating: 1, count: BusFrame.maxLength)) == nil)
        var generator = SeededGenerator(state: 3)
        var text = NotificationText(summary: "a", body: "b", buttons: ["c", "d"])
        text.isClickable = true
        let request = BusRequest.show(token: 3, text)
        for _ in 0..<5000 {
            var bytes = request.encoded
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(
                    in: 0...255, using: &generator)
            }
            bytes.removeLast(Int.random(in: 0...3, using: &generator))
            if let read = BusRequest(encoded: bytes) { #expect(BusRequest(encoded: read.encoded) == read) }
            if let read = NotificationAnswer(encoded: bytes) {
                #expect(NotificationAnswer(encoded: read.encoded) == read)
            }
        }
        #expect(BusRequest(encoded: []) == nil && NotificationAnswer(encoded: []) == nil)
        #expect(BusRequest(encoded: BusRequest.close(token: 1).encoded + [0]) == nil)
    }
}
