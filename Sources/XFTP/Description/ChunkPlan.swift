/// The division of a file into chunks. Only four chunk sizes exist, so that relays learn little about file sizes.
public enum ChunkPlan {
    /// The chunk sizes in bytes, ascending: 64 KiB, 256 KiB, 1 MiB, 4 MiB.
    public static let chunkSizes: [UInt32] = [65_536, 262_144, 1_048_576, 4_194_304]
    /// The bytes of a stream besides header and content: the length field and the tag.
    public static let overhead: UInt64 = 8 + 16
    /// The largest file of the official programs: 5 GiB of header and content.
    public static let maxFileSize: UInt64 = 5 << 30

    /// Returns the chunk sizes of a file with `fileSize` bytes of header and content.
    ///
    /// The total length selects a big and a small size (simplexmq `XFTP/Chunks`). As many big chunks as fit come first.
    /// A rest over three quarters of a big chunk takes one more; a smaller rest takes small ones.
    public static func sizes(for fileSize: UInt64) -> [UInt32] {
        let total = fileSize + overhead
        let (small, big): (UInt64, UInt64) =
            switch total {
            case let total where total > 3_145_728: (1_048_576, 4_194_304)
            case let total where total > 786_432: (262_144, 1_048_576)
            default: (65_536, 262_144)
            }
        var sizes = [UInt32](repeating: UInt32(big), count: Int(total / big))
        let rest = total % big
        if rest > big / 4 * 3 {
            sizes.append(UInt32(big))
        } else if rest > 0 {
            sizes += [UInt32](repeating: UInt32(small), count: Int((rest + small - 1) / small))
        }
        return sizes
    }

    /// Returns whether a description of `streamSize` bytes can belong to a file of `content` bytes, with any name in
    /// its header.
    ///
    /// Official writers pad by less than one chunk of the big size. A larger description would fetch more than its
    /// message announced.
    public static func fits(streamSize: UInt64, content: UInt64) -> Bool {
        guard streamSize >= content else { return false }
        return (overhead + headerFields.lowerBound...overhead + headerFields.upperBound + maxPadding)
            .contains(streamSize - content)
    }

    /// The bytes of the header's name and extra field: from an empty name without extra to 255 bytes of each.
    static let headerFields: ClosedRange<UInt64> = (1 + 1)...(1 + 255 + 1 + 1 + 255)

    /// The largest padding in bytes. Official writers pad less.
    private static let maxPadding = UInt64(chunkSizes[chunkSizes.count - 1])

    /// Returns the size of a redirect's only chunk: the smallest that holds the file, or nil if none does.
    public static func singleSize(for fileSize: UInt64) -> UInt32? {
        chunkSizes.first { UInt64($0) >= fileSize + overhead }
    }
}
