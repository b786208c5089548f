import Base
import TestSupport
import Testing

@testable import ChatProtocol

/// An inline file.
private struct InlineSample {
    let id: SharedMessageID
    let bytes: [UInt8]

    init(_ number: UInt8, size: Int) throws {
        id = try Sample.id(number)
        bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8 &+ Int(number)) }
    }

    var key: MessageKey { MessageKey(id, by: .contact) }

    func message(_ way: FileInvitation.Way) -> MessageEvent {
        .message(
            NewMessage(
                ChatContent(.voice(seconds: 1)),
                file: FileInvitation(name: "v.m4a", size: UInt64(bytes.count), way: way)))
    }

    var chunks: [InlineChunk] {
        let starts = bytes.isEmpty ? [0] : Array(stride(from: 0, to: bytes.count, by: 15_780))
        return starts.enumerated().map { place, start in
            InlineChunk(
                of: id, number: UInt8(place + 1),
                bytes: Array(bytes[start..<min(start + 15_780, bytes.count)]))
        }
    }
}

extension ContactFixture {
    @discardableResult
    fileprivate mutating func receive(_ chunk: InlineChunk) -> [ConversationEffect] {
        let effects = conversation.receive(.chunk(chunk), at: Sample.time, from: records)
        records.perform(effects)
        return effects
    }
}

