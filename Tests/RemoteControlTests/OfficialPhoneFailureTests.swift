import Base
import ChatCore
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import OfficialCore

@Suite(
    "The official program as a phone that fails", .serialized,
    .enabled(if: !OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with simplex-chat"))
struct OfficialPhoneFailureTests {
    enum Failure: CaseIterable {
        case killed, frozen, closed
    }

    private struct Stage {
        let desk: PhoneDesk
        let core: OfficialCore
        let notes: ChatReference
        var phone: OfficialPhone

        init() async throws {
            desk = try PhoneDesk()
            phone = try await OfficialPhone()
            let opening = try desk.open(receiveLimit: 1 << 30, away: .seconds(2))
            try await phone.confirm(desk)
            core = try await opening.value
            notes = try #require(
                try await core.chats().map(\.reference).first { if case .notes = $0 { true } else { false } })
        }

        /// The failure, and the connection after it.
        mutating func fail(_ failure: Failure) async throws {
            switch failure {
            case .killed:
                phone.program.send(SIGKILL)
                try await phone.program.ending(within: .seconds(10))
                phone = try await OfficialPhone(after: phone)
            case .frozen:
                phone.program.send(SIGSTOP)
                try await Task.sleep(for: .seconds(60))
                #expect(!core.isReachable)
                phone.program.send(SIGCONT)
                // The same session goes on.
                return try await wait(until: "the phone goes on") { core.isReachable }
            case .closed: try await phone.command("/stop remote ctrl")
            }
            try await wait(until: "the phone is away") { !core.isReachable }
            try await phone.waitUntilFree()
            try await phone.confirm(desk)
            try await wait(until: "the phone is back") { core.isReachable }
        }
    }

    private static let content = SystemRandomSource().bytes(96 << 20)

    @Test(arguments: Failure.allCases)
    func phoneThatFailsWhileGivingAFileGivesItLater(_ failure: Failure) async throws {
        var stage = try await Stage()
        let message = try stage.desk.compose("film.bin", Self.content, id: "one", for: stage.core)
        let file = try #require(try await stage.core.send(message, to: stage.notes).file?.id)
        let begun = Lock(false)
        let fetching = Task { [core = stage.core] in
            try await core.location(of: file) { begun.withLock { $0 = true } }
        }
        try await wait(until: "it begins") { begun.withLock { $0 } }
        try await stage.fail(failure)
        _ = try? await fetching.value
        #expect(try PhoneDesk.content(try await stage.core.location(of: file)) == Self.content)
        await stage.core.shutDown()
    }

    @Test(arguments: Failure.allCases)
    func phoneThatFailsWhileStoringGetsOneMessage(_ failure: Failure) async throws {
        var stage = try await Stage()
        let message = try stage.desk.compose("film.bin", Self.content, id: "one", for: stage.core)
        let sending = Task { [core = stage.core, notes = stage.notes] in
            try await core.send(message, to: notes)
        }
        try await wait(until: "it begins") { [phone = stage.phone] in try await phone.hasLargeFile() }
        try await stage.fail(failure)
        if (try? await sending.value) == nil { _ = try await stage.core.send(message, to: stage.notes) }
        try await wait(until: "the history is read") { [core = stage.core] in
            try await core.hasReadHistory()
        }
        let items = try await stage.core.items(of: stage.notes, before: nil, count: 10)
        #expect(items.count == 1)
        let file = try #require(items.first?.file?.id)
        #expect(try PhoneDesk.content(try await stage.core.location(of: file)) == Self.content)
        await stage.core.shutDown()
    }

    /// Kills the phone before it sees the command for the message of a stored file, or milliseconds after.
    enum Kill: Int, CaseIterable {
        case unseen = -1
        case atOnce = 0
        case soon = 20
        case late = 100
    }

    @Test(arguments: Kill.allCases)
    func phoneKilledWhileSendingGetsOneMessageAtMost(_ kill: Kill) async throws {
        var stage = try await Stage()
        let (core, notes, phone) = (stage.core, stage.notes, stage.phone)
        let content = Array(Self.content.prefix(32 << 20))
        let message = try stage.desk.compose("film.bin", content, id: "one", for: core)
        let sending = Task { try await core.send(message, to: notes) }
        try await wait(until: "it begins") { try await phone.hasLargeFile() }
        // The command waits for the index.
        let (isHeld, mayGo) = (Lock(false), Lock(false))
        defer { mayGo.withLock { $0 = true } }
        Thread.start("hold-index") {
            _ = try? core.index.write { _ in
                isHeld.withLock { $0 = true }
                while !mayGo.withLock({ $0 }) { usleep(1000) }
            }
        }
        try await wait(until: "the index is held") { isHeld.withLock { $0 } }
        try await wait(until: "the file is stored") { phone.has("film.bin", size: content.count) }
        // The answer arrives meanwhile.
        try await Task.sleep(for: .seconds(2))
        if kill == .unseen { phone.program.send(SIGSTOP) }
        mayGo.withLock { $0 = true }
        try await Task.sleep(for: .milliseconds(kill == .unseen ? 1000 : kill.rawValue))
        try await stage.fail(.killed)
        let first = try? await sending.value
        var second: ChatErrorCode?
        do throws(ChatError) { _ = try await core.send(message, to: notes) } catch { second = error.code }
        try await wait(until: "the history is read") { try await core.hasReadHistory() }
        let items = try await core.items(of: notes, before: nil, count: 10)
        #expect(second == nil || second == .sendingUnsure)
        #expect(items.count == (second == nil ? 1 : 0))
        if kill == .unseen { #expect(first == nil && second == .sendingUnsure) }
        if let file = items.first?.file?.id {
            #expect(try PhoneDesk.content(try await core.location(of: file)) == content)
        }
        await core.shutDown()
    }
}
