import Base
import ChatCore
import CoreContract
import JSON
import ScriptedCore
import TestSupport
import Testing

@testable import OfficialCore

/// An index in its own folder with the intake of events, without core, connection or task.
final class IndexPlace {
    let folder: TemporaryFolder
    let simplex = ScriptedSimpleX()
    let index: IndexStore
    let recent = RecentEvents()
    let descriptions: Descriptions
    let began = ContinuousClock.now
    let arrivals = ArrivalRule()
    private let intake: EventIntake
    private var events: AsyncStream<ChatEvent>.Iterator

    init() throws {
        folder = try TemporaryFolder()
        index = try IndexStore(
            path: folder.path("index.sqlite"), key: nil, owner: Profile(id: 1, displayName: "alice"),
            filesFolder: "/files", staging: try StagingFolder(folder.path("outbox")), history: WorkSignal(),
            recent: recent)
        // Database queries return no rows.
        let transport = ScriptedTransport { _ in #"{"type":"sQLResult","rows":["header"]}"# }
        let connection = CoreConnection(transport, HeldCommands())
        descriptions = Descriptions(connection, try OfficialRelayTrust(folder: folder.path), hasProxy: false)
        intake = EventIntake(
            index: index, recent: recent, descriptions: descriptions,
            standaloneFiles: StandaloneFiles(connection, of: Profile(id: 1, displayName: "alice")),
            arrivals: arrivals, receives: true)
        events = index.events.listen().makeAsyncIterator()
    }

    /// Takes in an event with one item. Returns the files to receive.
    func take(_ type: String, _ message: ScriptedMessage, _ more: String) throws -> [FileID] {
        try take(json: #"{"type":"\#(type)","chatItem":\#(simplex.pair(message))\#(more)}"#)
    }

    func take(_ type: String, _ messages: [ScriptedMessage]) throws -> [FileID] {
        let items = messages.map(simplex.pair).joined(separator: ",")
        return try take(json: #"{"type":"\#(type)","chatItems":[\#(items)]}"#)
    }

    /// - Parameter json: the value of `resp`.
    func take(json: String) throws -> [FileID] {
        let frame = try #require(APIFrame(Array(#"{"resp":\#(json)}"#.utf8)))
        return try intake.take(frame.event.kind)
    }

    func item(_ id: Int64) throws -> ChatItem? { try index.read { try $0.items.item(ItemID(id)) } }

    /// The events that were reported since the last call.
    func heard() async -> [ChatEvent] {
        // This event follows every earlier event; no core reports link folder changes here.
        index.events.tell(.chatRemoved(.links))
        var heard: [ChatEvent] = []
        while let event = await events.next() {
            if case .chatRemoved(.links) = event { break }
            heard.append(event)
        }
        return heard
    }

    /// The same events as short texts.
    func told() async -> [String] { await heard().map(Self.words) }

    /// The numbers of deleted texts among the same events.
    func goneTexts() async -> [String] {
        await heard().flatMap { if case .textsGone(let texts) = $0 { texts.map(\.id) } else { [String]() } }
    }

    private static func words(_ event: ChatEvent) -> String {
        switch event {
        case .chatItemsDeleted(_, let reason): "chatItemsDeleted \(reason)"
        case .standaloneFileProgress(let file, let done, let total):
            "standaloneFileProgress \(file.rawValue) \(done)/\(total)"
        case .standaloneFileWarning(let file, _): "standaloneFileWarning \(file.rawValue)"
        case .sndStandaloneFileError(let file, _): "sndStandaloneFileError \(file.rawValue)"
        case .rcvStandaloneFileError(let file, _): "rcvStandaloneFileError \(file.rawValue)"
        case .sndStandaloneFileComplete(let file, let links):
            "sndStandaloneFileComplete \(file.rawValue) \(links.joined(separator: ","))"
        case .rcvStandaloneFileComplete(let file, let path):
            "rcvStandaloneFileComplete \(file.rawValue) \(path)"
        default: event.name
        }
    }
}
