/// Removes files from relays.
public enum FileDeletion {
    /// Deletes all chunks that a sender's description names. A chunk that is gone already counts as
    /// deleted; the first other failure is thrown after all have been tried.
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
        try await each(replicas) { replica throws(XFTPError) in
            try await client.delete(
                replica.id, signedBy: try XFTPClient.key(of: replica), on: replica.relay)
        }
    }

    /// Tells the relays that this recipient has the file (FACK); a relay that does not know the chunk
    /// any more is content.
    public static func acknowledge(
        _ description: FileDescription, client: XFTPClient
    ) async throws(XFTPError) {
        try await each(description.chunks.flatMap(\.replicas)) { replica throws(XFTPError) in
            try await client.acknowledge(
                replica.id, signedBy: try XFTPClient.key(of: replica), on: replica.relay)
        }
    }

    private static func each(
        _ replicas: [FileDescription.Replica],
        _ operation: @escaping @Sendable (FileDescription.Replica) async throws(XFTPError) -> Void
    ) async throws(XFTPError) {
        let failure = await withTaskGroup(of: XFTPError?.self) { group in
            var failure: XFTPError?
            for (index, replica) in replicas.enumerated() {
                if index >= 16, let ended = await group.next(), failure == nil { failure = ended }
                group.addTask {
                    do throws(XFTPError) {
                        try await operation(replica)
                        return nil
                    } catch {
                        return error.code == .relay(.authorization) ? nil : error
                    }
                }
            }
            for await ended in group where failure == nil { failure = ended }
            return failure
        }
        if let failure { throw failure }
    }
}
