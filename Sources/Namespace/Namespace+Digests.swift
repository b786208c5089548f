import ChatCore

/// SHA-256 of what entries hold, as far as somebody has asked for it. The file of a message never changes, so what is
/// known stays.
extension Namespace {
    /// Those that are known of these nodes. Blocks.
    /// - Throws: `.storage`.
    public func digests(of nodes: [NodeID]) throws(NamespaceError) -> [NodeID: [UInt8]] {
        try read { index in
            var found: [NodeID: [UInt8]] = [:]
            for node in nodes { found[node] = try index.digest(of: node) }
            return found
        }
    }

    /// Notes that of an item's file; nothing where the node is another's by now. Blocks.
    /// - Throws: `.damaged`, `.diskFull`, `.storage`.
    public func set(digest: [UInt8], of item: ItemID) throws(NamespaceError) {
        try change { index, _ in
            if let record = try index.record(of: .item(item)) { try index.set(digest: digest, of: record.id) }
        }
    }
}
