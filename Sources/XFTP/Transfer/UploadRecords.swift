import Base
import Posix

/// The state of an upload, shared by concurrent chunks. Saved at intervals instead of after each change: chunks lost in
/// a crash are uploaded again, and their orphans expire on the relays.
final class UploadRecords: Sendable {
    private struct Records {
        var state: UploadState
        var isDirty = false
        var isSaving = false
        var lastSave: ContinuousClock.Instant?
        /// The records of chunks that were created again.
        var replaced: [UploadState.CreatedChunk] = []

        mutating func put(_ chunk: UploadState.CreatedChunk) {
            if let earlier = state.chunk(chunk.index),
                earlier.senderID != chunk.senderID || earlier.relay != chunk.relay
            {
                replaced.append(earlier)
            }
            state.put(chunk)
            isDirty = true
        }
    }

    /// The minimum time between two saves.
    private static let interval = Duration.milliseconds(500)

    private let records: Lock<Records>
    private let save: @Sendable (UploadState) throws -> Void

    init(_ state: UploadState, save: @escaping @Sendable (UploadState) throws -> Void) {
        records = Lock(Records(state: state))
        self.save = save
    }

    var state: UploadState { records.withLock { $0.state } }

    /// Removes and returns the replaced records.
    func takeReplaced() -> [UploadState.CreatedChunk] {
        records.withLock { records in
            defer { records.replaced = [] }
            return records.replaced
        }
    }

    func put(_ chunk: UploadState.CreatedChunk) async throws(XFTPError) {
        let isDue = records.withLock { records in
            records.put(chunk)
            if let last = records.lastSave, ContinuousClock.now - last < Self.interval { return false }
            return Self.beginSaving(&records)
        }
        if isDue { try await write() }
    }

    /// Saves unsaved changes: at the beginning, at the end, and when the upload stops.
    func flush() async throws(XFTPError) {
        let isDue = records.withLock { records in
            (records.isDirty || records.lastSave == nil) && Self.beginSaving(&records)
        }
        if isDue { try await write() }
    }

    private static func beginSaving(_ records: inout Records) -> Bool {
        guard !records.isSaving else { return false }
        records.isSaving = true
        records.isDirty = false
        records.lastSave = .now
        return true
    }

    private func write() async throws(XFTPError) {
        defer { records.withLock { $0.isSaving = false } }
        do {
            try await ThreadPool.shared.run { try self.save(self.state) }
        } catch {
            // Mark as unsaved, so that the next save includes it.
            records.withLock { $0.isDirty = true }
            throw XFTPError(
                .storage, "The state of the upload could not be saved: \(sentence(of: error))", cause: error)
        }
    }
}
