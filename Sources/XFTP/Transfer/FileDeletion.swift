/// Removes files from relays.
public enum FileDeletion {
    /// Deletes all chunks that a sender's description names. A chunk that is gone already counts as
    /// deleted.
    /// - Throws: `.malformedDescription` for a recipient's; the first failure of `XFTPClient.delete`, after all
    ///   have been tried.
    public static func run(_ description: FileDescription, client: XFTPClient) async throws(XFTPError) {
        guard description.party == .sender else {
            throw XFTPError(
                .malformedDescription,
                "Only the sender's description (snd.xftp.private) can delete the file from the relays.")
        }
        try await delete(description.chunks.flatMap(\.replicas), client: client)
    }

    static func delete(
        _ replicas: [FileDescription.Replica], client: XFTPClient
    ) async throws(XFTPError) {
        try await Command.delete.carryOut(on: replicas, client: client)
    }

    /// Tells the relays that this recipient has the file (FACK); a relay that does not know the chunk
    /// any more is content.
    /// - Throws: the first other failure of `XFTPClient.acknowledge`, after all have been tried.
    public static func acknowledge(
        _ description: FileDescription, client: XFTPClient
    ) async throws(XFTPError) {
        try await Command.acknowledge.carryOut(on: description.chunks.flatMap(\.replicas), client: client)
    }

    /// A value and not a function: a task of a group captures none, since optimised builds have lost one that throws a
    /// type of its own.
    private enum Command: Sendable {
        case delete
        case acknowledge

        /// For every replica, sixteen at once; the first failure is thrown after all have been tried.
        func carryOut(
            on replicas: [FileDescription.Replica], client: XFTPClient
        ) async throws(XFTPError) {
            let failure = await withTaskGroup(of: XFTPError?.self) { group in
                var failure: XFTPError?
                for (index, replica) in replicas.enumerated() {
                    if index >= 16, let ended = await group.next(), failure == nil { failure = ended }
                    group.addTask { await self.failure(on: replica, client: client) }
                }
                for await ended in group where failure == nil { failure = ended }
                return failure
            }
            if let failure { throw failure }
        }

        /// Nil also where the relay does not know the chunk any more.
        private func failure(on replica: FileDescription.Replica, client: XFTPClient) async -> XFTPError? {
            do throws(XFTPError) {
                let key = try XFTPClient.key(of: replica)
                switch self {
                case .delete: try await client.delete(replica.id, signedBy: key, on: replica.relay)
                case .acknowledge: try await client.acknowledge(replica.id, signedBy: key, on: replica.relay)
                }
                return nil
            } catch {
                return error.code == .relay(.authorization) ? nil : error
            }
        }
    }
}
