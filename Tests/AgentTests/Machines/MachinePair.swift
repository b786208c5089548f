import Base
import Cryptography
import Ratchet
import SMP
import TestSupport
import Testing

@testable import Agent

/// Both sides of a connection as machines, with a network that delivers at once and in order unless a test
/// removes messages.
struct MachinePair {
    var inviter: MachineSide
    var joiner: MachineSide

    /// After the link was opened; nothing is sent yet.
    init(seed: UInt64 = 1, inviterSettings: RatchetSettings = .init()) throws {
        let tools = MachineSide.tools(seed: seed, settings: inviterSettings)
        var state = ConnectionState(
            phase: .inviting, information: bytes("inviter"),
            receiving: [.fresh(server: try Known.server(1), mode: .messaging, random: tools.random)])
        state.offeredKeys = try tools.agreementKeys()
        inviter = MachineSide(state, tools: tools)
        try inviter.serve()
        let joinersTools = MachineSide.tools(seed: seed &+ 1000)
        let request = try #require(inviter.state.request)
        joiner = MachineSide(
            try ConnectionMachine.joining(
                request, server: Known.server(2), information: bytes("joiner"),
                key: JoiningKey(seed: joinersTools.random.bytes(32)), tools: joinersTools),
            tools: joinersTools)
        try joiner.serve()
    }

    static func connected(seed: UInt64 = 1) throws -> MachinePair {
        var pair = try MachinePair(seed: seed)
        try pair.exchange()
        try #require(pair.inviter.state.phase == .connected && pair.joiner.state.phase == .connected)
        return pair
    }

    /// Exchanges until neither side can send.
    mutating func exchange() throws {
        for _ in 0..<200 {
            let hasServed = [try inviter.serve(), try joiner.serve()].contains(true)
            let (one, other) = (try inviter.transmit(), try joiner.transmit())
            if let one { try joiner.take(one) }
            if let other { try inviter.take(other) }
            if one == nil, other == nil, !hasServed { return }
        }
        throw WaitedInVain("two machines come to no end")
    }

    /// Messages that the inviter can send now, undelivered.
    mutating func fromInviter() throws -> [Transmission] { try Self.all(&inviter) }
    mutating func fromJoiner() throws -> [Transmission] { try Self.all(&joiner) }

    private static func all(_ side: inout MachineSide) throws -> [Transmission] {
        var all: [Transmission] = []
        while let next = try side.transmit() { all.append(next) }
        return all
    }

    /// Sends a message in each direction and reads both.
    mutating func converse(_ text: String) throws {
        let before = (inviter.received.count, joiner.received.count)
        inviter.write("\(text) of the inviter")
        joiner.write("\(text) of the joiner")
        try exchange()
        #expect(joiner.bodies.dropFirst(before.1) == ["\(text) of the inviter"])
        #expect(inviter.bodies.dropFirst(before.0) == ["\(text) of the joiner"])
        #expect(inviter.received.last?.integrity == .complete)
        #expect(joiner.received.last?.integrity == .complete)
    }
}
