import Base
import ChatCore
import ChatProtocol
import Store
import TestSupport
import Testing

@testable import EmbeddedCore

/// Inline files in the database: chunks from the network, contents from local profiles.
@Suite("Inline tables")
struct InlineTableTests {
    private let stage: StoreStage
    private let chat: Int64
    private static let chunk = ProtocolLimits.inlineChunk

    init() throws {
        stage = try StoreStage()
        chat = try stage.change { [stage] in
            try $0.chats.insertContact("zoe", of: stage.alice, at: StoreStage.now)
        }
    }

    private static func key(_ number: Int, _ author: Author = .contact) -> MessageKey {
        MessageKey(StoreStage.message(number), by: author)
    }

    /// A message that offers a file of this size.
    private func offer(
        _ number: Int, size: Int, by author: Author = .contact, status: StoredFileStatus = .rcvInvitation,
        transport: String = "smp"
    ) throws -> (item: ItemID, file: FileID) {
        let made = try stage.file(status, ["size": "\(size)", "transport": "'\(transport)'"])
        try stage.execute("UPDATE item SET chat = \(chat) WHERE id = \(made.item.rawValue)")
        try stage.change {
            try $0.sharedMessages.keep(
                MessageRecord(time: StoreStage.now, hasFile: true), of: Self.key(number, author), in: chat,
                item: made.item)
        }
        return made
    }

    private func transfer(_ number: Int, _ author: Author = .contact) throws -> InlineTransfer? {
        try stage.change { try $0.inlineTransfers.transfer(of: Self.key(number, author), in: chat) }
    }

    /// Stores chunks in order, as a conversation does.
    private func take(_ bytes: [UInt8], from number: Int, of file: FileID, count: Int = .max) throws {
        for _ in 0..<count {
            guard var known = try transfer(number) else { return }
            let start = known.received * Self.chunk
            let piece = Array(bytes[start..<min(start + Self.chunk, bytes.count)])
            let next = InlineChunk(
                of: StoreStage.message(number), number: UInt8(known.received + 1), bytes: piece)
            guard known.take(next) == .grew else {
                Issue.record("chunk \(next.number) was not taken")
                return
            }
            let grown = known
            try stage.change { try $0.inlineTransfers.keep(piece, as: grown, of: file) }
        }
    }

    @Test(
        "complete chunks become the file's content"
    )
    func complete() throws {
        for (number, size) in [0, 1, Self.chunk, Self.chunk + 1, 3 * Self.chunk].enumerated() {
            let bytes = pattern(size)
            let made = try offer(number, size: size)
            #expect(try transfer(number) == nil, "nobody takes them yet")
            for isAsked in [false, true] {
                try stage.change { try $0.inlineTransfers.begin(made.file, isAsked: isAsked) }
            }
            #expect(try transfer(number)?.received == 0)
            #expect(try stage.count("inline_transfer", "is_asked = 0") == 1, "begun once")
            try take(bytes, from: number, of: made.file, count: 1)
            let left = try stage.change { try $0.inlineTransfers.transfer(of: made.file) }
            #expect(left?.received == (size > Self.chunk ? 1 : nil))
            try take(bytes, from: number, of: made.file)
            let content = try #require(try stage.change { try $0.inlineContents.content(of: made.file) })
            #expect(Base64URL.decode(content.text) == bytes && content.size == UInt64(size))
            #expect(try stage.count("inline_transfer") == 0 && stage.count("inline_chunk") == 0)
        }
    }

    @Test("ended transfer drops its chunks")
    func ended() throws {
        let made = try offer(1, size: 3 * Self.chunk)
        try stage.change { try $0.inlineTransfers.begin(made.file, isAsked: true) }
        try take(pattern(3 * Self.chunk), from: 1, of: made.file, count: 2)
        #expect(try stage.count("inline_chunk") == 2)
        try stage.change { try $0.inlineTransfers.end(made.file) }
        #expect(try transfer(1) == nil && stage.count("inline_chunk") == 0)
        // Deleting the message has the same effect.
        try stage.change { try $0.inlineTransfers.begin(made.file, isAsked: true) }
        try take(pattern(3 * Self.chunk), from: 1, of: made.file, count: 1)
        try stage.execute("DELETE FROM item WHERE id = \(made.item.rawValue)")
        #expect(try stage.count("inline_transfer") == 0 && stage.count("inline_chunk") == 0)
    }

