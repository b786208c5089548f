import Base
import ChatCore
import XFTP

/// The descriptions of received files: from the events that brought them, else from the core's database; and whether
/// this process may fetch chunks by them.
final class Descriptions: Sendable {
    private struct State {
        /// Brought by events, as long as their files are not received.
        var texts: [FileID: String] = [:]
        /// Whether the core hides the user's address, and over which connection it said so: what answers over another
        /// one may be another run of it.
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

    func note(_ text: String, of file: FileID) { state.withLock { $0.texts[file] = text } }
    func forget(_ file: FileID) { state.withLock { $0.texts[file] = nil } }

    /// - Parameter connection: the one over which the core said it, as `CoreConnection.number` was before it was asked.
    func note(hidesAddress: Bool, over connection: UInt64) {
        state.withLock { $0.told = (hidesAddress, connection) }
    }

    /// nil as long as the core has not said it over the present connection.
    private var hidesAddress: Bool? {
        let present = connection.number
        return state.withLock { $0.told?.connection == present ? $0.told?.hidesAddress : nil }
    }

    /// nil while it has not arrived. A secret.
    func description(of file: FileID) async throws(ChatError) -> String? {
        if let known = state.withLock({ $0.texts[file] }) { return known }
        do throws(OfficialCoreError) {
            let response = try await connection.ask(
                .query(
                    "SELECT hex(d.file_descr_text) FROM rcv_files r JOIN xftp_file_descriptions d "
                        + "ON d.file_descr_id = r.file_descr_id "
                        + "WHERE r.file_id = \(file.rawValue) AND d.file_descr_complete = 1"))
            guard case .rows(let rows) = response, rows.count == 2 else { return nil }
            return Hexadecimal.decode(rows[1].lowercased()).map { String(decoding: $0, as: UTF8.self) }
        } catch {
            if error.refusal != nil { return nil }
            throw error.chatError
        }
    }

    /// One by which this process may fetch, nil also when it has not arrived.
    /// - Throws: `.file(.unreachable)` also where it is not known yet whether this process may.
    func fetchable(_ file: FileID) async throws(ChatError) -> String? {
        guard hasProxy || isNetworkKnown else {
            throw ChatError(
                .file(.unreachable), "The SimpleX core has not said yet whether it hides the user's address.")
        }
        // Again at the end: another run of the core may answer by then.
        guard mayFetch, let text = try await description(of: file), await mayBeFetched(text), mayFetch else {
            return nil
        }
        return text
    }

    /// Relays would see the address that the core hides, or may hide.
    var mayFetch: Bool { hasProxy || hidesAddress == false }

    var isNetworkKnown: Bool { hidesAddress != nil }

    /// Whether the chunks lie where this process may go. What points into this machine's own network is left
    /// to the core, unless the relay is known.
    func mayBeFetched(_ text: String) async -> Bool {
        await indexThreads.run { [trust] in
            // One that makes no sense is claimed, so that its reader learns it.
            guard let described = try? FileDescription(parsing: text) else { return true }
            return described.relays.allSatisfy { !$0.leadsIntoOwnNetwork || trust.holds($0) }
        }
    }
}
