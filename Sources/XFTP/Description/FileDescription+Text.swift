import Base

extension FileDescription {
    /// The description in the official text form, byte for byte: keys in alphabetical order, replicas grouped by relay,
    /// relays in their order, sizes in the largest exact unit.
    public var text: String {
        var lines = [
            "chunkSize: \(Self.quotedWhereNeeded(ByteCount.exact(UInt64(chunkSize))))",
            "digest: \(Self.quotedWhereNeeded(Base64URL.encode(digest)))",
            "key: \(Self.quotedWhereNeeded(Base64URL.encode(key)))",
            "nonce: \(Self.quotedWhereNeeded(Base64URL.encode(nonce)))",
            "party: \(party.rawValue)",
        ]
        if let redirect {
            lines.append("redirect:")
            lines.append("  digest: \(Self.quotedWhereNeeded(Base64URL.encode(redirect.digest)))")
            lines.append("  size: \(redirect.size)")
        }
        lines.append("replicas:")
        var groups: [RelayAddress: [String]] = [:]
        for chunk in chunks {
            for (place, replica) in chunk.replicas.enumerated() {
                var fields = [
                    "\(chunk.number)", Base64URL.encode(replica.id), Base64URL.encode(replica.key),
                ]
                // Only the first replica of a chunk gives digest and size.
                if place == 0 {
                    fields.append(Base64URL.encode(chunk.digest))
                    if chunk.size != chunkSize { fields.append(ByteCount.exact(UInt64(chunk.size))) }
                }
                groups[replica.relay, default: []].append("  - " + fields.joined(separator: ":"))
            }
        }
        for relay in groups.keys.sorted(by: RelayAddress.precedes) {
            lines.append("- chunks:")
            lines += groups[relay] ?? []
            lines.append("  server: \(relay.text)")
        }
        lines.append("size: \(Self.quotedWhereNeeded(ByteCount.exact(size)))")
        return lines.joined(separator: "\n") + "\n"
    }

    /// Quotes text that YAML would read as a number or document marker.
    private static func quotedWhereNeeded(_ text: String) -> String {
        YAMLValue.resolvesToOther(text) || text.hasPrefix("---") ? "'\(text)'" : text
    }
}
