import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import ScriptedCore
import TestSupport
import Testing

@testable import OfficialCore

private func connected(_ desk: PhoneDesk, _ phone: ChatPhone) async throws -> OfficialCore {
    try await desk.connected(phone)
}

private func failure(_ body: () async throws(ChatError) -> Void) async -> ChatError? {
    do throws(ChatError) {
        try await body()
        return nil
    } catch {
        return error
    }
}

private func error(_ body: () async throws(ChatError) -> Void) async -> ChatErrorCode? {
    await failure(body)?.code
}

@Suite("The core of a phone, over its sessions")
struct PhoneCoreTests {
    private static func message(_ id: Int64, _ name: String, _ size: Int, path: String? = nil)
        -> ScriptedMessage
    {
        var message = ScriptedMessage(id: id, contact: 1, name: name, size: Int64(size))
        if path != nil { message.status = #"{"type":"rcvComplete"}"# }
        message.path = path
        return message
    }

    @Test func listsChatsAndFetchesFilesWhole() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        let plain = SystemRandomSource().bytes(300_001)
        let secret = CryptoFile.freshArguments()
        phone.put(plain, as: "plain.bin")
        var sealed = ScriptedMessage(id: 2, contact: 1, name: "sealed.bin", size: 4)
        sealed.status = #"{"type":"rcvComplete"}"#
        sealed.path = "sealed.bin"
        sealed.cryptoArguments =
            #"{"fileKey":"\#(Base64URL.encode(secret.key))","fileNonce":"\#(Base64URL.encode(secret.nonce))"}"#
        var box = try StreamBox(key: secret.key, nonce: secret.nonce)
        var bytes: [UInt8] = [1, 2, 3, 4]
        bytes.withUnsafeMutableBytes { box.seal($0) }
        phone.put(bytes + box.tag(), as: "sealed.bin")
        phone.core.change { state in
            state.history.append(Self.message(1, "plain.bin", plain.count, path: "plain.bin"))
            state.history.append(sealed)
        }
        let core = try await connected(desk, phone)
        #expect(desk.code != nil && core.profile.displayName == "alice")
        #expect(try await core.chats().map(\.displayName) == ["bob"])
        let items = try await core.items(of: .direct(1), before: nil, count: 10)
        #expect(items.compactMap(\.file?.name) == ["sealed.bin", "plain.bin"])
        #expect(items.allSatisfy { $0.file?.source == nil }, "paths are the phone's")
        #expect(phone.count(of: "getFile") == 0, "listing fetches nothing")
        #expect(try PhoneDesk.content(try await core.location(of: FileID(1001))) == plain)
        #expect(try PhoneDesk.content(try await core.location(of: FileID(1002))) == [1, 2, 3, 4])
        _ = try await core.location(of: FileID(1001))
        #expect(phone.count(of: "getFile") == 2, "each comes once")
        #expect(!phone.core.commands.contains { $0.hasPrefix("/sql") })
        await core.shutDown()
    }

