import Base
import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import FileSystem

@Suite("Extended attributes")
struct ExtendedAttributeTests {
    private typealias Fixture = FileSystemFixture

    /// The rows of the table below a heading, with its head.
    static func rows(of page: String, below heading: String) throws -> [Substring] {
        // contrib/test makes a copy for users without access to the clone.
        let copy = getenv("CHATFS_REPOSITORY").map { String(cString: $0) }
        let root = copy ?? #filePath.split(separator: "/").dropLast(3).reduce("") { $0 + "/" + $1 }
        let file = try OpenFile(root + "/" + page, flags: O_RDONLY)
        let lines = String(decoding: try file.readAll(limit: 1 << 20), as: UTF8.self).split(separator: "\n")
        let start = try #require(lines.firstIndex { $0 == "## " + heading })
        return lines[(start + 1)...].prefix { !$0.hasPrefix("## ") }.filter { $0.hasPrefix("|") }
    }

    /// The words in backquotes in the first cells of the table below a heading.
    private static func words(of page: String, below heading: String) throws -> [String] {
        let cells = try rows(of: page, below: heading).filter { $0.hasPrefix("| `") }
            .map { $0.split(separator: "|")[0] }
        return cells.flatMap { $0.matches(of: /`([^`]+)`/).map { String($0.1) } }
    }

    /// `.name` repeats the last prefix before it.
    @Test("docs/reference/filesystem.md lists exactly these attributes")
    func documented() throws {
        let names = try Self.words(of: "docs/reference/filesystem.md", below: "Extended attributes")
        let full = names.map { $0.hasPrefix(".") ? "user.chatfs" + $0 : $0 }
        #expect(full.sorted() == ExtendedAttribute.all.map(\.name).sorted())
    }

    @Test func statesAreDocumented() throws {
        let words = try Self.words(of: "docs/user/files.md", below: "States")
        #expect(words.sorted() == EntryState.allCases.map(\.rawValue).sorted())
    }

    private func values(_ fixture: Fixture, of path: String) throws -> [String: String] {
        var values: [String: String] = [:]
        for attribute in ExtendedAttribute.all {
            values[attribute.name] = try fixture.attribute(attribute.name, of: path)
        }
        return values
    }

    @Test("each kind of entry has its attributes")
    func values() async throws {
        let drafts = MemoryDrafts()
        let fixture = try await Fixture.make(drafts: drafts) { core in
            _ = core.received(
                "a.pdf", in: Fixture.bob, size: 10, content: MessageContent(kind: .file, text: "Look"))
        }
        #expect(
            try values(fixture, of: "bob/a.pdf") == [
                "user.chatfs.state": "remote", "user.chatfs.progress": "0", "user.chatfs.transport": "xftp",
                "user.chatfs.sender": "bob", "user.chatfs.direction": "received", "user.chatfs.item-id": "1",
                "user.chatfs.file-id": "1", "user.chatfs.expires": "1700172800",
                "user.chatfs.caption": "Look", "user.mime_type": "application/pdf",
            ])
        fixture.contents.pinned.withLock { _ = $0.insert(FileID(1)) }
        #expect(try fixture.attribute("user.chatfs.pinned", of: "bob/a.pdf") == "yes")
        try await fixture.write([1], to: "b.jpg")
        drafts.all.first?.change { $0.problem = "It waits." }
        #expect(
            try values(fixture, of: "bob/b.jpg") == [
                "user.chatfs.state": "draft", "user.chatfs.progress": "0", "user.chatfs.error": "It waits.",
                "user.chatfs.sender": "alice", "user.chatfs.direction": "sent",
                "user.mime_type": "image/jpeg",
            ])
        #expect(
            try values(fixture, of: "bob") == [
                "user.chatfs.chat": Fixture.bob.description,
                "user.chatfs.actions": "upload send_text messages mark_read mute approve keep free",
            ])
        #expect(
            try values(fixture, of: "quiet") == [
                "user.chatfs.chat": Fixture.silent.description,
                "user.chatfs.error": "This group takes no files.",
                "user.chatfs.actions": "messages mark_read mute approve keep free",
            ])
        #expect(try values(fixture, of: ".chatfs/status.json") == ["user.mime_type": "application/json"])
        await fixture.end()
    }

    @Test("only copies that the core can delete are offered", arguments: [true, false])
    func freeing(isAble: Bool) async throws {
        let fixture = try await Fixture.make(drafts: MemoryDrafts()) { core in
            _ = core.received("a.pdf", in: Fixture.bob, size: 10)
            _ = core.received("b.pdf", in: Fixture.bob, size: 10, status: .rcvComplete)
            if !isAble { core.state.withLock { _ = $0.chats[0].supportedActions.remove(.free) } }
        }
        #expect(try fixture.attribute("user.chatfs.actions", of: "bob/a.pdf") == nil)
        #expect(try fixture.attribute("user.chatfs.actions", of: "bob/b.pdf") == (isAble ? "free" : nil))
        await fixture.end()
    }

    @Test func marksOfTheMessageAreAttributes() async throws {
        let fixture = try await Fixture.make(drafts: MemoryDrafts()) { core in
            _ = core.received("a.pdf", in: Fixture.bob, size: 10)
            core.state.withLock { state in
                state.items[0].isForModerators = true
                state.items[0].isDeletedBySender = true
            }
        }
        let path = "bob/a (moderators).pdf"
        #expect(try fixture.attribute("user.chatfs.scope", of: path) == "support")
        #expect(try fixture.attribute("user.chatfs.deleted", of: path) == "by-sender")
        await fixture.end()
    }

    @Test(
        "local files do not expire",
        arguments: [
            (FileStatus.rcvComplete, false, String?.none), (.rcvCancelled, false, "The file was cancelled."),
            (.rcvInvitation(described: true), true, nil),
            (
                .rcvAborted(FileProblem(.notApproved, "Its relays are not approved.")), true,
                "Its relays are not approved. Its time on the relay ended at 2023-11-16 22:13 +00:00."
            ),
        ])
    func expiry(status: FileStatus, expires: Bool, error: String?) async throws {
        let fixture = try await Fixture.make(drafts: MemoryDrafts()) { core in
            _ = core.received("a.pdf", in: Fixture.bob, size: 10, status: status)
        }
        #expect(
            try fixture.attribute("user.chatfs.expires", of: "bob/a.pdf") == (expires ? "1700172800" : nil))
        #expect(try fixture.attribute("user.chatfs.error", of: "bob/a.pdf") == error)
        await fixture.end()
    }

    static let refusals: [(path: String, errno: Int32)] = [
        ("bob/a.pdf", EPERM), ("bob", EPERM), (".chatfs/status.json", EPERM), ("bob/sent.txt", 0),
        ("bob/b.txt", 0),
    ]

    @Test("unknown attributes are dropped on own entries only", arguments: refusals)
    func dropped(path: String, errno: Int32) async throws {
        let drafts = MemoryDrafts()
        let fixture = try await Fixture.make(drafts: drafts) { core in
            _ = core.received("a.pdf", in: Fixture.bob, size: 10)
            core.state.withLock { state in
                let file = ChatFile(
                    id: FileID(9), name: "sent.txt", size: 1, status: .sndComplete, transport: .inline)
                state.items.append(
                    ChatItem(
                        id: ItemID(9), chat: Fixture.bob, direction: .sent, sender: "alice",
                        time: Timestamp(seconds: 1_700_000_000), content: MessageContent(kind: .file),
                        file: file))
            }
        }
        try await fixture.write([1], to: "b.txt")
        let fs = fixture.fileSystem
        let id = try fixture.id(path)
        let before = try values(fixture, of: path)
        for name in ["user.note", "user.chatfs.state", "user.mime_type"] {
            #expect(await fs.setExtendedAttribute(name, [1], of: id).code() == errno)
        }
        #expect(try values(fixture, of: path) == before)
        #expect(await fs.setExtendedAttribute("trusted.note", [1], of: id).code() == EOPNOTSUPP)
        #expect(await fs.extendedAttribute("system.posix_acl_access", of: id).code() == EOPNOTSUPP)
        #expect(await fs.extendedAttribute("security.capability", of: id).code() == ENODATA)
        let isDraft = path == "bob/b.txt"
        #expect(await fs.removeExtendedAttribute("user.note", of: id).code() == (isDraft ? ENODATA : EPERM))
        // Only drafts have a writable caption.
        let caption = await fs.setExtendedAttribute("user.chatfs.caption", [0x61], of: id).code()
        #expect(caption == (isDraft ? 0 : EPERM))
        let invalid = await fs.setExtendedAttribute("user.chatfs.caption", [0xff], of: id).code()
        #expect(invalid == (isDraft ? EILSEQ : EPERM))
        await fixture.end()
    }
}
