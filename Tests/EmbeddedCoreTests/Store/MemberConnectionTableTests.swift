import Agent
import Base
import ChatCore
import ChatProtocol
import Store
import TestSupport
import Testing

@testable import EmbeddedCore

@Suite("Member connection table")
struct MemberConnectionTableTests {
    private let stage: StoreStage
    private let chat: Int64
    private static let now = StoreStage.elapsed
    private static let introducer = StoreStage.member(2)

    init() throws {
        stage = try StoreStage()
        chat = try stage.group(1)
    }

    private func member(_ number: Int) -> MemberID {
        MemberID(bytes: [UInt8(number / 256), UInt8(number % 256), 9])!
    }

    private func begin(
        _ number: Int, _ phase: MemberConnection.Phase = .toInvite, link: String? = nil,
        at time: ElapsedTime = Self.now, in chat: Int64? = nil
    ) throws {
        try stage.change {
            try $0.memberConnections.begin(
                MemberConnection(to: member(number), introducer: Self.introducer, phase: phase, link: link),
                in: chat ?? self.chat, at: time)
        }
    }

    private func set(_ number: Int, connection: Int64?, _ phase: MemberConnection.Phase) throws {
        try stage.change {
            try $0.memberConnections.keep(
                MemberConnectionTable.Stored(
                    chat: chat,
                    state: MemberConnection(to: member(number), introducer: Self.introducer, phase: phase),
                    number: connection.map { ConnectionID($0) }))
        }
    }

    private func words(_ text: String) throws -> OutgoingMessage {
        try OutgoingMessage(
            ChatMessage(.message(NewMessage(ChatContent(.text, text: text))), id: StoreStage.message(1)),
            to: ConnectionID(1))
    }

