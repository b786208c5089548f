import ChatCore

/// SHA-256 of entries, stored once computed. The file of a message never changes.
extension Namespace {
    /// Returns the stored digests of these nodes. Blocks.
    /// - Throws: `.storage`.
    public func digests(of nodes: [NodeID]) throws(NamespaceError) -> [NodeID: [UInt8]] {
        try read { index in
            var found: [NodeID: [UInt8]] = [:]
            for node in nodes { found[node] = try index.digest(of: node) }
            return found
        }
    }

    /// Stores the digest of an item's file, if the item still has a node. Blocks.
    /// - Throws: `.damaged`, `.diskFull`, `.storage`.
    public func set(digest: [UInt8], of item: ItemID) throws(NamespaceError) {
        try change { index, _ in
            if let record = try index.record(of: .item(item)) { try index.set(digest: digest, of: record.id) }
        }
    }
}