    @Test func allChatsAreListedBeforeTheirHistoryIsRead() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        phone.core.change { state in
            for chat in 1...1000 {
                state.contacts[Int64(chat)] = "contact \(chat)"
                for item in 0..<100 {
                    let id = Int64(item * 1000 + chat)
                    state.history.append(
                        ScriptedMessage(id: id, contact: Int64(chat), name: "\(id).bin", size: 10))
                }
            }
        }
        let opening = try desk.open()
        try phone.connect(to: try await desk.link())
        let core = try await opening.value
        #expect(try await core.chats().count >= 30, "those of the first answer")
        try await wait(until: "all are listed") { try await core.chats().count == 1000 }
        // The one with the newest message first.
        let first = try await wait(for: "the first file") {
            try await core.items(of: .direct(1000), before: nil, count: 1).first
        }
        #expect(first.file?.name == "99999.bin" || first.file?.name == "100000.bin")
        #expect(try await core.itemCount() < 50_000, "the rest comes behind it")
        await core.shutDown()
    }

    @Test func awayPhoneStaysListedAndReadable() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        phone.put([7, 7], as: "here")
        phone.put([8, 8], as: "there")
        phone.core.change { state in
            state.history.append(Self.message(1, "here", 2, path: "here"))
            state.history.append(Self.message(2, "there", 2, path: "there"))
        }
        let first = try await connected(desk, phone)
        _ = try await first.location(of: FileID(1001))
        await first.shutDown()
        #expect(try desk.description().profile == Profile(id: 1, displayName: "alice"))
        // No phone is connected.
        let core = try await desk.open().value
        #expect(try await core.items(of: .direct(1), before: nil, count: 10).count == 2)
        #expect(try PhoneDesk.content(try await core.location(of: FileID(1001))) == [7, 7])
        let missing = await error { () throws(ChatError) in _ = try await core.location(of: FileID(1002)) }
        #expect(missing == .file(.unreachable))
        // Back, with newer messages.
        phone.core.change { $0.history.append(Self.message(3, "new", 2, path: "here")) }
        try phone.connect(to: try await desk.link())
        try await wait(until: "the new message is there") { try await core.itemCount() == 3 }
        #expect(try PhoneDesk.content(try await core.location(of: FileID(1002))) == [8, 8])
        // And the session after it.
        phone.leave()
        try phone.connect(to: try await desk.link())
        try await wait(until: "it is connected once more") { try await core.hasReadHistory() }
        await core.shutDown()
    }

    @Test func seenPreviewStaysWhileThePhoneIsAway() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        var picture = Self.message(1, "a.jpg", 2)
        (picture.type, picture.preview) = ("image", "data:image/jpg;base64,AA==")
        phone.core.change { $0.history.append(picture) }
        let first = try await connected(desk, phone)
        #expect(try await first.preview(of: ItemID(1), in: .direct(1)) == picture.preview)
        await first.shutDown()
        let core = try await desk.open().value
        #expect(try await core.preview(of: ItemID(1), in: .direct(1)) == picture.preview)
        // Nothing is left of a deleted message.
        try core.index.commit { try $0.remove([ItemID(1)], .deleted) }
        #expect(try core.index.read { try $0.previews.preview(of: ItemID(1)) } == nil)
        await core.shutDown()
    }

    @Test func keptPreviewFollowsItsMessage() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        var picture = Self.message(1, "a.jpg", 2)
        (picture.type, picture.preview) = ("image", "data:image/jpg;base64,AA==")
        phone.core.change { $0.history.append(picture) }
        let core = try await connected(desk, phone)
        #expect(try await core.preview(of: ItemID(1), in: .direct(1)) == picture.preview)
        for preview in ["data:image/jpg;base64,BB==", String(repeating: "x", count: 100_000)] {
            picture.preview = preview
            phone.core.change { state in state.history.change(1) { $0.preview = preview } }
            phone.core.tell("chatItemUpdated", picture)
            try await wait(until: "it is the other one") {
                try await core.preview(of: ItemID(1), in: .direct(1)) == preview
            }
        }
        #expect(try core.index.read { try $0.previews.preview(of: ItemID(1)) } == nil, "it is too long")
        await core.shutDown()
    }

    /// Decrypts a stored file with the keys of its message, if there are any.
    private static func plain(_ stored: [UInt8], sentWith command: String) throws -> [UInt8] {
        guard let key = command.firstMatch(of: /"fileKey":"([^"]+)"/),
            let nonce = command.firstMatch(of: /"fileNonce":"([^"]+)"/)
        else { return stored }
        var box = try StreamBox(
            key: try #require(Base64URL.decode(key.1)), nonce: try #require(Base64URL.decode(nonce.1)))
        var bytes = Array(stored.dropLast(StreamBox.tagLength))
        bytes.withUnsafeMutableBytes { box.open($0) }
        #expect(box.isAuthentic(Array(stored.suffix(StreamBox.tagLength))))
        return bytes
    }

    @Test(arguments: [false, true])
    func storesAFileAndSendsItOnce(encryptsFiles: Bool) async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone(encryptsFiles: encryptsFiles))
        phone.put([], as: "a.txt")
        let core = try await connected(desk, phone)
        let message = try desk.compose("a.txt", [1, 2, 3], id: "one", for: core)
        let item = try await core.send(message, to: .direct(1))
        let command = try #require(phone.core.commands.first { $0.hasPrefix("/_send") })
        #expect(command.contains("cryptoArgs") == encryptsFiles)
        #expect(try Self.plain(phone.files["1_a.txt"] ?? [], sentWith: command) == [1, 2, 3])
        #expect(try await core.send(message, to: .direct(1)).id == item.id)
        #expect(phone.core.count("/_send") == 1 && phone.count(of: "storeFile") == 1)
        await core.shutDown()
    }

    /// An answer to `storeFile`, and the error for the user.
    struct Refusal: Sendable {
        let answer: String
        let code: ChatErrorCode
        let sentence: String

        /// With the path of a file on the phone, which is not shown.
        private static func exception(_ text: String) -> String {
            #"{"type":"exception","someException":"\#(ChatPhone.folder)/a: \#(text)"}"#
        }

        static let all: [Refusal] = [
            Refusal(
                answer: exception("hPutBuf: (No space left on device)"), code: .file(.noSpace),
                sentence: "The phone has no space left for this file."),
            Refusal(
                answer: exception("permission denied"), code: .file(.other),
                sentence: "The phone could not store this file."),
            damaged("fileDigest"), damaged("fileSize"), damaged("noFile"),
        ]

        private static func damaged(_ type: String) -> Refusal {
            Refusal(
                answer: #"{"type":"\#(type)"}"#, code: .file(.damaged),
                sentence: "The file was damaged on its way to the phone.")
        }
    }

    @Test(arguments: Refusal.all, [false, true])
    func refusedFileHasItsReason(refusal: Refusal, isIPhone: Bool) async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone(isIPhone: isIPhone))
        let core = try await connected(desk, phone)
        phone.failStoring(refusal.answer)
        let message = try desk.compose("a.txt", [1], id: "one", for: core)
        let refused = await failure { () throws(ChatError) in
            _ = try await core.send(message, to: .direct(1))
        }
        #expect(refused?.code == refusal.code && refused?.sentence == refusal.sentence)
        #expect(phone.core.count("/_send") == 0)
        phone.failStoring(nil)
        _ = try await core.send(message, to: .direct(1))
        #expect(phone.core.count("/_send") == 1)
        await core.shutDown()
    }

    @Test func fileStoredBeforeLeavingIsNotStoredAgain() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        let core = try await connected(desk, phone)
        let message = try desk.compose("a.txt", [1, 2], id: "one", for: core)
        // The send waits for the index between both requests.
        let (isHeld, mayGo) = (Lock(false), Lock(false))
        defer { mayGo.withLock { $0 = true } }
        var watch = ChatPhone.Watch()
        watch.answers = { text in
            guard text.contains(#""type":"storeFile""#) else { return }
            Thread.start("hold-index") {
                _ = try? core.index.write { _ in
                    isHeld.withLock { $0 = true }
                    while !mayGo.withLock({ $0 }) { usleep(10_000) }
                }
            }
            while !isHeld.withLock({ $0 }) { usleep(10_000) }
        }
        phone.watch(watch)
        let sending = Task { try await core.send(message, to: .direct(1)) }
        try await wait(until: "the index is held") { isHeld.withLock { $0 } }
        // The answer arrives meanwhile.
        try await Task.sleep(for: .milliseconds(500))
        phone.leave()
        try await wait(until: "the phone is away") { !core.isReachable }
        mayGo.withLock { $0 = true }
        await #expect(throws: ChatError.self) { _ = try await sending.value }
        phone.watch(ChatPhone.Watch())
        try phone.connect(to: try await desk.link())
        try await wait(until: "the phone is back") { core.isReachable }
        _ = try await core.send(message, to: .direct(1))
        #expect(phone.core.count("/_send") == 1 && phone.count(of: "storeFile") == 1)
        #expect(Set(phone.files.keys) == ["a.txt"])
        await core.shutDown()
    }

    @Test func failedHandshakeIsNoDeparture() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        await (try await connected(desk, phone)).shutDown()
        let core = try await desk.open().value
        let link = try await desk.link()
        let before = desk.departures
        // Another phone: the certificate is refused.
        #expect(throws: (any Error).self) { try ChatPhone().connect(to: link) }
        try phone.connect(to: link)
        try await wait(until: "the phone is back") { core.isReachable }
        #expect(desk.departures == before)
        await core.shutDown()
    }

    @Test func freedNameIsSentAgain() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        let core = try await connected(desk, phone)
        let first = try desk.compose("report.pdf", [1], id: "one", for: core)
        let item = try await core.send(first, to: .direct(1))
        // Deleted on the phone with its file.
        phone.core.change { state in
            state.history.append(Self.message(100, "later", 1))
            state.history.remove(item.id.rawValue)
        }
        phone.remove("report.pdf")
        let second = try desk.compose("report.pdf", [2], id: "two", for: core)
        _ = try await core.send(second, to: .direct(1))
        #expect(Set(phone.files.keys) == ["report.pdf"] && phone.core.count("/_send") == 2)
        await core.shutDown()
    }

    @Test func replacedFileLeavesNoCopy() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        phone.put([1], as: "old")
        phone.put([2], as: "new")
        phone.core.change { $0.history.append(Self.message(1, "old", 1, path: "old")) }
        let core = try await connected(desk, phone)
        let copy = try #require(try await core.location(of: FileID(1001)))
        var later = Self.message(1, "new", 1, path: "new")
        later.reusedFile = 1777
        phone.core.change { [later] in $0.history.change(1) { $0 = later } }
        phone.core.tell("chatItemUpdated", later)
        try await wait(until: "the file is another") { try await core.item(of: FileID(1777)) != nil }
        try await wait(until: "its copy is gone") { access(copy.path, F_OK) != 0 }
        #expect(try PhoneDesk.content(try await core.location(of: FileID(1777))) == [2])
        await core.shutDown()
    }

    @Test func fileReplacedWithoutAnEventIsNotTheFormerOne() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        phone.put([2], as: "new")
        phone.core.change { $0.history.append(Self.message(1, "old", 1, path: "old")) }
        let core = try await connected(desk, phone)
        var later = Self.message(1, "new", 1, path: "new")
        later.reusedFile = 1777
        phone.core.change { state in state.history.change(1) { $0 = later } }
        #expect(try await core.location(of: FileID(1001)) == nil)
        #expect(try await core.item(of: FileID(1001)) == nil)
        #expect(try PhoneDesk.content(try await core.location(of: FileID(1777))) == [2])
        await core.shutDown()
    }

    @Test func reusedFileNumberIsAnotherFile() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        phone.put([1], as: "old")
        phone.put([2], as: "new")
        phone.core.change { $0.history.append(Self.message(1, "old", 1, path: "old")) }
        let core = try await connected(desk, phone)
        #expect(try PhoneDesk.content(try await core.location(of: FileID(1001))) == [1])
        phone.leave()
        phone.core.change { state in
            state.history.remove(1)
            var later = Self.message(2, "new", 1, path: "new")
            later.reusedFile = 1001
            state.history.append(later)
        }
        try phone.connect(to: try await desk.link())
        try await wait(until: "the later one is listed") {
            try await core.items(of: .direct(1), before: nil, count: 2).map(\.id) == [ItemID(2)]
        }
        #expect(try PhoneDesk.content(try await core.location(of: FileID(1001))) == [2])
        await core.shutDown()
    }

    @Test func breakInTheAnswerToSendIsNoSecondMessage() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        let core = try await connected(desk, phone)
        let message = try desk.compose("a.txt", [1], id: "one", for: core)
        phone.breakAfter("/_send")
        #expect(
            await error { () throws(ChatError) in _ = try await core.send(message, to: .direct(1)) }
                == .sendingUndecided)
        try phone.connect(to: try await desk.link())
        try await wait(until: "it is connected") { try await core.hasReadHistory() }
        let item = try await core.send(message, to: .direct(1))
        #expect(item.file?.name == "a.txt" && phone.core.count("/_send") == 1)
        await core.shutDown()
    }

    /// A moment at which the phone's process is killed.
    enum Moment: CaseIterable { case fetching, storing, sending }

    @Test(arguments: Moment.allCases)
    func killedPhoneLosesAndDuplicatesNothing(moment: Moment) async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        let content = SeededBytes(38).bytes(2_000_000)
        phone.put(content, as: "there.bin")
        phone.core.change { state in
            state.history.append(Self.message(1, "there.bin", content.count, path: "there.bin"))
        }
        let core = try await connected(desk, phone)
        let message = try desk.compose("mine.bin", content, id: "one", for: core)
        var watch = ChatPhone.Watch()
        let breaks: @Sendable (Int) -> Void = { [weak phone] count in
            if count > 500_000 { phone?.breakOff() }
        }
        switch moment {
        case .fetching: watch.sends = breaks
        case .storing: watch.arrives = breaks
        case .sending:
            watch.answers = { [weak phone] text in if text.contains("/_send") { phone?.breakOff() } }
        }
        phone.watch(watch)
        let code = await error { () throws(ChatError) in
            if moment == .fetching {
                _ = try await core.location(of: FileID(1001))
            } else {
                _ = try await core.send(message, to: .direct(1))
            }
        }
        #expect(code == (moment == .sending ? .sendingUndecided : .file(.unreachable)))
        let staged = try PrivateFolder.names(at: core.stagingFolder).filter { $0.hasPrefix(".fetched") }
        #expect(staged.isEmpty, "no part of a file is left")
        phone.watch(ChatPhone.Watch())
        try phone.connect(to: try await desk.link())
        try await wait(until: "it is connected") { try await core.hasReadHistory() }
        #expect(try PhoneDesk.content(try await core.location(of: FileID(1001))) == content)
        _ = try await core.send(message, to: .direct(1))
        #expect(phone.core.count("/_send") == 1 && phone.files["mine.bin"] == content)
        #expect(phone.files.count == 2)
        await core.shutDown()
    }

    @Test func iPhoneIsListedReadAndSentTo() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone(isIPhone: true))
        phone.put([7], as: "there")
        phone.core.whenReceiving { [weak phone] message in
            phone?.put([8], as: message.name)
            phone?.core.complete(message.id, path: message.name, cryptoArguments: nil)
        }
        phone.core.change { state in
            state.history.append(Self.message(1, "there", 1, path: "there"))
            state.history.append(Self.message(2, "offered", 1))
            state.history.append(Self.message(3, "gone", 1, path: "gone"))
        }
        let core = try await connected(desk, phone)
        let files = try await core.items(of: .direct(1), before: nil, count: 10).compactMap(\.file)
        #expect(files.map(\.name) == ["gone", "offered", "there"])
        #expect(files.map(\.status.isReadable) == [true, false, true])
        #expect(try PhoneDesk.content(try await core.location(of: FileID(1001))) == [7])
        #expect(
            await error { () throws(ChatError) in _ = try await core.location(of: FileID(1003)) }
                == .noSuchFile)
        // The end of the reception is an event.
        try await core.receiveFile(FileID(1002), approvedRelays: false)
        try await wait(until: "it is received") {
            try await core.item(of: FileID(1002))?.file?.status == .rcvComplete
        }
        #expect(try PhoneDesk.content(try await core.location(of: FileID(1002))) == [8])
        let message = try desk.compose("mine", [9], id: "one", for: core)
        #expect(try await core.send(message, to: .direct(1)).file?.name == "mine")
        #expect(phone.files["mine"] == [9])
        await core.shutDown()
    }

    @Test func oneRequestForAnEventWaitsAtATime() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        phone.put([7], as: "there")
        phone.core.change { $0.history.append(Self.message(1, "there", 1, path: "there")) }
        let core = try await connected(desk, phone)
        for number in 2...60 { phone.core.tellNew(Self.message(Int64(number), "\(number)", 1)) }
        _ = try await core.location(of: FileID(1001))
        try await wait(until: "all are listed") { try await core.itemCount() == 60 }
        #expect(phone.mostWaitingForEvent == 1)
        await core.shutDown()
    }

    @Test func breakWhileStoringSendsLater() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        let core = try await connected(desk, phone)
        let message = try desk.compose("a.txt", [1], id: "one", for: core)
        phone.breakAfter("storeFile")
        #expect(
            await error { () throws(ChatError) in _ = try await core.send(message, to: .direct(1)) }
                == .file(.unreachable))
        try phone.connect(to: try await desk.link())
        try await wait(until: "it is connected") { try await core.hasReadHistory() }
        _ = try await core.send(message, to: .direct(1))
        #expect(phone.core.count("/_send") == 1)
        await core.shutDown()
    }

    @Test func phoneReceivesOnlyWithinItsLimit() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        phone.core.change { state in
            state.history.append(Self.message(1, "small", 10))
            state.history.append(Self.message(2, "large", 2 << 20))
        }
        let core = try await connected(desk, phone)
        #expect(
            await error { () throws(ChatError) in
                try await core.receiveFile(FileID(1002), approvedRelays: false)
            } == .file(.notApproved))
        try await core.receiveFile(FileID(1001), approvedRelays: false)
        #expect(phone.core.commands.filter { $0.hasPrefix("/freceive") } == ["/freceive 1001 encrypt=on"])
        await core.shutDown()
    }

    @Test func phoneOnlyReceivesNothing() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        phone.core.change { $0.history.append(Self.message(1, "small", 10)) }
        let opening = try desk.open(receiveLimit: 0)
        try phone.connect(to: try await desk.link())
        let core = try await opening.value
        try await wait(until: "the history is read") { try await core.hasReadHistory() }
        #expect(
            await error { () throws(ChatError) in
                try await core.receiveFile(FileID(1001), approvedRelays: false)
            } == .file(.notApproved))
        #expect(phone.core.count("/freceive") == 0)
        await core.shutDown()
    }

    @Test func fileThatIsGoneThereSaysSo() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        phone.core.change { $0.history.append(Self.message(1, "gone", 2, path: "gone")) }
        let core = try await connected(desk, phone)
        let gone = await failure { () throws(ChatError) in _ = try await core.location(of: FileID(1001)) }
        #expect(gone?.code == .noSuchFile && gone?.sentence == "This file no longer exists.")
        #expect(try PrivateFolder.names(at: core.stagingFolder).isEmpty, "nothing is left of it")
        await core.shutDown()
    }

    @Test(arguments: [false, true])
    func anotherProfileOnThePhoneIsNotTaken(hasOne: Bool) async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        phone.put([7], as: "there")
        phone.core.change { $0.history.append(Self.message(1, "there", 1, path: "there")) }
        await (try await connected(desk, phone)).shutDown()
        if hasOne {
            phone.activate(user: 2)
        } else {
            phone.core.change { state in
                state.refusals["/user"] = #"{"type":"error","errorType":{"type":"noActiveUser"}}"#
            }
        }
        let core = try await desk.open().value
        let asked = phone.core.count("/user")
        try phone.connect(to: try await desk.link())
        try await wait(until: "the phone was asked") { phone.core.count("/user") > asked }
        #expect(!(try await core.hasReadHistory()) && phone.core.count("/_get") > 0)
        let listed = phone.core.count("/_get")
        try await Task.sleep(for: .milliseconds(300))
        #expect(phone.core.count("/_get") == listed, "nothing of it is read")
        let unread = await failure { () throws(ChatError) in
            _ = try await core.location(of: FileID(1001))
        }
        #expect(unread?.code == .file(.unreachable))
        #expect(unread?.sentence.hasPrefix("The phone shows another profile: choose “alice”") == true)
        #expect((unread?.cause as? OfficialCoreError)?.code == .otherDatabase)
        var events = core.events().makeAsyncIterator()
        if case .coreUnreachable(_, let cause)? = await events.next() {
            #expect((cause as? OfficialCoreError)?.code == .otherDatabase)
        } else {
            Issue.record("the core is unreachable")
        }
        let message = try desk.compose("a.txt", [1], id: "one", for: core)
        #expect(
            await error { () throws(ChatError) in _ = try await core.send(message, to: .direct(1)) }
                == .file(.unreachable))
        #expect(phone.count(of: "storeFile") == 0, "nothing could remove the file there")
        // Its user switches back and connects again.
        phone.leave()
        phone.activate(user: 1)
        phone.core.change { $0.refusals = [:] }
        try phone.connect(to: try await desk.link())
        try await wait(until: "it is connected") { try await core.hasReadHistory() }
        #expect(try PhoneDesk.content(try await core.location(of: FileID(1001))) == [7])
        await core.shutDown()
    }

    @Test func renamedFolderKeepsItsCopies() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        phone.put([7], as: "here")
        phone.core.change { $0.history.append(Self.message(1, "here", 1, path: "here")) }
        let first = try await connected(desk, phone)
        _ = try await first.location(of: FileID(1001))
        await first.shutDown()
        try desk.move()
        let core = try await desk.open().value
        #expect(try PhoneDesk.content(try await core.location(of: FileID(1001))) == [7])
        await core.shutDown()
    }
}
