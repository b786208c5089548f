import Agent
import Base
import ChatCore
import ChatProtocol
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("Request table")
struct RequestTableTests {
    private let stage: StoreStage
    private static let now = StoreStage.now

    init() throws { stage = try StoreStage() }

    private func ask(
        _ number: Int64, sameAs id: [UInt8]? = nil, _ state: StoredRequestState = .waiting,
        at time: Timestamp = Self.now, acceptedAt accepted: ElapsedTime? = nil, chat: Int64? = nil,
        of profile: Int64? = nil
    ) throws {
        try stage.change(of: profile) {
            try $0.requests.insert(
                ContactRequestID(number), sameAs: id, message: [UInt8(number)], at: time, state,
                acceptedAt: accepted, chat: chat)
        }
    }

    private func all(_ state: StoredRequestState, of profile: Int64? = nil) throws -> [RequestTable.Request] {
        try stage.change(of: profile) { try $0.requests.all(state) }
    }

    @Test("address belongs to one profile")
    func address() throws {
        #expect(try stage.change { try $0.requests.address() } == nil)
        try stage.change { try $0.requests.insert(address: ConnectionID(4), link: "l", .ask) }
        for acceptance in [RequestAcceptance.automatically, .ask] {
            try stage.change { try $0.requests.setAcceptance(acceptance) }
            let address = try #require(try stage.change { try $0.requests.address() })
            #expect(address.connection == ConnectionID(4) && address.link == "l")
            #expect(address.acceptance == acceptance && address.untold == 0)
        }
        #expect(try stage.change(of: stage.bob) { try $0.requests.address() } == nil)
        try stage.change(of: stage.bob) {
            try $0.requests.setAcceptance(.automatically)
            try $0.requests.removeAddress()
        }
        #expect(try stage.change { try $0.requests.address() }?.acceptance == .ask)
    }

    @Test("renaming during an update is kept")
    func names() throws {
        try stage.change { try $0.requests.insert(address: ConnectionID(4), link: "l", .ask) }
        func untold() throws -> Int64? { try stage.change { try $0.requests.address()?.untold } }
        for _ in 0..<2 { try stage.change { try $0.requests.noteRenamed() } }
        let told = try #require(try untold())
        #expect(told == 2)
        try stage.change { try $0.requests.noteRenamed() }
        try stage.change { try $0.requests.noteTold(told) }
        #expect(try untold() == 3)
        try stage.change { try $0.requests.noteTold(3) }
        #expect(try untold() == 0)
    }

    @Test("requests are listed by state in order")
    func states() throws {
        for (number, state) in StoredRequestState.allCases.enumerated() {
            try ask(Int64(number), state)
            try ask(Int64(number + 10), state)
            try ask(Int64(number + 20), state, of: stage.bob)
        }
        for (number, state) in StoredRequestState.allCases.enumerated() {
            let found = try all(state)
            #expect(found.map(\.asked.number) == [Int64(number), Int64(number + 10)])
            #expect(found.allSatisfy { $0.state == state && $0.time == Self.now && $0.problem == nil })
            #expect(found.map(\.message) == [[UInt8(number)], [UInt8(number + 10)]])
        }
        #expect(try stage.change { try $0.requests.waitingCount() } == 2)
        #expect(try stage.change { try $0.requests.unanswered() }.map(\.state) == [.waiting, .waiting])
        let one = try #require(try all(.waiting).first)
        #expect(try stage.change { try $0.requests.request(one.number) }?.asked == one.asked)
        #expect(try stage.change(of: stage.bob) { try $0.requests.request(one.number) } == nil)
    }

    @Test("repeated request updates the waiting one")
    func again() throws {
        try ask(1, sameAs: [7])
        try ask(2, sameAs: [8])
        try ask(3, sameAs: [7], .rejected)
        let first = try #require(try stage.change { try $0.requests.waiting(sameAs: [7]) })
        #expect(first.asked.number == 1)
        #expect(try stage.change { try $0.requests.waiting(sameAs: [9]) } == nil)
        #expect(try stage.change(of: stage.bob) { try $0.requests.waiting(sameAs: [7]) } == nil)
        let later = Self.now.advanced(by: .seconds(5))
        try stage.change {
            try $0.requests.replace(first.number, by: ContactRequestID(9), message: [4, 5], at: later)
        }
        let newer = try #require(try stage.change { try $0.requests.request(first.number) })
        #expect(newer.asked.number == 9 && newer.message == [4, 5] && newer.time == later)
        #expect(try stage.change { try $0.requests.waiting(sameAs: [8]) }?.message == [2])
    }