    @Test("unrequested transfers are listed per author")
    func unasked() throws {
        let member = Author.member(StoreStage.member(9))
        for (number, author, isAsked) in [
            (5, .contact, false), (3, .contact, true), (4, .contact, false), (5, member, false),
        ] as [(Int, Author, Bool)] {
            let made = try offer(number, size: 5, by: author)
            try stage.change { try $0.inlineTransfers.begin(made.file, isAsked: isAsked) }
        }
        _ = try offer(6, size: 5)
        try stage.change { (tables) throws in
            #expect(
                try tables.inlineTransfers.unasked(by: .contact, in: chat) == [Self.key(5), Self.key(4)])
            #expect(try tables.inlineTransfers.unasked(by: member, in: chat) == [Self.key(5, member)])
            #expect(try tables.inlineTransfers.unasked(by: .own, in: chat) == [])
            #expect(try tables.inlineTransfers.unasked(by: .contact, in: chat + 1) == [])
            #expect(try tables.inlineTransfers.count(by: .contact, in: chat) == 3)
            #expect(try tables.inlineTransfers.count(by: member, in: chat) == 1)
            #expect(try tables.inlineTransfers.count(by: .own, in: chat) == 0)
        }
    }

    @Test("departed author's missing files fail")
    func givenUp() throws {
        let member = Author.member(StoreStage.member(9))
        let problem = FileProblem(.cancelledBySender, "They have left.")
        var offered: [Author: [ItemID]] = [:]
        var number = 0
        for author in [.contact, member] as [Author] {
            for status in StoredFileStatus.allCases where !status.isSent {
                number += 1
                let made = try offer(number, size: 5, by: author, status: status)
                if (StoredFileStatus.offered + StoredFileStatus.downloading).contains(status) {
                    offered[author, default: []].append(made.item)
                    try stage.change { try $0.inlineTransfers.begin(made.file, isAsked: true) }
                }
            }
        }
        // Files on relays, and content already in its row.
        let onRelay = try offer(90, size: 5, transport: "xftp")
        let inRow = try offer(91, size: 5)
        try stage.execute("UPDATE file SET inline_content = 'AA' WHERE id = \(inRow.file.rawValue)")

        let lost = try stage.change { try $0.inlineTransfers.giveUp(in: chat, by: member, problem) }
        #expect(lost == offered[member])
        #expect(try stage.count("inline_transfer") == Int64(offered[.contact]!.count))
        #expect(try stage.change { try $0.inlineTransfers.giveUp(in: chat + 1, problem) } == [])
        let rest = try stage.change { try $0.inlineTransfers.giveUp(in: chat, problem) }
        #expect(rest == offered[.contact] && rest.count == 5)
        #expect(try stage.count("inline_transfer") == 0)
        for item in lost + rest {
            let file = try stage.change { try $0.items.item(item)?.file }
            #expect(file?.status == .rcvError(problem))
        }
        for file in [onRelay.file, inRow.file] {
            #expect(try stage.change { try $0.files.status(of: file) } == .rcvInvitation)
        }
    }

    @Test("transfer of impossible length is nil")
    func impossible() throws {
        let made = try offer(1, size: Int(InlineTransfer.largestOffered) + 1)
        try stage.change { try $0.inlineTransfers.begin(made.file, isAsked: true) }
        #expect(try transfer(1) == nil)
        try stage.execute("UPDATE file SET size = 5 WHERE id = \(made.file.rawValue)")
        #expect(try transfer(1)?.received == 0)
        for received in [-1, 2, 1 << 40] {
            try stage.execute("UPDATE inline_transfer SET received = \(received)")
            #expect(try transfer(1) == nil, "\(received) chunks of one")
        }
    }

    @Test("content is replaced by a CryptoFile once")
    func contents() throws {
        let first = try stage.file(.rcvInvitation, ["inline_content": "'QUJD'", "size": "3"]).file
        let second = try stage.file(.rcvInvitation, ["inline_content": "'QQ'", "size": "1"]).file
        let other = try stage.file(.rcvInvitation, of: stage.bob, ["inline_content": "'QQ'"]).file
        let none = try stage.file(.rcvInvitation).file
        #expect(try stage.change { try $0.inlineContents.files() } == [first, second])
        try stage.change { (tables) throws in
            #expect(try tables.inlineContents.holds(first) && !tables.inlineContents.holds(none))
            #expect(try !tables.inlineContents.holds(other), "another profile's")
            #expect(try tables.inlineContents.content(of: first)?.text == "QUJD")
            #expect(try tables.inlineContents.content(of: none) == nil)
        }
        try stage.execute(
            "UPDATE file SET problem = 'noSpace', problem_sentence = 'Full.' WHERE id = \(first.rawValue)")
        let replaced = try stage.change { tables in
            try (1...2).map {
                try tables.inlineContents.replace(
                    first, by: "name \($0)", FileArguments(key: [UInt8($0)], nonce: [2]))
            }
        }
        #expect(replaced == [true, false])
        #expect(try stage.count("file", "stored_name = 'name 1' AND key = x'01' AND problem IS NULL") == 1)
        #expect(try stage.change { try $0.files.status(of: first) } == .rcvComplete)
        try stage.change { try $0.inlineContents.drop(second) }
        #expect(try stage.change { try $0.inlineContents.files() } == [])
        #expect(try stage.change { try $0.files.status(of: second) } == .rcvInvitation)
    }
}