    @Test("connection round-trips in each phase")
    func reading() throws {
        for (number, phase) in MemberConnection.Phase.allCases.enumerated() {
            try begin(number, phase, link: "link \(number)")
            let stored = try #require(
                try stage.change { try $0.memberConnections.row(with: member(number), in: chat) })
            #expect(stored.chat == chat && stored.number == nil)
            #expect(stored.state.member == member(number) && stored.state.introducer == Self.introducer)
            #expect(stored.state.phase == phase && stored.state.link == "link \(number)")
        }
        let unfinished = try stage.change { try $0.memberConnections.unfinished() }.map(\.state.phase)
        #expect(Set(unfinished) == [.toInvite, .toJoin, .toEnd] && unfinished.count == 3)
        #expect(try stage.change(of: stage.bob) { try $0.memberConnections.unfinished() }.isEmpty)
        try set(0, connection: 50, .connecting)
        let over = try stage.change { try $0.memberConnections.row(over: ConnectionID(50)) }
        #expect(
            over?.state.member == member(0) && over?.state.phase == .connecting && over?.state.link == nil)
        #expect(
            try stage.change(of: stage.bob) { try $0.memberConnections.row(over: ConnectionID(50)) } == nil)
        #expect(try stage.change { try $0.memberConnections.row(with: member(0), in: chat + 1) } == nil)
    }

    @Test("existing connection is not restarted")
    func repeated() throws {
        try begin(1, .toJoin, link: "first")
        try begin(1, .toInvite, link: "second")
        let stored = try stage.change { try $0.memberConnections.row(with: member(1), in: chat) }
        #expect(stored?.state.link == "first" && stored?.state.phase == .toJoin)
    }

    @Test("250 connections per group at a time")
    func atATime() throws {
        for number in 0..<251 { try begin(number) }
        #expect(try stage.count("member_connection") == 250)
        #expect(try stage.change { try $0.memberConnections.row(with: member(250), in: chat) } == nil)
        let other = try stage.group(2)
        try begin(250, in: other)
        #expect(try stage.count("member_connection", "chat = \(other)") == 1)
        try stage.change { try $0.memberConnections.remove(member(0), in: chat) }
        try begin(250)
        #expect(try stage.count("member_connection", "chat = \(chat)") == 250)
        try begin(1, in: 999)
        #expect(try stage.count("member_connection", "chat = 999") == 0, "there is no such group")
    }

    @Test("500 connections per day and group")
    func inADay() throws {
        func beginAndEnd(_ numbers: Range<Int>, at time: ElapsedTime) throws {
            for number in numbers {
                try begin(number, at: time)
                try stage.change { try $0.memberConnections.remove(member(number), in: chat) }
            }
        }
        try beginAndEnd(0..<499, at: Self.now)
        let dayEnd = Self.now.advanced(by: .seconds(86_400))
        try begin(499, at: dayEnd.advanced(by: .nanoseconds(-1)))
        #expect(try stage.count("member_connection") == 1)
        try begin(500, at: dayEnd.advanced(by: .nanoseconds(-1)))
        #expect(try stage.count("member_connection") == 1)
        try begin(500, at: dayEnd)
        #expect(try stage.count("member_connection") == 2)
    }

    @Test("established and recent connections carry messages")
    func carrying() throws {
        let phases = MemberConnection.Phase.allCases
        for (number, phase) in phases.enumerated() {
            try begin(number)
            try set(number, connection: Int64(100 + number), phase)
        }
        try begin(90)
        func carrying(_ seconds: Int64) throws -> [(number: Int64, stands: Bool)] {
            let time = Self.now.advanced(by: .seconds(seconds))
            return try stage.change {
                try $0.memberConnections.carrying(in: chat, at: time).map { ($0.id.number, $0.stands) }
            }
        }
        func number(_ phase: MemberConnection.Phase) -> Int64 {
            100 + Int64(phases.firstIndex(of: phase) ?? 0)
        }
        let now = try carrying(3 * 86_400)
        #expect(Set(now.map(\.number)) == Set([.invited, .connecting, .connected].map(number)))
        #expect(now.filter(\.stands).map(\.number) == [number(.connected)])
        #expect(try carrying(3 * 86_400 + 1).map(\.number) == [number(.connected)])
        let host = try stage.change { try $0.network.connections(ofChat: chat, at: Self.now) }
        #expect(host.first == ConnectionID(1) && host.count == 4)
    }

    @Test("held messages follow the join in order")
    func held() throws {
        try begin(1, .toJoin, link: "l")
        try begin(2, .toInvite)
        try begin(3, .toJoin, link: "l", at: Self.now.advanced(by: .seconds(-3 * 86_400 - 1)))
        for text in ["one", "two"] {
            try stage.change { try $0.memberConnections.hold(words(text), in: chat, at: Self.now) }
        }
        #expect(try stage.count("held_outgoing") == 2, "of who does not answer nothing is kept")
        try stage.change { try $0.memberConnections.release(member(2), in: chat, over: ConnectionID(70)) }
        #expect(try stage.change { try $0.outgoing.first() } == nil)
        try stage.change { try $0.memberConnections.release(member(1), in: chat, over: ConnectionID(71)) }
        for text in ["one", "two"] {
            let first = try #require(try stage.change { try $0.outgoing.first() })
            #expect(try first.connection == ConnectionID(71) && first.body == words(text).body)
            #expect(first.notifies && !first.ends && first.item == nil && first.delivery == nil)
            try stage.change { try $0.outgoing.remove(first.number) }
        }
        #expect(try stage.count("held_outgoing") == 0)
    }

    @Test("ended connection ignores further messages")
    func ending() throws {
        try begin(1)
        try begin(2)
        try set(2, connection: 80, .connected)
        try begin(3)
        try set(3, connection: 81, .connected)
        try stage.change { tables in
            for number: Int64 in [80, 81] { try tables.people.insert(ConnectionID(number)) }
            for number in [1, 2] {
                let row = try #require(try tables.memberConnections.row(with: member(number), in: chat))
                try tables.memberConnections.end(row)
            }
        }
        #expect(try stage.change { try $0.memberConnections.row(with: member(1), in: chat) } == nil)
        let unfinished = try stage.change { try $0.memberConnections.unfinished() }
        #expect(unfinished.map(\.number) == [ConnectionID(80)] && unfinished.map(\.state.phase) == [.toEnd])
        let ended = try stage.change { tables in
            try ([80, 81] as [Int64]).map { try tables.people.person(ConnectionID($0))?.isEnded }
        }
        #expect(ended == [true, false])
        try stage.change { try $0.memberConnections.forget(ConnectionID(80)) }
        #expect(try stage.change { try $0.memberConnections.row(with: member(2), in: chat) } == nil)
    }

    @Test("ending a group ends all connections")
    func endingAll() throws {
        try begin(1, .toJoin, link: "secret")
        try begin(2)
        try set(2, connection: 80, .connected)
        let other = try stage.group(2)
        try begin(1, .toJoin, link: "theirs", in: other)
        for chat in [chat, other] {
            try stage.change { try $0.memberConnections.hold(words("x"), in: chat, at: Self.now) }
        }
        try stage.change {
            try $0.memberConnections.end(
                ConnectionID(1), with: Self.introducer, in: chat, at: Self.now)
            try $0.memberConnections.endAll(in: chat)
        }
        let left = try stage.change { try $0.memberConnections.unfinished() }.filter { $0.chat == chat }
        #expect(Set(left.map(\.number)) == [ConnectionID(80), ConnectionID(1)])
        #expect(left.allSatisfy { $0.state.phase == .toEnd && $0.state.link == nil })
        #expect(try stage.count("held_outgoing", "chat = \(chat)") == 0)
        #expect(try stage.count("held_outgoing", "chat = \(other)") == 1)
        #expect(
            try stage.change { try $0.memberConnections.row(with: member(1), in: other) }?.state.link
                == "theirs")
    }

    @Test("farewell is the last message on each connection")
    func farewell() throws {
        try begin(1)
        try set(1, connection: 80, .connected)
        try stage.change { try $0.people.insert(ConnectionID(80)) }
        try stage.change { try $0.network.part(fromContactOf: chat, at: Self.now) }
        var farewells: [Int64] = []
        while let next = try stage.change({ try $0.outgoing.first() }) {
            #expect(next.ends)
            farewells.append(next.connection.number)
            try stage.change { try $0.outgoing.remove(next.number) }
        }
        #expect(farewells == [1, 80])
        let ended = try stage.change { tables in
            try ([1, 80] as [Int64]).map { try tables.people.person(ConnectionID($0))?.isEnded }
        }
        #expect(try ended == [true, true] && stage.count("member_connection") == 0)
    }
}
