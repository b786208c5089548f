/// Deletes files from relays.
public enum FileDeletion {
    /// Deletes all chunks of a sender's description. A missing chunk counts as deleted.
    /// - Throws: `.malformedDescription` for a recipient's description; the first failure of `XFTPClient.delete`, after
    ///   all chunks were tried.
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

    /// Tells the relays that this recipient has the file (FACK). Relays without the chunk are ignored.
    /// - Throws: The first failure of `XFTPClient.acknowledge`, after all chunks were tried.
    public static func acknowledge(
        _ description: FileDescription, client: XFTPClient
    ) async throws(XFTPError) {
        try await Command.acknowledge.carryOut(on: description.chunks.flatMap(\.replicas), client: client)
    }

    /// A value instead of a closure, because optimised builds lost typed errors of closures captured by group tasks.
    private enum Command: Sendable {
        case delete
        case acknowledge

        /// Runs the command for every replica, sixteen at once. Throws the first failure after all were tried.
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

        /// Returns nil on success and for unknown chunks.
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