@Suite("Damaged copy and chunk deletion tables")
struct RemainsTableTests {
    private let stage: StoreStage

    init() throws { stage = try StoreStage() }

    @Test("last stored key opens a damaged copy")
    func damagedCopies() throws {
        let keys = (1...3).map { FileArguments(key: [UInt8($0)], nonce: [UInt8($0), 9]) }
        try stage.change { tables in
            let copies = tables.directory.damagedCopies
            try copies.keep(keys[0], of: FileID(1), in: stage.alice)
            try copies.keep(keys[1], of: FileID(1), in: stage.alice)
            try copies.keep(keys[2], of: FileID(2), in: stage.bob)
            #expect(try copies.arguments(of: FileID(1), in: stage.alice) == keys[1])
            #expect(try copies.arguments(of: FileID(1), in: stage.bob) == nil)
            #expect(try copies.arguments(of: FileID(2), in: stage.bob) == keys[2])
            #expect(try copies.arguments(of: FileID(3), in: stage.alice) == nil)
            #expect(try copies.files(of: stage.alice) == [FileID(1)])
            try copies.remove(FileID(1))
            #expect(try copies.files(of: stage.alice) == [] && copies.files(of: stage.bob) == [FileID(2)])
        }
    }

    @Test("later deletions are merged")
    func deletions() throws {
        let file = FileID(7)
        func stored() throws -> ChunkDeletionTable.Deletion {
            try #require(try stage.change { try $0.chunkDeletions.deletion(of: file) })
        }
        func add(_ sender: String?, _ state: [UInt8]?, _ link: String?, at seconds: Int64 = 0) throws {
            let time = StoreStage.now.advanced(by: .seconds(seconds))
            try stage.change {
                try $0.chunkDeletions.add(
                    UploadedChunks(senderDescription: sender, state: state, linkDescription: link), of: file,
                    at: time)
            }
        }
        try add(nil, [1], nil)
        #expect(try stored().uploaded.state == [1] && stored().uploaded.senderDescription == nil)
        try add("sender", nil, nil, at: 50)
        try add(nil, nil, "link", at: 60)
        var found = try stored()
        #expect(found.uploaded.senderDescription == "sender" && found.uploaded.linkDescription == "link")
        #expect(found.uploaded.state == [1] && found.created == StoreStage.now, "as old as its beginning")
        try add("another", [2], "third", at: 70)
        found = try stored()
        #expect(found.uploaded.senderDescription == "another" && found.uploaded.state == [2])
        #expect(found.uploaded.linkDescription == "third")
        #expect(try stage.change { try $0.chunkDeletions.files() } == [file])
        #expect(try stage.change(of: stage.bob) { try $0.chunkDeletions.files() } == [])
        try stage.change { try $0.chunkDeletions.remove(file) }
        #expect(try stage.change { try $0.chunkDeletions.deletion(of: file) } == nil)
    }
}
