import Base
import TestSupport
import Testing

@testable import ChatProtocol

/// Random group events over random connections, also forwarded, must preserve the invariants.
@Suite("Groups with lying members")
struct GroupModelTests {
    private let numbers = [UInt8](1...9)

    private func member(_ random: inout SeededGenerator) throws -> MemberID {
        try Sample.member(numbers.randomElement(using: &random) ?? 1)
    }

    private func information(_ random: inout SeededGenerator) throws -> MemberInformation {
        MemberInformation(
            MemberReference(
                id: try member(&random), role: MemberRole.allCases.randomElement(using: &random) ?? .member),
            profile: ContactProfile(displayName: "\(UInt8.random(in: 0...9, using: &random))"),
            isBlocked: Bool.random(using: &random))
    }

    private func event(_ random: inout SeededGenerator) throws -> MessageEvent {
        let other = try information(&random)
        let id = try Sample.id(UInt8.random(in: 1...60, using: &random))
        switch Int.random(in: 0..<13, using: &random) {
        case 0: return .group(.newMember(other))
        case 1: return .group(.introduction(other))
        case 2: return .group(.newcomer(other, link: "simplex:/invitation#/?v=2"))
        case 3: return .group(.memberInformation(other.reference.id, other.profile))
        case 4: return .group(.role(other.reference))
        case 5: return .group(.removal(other.reference.id, withMessages: Bool.random(using: &random)))
        case 6: return .group(.left)
        case 7: return .group(.restriction(other.reference.id, isBlocked: other.isBlocked))
        case 8: return .deletion(id, author: other.reference.id)
        case 9: return .information(other.profile)
        case 10: return .group(.memberConnected(other.reference.id))
        case 11: return .group(.memberInvitation(other.reference.id, link: "x"))
        default: return .message(ContactTests.hello)
        }
    }

    /// Checks a change of a member by another. A forwarder has no more rights than by itself.
    private func check(
        _ event: MessageEvent, by author: MemberID, over sender: MemberID, _ before: GroupFixture,
        _ after: GroupFixture
    ) {
        func role(_ id: MemberID) -> MemberRole {
            before.records.members[id]?.role ?? (id == before.group.host ? .admin : .author)
        }
        let power = min(role(author), role(sender))
        let isConnected =
            author == before.group.host || before.records.connection(with: author) == .connected
        if author != sender, isConnected {
            #expect(after.records.members == before.records.members, "it has its own connection")
        }
        if after.group.own.role != before.group.own.role {
            #expect(power >= .admin && power >= before.group.own.role && power >= after.group.own.role)
        }
        for (id, member) in after.records.members {
            guard let known = before.records.members[id] else { continue }
            if member.role != known.role, known.status != .heardOf {
                #expect(power >= .admin && power >= known.role && power >= member.role, "\(event.name)")
            }
            if known.status == .left || known.status == .removed {
                #expect(member.status == .left || member.status == .removed, "\(event.name)")
            }
            if known.profile != member.profile, known.status != .heardOf {
                #expect(id == author, "only who it is gets another name: \(event.name)")
            }
        }
        for (id, connection) in before.records.connections {
            guard let kept = after.records.connections[id] else { continue }
            #expect(kept == connection, "no connection becomes another one")
        }
        if before.group.membership == .joined, after.group.membership == .ended {
            #expect(power >= before.group.own.role)
        }
    }

    @Test(
        "roles, names and connections need permission", arguments: 0..<30 as Range<UInt64>)
    func lies(_ seed: UInt64) throws {
        var random = SeededGenerator(state: seed)
        var chat = try GroupFixture(hostRole: seed % 2 == 0 ? .admin : .owner, ownRole: .member)
        for number in 0..<400 where chat.group.membership != .ended {
            let (event, id) = (try event(&random), UInt8(number % 250) + 1)
            let sender = try member(&random)
            guard sender != chat.group.own.id else { continue }
            let before = chat
            var message = ChatMessage(event, id: SharedMessageID(bytes: [id, UInt8(number / 250)]))
            var author = sender
            if Int.random(in: 0..<3, using: &random) == 0 {
                author = try member(&random)
                let forwarded = ForwardedMessage(author: author, message: message, time: Sample.time)
                message = ChatMessage(.group(.forwarded(forwarded)), id: nil)
            }
            chat.receive(message, over: sender)
            check(event, by: author, over: sender, before, chat)
            let power = before.records.members[sender]?.role ?? .author
            if author != sender, power < .admin, sender != chat.group.host {
                #expect(chat.records.members == before.records.members, "nobody else passes anything on")
            }
            if before.records.members[sender]?.status == .removed {
                #expect(chat.records.items.count == before.records.items.count, "who is out is not heard")
            }
            #expect(chat.records.connections[chat.group.own.id] == nil)
            // Some connections are established meanwhile.
            for id in chat.records.connections.keys where Bool.random(using: &random) {
                _ = chat.records.connections[id]?.made("x")
                _ = chat.records.connections[id]?.joined()
                _ = chat.records.connections[id]?.stands()
            }
        }
    }
}
