import Base
import ChatCore
import XFTP

/// Descriptions of received files, from events or the core's database, and the decision whether this process
/// may fetch their chunks.
final class Descriptions: Sendable {
    private struct State {
        /// From events, until their files are received.
        var texts = DescriptionTexts()
        /// Whether the core hides the user's address, with the connection over which it answered; another
        /// connection may lead to a restarted core.
        var told: (hidesAddress: Bool, connection: UInt64)?
    }

    private let connection: CoreConnection
    private let trust: OfficialRelayTrust
    private let hasProxy: Bool
    private let state = Lock(State())

    init(_ connection: CoreConnection, _ trust: OfficialRelayTrust, hasProxy: Bool) {
        self.connection = connection
        self.trust = trust
        self.hasProxy = hasProxy
    }

    func note(_ text: String, of file: FileID, in item: ItemID) {
        state.withLock { $0.texts[file] = ToldDescription(item: item, text: text) }
    }

    func forget(_ file: FileID) { state.withLock { $0.texts[file] = nil } }

    /// - Parameter connection: The value of `CoreConnection.number` before the request.
    func note(hidesAddress: Bool, over connection: UInt64) {
        state.withLock { $0.told = (hidesAddress, connection) }
    }

    /// nil until the core answers over the current connection.
    private var hidesAddress: Bool? {
        let present = connection.number
        return state.withLock { $0.told?.connection == present ? $0.told?.hidesAddress : nil }
    }

    /// The description that an event brought. A secret.
    func told(_ file: FileID, in item: ItemID) -> String? {
        state.withLock { $0.texts[file].flatMap { $0.item == item ? $0.text : nil } }
    }

    /// Returns nil until it has arrived. A secret.
    func description(of file: FileID, in item: ItemID) async throws(ChatError) -> String? {
        if let known = told(file, in: item) { return known }
        let response = try await connection.answer(
            .query(
                "SELECT hex(d.file_descr_text) FROM rcv_files r JOIN xftp_file_descriptions d "
                    + "ON d.file_descr_id = r.file_descr_id "
                    + "WHERE r.file_id = \(file.rawValue) AND d.file_descr_complete = 1"),
            unlessRefused: { _ in true })
        guard case .rows(let rows)? = response, rows.count == 2 else { return nil }
        return Hexadecimal.decode(rows[1].lowercased()).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns a description that this process may use; nil if it may not, or if the description has not
    /// arrived.
    /// - Throws: `.file(.unreachable)` also while the core has not reported its network settings.
    func fetchable(_ file: FileID, in item: ItemID) async throws(ChatError) -> String? {
        guard hasProxy || isNetworkKnown else {
            throw ChatError(
                .file(.unreachable), "The SimpleX core has not reported its network settings yet; try again.")
        }
        // Checked again at the end, because the core may have restarted meanwhile.
        guard mayFetch, let text = try await description(of: file, in: item), await mayBeFetched(text),
            mayFetch
        else { return nil }
        return text
    }

    /// Returns the addresses of the relays in a description; empty without a valid one.
    static func relays(in text: String?) async -> [String] {
        await indexThreads.run {
            text.flatMap { try? FileDescription(parsing: $0) }?.relays.map(\.text) ?? []
        }
    }

    /// If false, relays would see an address that the core hides or may hide.
    var mayFetch: Bool { hasProxy || hidesAddress == false }

    var isNetworkKnown: Bool { hidesAddress != nil }

    /// Returns true if this process may contact the relays. Addresses in the local network are left to the
    /// core, unless the relay is known.
    func mayBeFetched(_ text: String) async -> Bool {
        await indexThreads.run { [trust] in
            // An invalid description is claimed, so that its reader gets the error.
            guard let described = try? FileDescription(parsing: text) else { return true }
            return described.relays.allSatisfy { !$0.leadsIntoOwnNetwork || trust.holds($0) }
        }
    }
}

/// A description from an event.
struct ToldDescription: Sendable, Equatable {
    /// The message of the file, whose number a later one may get.
    var item: ItemID
    var text: String

    var bytes: Int { text.utf8.count }
}

/// Descriptions from events. A contact may offer any number of files, so the earliest are forgotten beyond a limit. The
/// core has them; a phone receives their files itself.
struct DescriptionTexts: Sendable {
    private var texts: [FileID: ToldDescription] = [:]
    private(set) var bytes = 0

    static let maxBytes = 4 << 20

    subscript(file: FileID) -> ToldDescription? {
        get { texts[file] }
        set {
            bytes += (newValue?.bytes ?? 0) - (texts[file]?.bytes ?? 0)
            texts[file] = newValue
            while bytes > Self.maxBytes { forgetHalf() }
        }
    }

    /// Forgets the earlier half of the files, whose numbers grow. Sorting them for each new file would take long.
    private mutating func forgetHalf() {
        for file in texts.keys.sorted().prefix((texts.count + 1) / 2) {
            bytes -= texts.removeValue(forKey: file)?.bytes ?? 0
        }
    }
}
