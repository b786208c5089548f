import Base
import ChatCore
import Glibc
import Network
import ScriptedCore
import TestSupport
import Testing

@testable import OfficialCore

@Suite("A phone that freezes, leaves and returns")
struct PhoneReviewTests {
    private static func message(_ id: Int64, _ chat: Int64, path: String? = nil, isNew: Bool = false)
        -> ScriptedMessage
    {
        var message = ScriptedMessage(id: id, contact: chat, name: "\(id).bin", size: 1)
        if isNew { message.time = Int64(time(nil)) - 3600 }
        if path != nil { message.status = #"{"type":"rcvComplete"}"# }
        message.path = path
        return message
    }

    /// Returns the error of a read, or nil for its bytes.
    private static func read(_ file: Int64, of core: OfficialCore) async -> ChatErrorCode? {
        do throws(ChatError) {
            _ = try await core.location(of: FileID(file))
            return nil
        } catch {
            return error.code
        }
    }

    @Test func frozenPhoneIsAwayUntilItAnswers() async throws {
        var limits = ReversedServer.Limits()
        (limits.question, limits.silence) = (.milliseconds(500), .seconds(2))
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        phone.put([7], as: "there")
        phone.core.change { $0.history.append(Self.message(1, 1, path: "there")) }
        let core = try await desk.connected(phone, limits: limits)
        phone.freeze(true)
        #expect(await Self.read(1001, of: core) == .file(.unreachable))
        try await wait(until: "it counts as away") { !core.isReachable }
        #expect(await Self.read(1001, of: core) == .file(.unreachable))
        phone.freeze(false)
        try await wait(until: "it answers") { core.isReachable }
        try await wait(until: "it can be read") { await Self.read(1001, of: core) == nil }
        #expect(phone.mostWaitingForEvent == 1)
        await core.shutDown()
    }

    /// The phone would carry out each of the requests later.
    @Test func silentPhoneIsAskedForNothing() async throws {
        var limits = ReversedServer.Limits()
        (limits.question, limits.silence) = (.milliseconds(500), .seconds(2))
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        let core = try await desk.connected(phone, limits: limits)
        phone.freeze(true)
        try await wait(until: "it counts as away") { !core.isReachable }
        let message = try desk.compose("a.txt", [1], id: "one", for: core)
        var codes: [ChatErrorCode] = []
        do throws(ChatError) { _ = try await core.send(message, to: .direct(1)) } catch {
            codes.append(error.code)
        }
        let text = ComposedText(id: "two", text: "hello")
        do throws(ChatError) { try await core.send(text, to: .direct(1)) } catch { codes.append(error.code) }
        #expect(codes == [.file(.unreachable), .file(.unreachable)])
        phone.freeze(false)
        try await wait(until: "it answers") { core.isReachable }
        _ = try await core.send(message, to: .direct(1))
        try await core.send(text, to: .direct(1))
        #expect(phone.count(of: "storeFile") == 1 && phone.core.count("/_send") == 2)
        await core.shutDown()
    }

    @Test func reconnectionAsksOnlyForWhatIsNew() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        phone.core.change { state in
            for chat in Int64(1)...20 {
                state.contacts[chat] = "contact \(chat)"
                for item in Int64(0)..<60 {
                    state.history.append(Self.message(item * 20 + chat, chat, path: "old"))
                }
            }
            state.history.append(Self.message(2003, 3, isNew: true))
            state.history.append(Self.message(2004, 4, isNew: true))
        }
        let core = try await desk.connected(phone)
        #expect(try await core.itemCount() == 1202)
        phone.leave()
        // Meanwhile one file is received there, one message deleted, one new.
        phone.core.change { state in
            state.history.change(2003) { ($0.status, $0.path) = (#"{"type":"rcvComplete"}"#, "received") }
            state.history.remove(2004)
            state.history.append(Self.message(3007, 7, path: "new"))
        }
        let before = phone.core.commands.count
        try phone.connect(to: try await desk.link())
        try await wait(until: "the new one is listed") {
            try await core.items(of: .direct(7), before: nil, count: 1).first?.id == ItemID(3007)
        }
        try await wait(until: "the received one is known") {
            try await core.items(of: .direct(3), before: nil, count: 1).first?.file?.status == .rcvComplete
        }
        try await wait(until: "the deleted one is gone") { try await core.itemCount() == 1202 }
        try await wait(until: "all is compared") { try await core.hasReadHistory() }
        let pages = phone.core.commands.dropFirst(before).filter {
            $0.hasPrefix("/_get chat ") && !$0.contains("around=")
        }
        #expect(!pages.isEmpty && pages.allSatisfy { $0.hasPrefix("/_get chat @7 ") }, "\(pages)")
        #expect(phone.count(of: "getFile") == 0)
        await core.shutDown()
    }

    private static func desk(with phone: ChatPhone) throws -> PhoneDesk {
        phone.core.change { state in
            for chat in Int64(7)...8 {
                state.contacts[chat] = "contact \(chat)"
                state.history.append(message(chat, chat, path: "old"))
            }
        }
        return try PhoneDesk()
    }

    @Test func breakDuringComparisonLosesNoMessage() async throws {
        let phone = try ChatPhone()
        let desk = try Self.desk(with: phone)
        let core = try await desk.connected(phone)
        phone.leave()
        phone.core.change { state in
            for chat in Int64(7)...8 { state.history.append(Self.message(3000 + chat, chat, path: "new")) }
        }
        let asked = phone.core.count("/_get chat @8 ")
        phone.breakAfter("/_get chat @8 ")
        try phone.connect(to: try await desk.link())
        try await wait(until: "it left again") {
            phone.core.count("/_get chat @8 ") > asked && !core.isReachable
        }
        try phone.connect(to: try await desk.link())
        try await wait(until: "both new ones are listed") { try await core.itemCount() == 4 }
        await core.shutDown()
    }

    @Test func eventAtReconnectionHidesNoMessage() async throws {
        let phone = try ChatPhone()
        let desk = try Self.desk(with: phone)
        let core = try await desk.connected(phone)
        phone.leave()
        phone.core.change { $0.history.append(Self.message(3007, 7, path: "new")) }
        var watch = ChatPhone.Watch()
        // The list of chats comes after the event.
        watch.asked = { text in
            if text.contains("/_get chats ") { usleep(300_000) }
            return true
        }
        phone.watch(watch)
        phone.core.tellNew(Self.message(3107, 7, path: "newest"))
        try phone.connect(to: try await desk.link())
        try await wait(until: "both are listed") { try await core.itemCount() == 4 }
        await core.shutDown()
    }

    @Test func refusedChatStopsNoOther() async throws {
        let phone = try ChatPhone()
        let desk = try Self.desk(with: phone)
        phone.core.change { $0.history.append(Self.message(2008, 8, isNew: true)) }
        let core = try await desk.connected(phone)
        phone.leave()
        phone.core.change { state in
            for chat in Int64(7)...8 { state.history.append(Self.message(3000 + chat, chat, path: "new")) }
            state.refusals["/_get chat @8"] = #"{"type":"errorStore","storeError":{"type":"groupNotFound"}}"#
        }
        try phone.connect(to: try await desk.link())
        try await wait(until: "that of the other chat is listed") {
            try await core.items(of: .direct(7), before: nil, count: 1).first?.id == ItemID(3007)
        }
        try await wait(until: "all that can be read is read") { try await core.hasReadHistory() }
        #expect(phone.core.count("/_get chats") <= 5, "the list is not asked for again and again")
        await core.shutDown()
    }

    @Test func slowPhoneIsAskedAgainForItsProfile() async throws {
        let phone = try ChatPhone()
        let desk = try Self.desk(with: phone)
        await (try await desk.connected(phone)).shutDown()
        let isFirst = Lock(true)
        var watch = ChatPhone.Watch()
        watch.asked = { text in
            let isSlow =
                text.contains("/user")
                && isFirst.withLock { isFirst in
                    defer { isFirst = false }
                    return isFirst
                }
            if isSlow { usleep(1_500_000) }
            return true
        }
        phone.watch(watch)
        let core = try await desk.open(connectTimeout: .milliseconds(300)).value
        try phone.connect(to: try await desk.link())
        try await wait(until: "it is connected") { core.isReachable }
        await core.shutDown()
    }

    @Test func everyChatHasItsFirstPageBeforeAnyIsRead() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        phone.core.change { state in
            for chat in Int64(1)...5 {
                state.contacts[chat] = "contact \(chat)"
                for item in Int64(0)..<200 { state.history.append(Self.message(item * 5 + chat, chat)) }
            }
        }
        let core = try await desk.connected(phone)
        let pages = phone.core.commands.filter { $0.hasPrefix("/_get chat @") }
        #expect(Set(pages.prefix(5).compactMap { $0.split(separator: " ").dropFirst(2).first }).count == 5)
        #expect(pages.first?.hasPrefix("/_get chat @5 ") == true, "the newest chat first")
        await core.shutDown()
    }

    @Test func deletedMessageIsForgottenWhenItIsRead() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        phone.core.change { $0.history.append(Self.message(1, 1, path: "there")) }
        let core = try await desk.connected(phone)
        phone.core.change { _ = $0.history.remove(1) }
        #expect(await Self.read(1001, of: core) == .noSuchFile)
        #expect(try await core.itemCount() == 0)
        await core.shutDown()
    }

    @Test func wholeHistoryIsReadAgainAfterAWeek() async throws {
        let (desk, phone) = (try PhoneDesk(), try ChatPhone())
        phone.core.change { $0.history.append(Self.message(1, 1, path: "there")) }
        let core = try await desk.connected(phone)
        let last = try #require(try core.index.read { try $0.review.last() })
        try core.index.write { try $0.review.note(last.advanced(by: .seconds(-8 * 24 * 3600))) }
        phone.leave()
        let before = phone.core.count("/_get chat @1 ")
        try phone.connect(to: try await desk.link())
        try await wait(until: "it is read again") { phone.core.count("/_get chat @1 ") > before }
        await core.shutDown()
    }
}