@Suite("Inline files")
struct InlineTransferTests {
    @Test(
        "number of chunks follows the size",
        arguments: [(0, 1), (1, 1), (15_780, 1), (15_781, 2), (126_240, 8), (236_700, 15)])
    func chunks(_ size: Int, _ count: Int) throws {
        let sample = try InlineSample(1, size: size)
        var transfer = try #require(InlineTransfer(size: UInt64(size)))
        #expect(transfer.chunks == count && sample.chunks.count == count)
        for (place, chunk) in sample.chunks.enumerated() {
            #expect(!transfer.isComplete)
            #expect(transfer.bytes == UInt64(place * 15_780))
            #expect(transfer.take(chunk) == .grew)
            for earlier in sample.chunks[...place] { #expect(transfer.take(earlier) == .known) }
        }
        #expect(transfer.isComplete && transfer.bytes == UInt64(size))
    }

    @Test("oversized inline files are rejected")
    func tooLarge() {
        #expect(InlineTransfer(size: 236_701) == nil && InlineTransfer(size: .max) == nil)
        #expect(InlineTransfer(size: 15_781, received: 3) == nil)
        for (way, size, isTaken) in [
            (FileInvitation.Way.offeredInline, UInt64(236_700), true), (.offeredInline, 236_701, false),
            (.sentInline, 126_240, true), (.sentInline, 126_241, false), (.unsupported, 1, false),
            (.described(.awaited), 1, false),
        ] {
            let file = FileInvitation(name: "a", size: size, way: way)
            #expect((file.transfer != nil) == isTaken, "\(way) \(size)")
        }
    }

    @Test("offered chunks are ignored until requested")
    func offered() throws {
        var chat = ContactFixture()
        let sample = try InlineSample(1, size: 40_000)
        try chat.receive(sample.message(.offeredInline), 1)
        for chunk in sample.chunks { #expect(chat.receive(chunk).isEmpty) }
        chat.records.ask(for: sample.key)
        for chunk in sample.chunks { chat.receive(chunk) }
        #expect(chat.records.items[sample.key]?.bytes == sample.bytes)
        #expect(chat.records.items[sample.key]?.transfer == nil)
        #expect(sample.chunks.allSatisfy { chat.receive($0).isEmpty })
    }

    @Test("sent chunks are accepted in order once")
    func sent() throws {
        var chat = ContactFixture()
        let sample = try InlineSample(1, size: 40_000)
        #expect(chat.receive(sample.chunks[0]).isEmpty)
        try chat.receive(sample.message(.sentInline), 1)
        for chunk in sample.chunks {
            for _ in 0..<2 { chat.receive(chunk) }
            chat.receive(sample.chunks[0])
        }
        #expect(chat.records.items[sample.key]?.bytes == sample.bytes)
        #expect(chat.records.receipts == 1)
    }

    @Test("updated message keeps its file")
    func changedBefore() throws {
        var chat = ContactFixture()
        let sample = try InlineSample(1, size: 10)
        try chat.receive(.update(MessageUpdate(sample.id, content: ChatContent(.file, text: "new"))), 2)
        #expect(chat.receive(sample.chunks[0]).isEmpty)
        try chat.receive(sample.message(.sentInline), 1)
        chat.receive(sample.chunks[0])
        #expect(chat.records.items[sample.key]?.bytes == sample.bytes)
    }

    @Test("wrong chunk ends the transfer")
    func broken() throws {
        let sample = try InlineSample(1, size: 40_000)
        let chunks = sample.chunks
        func chunk(_ number: UInt8, _ count: Int) -> InlineChunk {
            InlineChunk(of: sample.id, number: number, bytes: [UInt8](repeating: 1, count: count))
        }
        let last = 40_000 - 2 * 15_780
        for (first, next, failure) in [
            (0, chunks[1], InlineTransfer.Failure.gap), (1, chunks[2], .gap), (2, chunk(4, 1), .gap),
            (2, chunk(255, last), .gap), (0, chunk(1, 15_779), .wrongLength),
            (0, chunk(1, 15_781), .wrongLength), (0, chunk(1, 60_000), .wrongLength),
            (1, chunk(2, 0), .wrongLength), (2, chunk(3, last - 1), .wrongLength),
            (2, chunk(3, last + 1), .wrongLength), (2, chunk(3, 15_780), .wrongLength),
        ] {
            var chat = ContactFixture()
            try chat.receive(sample.message(.sentInline), 1)
            for chunk in chunks.prefix(first) { chat.receive(chunk) }
            #expect(chat.receive(next) == [.transferFailed(sample.key, failure)])
            #expect(chunks.allSatisfy { chat.receive($0).isEmpty })
        }
    }

    @Test("sender can cancel by chunk or event")
    func takenBack() throws {
        let sample = try InlineSample(1, size: 40_000)
        for way in [FileInvitation.Way.sentInline, .offeredInline] {
            for isChunk in [true, false] {
                var chat = ContactFixture()
                try chat.receive(sample.message(way), 1)
                chat.receive(sample.chunks[0])
                if isChunk {
                    chat.receive(InlineChunk(of: sample.id, number: 0, bytes: []))
                } else {
                    try chat.receive(.fileCancelled(sample.id), 2)
                }
                #expect(chat.records.items[sample.key]?.isCancelled == true)
                #expect(chat.receive(sample.chunks[1]).isEmpty)
            }
        }
    }

    @Test("deletion and end of chat stop the transfer")
    func ended() throws {
        let sample = try InlineSample(1, size: 40_000)
        for event in [MessageEvent.deletion(sample.id, author: nil), .contactDeleted] {
            var chat = ContactFixture()
            try chat.receive(sample.message(.sentInline), 1)
            chat.receive(sample.chunks[0])
            try chat.receive(event, 2)
            #expect(chat.receive(sample.chunks[1]).isEmpty)
        }
    }

    @Test("unrequested unfinished transfers are limited to eight")
    func manyUnfinished() throws {
        var chat = ContactFixture()
        let asked = try InlineSample(100, size: 20_000)
        try chat.receive(asked.message(.offeredInline), 100)
        chat.records.ask(for: asked.key)
        chat.receive(asked.chunks[0])
        for number in UInt8(1)...20 {
            let sample = try InlineSample(number, size: 20_000)
            try chat.receive(sample.message(.sentInline), number)
            chat.receive(sample.chunks[0])
            #expect(chat.records.unaskedTransfers(by: .contact).count == min(8, Int(number)))
        }
        #expect(chat.records.items.values.count { $0.failure == .overtaken } == 12)
        let last = try InlineSample(20, size: 20_000)
        for sample in [asked, last] {
            chat.receive(sample.chunks[1])
            #expect(chat.records.items[sample.key]?.bytes == sample.bytes)
        }
    }

    @Test("only an unblocked author sends group chunks")
    func members() throws {
        var chat = try GroupFixture()
        let (sample, four) = (try InlineSample(1, size: 20_000), try Sample.member(4))
        let key = MessageKey(sample.id, by: .member(four))
        func receive(_ chunk: InlineChunk, over member: MemberID?) {
            chat.records.perform(
                chat.group.receive(.chunk(chunk), at: Sample.time, over: member, from: chat.records))
        }
        try chat.receive(sample.message(.sentInline), 1, over: 4)
        receive(sample.chunks[0], over: try Sample.member(3))
        receive(sample.chunks[0], over: nil)
        #expect(chat.records.items[key]?.bytes == [])
        for chunk in sample.chunks { receive(chunk, over: four) }
        #expect(chat.records.items[key]?.bytes == sample.bytes)

        try chat.receive(.group(.restriction(four, isBlocked: true)), 2)
        let hidden = try InlineSample(3, size: 10)
        try chat.receive(hidden.message(.sentInline), 3, over: 4)
        #expect(chat.records.unaskedTransfers(by: .member(four)).isEmpty)
        try chat.receive(hidden.message(.offeredInline), 4, by: 3)
        #expect(chat.records.shown.count == 1)
    }

    @Test(
        "interleaved transfers survive repetition and restarts",
        arguments: 0..<20)
    func manyAtOnce(_ seed: Int) throws {
        var random = SeededGenerator(state: UInt64(seed))
        var chat = ContactFixture()
        let samples = try (UInt8(1)...6).map {
            try InlineSample($0, size: Int.random(in: 0...126_240, using: &random))
        }
        var left = samples.map(\.chunks)
        for (number, sample) in samples.enumerated() {
            try chat.receive(
                sample.message(number % 2 == 0 ? .sentInline : .offeredInline), UInt8(number + 1))
            if number % 2 == 1 { chat.records.ask(for: sample.key) }
        }
        while let file = left.indices.filter({ !left[$0].isEmpty }).randomElement(using: &random) {
            let chunk = left[file].removeFirst()
            if Bool.random(using: &random) {
                // Killed before storing; the message is redelivered.
                _ = chat.conversation.receive(.chunk(chunk), at: Sample.time, from: chat.records)
                chat.conversation = ContactConversation(
                    profile: chat.conversation.profile, versions: chat.conversation.versions)
            }
            chat.receive(chunk)
            for _ in 0..<Int.random(in: 0..<3, using: &random) {
                let sent = samples[file].chunks.prefix(Int(chunk.number))
                if let again = sent.randomElement(using: &random) { chat.receive(again) }
            }
        }
        for sample in samples { #expect(chat.records.items[sample.key]?.bytes == sample.bytes) }
    }
}
