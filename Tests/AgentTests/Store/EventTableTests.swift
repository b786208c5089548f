import Base
import Store
import TestSupport
import Testing

@testable import Agent

/// Events stay stored and unchanged until acknowledged.
@Suite struct EventTableTests {
    private let folder: TemporaryFolder
    private let database: Database
    private let id = ConnectionID(7)

    init() throws {
        folder = try TemporaryFolder()
        database = try Database(path: folder.path("connections.db"), migrations: AgentSchema.migrations)
    }

    private func change<Result>(_ body: (EventTable) throws -> Result) throws -> Result {
        try database.transaction { try body(EventTable($0)) }
    }

    private static let reasons: [FailureReason] = [
        .linkGone, .contactGone, .queueFull, .expired, .refused, .incompatible, .deleted, .unreadable,
        .restored, .withoutKeys, .noAnswer, .tooLong, .exhausted,
    ]
    private static let phases: [ConnectionCondition.Phase] = [
        .inviting, .address, .requesting, .joining, .confirming, .connected, .failed, .deleting,
    ]

    private static func message(_ integrity: MessageIntegrity) -> AgentEvent.Content {
        .received(ReceivedMessage(body: [1, 2], received: Timestamp(seconds: 5), integrity: integrity))
    }

    private static var contents: [AgentEvent.Content] {
        var contents: [AgentEvent.Content] = [
            .requested(ContactRequestID(3), information: [1]), .connecting(information: [2]),
            .connected(information: []), .sent(message: 4), .delivered(message: 5), .deleted,
            message(.complete), message(.skipped(3...9)), message(.skipped(4...4)), message(.numberRepeated),
            message(.wrongHash),
        ]
        for reason in reasons {
            contents += [
                .delayed(message: 1, reason), .messageFailed(message: 2, reason), .connectionFailed(reason),
            ]
        }
        for phase in phases {
            for synchronisation in RatchetSyncPhase.allCases {
                contents.append(
                    .conditionChanged(
                        ConnectionCondition(phase: phase, synchronisation: synchronisation)))
            }
        }
        // Each flag alone, so that mixed-up columns show.
        contents.append(.conditionChanged(ConnectionCondition(phase: .connected, isRotating: true)))
        contents.append(.conditionChanged(ConnectionCondition(phase: .connected, isGone: true)))
        contents.append(.conditionChanged(ConnectionCondition(phase: .connected, isTakenOver: true)))
        return contents
    }

    @Test func eventsRoundTripInOrder() throws {
        let contents = Self.contents
        let told = try change { table in try contents.map { try table.append($0, of: id) } }
        #expect(told.map(\.content) == contents)
        #expect(zip(told, told.dropFirst()).allSatisfy { $0.number < $1.number })
        #expect(try change { try $0.events(after: 0, limit: 1000) } == told)
        #expect(try change { try $0.events(after: told[4].number, limit: 3) } == Array(told[5..<8]))
        #expect(try change { try $0.events(after: told.last?.number ?? 0, limit: 3) }.isEmpty)
    }

    @Test func takenEventNumberIsNeverReused() throws {
        let told = try change { table in try Self.contents.prefix(3).map { try table.append($0, of: id) } }
        for event in told { _ = try change { try $0.take(event.number) } }
        #expect(try change { try $0.events(after: 0, limit: 10) }.isEmpty)
        let next = try change { try $0.append(.deleted, of: id) }
        #expect(next.number > told[2].number)
    }

    @Test func receiptMaterialIsReturnedOnce() throws {
        let message = ReceivedMessage(body: [1], received: Timestamp(seconds: 1), integrity: .complete)
        let receipt = MessageContent.Receipt(number: 12, hash: [5])
        let (told, silent, other) = try change { table in
            (
                try table.append(message, receipt: receipt, of: id),
                try table.append(message, receipt: nil, of: id), try table.append(.sent(message: 1), of: id)
            )
        }
        let material = try change { try $0.take(told.number) }
        #expect(material?.connection == id && material?.receipt == receipt)
        #expect(try change { try $0.take(told.number) } == nil)
        #expect(try change { try $0.take(silent.number) } == nil)
        #expect(try change { try $0.take(other.number) } == nil)
    }

    @Test(arguments: [false, true]) func numbersContinueAfterApplicationsLast(hasEvents: Bool)
        throws
    {
        if hasEvents { _ = try change { try $0.append(.deleted, of: id) } }
        let own: Int64 = hasEvents ? 1 : 0
        for number: Int64 in [0, -4] {
            try change { try $0.begin(after: number) }
            #expect(try change { try $0.events(after: 0, limit: 9) }.map(\.number) == (hasEvents ? [1] : []))
        }
        try change { try $0.begin(after: 40) }
        #expect(try change { try $0.append(.deleted, of: id) }.number == 41)
        // An application that is behind changes nothing.
        try change { try $0.begin(after: own + 2) }
        #expect(try change { try $0.append(.deleted, of: id) }.number == 42)
    }

    @Test func damagedEventsThrow() throws {
        let damages = [
            "UPDATE event SET kind = 'dancing'", "UPDATE event SET detail = 'bored' WHERE kind = 'delayed'",
            "UPDATE event SET detail = NULL WHERE kind = 'connectionFailed'",
            "UPDATE event SET detail = 'half' WHERE kind = 'received'",
            "UPDATE event SET first_missing = 10 WHERE kind = 'received'",
            "UPDATE event SET detail = 'connected synchronised false false' WHERE kind = 'conditionChanged'",
            "UPDATE event SET detail = 'away synchronised false false false' WHERE kind = 'conditionChanged'",
            "UPDATE event SET detail = 'connected well false false false' WHERE kind = 'conditionChanged'",
            "UPDATE event SET detail = 'connected synchronised no false false' WHERE kind = 'conditionChanged'",
            "UPDATE event SET detail = 'connected synchronised false no false' WHERE kind = 'conditionChanged'",
            "UPDATE event SET detail = 'connected synchronised false false no' WHERE kind = 'conditionChanged'",
        ]
        struct Undone: Error {}
        _ = try change { table in
            for content: AgentEvent.Content in [
                .delayed(message: 1, .expired), .connectionFailed(.expired), Self.message(.skipped(3...9)),
                .conditionChanged(ConnectionCondition(phase: .connected)),
            ] { _ = try table.append(content, of: id) }
        }
        for damage in damages {
            do {
                try database.transaction { connection in
                    try connection.execute(damage)
                    #expect(throws: (any Error).self, "\(damage)") {
                        try EventTable(connection).events(after: 0, limit: 10)
                    }
                    throw Undone()
                }
            } catch is Undone {}
        }
        #expect(try change { try $0.events(after: 0, limit: 10) }.count == 4)
    }
}
