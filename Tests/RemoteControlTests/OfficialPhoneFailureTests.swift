import Base
import ChatCore
import Cryptography
import Glibc
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
}
