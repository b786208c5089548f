import ChatCore
import Keeping

/// Gives the keep rules the files that a phone has and this machine has not, newest first.
struct KeptElsewhere: Sendable {
    let core: any ChatCore

    private static let pageSize = 256

    /// Considers files until none is left or the plan has enough.
    /// - Parameter consider: Returns false if the plan has enough.
    func scan(_ consider: ([KeepCandidate]) async -> Bool) async throws {
        var last: ItemID?
        while true {
            let items = try await core.itemsElsewhere(before: last, count: Self.pageSize)
            guard await consider(items.compactMap(KeepCandidate.init)) else { return }
            guard items.count == Self.pageSize, let oldest = items.last else { return }
            last = oldest.id
            try Task.checkCancellation()
        }
    }

    /// Brings the copy of a file here. Nothing if it is here.
    /// - Parameter progress: Called as it comes.
    func bring(_ item: ChatItem, progress: @escaping @Sendable () -> Void) async throws(ChatError) {
        guard let file = item.file, file.isElsewhere else { return }
        _ = try await core.location(of: file.id, progress: progress)
    }
}