    @Test("long request is listed")
    func longProfile() throws {
        try stage.change { try $0.requests.insert(address: ConnectionID(4), link: "l", .ask) }
        let long = String(repeating: "\u{7F}", count: 11_000)
        let request = MessageEvent.ContactRequest(
            profile: ContactProfile(displayName: "eve", shortDescription: long), requestID: nil)
        let message = Array(ChatMessage(.contactRequest(request), id: nil).json.utf8)
        try stage.change {
            try $0.requests.insert(ContactRequestID(7), sameAs: nil, message: message, at: Self.now, .waiting)
        }
        #expect(WaitingRequest(try #require(try all(.waiting).first), from: nil)?.name == "eve")
    }

    @Test("failed answers are retried or asked again")
    func problems() throws {
        for number: Int64 in 1...3 { try ask(number, .accepted) }
        let rows = try all(.accepted).map(\.number)
        try stage.change {
            try $0.requests.setProblem("away", isFinal: false, of: rows[0])
            try $0.requests.setProblem("gone", isFinal: true, of: rows[1])
        }
        let unanswered = try stage.change { try $0.requests.unanswered() }
        #expect(
            unanswered.map(\.problem) == ["away", "gone"] && unanswered.map(\.state) == [.accepted, .waiting])
        // It waits for the user; a late failure has no effect.
        try stage.change { try $0.requests.setProblem("late", isFinal: false, of: rows[1]) }
        #expect(try stage.change { try $0.requests.request(rows[1]) }?.problem == "gone")
        try stage.change { try $0.requests.setJoined(rows[0], by: ConnectionID(6)) }
        let joined = try #require(try stage.change { try $0.requests.request(rows[0]) })
        #expect(joined.state == .joined && joined.connection == ConnectionID(6))
        #expect(
            joined.message.isEmpty && joined.problem == nil, "what they said is in their chat from then on")
    }

    @Test("automatic acceptances are counted by time")
    func accepted() throws {
        let now = StoreStage.elapsed
        let early = now.advanced(by: .seconds(-1))
        try ask(1, .accepted, acceptedAt: early)
        try ask(2, .accepted, acceptedAt: now)
        try ask(3, .joined, acceptedAt: now)
        try ask(7, .joined)
        try ask(4, .waiting)
        try ask(5, .rejected)
        try ask(6, .accepted, acceptedAt: now, of: stage.bob)
        #expect(try stage.change { try $0.requests.acceptedCount(since: now) } == 2)
        #expect(try stage.change { try $0.requests.acceptedCount(since: early) } == 3)
    }

    @Test("removing the address keeps invitations and contacts")
    func removal() throws {
        try stage.change { try $0.requests.insert(address: ConnectionID(4), link: "l", .ask) }
        try ask(1)
        try ask(2, .accepted)
        try ask(3, .joined)
        try ask(4, chat: 8)
        try ask(5, of: stage.bob)
        try stage.change { try $0.requests.reject(ContactRequestID(6)) }
        try stage.change { try $0.requests.removeAddress() }
        #expect(try all(.waiting).map(\.asked.number) == [4] && all(.waiting).first?.chat == 8)
        #expect(try all(.joined).map(\.asked.number) == [3])
        #expect(try all(.accepted).isEmpty && all(.waiting, of: stage.bob).count == 1)
        #expect(try stage.change { try $0.requests.address() } == nil)
    }

    @Test("rejection waits for the agent")
    func rejection() throws {
        #expect(try !stage.change { try $0.network.hasPendingDecisions() })
        try stage.change { try $0.requests.reject(ContactRequestID(6)) }
        let row = try #require(try all(.rejected).first)
        #expect(row.message.isEmpty && row.asked.number == 6)
        #expect(try stage.change { try $0.network.hasPendingDecisions() })
        #expect(try !stage.change(of: stage.bob) { try $0.network.hasPendingDecisions() })
        try stage.change { try $0.requests.remove(row.number) }
        #expect(try !stage.change { try $0.network.hasPendingDecisions() })
    }
}
